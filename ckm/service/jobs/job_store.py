"""The folder of jobs: what is kept of each, how many, how many bytes, and for how long."""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ckm.errors import ReleaseError
from ckm.service.answering.messages import ClientError
from ckm.service.answering.render import Rendered, etag_of
from footing.files import write_whole

if TYPE_CHECKING:
    from pathlib import Path


logger = logging.getLogger(__name__)

_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_FINAL = {"done", "blocked", "failed", "cancelled"}

Status = Literal["queued", "running", "done", "blocked", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A large table on its way.

    Parameters
    ----------
    id
        A name that nobody can guess.
    owner
        Who asked.
    status
        How far it is.
    created
        When, in seconds of the epoch.
    process
        Which process works on it.
    media_type, etag, headers
        Of the result.
    refusal
        Why it was refused, by language.
    error
        What went wrong, one of the words of the service.
    """

    id: str
    owner: str
    status: Status = "queued"
    created: float = 0.0
    process: int = 0
    media_type: str = ""
    etag: str = ""
    headers: dict[str, str] | None = None
    refusal: dict[str, dict[str, Any]] | None = None
    error: str | None = None

    @staticmethod
    def new(owner: str) -> Job:
        """Return a job that waits for this process."""
        name = secrets.token_urlsafe(16)
        return Job(id=name, owner=owner, created=time.time(), process=os.getpid())

    @property
    def is_final(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in _FINAL


class JobFolder:
    """Keeps jobs and their results.

    Parameters
    ----------
    folder
        Where; readable by the owner alone.
    most, max_bytes, max_s
        How many jobs, bytes of results and seconds; the oldest go first.
    """

    def __init__(self, folder: Path, *, most: int, max_bytes: int, max_s: float) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._most, self._max_bytes, self._max_s = most, max_bytes, max_s

    def load(self, name: str) -> Job | None:
        """Return a job, unless it is over and too old."""
        if _ID.fullmatch(name) is None:
            return None
        try:
            job = Job(**json.loads(self._path(name, "json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        if self._path(name, "off").exists():  # whatever another process wrote meanwhile
            job = replace(job, status="cancelled")
        if job.is_final and time.time() - job.created > self._max_s:
            self._forget(job)
            return None
        if not job.is_final and not _is_alive(job.process):
            job = replace(job, status="failed", error="internal")
            self.save(job)
        return job

    def save(self, job: Job) -> None:
        """Write what is known of a job."""
        self._write(self._path(job.id, "json"), json.dumps(asdict(job)).encode())

    def keep(self, job: Job, made: Rendered) -> Job:
        """Write the result of a job, and return the job as done."""
        if len(made.body) > self._max_bytes:
            raise ClientError("too_many_bytes", limit=self._max_bytes)
        self._write(self._path(job.id, "body"), made.body)
        return replace(
            job,
            status="done",
            media_type=made.media_type,
            etag=made.etag,
            headers=dict(made.headers),
        )

    def result(self, job: Job) -> Rendered:
        """Return the result of a job that is done."""
        try:
            body = self._path(job.id, "body").read_bytes()
        except OSError:
            raise ClientError("no_job") from None
        if etag_of(body) != job.etag:
            logger.error("result damaged")
            raise ClientError("no_job")
        return Rendered(
            body=body, media_type=job.media_type, etag=job.etag, headers=job.headers or {}
        )

    def cancel(self, job: Job) -> None:
        """Note that a job was given up, and delete what there is of its result."""
        self._write(self._path(job.id, "off"), b"")
        self.drop_result(job)

    def drop_result(self, job: Job) -> None:
        """Delete the result of a job."""
        self._path(job.id, "body").unlink(missing_ok=True)

    def drop_waiting(self) -> None:
        """Note that the jobs that wait for this process will not be worked on."""
        for job in self._all():
            if not job.is_final and job.process == os.getpid():
                self.save(replace(job, status="failed", error="stopping"))

    def make_room(self, owner: str) -> None:
        """Forget the oldest jobs that are over, so that one more has room."""
        waiting = [job for job in self._all() if not job.is_final]
        mine = sum(job.owner == owner for job in waiting)
        if len(waiting) >= self._most or mine >= max(2, self._most // 4):
            raise ClientError("busy")
        self.forget_old(room=1)

    def forget_old(self, *, room: int = 0) -> None:
        """Forget the oldest jobs that are over, as far as there are too many, or bytes."""
        jobs = self._all()
        left, used = len(jobs) + room, sum(self._bytes(job) for job in jobs)
        for job in jobs:
            if left <= self._most and used <= self._max_bytes:
                return
            if job.is_final:
                left, used = left - 1, used - self._bytes(job)
                self._forget(job)

    def _all(self) -> list[Job]:
        """Return all jobs, the oldest first."""
        jobs = (self.load(path.stem) for path in self._folder.glob("*.json"))
        return sorted((job for job in jobs if job is not None), key=lambda job: job.created)

    def _bytes(self, job: Job) -> int:
        try:
            return self._path(job.id, "body").stat().st_size
        except OSError:
            return 0

    def _forget(self, job: Job) -> None:
        for kind in ("json", "body", "off"):
            self._path(job.id, kind).unlink(missing_ok=True)

    def _path(self, name: str, kind: str) -> Path:
        return self._folder / f"{name}.{kind}"

    def _write(self, path: Path, body: bytes) -> None:
        write_whole(path, body, error=ReleaseError, is_private=True)

    def __repr__(self) -> str:
        return "JobFolder(…)"


def _is_alive(process: int) -> bool:
    if process == os.getpid() or os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
