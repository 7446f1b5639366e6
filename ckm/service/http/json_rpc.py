"""Messages of JSON-RPC 2.0 as the Model Context Protocol sends them, one in each request.

Two eras of the protocol are answered at one address. In revisions up to 2025-11-25 a client
begins with ``initialize``; from 2026-07-28 on every request names its revision in
``params._meta``, and headers repeat what is in the body. Neither needs a session.

References: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
and https://modelcontextprotocol.io/specification/2025-11-25/basic/transports.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ckm.service.answering.messages import ClientError
from ckm.service.http.request_bodies import json_of

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Revisions with per-request metadata, and those with a handshake, the newest first.
MODERN = ("2026-07-28",)
LEGACY = ("2025-11-25", "2025-06-18")

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
_HEADER_MISMATCH, _UNSUPPORTED_VERSION = -32020, -32022

_WORDS = {
    PARSE_ERROR: "Parse error",
    INVALID_REQUEST: "Invalid Request",
    METHOD_NOT_FOUND: "Method not found",
    INVALID_PARAMS: "Invalid params",
    _HEADER_MISMATCH: "Header mismatch",
    _UNSUPPORTED_VERSION: "Unsupported protocol version",
}
_VERSION = "io.modelcontextprotocol/protocolVersion"
_HANDSHAKE = "initialize"
_CALL = "tools/call"
_LONGEST = 100  # characters of what a caller sent that an answer repeats

Id = str | int | None


class RpcError(Exception):
    """A message that cannot be answered.

    Parameters
    ----------
    code
        Of JSON-RPC or the protocol.
    id
        Of the message, where it has one.
    status
        Of HTTP.
    data
        What else is told.
    """

    def __init__(
        self,
        code: int,
        id: Id = None,  # noqa: A002  (the word of JSON-RPC)
        *,
        status: int = 200,
        data: Any = None,
    ) -> None:
        self.code, self.id, self.status, self.data = code, id, status, data
        super().__init__(_WORDS[code])

    def to_json(self) -> dict[str, Any]:
        """Return the error as a message."""
        error: dict[str, Any] = {"code": self.code, "message": _WORDS[self.code]}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": self.id, "error": error}


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcRequest:
    """A message that was read.

    Parameters
    ----------
    method, params
        What is wanted.
    id
        Under which it is answered; None for a notification, which is not.
    is_modern
        Whether it names its revision itself.
    """

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    id: Id = None
    is_modern: bool = False

    def result(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer with this content."""
        more = {"resultType": "complete"} if self.is_modern else {}
        return {"jsonrpc": "2.0", "id": self.id, "result": {**more, **content}}

    def error(self, code: int, data: Any = None) -> RpcError:
        """Return what is wrong with it."""
        is_unknown = code == METHOD_NOT_FOUND and self.is_modern
        return RpcError(code, self.id, status=404 if is_unknown else 200, data=data)


def read_request(raw: bytes, headers: Mapping[str, str], language: str) -> RpcRequest:
    """Read the message of a request over HTTP; raise `RpcError` where it is none."""
    try:
        document = json_of(raw)
    except ClientError as error:
        raise RpcError(PARSE_ERROR, status=400, data=error.words(language)) from None
    if not isinstance(document, dict):  # lists of messages went with the revision of 2025-06-18
        raise RpcError(INVALID_REQUEST, status=400)
    own_id = document.get("id")
    is_id = isinstance(own_id, str | int) and not isinstance(own_id, bool)
    echo = own_id if is_id else None
    method, params = document.get("method"), document.get("params", {})
    is_whole = document.get("jsonrpc") == "2.0" and isinstance(method, str)
    if not is_whole or ("id" in document and not is_id):
        raise RpcError(INVALID_REQUEST, echo, status=400)
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, echo, status=400)
    if "id" not in document:
        return RpcRequest(method=str(method), params=params)
    is_modern = _is_modern(str(method), params, headers, echo)
    return RpcRequest(method=str(method), params=params, id=echo, is_modern=is_modern)


def _is_modern(
    method: str, params: Mapping[str, Any], headers: Mapping[str, str], own_id: Id
) -> bool:
    """Tell the era of a request; raise where its revision, or its headers, do not fit."""
    meta = params.get("_meta")
    version = meta.get(_VERSION) if isinstance(meta, dict) else None
    header = headers.get("mcp-protocol-version")
    if version is None and header not in MODERN:
        if header is not None and header not in LEGACY and method != _HANDSHAKE:
            raise _unsupported(header, own_id)
        return False
    if version not in MODERN and isinstance(version, str) and version == header:
        raise _unsupported(version, own_id)
    pairs = {"mcp-protocol-version": version, "mcp-method": method}
    if method == _CALL:
        pairs["mcp-name"] = params.get("name")
    for name, value in pairs.items():
        if headers.get(name) != value:
            raise RpcError(_HEADER_MISMATCH, own_id, status=400, data={"header": name})
    return True


def _unsupported(version: str, own_id: Id) -> RpcError:
    data = {"supported": [*MODERN, *LEGACY], "requested": version[:_LONGEST]}
    return RpcError(_UNSUPPORTED_VERSION, own_id, status=400, data=data)
