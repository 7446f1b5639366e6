"""Cell suppression: true numbers are published, or nothing."""

from ckm.methods.suppression.grid import Grid
from ckm.methods.suppression.problem import Demands, Problem
from ckm.methods.suppression.relations import Relations, additive_relations
from ckm.methods.suppression.rules import (
    Amounts,
    Dominance,
    Frequency,
    Percent,
    Primary,
    primary_cells,
)

__all__ = [
    "Amounts",
    "Demands",
    "Dominance",
    "Frequency",
    "Grid",
    "Percent",
    "Primary",
    "Problem",
    "Relations",
    "additive_relations",
    "primary_cells",
]
