"""Large tables: asked for, waited for, fetched. Several processes share a folder of jobs."""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ckm.service.mistake import Mistake
from ckm.service.refusal import Refusal
from ckm.service.render import Rendered
from tables import StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Job", "Jobs"]

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
    media_type: str = ""
    etag: str = ""
    headers: dict[str, str] | None = None
    refusal: dict[str, dict[str, Any]] | None = None
    error: str | None = None

    @property
    def is_final(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in _FINAL


class Jobs:
    """Works on jobs one after another, and keeps what came of them.

    Parameters
    ----------
    folder
        Where they are kept; readable by the owner alone.
    most
        How many are kept or wait.
    """

    def __init__(self, folder: Path, *, most: int) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._most = most
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ckm-job")

    def submit(self, work: Callable[[], Rendered | Refusal], *, owner: str) -> Job:
        """Put a job at the end of the queue.

        Parameters
        ----------
        work
            Makes the table.
        owner
            Who asks.

        Raises
        ------
        Mistake
            If too many jobs wait already.
        """
        self._make_room()
        job = Job(id=secrets.token_urlsafe(16), owner=owner, created=time.time())
        self._save(job)
        self._pool.submit(self._run, job, work)
        return job

    def find(self, name: str, *, owner: str) -> Job:
        """Return a job of its owner.

        Parameters
        ----------
        name, owner
            The job's id, and who asks.

        Raises
        ------
        Mistake
            If there is none of that name, or it is somebody else's.
        """
        job = self._load(name) if _ID.fullmatch(name) else None
        if job is None or job.owner != owner:
            raise Mistake("no_job")
        return job

    def result(self, job: Job) -> Rendered:
        """Return the result of a job that is done.

        Parameters
        ----------
        job
            The job.
        """
        try:
            body = self._path(job.id, "body").read_bytes()
        except OSError:
            raise Mistake("no_job") from None
        return Rendered(
            body=body, media_type=job.media_type, etag=job.etag, headers=job.headers or {}
        )

    def cancel(self, job: Job) -> None:
        """Give a job up; a result on its way is thrown away.

        Parameters
        ----------
        job
            The job.
        """
        self._save(replace(job, status="cancelled"))
        self._path(job.id, "body").unlink(missing_ok=True)

    def close(self) -> None:
        """Finish the job under way and drop those that wait."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, job: Job, work: Callable[[], Rendered | Refusal]) -> None:
        if self._is_given_up(job):
            return
        self._save(replace(job, status="running"))
        try:
            made = work()
            if isinstance(made, Refusal):
                words = {language: made.to_json(language) for language in made.detail}
                done = replace(job, status="blocked", refusal=words)
            else:
                self._write(self._path(job.id, "body"), made.body)
                done = replace(
                    job,
                    status="done",
                    media_type=made.media_type,
                    etag=made.etag,
                    headers=dict(made.headers),
                )
        except Mistake as mistake:
            done = replace(job, status="failed", error=mistake.key)
        except StoppedError:
            done = replace(job, status="failed", error="too_slow")
        except Exception as error:  # noqa: BLE001  (told by name: its text may quote data)
            logger.error("job failed", extra={"error": type(error).__name__})  # noqa: TRY400
            done = replace(job, status="failed", error="internal")
        if self._is_given_up(job):
            self._path(job.id, "body").unlink(missing_ok=True)
        else:
            self._save(done)

    def _is_given_up(self, job: Job) -> bool:
        now = self._load(job.id)
        return now is None or now.status == "cancelled"

    def _make_room(self) -> None:
        """Forget the oldest jobs that are over; refuse when all others still wait."""
        jobs = sorted(
            (job for path in self._folder.glob("*.json") if (job := self._load(path.stem))),
            key=lambda job: job.created,
        )
        over = [job for job in jobs if job.is_final]
        for job in over[: max(0, len(jobs) - self._most + 1)]:
            for kind in ("json", "body"):
                self._path(job.id, kind).unlink(missing_ok=True)
            jobs.remove(job)
        if len(jobs) >= self._most:
            raise Mistake("busy")

    def _path(self, name: str, kind: str) -> Path:
        return self._folder / f"{name}.{kind}"

    def _load(self, name: str) -> Job | None:
        try:
            return Job(**json.loads(self._path(name, "json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def _save(self, job: Job) -> None:
        self._write(self._path(job.id, "json"), json.dumps(asdict(job)).encode())

    def _write(self, path: Path, body: bytes) -> None:
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(body)
        draft.replace(path)

    def __repr__(self) -> str:
        return "Jobs(…)"
