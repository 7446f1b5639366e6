"""Release a job: from the job file to a folder with tables, reports and manifests.

The folder holds `public/`, which may be published as it is, and `internal/`, which may not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.release.run import ReleaseRun
from footing.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckm.config.job.job import Job
    from ckm.release.run import Release


def release(
    job: Job,
    out: Path | str,
    *,
    formats: Sequence[str] = (),
    force: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
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
    run = ReleaseRun(
        job,
        formats=formats,
        progress=progress,
        is_kept=not dry_run,
        command=command,
        is_full=full,
    )
    return run.release(out, force=force, memory_limit=memory_limit, threads=threads)
