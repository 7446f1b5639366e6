"""Release the tables of a job by suppression: true numbers, or none.

This is the one way from a job file to original numbers in files that may be published. No
p-table has a part in it, and the report pages of noise do not belong to it.
"""

from __future__ import annotations

import csv
import datetime as dt
import logging
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.errors import CheckFailedError, ConfigError, ReleaseError
from ckm.release.files.manifest import (
    SUPPRESSION_KIND,
    FileRecord,
    TableRecord,
    describe_columns,
    public_manifest,
    record_file,
    write_manifest,
)
from ckm.release.files.output_folder import check_target, new_folder, resolve_target
from ckm.release.files.output_paths import refuse_foreign, refuse_overlap
from ckm.release.files.table_files import TableFiles, in_formats
from ckm.release.job_inputs import silent_step
from ckm.suppression.cell_selection import Choice, choose_hidden
from ckm.suppression.original_cells import open_originals
from ckm.versions import versions
from tables.source.spill import SpillFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckm.config.job.job import Job
    from ckm.release.job_inputs import Step
    from ckm.suppression import Audit
    from ckm.suppression.cell_selection import System
    from ckm.suppression.original_cells import Originals

    Tell = Callable[[str, int, int], None]

__all__ = ["METHOD", "SuppressedRelease", "rehearse_true_numbers", "release_true_numbers"]

logger = logging.getLogger(__name__)

METHOD = (
    (
        "Some numbers are suppressed: those that would tell of a few contributors, and others "
        "from which these could be worked out."
    ),
    "All other numbers are the original ones.",
)

_STATUS = ("published", "primary", "secondary")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressedRelease:
    """What a release by suppression did, or with a dry run would do; for inside use only.

    Parameters
    ----------
    folder, tables
        Where it lies, and the names of the tables.
    cells
        How many cells are published, suppressed ones among them.
    measures
        For each measure, what the internal manifest says of it.
    seconds, is_dry_run
        How long it took, and whether nothing was written.
    """

    folder: Path
    tables: tuple[str, ...]
    cells: int
    measures: tuple[Mapping[str, Any], ...]
    seconds: float
    is_dry_run: bool


