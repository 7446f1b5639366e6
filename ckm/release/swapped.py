"""Run a swap: from the swap file to swapped records and the report of what moved.

Both files stay inside: the records are microdata, the report counts them.
"""

from __future__ import annotations

import datetime as dt
import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckm.errors import ReleaseError
from ckm.ledger.storage.store import has_ledger
from ckm.methods.internal_files import record_file
from ckm.methods.swapping import RecordSwapping
from ckm.release.files.manifest import manifest_text
from ckm.release.files.output_folder import draft_folder, flush_files
from ckm.release.job_inputs import read_secret, silent, tell_ledger
from ckm.release.recorded_records import opened_gate
from ckm.release.run import InputFiles, facts_of_run
from footing.messages import Message, Name
from footing.places import is_matched
from footing.progress import Progress
from footing.serialisation import plain
from tables import open_source
from tables.source.spill import SpillFolder

if TYPE_CHECKING:
    from typing import Unpack

    from ckm.config.swap import SwapJob
    from ckm.release.job_inputs import Resources, Step
    from reports.facts.release import FileFact
    from tables import Secret
    from tables.swapping import SwapReport

logger = logging.getLogger(__name__)

KIND = "ckm-swap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """What a swap did, or with a dry run would do; for inside use only.

    Parameters
    ----------
    path
        The swapped records, and the report as JSON.
    report
        What moved; None for a dry run.
    seconds
        How long it took.
    """

    path: Path
    report: SwapReport | None
    seconds: float


def swap(
    job: SwapJob,
    out: Path | str,
    *,
    force: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Swap:
    """Write the swapped records and the report of what moved; both or none of them.

    Parameters
    ----------
    job
        The swap, from `ckm.config.swap.read_swap`.
    out
        The Parquet file of the records. The report lies beside it: ``swapped.report.json``
        for ``swapped.parquet``. Only their owner may read them.
    force
        Replace both if they exist.
    dry_run
        Swap, and let nothing of it appear: what stops a swap, stops it.
    progress
        Called with a stage, how much of it is done, and how much there is.
    memory_limit, threads
        Limits of DuckDB; they never change who moves.

    Returns
    -------
    Swap
        Where the files lie, and what moved.

    Raises
    ------
    ReleaseError
        If a file exists or cannot be written, or is one that the swap reads.
    ConfigError
        If there is neither a seed nor a secret.
    SecondMethodError
        If the ledger has these records by another method, or by another swap.
    tables.TablesError
        If the data do not fit the swap.

    Examples
    --------
    >>> from ckm.config.swap import read_swap
    >>> swap(read_swap("swap.toml"), "swapped.parquet")  # doctest: +SKIP
    """
    report_progress = progress or silent
    started, started_at = time.monotonic(), dt.datetime.now(dt.UTC)
    path = Path(os.path.abspath(out))  # noqa: PTH100 (a link is replaced, not followed)
    beside = path.with_suffix(".report.json")
    _require_output(job, path, beside, force=force)
    method = RecordSwapping(job.swap.settings, secret=_secret(job))
    data = job.data.local
    inputs = InputFiles({file: job.data.name_of(file) or file.name for file in data.files()})
    with (
        open_source(
            data.place,
            table=data.table,
            options=data.read_options,
            memory_limit=memory_limit,
            threads=threads,
        ) as source,
        opened_gate(job.ledger, secret=job.keys.secret, is_kept=not dry_run) as gate,
        draft_folder(path, what="file") as folder,
    ):
        inputs.require_all(source.files)
        job.swap.plan.require_fit(source)
        gate.add(source, {job.path.stem: method.areas()}, method.record_protection())
        gate.compare()
        files = inputs.record(report_progress)
        records = folder / path.name
        report = method.write(
            source,
            records,
            progress=lambda share: report_progress("swapping", round(100 * share), 100),
        )
        inputs.require_rest()
        output_record = record_file(records, name=path.name)
        content = _told(method, inputs=files, output=output_record, started=started_at)
        (folder / beside.name).write_bytes(manifest_text(content).encode())
        if not dry_run:
            gate.publish()
            _put_in_place(folder, (beside, path))
    seconds = time.monotonic() - started
    if dry_run:
        return Swap(path=path, report=None, seconds=seconds)
    logger.info("swap complete", extra={"seconds": round(seconds, 3)})
    return Swap(path=path, report=report, seconds=seconds)


def rehearse_swap(
    job: SwapJob,
    *,
    quick: bool = False,
    step: Step = silent,
    progress: Progress | None = None,
    **resources: Unpack[Resources],
) -> None:
    """Make a swap in a private folder that goes again."""
    _secret(job)
    data = job.data.local
    with open_source(
        data.place, table=data.table, options=data.read_options, **resources
    ) as source:
        job.swap.plan.require_fit(source)
        for column in (job.ledger.id, job.ledger.record_key) if job.ledger else ():
            if column is not None:
                source.require(column)
    step("columns checked", Message("the data have every column"))
    is_there = job.ledger is not None and has_ledger(job.ledger.target)
    with opened_gate(job.ledger, secret=job.keys.secret, is_kept=False):
        tell_ledger(job.ledger, is_there=is_there, step=step)
    if quick:
        return
    place = SpillFolder()
    try:
        swap(job, place.path / "swapped.parquet", dry_run=True, progress=progress, **resources)
    finally:
        place.remove()
    step("swap checked", Message("the swap can be made"))


def _require_output(job: SwapJob, path: Path, beside: Path, *, force: bool) -> None:
    if path.suffix != ".parquet":
        raise ReleaseError(
            Message(
                "The swapped records are a Parquet file; {path!r} does not end so.",
                path=Name(path.name),
            ),
            hint=Message("for example: -o swapped.parquet"),
        )
    if not path.parent.is_dir():
        raise ReleaseError(
            Message(
                "The file {path!r} cannot be written: its folder does not exist.",
                path=Name(path.name),
            ),
            hint=Message("make the folder, or choose another"),
        )
    inputs = [*job.data.files(), job.path, *([job.keys.secret] if job.keys.secret else [])]
    for file in (path, beside):
        if file.is_dir():
            raise ReleaseError(
                Message("{file!r} is a folder.", file=Name(file.name)),
                hint=Message("choose another name"),
            )
        for input_file in inputs:
            if os.path.realpath(input_file) == os.path.realpath(file):
                raise ReleaseError(
                    Message(
                        "The output {file!r} is a file that the swap reads.",
                        file=Name(file.name),
                    ),
                    hint=Message("choose another name"),
                )
        if not force and os.path.lexists(file):
            raise ReleaseError(
                Message("The file {file!r} exists.", file=Name(file.name)),
                hint=Message("choose another, or replace it with --force"),
            )
    if any(is_matched(path, pattern) for pattern in job.data.patterns):
        raise ReleaseError(
            Message(
                "The output {path!r} would be read as data by the next swap.",
                path=Name(path.name),
            ),
            hint=Message("choose a name that the pattern of [data] path does not match"),
        )


def _secret(job: SwapJob) -> Secret | None:
    """Return the secret; None where a seed decides."""
    if job.swap.seed is not None:
        return None
    return read_secret(
        job.keys.secret,
        problem=Message(
            "A swap needs a secret or a seed: [keys] names no file, CKM_SECRET is not "
            "set and [swap] has no seed."
        ),
    )


def _told(
    method: RecordSwapping,
    *,
    inputs: tuple[FileFact, ...],
    output: FileFact,
    started: dt.datetime,
) -> dict[str, Any]:
    """Return what the office needs to explain and repeat a swap."""
    return {
        "kind": KIND,
        "schema": 1,
        "inside": "For inside use only: these are counts of records, and who knows how many "
        "moved looks for those that did not.",
        **method.to_dict(),
        "inputs": plain(inputs),
        "output": plain(output),
        **facts_of_run(started),
    }


def _put_in_place(folder: Path, targets: tuple[Path, Path]) -> None:
    """Let the files appear, the records last: where they are, their report is."""
    report, _ = targets
    was_there = report.exists()
    flush_files(folder)
    try:
        for target in targets:
            draft = folder / target.name
            draft.chmod(0o600)
            draft.replace(target)
    except BaseException:
        if not was_there:
            report.unlink(missing_ok=True)
        raise
