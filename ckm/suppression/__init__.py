"""Cell suppression: true numbers are published, or nothing."""

from ckm.suppression.audit import Audit, audit
from ckm.suppression.grid import Grid
from ckm.suppression.primary import (
    Amounts,
    Dominance,
    Frequency,
    Percent,
    Primary,
    primary_cells,
)
from ckm.suppression.publish import publish_true_numbers
from ckm.suppression.relations import Relations, additive_relations
from ckm.suppression.secondary.cover import Change
from ckm.suppression.secondary.problem import Problem
from ckm.suppression.secondary.search import Suppression, suppress

__all__ = [
    "Amounts",
    "Audit",
    "Change",
    "Dominance",
    "Frequency",
    "Grid",
    "Percent",
    "Primary",
    "Problem",
    "Relations",
    "Suppression",
    "additive_relations",
    "audit",
    "primary_cells",
    "publish_true_numbers",
    "suppress",
]
