"""Connections with limits: how many there are, and how slowly bytes may come and go.

The web server waits for ever for the head of a first request, for a body that nobody reads,
and for a caller who does not take the answer. Here each of these has its time. Nothing of the
web server is used but what every `asyncio.Protocol` has; when a request begins and ends, the
application tells its connection, which it finds in the state of the request.
"""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from typing import TYPE_CHECKING, Any

from h11 import LocalProtocolError
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_KERNEL_BYTES = 262_144
_SLOWEST = 16_384  # bytes that a caller takes in that time, at least
_STATE = "ckm connection"
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\n"
_SLOW = b"HTTP/1.1 408 Request Timeout\r\n"
_END = b"content-length: 0\r\nconnection: close\r\n\r\n"


class _Connection(asyncio.Protocol):
    """A connection of a caller, in front of the protocol of the web server."""

    def __init__(
        self,
        *,
        max_connections: int,
        head_s: float,
        sending_s: float,
        connections: set[_Connection],
        app_state: dict[str, Any],
        **server: Any,
    ) -> None:
        self._http = H11Protocol(app_state={**app_state, _STATE: self}, **server)
        self._loop = asyncio.get_running_loop()
        self._max_connections, self._connections = max_connections, connections
        self._head_s, self._sending_s = head_s, sending_s
        self._requests = 0  # that the application works on
        self._is_more = False  # whether bytes came since it works
        self._arrival: asyncio.TimerHandle | None = None
        self._sending: asyncio.TimerHandle | None = None

    @property
    def is_closing(self) -> bool:
        """Whether the connection is about to end."""
        return self._transport.is_closing()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, or turn it away where there are too many."""
        self._transport = transport
        if len(self._connections) >= self._max_connections:
            transport.set_protocol(asyncio.Protocol())
            transport.write(_BUSY + _END)
            transport.close()
            return
        self._connections.add(self)
        # So that bytes that the caller does not take are noticed: not in the kernel's memory
        # by the megabyte, and here not only when there are many.
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_BYTES
        )
        transport.set_write_buffer_limits(high=0)
        self._http.connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Take bytes; from the first of a request on, its head has its time."""
        self._is_more = True
        if not self._requests:
            self._expect()
        self._http.data_received(data)

    def request_begins(self) -> None:
        """Note that the application works on a request, which has its own limits."""
        self._requests += 1
        self._is_more = False
        _cancel(self._arrival)
        self._arrival = None

    def request_ends(self) -> None:
        """Note that the application answered; a part of the next request may be here."""
        self._requests -= 1
        if self._is_more and not self._requests:
            self._expect()

    def pause_writing(self) -> None:
        """See to it that a caller who takes bytes slowly takes some."""
        self._http.pause_writing()
        if self._sending is None:
            self._watch(self._transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Send on."""
        self._http.resume_writing()
        _cancel(self._sending)
        self._sending = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of all timers."""
        self._connections.discard(self)
        _cancel(self._arrival)
        _cancel(self._sending)
        self._http.connection_lost(exc)

    def _expect(self) -> None:
        """Give a head its time, from the first byte that is not part of what went before."""
        if self._arrival is None:
            self._arrival = self._loop.call_later(self._head_s, self._end)

    def _end(self) -> None:
        if not self.is_closing:
            self._transport.write(_SLOW + _END)
            self._transport.close()

    def _watch(self, before: int) -> None:
        """End the connection where the caller took too few bytes since the last look."""
        size = self._transport.get_write_buffer_size()
        if self._sending is not None and size > before - _SLOWEST:
            self._transport.abort()
            return
        self._sending = self._loop.call_later(self._sending_s, self._watch, size)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def limited(
    app: ASGIApp, *, connections: int = 512, head_s: float = 15.0, sending_s: float = 60.0
) -> dict[str, Any]:
    """Return the settings of a web server for an application with limits on connections.

    A connection ends where the head of a request takes longer than `head_s` from its first
    byte, or a body that nobody reads takes that long, or where a caller takes fewer than 16 kB
    of an answer in `sending_s`.
    """

    async def noting(scope: Scope, receive: Receive, send: Send) -> None:
        connection = scope["state"].pop(_STATE)
        connection.request_begins()

        async def sending(message: Message) -> None:
            try:
                await send(message)
            except LocalProtocolError:  # what came was no HTTP, and is answered already
                if not connection.is_closing:
                    raise

        try:
            await app(scope, receive, sending)
        finally:
            connection.request_ends()

    protocol = partial(
        _Connection,
        max_connections=connections,
        head_s=head_s,
        sending_s=sending_s,
        connections=set(),
    )
    return {"app": noting, "http": protocol}
