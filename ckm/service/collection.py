"""A receiver of reports over HTTP: what devices send, counted once a client and period.

Many requests are written in one transaction; each is answered when that is on the disk. No
address is looked at, and no log, answer or figure names a client, a cohort or a value.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import logging
import time
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from ckm.service.answering.messages import ClientError
from ckm.service.http.middleware import RequestLimits, language_of
from ckm.service.http.responses import problem_of_mistake
from ckm.service.metrics import RECEIVER_COUNTERS, Metrics
from ckm.service.process.server import address_of, listen, quiet_others, serve_app, web_config
from footing.errors import ExplainedError
from rappor.receiver.periods import period_end
from rappor.receiver.sending import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

    from rappor.receiver.store import Receipt, Receiver

logger = logging.getLogger("ckm.service")

_LANGUAGES = ("en", "fr")
_MAX_BYTES = 2**22
_SECONDS = 30.0
_CONNECTIONS = 512
_WAITING = 512  # sendings that wait to be written; more are told to come back
_AT_ONCE = 64  # written in one transaction, at most
_LOOK_S = 1.0  # how often it is looked whether a period is over


class _Writer:
    """Takes sendings of many requests and writes them together."""

    def __init__(self, receiver: Receiver, metrics: Metrics) -> None:
        self._receiver, self._metrics = receiver, metrics
        self._waiting: asyncio.Queue[tuple[bytes, asyncio.Future[Any]]] = asyncio.Queue(
            _WAITING
        )
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to write, in the loop that serves."""
        self._tasks = [asyncio.create_task(one) for one in (self._write(), self._turn())]

    async def take(self, body: bytes) -> Receipt:
        """Wait until a sending is on the disk."""
        if not self._tasks:
            self.start()
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        try:
            self._waiting.put_nowait((body, answer))
        except asyncio.QueueFull:
            self._metrics.count("ckm_sendings_refused_total", reason="busy")
            raise ClientError("busy") from None
        # A caller who goes away takes nothing back: what is written is written.
        receipt: Receipt | RefusedError = await asyncio.shield(answer)
        if isinstance(receipt, RefusedError):
            self._metrics.count("ckm_sendings_refused_total", reason=receipt.reason)
            raise ClientError(f"sending_{receipt.reason}")
        for outcome in ("accepted", "repeated", "beyond"):
            number = getattr(receipt, outcome)
            self._metrics.count("ckm_reports_total", by=number, outcome=outcome)
        return receipt

    async def _write(self) -> None:
        waiting = self._waiting
        while True:
            batch = [await waiting.get()]
            while len(batch) < _AT_ONCE and not waiting.empty():
                batch.append(waiting.get_nowait())
            try:
                receipts: Sequence[Any] = await asyncio.to_thread(
                    self._receiver.take, [body for body, _ in batch]
                )
            except ExplainedError:  # the disk: nothing of these is counted, and they are told
                receipts = [None] * len(batch)
            for (_, answer), receipt in zip(batch, receipts, strict=True):
                if answer.done():
                    continue
                if receipt is None:
                    answer.set_exception(ClientError("busy"))
                else:
                    answer.set_result(receipt)

    async def _turn(self) -> None:
        """End periods also when nobody sends anything."""
        while True:
            await asyncio.sleep(_LOOK_S)
            with contextlib.suppress(ExplainedError):
                if await asyncio.to_thread(self._receiver.roll):
                    logger.info("period over", extra={"period": self._receiver.period})


def make_receiver_app(
    receiver: Receiver, *, origins: Sequence[str] = (), max_bytes: int = _MAX_BYTES
) -> tuple[ASGIApp, Callable[[], None]]:
    """Make the application of a receiver, and what starts its writing in the loop that serves.

    Parameters
    ----------
    receiver
        Where reports go; opened.
    origins
        Of pages whose scripts may send reports: ``*`` for any.
    max_bytes
        Of a sending.
    """
    metrics = Metrics(RECEIVER_COUNTERS)
    writer = _Writer(receiver, metrics)

    async def take(request: Request) -> Response:
        receipt = await writer.take(await request.body())
        if not receipt.accepted:
            raise ClientError("sending_full" if receipt.beyond else "sending_repeated")
        return JSONResponse({"accepted": receipt.accepted, "repeated": receipt.repeated})

    async def describe(_: Request) -> Response:
        end = dt.datetime.fromtimestamp(period_end(time.time(), receiver.kind), dt.UTC)
        return JSONResponse(
            {
                "parameters": receiver.parameters.to_dict(),
                "metric": receiver.metric,
                "period": receiver.period,
                "ends": end.isoformat(),
            },
            headers={"Cache-Control": "no-store"},
        )

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def figures(_: Request) -> Response:
        return PlainTextResponse(metrics.text())

    def noting(endpoint: Callable[..., Any], path: str, method: str) -> Route:
        async def serve(request: Request) -> Response:
            request.scope["route"] = route  # named in figures and logs
            response: Response = await endpoint(request)
            return response

        route = Route(path, serve, methods=[method])
        return route

    app = Starlette(
        routes=[
            noting(take, "/reports", "POST"),
            noting(describe, "/collection", "GET"),
            noting(health, "/health", "GET"),
            noting(figures, "/metrics", "GET"),
        ],
        exception_handlers={
            HTTPException: _not_served,
            **dict.fromkeys((ClientError, ClientDisconnect, Exception), _mistaken),
        },
    )
    app.router.redirect_slashes = False
    application: ASGIApp = app
    if origins:
        application = CORSMiddleware(
            application,
            allow_origins=list(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Content-Type"],
        )
    return (
        RequestLimits(
            application,
            languages=_LANGUAGES,
            max_bytes=max_bytes,
            seconds=_SECONDS,
            metrics=metrics,
        ),
        writer.start,
    )


async def _mistaken(request: Request, error: Exception) -> Response:
    if isinstance(error, ClientDisconnect):
        error = ClientError("gone")
    client_error = error if isinstance(error, ClientError) else ClientError("internal")
    return problem_of_mistake(client_error, language_of(request.scope, _LANGUAGES))


async def _not_served(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    key = {404: "not_found", 405: "method_not_allowed"}.get(status, "internal")
    return problem_of_mistake(ClientError(key), language_of(request.scope, _LANGUAGES))


def serve_reports(
    receiver: Receiver,
    *,
    host: str,
    port: int,
    origins: Sequence[str],
    ready: Callable[[str], None],
) -> None:
    """Take reports until asked to stop; what arrived by then is written and answered first."""
    quiet_others()
    sock = listen(host, port)
    app, start = make_receiver_app(receiver, origins=origins)
    config = web_config(app, connections=_CONNECTIONS, grace_s=_SECONDS)

    def begin() -> None:
        start()
        ready(address_of(sock))

    serve_app(config, sock, ready=begin)
