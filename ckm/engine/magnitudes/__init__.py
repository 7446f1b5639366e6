"""Noise on amounts: the cell key method for totals, means and ratios.

The program's own rules are `noise` and `plan`; `cellkey` and `tauargus` repeat other tools.
"""

from ckm.engine.magnitudes.measures import noise_identities, published_ratio
from ckm.engine.magnitudes.noise.perturb import perturb_magnitudes
from ckm.engine.magnitudes.noise.plan import plan_noise
from ckm.engine.magnitudes.noise.scale import Flex, Proportional
from ckm.engine.magnitudes.ptables import magnitude_ptable
from ckm.engine.magnitudes.sensitive.conditions import (
    Condition,
    Dominance,
    FewContributors,
    PPercent,
    PriorPosterior,
    sensitive_cells,
)
from ckm.engine.magnitudes.settings import MagnitudeNoise
from ckm.errors import MagnitudeError

__all__ = [
    "Condition",
    "Dominance",
    "FewContributors",
    "Flex",
    "MagnitudeError",
    "MagnitudeNoise",
    "PPercent",
    "PriorPosterior",
    "Proportional",
    "magnitude_ptable",
    "noise_identities",
    "perturb_magnitudes",
    "plan_noise",
    "published_ratio",
    "sensitive_cells",
]
