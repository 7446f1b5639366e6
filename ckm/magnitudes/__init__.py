"""Noise on amounts: the cell key method for totals, means and ratios.

The program's own rules are `noise` and `plan`; `cellkey` and `tauargus` repeat other tools.
"""

from ckm.magnitudes.conditions import (
    Condition,
    Dominance,
    FewContributors,
    PPercent,
    PriorPosterior,
    sensitive_cells,
)
from ckm.magnitudes.errors import MagnitudeError
from ckm.magnitudes.identity import noise_identities
from ckm.magnitudes.means import published_ratio
from ckm.magnitudes.perturb import perturb_magnitudes
from ckm.magnitudes.plan import Plan, plan_noise
from ckm.magnitudes.ptables import magnitude_ptable
from ckm.magnitudes.scale import Flex, Proportional
from ckm.magnitudes.settings import MagnitudeNoise

__all__ = [
    "Condition",
    "Dominance",
    "FewContributors",
    "Flex",
    "MagnitudeError",
    "MagnitudeNoise",
    "PPercent",
    "Plan",
    "PriorPosterior",
    "Proportional",
    "magnitude_ptable",
    "noise_identities",
    "perturb_magnitudes",
    "plan_noise",
    "published_ratio",
    "sensitive_cells",
]
