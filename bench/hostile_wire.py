"""Requests as bytes on a connection, and what comes back, however broken."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.hostile_requests import Shot


@dataclass(slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes
    head: bytes

    @property
    def kind(self) -> str:
        """The media type."""
        return self.headers.get("content-type", "").partition(";")[0]


class Line:
    """A connection that is kept while both sides want it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self._rest = b""

    def send(self, shot: Shot) -> Answer | None:
        """Return the answer; None where the connection was cut off instead."""
        try:
            return self._sent(shot)
        except (OSError, EOFError):
            self.close()
            return None

    def _sent(self, shot: Shot) -> Answer:
        if shot.raw is not None:
            self.close()
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=60)
            self._rest = b""
        try:
            self._socket.sendall(shot.text)
            if shot.raw is not None:
                self._socket.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it answered before it had all of it
        answer = self._read(is_head=shot.method == "HEAD" or shot.text.startswith(b"HEAD"))
        if shot.raw is not None or answer.headers.get("connection") == "close":
            self.close()
        return answer

    def _read(self, *, is_head: bool) -> Answer:
        head = self._until(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = [line.partition(":") for line in lines if line]
        headers = {name.lower(): text.strip() for name, _, text in pairs}
        status = int(first.split(" ")[1])
        if 100 <= status < 200:
            return self._read(is_head=is_head)
        body = b""
        if is_head or status in {204, 304}:
            pass
        elif "content-length" in headers:
            body = self._take(int(headers["content-length"]))
        elif headers.get("transfer-encoding") == "chunked":
            while size := int(self._until(b"\r\n"), 16):
                body += self._take(size + 2)[:-2]
            self._until(b"\r\n")
        else:
            body = self._take(None)
        return Answer(status=status, headers=headers, body=body, head=head)

    def _more(self) -> None:
        received = b"" if self._socket is None else self._socket.recv(65_536)
        if not received:
            raise EOFError
        self._rest += received

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._rest:
            self._more()
        found, _, self._rest = self._rest.partition(mark)
        return found

    def _take(self, size: int | None) -> bytes:
        try:
            while size is None or len(self._rest) < size:
                self._more()
        except EOFError:
            if size is not None:
                raise
        found, self._rest = self._rest[:size], self._rest[size:] if size is not None else b""
        return found

    def close(self) -> None:
        """Close it."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
