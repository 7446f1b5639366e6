"""Run a release job: from the job file to a folder with tables, reports and manifests.

The folder holds `public/`, which may be published as it is, and `internal/`, which may not.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import os
import shlex
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckm.additivity.release_step import METHOD as ADDITIVE
from ckm.additivity.release_step import Restorer
from ckm.assessment.assessor import Assessor
from ckm.assessment.facts import findings, release_facts
from ckm.errors import ReleaseError
from ckm.formats.about import to_plain
from ckm.ledger.release_check import ReleaseCheck
from ckm.release.files.magnitude_ptables import write_amount_ptables
from ckm.release.files.manifest import (
    METHOD,
    FileRecord,
    TableRecord,
    describe_columns,
    internal_manifest,
    public_manifest,
    record_file,
    write_manifest,
)
from ckm.release.files.output_folder import check_target, new_folder, resolve_target
from ckm.release.files.output_paths import refuse_foreign, refuse_overlap
from ckm.release.files.table_files import TableFiles, in_formats
from ckm.release.job_inputs import opened_job, silent_step, zero_sums_caution
from ckm.release.pages.leak_check import hidden_texts, require_clean_texts
from ckm.release.pages.report_pages import write_report
from ckm.release.verdict import judge
from ckm.release.warnings_log import captured_warnings
from ckm.versions import versions
from reports.facts.release import FileFact, ReproductionFacts
from tables import Secret
from tables.secret import SECRET_VARIABLE
from tables.source.spill import SpillFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from ckm.assessment.facts import Findings
    from ckm.config.job.job import Job
    from ckm.engine.engine import Engine, Observer
    from ckm.engine.magnitudes import MagnitudeNoise
    from ckm.engine.published_table import PublishedTable
    from ckm.release.job_inputs import OpenedJob, Step
    from ckm.release.pages.report_pages import ReportFiles
    from ptable import PTable
    from reports.facts.release import ReleaseFacts
    from risk.risk_map.designs import MapDesign
    from tables import KeyQuality

__all__ = ["Release", "rehearse", "release"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What a release did, or with a dry run would do."""

    folder: Path
    tables: tuple[str, ...]
    cells: int
    seconds: float
    is_dry_run: bool


def release(
    job: Job,
    out: Path | str,
    *,
    formats: Sequence[str] = (),
    force: bool = False,
    dry_run: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    command: str | None = None,
) -> Release:
    """Release the tables of a job into a folder that appears complete or not at all.

    Parameters
    ----------
    job
        The job, from `ckm.config.read_job`.
    out
        The folder to make.
    formats
        Formats of the tables, see `ckm.formats.FORMATS`; by default those of the job.
    force
        Replace an earlier release there; it stays until the new one is complete.
    dry_run
        Make the whole release, and let nothing of it appear: what stops a release, stops it.
    progress
        Called with a stage, how much of it is done, and how much there is.
    memory_limit, threads
        Limits of the tabulation; they never change a result.
    command
        What was typed, for the internal report; by default the words that do the same.

    Returns
    -------
    Release
        Where it lies and what it holds.

    Raises
    ------
    ReleaseError
        If the folder may not be written, or a format cannot hold a table.
    CheckFailedError
        If a check of the release failed; then nothing was written.
    ThinDifferenceError
        If a table differs from one of the ledger by too few records; then neither.

    Examples
    --------
    >>> from ckm.config import read_job
    >>> release(read_job("job.toml"), "out/")  # doctest: +SKIP
    """
    started = time.monotonic()
    target = resolve_target(out)
    may_replace = refuse_foreign if force else None
    job = job if not formats else in_formats(job, formats)
    files = TableFiles(job)
    files.require_fit()
    refuse_overlap(job, target)
    check_target(target, may_replace)
    with captured_warnings() as captured:
        run = _Run(
            job,
            files,
            target=target,
            report_progress=progress,
            warnings=captured,
            is_kept=not dry_run,
        )
        run.options = "".join(f" --format {name}" for name in formats)
        words = ["ckm", "release", job.path.name, "-o", target.name]
        run.command = shlex.join(words) + run.options if command is None else command
        with (
            run.opened(memory_limit=memory_limit, threads=threads) as opened,
            new_folder(target, may_replace=may_replace, is_kept=not dry_run) as folder,
        ):
            cells = run.write(folder, opened)
    seconds = time.monotonic() - started
    names = tuple(job.tables)
    if not dry_run:
        logger.info(
            "release complete",
            extra={"tables": len(names), "cells": cells, "seconds": round(seconds, 3)},
        )
    return Release(
        folder=Path(out), tables=names, cells=cells, seconds=seconds, is_dry_run=dry_run
    )


