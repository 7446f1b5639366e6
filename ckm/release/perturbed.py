"""Run a release job: from the job file to a folder with tables, reports and manifests.

The folder holds `public/`, which may be published as it is, and `internal/`, which may not.
"""

from __future__ import annotations

import datetime as dt
import logging
import shlex
import time
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from ckm.additivity.release_step import Restorer
from ckm.assessment.assessor import Assessor
from ckm.assessment.facts import findings, release_facts
from ckm.engine.protection import Protected
from ckm.engine.streamed_table import TableSpool
from ckm.errors import ConfigError
from ckm.ledger.release_check import ReleaseCheck, warn_of_differences
from ckm.release.audit_gate import audit_checks
from ckm.release.files.distributed import fill_distributed
from ckm.release.files.manifest import (
    KIND,
    record_file,
    write_amount_ptables,
    write_manifest,
    write_ptable,
)
from ckm.release.files.output_folder import resolve_target
from ckm.release.job_inputs import load_secret, opened_job, zero_sums_caution
from ckm.release.nesting import nesting_cautions
from ckm.release.pages.report_pages import LeakCheck, hidden_texts, write_report
from ckm.release.rounded import RoundingRun
from ckm.release.run import ReleaseRun
from ckm.release.verdict import judge
from ckm.release.warnings_log import captured_warnings
from ckm.versions import versions
from ptable.lookup import margin_of_error
from reports.facts.release import FileFact, ReproductionFacts
from tables.secret import SECRET_VARIABLE
from tables.source.spill import SpillFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Unpack

    from ckm.assessment.facts import Findings
    from ckm.config.job.job import Job
    from ckm.engine.engine import Engine
    from ckm.engine.protection import ProtectedCells
    from ckm.engine.published_table import PublishedTable
    from ckm.engine.request import TableRequest
    from ckm.release.files.manifest import TableRecord
    from ckm.release.job_inputs import OpenedJob, Resources, Step
    from ckm.release.pages.report_pages import Edition
    from ckm.release.run import Release
    from reports.facts.release import ReleaseFacts
    from risk.risk_map.designs import MapDesign
    from tables import Cells, KeyQuality
    from tables.cells.axes import Axis

logger = logging.getLogger(__name__)

_LOOKED_AT = 1 << 20


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
    full: bool = False,
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
    full
        Write the long lists to the internal report, too.

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
    kind = NoiseRun if job.rounding is None else RoundingRun
    run = kind(job, formats=formats, progress=progress, is_kept=not dry_run)
    if isinstance(run, NoiseRun):
        run.is_full = full
        words = ["ckm", "release", job.path.name, "-o", resolve_target(out).name]
        run.command = shlex.join(words) + run.options if command is None else command
    return run.release(out, force=force, memory_limit=memory_limit, threads=threads)


def _designs(job: Job) -> dict[str, MapDesign]:
    """Read the designs to compare, before anything takes long."""
    if job.report.designs is None:
        return {}
    from ckm.config.comparison.comparanda import read_designs

    return read_designs(job.report.designs)


