"""The survey of sanitisers: small, plain, deterministic where told what to do.

They change records and promise nothing by themselves; `risk.anonymity` says what is left.
"""

from synth.sanitisers.generalising import Buckets, bucketise, cross_bucket, intervals, recode
from synth.sanitisers.microaggregation import aggregate, mdav_groups, microaggregate
from synth.sanitisers.noise import add_noise
from synth.sanitisers.response import (
    answer_in_two_rounds,
    answer_with_coins,
    estimate_from_coins,
    estimate_from_two_rounds,
)
from synth.sanitisers.rotation import dispersion, rotate, safe_angle
from synth.sanitisers.sampling import sample_columns, sample_rows
from synth.sanitisers.suppression import suppress, suppress_rare
from synth.sanitisers.swapping import rank_swap, swap

__all__ = [
    "Buckets",
    "add_noise",
    "aggregate",
    "answer_in_two_rounds",
    "answer_with_coins",
    "bucketise",
    "cross_bucket",
    "dispersion",
    "estimate_from_coins",
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
