"""What a reader of a suppressed table can work out: intervals of the hidden cells."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ckm.errors import ConfigError
from ckm.methods.suppression.attackers import Attackers
from ckm.methods.suppression.secondary.cover import Change, Cover
from ckm.methods.suppression.secondary.estimate import MUCH_S, audit_estimate
from ckm.methods.suppression.secondary.problem import Demands, Problem, ranges
from ckm.methods.suppression.secondary.region import FARTHEST, Incidence, Region
from ckm.methods.suppression.secondary.work import Work
from footing.arrays import Flags, Floats, Integers
from footing.messages import Message
from risk.reconstruction.program import Rows
from risk.reconstruction.search import Search, tightened

logger = logging.getLogger(__name__)

#: Intervals are computed in units of which the largest hidden value has so many.
_UNITS = 1e6
_TOLERANCE = 1e-6
#: So many changes are checked at once.
_MANY = 1_000
#: In larger parts only demands are looked at: two programs a cell would take an hour.
MOST_INTERVALS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Audit:
    """Hold the feasibility interval of every hidden cell; for inside use only.

    Parameters
    ----------
    cells
        The hidden cells.
    low, high
        The least and the largest value of each over all tables that agree with what is
        published and have no value below its floor; infinite where nothing bounds it, NaN where
        more than ``MOST_INTERVALS`` hidden cells are linked, or `limit_s` was over, and none
        was computed.
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