class NoiseRun(ReleaseRun["OpenedJob"]):
    """A release by noise."""

    kind, event = KIND, "release complete"
    command = ""
    is_full = False
    quality: KeyQuality
    release_check: ReleaseCheck
    warnings: list[str]
    designs: dict[str, MapDesign]
    restorer: Restorer | None = None
    written: dict[str, list[dict[str, Any]]]
    manifest: dict[str, Any]

    @contextmanager
    def opened(self, *, step: Step, **resources: Unpack[Resources]) -> Iterator[OpenedJob]:
        """Open the data with the keys, the p-tables and the ledger; keep what is warned of."""
        with captured_warnings() as self.warnings:
            self.designs, self.written = _designs(self.job), {}
            self._note(self.job.warnings)
            with opened_job(
                self.job,
                is_kept=self.is_kept,
                step=step,
                progress=self.progress,
                **resources,
            ) as opened:
                self.inputs.require_all(opened.engine.files)
                self.inputs.include(opened.engine.far_files)
                self.take_labels(opened.engine.labels)
                try:
                    yield opened
                except BaseException:
                    if self.written:
                        left = ", ".join(self.written)
                        text = f"No release: unless another run writes there, remove {left}"
                        self._warn(text, event="tables left")
                    raise

    def fill(self, public: Path, internal: Path, opened: OpenedJob) -> list[TableRecord]:
        """Write the tables, the reports and the manifests."""
        engine, ptable = opened.engine, opened.ptable
        self.seconds: dict[str, float] = {}
        self.release_check = ReleaseCheck(opened.ledger, self.job.ledger)
        if self.job.output.place is not None:
            return fill_distributed(self, public, internal, opened)
        with self._timed("inputs"):
            inputs = self.inputs.record(self.progress)
        self.quality = engine.check_keys()
        self._note(self.quality.problems)
        caution = zero_sums_caution(self.job, ptable)
        if caution is not None:
            self._warn(caution, event="caution")
        assessor = Assessor(
            ptable,
            is_mixed=self.job.keys.mix,
            sensitive=range(1, self.job.report.sensitive + 1),
            total_label=self.job.output.total_label,
            noises=opened.noises,
        )
        if self.job.output.publish_noise:
            self.files.margin = margin_of_error(ptable)
        if self.job.output.additive:
            self.restorer = Restorer(self.job, ptable=ptable)
        # Tables that fit into memory reach the disk when all checks and the ledger agreed.
        is_streamed = self.job.output.stream
        tables = self._stream_tables(public, engine, assessor) if is_streamed else []
        published = {} if is_streamed else self._tabulated(engine, assessor)
        self.inputs.require_rest()
        written = write_ptable(internal / "pt.parquet", ptable)
        amounts = write_amount_ptables(internal, opened.noises)
        found = self._assess(assessor)
        self._note(warn_of_differences(self.release_check.compare()))
        if self.restorer is not None:
            self._note(self.restorer.warnings())
        tables += self._write_tables(public, published)
        self.inputs.require_rest()
        facts = release_facts(
            found,
            assessor,
            self.job,
            tables=tables,
            warnings=self.warnings,
            reproduction=self._reproduction(internal, inputs),
        )
        ids = [table["id"] for each in amounts for table in each["ptables"].values()]
        pages = self._write_report(public.parent, facts, tables, ids=ids)
        additive = {} if self.restorer is None else {"additivity": self.restorer.as_dict()}
        self.manifest = self.write_internal_manifest(
            internal,
            tables,
            inputs,
            job=self.job_record(internal),
            method={"ptable": written, "amounts": amounts},
            inside={
                "report": [asdict(file) for file in pages["internal"]],
                "ledger": self.release_check.record,
            },
            last={
                "repeat": "The same job, input, secret and versions give the same files in "
                f"public/, byte for byte: ckm release job.toml -o again/{self.options}",
                **additive,
            },
        )
        return tables

    def job_record(self, internal: Path) -> dict[str, Any]:
        """Return what the internal manifest says of the job."""
        return {
            "file": "job.toml",
            "sha256": record_file(internal / "job.toml", name="job.toml").sha256,
            "read_from": str(self.job.path),
            "secret": self._secret_label(),
        }

    def publish(self, internal: Path) -> None:
        """Record the tables in the ledger; its entries have their numbers then."""
        self.release_check.publish()
        if self.release_check.record is not None:
            self.manifest["ledger"] = self.release_check.record
            write_manifest(internal / "manifest.json", self.manifest)

    def tell_keys(self, step: Step) -> None:
        """Tell whether the record keys are sound, unless the job checks none."""
        if self.job.checks == "skip":
            step("keys not checked", 'record keys: not checked, for checks = "skip"')
        elif self.quality.is_sound:
            step("keys checked", self.quality.summary())

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.seconds[stage] = round(time.monotonic() - started, 3)

    def _tabulated(self, engine: Engine, assessor: Assessor) -> dict[str, PublishedTable]:
        """Tabulate everything in as few scans as possible."""
        with self._timed("tables"):
            published, requests = {}, dict(self.job.tables)
            tables = self.release_check.tables(engine, requests, progress=self.progress)
            for protected in tables:
                assessor.add(protected)
                self._warn_of_hierarchies(protected.cells)
                for text in protected.cautions:
                    self._warn_once(text, event="sums with the noise of counts")
                table = protected.table
                if self.restorer is not None:
                    table = self.restorer.restore(protected)
                published[protected.name] = table
                del protected  # its cells, before those of the next table are protected
        for name, table in published.items():
            self._look_at(name, table)
        return published

    def _write_tables(
        self, public: Path, published: dict[str, PublishedTable]
    ) -> list[TableRecord]:
        """Write each table, and let go of it."""
        total, records = len(published), []
        if not total:
            return []
        share = self.seconds["tables"] / total
        with self._timed("writing"):
            for number, name in enumerate(list(published)):
                self.progress("writing", number, total)
                table = published.pop(name)
                records.append(self.write_table(public, name, table, seconds=share))
            self.progress("writing", total, total)
        return records

    def _look_at(self, name: str, table: PublishedTable) -> None:
        pieces = table.pieces(_LOOKED_AT)
        if not any(values.any() for piece in pieces for values in piece.measures.values()):
            self._warn(
                f"Table {name!r} publishes nothing but zeros: do its filter and its "
                "categories fit the data?",
                event="table without counts",
                table=name,
            )

    def _stream_tables(
        self, public: Path, engine: Engine, assessor: Assessor
    ) -> list[TableRecord]:
        """Write each table without ever holding all of its cells; assess one part of each."""
        records, listed = [], dict[str, int]()
        started = time.monotonic()
        for name, request in self.job.tables.items():
            begun, place = time.monotonic(), SpillFolder()
            try:
                folder = place.path / "rows"
                folder.mkdir()
                spool = TableSpool(folder, empty_cells=request.empty_cells)
                is_first = True
                for share, part in engine.protect_parts(request, progress=self.progress):
                    is_looked_at = name not in listed and (not is_first or share == 1)
                    if is_looked_at and len(part.cells):
                        listed[name] = self._add_part(name, request, part, assessor)
                    spool.add(part)
                    is_first = False
                    del part  # before the next one is tabulated
                table = spool.table()
                seconds = time.monotonic() - begun
                records.append(self.write_table(public, name, table, seconds=seconds))
                self._look_at(name, table)
            finally:
                place.remove()
            if name not in assessor.tables:
                raise ConfigError(
                    f"Table {name!r} has no cells.",
                    hint="do its filter and its categories fit the data?",
                )
            self._warn(
                f"Table {name!r} was streamed: the figures of its records, cells, risk and "
                f"utility and the checks of its noise are those of one part of it, "
                f"{listed[name]:,} of {table.n_rows:,} cells.",
                event="table streamed",
                table=name,
            )
        self.seconds["tables"] = round(time.monotonic() - started, 3)
        return records

    def _add_part(
        self, name: str, request: TableRequest, part: ProtectedCells, assessor: Assessor
    ) -> int:
        """Assess a part of a streamed table; return how many cells of it are published."""
        own = replace(request, where=f"a part of {name}")  # its cells are its own
        protected = Protected.of(name, own, part)
        assessor.add(protected)
        self._warn_of_hierarchies(part.cells)
        return protected.table.n_rows

    def _warn_of_hierarchies(self, cells: Cells) -> None:
        """Warn of hierarchies that are reversed, or whose columns do not nest."""
        for axis in filter(_is_reversed, cells.axes):
            self._warn_of_order(axis.columns)
        for axis in cells.axes:
            for text in nesting_cautions(axis, missing_label=self.job.output.missing_label):
                self._warn_once(text, event="nesting of a hierarchy")

    def _warn_of_order(self, columns: Sequence[str]) -> None:
        listed = ", ".join(map(repr, columns))
        text = (
            f"Each level of {listed} has one category of the next: are they from broad to fine?"
        )
        self._warn_once(text, event="order of a hierarchy")

    def _warn_once(self, text: str, **extra: str) -> None:
        if text not in self.warnings:
            self._warn(text, **extra)

    def _warn(self, text: str, **extra: str) -> None:
        logger.warning(text, extra=extra)
        self._note([text])  # also where nobody wants logs

    def _note(self, texts: Sequence[str]) -> None:
        self.warnings += [text for text in texts if text not in self.warnings]

    def _assess(self, assessor: Assessor) -> Findings:
        """Compute the numbers of the reports, and stop where a check failed."""
        self.progress("checks", 0, 1)
        with self._timed("checks"):
            was_checked = self.job.checks != "skip"
            found = findings(
                assessor,
                self.job,
                quality=self.quality if was_checked else None,
                designs=self.designs,
            )
            audited = audit_checks(self.job, assessor.ptable)
            found = replace(found, checks=(*found.checks[:-1], *audited, found.checks[-1]))
        self.progress("checks", 1, 1)
        for text in judge(found.checks, self.job):
            self._warn(text, event="check failed")
        return found

    def _write_report(
        self,
        folder: Path,
        facts: ReleaseFacts,
        tables: Sequence[TableRecord],
        *,
        ids: Sequence[str],
    ) -> Mapping[Edition, Sequence[FileFact]]:
        """Write the pages and the public manifest, once nothing in them must stay inside."""
        hidden = hidden_texts(facts, more=[str(self.job.path.parent), *ids])
        leaks = LeakCheck(facts.public(), hidden=hidden, secret=load_secret(self.job))
        languages = self.job.report.languages
        with self._timed("report"):
            pages = write_report(
                facts, folder, languages=languages, leaks=leaks, is_full=self.is_full
            )
        method = "additive" if self.job.output.additive else "noise"
        method = "positive" if facts.keeps_positive else method
        manifest = self.public_manifest(tables, method=method, report=pages["public"])
        for what, content in (
            ("the public manifest", manifest),
            ("a file of a table", self.files.words),
        ):
            leaks.require_clean(content, what=what)
        write_manifest(folder / "public" / "manifest.json", manifest)
        return pages

    def _reproduction(self, internal: Path, inputs: Sequence[FileFact]) -> ReproductionFacts:
        finished = dt.datetime.now(dt.UTC)
        return ReproductionFacts(
            command=self.command,
            job=record_file(internal / "job.toml", name=self.job.path.name),
            inputs=tuple(inputs),
            secret=self._secret_label() or "",
            versions=versions(engine=self.job.data.engine),
            started=self.started.isoformat(timespec="seconds"),
            finished=finished.isoformat(timespec="seconds"),
            seconds=dict(self.seconds),
        )

    def _secret_label(self) -> str | None:
        if not self.job.needs_secret:
            return None
        secret = self.job.keys.secret
        return secret.name if secret else SECRET_VARIABLE


def _is_reversed(axis: Axis) -> bool:
    """Tell whether the finest column of a hierarchy has fewer categories than its parent."""
    if len(axis.columns) < 2 or len(axis.levels) < 2:
        return False
    finest, broader = axis.levels[:2]
    fine, broad = axis.labels[-1], axis.labels[-2]
    n_fine, n_broad = len({*fine[finest.ranks]}), len({*broad[broader.ranks]})
    return n_fine < n_broad == finest.size
