"""What judges tables with noise, by checks, ledger and limits of risk, and reports on them."""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.assessment.assessor import Assessor
from ckm.assessment.facts import findings, release_facts
from ckm.engine.protection import Protected
from ckm.engine.streamed_table import TableSpool
from ckm.errors import ConfigError, InternalError
from ckm.ledger.protection import CellProtection
from ckm.methods.internal_files import record_file
from ckm.release.audit_gate import audit_checks
from ckm.release.frontier_file import frontier_of
from ckm.release.job_inputs import load_secret, zero_sums_caution
from ckm.release.pages.report_pages import LeakCheck, hidden_texts, write_report
from ckm.release.review import Pages, noise_job_record, secret_label
from ckm.release.verdict import judge
from ckm.versions import versions
from footing.messages import Message, Name
from footing.serialisation import plain
from ptable.lookup import margin_of_error
from reports.facts.release import CheckFact, ReproductionFacts
from tables.source.spill import SpillFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ckm.assessment.facts import Findings
    from ckm.engine.protection import ProtectedCells
    from ckm.engine.published_table import PublishedTable
    from ckm.engine.request import TableRequest
    from ckm.ledger.release_check import ReleaseCheck
    from ckm.methods.method import InternalRecord
    from ckm.release.files.manifest import TableRecord
    from ckm.release.job_inputs import OpenedJob
    from ckm.release.review import ReviewTools
    from reports.facts.release import FileFact
    from risk.risk_map.designs import MapDesign
    from tables import Cells
    from tables.cells.axes import Axis

_LOOKED_AT = 1 << 20
#: Cells of a streamed table of which all are assessed, as many as a part may hold.
_MOST_ASSESSED = 2_000_000


