"""One run of a release, from its inputs to a folder that appears complete or not at all.

It is the same whatever the method: it writes what the method yields, once the review of the
tables lets it, and then says what was done.
"""

from __future__ import annotations

import datetime as dt
import logging
import math
import shlex
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckm.errors import ReleaseError
from ckm.formats.derivations import derivations_of
from ckm.methods.internal_files import record_file
from ckm.release.files.claim import claimed_folder
from ckm.release.files.manifest import (
    TableRecord,
    describe_columns,
    public_manifest,
    suppressed_rows,
    write_manifest,
)
from ckm.release.files.output_folder import check_target, new_folder, resolve_target
from ckm.release.files.refusal import places_beside
from ckm.release.files.table_files import TableFiles, in_formats, refuse_foreign, refuse_overlap
from ckm.release.job_inputs import silent
from ckm.release.opening import job_method
from ckm.release.pages.index_pages import write_index
from ckm.release.review import NoReview, Pages, ReviewTools, noise_job_record
from ckm.release.warnings_log import Notes, Stages, captured_warnings
from ckm.versions import versions
from footing.messages import Message, Name, said
from footing.progress import Progress
from footing.serialisation import plain
from tables.keys import KEY_VERSION
from tables.source.spill import SpillFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from typing import Unpack

    from ckm.config.job.job import Job
    from ckm.engine.published_table import PublishedTable
    from ckm.release.files.distributed import StoredTables
    from ckm.release.job_inputs import Resources, Step
    from ckm.release.opening import OpenedMethod
    from ckm.release.review import Review
    from footing.places import FileState
    from reports.facts.release import FileFact


logger = logging.getLogger(__name__)

_MOST_HASHED = 1 << 30  # bytes of a file for Spark


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What a release did, or with a dry run would do.

    Parameters
    ----------
    folder, tables
        Where it lies, and the names of the tables.
    cells
        How many cells are published, suppressed ones among them.
    seconds
        How long it took.
    measures
        Of a release by suppression, for inside use only: what the internal manifest says of
        each measure.
    links
        What links its tables and columns, for the office to confirm.
    """

    folder: Path
    tables: tuple[str, ...]
    cells: int
    seconds: float
    measures: tuple[Mapping[str, Any], ...] = ()
    links: tuple[str, ...] = ()


class InputFiles:
    """The files that a run reads, which must stay as they are until it has read them all.

    Parameters
    ----------
    names
        The files → what a manifest calls them.
    most
        Larger files are not hashed: their size and their last change stand for them.
    """

    def __init__(self, names: Mapping[Path, str], *, most: float = math.inf) -> None:
        self._names, self._most = names, most
        self._far: Callable[[], Mapping[str, FileState]] = dict
        self._before = self._states()

    def include(self, far: Callable[[], Mapping[str, FileState]]) -> None:
        """Add files that lie on no disk of this machine."""
        self._far, self._before = far, (self._before[0], far())

    def require_all(self, files: Sequence[str]) -> None:
        """Refuse files of records that were opened and are not among these."""
        if {*map(Path, files)} - self._names.keys():
            raise _changed()

    def record(self, progress: Progress) -> tuple[FileFact, ...]:
        """Hash the files, or state the size and the last change of what is large or far."""
        from reports.facts.release import StatedFile

        local, far = self._before
        stated = {
            name: (size, dt.datetime.fromtimestamp(changed / 1e9, dt.UTC).isoformat(), "")
            for name, (changed, size, *_) in zip(self._names.values(), local, strict=True)
            if size > self._most
        }
        hashed = {path: name for path, name in self._names.items() if name not in stated}
        total, done = sum(size for _, size, *_ in local if size <= self._most), 0

        def add(size: int) -> None:
            nonlocal done
            done += size
            progress("fingerprint of the input", done // 1024, total // 1024)

        with _reading():
            return (
                *(record_file(path, name=name, progress=add) for path, name in hashed.items()),
                *(StatedFile.of(name, state) for name, state in {**stated, **far}.items()),
            )

    def require_rest(self) -> None:
        """Refuse files that changed since the run began."""
        if self._states() != self._before:
            raise _changed()

    def _states(self) -> tuple[list[tuple[int, ...]], Mapping[str, FileState]]:
        # Another file of the same size and time that takes the name has another inode; one that
        # came back to its name, or was written and set back to its time, has another ctime.
        with _reading():
            at = [path.stat() for path in self._names]
        states: list[tuple[int, ...]] = [
            (s.st_mtime_ns, s.st_size, s.st_ctime_ns, s.st_ino, s.st_dev) for s in at
        ]
        return states, self._far()


def _changed() -> ReleaseError:
    return ReleaseError(
        Message("The input changed while it was being read; there is no release."),
        hint=Message("run it again when the data are at rest"),
    )


@contextmanager
def _reading() -> Iterator[None]:
    """Turn the system's errors of reading the input into ours."""
    try:
        yield
    except OSError as error:
        name = Path(error.filename).name if isinstance(error.filename, str) else "an input"
        raise ReleaseError(
            Message(
                "The input {name!r} cannot be read: {reason}.",
                name=Name(name),
                reason=said(error.strerror or ""),
            ),
            hint=Message("nothing was written; look at the file's permissions"),
        ) from None


