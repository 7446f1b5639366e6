"""A first schema from the header of a file, and a JSON Schema with which editors check it.

Of a CSV file the header is read and nothing after it; of Parquet and Arrow files what they say
of their columns. No value of a record is read.
"""

from __future__ import annotations

import csv
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from footing.messages import Message, Name
from footing.serialisation import document
from synth.errors import DomainError
from synth.schema.columns import Category, Column, Date, Real, Whole
from synth.schema.grid import LAWS
from synth.schema.nesting import Parents
from synth.schema.rules.rules import EditRule
from synth.schema.schema import Amount, Schema, Unit

#: What the JSON Schema for editors is called beside a skeleton.
EDITOR_FILE = "ckm-synth.schema.json"
_LONGEST = 2**20
_CHOICES: dict[str, Sequence[Any]] = {
    "spacing": ("even", "log"),
    "law": LAWS,
    "outside": ("refuse", "clip"),
    "excess": ("refuse", "truncate"),
}


def skeleton(path: Path) -> Schema:
    """Return a schema of a file's columns in which no domain is declared.

    Parameters
    ----------
    path
        A CSV file, whose columns are all of the kind category, as their names say nothing; or
        a Parquet or Arrow file, whose types propose a kind. A type is what a program wrote, and
        may follow from a record (one null makes decimals of whole numbers): look at each.
    """
    suffix = path.suffix.lower()
    try:
        if suffix == ".csv":
            columns: list[Column] = [Category(name=name) for name in header_of(path)]
        elif suffix in {".parquet", ".arrow", ".feather"}:
            columns = [_column(name, kind) for name, kind in _types_of(path)]
        else:
            raise DomainError(
                Message("{file!r} is neither Parquet, Arrow nor CSV.", file=Name(path.name)),
                hint=Message("rename it .parquet, .arrow or .csv"),
            )
    except (OSError, ValueError) as error:
        if isinstance(error, DomainError):
            raise
        # The library's own words may quote a record.
        raise DomainError(
            Message("The file {file!r} cannot be read.", file=Name(path.name))
        ) from None
    return Schema(columns=tuple(columns))


def header_of(path: Path) -> list[str]:
    """Return the names in the first line of a CSV file; no byte after it is read."""

    def lines() -> Iterator[str]:
        # Without a buffer, which would hold the records that follow.
        with path.open("rb", buffering=0) as raw:
            n_bytes = _LONGEST
            while n_bytes > 0 and (line := raw.readline(n_bytes)):
                n_bytes -= len(line)
                yield line.decode("utf-8-sig" if n_bytes + len(line) == _LONGEST else "utf-8")

    names: list[str] = next(csv.reader(lines()), [])
    return names


def _types_of(path: Path) -> list[tuple[str, str]]:
    """Return the names and types of columns that a file has beside its records."""
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        schema = pq.read_schema(path)
    else:
        import pyarrow as pa

        with pa.memory_map(str(path)) as source:
            schema = pa.ipc.open_file(source).schema
    return [(field.name, str(field.type)) for field in schema]


def _column(name: str, kind: str) -> Column:
    if kind.startswith(("int", "uint")):
        return Whole(name=name)
    if kind.startswith(("float", "double", "halffloat", "decimal")):
        return Real(name=name)
    if kind.startswith(("date", "timestamp")):
        return Date(name=name)
    return Category(name=name)


def skeleton_text(schema: Schema) -> str:
    """Return a skeleton as text in which every entry that is to be filled stands, empty."""
    content = schema.to_dict()
    for column in content["columns"]:
        open_ones = ("values",) if column["kind"] == "category" else ("low", "high")
        column.update(dict.fromkeys(open_ones), missing={}, declared_by="")
    first = {"$schema": EDITOR_FILE}
    return document({**first, **content, "rules": [], "unit": {"name": "record"}})


def editor_schema() -> dict[str, Any]:
    """Return the JSON Schema of a schema: entries, their types, and what may stand in them.

    Examples
    --------
    >>> sorted(editor_schema()["properties"])[:3]
    ['$schema', 'about', 'amounts']
    """
    columns = [_of(kind, kind=kind.kind) for kind in (Category, Whole, Real, Date)]
    rule = {"anyOf": [{"type": "string"}, _of(EditRule)]}
    amount = {"anyOf": [{"type": "string"}, _of(Amount)]}
    whole = _of(Schema)
    whole["properties"] |= {
        "$schema": {"type": "string"},
        "format": {"const": "ckm-synth-schema"},
        "version": {"const": 1},
        "columns": {"type": "array", "minItems": 1, "items": {"anyOf": columns}},
        "rules": {"type": "array", "items": rule},
        "amounts": {"type": ["array", "null"], "items": amount},
        "parents": {"type": ["array", "null"], "items": _of(Parents)},
        "unit": _of(Unit),
    }
    whole["required"] = ["format", "columns"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}


def _of(cls: type[Any], *, kind: str | None = None) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    properties: dict[str, Any] = {} if kind is None else {"kind": {"const": kind}}
    for one in fields(cls):
        choices = _CHOICES.get(one.name)
        properties[one.name] = (
            _type(hints[one.name]) if choices is None else {"enum": [*choices]}
        )
    required = [
        one.name
        for one in fields(cls)
        if one.default is MISSING and one.default_factory is MISSING
    ]
    return {
        "type": "object",
        "properties": properties,
        "required": [*([] if kind is None else ["kind"]), *required],
        "additionalProperties": False,
    }


def _type(hint: Any) -> dict[str, Any]:
    """Return what JSON may hold for a type of Python."""
    plain = {
        str: {"type": "string"},
        bool: {"type": "boolean"},
        int: {"type": "integer"},
        float: {"type": "number"},
        type(None): {"type": "null"},
    }
    if hint in plain:
        return plain[hint]
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_type(part) for part in parts]}
    if origin is tuple:
        return {"type": "array", "items": _type(parts[0])}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _type(parts[1])}
    return {}