def release_true_numbers(
    job: Job,
    out: Path | str,
    *,
    formats: Sequence[str] = (),
    force: bool = False,
    dry_run: bool = False,
    progress: Tell | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> SuppressedRelease:
    """Release the tables of a job with unsafe cells suppressed and all others as they are.

    Parameters
    ----------
    job
        The job, from `ckm.config.read_job`, with a section ``[suppression]``.
    out
        The folder to make; it appears complete or not at all.
    formats
        Formats of the tables; by default those of the job.
    force
        Replace an earlier release there.
    dry_run
        Make the whole release, and let nothing of it appear: what stops a release, stops it.
    progress
        Called with a stage, how much of it is done, and how much there is.
    memory_limit, threads
        Limits of the tabulation; they never change a result.

    Returns
    -------
    SuppressedRelease
        Where it lies and what it holds.

    Raises
    ------
    ConfigError
        If the job has no rules of suppression, or they cannot be met.
    ReleaseError
        If the folder may not be written, or a format cannot hold a table.
    CheckFailedError
        If an unsafe cell is not protected as demanded; then nothing is written.

    Examples
    --------
    >>> from ckm.config import read_job
    >>> release_true_numbers(read_job("job.toml"), "out/")  # doctest: +SKIP
    """
    started = time.monotonic()
    _require_rules(job)
    target = resolve_target(out)
    may_replace = refuse_foreign if force else None
    job = job if not formats else in_formats(job, formats)
    files = TableFiles(job)
    files.require_fit()
    refuse_overlap(job, target)
    check_target(target, may_replace)
    with (
        open_originals(job, memory_limit=memory_limit, threads=threads) as originals,
        new_folder(target, may_replace=may_replace, is_kept=not dry_run) as folder,
    ):
        cells, measures = _Run(job, files, progress or _silent).write(folder, originals)
    seconds = time.monotonic() - started
    if not dry_run:
        logger.info(
            "suppression complete",
            extra={"tables": len(job.tables), "cells": cells, "seconds": round(seconds, 3)},
        )
    return SuppressedRelease(
        folder=Path(out),
        tables=tuple(job.tables),
        cells=cells,
        measures=measures,
        seconds=seconds,
        is_dry_run=dry_run,
    )


def rehearse_true_numbers(
    job: Job,
    *,
    quick: bool = False,
    step: Step = silent_step,
    progress: Tell | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> None:
    """Make the suppression of a job in a private folder that goes again.

    Parameters
    ----------
    job, progress, memory_limit, threads
        As for `release_true_numbers`.
    quick
        Stop before the first row of the data is read.
    step
        Called with an event and a sentence when a part is found right.

    Raises
    ------
    CkmError, tables.TablesError
        What `release_true_numbers` raises.

    Examples
    --------
    >>> from ckm.config import read_job
    >>> rehearse_true_numbers(read_job("job.toml"))  # doctest: +SKIP
    """
    _require_rules(job)
    files = TableFiles(job)
    files.require_fit()
    formats = ", ".join(job.output.formats)
    step("formats checked", f"names and words fit into every format: {formats}")
    place = SpillFolder()
    try:
        with open_originals(job, memory_limit=memory_limit, threads=threads) as originals:
            step("columns checked", "the data have every column, with types that fit")
            if quick:
                return
            with new_folder(place.path / "release", is_kept=False) as folder:
                cells, _ = _Run(job, files, progress or _silent).write(folder, originals)
        if job.keys.checks != "skip":
            step("records checked", "no record is there twice")
        step("release checked", f"the release can be made: {cells:,} cells")
    finally:
        place.remove()


def _require_rules(job: Job) -> None:
    if job.suppression is None:
        raise ConfigError(
            f"The job {job.path.name!r} has no [suppression]: which cells are unsafe?",
            hint="[suppression] with threshold = 3; a job with [ptable] goes to ckm release",
        )


def _silent(_stage: str, _done: int, _total: int) -> None:
    """Tell nobody."""


class _Run:
    """One run of a job, from its records to the files of the draft folder."""

    def __init__(self, job: Job, files: TableFiles, report_progress: Tell) -> None:
        self.job, self.files, self.report_progress = job, files, report_progress
        self.started = dt.datetime.now(dt.UTC)

    def write(
        self, folder: Path, originals: Originals
    ) -> tuple[int, tuple[Mapping[str, Any], ...]]:
        """Fill the folder; return the number of cells and what is told of each measure."""
        public, internal = folder / "public", folder / "internal"
        internal.mkdir(mode=0o700)
        public.mkdir()
        inputs = self._inputs()
        choice = choose_hidden(
            originals.cells(progress=self.report_progress),
            self.job.tables,
            rules=_rules(self.job),
            groups=originals.groups(),
            whole=originals.whole(),
            progress=self.report_progress,
        )
        audits = choice.audits(progress=self.report_progress) if _rules(self.job).audit else {}
        _require_safe(choice, audits)
        tables = [self._write_table(public, name, choice) for name in self.job.tables]
        if self._inputs() != inputs:
            raise ReleaseError(
                "The input changed while the release was being made; nothing was written.",
                hint="run it again when the data are at rest",
            )
        write_manifest(
            public / "manifest.json",
            public_manifest(
                tables,
                title=self.job.title_of(languages=self.job.output.languages) or None,
                method=METHOD,
            ),
        )
        (internal / "job.toml").write_bytes(self.job.text.encode())
        inside = _write_audits(internal, choice, audits)
        measures = tuple(_told(system, choice, audits) for system in choice.systems)
        manifest = self._manifest(public, tables, inputs, inside, measures)
        write_manifest(internal / "manifest.json", manifest)
        for path in internal.iterdir():
            path.chmod(0o600)
        return sum(table.rows for table in tables), measures

    def _inputs(self) -> tuple[FileRecord, ...]:
        try:
            files = self.job.input_files()
            return tuple(record_file(path, name=self.job.shown(path)) for path in files)
        except OSError as error:
            raise ReleaseError(
                f"An input cannot be read: {error.strerror}.",
                hint="nothing was written; look at the file's permissions",
            ) from None

    def _write_table(self, public: Path, name: str, choice: Choice) -> TableRecord:
        started = time.monotonic()
        self.report_progress("writing", list(self.job.tables).index(name), len(self.job.tables))
        table = choice.publish(name)
        paths = self.files.write(public, name, table)
        nested = {
            n: h
            for n, h in self.job.hierarchies.items()
            if n in self.job.tables[name].dimensions
        }
        columns = describe_columns(
            table,
            nested,
            total_label=self.job.output.total_label,
            protection="the original number; none where suppressed",
        )
        return TableRecord(
            name=name,
            title=self.job.title_of(name, languages=self.job.output.languages) or None,
            rows=table.n_rows,
            columns=_without_published(columns),
            files=tuple(record_file(path, name=path.name) for path in paths),
            seconds=time.monotonic() - started,
        )

    def _manifest(
        self,
        public: Path,
        tables: Sequence[TableRecord],
        inputs: Sequence[FileRecord],
        inside: Sequence[FileRecord],
        measures: Sequence[Mapping[str, Any]],
    ) -> dict[str, Any]:
        rules = asdict(_rules(self.job))
        listed = sorted(public.iterdir())
        return {
            "kind": SUPPRESSION_KIND,
            "schema": 1,
            "notice": "The tables hold original numbers. Publishing the same data with noise "
            "as well would give the noise away.",
            "job": {"file": self.job.path.name, "formats": list(self.job.output.formats)},
            "inputs": [asdict(file) for file in inputs],
            "suppression": rules,
            "measures": [dict(measure) for measure in measures],
            "tables": [
                {"name": t.name, "cells": t.rows, "seconds": round(t.seconds, 3)}
                for t in tables
            ],
            "public": [asdict(record_file(path, name=path.name)) for path in listed],
            "inside": [asdict(file) for file in inside],
            "versions": versions(),
            "times": {
                "started": self.started.isoformat(timespec="seconds"),
                "finished": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            },
        }


def _rules(job: Job) -> Any:
    return job.suppression


def _without_published(columns: tuple[tuple[str, str, str], ...]) -> Any:
    """Say of means what they are here: of original numbers."""
    words = ": published sum over published count, none where that is 0"
    return tuple((name, kind, text.replace(words, "")) for name, kind, text in columns)


def _require_safe(choice: Choice, audits: Mapping[str, Audit]) -> None:
    """Stop where an unsafe cell is not protected as demanded."""
    if not audits:
        failed = choice.unproven()
        reason = "the protection of {} cells is not proven"
    else:
        failed = np.unique(
            np.concatenate(
                [
                    system.cells[np.append(audit.under_protected, audit.exposed).astype(int)]
                    for system in choice.systems
                    for audit in [audits[system.measure]]
                ]
            )
        )
        reason = "{} cells are not protected as demanded"
    if failed.size:
        raise CheckFailedError(
            f"The audit of the suppression failed: {reason.format(failed.size)}; nothing was "
            f"published. They are {choice.names(failed)}.",
            hint='try another method, such as method = "sequential", and report this message',
        )


def _told(system: System, choice: Choice, audits: Mapping[str, Audit]) -> Mapping[str, Any]:
    """Return what the office needs to know of the choice for one measure."""
    found, status = system.found, choice.status[system.cells][system.is_shown]
    told: dict[str, Any] = {
        "measure": system.measure,
        "cells": len(status),
        "primary": int((system.problem.primary.is_primary & system.is_shown).sum()),
        "hidden": int((status > 0).sum()),
        "method": found.method,
        "secondary_cost": found.cost,
        "gap": found.gap if found.method == "exact" else None,
        "unproven": len(found.unproven()),
        "seconds": round(found.seconds, 3),
        "audit": None,
    }
    if system.measure in audits:
        audit = audits[system.measure]
        told["audit"] = {
            "hidden_in_vain": int(audit.is_exact.sum()),
            "under_protected": len(audit.under_protected),
            "exposed": len(audit.exposed),
        }
    return told


def _write_audits(
    internal: Path, choice: Choice, audits: Mapping[str, Audit]
) -> tuple[FileRecord, ...]:
    """Write the interval of every hidden cell, a file for each table."""
    written = []
    for number, name in enumerate(choice.tables):
        path = internal / f"audit-{name}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            cells = choice.tables[name]
            dimensions = [column for axis in cells.axes for column in axis.columns]
            writer.writerow([*dimensions, "measure", "status", "original", "least", "most"])
            for system in choice.systems:
                if number in system.members and system.measure in audits:
                    writer.writerows(_intervals(choice, number, system, audits[system.measure]))
        if audits:
            written.append(record_file(path, name=path.name))
        else:
            path.unlink()
    return tuple(written)


def _intervals(choice: Choice, number: int, system: System, audit: Audit) -> Any:
    """Yield a line for each hidden cell of a table: inside use only."""
    cells = list(choice.tables.values())[number]
    ends = np.full((choice.relations.n_cells, 2), np.nan)
    own = system.is_shown[audit.cells]
    ends[system.cells[audit.cells[own]]] = np.stack([audit.low, audit.high], axis=1)[own]
    values = np.zeros(choice.relations.n_cells)
    values[system.cells[system.is_shown]] = system.problem.value[system.is_shown]
    place = choice.relations.numbers[number]
    labels = [
        texts[rank]
        for axis, rank in zip(cells.axes, cells.ranks, strict=True)
        for texts in axis.labels
    ]
    for row in np.flatnonzero(choice.hidden[place]).tolist():
        cell = place[row]
        yield [
            *(str(column[row]) for column in labels),
            system.measure,
            _STATUS[int(choice.status[cell])],
            *(f"{value:.12g}" for value in (values[cell], *ends[cell])),
        ]
