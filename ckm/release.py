"""Run a release job: from the job file to a folder with tables and manifests.

The folder holds `public/`, which may be published as it is, and `internal/`, which may not.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ckm.errors import ReleaseError
from ckm.folder import check_target, new_folder, resolve_target
from ckm.manifest import (
    FileRecord,
    TableRecord,
    describe_columns,
    internal_manifest,
    public_manifest,
    record_file,
    write_manifest,
)
from ckm.opening import load_ptable, open_engine
from ckm.placement import refuse_foreign, refuse_overlap
from tables.secret import SECRET_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ckm.config.job import Job
    from ckm.engine import Engine
    from ckm.published import PublishedTable
    from ptable import PTable

__all__ = ["Release", "release"]

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
    force: bool = False,
    dry_run: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Release:
    """Release the tables of a job into a folder that appears complete or not at all.

    Parameters
    ----------
    job
        The job, from `ckm.config.read_job`.
    out
        The folder to make.
    force
        Replace an earlier release there; it stays until the new one is complete.
    dry_run
        Check everything that can be checked without a scan of the data, and write nothing.
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
    ReleaseError
        If the folder may not be written.

    Examples
    --------
    >>> from ckm.config import read_job
    >>> release(read_job("job.toml"), "out/")  # doctest: +SKIP
    """
    tell = progress or _silent
    started = time.monotonic()
    target = resolve_target(out)
    may_replace = refuse_foreign if force else None
    refuse_overlap(job, target)
    check_target(target, may_replace)
    run = _Run(job=job, started_at=dt.datetime.now(dt.UTC), tell=tell, before=_states(job))
    tell("p-table", 0, 1)
    ptable = load_ptable(job)
    tell("p-table", 1, 1)
    with open_engine(job, ptable, memory_limit=memory_limit, threads=threads) as engine:
        engine.validate(job.tables)
        if dry_run:
            cells = 0
        else:
            with new_folder(target, may_replace=may_replace) as folder:
                cells = run.write(folder, engine, ptable)
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


def _silent(_stage: str, _done: int, _total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One run of a job, from its inputs to the files of the draft folder."""

    job: Job
    started_at: dt.datetime
    tell: Callable[[str, int, int], None]
    before: dict[Path, tuple[int, int]]

    def write(self, folder: Path, engine: Engine, ptable: PTable) -> int:
        """Fill the folder; return the number of published cells."""
        inputs = self._record_inputs()
        engine.check_keys()
        tables = self._write_tables(folder / "public", engine)
        if _states(self.job) != self.before:
            raise ReleaseError(
                "The input changed while the release was being made; nothing was written.",
                hint="run it again when the data are at rest",
            )
        self._write_manifests(folder, tables, inputs, ptable)
        return sum(table.rows for table in tables)

    def _record_inputs(self) -> list[FileRecord]:
        """Hash the files that the numbers depend on."""
        files = self.job.input_files()
        with _reading():
            total = sum(path.stat().st_size for path in files)
            done = 0

            def add(size: int) -> None:
                nonlocal done
                done += size
                self.tell("fingerprint of the input", done // 1024, total // 1024)

            return [record_file(p, name=self.job.shown(p), progress=add) for p in files]

    def _write_tables(self, public: Path, engine: Engine) -> list[TableRecord]:
        """Tabulate everything in as few scans as possible, and write each table."""
        public.mkdir()
        requests, records = dict(self.job.tables), []
        started = time.monotonic()
        published = engine.tabulate_all(requests, progress=self.tell)
        share = (time.monotonic() - started) / len(requests)
        for number, (name, table) in enumerate(published.items()):
            self.tell("writing", number, len(published))
            begun = time.monotonic()
            files = tuple(
                self._write_table(public / f"{name}.{kind}", table)
                for kind in self.job.output.formats
            )
            seconds = share + time.monotonic() - begun
            records.append(
                TableRecord(
                    name=name,
                    title=self.job.titles.get(name),
                    rows=table.n_rows,
                    columns=describe_columns(
                        table, self._hierarchies(name), total_label=self.job.output.total_label
                    ),
                    files=files,
                    seconds=seconds,
                )
            )
            if not any(values.any() for values in table.measures.values()):
                logger.warning(
                    "Table %r publishes nothing but zeros: do its filter and its categories "
                    "fit the data?",
                    name,
                    extra={"event": "table without counts", "table": name},
                )
            logger.info(
                "table written",
                extra={"table": name, "cells": table.n_rows, "seconds": round(seconds, 3)},
            )
        self.tell("writing", len(published), len(published))
        return records

    def _hierarchies(self, name: str) -> dict[str, object]:
        """Return the hierarchies among the dimensions of a table."""
        dimensions = self.job.tables[name].dimensions
        return {n: h for n, h in self.job.hierarchies.items() if n in dimensions}

    def _write_table(self, path: Path, table: PublishedTable) -> FileRecord:
        table.write(path)
        return record_file(path, name=path.name)

    def _write_manifests(
        self,
        folder: Path,
        tables: Sequence[TableRecord],
        inputs: Sequence[FileRecord],
        ptable: PTable,
    ) -> None:
        public, internal = folder / "public", folder / "internal"
        internal.mkdir(mode=0o700)
        write_manifest(public / "manifest.json", public_manifest(tables, title=self.job.title))
        (internal / "job.toml").write_bytes(self.job.text.encode())
        ptable.write(internal / "pt.parquet")
        secret = self.job.keys.secret
        label = f"file {secret.name}" if secret else f"environment variable {SECRET_VARIABLE}"
        finished = dt.datetime.now(dt.UTC)
        write_manifest(
            internal / "manifest.json",
            internal_manifest(
                tables,
                job={
                    "file": "job.toml",
                    "sha256": record_file(internal / "job.toml", name="job.toml").sha256,
                    "read_from": str(self.job.path),
                    "secret": label if self.job.needs_secret else None,
                },
                inputs=inputs,
                ptable={
                    "id": ptable.id,
                    "file": asdict(record_file(internal / "pt.parquet", name="pt.parquet")),
                    "certificate": ptable.certificate.summary() if ptable.certificate else None,
                },
                public=[record_file(p, name=p.name) for p in sorted(public.iterdir())],
                times={
                    "started": self.started_at.isoformat(timespec="seconds"),
                    "finished": finished.isoformat(timespec="seconds"),
                },
            ),
        )
