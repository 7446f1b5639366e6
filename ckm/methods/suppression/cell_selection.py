"""From the cells of a job's tables to those that are hidden, and what is published of them."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.engine.published_table import PublishedTable, measure_columns
from ckm.engine.request import variable_of
from ckm.errors import CELL_COLUMNS, CheckFailedError, ConfigError, Places
from ckm.methods.suppression import (
    Amounts,
    Audit,
    Dominance,
    Frequency,
    Percent,
    Primary,
    Problem,
    Relations,
    Suppression,
    additive_relations,
    audit,
    primary_cells,
)
from ckm.methods.suppression.a_priori.wishes import APriori
from ckm.methods.suppression.costs import cell_costs
from ckm.methods.suppression.office_rules import Requested, ZeroSum
from ckm.methods.suppression.publish import publish_masked
from ckm.methods.suppression.secondary.estimate import MUCH_S, search_estimate
from ckm.methods.suppression.secondary.search import (
    PRIMARY,
    SECONDARY,
    UnprotectedError,
    suppress,
)
from ckm.methods.suppression.shadow import primary_by_shadow
from ckm.methods.suppression.ways_out import subtracted, way_out
from footing.messages import Message, Name, said
from footing.progress import no_progress
from tables.magnitudes.derived import asked_column, size_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from ckm.engine.request import TableRequest
    from ckm.methods.settings import SuppressionSettings
    from ckm.methods.suppression.original_cells import Finest
    from ckm.methods.suppression.release_pattern import EarlierPatterns
    from footing.arrays import Codes, Flags, Floats, Integers
    from footing.progress import Progress
    from tables import Cells
    from tables.magnitudes.amounts import Magnitudes

    #: which groups a filter lets in, and the category of each on every axis
    Groups = tuple[Flags, tuple[Codes, ...]]

logger = logging.getLogger(__name__)

_MANY = 2**31
#: In so many parts the progress of a measure is told.
_PARTS = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MeasureSystem:
    """The numbers of one measure over all tables that show it; disclosive.

    Parameters
    ----------
    measure
        ``"count"``, ``"weighted"`` or ``"sum:"`` with a variable.
    members
        The numbers of the tables.
    cells
        For every cell of the problem, its number among the cells of all tables; for a
        remainder, that of the cell of which it is left.
    is_shown
        Which cells of the problem a table shows; the others only link those that are shown.
    problem, suppression
        What was asked for, and what its own choice was.
    disclosed
        Unsafe cells that a pattern of another program publishes.
    """

    measure: str
    members: tuple[int, ...]
    cells: Integers
    is_shown: Flags
    problem: Problem
    suppression: Suppression
    disclosed: Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HiddenCells:
    """Which cells of the tables are hidden: the same for all measures and all tables.

    Made by `choose_hidden`. Disclosive: only `publish` makes what may leave.

    Parameters
    ----------
    tables, requests
        The cells of every table, and what was asked for.
    relations
        Which cells are the same in several tables.
    status
        For every cell of `relations`: 0 published, 1 primary, 2 secondary.
    systems
        The measures, each with its own problem.
    """

    tables: Mapping[str, Cells]
    requests: Mapping[str, TableRequest]
    relations: Relations
    status: NDArray[np.int8]
    systems: tuple[MeasureSystem, ...]
    #: whether counts are published of cells whose other numbers are hidden
    has_public_counts: bool = False

    @property
    def hidden(self) -> Flags:
        """Which cells are not published.

        Examples
        --------
        See `choose_hidden`.
        """
        return np.asarray(self.status > 0)

    def unproven(self) -> Integers:
        """List the primary cells whose protection no change proves; an audit may still.

        Examples
        --------
        See `choose_hidden`.
        """
        parts = [system.cells[system.suppression.unproven()] for system in self.systems]
        return np.unique(np.concatenate(parts))

    def places(self, cells: Integers) -> Places:
        """Name some cells by table and categories; disclosive, and for no message.

        Parameters
        ----------
        cells
            Their numbers.

        Examples
        --------
        See `choose_hidden`.
        """
        return _places(self.tables, self.relations, cells)

    def audits(
        self, *, limit_s: float = np.inf, progress: Progress | None = None
    ) -> dict[str, Audit]:
        """Compute what a reader can work out of each hidden cell, measure by measure.

        Parameters
        ----------
        limit_s
            When intervals of a measure are looked for no longer; see `audit`.
        progress
            Called with a stage, how much of it is done and how much there is.

        Examples
        --------
        See `choose_hidden`.
        """
        report_progress, n_all = progress or no_progress, _PARTS * len(self.systems)
        by_measure = {}
        for number, system in enumerate(self.systems):

            def report_part(done: int, total: int, start: int = _PARTS * number) -> None:
                report_progress("audit", start + _PARTS * done // max(total, 1), n_all)

            report_part(0, 1)
            hidden = self.hidden[system.cells] & system.is_shown
            hidden |= system.problem.primary.is_primary  # remainders are in no table
            changes = system.suppression.changes
            by_measure[system.measure] = audit(
                system.problem, hidden, changes=changes, limit_s=limit_s, progress=report_part
            )
        report_progress("audit", n_all, n_all)
        return by_measure

    def publish(self, name: str, *, missing_label: str | None = None) -> PublishedTable:
        """Publish the true numbers of a table's cells that are not hidden.

        Parameters
        ----------
        name
            The table.
        missing_label
            What a missing category is called, so that none repeats the cell above it.

        Examples
        --------
        See `choose_hidden`.
        """
        number, cells = list(self.tables).index(name), self.tables[name]
        hidden = self.hidden[self.relations.numbers[number]]
        is_listed = hidden | (cells.count > 0)
        dimensions = dict.fromkeys(column for axis in cells.axes for column in axis.columns)
        columns = {}
        for column, measure in measure_columns(
            self.requests[name].measures, dimensions
        ).items():
            is_mean = measure.startswith("mean:")  # there is none where nobody has a value
            if measure == "count" and self.has_public_counts:
                columns[column] = np.ma.array(np.append(0, cells.count))
                continue
            masked = hidden | (_divisor(cells, measure) <= 0) if is_mean else hidden
            numbers = np.where(hidden, 0, numbers_of(cells, measure))
            columns[column] = np.ma.array(
                np.append(0, numbers), mask=np.append(is_mean, masked)
            )
        empty = self.requests[name].empty_cells
        return publish_masked(
            *(cells, columns),
            is_listed=is_listed,
            empty_cells=empty,
            missing_label=missing_label,
        )


def choose_hidden(
    tables: Mapping[str, Cells],
    requests: Mapping[str, TableRequest],
    *,
    rules: SuppressionSettings,
    groups: Sequence[Groups] = (),
    whole: Sequence[tuple[str, Cells]] = (),
    finest: Finest | None = None,
    pattern: Sequence[Flags] = (),
    earlier: EarlierPatterns | None = None,
    is_bound: bool = False,
    progress: Progress | None = None,
) -> HiddenCells:
    """Choose the cells to hide, for all tables and measures together.

    Each measure is a problem of its own, and a cell that one of them hides is hidden in all
    columns of all tables. Hiding more never narrows an interval, so that the union protects
    every measure. What is hidden already costs the next measure nothing.

    A reader adds up over several dimensions at once, and over the cells of one table to those
    of another: whatever as a set of records is a combination of others is linked to them, see
    `additive_relations`. The margins between are cells that nobody sees.

    With a `pattern`, these cells of the tables are hidden, and no other is looked for. What
    `earlier` releases of the same records hid stays hidden; where one `is_bound` by them, what
    they showed is known.
    """
    report_progress = progress or no_progress
    links = _Links(tables, groups, whole, finest)
    relations = links.of(range(len(links.tables)))
    status = np.zeros(relations.n_cells, np.int8)
    for number, flags in zip(relations.numbers, pattern, strict=False):
        status[number[flags]] = SECONDARY
    if earlier is not None:
        status[earlier.hidden(relations)] = SECONDARY
    measures = tables_by_measure(requests, tables, public_counts=rules.public_counts)
    a_priori = APriori(
        rules, tables, requests, numbers=relations.numbers, n_cells=relations.n_cells
    )
    above = [list(tables).index(name) for name, _ in whole]
    systems = []
    for done, (measure, members) in enumerate(measures.items()):
        report_progress("suppression", done, len(measures))
        system = _solved(
            measure,
            (
                *members,
                *(len(tables) + i for i, m in enumerate(above) if m in members),
                *(() if _is_signed(measure, tables.values()) else links.finest),
            ),
            links,
            rules,
            a_priori,
            names=[list(tables)[m] for m in members],
            hidden=status > 0,
            published=earlier.shown(measure, relations)
            if earlier is not None and is_bound
            else np.zeros(relations.n_cells, bool),
            is_given=bool(pattern),
            progress=progress,
        )
        status[system.cells[system.suppression.hidden & system.is_shown]] = SECONDARY
        systems.append(system)
    for system in systems:  # unsafe for one measure is unsafe
        status[system.cells[system.problem.primary.is_primary & system.is_shown]] = PRIMARY
    report_progress("suppression", len(measures), len(measures))
    return HiddenCells(
        tables=tables,
        requests=requests,
        relations=relations,
        status=status,
        systems=tuple(systems),
        has_public_counts=rules.public_counts,
    )


class _Links:
    """How the cells of some of the tables are linked, found once for each choice of tables."""

    def __init__(
        self,
        tables: Mapping[str, Cells],
        groups: Sequence[Groups],
        whole: Sequence[tuple[str, Cells]],
        finest: Finest | None,
    ) -> None:
        groups = groups if finest is None else finest.groups
        self.held = {} if finest is None else finest.held
        of_table = dict(zip(tables, groups, strict=False)) if groups else {}
        self.tables = [*tables.values(), *(cells for _, cells in whole)]
        self.groups = [*of_table.values(), *(of_table[name] for name, _ in whole)]
        #: the number of a table of the groups themselves, which nobody sees
        self.finest = () if finest is None else (len(self.tables),)
        if finest is not None:
            self.tables.append(finest.cells)
            self.groups.append(groups[-1])
        self._found: dict[tuple[int, ...], Relations] = {}

    def of(self, members: Sequence[int]) -> Relations:
        key = tuple(members)
        if key not in self._found:
            self._found[key] = additive_relations(
                *(self.tables[m] for m in key),
                groups=[self.groups[m] for m in key] if self.groups else (),
                has_finest=bool({*self.finest} & {*key}),
            )
        return self._found[key]


def tables_by_measure(
    requests: Mapping[str, TableRequest],
    tables: Mapping[str, Cells],
    *,
    public_counts: bool = False,
) -> dict[str, tuple[int, ...]]:
    """Return measure → the tables that show it; a mean shows the sum and what divides it.

    Counts that are public are no measure: nobody has to be kept from them.
    """
    by_measure: dict[str, list[int]] = {}
    for number, (name, request) in enumerate(requests.items()):
        divisor = "count" if tables[name].weight is None else "weighted"
        measures = dict.fromkeys(m for m in request.measures if not m.startswith("mean:"))
        for measure in request.measures:
            if measure.startswith("mean:"):
                measures |= {divisor: None, f"sum:{variable_of(measure)}": None}
        for measure in measures:
            by_measure.setdefault(measure, []).append(number)
    if public_counts:
        by_measure.pop("count", None)
    return {measure: tuple(members) for measure, members in by_measure.items()}


def _solved(
    measure: str,
    members: tuple[int, ...],
    links: _Links,
    rules: SuppressionSettings,
    a_priori: APriori,
    *,
    names: Sequence[str],
    hidden: Flags,
    published: Flags,
    is_given: bool,
    progress: Progress | None,
) -> MeasureSystem:
    """Solve the problem of one measure, of which the first tables are shown, and have names."""
    own_tables = [links.tables[m] for m in members]
    own, number = links.of(members), np.concatenate(links.of(members).numbers)
    cells = np.full(own.n_cells, -1)
    whole = links.of(range(len(links.tables)))
    cells[number] = np.concatenate([whole.numbers[m] for m in members])
    is_shown = np.isin(np.arange(len(cells)), np.concatenate(own.numbers[: len(names)]))
    of_nobody = own.numbers[-1][~is_shown[own.numbers[-1]]] if own.is_joint else number[:0]
    mask = is_shown.copy()  # what a reader subtracts is as good as published
    for cell, _ in own.left:
        cells[cell[-1]], mask[cell[-1]] = cells[cell[0]], True

    def laid_out(values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        array = np.concatenate(values)
        output = np.zeros((len(cells), *array.shape[1:]), array.dtype)
        output[number] = array
        return output

    def completed(values: NDArray[Any]) -> NDArray[Any]:
        return own.with_remainders(values[: own.n_cells - len(own.left)])

    values = completed(laid_out([numbers_of(c, measure) for c in own_tables]))
    contributors = laid_out([_contributors(c, measure) for c in own_tables])

    def named(numbers: Integers, what: str) -> Places:
        parents = {int(cell[-1]): int(cell[0]) for cell, _ in own.left}
        failed = np.array([parents.get(cell, cell) for cell in numbers.tolist()])
        return _places(dict(zip(names, own_tables, strict=False)), own, failed, what=what)

    def known(times: int) -> Primary:
        less = tuple(times * percent for percent in prior or (0.0, 0.0))
        return _known_before(before, values, size, (less[0], less[1]), of_nobody)

    try:
        amounts = _joined(measure, own_tables, laid_out, values, completed(contributors))
        size = completed(amounts.total) if amounts.is_signed else values  # as rules read it
        amounts = replace(amounts, total=size)
        own_a_priori = a_priori.of(measure, cells, is_shown)
        uncounted = own.remainders if rules.public_counts else np.flatnonzero(~is_shown)
        judged = _judged(measure, amounts, rules, own_tables, layout=(laid_out, completed))
        primary = _among(mask, is_shown, judged, uncounted)
        primary = _with_held(primary, links.held.get(str(variable_of(measure))), own.numbers)
        primary = own_a_priori.primary(primary, values, margin=rules.margin)
        is_there = laid_out([_known_to_be_there(c, rules) for c in own_tables])
        primary = replace(primary, floor=primary.floor * is_there)
        visible = None if is_given else own_a_priori.kept | (published[cells] & is_shown)
        _require_open(primary, visible, published[cells] & is_shown)
        before, prior = primary, rules.prior
        primary = primary if prior is None else known(1)
        price = values if rules.costs == "value" else np.ones(len(values))
        if rules.costs not in {"value", "one"}:
            price = completed(laid_out([cell_costs(c, rules.costs) for c in own_tables]))
        price = np.where(values == 0, rules.zero_cost or 0.0, np.abs(price))
        cost = own_a_priori.costs(price, preferred_cost=rules.preferred_cost)
        problem = Problem(
            relations=own,
            values=values,
            primary=primary,
            costs=np.where(hidden[cells], 0.0, cost),
            kept=visible,
            coalition=rules.coalition,
            unseen=~is_shown,
            hides_zeros=rules.zero_cost is not None,
        )
        suppression = (
            _given(problem, hidden[cells])
            if is_given
            else _searched(
                problem,
                rules,
                measure=measure,
                primary_of=known if prior is not None else None,
                tables=zip(names, own.numbers, strict=False),
                progress=progress,
            )
        )
    except UnprotectedError as error:
        raise CheckFailedError(
            Message(
                "The measure {measure!r}: {problem}",
                measure=Name(measure),
                problem=said(error.problem),
            ),
            hint=error.hint,
            places=named(error.cells, "unsafe"),
        ) from None
    except ConfigError as error:
        raise ConfigError(
            Message(
                "The measure {measure!r}: {problem}",
                measure=Name(measure),
                problem=said(error.problem),
            ),
            hint=error.hint,
        ) from None
    return MeasureSystem(
        measure=measure,
        members=members,
        cells=cells,
        is_shown=is_shown,
        problem=suppression.problem if is_given else problem,
        suppression=suppression,
        disclosed=np.flatnonzero(primary.is_primary & ~suppression.problem.primary.is_primary),
    )


def _given(problem: Problem, hidden: Flags) -> Suppression:
    """Take a pattern of another program; what it publishes, nothing protects."""
    primary, is_unseen = problem.primary, np.asarray(problem.unseen)
    is_primary = primary.is_primary & (hidden | is_unseen)
    problem = replace(problem, primary=replace(primary, is_primary=is_primary))
    status = np.where(hidden & ~is_unseen, SECONDARY, 0).astype(np.int8)
    status[is_primary] = PRIMARY
    return Suppression(
        problem=problem, status=status, method="given", least=0.0, changes=(), seconds=0.0
    )


def _searched(
    problem: Problem,
    rules: SuppressionSettings,
    *,
    measure: str,
    primary_of: Callable[[int], Primary] | None,
    tables: Iterable[tuple[str, Integers]],
    progress: Progress | None,
) -> Suppression:
    """Choose the cells to hide, or say what would protect those that cannot be."""
    estimate = search_estimate(problem, method=rules.method, limit_s=rules.limit_s)
    if estimate.seconds >= MUCH_S:
        logger.info(
            "%s",
            Message(
                "The search for {measure} takes about {seconds:,.0f} CPU s and "
                "{megabytes:,.0f} MB, by the number of cells; it may be a third or three times "
                "of that.",
                measure=Name(measure),
                seconds=estimate.seconds,
                megabytes=estimate.megabytes,
            ),
            extra={"event": "search estimated", "measure": measure},
        )
    try:
        return suppress(problem, method=rules.method, limit_s=rules.limit_s, progress=progress)
    except UnprotectedError as error:
        hint = way_out(problem, error.cells, primary_of=primary_of)
        hint = hint or subtracted(problem.relations, error.cells, tables) or error.hint
        raise UnprotectedError(error.cells, error.problem, hint=hint) from None


def _known_to_be_there(cells: Cells, rules: SuppressionSettings) -> Flags:
    """Tell which cells readers know not to be empty, of those that are not.

    All of them, unless zeros may be hidden: somebody is in every category that is listed, if
    the records alone tell of it.
    """
    none = np.zeros(len(cells), np.int64)
    below = sum((rank > 0 for rank in cells.ranks), none)
    number = sum((a.is_found[r] for a, r in zip(cells.axes, cells.ranks, strict=True)), none)
    return np.asarray((rules.zero_cost is None) | ((below == 1) & (number == 1)))


def _require_open(primary: Primary, visible: Flags | None, published: Flags) -> None:
    """Refuse to publish what the rules call unsafe, unless the office calls it safe."""
    both = np.flatnonzero(primary.is_primary & published)
    if both.size:
        raise UnprotectedError(
            both,
            Message(
                "{size:,} cells are unsafe now, and were published of the same records.",
                size=both.size,
            ),
            hint=None,
        )
    both = np.flatnonzero(primary.is_primary & (False if visible is None else visible))
    if both.size:
        raise UnprotectedError(
            both,
            Message("{size:,} cells are unsafe, and are to be kept.", size=both.size),
            hint=Message("to publish them nevertheless, declare them safe in a file of cells"),
        )


def _among(mask: Flags, is_shown: Flags, primary: Primary, uncounted: Integers) -> Primary:
    """Leave out margins that nobody sees; that a remainder is not empty, no table tells.

    Nor does anybody know that he is alone where no table shows it and no public counts may
    tell; of a remainder, what they tell of its groups is all.
    """
    contributions = primary.contributions
    if contributions is not None:
        number = contributions.number.copy()
        number[uncounted] = _MANY
        contributions = replace(contributions, number=number)
    return replace(
        primary,
        contributions=contributions,
        is_primary=primary.is_primary & mask,
        lower=np.where(is_shown, primary.lower, 0.0),
        upper=np.where(mask, primary.upper, 0.0),
        floor=np.where(is_shown, primary.floor, 0.0),
    )


def _with_held(primary: Primary, holdings: Any, numbers: Sequence[Integers]) -> Primary:
    """Let holdings attack, which give to several of the cells of the last table."""
    if holdings is None or primary.contributions is None:
        return primary
    unit, row, amount = holdings
    contributions = replace(primary.contributions, held=(unit, numbers[-1][row], amount))
    return replace(primary, contributions=contributions)


def _known_before(
    primary: Primary,
    values: Floats,
    size: Floats,
    prior: tuple[float, float],
    of_nobody: Integers,
) -> Primary:
    """Tell within what readers know every number beforehand, in per cent of absolute sums."""
    below, above = prior
    floor = values - below / 100 * size
    if (values == size).all():
        floor = np.maximum(primary.floor, floor)
    ceiling = values + above / 100 * size
    floor[of_nobody], ceiling[of_nobody] = 0.0, np.inf
    return replace(primary, floor=floor, ceiling=ceiling)


def _joined(
    measure: str,
    tables: Sequence[Cells],
    laid_out: Callable[[Sequence[NDArray[Any]]], NDArray[Any]],
    values: NDArray[Any],
    contributors: Integers,
) -> Amounts:
    variable = variable_of(measure)
    if variable is None:
        return Amounts(total=values, contributors=contributors)
    own, is_signed = size_column(variable), _is_signed(measure, tables)
    magnitudes = [_magnitudes(c, own if is_signed else variable) for c in tables]
    if any((m.low < 0).any() for m in magnitudes):
        raise ConfigError(
            Message(
                "suppression is for amounts that are not negative, unless bounds are known."
            ),
            hint=Message(
                "[[magnitude]] signed = true, and coalition = 0 and prior in "
                "[suppression]; or publish these sums with noise: ckm release"
            ),
        )
    return Amounts(
        total=laid_out([m.total for m in magnitudes]) if is_signed else values,
        is_signed=is_signed,
        contributors=contributors,
        top=laid_out([m.top for m in magnitudes]),
        top_weight=laid_out([m.top_weight for m in magnitudes]),
        records=laid_out([m.records for m in magnitudes]),
        asked=_asked(variable, tables, laid_out),
    )


def _is_signed(measure: str, tables: Iterable[Cells]) -> bool:
    """Tell whether amounts may be below 0: then no group bounds what it is a part of."""
    variable = variable_of(measure)
    size = variable and size_column(variable)
    return all(size in (c.magnitudes or {}) for c in tables)


def _asked(
    variable: str,
    tables: Sequence[Cells],
    laid_out: Callable[[Sequence[NDArray[Any]]], NDArray[Any]],
) -> NDArray[Any] | None:
    """Return the largest contributions of those who asked for protection, if any is known."""
    own = asked_column(variable)
    if not all(own in (c.magnitudes or {}) for c in tables):
        return None
    return laid_out([_magnitudes(c, own).top[:, :1] for c in tables])[:, 0]


def _judged(
    measure: str,
    amounts: Amounts,
    rules: SuppressionSettings,
    tables: Sequence[Cells],
    *,
    layout: tuple[Callable[[Any], NDArray[Any]], Callable[[NDArray[Any]], NDArray[Any]]],
) -> Primary:
    """Apply the rules, to the shadow of a variable where it has one."""
    laid_out, completed = layout
    shadow = rules.shadow.get(str(variable_of(measure)))
    if shadow is None:
        return _primary(measure, amounts, rules)
    name = f"sum:{shadow}"
    sums = completed(laid_out([numbers_of(c, name) for c in tables]))
    number = completed(laid_out([_contributors(c, name) for c in tables]))
    other = _joined(name, tables, laid_out, sums, number)
    other = replace(other, total=completed(other.total))
    return primary_by_shadow(amounts, other, rules, apply=partial(_primary, measure))


def _primary(measure: str, amounts: Amounts, rules: SuppressionSettings) -> Primary:
    conditions: list[Frequency | Dominance | Percent | Requested | ZeroSum] = []
    if rules.threshold is not None:
        conditions.append(Frequency(least=rules.threshold, margin=rules.margin))
    if measure == "count":
        return primary_cells(conditions, counts=amounts.total)
    if measure != "weighted":
        if rules.dominance is not None:
            conditions.append(Dominance(n=rules.dominance[0], k=rules.dominance[1]))
        if rules.p_percent is not None:
            conditions.append(Percent(p=rules.p_percent))
        if rules.prior_posterior is not None:
            conditions.append(Percent(p=rules.prior_posterior[0], q=rules.prior_posterior[1]))
        if rules.request is not None:
            conditions.append(Requested(percent=rules.request.percent, margin=rules.margin))
        if rules.zero_margin is not None:
            conditions.append(ZeroSum(margin=rules.zero_margin))
    if not conditions:  # files of cells say what is unsafe
        none = np.zeros(len(amounts.total))
        return Primary(is_primary=none > 0, lower=none, upper=none)
    return primary_cells(conditions, amounts=amounts)


def _places(
    tables: Mapping[str, Cells],
    relations: Relations,
    cells: Integers,
    *,
    what: str = "unsafe",
) -> Places:
    """Name some cells by a table that shows them and their categories."""
    names: dict[int, tuple[str, ...]] = {}
    for (name, table), number in zip(tables.items(), relations.numbers, strict=False):
        for row in np.flatnonzero(np.isin(number, cells)).tolist():
            labels = ", ".join(
                f"{column}={texts[rank[row]]}"
                for axis, rank in zip(table.axes, table.ranks, strict=True)
                for column, texts in zip(axis.columns, axis.labels, strict=True)
            )
            names.setdefault(int(number[row]), (name, labels or "total", what))
    return Places(CELL_COLUMNS, tuple(names.values()))


def _magnitudes(cells: Cells, variable: str) -> Magnitudes:
    return (cells.magnitudes or {})[variable]


def _contributors(cells: Cells, measure: str) -> Integers:
    variable = variable_of(measure)
    return cells.count if variable is None else _magnitudes(cells, variable).contributors


def _divisor(cells: Cells, mean: str) -> Floats:
    return _magnitudes(cells, str(variable_of(mean))).weight


def numbers_of(cells: Cells, measure: str) -> NDArray[Any]:
    """Return the true numbers of a measure."""
    if measure == "count":
        return cells.count
    if measure == "weighted":
        return np.zeros(len(cells)) if cells.weight is None else cells.weight
    total = _magnitudes(cells, str(variable_of(measure))).total
    if measure.startswith("sum:"):
        return total
    weight = _divisor(cells, measure)
    mean: Floats = np.divide(total, weight, out=np.zeros(len(cells)), where=weight > 0)
    return mean
