"""What it costs to hide a cell, from a variable that the tables need not show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tables import Cells

#: How a variable becomes a cost: its sum, or the square root of that.
_KINDS = ("sum", "sqrt")


def cost_variable(costs: str) -> str | None:
    """Return the variable of costs such as ``"sqrt:employees"``; None where there is none."""
    kind, _, variable = costs.partition(":")
    return variable if variable and kind in _KINDS else None


def cell_costs(cells: Cells, costs: str) -> NDArray[Any]:
    """Return what each cell costs, by counts, weights or a variable."""
    if costs == "count":
        return cells.count
    if costs == "weighted":
        return np.zeros(len(cells)) if cells.weight is None else cells.weight
    total = (cells.magnitudes or {})[str(cost_variable(costs))].total
    return np.sqrt(np.abs(total)) if costs.startswith("sqrt:") else total
