"""One way from objects to JSON and back, for every file, page, certificate and digest."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from footing.messages import Message

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: What becomes of a message; None leaves it the text that it is.
Wording: TypeAlias = "Callable[[Message], Any] | None"

#: What JSON has as it is.
_AS_THEY_ARE = (int, float, bool, type(None))
_WORDS = {None: "null", True: "true", False: "false"}
_quoted = json.encoder.encode_basestring
_quoted_ascii = json.encoder.encode_basestring_ascii


def plain(value: Any, *, message: Wording = None) -> Any:  # noqa: PLR0911 (a way for each kind)
    """Turn an object into what JSON has: mappings, lists, texts, numbers.

    What has a form of its own (`to_dict`) takes that, any other dataclass its fields. Names of
    a mapping become texts, as do days; arrays become lists.

    Parameters
    ----------
    value
        The object, and all that is in it.
    message
        What becomes of a message, such as `Message.to_dict`, which keeps its template and its
        values; without it a message is its English text.

    Examples
    --------
    >>> plain({1: (2, Message("all {n}", n=3))})
    {'1': [2, 'all 3']}
    """
    if isinstance(value, Message):
        return value if message is None else message(value)
    if isinstance(value, Mapping):
        return {str(name): plain(each, message=message) for name, each in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(each, message=message) for each in value]
    if type(value) in _AS_THEY_ARE or isinstance(value, str):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        own = getattr(value, "to_dict", None)
        return plain_fields(value, message=message) if own is None else own()
    if isinstance(value, dt.date):
        return value.isoformat()
    return value.tolist() if hasattr(value, "tolist") else value


def plain_fields(thing: DataclassInstance, *, message: Wording = None) -> dict[str, Any]:
    """Return each field of a dataclass by its name, as `plain` has it.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Place:
    ...     name: str
    ...     zones: tuple[int, ...] = ()
    >>> plain_fields(Place("Lyon", (1, 2)))
    {'name': 'Lyon', 'zones': [1, 2]}
    """
    return {
        each.name: plain(getattr(thing, each.name), message=message) for each in fields(thing)
    }


def set_fields(thing: DataclassInstance, *, always: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a dataclass that say something else than their defaults.

    Parameters
    ----------
    thing
        The object.
    always
        Fields that are there in any case.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Place:
    ...     name: str
    ...     zones: tuple[int, ...] = ()
    >>> set_fields(Place("Lyon")), set_fields(Place("Lyon"), always=["zones"])
    ({'name': 'Lyon'}, {'name': 'Lyon', 'zones': []})
    """
    return {
        each.name: plain(getattr(thing, each.name))
        for each in fields(thing)
        if each.name in always or _is_set(getattr(thing, each.name), each)
    }


def _is_set(value: Any, field: Field[Any]) -> bool:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    # True is equal to 1, and 1 to 1.0: which of them stands there is said, too.
    return type(value) is not type(default) or bool(value != default)


def document(
    value: Any, *, indent: int | None = 1, is_ascii: bool = False, message: Wording = None
) -> str:
    r"""Write an object as a JSON file that people read, too.

    Examples
    --------
    >>> document({"title": "Été", "cells": (4, 2)})
    '{\n "title": "Été",\n "cells": [\n  4,\n  2\n ]\n}\n'
    """
    content = plain(value, message=message)
    try:
        if indent is not None:
            quoted = _quoted_ascii if is_ascii else _quoted
            return _indented(content, "\n", " " * indent, quoted) + "\n"
    except TypeError:  # what JSON has no form for: `json` says what it is, or finds one
        pass
    return json.dumps(content, ensure_ascii=is_ascii, indent=indent, allow_nan=False) + "\n"


def _indented(value: Any, line: str, indent: str, quoted: Callable[[str], str]) -> str:
    """Write what JSON has in the lines of `json.dumps`, without its generators."""
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if type(value) is int:
        return repr(value)
    if type(value) is float and math.isfinite(value):
        return repr(value)
    inner = line + indent
    if type(value) is list:
        parts = [_indented(part, inner, indent, quoted) for part in value]
        return f"[{inner}{f',{inner}'.join(parts)}{line}]" if parts else "[]"
    if type(value) is not dict or not all(type(name) is str for name in value):
        raise TypeError
    parts = [
        f"{quoted(name)}: {_indented(part, inner, indent, quoted)}"
        for name, part in value.items()
    ]
    return f"{{{inner}{f',{inner}'.join(parts)}{line}}}" if parts else "{}"


def json_line(value: Any) -> str:
    """Write an object as a line of JSON that keeps the order of its parts.

    Examples
    --------
    >>> json_line({"b": 1, "a": (2,)})
    '{"b": 1, "a": [2]}'
    """
    return json.dumps(plain(value), allow_nan=False)


def canonical(value: Any) -> str:
    """Write an object as a line of JSON that is the same for equal content.

    Examples
    --------
    >>> canonical({"b": 1, "a": "é"}) == canonical({"a": "é", "b": 1})
    True
    """
    return json.dumps(plain(value), sort_keys=True, allow_nan=False)


def digest_of(value: Any, *, is_compact: bool = False) -> str:
    """Return the SHA-256 of an object's content: it tells damage, and not who wrote it.

    Parameters
    ----------
    value
        The object.
    is_compact
        Whether it is written without spaces, as identifiers of p-tables always were.

    Examples
    --------
    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    """
    # Of whatever a file holds that is read: JSON has no NaN, but others' files may.
    separators = (",", ":") if is_compact else None
    text = json.dumps(plain(value), sort_keys=True, separators=separators)
    return hashlib.sha256(text.encode()).hexdigest()


def content_of(text: str, *, form: str | int) -> dict[str, Any]:
    """Return what a JSON text of a format holds; nothing where it is something else.

    Parameters
    ----------
    text
        The text; its format is what it says of itself under ``"format"``.
    form
        The format.

    Examples
    --------
    >>> content_of('{"format": "ckm-a", "cells": 3}', form="ckm-a")
    {'format': 'ckm-a', 'cells': 3}
    >>> content_of('{"format": "ckm-b"}', form="ckm-a"), content_of("[", form="ckm-a")
    ({}, {})
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    is_one = isinstance(content, dict) and content.get("format") == form
    return content if is_one else {}


def tuples(value: Any) -> Any:
    """Return lists as tuples, however deep, which is how frozen objects keep them.

    Examples
    --------
    >>> tuples([1, [2, 3], "text"])
    (1, (2, 3), 'text')
    """
    return tuple(map(tuples, value)) if isinstance(value, list | tuple) else value
