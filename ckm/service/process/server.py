"""The process of a service: open the data, listen, answer, stop when all is answered."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import json
import logging
import math
import os
import signal
import socket
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ckm._packages import PACKAGES
from ckm.errors import ConfigError
from ckm.release.audit_gate import require_audited
from ckm.release.job_inputs import opened_job, silent
from footing import files
from footing.messages import Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType
    from typing import Unpack

    import uvicorn
    from starlette.types import ASGIApp

    from ckm.config.service.service import Service
    from ckm.release.job_inputs import Resources, Step
    from ckm.service.answering.answer import Answerer
    from ckm.service.table_service import TableService

logger = logging.getLogger(__name__)

_HEADER_BYTES = 32_768
_BACKLOG = 512
_MORE_S = 5.0
#: How long requests on their way are waited for, before the socket is closed and after it.
_LINGER_S = 0.25

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "event", "is_step"}
_FOREIGN = ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio")


def require_private(service: Service) -> None:
    """Refuse a secret, an audit log, projects or a ledger that others can read.

    Parameters
    ----------
    service
        The service.

    Raises
    ------
    ConfigError
        If a file is readable by the group or by all.
    """
    ledger = None if service.ledger is None else service.ledger.target
    by_kind = {
        "secret file": service.job.keys.secret,
        "audit log": service.access.audit,
        "file of projects": service.access.projects,
        "ledger": ledger if isinstance(ledger, Path) else None,
    }
    for kind, path in by_kind.items():
        if path is not None:
            files.require_private(path, kind, error=ConfigError)


def _require_comparison(service: Service) -> None:
    """Refuse populations whose tables nothing compares with those of all records."""
    if service.populations and service.ledger is None:
        raise ConfigError(
            Message(
                "{section} needs [ledger]: a cell of a population and of all records whose "
                "counts differ by one person disclose that this person is outside.",
                section=Name("[[population]]" if service.population else "[[zone]]"),
            ),
            hint=Message(
                'path = "ledger.db" in [ledger] refuses such tables; with policy = "flag" '
                "they are published all the same, and stand in the log"
            ),
        )


@contextlib.contextmanager
def open_table_service(
    service: Service, *, folder: Path | None = None
) -> Iterator[TableService]:
    """Open the data of a service and the table service that answers about them."""
    from ckm.service.table_service import TableService

    with contextlib.ExitStack() as stack:
        if folder is None:
            own = tempfile.TemporaryDirectory(prefix="ckm-service-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(own))
        answerer = stack.enter_context(open_answerer(service))
        _require_comparison(service)
        table_service = TableService(service, answerer(), folder=folder / "jobs")
        yield stack.enter_context(contextlib.closing(table_service))


@contextlib.contextmanager
def open_answerer(
    service: Service,
    *,
    is_kept: bool = True,
    quick: bool = False,
    is_checked: bool = True,
    step: Step = silent,
    **resources: Unpack[Resources],
) -> Iterator[Callable[[], Answerer]]:
    """Open the data of a service; what is yielded reads them and answers."""
    from ckm.engine.request import TableRequest
    from ckm.service.answering.answer import Answerer
    from ckm.service.answering.ledger_recorder import Recorder

    require_private(service)
    if service.job.data.engine != "duckdb":
        raise ConfigError(
            Message(
                "A service keeps its records ready in the memory of one machine, which "
                "Spark does not."
            ),
            hint=Message('serve with engine = "duckdb"; release large tables with ckm release'),
        )
    _record_official(service, is_kept=is_kept, step=step, quick=quick)
    limits = service.limits
    # A table of each variable shows whether the data have it, one of a population its columns.
    requests = {
        f"[[variable]] {name}": TableRequest(dimensions=[name], margins="none")
        for name in service.variables
    } | {
        f"[[population]] {name}": TableRequest(dimensions=[], where=population.where)
        for name, population in service.populations.items()
    }
    with opened_job(
        service.job,
        tables=requests,
        ledger=service.ledger,
        is_kept=is_kept,
        step=step,
        memory_limit=resources.get("memory_limit") or limits.memory_limit,
        threads=resources.get("threads") or limits.threads,
    ) as inputs:
        require_audited(service, inputs.ptable)
        ledger: Recorder | None = None
        if inputs.ledger is not None and service.ledger is not None:
            ledger = Recorder(
                inputs.ledger,
                service.ledger,
                name=service.about.id,
                max_sets=limits.ledger_sets,
            )
        yield lambda: Answerer(service, inputs.engine, ledger=ledger, is_checked=is_checked)


def rehearse_service(
    service: Service,
    *,
    quick: bool = False,
    step: Step = silent,
    **resources: Unpack[Resources],
) -> None:
    """Open a service as `run` does, and answer nobody."""
    with open_answerer(service, is_kept=False, quick=quick, step=step, **resources) as answerer:
        _require_access(service)
        if not quick:
            answerer()
            step("records checked", Message("the records and their keys are sound"))
    _require_comparison(service)


def _require_access(service: Service) -> None:
    """Refuse files of tokens, budgets, projects and requests that cannot be used; make none."""
    from ckm.service.access.audit_log import AuditLog
    from ckm.service.access.tokens import TokenFile

    access = service.access
    if access.tokens is not None:
        TokenFile(access.tokens).read()
    _require_shared(service, is_made=False)
    if access.audit is not None and access.audit.exists():
        AuditLog(access.audit).close()
    for path in (access.budgets, access.projects, access.audit):
        if path is not None and not os.access(path.parent, os.W_OK | os.X_OK):
            raise ConfigError(
                Message(
                    "{path!r} cannot be made: its folder is not there or not yours.",
                    path=Name(path.name),
                ),
                hint=Message("make the folder, or choose another"),
            )


def _record_official(service: Service, *, is_kept: bool, quick: bool, step: Step) -> None:
    """Record the office's own tables, as `ckm release` does, before any caller can be first.

    They enter under the rules of their own job, which may compare smaller cells than the
    service does: so all that a later release of the job compares is there already.
    """
    from ckm.ledger.release_check import ReleaseCheck

    limits = service.limits
    for job in service.official:
        with opened_job(
            job, is_kept=is_kept, memory_limit=limits.memory_limit, threads=limits.threads
        ) as inputs:
            if not quick:
                release_check = ReleaseCheck(inputs.ledger, job.ledger)
                inputs.engine.tabulate_all(job.tables, watch=release_check.watch)
                release_check.compare()
                if is_kept:
                    release_check.publish()
                    logger.info("official tables recorded", extra={"tables": len(job.tables)})
        text = Message("the data have what the official {path} needs", path=Name(job.path.name))
        step(
            "official tables checked",
            Message("{text}; tables: {tables}", text=text, tables=Name.each(job.tables)),
        )


def run(service: Service, *, ready: Callable[[str], None], logs_json: bool = False) -> None:
    """Serve until asked to stop; what is being answered then is answered first."""
    quiet_others()
    sock = listen(service.about.listen, service.about.port)
    address = address_of(sock)
    with tempfile.TemporaryDirectory(prefix="ckm-service-") as folder:
        callback = partial(ready, address)
        _require_shared(service, is_made=True)  # before records are read
        if service.about.workers > 1:
            from ckm.service.process.workers import run_workers

            require_private(service)
            run_workers(service, sock, Path(folder), ready=callback, logs_json=logs_json)
        else:
            serve_tables(service, sock, folder=Path(folder), ready=callback)


def _require_shared(service: Service, *, is_made: bool) -> None:
    """Refuse files of budgets and projects that cannot be used."""
    from ckm.service.access.projects import Projects
    from ckm.service.access.rate_limits import Rates

    access = service.access
    for path, store in ((access.budgets, Rates), (access.projects, Projects)):
        if path is not None and (is_made or path.exists()):
            store(path).close()


def serve_tables(
    service: Service,
    sock: socket.socket,
    *,
    folder: Path,
    ready: Callable[[], object],
    is_worker: bool = False,
) -> None:
    """Open a service in this process and answer at a socket until asked to stop."""
    from ckm.service.http.app import make_app

    quiet_others()
    with open_table_service(service, folder=folder) as table_service:
        config = _config(service, make_app(table_service))
        serve_app(config, sock, ready=ready, is_worker=is_worker)


def grace_s(service: Service) -> float:
    """Return how long answers under way may take once the service is asked to stop."""
    return service.limits.seconds + _MORE_S


async def _take_queued(server: uvicorn.Server, sock: socket.socket) -> None:
    """Close the socket of a server, and serve the connections that were in its queue."""
    loop = asyncio.get_running_loop()
    loop.remove_reader(sock)
    connections = []
    with contextlib.suppress(OSError):  # there is none more
        while True:
            connections.append(sock.accept()[0])
    for listening in server.servers:
        listening.close()
    sock.close()

    def protocol() -> asyncio.Protocol:
        made: asyncio.Protocol = server.config.http_protocol_class(  # type: ignore[call-arg]
            config=server.config,
            server_state=server.server_state,
            app_state=server.lifespan.state,
        )
        return made

    for connection in connections:
        connection.settimeout(0)
        await loop.connect_accepted_socket(protocol, connection)


def _server(
    config: uvicorn.Config, *, ready: Callable[[], object], is_worker: bool
) -> uvicorn.Server:
    from uvicorn import Server

    class _Server(Server):
        """A server that says when it is ready, and stops at once when asked a second time."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            ready()  # from here on it hears whoever asks it to stop

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            if not self.force_exit:
                # Whoever is connected already is answered, and told to connect anew: to cut
                # off a connection that waits in the socket's queue would lose its request.
                state = self.server_state
                state.default_headers = [*state.default_headers, (b"connection", b"close")]
                await asyncio.sleep(_LINGER_S)
                for sock in sockets or []:
                    await _take_queued(self, sock)
                await asyncio.sleep(_LINGER_S)
            await super().shutdown(sockets=sockets)

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            is_again = self.should_exit and (sig == signal.SIGINT or not is_worker)
            self.force_exit = self.force_exit or is_again
            super().handle_exit(sig, frame)
            if is_again:
                # What is under way is called off; nobody waits for what does not hear.
                last = threading.Timer(_MORE_S, os._exit, args=(1,))
                last.daemon = True
                last.start()

    return _Server(config)


