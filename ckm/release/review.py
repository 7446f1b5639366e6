"""What judges the tables of a release before they are published; most methods need nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ckm.methods.internal_files import record_file
from tables.secret import SECRET_VARIABLE

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ckm.config.job.job import Job
    from ckm.engine.protection import Protected
    from ckm.engine.published_table import PublishedTable
    from ckm.methods.method import InternalRecord
    from ckm.release.files.manifest import TableRecord
    from ckm.release.files.table_files import TableFiles
    from ckm.release.pages.report_pages import LeakCheck
    from ckm.release.warnings_log import Notes, Stages
    from footing.progress import Progress
    from reports.facts.release import FileFact, MarginFact


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReviewTools:
    """What a run gives to the review of its tables.

    Parameters
    ----------
    job
        The job, with the labels of its records.
    files
        The files of the tables.
    notes, stages, progress
        What the run warned of, how long its stages took, and whom it tells of them.
    command, options, is_full
        What was typed; the options among it; whether pages have their long lists.
    started
        When the run began.
    """

    job: Job
    files: TableFiles
    notes: Notes
    stages: Stages
    progress: Progress
    command: str
    options: str
    is_full: bool
    started: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """What a review wrote, and what the manifests say of it.

    Parameters
    ----------
    words
        What tells the public of the method, where the method alone would not know it.
    public
        The public pages.
    inside, last
        Parts of the internal manifest.
    leaks
        What looked that they give nothing away; None where nothing did.
    margin
        How far counts may lie from the true ones, where the office tells it.
    """

    words: str | None = None
    public: Sequence[FileFact] = ()
    inside: Mapping[str, Any] = field(default_factory=dict)
    last: Mapping[str, Any] = field(default_factory=dict)
    leaks: LeakCheck | None = None
    margin: MarginFact | None = None


def secret_label(job: Job) -> str | None:
    """Tell where the secret of a job lies; None where it needs none."""
    if not job.needs_secret:
        return None
    if job.keys.secret_command is not None:
        return "secret_command"
    secret = job.keys.secret
    return secret.name if secret else SECRET_VARIABLE


def noise_job_record(job: Job, internal: Path) -> dict[str, Any]:
    """Return what the internal manifest says of a job with noise."""
    return {
        "file": "job.toml",
        "sha256": record_file(internal / "job.toml", name="job.toml").sha256,
        "read_from": str(job.path),
        "secret": secret_label(job),
    }


class Review(Protocol):
    """Judges tables that a method protected."""

    @property
    def is_late(self) -> bool:
        """Whether no table may be written before all of them are judged."""

    def streamed(self) -> Iterator[tuple[str, PublishedTable]] | None:
        """Give tables that are larger than memory; None where the method gives them whole."""

    def add(self, protected: Protected) -> None:
        """Take in a table."""

    def judge(self, notes: Sequence[str]) -> None:
        """Raise where the tables may not be published; `notes` are those of the method."""

    def job_record(self, internal: Path) -> dict[str, Any]:
        """Return what the internal manifest says of the job."""

    def write(
        self,
        folder: Path,
        tables: Sequence[TableRecord],
        inputs: Sequence[FileFact],
        record: InternalRecord,
    ) -> Pages:
        """Write pages of the tables."""

    def require_clean(self, manifest: Mapping[str, Any]) -> None:
        """Refuse a public manifest that holds what must stay inside."""

    def publish(self) -> Mapping[str, Any]:
        """Record the tables where others see them; return what the manifest says of that."""


class NoReview:
    """Lets every table pass: the method judged its tables itself.

    Parameters
    ----------
    tools
        What the run gives.
    """

    is_late = False

    def __init__(self, tools: ReviewTools) -> None:
        self._job = tools.job

    def streamed(self) -> Iterator[tuple[str, PublishedTable]] | None:
        """Leave all tables to the method."""
        return None

    def add(self, protected: Protected) -> None:
        """Let a table pass."""

    def judge(self, notes: Sequence[str]) -> None:
        """Let all tables pass."""

    def job_record(self, internal: Path) -> dict[str, Any]:
        """Name the job file."""
        del internal
        return {"file": self._job.path.name}

    def write(
        self,
        folder: Path,
        tables: Sequence[TableRecord],
        inputs: Sequence[FileFact],
        record: InternalRecord,
    ) -> Pages:
        """Write nothing."""
        del folder, tables, inputs, record
        return Pages()

    def require_clean(self, manifest: Mapping[str, Any]) -> None:
        """Let the manifest pass: it names tables and columns alone."""

    def publish(self) -> Mapping[str, Any]:
        """Record nothing."""
        return {}