def rehearse(
    job: Job,
    *,
    quick: bool = False,
    step: Step | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> None:
    """Make the release of a job in a private folder that goes again.

    What stops the release of the job, stops this; only the folder of the release is not there
    to be looked at.

    Parameters
    ----------
    job
        The job, from `ckm.config.read_job`.
    quick
        Stop before the first row of the data is read.
    step
        Called with an event and a sentence when a part is found right.
    progress, memory_limit, threads
        As for `release`.

    Raises
    ------
    CkmError, tables.TablesError, PTableError
        What `release` raises.

    Examples
    --------
    >>> from ckm.config import read_job
    >>> rehearse(read_job("job.toml"))  # doctest: +SKIP
    """
    files = TableFiles(job)
    files.require_fit()
    done = step or silent_step
    formats = ", ".join(job.output.formats)
    done("formats checked", f"names and words fit into every format: {formats}")
    place = SpillFolder()
    try:
        target = place.path / "release"
        with captured_warnings() as captured:
            run = _Run(
                job,
                files,
                target=target,
                report_progress=progress,
                warnings=captured,
                is_kept=False,
            )
            with run.opened(step=done, memory_limit=memory_limit, threads=threads) as opened:
                if quick:
                    return
                with new_folder(target, is_kept=False) as folder:
                    cells = run.write(folder, opened)
        if job.keys.checks == "skip":
            done("keys not checked", 'record keys: not checked, for checks = "skip"')
        elif run.quality is not None and run.quality.is_sound:
            done("keys checked", run.quality.summary())
        done("release checked", f"the release can be made: {cells:,} cells")
    finally:
        place.remove()


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Turn the system's errors of reading the input into ours."""
    try:
        yield
    except OSError as error:
        name = Path(error.filename).name if isinstance(error.filename, str) else "an input"
        raise ReleaseError(
            f"The input {name!r} cannot be read: {error.strerror}.",
            hint="nothing was written; look at the file's permissions",
        ) from None


def _states(job: Job) -> dict[Path, tuple[int, int]]:
    """Return what tells that an input file has changed."""
    with _reading():
        stats = {path: path.stat() for path in job.input_files()}
    return {path: (stat.st_mtime_ns, stat.st_size) for path, stat in stats.items()}


def _designs(job: Job) -> dict[str, MapDesign]:
    """Read the designs to compare, before anything takes long."""
    if job.report.designs is None:
        return {}
    from ckm.config.comparison.designs import read_designs

    return read_designs(job.report.designs)


def _silent(_stage: str, _done: int, _total: int) -> None:
    """Tell nobody."""


class _Run:
    """One run of a job, from its inputs to the files of the draft folder."""

    def __init__(
        self,
        job: Job,
        files: TableFiles,
        *,
        target: Path,
        report_progress: Callable[[str, int, int], None] | None,
        warnings: list[str],
        is_kept: bool,
    ) -> None:
        self.job = job
        self.files = files
        self.options = self.command = ""
        self.target = target
        self.report_progress = report_progress or _silent
        self.is_kept = is_kept
        self.quality: KeyQuality | None = None
        self.started_at = dt.datetime.now(dt.UTC)
        self.before = _states(job)
        self.designs = _designs(job)
        self.seconds: dict[str, float] = {}
        self.warnings = warnings
        self.release_check = ReleaseCheck(None, None)
        self.restorer: Restorer | None = None
        self.noises: Mapping[str, MagnitudeNoise] = {}
        self.amounts: list[dict[str, Any]] = []
        self._note(job.warnings)

    def opened(
        self, *, step: Step = silent_step, memory_limit: str | None, threads: int | None
    ) -> AbstractContextManager[OpenedJob]:
        """Open all that the job needs."""
        return opened_job(
            self.job,
            is_kept=self.is_kept,
            step=step,
            progress=self.report_progress,
            memory_limit=memory_limit,
            threads=threads,
        )

    def write(self, folder: Path, opened: OpenedJob) -> int:
        """Fill the folder; return the number of published cells."""
        engine, ptable = opened.engine, opened.ptable
        self.noises, self.release_check = (
            opened.noises,
            ReleaseCheck(opened.ledger, self.job.ledger),
        )
        public, internal = folder / "public", folder / "internal"
        internal.mkdir(parents=True, mode=0o700)
        with self._timed("inputs"):
            inputs = self._record_inputs()
        quality = self.quality = engine.check_keys()
        self._note(quality.problems)
        caution = zero_sums_caution(self.job, ptable)
        if caution is not None:
            self._warn(caution, event="caution")
        assessor = Assessor(
            ptable,
            is_mixed=self.job.keys.mix,
            sensitive=range(1, self.job.report.sensitive + 1),
            total_label=self.job.output.total_label,
            noises=self.noises,
        )
        if self.job.output.additive:
            self.restorer = Restorer(self.job, max_noise=ptable.max_noise)
        tables = self._write_tables(public, engine, assessor)
        self._require_rest()
        (internal / "job.toml").write_bytes(self.job.text.encode())
        ptable.write(internal / "pt.parquet")
        self.amounts = write_amount_ptables(internal, self.noises)
        found = self._assess(assessor, quality)
        for text in self.release_check.compare():
            self._warn(text, event="thin difference")
        if self.restorer is not None:
            self._note(self.restorer.warnings())
        facts = release_facts(
            found,
            assessor,
            self.job,
            tables=tables,
            warnings=self.warnings,
            reproduction=self._reproduction(internal, inputs),
        )
        pages = self._write_report(folder, facts, tables)
        manifest = self._internal_manifest(folder, tables, inputs, ptable, pages)
        if self.restorer is not None:
            manifest["additivity"] = self.restorer.as_dict()
        write_manifest(internal / "manifest.json", manifest)
        for path in internal.iterdir():
            path.chmod(0o600)
        if not self.is_kept:
            return sum(table.rows for table in tables)
        self.release_check.publish()
        if self.release_check.record is not None:  # its entries have their numbers now
            manifest["ledger"] = self.release_check.record
            write_manifest(internal / "manifest.json", manifest)
        return sum(table.rows for table in tables)

    @contextlib.contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.seconds[stage] = round(time.monotonic() - started, 3)

    def _require_rest(self) -> None:
        if _states(self.job) != self.before:
            raise ReleaseError(
                "The input changed while the release was being made; nothing was written.",
                hint="run it again when the data are at rest",
            )

    def _record_inputs(self) -> list[FileRecord]:
        """Hash the files that the numbers depend on."""
        files = self.job.input_files()
        with _reading():
            total = sum(path.stat().st_size for path in files)
            done = 0

            def add(size: int) -> None:
                nonlocal done
                done += size
                self.report_progress("fingerprint of the input", done // 1024, total // 1024)

            return [record_file(p, name=self.job.shown(p), progress=add) for p in files]

    def _write_tables(
        self, public: Path, engine: Engine, assessor: Assessor
    ) -> list[TableRecord]:
        """Tabulate everything in as few scans as possible, and write each table."""
        public.mkdir()
        requests, records = dict(self.job.tables), []
        with self._timed("tables"):
            published = engine.tabulate_all(
                requests,
                watch=self.release_check.watch,
                progress=self.report_progress,
                observe=self._observer(assessor),
                observe_sums=assessor.observe_sums,
            )
        share = self.seconds["tables"] / len(requests)
        started = time.monotonic()
        for number, (name, table) in enumerate(published.items()):
            self.report_progress("writing", number, len(published))
            if self.restorer is not None:
                table = self.restorer.restore(name, table)  # noqa: PLW2901
            record = self._write_table(public, name, table, scan_s=share)
            records.append(record)
            if not any(values.any() for values in table.measures.values()):
                self._warn(
                    f"Table {name!r} publishes nothing but zeros: do its filter and its "
                    "categories fit the data?",
                    event="table without counts",
                    table=name,
                )
            logger.info(
                "table written",
                extra={
                    "table": name,
                    "cells": table.n_rows,
                    "seconds": round(record.seconds, 3),
                },
            )
        self.report_progress("writing", len(published), len(published))
        self.seconds["writing"] = round(time.monotonic() - started, 3)
        return records

    def _observer(self, assessor: Assessor) -> Observer:
        restorer = self.restorer
        if restorer is None:
            return assessor.observe

        def both(*seen: Any) -> None:
            assessor.observe(*seen)
            restorer.observe(*seen)

        return both

    def _warn(self, text: str, **extra: str) -> None:
        logger.warning(text, extra=extra)
        self._note([text])  # also where nobody wants logs

    def _note(self, texts: Sequence[str]) -> None:
        self.warnings += [text for text in texts if text not in self.warnings]

    def _hierarchies(self, name: str) -> dict[str, object]:
        """Return the hierarchies among the dimensions of a table."""
        dimensions = self.job.tables[name].dimensions
        return {n: h for n, h in self.job.hierarchies.items() if n in dimensions}

    def _write_table(
        self, public: Path, name: str, table: PublishedTable, *, scan_s: float
    ) -> TableRecord:
        """Write a table in each format; `scan_s` is its share of the tabulation."""
        started = time.monotonic()
        paths = self.files.write(public, name, table)
        files = [record_file(path, name=path.name) for path in paths]
        return TableRecord(
            name=name,
            title=self.job.title_of(name, languages=self.job.output.languages) or None,
            rows=table.n_rows,
            columns=describe_columns(
                table, self._hierarchies(name), total_label=self.job.output.total_label
            ),
            files=tuple(files),
            seconds=scan_s + time.monotonic() - started,
        )

    def _assess(self, assessor: Assessor, quality: KeyQuality) -> Findings:
        """Compute the numbers of the reports, and stop where a check failed."""
        self.report_progress("checks", 0, 1)
        with self._timed("checks"):
            was_checked = self.job.keys.checks != "skip"
            found = findings(
                assessor,
                self.job,
                quality=quality if was_checked else None,
                designs=self.designs,
            )
        self.report_progress("checks", 1, 1)
        for text in judge(found.checks, self.job):
            self._warn(text, event="check failed")
        return found

    def _write_report(
        self, folder: Path, facts: ReleaseFacts, tables: Sequence[TableRecord]
    ) -> ReportFiles:
        """Write the pages and the public manifest, once nothing in them must stay inside."""
        ids = [table["id"] for each in self.amounts for table in each["ptables"].values()]
        hidden = hidden_texts(facts, more=[str(self.job.path.parent), *ids])
        secret = self._secret()
        with self._timed("report"):
            pages = write_report(
                facts,
                folder,
                languages=self.job.report.languages,
                hidden=hidden,
                secret=secret,
            )
        method = ADDITIVE if self.job.output.additive else METHOD
        manifest = public_manifest(
            tables,
            title=self.job.title_of(languages=self.job.output.languages) or None,
            report=pages.public,
            method=method,
        )
        said = {
            f"{name}.{code}": to_plain(about) for (name, code), about in self.files.said.items()
        }
        for what, content in (("the public manifest", manifest), ("a file of a table", said)):
            require_clean_texts(
                content, facts.public(), what=what, hidden=hidden, secret=secret
            )
        write_manifest(folder / "public" / "manifest.json", manifest)
        return pages

    def _reproduction(self, internal: Path, inputs: Sequence[FileRecord]) -> ReproductionFacts:
        finished = dt.datetime.now(dt.UTC)
        return ReproductionFacts(
            command=self.command,
            job=_as_fact(record_file(internal / "job.toml", name=self.job.path.name)),
            inputs=tuple(map(_as_fact, inputs)),
            secret=self._secret_label() or "",
            versions=versions(),
            started=self.started_at.isoformat(timespec="seconds"),
            finished=finished.isoformat(timespec="seconds"),
            seconds=dict(self.seconds),
        )

    def _secret(self) -> Secret | None:
        """Return the secret, to look that no page holds it."""
        if self.job.keys.secret is not None:
            return Secret.from_file(self.job.keys.secret)
        return Secret.from_env(SECRET_VARIABLE) if os.environ.get(SECRET_VARIABLE) else None

    def _secret_label(self) -> str | None:
        if not self.job.needs_secret:
            return None
        secret = self.job.keys.secret
        return f"file {secret.name}" if secret else f"environment variable {SECRET_VARIABLE}"

    def _internal_manifest(
        self,
        folder: Path,
        tables: Sequence[TableRecord],
        inputs: Sequence[FileRecord],
        ptable: PTable,
        pages: ReportFiles,
    ) -> dict[str, Any]:
        public, internal = folder / "public", folder / "internal"
        finished = dt.datetime.now(dt.UTC)
        return internal_manifest(
            tables,
            job={
                "file": "job.toml",
                "sha256": record_file(internal / "job.toml", name="job.toml").sha256,
                "read_from": str(self.job.path),
                "secret": self._secret_label(),
                "formats": list(self.job.output.formats),
            },
            inputs=inputs,
            ptable={
                "id": ptable.id,
                "file": asdict(record_file(internal / "pt.parquet", name="pt.parquet")),
                "certificate": ptable.certificate.summary() if ptable.certificate else None,
            },
            amounts=self.amounts,
            public=[record_file(p, name=p.name) for p in sorted(public.iterdir())],
            report=pages.internal,
            ledger=self.release_check.record,
            times={
                "started": self.started_at.isoformat(timespec="seconds"),
                "finished": finished.isoformat(timespec="seconds"),
            },
            options=self.options,
        )


def _as_fact(file: FileRecord) -> FileFact:
    return FileFact(file=file.file, bytes=file.bytes, sha256=file.sha256)
