"""Large tables: asked for, waited for, fetched. Several processes share a folder of jobs."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from ckm.service.answering.messages import ClientError, Refusal
from ckm.service.jobs.job_store import Job, JobFolder
from tables import Deadline, StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ckm.service.answering.render import Rendered

    Work = Callable[[Deadline], Rendered | Refusal]


logger = logging.getLogger(__name__)

_TICK_S = 0.2


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
            made = work()
            if isinstance(made, Refusal):
                words = {language: made.to_json(language) for language in made.detail}
                return replace(job, status="blocked", refusal=words)
            return self._folder.keep(job, made)
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

    def __repr__(self) -> str:
        return "Jobs(…)"
