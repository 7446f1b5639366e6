"""Several processes for one service: they share a socket, and one that dies is replaced."""

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from ckm.config.service.service import Service
from ckm.errors import ConfigError
from ckm.service.metrics import SHARED_FOLDER, forget_process
from ckm.service.process.server import grace_s, serve_tables
from footing.messages import Message

logger = logging.getLogger(__name__)

_TICK_S = 0.2
_SOON_S = 5.0
_PATIENCE_S = 60.0


def run_workers(
    service: Service,
    sock: socket.socket,
    folder: Path,
    *,
    ready: Callable[[], None],
    logs_json: bool,
) -> None:
    """Start the workers of a service, and keep as many until asked to stop."""
    stops: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda n, _: stops.append(n)) for number in numbers]
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    living, alive = os.pipe()  # nothing is written: it ends when this process does
    command = [sys.executable, "-m", "ckm.service.process.workers"]
    style = "json" if logs_json else "text"
    arguments = (service.job.path, folder, style, sock.fileno(), writing, living)
    command += [str(value) for value in arguments]
    figures = folder / "figures"
    figures.mkdir(mode=0o700)

    def start() -> tuple[subprocess.Popen[bytes], float]:
        # In a session of their own, so that Ctrl-C reaches them by way of us alone.
        worker = subprocess.Popen(  # noqa: S603  (ours)
            command,
            pass_fds=(sock.fileno(), writing, living),
            start_new_session=True,
            env={**os.environ, SHARED_FOLDER: str(figures)},
        )
        return worker, time.monotonic()

    workers = [start() for _ in range(service.about.workers)]
    answering = 0
    try:
        while not stops:
            time.sleep(_TICK_S)
            with contextlib.suppress(BlockingIOError):
                answering += len(os.read(reading, 1000))
                if answering == service.about.workers:
                    ready()
            is_starting = answering < service.about.workers
            before_now = [worker for worker, _ in workers]
            workers = [_kept(*worker, start, is_starting=is_starting) for worker in workers]
            for old, (new, _) in zip(before_now, workers, strict=True):
                if new is not old:
                    forget_process(old.pid, figures)
    finally:
        sock.close()  # else connections would wait for the last worker's end, and be cut off
        _stop([worker for worker, _ in workers], stops, within_s=grace_s(service) + _SOON_S)
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
        for handle in (reading, writing, living, alive):
            os.close(handle)


def _stop(workers: list[subprocess.Popen[bytes]], stops: list[int], *, within_s: float) -> None:
    """Ask workers to stop; ask again when we are asked again; end those that do not hear."""
    end = time.monotonic() + within_s
    for worker in workers:
        worker.terminate()
    heard = len(stops)
    while any(worker.poll() is None for worker in workers):
        if len(stops) > max(1, heard):
            heard = len(stops)
            end = min(end, time.monotonic() + _SOON_S)
            for worker in workers:
                worker.send_signal(signal.SIGINT)
        if time.monotonic() > end:
            for worker in workers:
                worker.kill()
        time.sleep(_TICK_S / 4)


def _kept(
    worker: subprocess.Popen[bytes],
    born: float,
    start: Callable[[], tuple[subprocess.Popen[bytes], float]],
    *,
    is_starting: bool,
) -> tuple[subprocess.Popen[bytes], float]:
    """Return a worker that lives, or the one that takes its place."""
    if worker.poll() is None:
        return worker, born
    if is_starting or time.monotonic() - born < _SOON_S:
        raise ConfigError(
            Message("A worker of the service did not start."),
            hint=Message("its reason stands above"),
        )
    logger.warning(Message("worker replaced"))
    return start()


def _stop_when_alone(living: int) -> None:
    """Stop as if asked to when the process that started this one is gone, however it went."""
    os.read(living, 1)
    while True:  # a signal during the start is lost, and a second one soon cuts answers off
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_PATIENCE_S)


def _work(path: str, folder: str, style: str, *handles: str) -> None:
    from ckm.config.service.service import read_service
    from ckm.service.process.server import log_to_stderr

    listening, telling, living = map(int, handles)
    log_to_stderr(as_json=style == "json")
    threading.Thread(target=_stop_when_alone, args=(living,), daemon=True).start()
    sock = socket.socket(fileno=listening)
    try:
        serve_tables(
            read_service(path),
            sock,
            folder=Path(folder),
            ready=lambda: os.write(telling, b"."),
            is_worker=True,
        )
    except ValueError as error:  # of ours: it holds no data
        logger.error("%s", getattr(error, "problem", "worker failed"))  # noqa: TRY400
        sys.exit(2)


if __name__ == "__main__":
    _work(*sys.argv[1:])
