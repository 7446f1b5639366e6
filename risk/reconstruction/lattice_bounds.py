"""What is certain of many tables of the same records together: the least and largest counts."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Floats, Integers, Levels
from footing.messages import Message
from risk.errors import RiskError
from risk.reconstruction.lattice import Lattice, Shown, added
from risk.reconstruction.program import Rows
from risk.reconstruction.search import TOLERANCE, Search

Origins: TypeAlias = Callable[[Integers], tuple[Integers, Integers]]

_ROUNDS = 50
_MOST_JOINT = 2_000_000
_MOST_WHOLE = 150
_MOST_NODES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CountBounds:
    """The least and the largest count that each cell of a table can have. Disclosive.

    Parameters
    ----------
    lower, upper
        Of the shape of the table; `upper` is infinite where nothing bounds a cell.
    """

    lower: Floats
    upper: Floats


def count_bounds(
    lattice: Lattice,
    published_cells: Mapping[Levels, Shown],
    *,
    origins: Origins,
    equal_noise: bool = False,
    is_over: Callable[[], bool] | None = None,
) -> dict[Levels, CountBounds]:
    """Bound the true counts of all tables by all that is published.

    Parameters
    ----------
    lattice, shown
        The tables, and what they show.
    origins
        The least and the largest true count of published ones.
    equal_noise
        Whether cells of the same records have the same noise: then somebody is in the rest of
        a sum that is published unlike one of its parts.
    is_over
        Asked after each round whether to stop: bounds so far hold, but may be wider.

    Notes
    -----
    Where cells add up to another, each is at most the largest that the sum may be less the
    least that its other parts may be, and so on (bound propagation): from the joint cells to
    the tables and between tables that differ in one variable, until nothing changes. Every
    bound holds for all counts that fit, but may be wider than it need be. Where joint and
    published cells are 150 at most, the bounds are the best there are: linear programs, then
    programs in whole numbers (`intervals`).
    """
    bounds = {table: _of_published(one, origins) for table, one in published_cells.items()}
    finest = (0,) * len(lattice.groups)
    if finest not in bounds and math.prod(lattice.shape) <= _MOST_JOINT:
        bounds[finest] = CountBounds(
            lower=np.zeros(lattice.shape), upper=np.full(lattice.shape, np.inf)
        )
    steps = [
        (*step, _alike(published_cells, *step)[1] if equal_noise else np.False_)
        for step in _steps(lattice, list(bounds))
    ]
    for _ in range(_ROUNDS):
        changes = [_pass_on(bounds, *step) for step in steps]
        if not any(changes) or (is_over is not None and is_over()):
            break
    n_cells = math.prod(lattice.shape) + sum(
        one.published.size for one in published_cells.values()
    )
    if n_cells <= _MOST_WHOLE:
        bounds |= _best(lattice, published_cells, bounds)
    return {table: bounds[table] for table in published_cells}


def equal_siblings(
    lattice: Lattice, published_cells: Mapping[Levels, Shown]
) -> dict[Levels, Flags]:
    """Tell of which cells another part of a sum is published like the sum.

    Where cells of the same records have the same noise, these cells are mostly empty.
    """
    flags = {
        table: np.zeros(one.is_shown.shape, bool) for table, one in published_cells.items()
    }
    for below, above, codes in _steps(lattice, list(published_cells)):
        is_equal = _alike(published_cells, below, above, codes)[0]
        flags[below] |= _taken(_summed(is_equal * 1, codes), codes) > is_equal
    return flags


def _alike(
    published_cells: Mapping[Levels, Shown],
    below: Levels,
    above: Levels,
    codes: Mapping[int, Integers],
) -> tuple[Flags, Flags]:
    """Tell which parts are published like their sum, and which unlike it."""
    if not {below, above} <= published_cells.keys():
        return np.zeros(1, bool), np.zeros(1, bool)
    part, whole = published_cells[below], published_cells[above]
    is_seen = part.is_shown & _taken(whole.is_shown, codes)
    is_equal = part.published == _taken(whole.published, codes)
    return is_seen & is_equal, is_seen & ~is_equal


def _of_published(cells: Shown, origins: Origins) -> CountBounds:
    lower, upper = np.zeros(cells.published.shape), np.full(cells.published.shape, np.inf)
    lower[cells.is_shown], upper[cells.is_shown] = origins(cells.published[cells.is_shown])
    return CountBounds(lower=lower, upper=upper)


def _steps(
    lattice: Lattice, tables: list[Levels]
) -> Iterator[tuple[Levels, Levels, dict[int, Integers]]]:
    """Give pairs of tables of which one adds the other up, with codes by axis that differs."""
    finest = (0,) * len(lattice.groups)
    for below in tables:
        for above in tables:
            axes = [axis for axis, level in enumerate(below) if level != above[axis]]
            if not axes or (len(axes) > 1 and below != finest):
                continue
            codes = {axis: lattice.codes(axis, below[axis], above[axis]) for axis in axes}
            codes_by_axis = {axis: one for axis, one in codes.items() if one is not None}
            if len(codes_by_axis) == len(axes):
                yield below, above, codes_by_axis


def _pass_on(
    bounds: dict[Levels, CountBounds],
    below: Levels,
    above: Levels,
    codes: Mapping[int, Integers],
    is_unlike: Flags | np.bool_,
) -> bool:
    """Bound sums by their parts and parts by their sum; tell whether a bound has moved.

    Beside a part that is unlike its sum there is somebody.
    """
    part, whole = bounds[below], bounds[above]
    is_open = np.isinf(part.upper)
    finite = np.where(is_open, 0.0, part.upper)
    least, most, n_open = (_summed(x, codes) for x in (part.lower, finite, is_open * 1.0))
    lower = np.maximum(whole.lower, least)
    upper = np.minimum(whole.upper, np.where(n_open > 0, np.inf, most))
    # The others are bounded where none of them is open.
    others = np.where(_taken(n_open, codes) - is_open > 0, np.inf, _taken(most, codes) - finite)
    least_others = np.maximum(_taken(least, codes) - part.lower, is_unlike)
    is_possible = part.upper > 0
    n_possible, n_unlike = (
        _taken(_summed(x * 1, codes), codes) for x in (is_possible, is_possible & is_unlike)
    )
    is_beside = is_possible & (n_possible == 2) & (n_unlike > is_unlike)
    new = CountBounds(
        lower=np.maximum.reduce([part.lower, _taken(lower, codes) - others, is_beside]),
        upper=np.minimum(part.upper, _taken(upper, codes) - least_others),
    )
    bounds[above], bounds[below] = CountBounds(lower=lower, upper=upper), new
    return any(
        bool((new_one != old_one).any())
        for new_one, old_one in (
            (lower, whole.lower),
            (upper, whole.upper),
            (new.lower, part.lower),
            (new.upper, part.upper),
        )
    )


def _summed(values: NDArray[Any], codes: Mapping[int, Integers]) -> NDArray[Any]:
    for axis, some in codes.items():
        values = added(values, some, axis=axis)
    return values


def _taken(values: NDArray[Any], codes: Mapping[int, Integers]) -> NDArray[Any]:
    for axis, some in codes.items():
        values = values.take(some, axis=axis)
    return values


def _best(
    lattice: Lattice,
    published_cells: Mapping[Levels, Shown],
    bounds: Mapping[Levels, CountBounds],
) -> dict[Levels, CountBounds]:
    """Solve for the best bounds of few cells: columns of joint cells, then of all tables'."""
    n_joint = math.prod(lattice.shape)
    limits = [bounds[table] for table in published_cells]
    lower = np.concatenate([np.zeros(n_joint), *(one.lower.ravel() for one in limits)])
    upper = np.concatenate([np.full(n_joint, np.inf), *(one.upper.ravel() for one in limits)])
    rows, start = [], n_joint
    for table in published_cells:
        places = np.arange(math.prod(lattice.shape_of(table))).reshape(lattice.shape_of(table))
        pairs = enumerate(zip(lattice.groups, table, strict=True))
        place = _taken(places, {axis: codes[level] for axis, (codes, level) in pairs})
        for cell in range(places.size):
            members = np.flatnonzero(place.ravel() == cell)
            rows.append(np.append(members, start + cell))
            upper[members] = np.minimum(upper[members], upper[start + cell])
        start += places.size
    columns, zeros = np.concatenate(rows), np.zeros(len(rows))
    sums = Rows(
        starts=np.cumsum([0, *map(len, rows)]),
        columns=columns,
        weights=np.where(columns < n_joint, 1.0, -1.0),
        lower=zeros,
        upper=zeros,
    )
    lower, upper = _tightened(sums, lower, upper)
    best, start = {}, n_joint
    for table, one in zip(published_cells, limits, strict=True):
        cells = slice(start, start + one.lower.size)
        best[table] = CountBounds(
            lower=lower[cells].reshape(one.lower.shape),
            upper=upper[cells].reshape(one.upper.shape),
        )
        start = cells.stop
    return best


def _tightened(sums: Rows, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Return the best bounds of every column: linear programs, then whole numbers."""
    if np.isinf(upper).any():
        return lower, upper
    linear = Search(sums, (lower, upper))
    if not linear.run():
        raise RiskError(
            Message("No true counts fit what is published."),
            hint=Message("the p-table is another than that of the tables"),
        )
    ends = np.ceil(linear.bounds[0] - TOLERANCE), np.floor(linear.bounds[1] + TOLERANCE)
    whole = Search(sums, ends, most_nodes=_MOST_NODES)
    whole.see_whole(linear)
    whole.run()
    return whole.bounds
