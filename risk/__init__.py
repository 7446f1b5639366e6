"""What an intruder can learn from protected tables, and what a user loses.

Attacks are in `risk.attacks`, measures of utility in `risk.utility`, feasibility intervals and
reconstruction in `risk.reconstruction`, audits of microdata in `risk.anonymity`.
"""

from risk.accuracy import Accuracy, accuracy_of_noise, accuracy_table
from risk.credible import CredibleIntervals, CredibleSet, credible_intervals, credible_set
from risk.designs import MapDesign, noise_grid
from risk.errors import RiskError
from risk.histogram import Histogram
from risk.inverse import Inverse
from risk.inverse_matrix import InverseMatrix, inverse_matrix
from risk.law import Law
from risk.map import risk_utility_map
from risk.map_result import MapLine, RiskUtilityMap
from risk.noise_laws import difference_law, published_law, sum_law
from risk.prior import Prior
from risk.ratios import (
    StatisticError,
    error_given_originals,
    error_given_published,
    percentage,
)
from risk.sets import deviation_set, possible_set
from risk.worst import WorstPosterior, worst_posterior

__all__ = [
    "Accuracy",
    "CredibleIntervals",
    "CredibleSet",
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
    "accuracy_of_noise",
    "accuracy_table",
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