def _config(service: Service, app: ASGIApp) -> uvicorn.Config:
    limits, access = service.limits, service.access
    return web_config(
        app,
        connections=limits.connections,
        grace_s=grace_s(service),
        proxies=access.trusted_proxies,
    )


def web_config(
    app: ASGIApp, *, connections: int, grace_s: float, proxies: Sequence[str] = ()
) -> uvicorn.Config:
    """Return the settings of a web server, with limits on connections."""
    from uvicorn import Config

    from ckm.service.http.connection_limits import limited

    return Config(
        **limited(app, connections=connections),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies) or None,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=math.ceil(grace_s),
        h11_max_incomplete_event_size=_HEADER_BYTES,
        ws="none",
        lifespan="off",
    )


def listen(host: str, port: int) -> socket.socket:
    """Open a socket that a web server answers at."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, so that answers are sent at once (asyncio sets TCP_NODELAY for TCP alone).
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise ConfigError(
            Message(
                "The service cannot listen on {listen}, port {port}: {reason}.",
                listen=Name(host),
                port=port,
                reason=said(error.strerror or Message("no such address")),
            ),
            hint=Message("choose another with listen and port in [service]"),
        ) from None
    return sock


def address_of(sock: socket.socket) -> str:
    """Return the address of a socket, as a browser takes it."""
    host, port = sock.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve_app(
    config: uvicorn.Config,
    sock: socket.socket,
    *,
    ready: Callable[[], object],
    is_worker: bool = False,
) -> None:
    """Answer at a socket until asked to stop; what is being answered then is answered first."""
    server = _server(config, ready=ready, is_worker=is_worker)
    with _ours_to_stop(server):
        server.run(sockets=[sock])


@contextlib.contextmanager
def _ours_to_stop(server: uvicorn.Server) -> Iterator[None]:
    """Let the web server alone hear the request to stop; it answers what runs first."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True  # heard before the server listens for it, or after its end

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


