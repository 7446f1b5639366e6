"""Files of tensors that say what they are, and show damage: safetensors, with facts in JSON.

Nothing here imports PyTorch, so that a privacy card can be read where it is not installed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsgd.errors import CheckpointError
from footing.messages import Message, Name, said
from footing.serialisation import canonical

if TYPE_CHECKING:
    from _typeshed import StrPath

_FORMAT, _VERSION = "ckm-dpsgd", 1
_LONGEST_HEADER = 16_000_000
_WIDTH = 8  # of the number that says how long the header is


def sealed(content: bytes, *, kind: str, facts: dict[str, Any]) -> bytes:
    """Return safetensors with facts beside the tensors, and a digest of all of it."""
    start = _WIDTH + int.from_bytes(content[:_WIDTH], "little")
    tensors = json.loads(content[_WIDTH:start])
    tensors.pop("__metadata__", None)
    about = {
        "format": _FORMAT,
        "version": str(_VERSION),
        "kind": kind,
        "facts": canonical(facts),
    }
    about["sha256"] = _digest(about, tensors, memoryview(content)[start:])
    header = json.dumps({"__metadata__": about, **tensors}).encode()
    header += b" " * (-len(header) % _WIDTH)
    return len(header).to_bytes(_WIDTH, "little") + header + content[start:]


def opened(path: StrPath, *, kind: str) -> tuple[bytes, dict[str, Any]]:
    """Return a sealed file, and the facts in it; whatever is not whole and ours is refused."""
    file = Path(path)
    content, tensors = _read(file)
    about = tensors.pop("__metadata__", None)
    if not _is_ours(about):
        raise CheckpointError(
            Message(
                "The file {file!r} is no {kind} of dpsgd.",
                file=Name(file.name),
                kind=said(kind),
            ),
            hint=Message("look at the path"),
        )
    if int(about["version"]) > _VERSION:
        raise CheckpointError(
            Message(
                "The file {file!r} has version {about}; this program reads {version}.",
                file=Name(file.name),
                about=int(about["version"]),
                version=_VERSION,
            ),
            hint=Message("a newer version of ckm wrote it: install that one"),
        )
    if about["kind"] != kind:
        raise CheckpointError(
            Message("The file {file!r} is no {kind}.", file=Name(file.name), kind=said(kind)),
            hint=Message("look at the path"),
        )
    start = _WIDTH + int.from_bytes(content[:_WIDTH], "little")
    if about["sha256"] != _digest(about, tensors, memoryview(content)[start:]):
        raise CheckpointError(
            Message(
                "The file {file!r} is damaged: it is not what was written.",
                file=Name(file.name),
            ),
            hint=Message("take a copy of it"),
        )
    facts = parsed_json(about["facts"])
    if not isinstance(facts, dict):
        raise CheckpointError(
            Message("The file {file!r} holds no facts.", file=Name(file.name))
        )
    return content, facts


def _read(file: Path) -> tuple[bytes, dict[str, Any]]:
    """Return the content and its header; only as much is read as the header accounts for."""
    if not file.is_file():  # a pipe would never end
        raise CheckpointError(
            Message("There is no file {file!r}.", file=Name(file.name)),
            hint=Message("look at the path"),
        )
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            length = int.from_bytes(first := stream.read(_WIDTH), "little")
            if not 2 <= length <= min(_LONGEST_HEADER, size - _WIDTH):
                raise _unreadable(file)
            tensors = parsed_json(head := stream.read(length))
            if not isinstance(tensors, dict) or _end(tensors) != size - _WIDTH - length:
                raise _unreadable(file)
            return first + head + stream.read(), tensors
    except OSError as error:
        raise _unreadable(file) from error


def _unreadable(file: Path) -> CheckpointError:
    return CheckpointError(
        Message("The file {file!r} cannot be read.", file=Name(file.name)),
        hint=Message("it may be cut short, or of another kind"),
    )


def _end(tensors: dict[str, Any]) -> int:
    """Return where the last tensor ends; -1 where the entries are none."""
    try:
        ends = [int(v["data_offsets"][1]) for n, v in tensors.items() if n != "__metadata__"]
    except (TypeError, KeyError, IndexError, ValueError):
        return -1
    return max(ends, default=0)


def _is_ours(about: Any) -> bool:
    names = ("format", "version", "kind", "facts", "sha256")
    return (
        isinstance(about, dict)
        and all(isinstance(about.get(name), str) for name in names)
        and about["format"] == _FORMAT
        and about["version"].isdecimal()
        and len(about["version"]) < 9
    )


def _digest(about: dict[str, str], tensors: dict[str, Any], data: memoryview) -> str:
    names = ("format", "version", "kind", "facts")
    head = canonical([[about[name] for name in names], tensors])
    digest = hashlib.sha256(head.encode() + b"\0")
    digest.update(data)
    return digest.hexdigest()


def parsed_json(text: str | bytes) -> Any:
    """Return what JSON says; None for what is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
