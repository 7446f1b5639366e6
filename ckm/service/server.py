"""The processes of a service: open the data, listen, answer, stop when what runs is answered."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ckm.errors import ConfigError
from ckm.service.logs import log_as_json, quiet_others

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from ckm.config.service import Service
    from ckm.service.desk import Desk
    from ckm.service.ledger_hook import Ledger

__all__ = ["open_desk", "run"]

logger = logging.getLogger(__name__)

_FILE, _FOLDER = "CKM_SERVICE_FILE", "CKM_SERVICE_FOLDER"
_OTHERS = 0o077
_HEADER_BYTES = 32_768
_BACKLOG = 512


def require_private(service: Service) -> None:
    """Refuse a secret that others can read.

    Parameters
    ----------
    service
        The service.

    Raises
    ------
    ConfigError
        If its file is readable by the group or by all.
    """
    path = service.job.keys.secret
    if os.name == "posix" and path is not None and path.stat().st_mode & _OTHERS:
        raise ConfigError(
            f"The secret file {path.name!r} can be read by others; the service does not start.",
            hint=f"run: chmod 600 {path.name}",
        )


@contextlib.contextmanager
def open_desk(
    service: Service, *, folder: Path | None = None, ledger: Ledger | None = None
) -> Iterator[Desk]:
    """Open the data of a service and the desk that answers about them.

    Parameters
    ----------
    service
        The service.
    folder
        Where large tables are kept; a temporary one by default.
    ledger
        The record of publications.

    Raises
    ------
    ConfigError, tables.TablesError
        If the service cannot start: with the reason.
    """
    from ckm.opening import load_ptable, open_engine
    from ckm.service.answer import Answerer
    from ckm.service.desk import Desk

    require_private(service)
    limits = service.limits
    own = None if folder is not None else Path(tempfile.mkdtemp(prefix="ckm-service-"))
    try:
        with open_engine(
            service.job,
            load_ptable(service.job),
            memory_limit=limits.memory_limit,
            threads=limits.threads,
        ) as engine:
            desk = Desk(
                service,
                Answerer(service, engine, ledger=ledger),
                folder=(own or Path(str(folder))) / "jobs",
            )
            try:
                yield desk
            finally:
                desk.close()
    finally:
        if own is not None:
            shutil.rmtree(own, ignore_errors=True)


def run(service: Service, *, ready: Callable[[str], None]) -> None:
    """Serve until asked to stop; what is being answered then is answered first.

    Parameters
    ----------
    service
        The service.
    ready
        Called with the address when callers are answered.

    Raises
    ------
    ConfigError
        If the address cannot be used, or the service cannot start.
    """
    quiet_others()
    sock = _listen(service)
    host, port = sock.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    with tempfile.TemporaryDirectory(prefix="ckm-service-") as folder:
        if service.workers > 1:
            _run_many(service, sock, Path(folder), lambda: ready(address))
            return
        with open_desk(service, folder=Path(folder)) as desk:
            import uvicorn

            from ckm.service.api import make_app

            server = uvicorn.Server(_config(service, make_app(desk)))
            with _ours_to_stop():
                ready(address)
                server.run(sockets=[sock])


def app_of_process() -> ASGIApp:
    """Open the service of a worker process; what `run` starts several of."""
    from ckm.config.service import read_service
    from ckm.service.api import make_app

    log_as_json()
    service = read_service(os.environ[_FILE])
    opened = open_desk(service, folder=Path(os.environ[_FOLDER]))
    inner = make_app(opened.__enter__())

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await inner(scope, receive, send)
            return
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                opened.__exit__(None, None, None)
                return

    return app


def _run_many(service: Service, sock: object, folder: Path, ready: Callable[[], None]) -> None:
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    require_private(service)
    os.environ |= {_FILE: str(service.job.path), _FOLDER: str(folder)}
    config = _config(service, "ckm.service.server:app_of_process")
    server = uvicorn.Server(config)
    with _ours_to_stop():
        ready()
        Multiprocess(config, target=server.run, sockets=[sock]).run()  # type: ignore[list-item]


def _config(service: Service, app: ASGIApp | str):  # type: ignore[no-untyped-def]  # noqa: ANN202
    import uvicorn

    limits, access = service.limits, service.access
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        workers=service.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=bool(access.trusted_proxies),
        forwarded_allow_ips=list(access.trusted_proxies) or None,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=int(2 * limits.seconds) + 5,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        http="h11",
        ws="none",
        lifespan="on" if isinstance(app, str) else "off",
    )


def _listen(service: Service):  # type: ignore[no-untyped-def]  # noqa: ANN202
    import socket

    family = socket.AF_INET6 if ":" in service.listen else socket.AF_INET
    # Named, so that answers are sent at once (asyncio sets TCP_NODELAY for TCP alone).
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((service.listen, service.port))
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise ConfigError(
            f"The service cannot listen on {service.listen}, port {service.port}:"
            f" {error.strerror or 'no such address'}.",
            hint="choose another with listen and port in [service]",
        ) from None
    sock.set_inheritable(True)
    return sock


@contextlib.contextmanager
def _ours_to_stop() -> Iterator[None]:
    """Let the web server alone hear the request to stop; it hands it on when all is answered."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
