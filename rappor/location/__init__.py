"""Where people are, for as long as they like: RAPPOR for cells of a grid or regions."""

from rappor.location.areas import Areas, Grid
from rappor.location.collect import Collection, collect
from rappor.location.map import LevelMap, finest_shares, population_map
from rappor.location.trips import PlaceCounts, Points, collect_points
from rappor.location.zones import Zones

__all__ = [
    "Areas",
    "Collection",
    "Grid",
    "LevelMap",
    "PlaceCounts",
    "Points",
    "Zones",
    "collect",
    "collect_points",
    "finest_shares",
    "population_map",
]
