"""Cell suppression: true numbers are published, or nothing."""

from ckm.methods.suppression.audit import Audit, audit, check_changes
from ckm.methods.suppression.cover import Change
from ckm.methods.suppression.grid import Grid
from ckm.methods.suppression.problem import Demands, Problem
from ckm.methods.suppression.publish import publish_true_numbers
from ckm.methods.suppression.relations import Relations, additive_relations
from ckm.methods.suppression.rules import (
    Amounts,
    Dominance,
    Frequency,
    Percent,
    Primary,
    primary_cells,
)
from ckm.methods.suppression.suppress import Suppression, suppress

__all__ = [
    "Amounts",
    "Audit",
    "Change",
    "Demands",
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
    "check_changes",
    "primary_cells",
    "publish_true_numbers",
    "suppress",
]
