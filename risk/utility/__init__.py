"""What users of a protected table lose: distances, associations, ranks, additivity, tests."""

from risk.utility.catalogue import DEFINITIONS, NAMES, REASONS, Measure
from risk.utility.classes import CLASSES
from risk.utility.measures.additivity import additivity
from risk.utility.measures.association import association
from risk.utility.measures.deviations import (
    bias,
    deviations,
    distributions,
    summaries,
)
from risk.utility.measures.distances import distances, ranks
from risk.utility.measures.noise import noise_distribution, zeros
from risk.utility.measures.significance import significance
from risk.utility.measures.variation import variation
from risk.utility.pairs import Pairs
from risk.utility.record import utility_record
from risk.utility.summary import assess_utility

__all__ = [
    "CLASSES",
    "DEFINITIONS",
    "NAMES",
    "REASONS",
    "Measure",
    "Pairs",
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
