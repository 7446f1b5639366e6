"""Release the tables of a job by suppression: true numbers, or none.

No p-table has a part in it, and the report pages of noise do not belong to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.errors import ConfigError
from ckm.release.perturbed import release
from footing.messages import Message, Name
from footing.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckm.config.job.job import Job
    from ckm.release.run import Release


def release_true_numbers(
    job: Job,
    out: Path | str,
    *,
    formats: Sequence[str] = (),
    force: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
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
    if job.suppression is None:
        raise ConfigError(
            Message(
                "The job {path!r} has no [suppression]: which cells are unsafe?",
                path=Name(job.path.name),
            ),
            hint=Message(
                "[suppression] with threshold = 3; a job with [ptable] goes to ckm release"
            ),
        )
    return release(
        job,
        out,
        formats=formats,
        force=force,
        dry_run=dry_run,
        progress=progress,
        memory_limit=memory_limit,
        threads=threads,
    )
