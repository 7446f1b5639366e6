"""What users of a protected table lose: distances, associations, ranks, additivity, tests."""

from risk.utility.catalogue import DEFINITIONS, NAMES, REASONS, Measure
from risk.utility.classes import CLASSES
from risk.utility.measures.additivity import Additivity, additivity
from risk.utility.measures.association import Association, association
from risk.utility.measures.deviations import (
    Distribution,
    bias,
    deviations,
    distributions,
    summaries,
)
from risk.utility.measures.distances import distances, ranks
from risk.utility.measures.noise import NoiseDistribution, noise_distribution, zeros
from risk.utility.measures.significance import significance
from risk.utility.measures.variation import variation
from risk.utility.pairs import Pairs
from risk.utility.record import RecordLine, UtilityRecord, utility_record
from risk.utility.summary import Entry, Utility, assess_utility

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
    "Utility",
    "UtilityRecord",
    "additivity",
    "assess_utility",
    "association",
    "bias",
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
