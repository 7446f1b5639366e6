"""Where people are, for as long as they like: RAPPOR for cells of a grid or regions."""

from rappor.location.areas import Areas, Grid
from rappor.location.attacks import averaging_attack, linkage_attack
from rappor.location.collect import Collection, collect
from rappor.location.experiment import Experiment, LevelFigures, compare, experiment
from rappor.location.map import LevelMap, finest_shares, population_map
from rappor.location.noisy import geo_indistinguishable, rappor_cells
from rappor.location.outcome import Outcome
from rappor.location.people import HOURS, Traces, moving_people
from rappor.location.strategies import cloaking, dummies, mix_zones, open_traces

__all__ = [
    "HOURS",
    "Areas",
    "Collection",
    "Experiment",
    "Grid",
    "LevelFigures",
    "LevelMap",
    "Outcome",
    "Traces",
    "averaging_attack",
    "cloaking",
    "collect",
    "compare",
    "dummies",
    "experiment",
    "finest_shares",
    "geo_indistinguishable",
    "linkage_attack",
    "mix_zones",
    "moving_people",
    "open_traces",
    "population_map",
    "rappor_cells",
]
