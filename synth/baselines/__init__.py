"""Published methods to compare with, each under a name that says what it promises.

Every one takes a data frame and returns a model with ``sample(n, rng)`` and an ``account`` of
what it really cost.
"""

from synth.baselines.copulas.copula_shirley import copula_shirley, vine_without_privacy
from synth.baselines.copulas.dp_copula import LEGACY_DEFECTS, dp_copula
from synth.baselines.copulas.encoders import Encoding, encode_glmm, encode_ordinal, encode_woe
from synth.baselines.model import Account, Charge
from synth.baselines.networks.priv_bayes import priv_bayes
from synth.baselines.per_class import fit_per_class

__all__ = [
    "LEGACY_DEFECTS",
    "Account",
    "Charge",
    "Encoding",
    "copula_shirley",
    "dp_copula",
    "encode_glmm",
    "encode_ordinal",
    "encode_woe",
    "fit_per_class",
    "priv_bayes",
    "vine_without_privacy",
]
