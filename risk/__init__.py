"""What an intruder can learn from protected tables, and what a user loses.

Attacks are in `risk.attacks`, measures of utility in `risk.utility`, feasibility intervals and
reconstruction in `risk.reconstruction`, audits of microdata in `risk.anonymity`.
"""

from risk.distributions.distribution import Law
from risk.distributions.histogram import Histogram
from risk.distributions.noise_distributions import difference_law, published_law, sum_law
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.inference.accuracy import Accuracy, accuracy_table
from risk.inference.credible import (
    CredibleIntervals,
    CredibleSet,
    credible_intervals,
    credible_set,
)
from risk.inference.intervals import FigureIntervals, count_intervals
from risk.inference.inverse import Inverse
from risk.inference.inverse_matrix import InverseMatrix, inverse_matrix
from risk.inference.ratios import (
    StatisticError,
    error_given_originals,
    error_given_published,
    percentage,
)
from risk.inference.sets import deviation_set, possible_set
from risk.inference.worst import WorstPosterior, worst_posterior
from risk.risk_map.designs import MapDesign, noise_grid
from risk.risk_map.map import risk_utility_map
from risk.risk_map.result import MapLine, RiskUtilityMap

__all__ = [
    "Accuracy",
    "CredibleIntervals",
    "CredibleSet",
    "FigureIntervals",
    "Histogram",
    "Inverse",
    "InverseMatrix",
    "Law",
    "MapDesign",
    "MapLine",
    "Prior",
    "RiskError",
    "RiskUtilityMap",
    "StatisticError",
    "WorstPosterior",
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
