"""What an intruder can learn from protected tables, and what a user loses.

Attacks are in `risk.attacks`, measures of utility in `risk.utility`, feasibility intervals and
reconstruction in `risk.reconstruction`, audits of microdata in `risk.anonymity`.
"""

from risk.distributions.distribution import Law
from risk.distributions.histogram import Histogram
from risk.distributions.noise_distributions import difference_law, published_law, sum_law
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.inference.accuracy import accuracy_table
from risk.inference.credible import (
    credible_intervals,
    credible_set,
)
from risk.inference.intervals import count_intervals
from risk.inference.inverse import Inverse
from risk.inference.inverse_matrix import inverse_matrix
from risk.inference.ratios import (
    error_given_originals,
    error_given_published,
    percentage,
)
from risk.inference.sets import deviation_set, possible_set
from risk.inference.worst import worst_posterior
from risk.risk_map.designs import noise_grid
from risk.risk_map.map import risk_utility_map

__all__ = [
    "Histogram",
    "Inverse",
    "Law",
    "Prior",
    "RiskError",
    "accuracy_table",
    "count_intervals",
    "credible_intervals",
    "credible_set",
    "deviation_set",
    "difference_law",
    "error_given_originals",
    "error_given_published",
    "inverse_matrix",
    "noise_grid",
    "percentage",
    "possible_set",
    "published_law",
    "risk_utility_map",
    "sum_law",
    "worst_posterior",
]