class NoiseReview:
    """Judges tables with noise, and reports what they risk and lose.

    Parameters
    ----------
    opened
        What the job works with.
    release_check
        The gate of the ledger, whose watch sees the tables on their way.
    designs
        Designs that are compared with that of the job.
    tools
        What the run gives.
    """

    def __init__(
        self,
        inputs: OpenedJob,
        release_check: ReleaseCheck,
        designs: Mapping[str, MapDesign],
        tools: ReviewTools,
    ) -> None:
        self._opened, self._release_check, self._designs = inputs, release_check, designs
        self._tools, self._job, self._notes = tools, tools.job, tools.notes
        self._frontier = frontier_of(self._job, inputs.ptable)
        self._quality = inputs.engine.check_keys()
        self._notes.add(self._quality.problems)
        caution = zero_sums_caution(self._job, inputs.ptable)
        if caution is not None:
            self._notes.note_warning(caution, event="caution")
        if self._job.output.publish_noise:
            tools.files.margin = margin_of_error(inputs.ptable)
        self._assessor = Assessor(
            inputs.ptable,
            is_mixed=self._job.keys.mix,
            sensitive=range(1, self._job.report.sensitive + 1),
            total_label=self._job.output.total_label,
            noises=inputs.noises,
        )
        self._empty: dict[str, bool] = {}
        self._looked_at: dict[str, int] = {}  # cells of the part that stands for a large table
        self._additive = hashlib.sha256() if self._job.output.additive else None
        self._findings: Findings | None = None
        self._leaks: LeakCheck | None = None

    @property
    def is_late(self) -> bool:
        """Tables that fit into memory reach the disk when all checks and the ledger agreed."""
        return not self._job.output.stream

    def add(self, protected: Protected) -> None:
        """Measure a table, and warn of what looks like a slip in it."""
        self._assessor.add(protected)
        self._warn_of_hierarchies(protected.cells)
        for text in protected.cautions:
            self._warn_of_sums(text)
        self._empty[protected.name] = _is_empty(protected.table)
        if self._additive is not None:
            self._additive.update(f"{len(protected.name)} {protected.name}".encode())
            for piece in protected.table.pieces(_LOOKED_AT):
                for values in piece.measures.values():
                    self._additive.update(np.ascontiguousarray(values).tobytes())

    def streamed(self) -> Iterator[tuple[str, PublishedTable]] | None:
        """Give each table without ever holding all of its cells; assess one part of each."""
        return self._streamed() if self._job.output.stream else None

    def judge(self, notes: Sequence[str]) -> None:
        """Stop where a check failed, or the ledger has what differs by too few records."""
        for name in (name for name, is_empty in self._empty.items() if is_empty):
            self._warn_of_zeros(name)
        self._findings = self._checked_findings()
        if self._additive is not None and self._release_check.watch is not None:
            self._release_check.watch.protect(
                CellProtection(method="additivity", settings=self._additive.hexdigest())
            )
        self._notes.add(self._release_check.compare())
        self._findings = replace(
            self._findings,
            checks=(
                *self._findings.checks[:-1],
                *_appearances(self._release_check.record),
                self._findings.checks[-1],
            ),
        )
        self._notes.add(notes)

    def job_record(self, internal: Path) -> dict[str, Any]:
        """Return what the internal manifest says of the job."""
        return noise_job_record(self._job, internal)

    def write(
        self,
        folder: Path,
        tables: Sequence[TableRecord],
        inputs: Sequence[FileFact],
        record: InternalRecord,
    ) -> Pages:
        """Write the pages, once nothing in the public ones must stay inside."""
        if self._findings is None:
            raise InternalError(Message("Pages are written of tables that were not judged."))
        facts = release_facts(
            self._findings,
            self._assessor,
            self._job,
            tables=tables,
            warnings=self._notes.texts,
            reproduction=self._reproduction(folder / "internal", inputs),
            is_of_parts=bool(self._looked_at),
        )
        amounts = record.method["amounts"]
        ids = [table["id"] for each in amounts for table in each["ptables"].values()]
        hidden = hidden_texts(facts, more=[str(self._job.path.parent), *ids])
        leaks = LeakCheck(facts.public(), hidden=hidden, secret=load_secret(self._job))
        with self._tools.stages.timed("report"):
            pages = write_report(
                facts,
                folder,
                languages=self._job.report.languages,
                leaks=leaks,
                is_full=self._tools.is_full,
            )
        self._leaks = leaks
        repeat = f"ckm release job.toml -o again/{self._tools.options}"
        return Pages(
            leaks=leaks,
            margin=facts.margin,
            words="positive" if facts.keeps_positive else None,
            public=pages["public"],
            inside={
                "report": plain(pages["internal"]),
                "ledger": self._release_check.record,
            },
            last={
                "repeat": "The same job, input, secret and versions give the same files in "
                f"public/, byte for byte: {repeat}",
            },
        )

    def require_clean(self, manifest: Mapping[str, Any]) -> None:
        """Refuse a manifest, or words in files, that hold what must stay inside."""
        if self._leaks is None:
            raise InternalError(Message("A manifest is judged before its pages are written."))
        self._leaks.require_clean(manifest, what=Message("the public manifest"))
        self._leaks.require_clean(self._tools.files.words, what=Message("a file of a table"))

    def publish(self) -> Mapping[str, Any]:
        """Record the tables in the ledger; its entries have their numbers then."""
        self._release_check.publish()
        record = self._release_check.record
        return {} if record is None else {"ledger": record}

    def _streamed(self) -> Iterator[tuple[str, PublishedTable]]:
        engine = self._opened.engine
        for name, request in self._job.tables.items():
            place = SpillFolder()
            try:
                folder = place.path / "rows"
                folder.mkdir()
                spool = TableSpool(folder, empty_cells=request.empty_cells)
                parts = self._take_parts(name, request, spool)
                table = spool.table()
                if parts:
                    (cell_request,) = engine.requests_of_cells({name: request}).values()
                    protected = Protected.of_parts(
                        name, request, parts, cell_request=cell_request, table=table
                    )
                    parts.clear()
                    self._assessor.add(protected)
                    self._warn_of_hierarchies(protected.cells)
                    del protected
                yield name, table
                if _is_empty(table):
                    self._warn_of_zeros(name)
            finally:
                place.remove()
            if name not in self._assessor.tables:
                raise ConfigError(
                    Message("Table {name!r} has no cells.", name=Name(name)),
                    hint=Message("do its filter and its categories fit the data?"),
                )
            n_looked_at = self._looked_at.get(name)
            if n_looked_at is None:
                continue
            self._notes.note_warning(
                Message(
                    "Table {name!r} was streamed: the figures of its records, cells, risk and "
                    "utility and the checks of its noise are those of one part of it, "
                    "{n_looked_at:,} of {n_rows:,} cells.",
                    name=Name(name),
                    n_looked_at=n_looked_at,
                    n_rows=table.n_rows,
                ),
                event="table streamed",
                table=name,
            )

    def _take_parts(
        self, name: str, request: TableRequest, spool: TableSpool
    ) -> list[ProtectedCells]:
        """Write a table part by part; return all parts, or of a large table assess one."""
        engine, watch = self._opened.engine, self._release_check.watch
        options: dict[str, Any] = {
            "caution": self._warn_of_sums,
            "progress": self._tools.progress,
        }
        parts = (
            engine.protect_parts(request, name=name, **options)
            if watch is None
            else watch.parts(engine, name, request, **options)
        )
        waiting: list[ProtectedCells] = []
        n_cells, is_first = 0, True
        for share, part in parts:
            n_cells += len(part.cells)
            is_typical = bool(len(part.cells)) and (not is_first or share == 1)
            if n_cells <= _MOST_ASSESSED:
                waiting += [part] if len(part.cells) else []
            elif name not in self._looked_at:
                # Not all of it fits: one part that is no total stands for the table.
                typical = waiting[1] if len(waiting) > 1 else part if is_typical else None
                waiting.clear()
                if typical is not None:
                    self._looked_at[name] = self._add_part(name, request, typical)
                del typical
            spool.add(part)
            is_first = False
            del part  # before the next one is tabulated
        return waiting

    def _add_part(self, name: str, request: TableRequest, part: ProtectedCells) -> int:
        """Assess a part of a streamed table; return how many cells of it are published."""
        own = replace(request, where=f"a part of {name}")  # its cells are its own
        protected = Protected.of(name, own, part)
        self._assessor.add(protected)
        self._warn_of_hierarchies(part.cells)
        return protected.table.n_rows

    def _warn_of_hierarchies(self, cells: Cells) -> None:
        """Warn of hierarchies that seem to be from fine to broad."""
        for axis in filter(_is_reversed, cells.axes):
            columns = ", ".join(map(repr, axis.columns))
            self._notes.note_once(
                Message(
                    "Each level of {columns} has one category of the next: are they from broad "
                    "to fine?",
                    columns=Name(columns),
                ),
                event="order of a hierarchy",
            )

    def _warn_of_sums(self, text: str) -> None:
        self._notes.note_warning(text, event="sums with the noise of counts")

    def _warn_of_zeros(self, name: str) -> None:
        self._notes.note_warning(
            Message(
                "Table {name!r} publishes nothing but zeros: do its filter and its "
                "categories fit the data?",
                name=Name(name),
            ),
            event="table without counts",
            table=name,
        )

    def _checked_findings(self) -> Findings:
        """Compute the numbers of the reports, and stop where a check failed."""
        progress = self._tools.progress
        progress("checks", 0, 1)
        with self._tools.stages.timed("checks"):
            was_checked = self._job.checks != "skip"
            numbers = findings(
                self._assessor,
                self._job,
                quality=self._quality if was_checked else None,
                designs=self._designs,
            )
            audited = audit_checks(self._job, self._assessor.ptable)
            checks = (*numbers.checks[:-1], *audited, numbers.checks[-1])
            numbers = replace(numbers, checks=checks, frontier=self._frontier)
        progress("checks", 1, 1)
        for text in judge(numbers.checks, self._job):
            self._notes.note_warning(text, event="check failed")
        return numbers

    def _reproduction(self, internal: Path, inputs: Sequence[FileFact]) -> ReproductionFacts:
        finished = dt.datetime.now(dt.UTC)
        return ReproductionFacts(
            command=self._tools.command,
            job=record_file(internal / "job.toml", name=self._job.path.name),
            inputs=tuple(inputs),
            secret=secret_label(self._job) or "",
            versions=versions(engine=self._job.data.engine, keys=self._job.keys.version),
            started=self._tools.started.isoformat(timespec="seconds"),
            finished=finished.isoformat(timespec="seconds"),
            seconds=dict(self._tools.stages.seconds),
        )


def _is_empty(table: PublishedTable) -> bool:
    """Tell whether a table publishes nothing but zeros."""
    pieces = table.pieces(_LOOKED_AT)
    return not any(values.any() for piece in pieces for values in piece.measures.values())


def _is_reversed(axis: Axis) -> bool:
    """Tell whether the finest column of a hierarchy has fewer categories than its parent."""
    if len(axis.columns) < 2 or len(axis.levels) < 2:
        return False
    finest, broader = axis.levels[:2]
    fine, broad = axis.labels[-1], axis.labels[-2]
    n_fine, n_broad = len({*fine[finest.ranks]}), len({*broad[broader.ranks]})
    return n_fine < n_broad == finest.size


def _appearances(ledger: Mapping[str, Any] | None) -> Iterator[CheckFact]:
    """Tell in how many published counts a record is, over all releases."""
    if ledger is None:
        return
    maximum = ledger["maximum_numbers"]
    yield CheckFact(
        name="counts-of-a-record",
        outcome="no limit" if maximum is None else "passed",
        allowed={} if maximum is None else {"counts": float(maximum)},
        found={
            "counts": float(ledger["counts_of_a_record"]),
            "share": 1 / max(ledger["counts_of_a_record"], 1),
        },
    )
