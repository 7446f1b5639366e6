"""The survey of sanitisers: small, plain, deterministic where told what to do.

They change records and promise nothing by themselves; `risk.anonymity` says what is left.
"""

from synth.sanitisers.generalising import bucketise, cross_bucket, intervals, recode
from synth.sanitisers.microaggregation import aggregate, mdav_groups, microaggregate
from synth.sanitisers.perturbation import (
    add_noise,
    dispersion,
    rank_swap,
    rotate,
    safe_angle,
    swap,
)
from synth.sanitisers.reduction import sample_columns, sample_rows, suppress, suppress_rare
from synth.sanitisers.response import answer_in_two_rounds, estimate_from_two_rounds

__all__ = [
    "add_noise",
    "aggregate",
    "answer_in_two_rounds",
    "bucketise",
    "cross_bucket",
    "dispersion",
    "estimate_from_two_rounds",
    "intervals",
    "mdav_groups",
    "microaggregate",
    "rank_swap",
    "recode",
    "rotate",
    "safe_angle",
    "sample_columns",
    "sample_rows",
    "suppress",
    "suppress_rare",
    "swap",
]
