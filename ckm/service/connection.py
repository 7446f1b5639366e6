"""Connections over HTTP/1.1 that do not wait for ever for the head of a request."""

from __future__ import annotations

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
        The longest time for the head of a request to arrive; then the connection is closed.

    Examples
    --------
    >>> connection_class(30.0).__name__
    'Connection'
    """

    class Connection(H11Protocol):
        _waiting: TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._stop_waiting()
            elif self._waiting is None:
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self._waiting = self.loop.call_later(seconds, self.transport.close)

        def _stop_waiting(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

    return Connection
