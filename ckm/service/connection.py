"""Connections over HTTP/1.1 that do not wait for ever for what a caller does not send."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from asyncio import TimerHandle

__all__ = ["connection_class"]


def connection_class(seconds: float) -> type[H11Protocol]:
    """Return a kind of connections for the web server.

    Parameters
    ----------
    seconds
        The longest time for the head of a request to arrive, and for what is left of its body
        after an answer; then the connection is closed.

    Examples
    --------
    >>> connection_class(30.0).__name__
    'Timed'
    """

    class Timed(_Connection):
        pass

    Timed.seconds = seconds
    return Timed


class _Connection(H11Protocol):
    seconds: float
    _waiting: TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE or self._is_answered_early():
            self._wait()
        else:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._is_answered_early():
            self._wait()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP; whoever works on its beginning has nobody to tell."""
        with contextlib.suppress(h11.LocalProtocolError):  # the answer is under way
            super().send_400_response(msg)
        self.transport.close()
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _is_answered_early(self) -> bool:
        """Whether the answer is sent, and the body of the request still comes."""
        is_coming = self.conn.their_state is h11.SEND_BODY
        return is_coming and self.conn.our_state in {h11.DONE, h11.MUST_CLOSE}

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(self.seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
