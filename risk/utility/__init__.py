"""What users of a protected table lose: distances, associations, ranks, additivity, tests."""

from risk.utility.additivity import Additivity, additivity
from risk.utility.association import Association, association
from risk.utility.catalogue import DEFINITIONS, NAMES, REASONS
from risk.utility.classes import CLASSES
from risk.utility.deviations import Distribution, deviations, distributions, summaries
from risk.utility.distances import distances
from risk.utility.measure import Measure
from risk.utility.noise import NoiseDistribution, noise_distribution
from risk.utility.pairs import Pairs
from risk.utility.ranks import ranks
from risk.utility.record import RecordLine, UtilityRecord, utility_record
from risk.utility.significance import RowTest, changed_by_row, significance
from risk.utility.summary import Entry, Utility, assess_utility
from risk.utility.variation import between_groups, variation
from risk.utility.zeros import zeros

__all__ = [
    "CLASSES",
    "DEFINITIONS",
    "NAMES",
    "REASONS",
    "Additivity",
    "Association",
    "Distribution",
    "Entry",
    "Measure",
    "NoiseDistribution",
    "Pairs",
    "RecordLine",
    "RowTest",
    "Utility",
    "UtilityRecord",
    "additivity",
    "assess_utility",
    "association",
    "between_groups",
    "changed_by_row",
    "deviations",
    "distances",
    "distributions",
    "noise_distribution",
    "ranks",
    "significance",
    "summaries",
    "utility_record",
    "variation",
    "zeros",
]
