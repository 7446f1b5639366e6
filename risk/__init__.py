"""What an intruder can learn from protected tables, and what a user loses.

Attacks are in `risk.attacks`, measures of utility in `risk.utility`, feasibility intervals and
reconstruction in `risk.reconstruction`, audits of microdata in `risk.anonymity`.
"""

from typing import TYPE_CHECKING

from footing.lazy import lazy

if TYPE_CHECKING:
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

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Histogram": "risk.distributions.histogram",
        "Inverse": "risk.inference.inverse",
        "Law": "risk.distributions.distribution",
        "Prior": "risk.distributions.prior",
        "RiskError": "risk.errors",
        "accuracy_table": "risk.inference.accuracy",
        "count_intervals": "risk.inference.intervals",
        "credible_intervals": "risk.inference.credible",
        "credible_set": "risk.inference.credible",
        "deviation_set": "risk.inference.sets",
        "difference_law": "risk.distributions.noise_distributions",
        "error_given_originals": "risk.inference.ratios",
        "error_given_published": "risk.inference.ratios",
        "inverse_matrix": "risk.inference.inverse_matrix",
        "noise_grid": "risk.risk_map.designs",
        "percentage": "risk.inference.ratios",
        "possible_set": "risk.inference.sets",
        "published_law": "risk.distributions.noise_distributions",
        "risk_utility_map": "risk.risk_map.map",
        "sum_law": "risk.distributions.noise_distributions",
        "worst_posterior": "risk.inference.worst",
    },
)