def facts_of_run(
    started: dt.datetime, *, engine: str = "duckdb", keys: int = KEY_VERSION
) -> dict[str, Any]:
    """Return the versions and the times of a run that ends now, for its manifest."""
    finished = dt.datetime.now(dt.UTC)
    return {
        "versions": versions(engine=engine, keys=keys),
        "times": {
            "started": started.isoformat(timespec="seconds"),
            "finished": finished.isoformat(timespec="seconds"),
        },
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _OpenedRun:
    """What a run works with: its job with the labels of the records, and the open method."""

    job: Job
    files: TableFiles
    method: OpenedMethod
    notes: Notes


class ReleaseDraft:
    """The folder of a release on its way, and the tables in it so far.

    Parameters
    ----------
    job
        The job, with the labels of its records.
    files
        What writes its tables.
    folder
        The folder, with ``public`` and ``internal`` in it.
    is_original
        Whether the numbers of its tables are the original ones.
    store
        Has workers write the tables onto a store instead.
    """

    def __init__(
        self,
        job: Job,
        files: TableFiles,
        folder: Path,
        *,
        is_original: bool = False,
        store: StoredTables | None = None,
    ) -> None:
        self.job, self.files, self.folder, self.store = job, files, folder, store
        self.public, self.internal = folder / "public", folder / "internal"
        self.tables: list[TableRecord] = []
        self.stages = Stages()
        self._is_original = is_original

    def write_table(
        self,
        name: str,
        table: PublishedTable,
        *,
        rows: int | None = None,
        seconds: float = 0.0,
    ) -> None:
        """Write a table in each format; `seconds` is what it took so far.

        Of a table of so many `rows` that workers wrote, only its columns are needed.
        """
        started, job = time.monotonic(), self.job
        paths = self._written(name, table) if rows is None else ()
        rows = table.n_rows if rows is None else rows
        files = tuple(record_file(path, name=path.name) for path in paths)
        seconds += time.monotonic() - started
        dimensions = job.tables[name].dimensions
        nested = {n: h for n, h in job.hierarchies.items() if n in dimensions}
        extra = {"table": name, "cells": rows, "seconds": round(seconds, 3)}
        logger.info("table written", extra=extra)
        columns = describe_columns(
            table,
            nested,
            derivations={
                name: " ".join(derivations_of(job.derived, [name], language="en"))
                for name in table.dimensions
            },
            total_label=job.output.total_label,
            is_original=self._is_original,
        )
        record = TableRecord(
            name=name,
            title=self._title(name),
            rows=rows,
            columns=columns,
            files=files,
            seconds=seconds,
            first_rows=self.files.first_rows(name, table) if paths else None,
            population=job.population_of(name, languages=job.output.languages),
            suppressed=suppressed_rows(table) if self._is_original else 0,
        )
        self.tables.append(record)

    def public_manifest(
        self, words: str | Sequence[str], *, report: Sequence[FileFact] = ()
    ) -> dict[str, Any]:
        """Return what anybody may know; files on a store do not have the words of tables."""
        manifest = public_manifest(
            self.tables, title=self._title(), report=report, method=words
        )
        is_far = self.job.output.place is not None
        return {**manifest, **({"words": self.files.words} if is_far else {})}

    def _written(self, name: str, table: PublishedTable) -> tuple[Path, ...]:
        """Write a table; return its files on this machine."""
        if self.store is None:
            return self.files.write(self.public, name, table)
        self.files.describe(name, table)
        self.store.write(name, table)
        return ()

    def _title(self, table: str = "") -> str | Mapping[str, str] | None:
        job = self.job
        return job.title_of(table, languages=job.output.languages) or None


class ReleaseRun:
    """One run of a job, whatever method it asks for.

    Parameters
    ----------
    job
        The job.
    formats
        Formats of the tables; by default those of the job.
    progress
        Called with a stage, how much of it is done, and how much there is.
    is_kept
        False lets nothing of it appear.
    command
        What was typed, for the internal report; by default the words that do the same.
    is_full
        Write the long lists to the internal report, too.
    """

    def __init__(
        self,
        job: Job,
        *,
        formats: Sequence[str] = (),
        progress: Progress | None = None,
        is_kept: bool = True,
        command: str | None = None,
        is_full: bool = False,
    ) -> None:
        self._started = dt.datetime.now(dt.UTC)
        self._job = in_formats(job, formats) if formats else job
        self._options = "".join(f" --format {name}" for name in formats)
        self._progress = progress or silent
        self._is_kept, self._is_full = is_kept, is_full
        self._command = command
        self._files = TableFiles(self._job)
        self._files.require_fit()
        names = {path: job.shown(path) for path in job.input_files()}
        most = _MOST_HASHED if job.data.engine == "spark" else math.inf
        self._inputs = InputFiles(names, most=most)
        self._method = job_method(job)

    def release(
        self, out: Path | str, *, force: bool, **resources: Unpack[Resources]
    ) -> Release:
        """Make the folder; it appears complete or not at all."""
        started = time.monotonic()
        target = resolve_target(out)
        may_replace = refuse_foreign if force else None
        refuse_overlap(self._job, target)
        check_target(target, may_replace)
        with (
            places_beside(target, is_kept=self._is_kept),
            claimed_folder(self._job.output.place if self._is_kept else None, target.name),
            self._opened(step=silent, **resources) as run_inputs,
            new_folder(target, may_replace=may_replace, is_kept=self._is_kept) as folder,
        ):
            run_inputs.method.place(target, is_kept=self._is_kept)
            cells = self._write(folder, run_inputs, name=target.name)
            statement = run_inputs.method.method.statement()
        done = Release(
            folder=Path(out),
            tables=tuple(self._job.tables),
            cells=cells,
            seconds=time.monotonic() - started,
            measures=tuple(statement.measures),
            links=tuple(statement.links),
        )
        if self._is_kept:
            seconds = round(done.seconds, 3)
            extra = {"tables": len(done.tables), "cells": cells, "seconds": seconds}
            logger.info(self._method.event, extra=extra)
        return done

    def rehearse(
        self, *, quick: bool = False, step: Step = silent, **resources: Unpack[Resources]
    ) -> None:
        """Do all of it in a private folder that goes again, telling what is found right.

        What stops the release of the job, stops this; only the folder of the release is not
        there to be looked at.
        """
        formats = ", ".join(self._job.output.formats)
        step(
            "formats checked",
            Message("names and words fit into every format: {formats}", formats=Name(formats)),
        )
        place = SpillFolder()
        try:
            with (
                places_beside(place.path, is_kept=False),
                self._opened(step=step, is_quick=quick, **resources) as run_inputs,
            ):
                if quick:
                    return
                with new_folder(place.path / "release", is_kept=False) as folder:
                    cells = self._write(folder, run_inputs, name="")
        finally:
            place.remove()
        run_inputs.method.tell_keys(step)
        statement = run_inputs.method.method.statement()
        if self._job.rounding is not None:
            for text in statement.notes:
                step("deviations", text)
        for text in statement.links:
            step("links", text)
        step(
            "release checked", Message("the release can be made: {cells:,} cells", cells=cells)
        )

    @contextmanager
    def _opened(
        self, *, step: Step, is_quick: bool = False, **resources: Unpack[Resources]
    ) -> Iterator[_OpenedRun]:
        """Open the method and its data, and check that they fit together; read no row."""
        with captured_warnings() as texts:
            notes = Notes(texts)
            with self._method.open(
                self._job,
                notes=notes,
                is_kept=self._is_kept,
                is_quick=is_quick,
                step=step,
                progress=self._progress,
                **resources,
            ) as method:
                method.method.require(self._job.tables)
                self._inputs.require_all(method.files)
                self._inputs.include(method.far_files)
                job, files = self._job.labelled(method.labels), self._files
                if job is not self._job:  # which gives no labels of its own
                    files = TableFiles(job)
                    files.require_fit()
                yield _OpenedRun(job=job, files=files, method=method, notes=notes)

    def _write(self, folder: Path, run_inputs: _OpenedRun, *, name: str) -> int:
        """Fill the draft folder; return the number of published cells.

        `name` is that of the folder to make; a rehearsal makes none.
        """
        public, internal = folder / "public", folder / "internal"
        internal.mkdir(mode=0o700)
        public.mkdir()
        (internal / "job.toml").write_bytes(run_inputs.job.text.encode())
        statement = run_inputs.method.method.statement()
        job, store = run_inputs.job, self._store(run_inputs, name)
        draft = ReleaseDraft(
            job, run_inputs.files, folder, is_original=statement.is_original, store=store
        )
        is_made_here = job.output.place is None or store is not None
        fill = self._fill if is_made_here else self._fill_distributed
        manifest, review = fill(draft, run_inputs, name)
        for path in internal.iterdir():
            path.chmod(0o600)
        if self._is_kept and (entries := review.publish()):
            write_manifest(internal / "manifest.json", {**manifest, **entries})
        return sum(table.rows for table in draft.tables)

    def _store(self, run_inputs: _OpenedRun, name: str) -> StoredTables | None:
        """Get ready to store tables whose cells come to this machine; None of others."""
        from ckm.release.files.distributed import StoredTables, folder_of
        from ckm.release.files.place import features_with_cells

        job, method = run_inputs.job, run_inputs.method
        if job.output.place is None or not features_with_cells(job):
            return None
        store = StoredTables(method, folder_of(job, name), is_kept=self._is_kept)
        store.require_new()
        method.require_few_cells()
        return store

    def _tools(self, draft: ReleaseDraft, run_inputs: _OpenedRun, name: str) -> ReviewTools:
        command = self._command
        if command is None:
            words = ["ckm", "release", draft.job.path.name, "-o", name]
            command = shlex.join(words) + self._options if name else ""
        return ReviewTools(
            job=draft.job,
            files=draft.files,
            notes=run_inputs.notes,
            stages=draft.stages,
            progress=self._progress,
            command=command,
            options=self._options,
            is_full=self._is_full,
            started=self._started,
        )

    def _fill(
        self, draft: ReleaseDraft, run_inputs: _OpenedRun, name: str
    ) -> tuple[dict[str, Any], Review]:
        """Write tables, pages and manifests; return the internal manifest and the review."""
        method, stages, n_tables = run_inputs.method.method, draft.stages, len(draft.job.tables)
        with stages.timed("inputs"):
            inputs = self._inputs.record(self._progress)
        review = run_inputs.method.review(self._tools(draft, run_inputs, name))
        waiting: dict[str, PublishedTable] = {}
        tables = self._protected(draft.job, run_inputs.method, review)
        with stages.timed("tables"), closing(tables):  # with what lies on disk, if it fails
            for table_name, table in tables:
                if review.is_late:
                    waiting[table_name] = table
                else:
                    self._progress("writing", len(draft.tables), n_tables)
                    draft.write_table(table_name, table)
                del table
        self._inputs.require_rest()
        review.judge(method.statement().notes)
        if review.is_late:
            share = stages.seconds["tables"] / n_tables
            with stages.timed("writing"):
                for table_name in list(waiting):
                    self._progress("writing", len(draft.tables), n_tables)
                    draft.write_table(table_name, waiting.pop(table_name), seconds=share)
        self._progress("writing", n_tables, n_tables)
        self._inputs.require_rest()
        statement, record = method.statement(), method.record(draft.internal)
        pages = review.write(draft.folder, draft.tables, inputs, record)
        if draft.job.suppression is not None:
            from ckm.release.pages.suppression_pages import with_overviews

            pages = with_overviews(pages, draft.folder, draft.job, method, draft.tables)
        words = statement.words if pages.words is None else pages.words
        index = write_index(
            draft.public,
            draft.job,
            draft.tables,
            pages,
            inputs,
            is_original=statement.is_original,
        )
        public = draft.public_manifest(words, report=[*index, *pages.public])
        review.require_clean(public)
        write_manifest(draft.public / "manifest.json", public)
        manifest = self._write_manifest(
            draft,
            inputs,
            job=review.job_record(draft.internal),
            method=record.method,
            inside={**record.inside, **pages.inside, **self._stored_files(draft, run_inputs)},
            notice=statement.notice,
            last={**pages.last, **record.last},
        )
        return manifest, review

    @staticmethod
    def _stored_files(draft: ReleaseDraft, run_inputs: _OpenedRun) -> dict[str, Any]:
        return {} if draft.store is None else {"written": run_inputs.method.written}

    def _protected(
        self, job: Job, session: OpenedMethod, review: Review
    ) -> Generator[tuple[str, PublishedTable]]:
        """Give the tables one after the other, each reviewed, whether it fits memory or not."""
        streamed = review.streamed()
        if streamed is not None:
            yield from streamed
            return
        tables = session.method.protect(session.data, dict(job.tables), progress=self._progress)
        for protected in tables:
            review.add(protected)
            name, table = protected.name, protected.table
            del protected  # its cells, before those of the next table are protected
            yield name, table
            del table

    def _fill_distributed(
        self, draft: ReleaseDraft, run_inputs: _OpenedRun, name: str
    ) -> tuple[dict[str, Any], Review]:
        """Let workers write the tables, then write the manifests."""
        from ckm.release.files.distributed import DistributedTables

        inputs = self._inputs.record(self._progress)
        tables = DistributedTables(
            draft, run_inputs.method, name=name, is_kept=self._is_kept, progress=self._progress
        )
        tables.write()
        self._inputs.require_rest()
        index = write_index(
            draft.public, draft.job, draft.tables, Pages(), inputs, is_original=False
        )
        write_manifest(draft.public / "manifest.json", tables.public_manifest(report=index))
        manifest = self._write_manifest(
            draft,
            inputs,
            job=noise_job_record(draft.job, draft.internal),
            method=tables.record(),
            inside={"written": run_inputs.method.written, "warnings": run_inputs.notes.texts},
        )
        return manifest, NoReview(self._tools(draft, run_inputs, name))

    def _write_manifest(
        self,
        draft: ReleaseDraft,
        inputs: Sequence[FileFact],
        *,
        job: Mapping[str, Any],
        method: Mapping[str, Any],
        inside: Mapping[str, Any],
        notice: str = "",
        last: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Write what the office needs to explain and repeat the release."""
        public = sorted(draft.public.iterdir())
        manifest = {
            "kind": self._method.kind,
            "schema": 1,
            **({"notice": notice} if notice else {}),
            "job": {**job, "formats": list(draft.job.output.formats)},
            "inputs": plain(inputs),
            **method,
            "tables": [
                {"name": table.name, "cells": table.rows, "seconds": round(table.seconds, 3)}
                for table in draft.tables
            ],
            "public": [plain(record_file(path, name=path.name)) for path in public],
            **inside,
            **facts_of_run(
                self._started, engine=draft.job.data.engine, keys=draft.job.keys.version
            ),
            **(last or {}),
        }
        write_manifest(draft.internal / "manifest.json", manifest)
        return manifest
