"""The method of a job as `ckm release` would apply it now: its tables, all of its records."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.comparison.bench import answer_of
from ckm.comparison.trials import facts_of
from ckm.engine.published_table import measure_columns
from ckm.engine.request import variable_of
from ckm.errors import CkmError
from ckm.release.files.table_files import TableFiles
from ckm.release.job_inputs import silent
from ckm.release.opening import job_method
from ckm.release.review import ReviewTools
from ckm.release.warnings_log import Notes, Stages, captured_warnings
from risk.criteria.answers import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ckm.config.job.job import Job
    from ckm.engine.protection import Protected
    from footing.arrays import Flags, Floats
    from footing.progress import Progress
    from tables import Cells


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedMeasure:
    """One measure of one table as it would be released; for inside.

    Parameters
    ----------
    table, measure
        Their names.
    cells
        How many cells with records the table has.
    hidden
        How many of them are not published.
    change
        The mean distance of published counts from true ones; of sums, the distances of all
        together as a share of the true sums. None where none is published.
    lost
        Of a sum, the share of the true sums of all cells that is not published.
    """

    table: str
    measure: str
    cells: int
    hidden: int
    change: float | None
    lost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedTables:
    """All tables as they would be released; for inside.

    Parameters
    ----------
    measures
        One for each measure of each table.
    stopped
        Why the release would be stopped; empty where it would not.
    has_ledger
        Whether a ledger was asked. It was read, and nothing was written to it.
    facts
        What the method says of the tables in numbers.
    """

    measures: tuple[ReleasedMeasure, ...] = ()
    stopped: str = ""
    has_ledger: bool = False
    facts: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        """How many cells with records all tables have, each measure by itself."""
        return sum(each.cells for each in self.measures)

    @property
    def hidden(self) -> int:
        """How many of them are not published."""
        return sum(each.hidden for each in self.measures)

    @property
    def mean_change(self) -> float | None:
        """How far a published count lies from the true one, on average over all tables."""
        pairs = [
            (each.change, each.cells - each.hidden)
            for each in self.measures
            if each.measure == "count" and each.change is not None
        ]
        n_cells = sum(n for _, n in pairs)
        return sum(change * n for change, n in pairs) / n_cells if n_cells else None


def released_tables(
    job: Job, *, progress: Progress = silent, **resources: Any
) -> ReleasedTables:
    """Make the tables of a job as `ckm release` does, up to where it would publish them.

    What stops a release, stops here, too: checks, limits of risk, the ledger. Nothing is
    written but what a ledger that is not there yet would need, in a private folder that goes.
    """
    measures: list[ReleasedMeasure] = []
    facts: Mapping[str, float | None] = {}
    stopped = ""
    with captured_warnings() as texts:
        notes = Notes(texts)
        options: dict[str, Any] = {"notes": notes, "is_kept": False, "step": silent}
        with job_method(job).open(job, **options, progress=progress, **resources) as session:
            method = session.method
            method.require(job.tables)
            review = session.review(_tools(job.labelled(session.labels), notes, progress))
            for protected in method.protect(session.data, dict(job.tables), progress=progress):
                review.add(protected)
                measures += _measures(protected)
                del protected  # its cells, before those of the next table are protected
            facts = facts_of(method.statement())
            try:
                review.judge(method.statement().notes)
            except CkmError as error:
                stopped = error.problem
    return ReleasedTables(
        measures=tuple(measures),
        stopped=stopped,
        has_ledger=job.ledger is not None,
        facts=facts,
    )


def _tools(job: Job, notes: Notes, progress: Progress) -> ReviewTools:
    return ReviewTools(
        job=job,
        files=TableFiles(job),
        notes=notes,
        stages=Stages(),
        progress=progress,
        command="",
        options="",
        is_full=False,
        started=dt.datetime.now(dt.UTC),
    )


def _measures(protected: Protected) -> Iterator[ReleasedMeasure]:
    """Look at each measure of a table: what is hidden, and how far numbers are moved."""
    cells, request = protected.cells, protected.request
    is_held = np.asarray(cells.count > 0)
    hidden = np.asarray(np.ma.getmaskarray(np.ma.asarray(protected.counts)))
    n_hidden = int((hidden & is_held).sum())
    is_shown = is_held & ~hidden
    for measure in request.measures:
        change, lost = None, None
        if measure == "count":
            moved = np.abs(_published_counts(protected) - cells.count)[is_shown]
            change = float(moved.mean()) if moved.size else None
        elif measure.startswith("sum:"):
            change, lost = _of_sums(protected, str(variable_of(measure)), is_held, is_shown)
        yield ReleasedMeasure(
            table=protected.name,
            measure=measure,
            cells=int(is_held.sum()),
            hidden=n_hidden,
            change=change,
            lost=lost,
        )


def _published_counts(protected: Protected) -> Floats:
    if protected.before_additivity is None:
        return np.ma.filled(np.ma.asarray(protected.counts).astype(np.float64), np.nan)
    cells, table = protected.cells, protected.table
    (column,) = measure_columns(["count"], table.dimensions)
    return answer_of(_answer(cells), table, column).published


def _answer(cells: Cells) -> Answer:
    return Answer(
        axes=cells.axes,
        ranks=cells.ranks,
        level_sets=cells.level_sets,
        count=cells.count,
        published=cells.count.astype(np.float64),
    )


def _of_sums(
    protected: Protected, variable: str, is_held: Flags, is_shown: Flags
) -> tuple[float | None, float | None]:
    """Return how far published sums are moved, and how much of all is hidden, as shares."""
    true = np.abs((protected.cells.magnitudes or {})[variable].total)
    published = protected.sums.get(variable)
    whole, own = float(true[is_held].sum()), float(true[is_shown].sum())
    total = (protected.cells.magnitudes or {})[variable].total
    moved = 0.0 if published is None else float(np.abs(published - total)[is_shown].sum())
    return moved / own if own else None, 1 - own / whole if whole else None
