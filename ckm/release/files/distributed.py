"""Tables that workers of Spark write on a store, and here what needs none of their cells."""

from __future__ import annotations

import time
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from ckm.assessment.facts import keeps_positive
from ckm.errors import ConfigError, ReleaseError
from ckm.release.files.manifest import write_manifest, write_ptable
from ckm.release.job_inputs import load_secret
from ckm.release.pages.report_pages import LeakCheck
from reports.facts.release import PublicFacts, StatedFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ckm.engine.engine import Engine
    from ckm.release.files.manifest import TableRecord
    from ckm.release.job_inputs import OpenedJob
    from ckm.release.perturbed import NoiseRun

#: What a page would know of the release, which has none.
_NOTHING = PublicFacts(
    id="", title="", date="", contact="", version="", ptable_label="", checks={}, tables=()
)


def fill_distributed(
    run: NoiseRun, public: Path, internal: Path, opened: OpenedJob
) -> list[TableRecord]:
    """Let workers write the tables of a run, then write the manifests."""
    ptable, inputs = opened.ptable, run.inputs.record(run.progress)
    tables = list(_write_tables(run, public, opened.engine))
    run.quality = opened.engine.check_keys()
    run.inputs.require_rest()
    method = "positive" if keeps_positive(ptable.transition.tolist()) else "noise"
    manifest = run.public_manifest(tables, method=method) | {"words": run.files.words}
    hidden = [str(run.job.path.parent), ptable.id]
    leaks = LeakCheck(_NOTHING, hidden=hidden, secret=load_secret(run.job))
    leaks.require_clean(manifest, what="the public manifest")
    write_manifest(public / "manifest.json", manifest)
    run.write_internal_manifest(
        internal,
        tables,
        inputs,
        job=run.job_record(internal),
        method={"ptable": write_ptable(internal / "pt.parquet", ptable)},
        inside={"written": run.written, "warnings": run.warnings},
    )
    return tables


def _write_tables(run: NoiseRun, public: Path, engine: Engine) -> Iterator[TableRecord]:
    """Let workers write each table into a new folder; in a rehearsal they only make them."""
    folder = f"{run.job.output.place}/{run.name or '.check'}"
    if engine.far_files(folder):
        raise ReleaseError(
            f"There are files in {folder!r}, where workers are to write the tables.",
            hint="remove them if a failed run left them, or choose another name for the output",
        )
    for name, request in run.job.tables.items():
        started, place = time.monotonic(), f"{folder}/{name}"
        if run.is_kept:
            run.written[place] = []  # perhaps not to its end
        target, progress = place if run.is_kept else None, partial(_progress, run, name)
        rows = engine.write_distributed(request, target, progress=progress)
        if run.is_kept:
            files = [StatedFile.of(*found) for found in engine.far_files(place).items()]
            run.written[place] = [asdict(file) for file in files]
        if not rows:
            hint = "do its filter and its categories fit the data?"
            raise ConfigError(f"Table {name!r} has no cells.", hint=hint)
        seconds, columns = time.monotonic() - started, run.files.rehearsal(name)
        yield run.write_table(public, name, columns, rows=rows, seconds=seconds)


def _progress(run: NoiseRun, name: str, _stage: str, done: int, total: int) -> None:
    run.progress(f"table {name}", done, total)
