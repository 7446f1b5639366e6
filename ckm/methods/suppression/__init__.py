"""Cell suppression: true numbers are published, or nothing."""

from ckm.methods.suppression.audit import Audit, audit
from ckm.methods.suppression.grid import Grid
from ckm.methods.suppression.primary import (
    Amounts,
    Dominance,
    Frequency,
    Percent,
    Primary,
    primary_cells,
)
from ckm.methods.suppression.publish import publish_true_numbers
from ckm.methods.suppression.relations import Relations, additive_relations
from ckm.methods.suppression.secondary.cover import Change
from ckm.methods.suppression.secondary.problem import Problem
from ckm.methods.suppression.secondary.search import Suppression, suppress

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
