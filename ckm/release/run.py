"""One run of a release, from its inputs to a folder that appears complete or not at all.

Releases by noise, releases by suppression and swaps of records all go this way.
"""

from __future__ import annotations

import datetime as dt
import logging
import math
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from ckm.errors import ReleaseError
from ckm.formats.derivations import derivations_of
from ckm.release.files.manifest import (
    TableRecord,
    describe_columns,
    public_manifest,
    record_file,
    write_manifest,
)
from ckm.release.files.output_folder import check_target, new_folder, resolve_target
from ckm.release.files.refusal import places_beside
from ckm.release.files.table_files import TableFiles, in_formats, refuse_foreign, refuse_overlap
from ckm.release.job_inputs import silent
from ckm.versions import versions
from reports.facts.release import FileFact, StatedFile
from tables.source.spill import SpillFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Unpack

    from ckm.config.job.job import Job
    from ckm.engine.published_table import PublishedTable
    from ckm.release.job_inputs import Resources, Step
    from footing.places import FileState

    Progress = Callable[[str, int, int], None]

logger = logging.getLogger(__name__)

_MOST_HASHED = 1 << 30  # bytes of a file for Spark
_Opened = TypeVar("_Opened")


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
    """

    folder: Path
    tables: tuple[str, ...]
    cells: int
    seconds: float
    measures: tuple[Mapping[str, Any], ...] = ()


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
        "The input changed while it was being read; there is no release.",
        hint="run it again when the data are at rest",
    )


@contextmanager
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


def facts_of_run(started: dt.datetime, *, engine: str = "duckdb") -> dict[str, Any]:
    """Return the versions and the times of a run that ends now, for its manifest."""
    finished = dt.datetime.now(dt.UTC)
    return {
        "versions": versions(engine=engine),
        "times": {
            "started": started.isoformat(timespec="seconds"),
            "finished": finished.isoformat(timespec="seconds"),
        },
    }


class ReleaseRun(ABC, Generic[_Opened]):
    """One run of a job.

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
    """

    kind: ClassVar[str]
    #: What the log calls a release that is complete.
    event: ClassVar[str]
    #: The name of the folder to make; a rehearsal makes none.
    name = ""
    #: Whether the numbers of its tables are the original ones.
    is_original: ClassVar[bool] = False

    def __init__(
        self,
        job: Job,
        *,
        formats: Sequence[str] = (),
        progress: Progress | None = None,
        is_kept: bool = True,
    ) -> None:
        self.started = dt.datetime.now(dt.UTC)
        self.job = in_formats(job, formats) if formats else job
        self.options = "".join(f" --format {name}" for name in formats)
        self.progress = progress or silent
        self.is_kept = is_kept
        self.files = TableFiles(self.job)
        self.files.require_fit()
        names = {path: job.shown(path) for path in job.input_files()}
        most = _MOST_HASHED if job.data.engine == "spark" else math.inf
        self.inputs = InputFiles(names, most=most)
        self.measures: tuple[Mapping[str, Any], ...] = ()

    @abstractmethod
    def opened(
        self, *, step: Step, **resources: Unpack[Resources]
    ) -> AbstractContextManager[_Opened]:
        """Open all that the run needs, and check that it fits together; read no row."""

    @abstractmethod
    def fill(self, public: Path, internal: Path, opened: _Opened) -> Sequence[TableRecord]:
        """Write everything into the two folders of the draft."""

    @abstractmethod
    def tell_keys(self, step: Step) -> None:
        """Tell what the look at the keys of the records found."""

    def take_labels(self, labels: Mapping[str, Mapping[str, str]]) -> None:
        """Let the labels of the records stand where the job gives none of its own."""
        job = self.job.labelled(labels)
        if job is not self.job:
            self.job, self.files = job, TableFiles(job)
            self.files.require_fit()

    def publish(self, internal: Path) -> None:
        """Do what comes last before the folder appears."""

    def release(
        self,
        out: Path | str,
        *,
        force: bool,
        **resources: Unpack[Resources],
    ) -> Release:
        """Make the folder; it appears complete or not at all."""
        started = time.monotonic()
        target = resolve_target(out)
        may_replace = refuse_foreign if force else None
        refuse_overlap(self.job, target)
        self.name = target.name
        check_target(target, may_replace)
        with (
            places_beside(target, is_kept=self.is_kept),
            self.opened(step=silent, **resources) as opened,
            new_folder(target, may_replace=may_replace, is_kept=self.is_kept) as folder,
        ):
            cells = self._write(folder, opened)
        done = Release(
            folder=Path(out),
            tables=tuple(self.job.tables),
            cells=cells,
            seconds=time.monotonic() - started,
            measures=self.measures,
        )
        if self.is_kept:
            seconds = round(done.seconds, 3)
            extra = {"tables": len(done.tables), "cells": cells, "seconds": seconds}
            logger.info(self.event, extra=extra)
        return done

    def rehearse(
        self, *, quick: bool = False, step: Step = silent, **resources: Unpack[Resources]
    ) -> None:
        """Do all of it in a private folder that goes again, telling what is found right.

        What stops the release of the job, stops this; only the folder of the release is not
        there to be looked at.
        """
        formats = ", ".join(self.job.output.formats)
        step("formats checked", f"names and words fit into every format: {formats}")
        place = SpillFolder()
        try:
            with (
                places_beside(place.path, is_kept=False),
                self.opened(step=step, **resources) as opened,
            ):
                if quick:
                    return
                with new_folder(place.path / "release", is_kept=False) as folder:
                    cells = self._write(folder, opened)
        finally:
            place.remove()
        self.tell_keys(step)
        step("release checked", f"the release can be made: {cells:,} cells")

    def _write(self, folder: Path, opened: _Opened) -> int:
        """Fill the draft folder; return the number of published cells."""
        public, internal = folder / "public", folder / "internal"
        internal.mkdir(mode=0o700)
        public.mkdir()
        (internal / "job.toml").write_bytes(self.job.text.encode())
        tables = self.fill(public, internal, opened)
        for path in internal.iterdir():
            path.chmod(0o600)
        if self.is_kept:
            self.publish(internal)
        return sum(table.rows for table in tables)

    def write_table(
        self,
        public: Path,
        name: str,
        table: PublishedTable,
        *,
        rows: int | None = None,
        seconds: float = 0.0,
    ) -> TableRecord:
        """Write a table in each format; `seconds` is what it took so far.

        Of a table of so many `rows` that workers wrote, only its columns are needed.
        """
        started = time.monotonic()
        paths = self.files.write(public, name, table) if rows is None else ()
        rows = table.n_rows if rows is None else rows
        files = tuple(record_file(path, name=path.name) for path in paths)
        seconds += time.monotonic() - started
        dimensions = self.job.tables[name].dimensions
        nested = {n: h for n, h in self.job.hierarchies.items() if n in dimensions}
        extra = {"table": name, "cells": rows, "seconds": round(seconds, 3)}
        logger.info("table written", extra=extra)
        return TableRecord(
            name=name,
            title=self._title(name),
            rows=rows,
            columns=describe_columns(
                table,
                nested,
                derivations={
                    name: " ".join(derivations_of(self.job.derived, [name], language="en"))
                    for name in table.dimensions
                },
                total_label=self.job.output.total_label,
                is_original=self.is_original,
            ),
            files=files,
            seconds=seconds,
        )

    def _title(self, table: str = "") -> str | Mapping[str, str] | None:
        return self.job.title_of(table, languages=self.job.output.languages) or None

    def public_manifest(
        self,
        tables: Sequence[TableRecord],
        *,
        method: str,
        report: Sequence[FileFact] = (),
    ) -> dict[str, Any]:
        """Return what anybody may know."""
        return public_manifest(tables, title=self._title(), report=report, method=method)

    def write_internal_manifest(
        self,
        internal: Path,
        tables: Sequence[TableRecord],
        inputs: Sequence[FileFact],
        *,
        job: Mapping[str, Any],
        method: Mapping[str, Any],
        inside: Mapping[str, Any],
        first: Mapping[str, str] | None = None,
        last: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Write what the office needs to explain and repeat the release."""
        public = sorted((internal.parent / "public").iterdir())
        manifest = {
            "kind": self.kind,
            "schema": 1,
            **(first or {}),
            "job": {**job, "formats": list(self.job.output.formats)},
            "inputs": [asdict(file) for file in inputs],
            **method,
            "tables": [
                {"name": table.name, "cells": table.rows, "seconds": round(table.seconds, 3)}
                for table in tables
            ],
            "public": [asdict(record_file(path, name=path.name)) for path in public],
            **inside,
            **facts_of_run(self.started, engine=self.job.data.engine),
            **(last or {}),
        }
        write_manifest(internal / "manifest.json", manifest)
        return manifest