class _PlainFormatter(logging.Formatter):
    """Writes the message alone: the text of an exception may quote data."""

    def formatException(self, ei: object) -> str:  # noqa: N802  (the name of logging)
        """Leave the text of an exception out."""
        del ei
        return ""


class JsonHandler(logging.Handler):
    """Writes records as JSON; texts of exceptions, which may quote data, are left out."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        moment = dt.datetime.fromtimestamp(record.created, dt.UTC)
        fields = {
            name: value
            for name, value in vars(record).items()
            if name not in _STANDARD and isinstance(value, (bool, int, float, str))
        }
        line = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", record.msg),
            "message": record.getMessage(),
            **fields,
        }
        try:
            sys.stderr.write(json.dumps(line, default=str) + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # a log decides nothing


def log_to_stderr(*, as_json: bool) -> None:
    """Send the events of this process to stderr; for processes that no command line began.

    As text, as on the command line, these are warnings and errors.
    """
    handler: logging.Handler = JsonHandler()
    if not as_json:
        handler = logging.StreamHandler(sys.stderr)
        handler.setLevel(logging.WARNING)
        handler.setFormatter(_PlainFormatter("! %(message)s"))
    for name in PACKAGES:
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
    quiet_others()


def quiet_others() -> None:
    """Keep the loggers of the web server from writing what requests or errors hold."""
    for name in _FOREIGN:
        logger = logging.getLogger(name)
        logger.handlers[:] = [logging.NullHandler()]
        logger.propagate = False