def audit(
    problem: Problem,
    hidden: ArrayLike,
    *,
    changes: Sequence[Change] = (),
    limit_s: float = np.inf,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Audit:
    """Compute what a reader can work out of every hidden cell.

    Parameters
    ----------
    problem
        The problem.
    hidden
        Which cells are hidden; the primary ones must be.
    changes
        Changed tables at hand, each of which is checked: what one proves, no program has to.
    limit_s
        When intervals are looked for no longer: after the work that takes so long. Demands, and
        which cells have one possible value, are always looked at, all of them.
    progress
        Called with how much is done, and how much there is.

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
    that no chain of relations links are looked at apart. Whether a demand is met, programs in
    units of the demand tell, whatever the size of other numbers; whether a cell is exact, the
    directions in which it can move at all. Both are told of every cell, also where too many are
    linked for their intervals.

    Examples
    --------
    The sensitive 22 of a table of investments by activity and region, with three more cells
    hidden:

    >>> from ckm.methods.suppression import Grid, Primary, Problem, Relations
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
    if np.shape(hidden) != problem.value.shape:
        raise ConfigError(
            Message(
                "hidden has {size:,} entries for {number:,} cells.",
                size=np.size(hidden),
                number=len(problem.value),
            ),
            hint=Message("tell of each cell of the problem whether it is hidden"),
        )
    mask = np.asarray(hidden, bool) | (problem.must_hide & ~problem.primary.is_primary)
    if (problem.primary.is_primary & ~mask).any():
        raise ConfigError(
            Message("A primary cell is not hidden."), hint=Message("hide every primary cell")
        )
    parts = list(_parts(problem, mask))
    _tell_estimate(problem, [len(cells) for cells, _ in parts], limit_s)
    n_hidden, n_unsafe = int(mask.sum()), int(problem.primary.is_primary.sum())
    work = Work(limit_s)
    low, high, slack, n_programs = _intervals(
        problem, parts, work, lambda done: progress(done, n_hidden + n_unsafe)
    )
    n_unknown = int(np.isnan(low).sum())
    if work.ended_by is not None:
        logger.warning(
            "%s",
            Message(
                "The audit had intervals to compute for longer than limit_s: those of "
                "{number:,} hidden cells are left out. That unsafe cells are protected as "
                "demanded, and which cells have one possible value, is examined for all.",
                number=n_unknown,
            ),
            extra={"event": "intervals left out"},
        )
    moves = _Moves(problem, mask, [cells for cells, _ in parts])
    moves.progress = lambda share: progress(
        n_hidden + int(share * n_unsafe), n_hidden + n_unsafe
    )
    under, exposed = moves.unmet(changes)
    is_unknown = np.isnan(low) & ~moves.seen_to_move()
    doubtful = np.flatnonzero(mask & (is_unknown | (high - low <= slack)))
    is_exact = moves.are_fixed(doubtful)
    cells = np.flatnonzero(mask)
    fixed = doubtful[is_exact]
    return Audit(
        cells=cells,
        low=low[cells],
        high=high[cells],
        is_exact=np.isin(cells, fixed),
        under_protected=np.union1d(under, fixed[problem.primary.is_primary[fixed]]),
        exposed=exposed,
        n_programs=n_programs + moves.n_programs,
    )


class _Moves:
    """Move hidden cells, part by part, for outsiders and for those who contributed."""

    def __init__(self, problem: Problem, hidden: Flags, parts: Sequence[Integers]) -> None:
        self.problem, self.hidden, self.parts = problem, hidden, parts
        self.incidence, self.n_programs = Incidence(problem.relations), 0
        self.seen: list[Change] = []
        self.part_of = np.full(len(hidden), -1)
        for number, cells in enumerate(parts):
            self.part_of[cells] = number
        self.even = np.ones(len(hidden))
        self.progress: Callable[[float], None] = lambda _share: None

    def are_fixed(self, cells: Integers) -> Flags:
        """Tell which cells cannot move in any direction."""
        need = np.full(len(cells), self._least())
        demands = Demands.of_outsider(cells, lower=need, upper=need)
        move = self._mover(demands)
        sides = ((1, self.problem.rise[cells] > 0), (-1, self.problem.room[cells] > 0))
        flags = [
            not any(can[d] and move(d, sign) is not None for sign, can in sides)
            for d in range(len(cells))
        ]
        return np.array(flags, bool)

    def seen_to_move(self) -> Flags:
        """Tell which cells a change moves that `unmet` had or found."""
        mask, least = np.zeros(len(self.hidden), bool), self._least()
        for change in self.seen:
            moved = np.abs(change.moves) * max(change.reach(self.problem))
            mask[change.cells[moved >= least]] = True
        return mask

    def _least(self) -> float:
        """Return by how much a cell moves at least that is not fixed."""
        room, rise = self.problem.room[self.hidden], self.problem.rise[self.hidden]
        return float(np.concatenate([room[room > 0], rise[rise > 0], [1.0]]).min() / FARTHEST)

    def unmet(self, changes: Sequence[Change]) -> tuple[Integers, Integers]:
        """List the cells that an outsider, and that a contributor, comes too near."""
        demands, attackers = self.problem.demands, Attackers(self.problem)
        self.seen = valid_changes = _holding(self.problem, self.hidden, changes)
        under: set[int] = set()
        exposed: set[int] = set()
        while True:
            cover, move = Cover(self.problem, demands), self._mover(demands)
            for earlier in valid_changes:
                cover.add(earlier)
            demand_numbers = cover.open_demands()
            for done, number in enumerate(demand_numbers.tolist()):
                self.progress(done / len(demand_numbers))
                for sign, is_met in ((1, cover.is_high_met), (-1, cover.is_low_met)):
                    change = None if is_met[number] else move(number, sign)
                    if change is not None:
                        cover.add(change)
                        valid_changes.append(change)
                    elif not is_met[number]:
                        part = demands.known_to(number)
                        failed = under if part.start == part.stop else exposed
                        failed.add(int(demands.cell[number]))
            more = attackers.unguarded(valid_changes)
            if more is None:
                return np.array(sorted(under), np.int64), np.array(sorted(exposed), np.int64)
            demands = more

    def _mover(self, demands: Demands) -> Callable[[int, int], Change | None]:
        """Return what finds a change of hidden cells that meets a demand on one side."""
        regions: dict[int, Region] = {}

        def move(number: int, sign: int) -> Change | None:
            part = int(self.part_of[demands.cell[number]])
            if part not in regions:
                cells = self.parts[part]
                regions[part] = Region(self.problem, demands, self.incidence, cells)
            self.n_programs += 1
            return regions[part].change(np.array([number]), sign, self.even)

        return move


def _tell_estimate(problem: Problem, sizes: Sequence[int], limit_s: float) -> None:
    """Say what an audit costs, where that is much."""
    linked = [size for size in sizes if size <= MOST_INTERVALS]
    estimate = audit_estimate(problem, linked, limit_s=limit_s)
    if estimate.seconds >= MUCH_S:
        logger.info(
            "%s",
            Message(
                "The audit takes about {seconds:,.0f} CPU s and {megabytes:,.0f} MB, by the "
                "number of hidden cells; it may be a third or three times of that.",
                seconds=estimate.seconds,
                megabytes=estimate.megabytes,
            ),
            extra={"event": "audit estimated"},
        )


def _intervals(
    problem: Problem,
    parts: Sequence[tuple[Integers, Rows]],
    work: Work,
    progress: Callable[[int], None],
) -> tuple[Floats, Floats, Floats, int]:
    """Return the ends of every interval, how exact they are, and the number of programs."""
    n_done = 0
    low, high, n_programs = problem.value.copy(), problem.value.copy(), 0
    slack = np.zeros(len(low))
    cap = 4 * float(np.abs(problem.value).sum()) + 1
    for cells, rows in parts:
        progress(n_done)
        n_done += len(cells)
        if len(cells) > MOST_INTERVALS or work.is_over:
            low[cells] = high[cells] = np.nan
            continue
        largest = float(np.abs(problem.value[cells]).max(initial=0.0))
        scale = _UNITS / max(1.0, largest, cap / _UNITS**2)
        scale = min(scale, 1.0)
        most = np.minimum(problem.value[cells] + problem.rise[cells], cap) * scale
        floor = np.maximum(problem.value[cells] - problem.room[cells], -cap)
        scaled = replace(rows, lower=rows.lower * scale, upper=rows.upper * scale)
        value = problem.value[cells] * scale
        least, most = tightened(scaled, (floor * scale, most)) or (floor * scale, most)
        search = Search(scaled, (np.minimum(least, value), np.maximum(most, value)))
        search.run(goes_on=partial(_goes_on, search, work, n_done, progress))
        n_programs += search.n_programs
        bottom, top = search.bounds
        low[cells] = np.where(bottom <= -0.99 * cap * scale, -np.inf, bottom / scale)
        high[cells] = np.where(top >= 0.99 * cap * scale, np.inf, top / scale)
        slack[cells] = 10 * _TOLERANCE / scale
        if work.is_over:  # what no program was asked about
            left = cells[search.is_open()]
            low[left] = high[left] = np.nan
    # a bound may miss by a rounding error, the value itself is always possible
    ends = np.minimum(low, problem.value), np.maximum(high, problem.value)
    return *ends, slack, n_programs


def _goes_on(search: Search, work: Work, n_done: int, progress: Callable[[int], None]) -> bool:
    """Count the last program of a search, and tell whether there is time for more."""
    n_cells = len(search.bounds[0])
    if search.n_programs:
        work.asked(search.program, n_cells + len(search.rows.lower))
    n_open = int(search.is_open().sum())
    progress(n_done - min(n_open, n_cells))
    return not work.is_over


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
    >>> from ckm.methods.suppression import Change, Frequency, Grid, Problem, Relations
    >>> from ckm.methods.suppression import primary_cells
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
    proven = Cover(problem)
    for change in _holding(problem, mask, changes):
        proven.add(change)
    return proven.open_demands()


def _holding(problem: Problem, hidden: Flags, changes: Sequence[Change]) -> list[Change]:
    """List the changes that move hidden cells only, and no sum."""
    from scipy.sparse import csc_array

    matrix: Any = problem.relations.matrix
    valid = []
    for start in range(0, len(changes), _MANY):
        part = changes[start : start + _MANY]
        sizes = [len(change.cells) for change in part]
        cells = np.concatenate([change.cells for change in part])
        moves = np.concatenate([change.moves for change in part])
        ends, owner = np.cumsum([0, *sizes]), np.repeat(np.arange(len(part)), sizes)
        shape = (problem.relations.n_cells, len(part))
        off = np.abs((matrix @ csc_array((moves, cells, ends), shape=shape)).tocsc())
        far, scale = np.zeros(len(part)), np.zeros(len(part))
        np.maximum.at(far, np.repeat(np.arange(len(part)), np.diff(off.indptr)), off.data)
        np.maximum.at(scale, owner, np.abs(moves))
        visible = np.bincount(owner, ~hidden[cells], minlength=len(part))
        is_valid = (visible == 0) & (far <= 1e-6 * scale)
        valid += [part[number] for number in np.flatnonzero(is_valid).tolist()]
    return valid
