"""Contributors that belong together: the rules read holdings instead of records."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ckm.methods.suppression.grid import Grid

if TYPE_CHECKING:
    from footing.arrays import Floats, Integers
    from tables import Cells, Request

#: The column that `tables.magnitudes.derived.holding_columns` makes.
HOLDING = "ckm_holding"


def request_by_holding(request: Request) -> Request:
    """Ask for the same cells once more, each by holding."""
    margins = request.margins
    if margins == "all":
        n = range(len(request.dimensions) + 1)
        margins = [s for size in n for s in itertools.combinations(request.dimensions, size)]
    margin_lists = (
        [] if isinstance(margins, str) else [(*margin, HOLDING) for margin in margins]
    )
    dimensions = (*request.dimensions, HOLDING)
    discrete = (*request.discrete, HOLDING)
    return replace(
        request, dimensions=dimensions, discrete=discrete, margins=margin_lists, top=0
    )


def with_holdings(cells: Cells, apart: Cells) -> Cells:
    """Count holdings as contributors, and take what each gives a cell together."""
    place = Grid.of(cells).find([np.asarray(rank) for rank in apart.ranks[:-1]])
    by_variable = {}
    for variable, amounts in (cells.magnitudes or {}).items():
        own = (apart.magnitudes or {})[variable].total
        top = _largest(place, own, (len(cells), amounts.top.shape[1]))
        by_variable[variable] = replace(
            amounts,
            contributors=np.bincount(place[own != 0], minlength=len(cells)).astype(np.int64),
            top=top,
            top_weight=(top != 0).astype(np.float64),
        )
    return replace(cells, magnitudes=by_variable)


def held_by_cell(cells: Cells, apart: Cells) -> dict[str, tuple[Integers, Integers, Floats]]:
    """Return for each variable holdings, finest cells, and what each gave to each."""
    place = Grid.of(cells).find([np.asarray(rank) for rank in apart.ranks[:-1]])
    own = {name: amounts.total for name, amounts in (apart.magnitudes or {}).items()}
    holding = np.asarray(apart.ranks[-1], np.int64)
    return {v: (holding[t != 0], place[t != 0], t[t != 0]) for v, t in own.items()}


def _largest(place: Integers, amounts: Floats, shape: tuple[int, int]) -> Floats:
    """Return the largest amounts of each cell, falling."""
    order = np.lexsort((-np.abs(amounts), place))
    place = place[order]
    rank = np.arange(len(place)) - np.searchsorted(place, place)
    is_top = rank < shape[1]
    largest = np.zeros(shape)
    largest[place[is_top], rank[is_top]] = amounts[order][is_top]
    return largest
