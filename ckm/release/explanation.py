"""Why a published number is what it is: its cell, count, key, row of the p-table and noise.

What is found follows from original records: it stays inside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.config.problems import did_you_mean
from ckm.engine.key_mixing import mix_keys
from ckm.engine.published_table import measure_columns
from ckm.errors import ConfigError, InternalError
from ckm.ledger import CellName, Definition
from ckm.ledger.release_check import ReleaseCheck
from ckm.release.job_inputs import load_secret, opened_job, silent
from ptable.lookup import intervals, row_of
from tables.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Unpack

    from ckm.config.job.job import Job
    from ckm.engine.published_table import PublishedTable
    from ckm.engine.request import TableRequest
    from ckm.release.job_inputs import OpenedJob, Resources
    from footing.arrays import Integers
    from ptable import PTable
    from tables import Cells

_MEASURES = ("count", "weighted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """Where a p-table was read: keys from `first`, below `end`, have the noise."""

    key: int
    key_range: int
    row: int
    first: int
    end: int
    noise: int

    @classmethod
    def of(cls, ptable: PTable, count: int, *, key: int, key_range: int) -> Lookup:
        """Find the interval of a key in the row of a count."""
        row = row_of(ptable, count)
        for noise, *edges in intervals(ptable.noise[row], ptable.upper[row]):
            first, end = (-(-edge * key_range // ptable.key_range) for edge in edges)
            if first <= key < end:
                return cls(
                    key=key, key_range=key_range, row=row, first=first, end=end, noise=noise
                )
        raise InternalError("A row of the p-table has no interval for a key.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The steps from the records of a cell to its published number. Disclosive.

    Attributes
    ----------
    cell
        The cell, with its table and filter.
    measure
        What is explained.
    count, weight
        The original count and, for weighted counts, the original sum of weights.
    cell_key, key_range
        The sum of the record keys, which lies in [0, `key_range`).
    ptable, is_mixed
        The identity of the p-table; whether the cell key is mixed before the lookup.
    lookup
        Where the p-table was read; None for a cell without records, which stays 0.
    published
        The number in the file; None where the file leaves the cell out.
    same
        Further cells of the job with the same count and the same key.
    ledger
        What the ledger tells of the same records; None without a ledger.
    """

    cell: CellName
    measure: str
    count: int
    weight: float | None
    cell_key: int
    key_range: int
    ptable: str
    is_mixed: bool
    lookup: Lookup | None
    published: float | None
    same: tuple[CellName, ...] = ()
    ledger: tuple[str, ...] | None = None

    @property
    def published_count(self) -> int:
        """The count with its noise."""
        return self.count + (0 if self.lookup is None else self.lookup.noise)

    def steps(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each step and what it gives."""
        yield "original count", f"{self.count:,}"
        made = self.published_count
        if self.lookup is None:
            yield "noise", "none: a cell without records has no key and stays 0"
        else:
            found = self.lookup
            yield (
                "cell key",
                f"{self.cell_key}, the sum of its record keys modulo {self.key_range}",
            )
            if self.is_mixed:
                yield "mixed key", f"{found.key} of {found.key_range}, by the secret"
            larger = " (the row of larger counts, too)" if self.count > found.row else ""
            keys = f"keys {found.first} to {found.end - 1} have noise {found.noise:+d}"
            yield "row of p-table", f"{found.row}{larger} of {self.ptable[:12]}: {keys}"
            noisy = f"{self.count:,} {found.noise:+d} = {made:,}"
            yield "count with noise", noisy + (": not an empty cell" if made == 0 else "")
        if self.weight is not None:
            mean = self.weight / max(self.count, 1)
            yield "original weight", f"{self.weight:.12g}, on average {mean:.12g} a record"
            yield (
                "weighted",
                f"{made:,} times {mean:.12g} = {made * mean:.12g}, before rounding",
            )
        left_out = "nothing: the file leaves this cell out, as others whose count is 0"
        yield "published", left_out if self.published is None else f"{self.published:,.15g}"


def explain(
    job: Job,
    table: str,
    cell: Mapping[str, str],
    *,
    measure: str = "count",
    progress: Callable[[str, int, int], None] | None = None,
    **resources: Unpack[Resources],
) -> Explanation:
    """Explain one number of a job, from the records as they are now; nothing is recorded.

    Parameters
    ----------
    job
        The job, from `ckm.config.read_job`.
    table
        The name of the table.
    cell
        Column → category; columns that are left out are totals.
    measure
        ``"count"`` or ``"weighted"``.
    progress
        Called with a stage, how much of it is done, and how much there is.
    resources
        Limits of the tabulation; they never change a result.

    Returns
    -------
    Explanation
        The steps; keep them inside.

    Raises
    ------
    ConfigError, tables.DataError
        If there is no such number, or the job is not one that is explained.

    Examples
    --------
    >>> explain(job, "people", {"sex": "F"}).published  # doctest: +SKIP
    0
    """
    _require_explained(job, table, cell, measure)
    requests = {table: job.tables[table], **job.tables}
    with opened_job(job, is_kept=False, progress=progress, **resources) as opened:
        search = _Search(job, table, cell, measure, opened)
        opened.engine.tabulate_all(
            requests,
            watch=ReleaseCheck(opened.ledger, job.ledger).watch,
            progress=progress or silent,
            observe=search.observe,
        )
        return replace(search.found, same=tuple(search.same))


def _require_explained(job: Job, table: str, cell: Mapping[str, str], measure: str) -> None:
    if job.suppression is not None or job.output.additive:
        what = "hides cells" if job.suppression else "makes counts additive after the noise"
        raise ConfigError(
            f"The job {job.path.name!r} {what}: ckm explain tells of noise alone.",
            hint="internal/ in the folder of the release tells what was done",
        )
    if table not in job.tables:
        listed = f"its tables are {', '.join(job.tables)}"
        raise ConfigError(
            f"The job has no table {table!r}.", hint=did_you_mean(table, job.tables) or listed
        )
    request = job.tables[table]
    if measure not in _MEASURES or measure not in request.measures:
        raise ConfigError(
            f"The table {table!r} shows no measure {measure!r} that is explained; these are "
            "'count' and 'weighted'.",
            hint="a sum or a mean is 0 or left out where the published count is 0",
        )
    nested = ((name, job.hierarchies.get(name)) for name in request.dimensions)
    known = [c for name, h in nested for c in (h if isinstance(h, list) else [name])]
    for column in cell:
        if column not in known:
            way = did_you_mean(column, known)
            listed = f"its columns are {', '.join(known)}" if known else "it is a grand total"
            raise ConfigError(
                f"The table {table!r} has no column {column!r}.", hint=way or listed
            )


class _Search:
    """Looks at the tables of a job as they pass, the wanted one first."""

    found: Explanation

    def __init__(
        self, job: Job, table: str, cell: Mapping[str, str], measure: str, opened: OpenedJob
    ) -> None:
        self._job, self._table, self._cell = job, table, cell
        self._measure, self._opened = measure, opened
        self.same: list[CellName] = []

    def observe(
        self,
        name: str,
        request: TableRequest,
        cells: Cells,
        counts: Integers,
        table: PublishedTable,
    ) -> None:
        """Find the cell, or further ones with its records."""
        if name == self._table:
            ranks = _ranks(cells, self._cell)
            _require_margin(cells, ranks, name)
            here = np.logical_and.reduce(
                [np.ones(len(cells), bool), *map(np.equal, cells.ranks, ranks)]
            )
            self.found = self._explained(ranks, np.flatnonzero(here), request, cells, table)
            if counts[here].sum() != self.found.published_count:
                raise InternalError("The steps do not give the number that is published.")
        else:
            here = np.zeros(len(cells), bool)
        is_same = (cells.count == self.found.count) & (cells.cell_key == self.found.cell_key)
        for place in np.flatnonzero(is_same & ~here).tolist():
            self.same.append(_name(cells, [r[place] for r in cells.ranks], name, request))

    def _explained(
        self,
        ranks: list[int],
        places: Integers,
        request: TableRequest,
        cells: Cells,
        table: PublishedTable,
    ) -> Explanation:
        cell = _name(cells, ranks, self._table, request)
        count, key = int(cells.count[places].sum()), int(cells.cell_key[places].sum())
        weight = None
        if self._measure == "weighted" and cells.weight is not None:
            weight = float(cells.weight[places].sum())
        return Explanation(
            cell=cell,
            measure=self._measure,
            count=count,
            weight=weight,
            cell_key=key,
            key_range=cells.key_range,
            ptable=self._opened.ptable.id,
            is_mixed=self._job.keys.mix,
            lookup=self._lookup(count, key, cells.key_range) if len(places) else None,
            published=_number(table, cell, request, self._measure),
            ledger=self._in_ledger(cells, places),
        )

    def _lookup(self, count: int, key: int, key_range: int) -> Lookup:
        secret = load_secret(self._job)
        if self._job.keys.mix and secret is not None:
            (mixed,) = mix_keys(np.array([key], np.uint64), secret=secret)
            key, key_range = int(mixed), 2**32
        return Lookup.of(self._opened.ptable, count, key=key, key_range=key_range)

    def _in_ledger(self, cells: Cells, places: Integers) -> tuple[str, ...] | None:
        ledger = self._opened.ledger
        if ledger is None:
            return None
        shown = np.zeros(len(cells), bool)
        shown[places] = True
        return tuple(
            ledger.showing(ledger.entry(cells, Definition(name=self._table), shown=shown))
        )


def _ranks(cells: Cells, wanted: Mapping[str, str]) -> list[int]:
    """Find the category of each axis; totals where none is wanted."""
    found = []
    for axis in cells.axes:
        is_wanted, is_finer = np.ones(axis.size, bool), True
        for column, labels in reversed(list(zip(axis.columns, axis.labels, strict=True))):
            if column in wanted:
                is_finer = False
                is_wanted &= labels == wanted[column]
            elif is_finer:
                is_wanted &= labels == labels[0]
        ranks = np.flatnonzero(is_wanted).tolist()
        if len(ranks) != 1:
            named = [column for column in axis.columns if column in wanted]
            column = named[-1]
            near = did_you_mean(wanted[column], axis.labels[axis.columns.index(column)])
            what = "several categories" if ranks else "no category"
            raise DataError(
                f"The table has {what} of {' and '.join(map(repr, named))} as given.",
                hint="give the columns above it, too"
                if ranks
                else "write the code of the file",
                inside="" if ranks or near is None else near,
            )
        found += ranks
    return found


def _require_margin(cells: Cells, ranks: list[int], table: str) -> None:
    """Refuse a cell of a margin that the table does not publish."""
    levels = tuple(
        next(n for n, level in enumerate(axis.levels) if rank in level.ranks[level.is_shown])
        for axis, rank in zip(cells.axes, ranks, strict=True)
    )
    if levels not in cells.level_sets:
        raise ConfigError(
            f"The table {table!r} does not publish this margin.",
            hint="give a category of each dimension, or see margins in the job",
        )


def _name(cells: Cells, ranks: list[int], table: str, request: TableRequest) -> CellName:
    words = tuple(
        (column, str(labels[rank]))
        for axis, rank in zip(cells.axes, ranks, strict=True)
        for column, labels in zip(axis.columns, axis.labels, strict=True)
    )
    return CellName(table=table, where=request.where, categories=words)


def _number(
    table: PublishedTable, cell: CellName, request: TableRequest, measure: str
) -> float | None:
    """Read the number of a cell as the files hold it."""
    here = np.ones(table.n_rows, bool)
    for column, label in cell.categories:
        codes, labels = table.dimensions[column]
        here &= (np.array([*labels, ""], object) == label)[codes]
    columns = measure_columns(request.measures, table.dimensions)
    column = next(name for name, one in columns.items() if one == measure)
    found: list[Any] = table.measures[column][here].tolist()
    return found[0] if found else None
