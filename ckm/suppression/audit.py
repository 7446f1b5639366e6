"""What a reader of a suppressed table can work out: intervals of the hidden cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ckm.errors import ConfigError
from ckm.suppression.secondary.cover import Change, Cover
from ckm.suppression.secondary.problem import Demands, Problem
from ckm.suppression.secondary.region import FARTHEST, Attack, ranges
from footing.arrays import Flags, Floats, Integers
from risk.reconstruction.program import Rows
from risk.reconstruction.search import Search

#: Intervals are computed in units of which the largest hidden value has so many.
_UNITS = 1e6
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Audit:
    """Hold the feasibility interval of every hidden cell; for inside use only.

    Parameters
    ----------
    cells
        The hidden cells.
    low, high
        The least and the largest value of each over all tables that agree with what is
        published and have no value below its floor; infinite where nothing bounds it.
    is_exact
        Which of them have one value only: they are hidden in vain.
    under_protected
        The primary cells whose interval is narrower than demanded, or a single value.
    exposed
        The primary cells that a single contributor's cell of the same sum bounds too closely;
        empty where the problem leaves such readers out.
    n_programs
        How many linear programs were solved.

    Examples
    --------
    >>> none = np.zeros(0)
    >>> Audit(
    ...     cells=none,
    ...     low=none,
    ...     high=none,
    ...     is_exact=none,
    ...     under_protected=none,
    ...     exposed=none,
    ...     n_programs=0,
    ... )
    Audit(0 hidden, 0 exact, 0 under-protected, 0 exposed)
    """

    cells: Integers
    low: Floats
    high: Floats
    is_exact: Flags
    under_protected: Integers
    exposed: Integers
    n_programs: int

    @property
    def is_safe(self) -> bool:
        """Whether every demand is met.

        Examples
        --------
        >>> none = np.zeros(0)
        >>> Audit(
        ...     cells=none,
        ...     low=none,
        ...     high=none,
        ...     is_exact=none,
        ...     under_protected=none,
        ...     exposed=none,
        ...     n_programs=0,
        ... ).is_safe
        True
        """
        return not len(self.under_protected) and not len(self.exposed)

    def __repr__(self) -> str:
        return (
            f"Audit({len(self.cells)} hidden, {int(np.sum(self.is_exact))} exact,"
            f" {len(self.under_protected)} under-protected, {len(self.exposed)} exposed)"
        )


def audit(problem: Problem, hidden: ArrayLike) -> Audit:
    """Compute what a reader can work out of every hidden cell.

    Parameters
    ----------
    problem
        The problem.
    hidden
        Which cells are hidden; the primary ones must be.

    Returns
    -------
    Audit
        The intervals, and what they fall short of.

    Raises
    ------
    ConfigError
        If a primary cell is published.

    Notes
    -----
    The interval of cell ``i`` is ``min x_i .. max x_i`` over all ``x``, none below its floor,
    that satisfy every relation and equal the published values where these are. Hidden cells
    that no chain of relations links are looked at apart.

    Examples
    --------
    The sensitive 22 of a table of investments by activity and region, with three more cells
    hidden:

    >>> from ckm.suppression import Grid, Primary, Problem, Relations
    >>> values = np.array([190, 45, 101, 44, 80, 20, 50, 10, 49, 8, 19, 22, 61, 17, 32, 12])
    >>> need = np.where(values == 22, 5.0, 0.0)
    >>> problem = Problem(
    ...     relations=Relations.of_grids([Grid.full([[-1, 0, 0, 0], [-1, 0, 0, 0]])]),
    ...     values=values,
    ...     primary=Primary(is_primary=need > 0, lower=need, upper=need),
    ... )
    >>> found = audit(problem, np.isin(values, [22, 8, 17, 12]))
    >>> found, float(found.low[1]), float(found.high[1])
    (Audit(4 hidden, 0 exact, 0 under-protected, 0 exposed), 5.0, 30.0)
    """
    mask = np.asarray(hidden, bool) | (problem.must_hide & ~problem.primary.is_primary)
    if (problem.primary.is_primary & ~mask).any():
        raise ConfigError("A primary cell is not hidden.", hint="hide every primary cell")
    low, high, slack, n_programs = _intervals(problem, mask)
    is_exact = high - low <= slack
    demands, primary = problem.demands, problem.demands.cell
    is_open = np.diff(demands.starts) == 0
    short = (low[primary] > problem.value[primary] - demands.lower + slack[primary]) | (
        high[primary] < problem.value[primary] + demands.upper - slack[primary]
    )
    short |= is_exact[primary]
    exposed, more = _exposed(problem, mask, demands)
    cells = np.flatnonzero(mask)
    return Audit(
        cells=cells,
        low=low[cells],
        high=high[cells],
        is_exact=is_exact[cells],
        under_protected=demands.cell[short & is_open],
        exposed=exposed,
        n_programs=n_programs + more,
    )


def _exposed(problem: Problem, hidden: Flags, demands: Demands) -> tuple[Integers, int]:
    """Move the cell of each pair with the known one held."""
    pairs = np.flatnonzero(np.diff(demands.starts) > 0)
    if not pairs.size:
        return np.zeros(0, np.int64), 0
    attack, found, n_programs = Attack(problem.relations, np.flatnonzero(hidden)), set(), 0
    for number in pairs.tolist():
        down, up = demands.limited(number, problem.room, problem.rise)
        for sign, need in ((1, demands.upper[number]), (-1, demands.lower[number])):
            if need <= 0 or int(demands.cell[number]) in found:
                continue
            n_programs += 1
            reach = attack.reach(
                int(demands.cell[number]),
                sign=sign,
                down=np.where(hidden, np.minimum(down / need, FARTHEST), 0.0),
                up=np.where(hidden, np.minimum(up / need, FARTHEST), 0.0),
                most=1.0,
            )
            if reach.distance < 1 - _TOLERANCE:
                found.add(int(demands.cell[number]))
    return np.array(sorted(found), np.int64), n_programs


def _intervals(problem: Problem, hidden: Flags) -> tuple[Floats, Floats, Floats, int]:
    """Return the ends of every interval, how exact they are, and the number of programs."""
    low, high, n_programs = problem.value.copy(), problem.value.copy(), 0
    slack = np.zeros(len(low))
    cap = 4 * float(problem.value.sum()) + 1
    for cells, rows in _parts(problem, hidden):
        scale = _UNITS / max(1.0, float(problem.value[cells].max(initial=0.0)), cap / _UNITS**2)
        scale = min(scale, 1.0)
        most = np.full(len(cells), cap * scale)
        floor = problem.value[cells] - problem.room[cells]
        scaled = replace(rows, lower=rows.lower * scale, upper=rows.upper * scale)
        search = Search(scaled, (floor * scale, most))
        search.run()
        n_programs += search.n_programs
        low[cells] = search.bounds[0] / scale
        top = search.bounds[1]
        high[cells] = np.where(top >= 0.99 * most, np.inf, top / scale)
        slack[cells] = 10 * _TOLERANCE / scale
    # a bound may miss by a rounding error, the value itself is always possible
    ends = np.minimum(low, problem.value), np.maximum(high, problem.value)
    return *ends, slack, n_programs


def _parts(problem: Problem, hidden: Flags) -> Iterator[tuple[Integers, Rows]]:
    """Split the hidden cells where no relation links them; published values go to the right."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    relations = problem.relations
    is_hidden = hidden[relations.cells]
    row, cell = relations.rows[is_hidden], relations.cells[is_hidden]
    size = relations.n_cells + relations.n_relations
    graph = coo_array(
        (np.ones(len(row), np.int8), (cell, relations.n_cells + row)), shape=(size, size)
    )
    _, label = connected_components(graph, directed=False)
    sums = np.bincount(
        row, relations.signs[is_hidden] * problem.value[cell], minlength=relations.n_relations
    )
    of_row = label[relations.n_cells :]
    order = np.argsort(of_row, kind="stable")
    sorted_rows = of_row[order]
    place = np.full(relations.n_cells, -1)
    cells_by_label = np.flatnonzero(hidden)
    cells_by_label = cells_by_label[np.argsort(label[cells_by_label], kind="stable")]
    ends = np.flatnonzero(np.diff(label[cells_by_label], append=-1)) + 1
    start = 0
    for end in ends.tolist():
        cells = np.sort(cells_by_label[start:end])
        start = end
        a, b = np.searchsorted(sorted_rows, [label[cells[0]], label[cells[0]] + 1])
        rows = np.sort(order[a:b])
        place[cells] = np.arange(len(cells))
        entries = ranges(relations.starts, rows, np.arange(len(relations.cells)))
        entries = entries[is_hidden[entries]]
        owner = np.searchsorted(rows, relations.rows[entries])
        yield (
            cells,
            Rows(
                starts=np.searchsorted(owner, np.arange(len(rows) + 1)),
                columns=place[relations.cells[entries]],
                weights=relations.signs[entries].astype(np.float64),
                lower=sums[rows].astype(np.float64),
                upper=sums[rows].astype(np.float64),
            ),
        )


