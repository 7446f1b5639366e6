"""Data dictionaries and schemas of other tools; what they do not declare stays undeclared."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from synth.errors import SchemaError
from synth.schema.columns import Category, Column, Date, Plain, Real, Whole
from synth.schema.schema import Schema
from synth.schema.xml_dictionaries import Described, described_by_xml

_LARGEST_FILE = 20_000_000
_WHOLE = re.compile("0|-?[1-9][0-9]{0,14}")
_CODES = re.compile(r"\^?\(?(?:\?:)?([\w .-]+(?:\|[\w .-]+)*)\)?\$?")
_KNOWN = (
    "known: DDI-Codebook, SDMX, CSVW, NIST's dictionary, categories and integer_bounds, SDV "
    "metadata"
)
_CSVW = {
    "integer": "whole", "long": "whole", "int": "whole", "short": "whole", "byte": "whole",
    "nonNegativeInteger": "whole", "positiveInteger": "whole", "decimal": "real",
    "number": "real", "double": "real", "float": "real", "date": "date", "boolean": "boolean",
}  # fmt: skip


def read_dictionary(path: Path, *, declared_by: str = "") -> Schema:
    """Read a data dictionary; without a word of who declared it, its file did."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise SchemaError(f"{path.name!r} has more than {_LARGEST_FILE // 10**6} MB.")
        content = path.read_bytes()
    except OSError:
        raise SchemaError(f"{path.name!r} cannot be read.") from None
    by = declared_by or path.name
    if content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<":
        return _schema(described_by_xml(content, path.name), by)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise SchemaError(f"{path.name!r} cannot be read as JSON or XML.") from None
    if not isinstance(found, dict):
        raise SchemaError(f"{path.name!r} is no description of columns.")
    return schema_from(found, declared_by=by)


def schema_from(found: Mapping[str, Any], *, declared_by: str = "") -> Schema:
    """Return the schema that another tool's description says.

    Parameters
    ----------
    found
        The parsed JSON: ``categories`` and ``integer_bounds``; the dictionary of NIST's data
        excerpts; CSVW metadata; or SDV metadata, which declare types only.
    declared_by
        Who declared it, for the certificate.

    Raises
    ------
    SchemaError
        If it is of none of these shapes.

    Examples
    --------
    >>> schema = schema_from(
    ...     {"categories": {"sex": ["F", "M"]}, "integer_bounds": {"age": [0, 99]}}
    ... )
    >>> [column.size for column in schema.columns]
    [2, 100]
    >>> schema_from({"columns": {"sex": {"sdtype": "categorical"}}}).undeclared
    ['sex']
    """
    try:
        if "integer_bounds" in found or "categories" in found:
            columns = _plain(found, declared_by)
        elif isinstance(found.get("schema"), dict):
            columns = [_nist(name, one, declared_by) for name, one in found["schema"].items()]
        elif "http://www.w3.org/ns/csvw" in str(found.get("@context", "")):
            return _schema(_csvw(_the_table(found.get("tables", [found]))), declared_by)
        elif "columns" in found or "tables" in found:
            columns = _sdv(found, declared_by)
        elif found and all("description" in one for one in found.values()):
            return _schema([_nist_codes(*one) for one in found.items()], declared_by)
        else:
            raise SchemaError("The description is of no tool that is known.", hint=_KNOWN)
        return Schema(columns=tuple(columns))
    except (TypeError, KeyError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError("The description does not hold together.") from None


def _schema(described: Iterable[Described], by: str) -> Schema:
    """Build columns, and say of which the description does not hold."""
    columns, problems = [], []
    for one in described:
        try:
            columns.append(_column(one, by))
        except (ValueError, OverflowError) as error:
            said = error.problem if isinstance(error, SchemaError) else "no numbers or days."
            problems.append(f"{one.name}: {said}")
    if problems:
        raise SchemaError("\n  ".join(["The dictionary does not hold together:", *problems]))
    return Schema(columns=tuple(columns))


def _column(one: Described, by: str) -> Column:
    missing = {kind: _code(code) for kind, code in one.missing.items()}
    told: dict[str, Any] = {"name": one.name, "missing": missing, "declared_by": by}
    if one.kind in ("category", "boolean"):
        codes = (False, True) if one.kind == "boolean" else _codes(one.codes)
        return Category(values=codes or None, **told)
    low, high = (str(end).strip() if end is not None else None for end in (one.low, one.high))
    if one.kind == "date":
        return Date(low=low, high=high, **told)
    number: Any = float if one.kind == "real" else int
    shared = sorted(number(code) for code in one.codes)
    ends = [None if end is None else number(end) for end in (low, high)]
    if None not in ends and shared:
        ends = [min(ends[0], *shared), max(ends[1], *shared)]
    told |= {"low": ends[0], "high": ends[1], "points": tuple(shared)}
    if one.kind == "whole":
        return Whole(**told)
    digits = [len(str(end).partition(".")[2].rstrip("0")) for end in ends]
    return Real(decimals=one.decimals if one.decimals is not None else max(digits), **told)


def _codes(codes: Sequence[str]) -> tuple[Plain, ...]:
    """Return codes as whole numbers if all are: a file may hold numbers or their texts."""
    is_whole = all(_WHOLE.fullmatch(code) for code in codes)
    return tuple(int(code) if is_whole else code for code in codes)


def _code(code: str | None) -> Plain:
    return int(code) if code is not None and _WHOLE.fullmatch(code) else code


def _plain(found: Mapping[str, Any], by: str) -> list[Column]:
    categories, bounds = found.get("categories", {}), found.get("integer_bounds", {})
    columns: list[Column] = [
        Category(name=name, values=tuple(values), declared_by=by)
        for name, values in categories.items()
    ]
    return columns + [
        Whole(name=name, low=low, high=high, declared_by=by)
        for name, (low, high) in bounds.items()
    ]


def _nist(name: str, found: Mapping[str, Any], by: str) -> Column:
    missing = {"not applicable": found["null_value"]} if found.get("has_null") else {}
    told: dict[str, Any] = {"name": name, "missing": missing, "declared_by": by}
    if "values" in found:
        values = tuple(value for value in found["values"] if value not in missing.values())
        return Category(values=values, **told)
    told |= {"low": found["min"], "high": found["max"]}
    if found["dtype"].startswith("float"):
        return Real(decimals=1, **told)
    return Whole(**told)


def _nist_codes(name: str, found: Mapping[str, Any]) -> Described:
    values = dict(found.get("values", {}))
    ends = values.pop("min", None), values.pop("max", None)
    missing = {"not applicable": "N"} if values.pop("N", None) else {}
    kind = "category"
    if ends != (None, None):
        kind = "real" if any(isinstance(end, float) for end in ends) else "whole"
    low, high = ends
    return Described(name, kind, codes=tuple(values), missing=missing, low=low, high=high)


def _the_table(tables: Sequence[Any]) -> Any:
    if len(tables) != 1:
        raise SchemaError(f"The metadata are of {len(tables)} tables, not of one.")
    return tables[0]


def _csvw(table: Mapping[str, Any]) -> list[Described]:
    columns = table["tableSchema"]["columns"]
    return [_csvw_column(one) for one in columns if not one.get("virtual")]


def _csvw_column(found: Mapping[str, Any]) -> Described:
    title: Any = found.get("titles") or found.get("name", "")
    while title and not isinstance(title, str):  # one of several, one of several languages
        title = next(iter(title.values() if isinstance(title, dict) else title))
    kind = found.get("datatype", "string")
    kind = {"base": kind} if isinstance(kind, str) else kind
    codes = (
        _CODES.fullmatch(str(kind.get("format", ""))) if kind.get("base") == "string" else None
    )
    listed = [
        one["skos:notation"] for one in found.get("qb:codeList", {}).get("skos:memberList", [])
    ]
    nulls = found.get("null", "")
    nulls = [nulls] if isinstance(nulls, str) else nulls
    missing = {"null": None} if not found.get("required") and nulls else {}
    return Described(
        title,
        _CSVW.get(kind.get("base", "string"), "category"),
        codes=tuple(listed or (codes[1].split("|") if codes else ())),
        missing=missing | {one: one for one in nulls if one},
        low=kind.get("minimum", kind.get("minInclusive")),
        high=kind.get("maximum", kind.get("maxInclusive")),
    )


def _sdv(found: Mapping[str, Any], by: str) -> list[Column]:
    if "tables" in found:
        found = _the_table(list(found["tables"].values()))
    columns: list[Column] = []
    for name, one in found["columns"].items():
        kind = one["sdtype"]
        if kind == "numerical":
            is_whole = str(one.get("computer_representation", "")).startswith("Int")
            columns.append((Whole if is_whole else Real)(name=name, declared_by=by))
        elif kind == "datetime":
            columns.append(Date(name=name, declared_by=by))
        elif kind == "boolean":
            columns.append(Category(name=name, values=(False, True), declared_by=by))
        elif kind != "id":
            columns.append(Category(name=name, declared_by=by))
    return columns
