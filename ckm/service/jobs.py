"""Large tables: asked for, waited for, fetched. Several processes share a folder of jobs."""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ckm.errors import ReleaseError
from ckm.service.answering.messages import ClientError, Refusal
from ckm.service.answering.render import Rendered, etag_of
from footing.files import write_whole
from footing.serialisation import json_line
from tables.deadline import Deadline
from tables.errors import StoppedError

Work = Callable[[Deadline], Rendered | Refusal]

logger = logging.getLogger(__name__)

_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_FINAL = {"done", "blocked", "failed", "cancelled"}

Status = Literal["queued", "running", "done", "blocked", "failed", "cancelled"]
_TICK_S = 0.2


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
        self._write(self._path(job.id, "json"), json_line(job).encode())

    def keep(self, job: Job, result: Rendered) -> Job:
        """Write the result of a job, and return the job as done."""
        if len(result.body) > self._max_bytes:
            raise ClientError("too_many_bytes", limit=self._max_bytes)
        self._write(self._path(job.id, "body"), result.body)
        return replace(
            job,
            status="done",
            media_type=result.media_type,
            etag=result.etag,
            headers=dict(result.headers),
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
        number, used = len(jobs) + room, sum(self._bytes(job) for job in jobs)
        for job in jobs:
            if number <= self._most and used <= self._max_bytes:
                return
            if job.is_final:
                number, used = number - 1, used - self._bytes(job)
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


class Jobs:
    """Works on jobs one after another, and keeps what came of them for a while.

    Parameters
    ----------
    folder
        Where they are kept; readable by the owner alone.
    most
        How many are kept or wait. Of one owner no more than a quarter wait, two at least.
    seconds
        The longest that one may work.
    max_bytes, max_s
        Bytes of all results together, and how long they are kept; the oldest go first.
    """

    def __init__(
        self,
        folder: Path,
        *,
        most: int,
        seconds: float = 300.0,
        max_bytes: int = 10**9,
        max_s: float = 86_400.0,
    ) -> None:
        self._folder = JobFolder(folder, most=most, max_bytes=max_bytes, max_s=max_s)
        self._seconds = seconds
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ckm-job")
        self._waiting: OrderedDict[str, tuple[Job, Work]] = OrderedDict()
        self._is_closing = threading.Event()

    def submit(self, work: Work, *, owner: str) -> Job:
        """Put a job at the end of the queue."""
        self._folder.make_room(owner)
        job = Job.new(owner)
        self._folder.save(job)
        for name in list(self._waiting):  # those given up in other processes
            if self._is_given_up(name):
                self._waiting.pop(name, None)
        self._waiting[job.id] = job, work
        self._pool.submit(self._run_next)
        return job

    def find(self, name: str, *, owner: str) -> Job:
        """Return a job of its owner."""
        job = self._folder.load(name)
        if job is None or job.owner != owner:
            raise ClientError("no_job")
        return job

    def result(self, job: Job) -> Rendered:
        """Return the result of a job that is done."""
        return self._folder.result(job)

    def cancel(self, job: Job) -> None:
        """Give a job up, in whichever process it runs; its result is thrown away."""
        self._folder.cancel(job)
        self._waiting.pop(job.id, None)

    def close(self, *, seconds: float | None = None) -> None:
        """Drop the jobs that wait, and end the one under way."""
        if seconds is not None:
            ending = threading.Timer(seconds, self._is_closing.set)
            ending.daemon = True
            ending.start()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._folder.drop_waiting()

    def _run_next(self) -> None:
        """Work on the job that waits longest; none waits where one was given up."""
        try:
            _, (job, work) = self._waiting.popitem(last=False)
        except KeyError:
            return
        if self._is_given_up(job.id):
            return
        job = replace(job, status="running")
        self._folder.save(job)
        deadline = Deadline(self._seconds)
        is_done = threading.Event()
        watch = threading.Thread(target=self._watch, args=(job, deadline, is_done), daemon=True)
        watch.start()
        try:
            done = self._worked(job, lambda: work(deadline))
        finally:
            is_done.set()
            watch.join()
        if self._is_given_up(job.id):
            self._folder.drop_result(job)
        else:
            self._folder.save(done)
            self._folder.forget_old()

    def _worked(self, job: Job, work: Callable[[], Rendered | Refusal]) -> Job:
        """Return a job with what came of its work."""
        try:
            result = work()
            if isinstance(result, Refusal):
                words = {language: result.to_json(language) for language in result.detail}
                return replace(job, status="blocked", refusal=words)
            return self._folder.keep(job, result)
        except ClientError as client_error:
            key = client_error.key
        except StoppedError:
            key = "stopping" if self._is_closing.is_set() else "too_slow"
        except Exception as error:  # noqa: BLE001  (told by name: its text may quote data)
            logger.error("job failed", extra={"error": type(error).__name__})  # noqa: TRY400
            key = "internal"
        return replace(job, status="failed", error=key)

    def _watch(self, job: Job, deadline: Deadline, is_done: threading.Event) -> None:
        """Call a job off when it is given up, here or in another process, or at the end."""
        while not is_done.wait(_TICK_S):
            if self._is_closing.is_set() or self._is_given_up(job.id):
                deadline.call_off()
                return

    def _is_given_up(self, name: str) -> bool:
        now = self._folder.load(name)
        return now is None or now.status == "cancelled"