def check_changes(problem: Problem, hidden: ArrayLike, changes: Sequence[Change]) -> Integers:
    """Prove protection by changed tables alone, with no program: what is left unproven.

    Parameters
    ----------
    problem
        The problem.
    hidden
        Which cells are hidden.
    changes
        Changes said to leave every sum as it is.

    Returns
    -------
    numpy.ndarray
        The numbers of the demands that no change proves met; a change that moves a published
        cell or a sum proves nothing.

    Notes
    -----
    A change that keeps every sum and moves hidden cells only leads to tables that a reader
    cannot rule out. How far it goes before a value falls below its floor bounds the interval of
    every cell that it moves from inside, which is the side that protection is about.

    Examples
    --------
    >>> from ckm.suppression import Change, Frequency, Grid, Problem, Relations
    >>> from ckm.suppression import primary_cells
    >>> counts = np.array([9, 1, 8])
    >>> problem = Problem(
    ...     relations=Relations.of_grids([Grid.full([[-1, 0, 0]])]),
    ...     values=counts,
    ...     primary=primary_cells([Frequency(least=3)], counts=counts),
    ... )
    >>> both = Change(cells=np.array([1, 2]), moves=np.array([1.0, -1.0]))
    >>> check_changes(problem, [False, True, True], [both])
    array([], dtype=int64)
    """
    mask = np.asarray(hidden, bool) | (problem.must_hide & ~problem.primary.is_primary)
    matrix: Any = problem.relations.matrix
    proven = Cover(problem)
    for change in changes:
        full = np.zeros(problem.relations.n_cells)
        full[change.cells] = change.moves
        scale = float(np.abs(change.moves).max(initial=0.0))
        if mask[change.cells].all() and np.abs(matrix @ full).max(initial=0) <= 1e-6 * scale:
            proven.add(change)
    return proven.open_demands()
