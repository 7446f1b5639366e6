"""Connections with bounds: how many there are, and how slowly bytes may come and go.

The web server waits for ever for the head of a first request, for a body that nobody reads,
and for a caller who does not take the answer. Here each of these has its time.
"""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["Wire", "wire_of"]

_KERNEL_BYTES = 262_144
_SLOWEST = 16_384  # bytes that a caller takes in that time, at least
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\n"
_SLOW = b"HTTP/1.1 408 Request Timeout\r\n"
_END = b"content-length: 0\r\nconnection: close\r\n\r\n"


class Wire(H11Protocol):
    """A connection of a caller.

    It ends where the head of a request takes longer than `head_s` from its first byte, the
    rest of it longer than `body_s`, or where a caller takes fewer than 16 kB of an answer in
    `sending_s`.
    """

    most = 512
    head_s = 15.0
    body_s = 30.0
    sending_s = 60.0
    _arrival: asyncio.TimerHandle | None = None
    _is_head = True
    _sending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, or turn it away where there are too many."""
        super().connection_made(transport)
        # So that bytes that the caller does not take are noticed: not in the kernel's memory
        # by the megabyte, and here not only when there are many.
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_BYTES
        )
        transport.set_write_buffer_limits(high=0)
        if len(self.connections) > self.most:
            self._end(_BUSY)
        else:
            self._expect(self.head_s, is_head=True)

    def data_received(self, data: bytes) -> None:
        """Take bytes; see what they leave open."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Go on to the next request, of which a part may be here already."""
        super().on_response_complete()
        self._look()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP; whoever works on its beginning has nobody to tell."""
        with contextlib.suppress(h11.LocalProtocolError):  # an answer is under way
            super().send_400_response(msg)
        self.transport.close()
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def pause_writing(self) -> None:
        """See to it that a caller who takes bytes slowly takes some."""
        super().pause_writing()
        if self._sending is None:
            self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Send on."""
        super().resume_writing()
        self._stop_watching()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of all timers."""
        self._expect_nothing()
        self._stop_watching()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Give the rest of a request its time; a request that is whole needs none."""
        state = self.conn.their_state
        if state is h11.SEND_BODY:
            if self._arrival is None or self._is_head:
                self._expect(self.body_s, is_head=False)
        elif state is h11.IDLE and self.conn.trailing_data[0]:
            if self._arrival is None or not self._is_head:
                self._expect(self.head_s, is_head=True)
        else:
            self._expect_nothing()

    def _expect(self, seconds: float, *, is_head: bool) -> None:
        self._expect_nothing()
        self._is_head = is_head
        self._arrival = self.loop.call_later(seconds, self._end, _SLOW)

    def _expect_nothing(self) -> None:
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None

    def _stop_watching(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    def _watch(self, before: int) -> None:
        """End the connection where the caller took too few bytes since the last look."""
        left = self.transport.get_write_buffer_size()
        if self._sending is not None and left > before - _SLOWEST:
            self.transport.abort()
            return
        self._sending = self.loop.call_later(self.sending_s, self._watch, left)

    def _end(self, answer: bytes) -> None:
        """Answer, unless an answer is on its way, and close."""
        self._arrival = None
        if self.transport.is_closing():
            return
        if self.conn.our_state is h11.IDLE:
            self.transport.write(answer + _END)
        self._unset_keepalive_if_required()
        self.transport.close()


def wire_of(**bounds: float) -> type[Wire]:
    """Return the connections of a server with bounds of its own.

    Parameters
    ----------
    bounds
        ``most`` connections at a time; seconds ``head_s``, ``body_s``, ``sending_s``.

    Examples
    --------
    >>> wire_of(most=9, body_s=1.0).most
    9
    """
    return type("Wire", (Wire,), dict(bounds))
