"""Release the tables of a job by suppression: true numbers, or none.

This is the one way from a job file to original numbers in files that may be published. No
p-table has a part in it, and the report pages of noise do not belong to it.
"""

from __future__ import annotations

import csv
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.errors import CheckFailedError, ConfigError
from ckm.release.files.manifest import (
    SUPPRESSION_KIND,
    TableRecord,
    record_file,
    write_manifest,
)
from ckm.release.run import Release, ReleaseRun
from ckm.suppression.cell_selection import Choice, choose_hidden
from ckm.suppression.original_cells import open_originals
from tables.recoding.variable import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Unpack

    from ckm.config.job.job import Job
    from ckm.config.job.suppression import JobSuppression
    from ckm.release.job_inputs import Resources, Step
    from ckm.suppression import Audit
    from ckm.suppression.cell_selection import System
    from ckm.suppression.original_cells import Originals
    from reports.facts.release import FileFact

    Tell = Callable[[str, int, int], None]


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
) -> Release:
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
    Release
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
    run = SuppressionRun(job, formats=formats, progress=progress, is_kept=not dry_run)
    return run.release(out, force=force, memory_limit=memory_limit, threads=threads)


class OriginalsRun(ReleaseRun["Originals"]):
    """A release that begins with true numbers and adds no noise."""

    @contextmanager
    def opened(self, *, step: Step, **resources: Unpack[Resources]) -> Iterator[Originals]:
        """Open the records."""
        with open_originals(self.job, **resources) as originals:
            self.inputs.require_all(originals.source.files)
            self.inputs.include(originals.source.far_files)
            self.take_labels(originals.source.labels)
            step("columns checked", "the data have every column, with types that fit")
            for variable in self.job.derived:
                step("variable derived", words_of(variable))
            yield originals

    def tell_keys(self, step: Step) -> None:
        """Tell that the records were looked at, unless the job checks none."""
        if self.job.checks != "skip":
            step("records checked", "no record is there twice")


class SuppressionRun(OriginalsRun):
    """A release by suppression."""

    kind, event, is_original = SUPPRESSION_KIND, "suppression complete", True

    def __init__(self, job: Job, **options: Any) -> None:
        if job.suppression is None:
            raise ConfigError(
                f"The job {job.path.name!r} has no [suppression]: which cells are unsafe?",
                hint="[suppression] with threshold = 3; a job with [ptable] goes to ckm "
                "release",
            )
        self.rules: JobSuppression = job.suppression
        super().__init__(job, **options)

    def fill(self, public: Path, internal: Path, opened: Originals) -> list[TableRecord]:
        """Write the tables, the manifests and what readers can work out of hidden cells."""
        inputs = self.inputs.record(self.progress)
        cells, finest = opened.cells(progress=self.progress), opened.finest()
        choice = choose_hidden(
            cells,
            self.job.tables,
            rules=self.rules,
            groups=opened.groups() if finest is None else (),
            whole=opened.whole(),
            finest=finest,
            progress=self.progress,
        )
        audits = choice.audits(progress=self.progress) if self.rules.audit else {}
        _require_safe(choice, audits)
        tables = []
        for number, name in enumerate(self.job.tables):
            self.progress("writing", number, len(self.job.tables))
            tables.append(self.write_table(public, name, choice.publish(name)))
        self.inputs.require_rest()
        write_manifest(
            public / "manifest.json", self.public_manifest(tables, method="suppression")
        )
        audited = _write_audits(internal, choice, audits)
        self.measures = tuple(
            _told(system, choice, audits, limit_s=self.rules.limit_s)
            for system in choice.systems
        )
        self.write_internal_manifest(
            internal,
            tables,
            inputs,
            first={
                "notice": "The tables hold original numbers. Publishing the same data with "
                "noise as well would give the noise away."
            },
            job={"file": self.job.path.name},
            method={
                "suppression": self.rules.told(self.job.shown),
                "measures": [dict(measure) for measure in self.measures],
            },
            inside={"inside": [asdict(file) for file in audited]},
        )
        return tables


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
            "published.",
            hint='try another method, such as method = "exact", and report this message',
            places=choice.places(failed),
        )


def _told(
    system: System, choice: Choice, audits: Mapping[str, Audit], *, limit_s: float
) -> Mapping[str, Any]:
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
        "is_out_of_time": found.seconds >= limit_s,
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
) -> tuple[FileFact, ...]:
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
            ("published", "primary", "secondary")[int(choice.status[cell])],
            *(
                "" if np.isnan(value) else f"{value + 0.0:.12g}"  # no -0
                for value in (values[cell], *ends[cell])
            ),
        ]
