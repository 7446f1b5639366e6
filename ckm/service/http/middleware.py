"""The edge of the service: bounds on requests, headers of safety, one log line per request.

Whatever goes wrong within ends here in a documented answer. The texts of foreign errors, which
may quote data, go nowhere.
"""

import asyncio
import logging
import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ckm._packages import place_of
from ckm.service.answering.messages import ClientError, bad_request
from ckm.service.http.responses import problem_of_mistake
from ckm.service.metrics import Metrics

logger = logging.getLogger("ckm.service")

_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "permissions-policy": "interest-cohort=()",
    "cross-origin-opener-policy": "same-origin",
}
_MAX_HEADERS = 100


class RequestLimits:
    """Wraps the application.

    Parameters
    ----------
    app
        The application.
    languages
        The languages of the service, the default first.
    max_bytes
        The largest body of a request.
    seconds
        The longest time for a body to arrive.
    metrics
        Where requests are counted.
    notice
        What every answer says in a header; empty for nothing.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        languages: tuple[str, ...],
        max_bytes: int,
        seconds: float,
        metrics: Metrics,
        notice: str = "",
    ) -> None:
        self.app = app
        self._languages = languages
        self._max_bytes = max_bytes
        self._seconds = seconds
        self._metrics = metrics
        self._headers = _HEADERS | ({"ckm-notice": notice} if notice else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, text in self._headers.items():
                    headers.setdefault(name, text)
            await send(message)

        try:
            self._require_small(scope)
            await self.app(scope, self._bounded(receive), sending)
        except Exception as error:  # noqa: BLE001  (the last resort)
            client_error = error if isinstance(error, ClientError) else _noted(error)
            if not status:
                language = language_of(scope, self._languages)
                # Where the next request begins may be told differently by a proxy.
                headers = {"Connection": "close"} if _is_ambiguous(scope) else {}
                answer = problem_of_mistake(client_error, language, headers=headers)
                await answer(scope, receive, sending)
        finally:
            self._note(scope, status, time.perf_counter() - started)

    def _require_small(self, scope: Scope) -> None:
        if len(scope["headers"]) > _MAX_HEADERS:
            raise bad_request("many_headers", limit=_MAX_HEADERS)
        if _is_ambiguous(scope):
            raise bad_request("two_lengths")
        for name, text in scope["headers"]:
            if name == b"content-length":
                if not text.isdigit():
                    raise bad_request("bad_length")
                if int(text[:20]) > self._max_bytes:
                    raise ClientError("too_large", limit=self._max_bytes)

    def _bounded(self, receive: Receive) -> Receive:
        """Bound the bytes of a body, and the time it takes to arrive."""
        n_bytes = 0
        is_whole = False
        deadline = time.monotonic() + self._seconds

        async def receiving() -> Message:
            nonlocal n_bytes, is_whole
            if is_whole:  # what comes now is the end of the connection, whenever it comes
                return await receive()
            try:
                wait_s = max(0.0, deadline - time.monotonic())
                message = await asyncio.wait_for(receive(), wait_s)
            except TimeoutError:
                raise ClientError("slow_request") from None
            if message["type"] == "http.request":
                n_bytes += len(message.get("body", b""))
                is_whole = not message.get("more_body", False)
                if n_bytes > self._max_bytes:
                    raise ClientError("too_large", limit=self._max_bytes)
            return message

        return receiving

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.count(
            "ckm_requests_total", route=route, method=method, status=str(status)
        )
        self._metrics.took(route, seconds)
        logger.info(
            "request",
            extra={
                "route": route,
                "method": method,
                "status": status,
                "seconds": round(seconds, 4),
            },
        )


_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


def _is_ambiguous(scope: Scope) -> bool:
    """Tell whether the length of a body is given in two ways, or in one that its HTTP lacks."""
    names = {name for name, _ in scope["headers"]}
    is_old = scope.get("http_version", "1.1") < "1.1"
    return b"transfer-encoding" in names and (is_old or b"content-length" in names)


def language_of(scope: Scope, languages: tuple[str, ...]) -> str:
    """Return the language of a request: ``lang=``, else ``Accept-Language``, else the first."""
    from urllib.parse import parse_qsl

    query = scope.get("query_string", b"")[:10_000].decode("latin-1")
    for name, text in parse_qsl(query, max_num_fields=None):
        if name == "lang" and text in languages:
            return str(text)
    accepted = next((v for k, v in scope["headers"] if k == b"accept-language"), b"")
    criteria: list[tuple[float, int, str]] = []
    for place, part in enumerate(accepted.decode("latin-1")[:1000].split(",")):
        tag, _, weight = part.partition(";q=")
        try:
            share = float(weight or 1)
        except ValueError:
            continue
        criteria.append((-share, place, tag.strip().lower().split("-")[0]))
    for share, _, tag in sorted(criteria):
        if tag in languages and share < 0:
            return str(tag)
    return languages[0]


def _noted(error: BaseException) -> ClientError:
    """Log a fault of ours by its kind and its place, and nothing more of it."""
    logger.error(
        "request failed",
        extra={"error": type(error).__name__, "place": place_of(error)},
    )
    return ClientError("internal")
