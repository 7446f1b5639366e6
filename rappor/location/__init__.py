"""Where people are, for as long as they like: RAPPOR for cells of a grid or regions."""

from rappor.location.areas import Areas, Grid
from rappor.location.collect import Collection, collect
from rappor.location.map import LevelMap, finest_shares, population_map

__all__ = [
    "Areas",
    "Collection",
    "Grid",
    "LevelMap",
    "collect",
    "finest_shares",
    "population_map",
]
