"""Data dictionaries and schemas of other tools; what they do not declare stays undeclared."""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from footing.messages import Argument, Message, Name, said
from synth.errors import SchemaError
from synth.schema.columns import Category, Column, Date, Real, Whole
from synth.schema.nesting import parents_in_tree
from synth.schema.schema import Schema
from synth.schema.xml_dictionaries import Told, told_by_xml

_LARGEST_FILE = 20_000_000
_WHOLE = re.compile("0|-?[1-9][0-9]{0,14}")
_CODES = re.compile(r"\^?\(?(?:\?:)?([\w .-]+(?:\|[\w .-]+)*)\)?\$?")
# What words for types of CSVW, SDMX, SDV and DDI have in them.
_KINDS = {
    "boolean": "boolean",
    "whole": "int|long|short|byte|count",
    "real": "decimal|float|double|numb|numeric",
    "date": "^date$|^datetime$|gregorianday",
}


def read_dictionary(path: Path, *, declared_by: str = "") -> Schema:
    """Read a data dictionary; without a word of who declared it, its file did."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise SchemaError(
                Message(
                    "{path!r} has more than {largest_file} MB.",
                    path=Name(path.name),
                    largest_file=_LARGEST_FILE // 10**6,
                )
            )
        content = path.read_bytes()
    except OSError:
        raise SchemaError(Message("{path!r} cannot be read.", path=Name(path.name))) from None
    by = declared_by or path.name
    if content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<":
        return _schema(told_by_xml(content, path.name), by)
    try:
        dictionary = json.loads(content)
    except (ValueError, RecursionError):
        raise SchemaError(
            Message("{path!r} cannot be read as JSON or XML.", path=Name(path.name))
        ) from None
    if not isinstance(dictionary, dict):
        raise SchemaError(
            Message("{path!r} is no description of columns.", path=Name(path.name))
        )
    if dictionary.get("format") == "ckm-synth-schema":
        return Schema.from_dict(dictionary)
    return schema_from(dictionary, declared_by=by)


def schema_from(description: Mapping[str, Any], *, declared_by: str = "") -> Schema:
    """Return the schema that another tool's description says.

    Parameters
    ----------
    description
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
        return _schema(_told(description), declared_by)
    except (TypeError, KeyError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(Message("The description does not hold together.")) from None


def _told(description: Mapping[str, Any]) -> Iterator[Told]:
    if "integer_bounds" in description or "categories" in description:
        for name, codes in description.get("categories", {}).items():
            yield Told(name, codes=codes)
        for name, (low, high) in description.get("integer_bounds", {}).items():
            yield Told(name, "int", low=low, high=high)
    elif "http://www.w3.org/ns/csvw" in str(description.get("@context", "")):
        columns = _the_table(description.get("tables", [description]))["tableSchema"]["columns"]
        yield from (_csvw(one) for one in columns if not one.get("virtual"))
    elif "columns" in description or "tables" in description:
        table = (
            _the_table(list(description["tables"].values()))
            if "tables" in description
            else description
        )
        for name, one in table["columns"].items():
            words = {"numerical": one.get("computer_representation", "number")}
            if one["sdtype"] != "id":
                yield Told(name, words.get(one["sdtype"], one["sdtype"]))
    elif all(
        "values" in one or {*one} & {"min", "description"} for one in _nist_of(description)
    ):
        yield from (
            _nist(name, one) for name, one in description.get("schema", description).items()
        )
    else:
        raise SchemaError(
            Message("The description is of no tool that is known."),
            hint=Message("known: DDI-Codebook, SDMX, CSVW, NIST's dictionary, SDV metadata"),
        )


def _schema(entries: Iterator[Told], by: str) -> Schema:
    columns, tree = list[Column](), dict[str, str]()
    for one in entries:
        for code, above in one.above.items():
            if tree.setdefault(code, above) != above:
                raise SchemaError(
                    Message("A code of {name!r} has two parents.", name=Argument(one.name))
                )
        try:
            columns.append(_column(one, by))
        except (ValueError, OverflowError) as error:
            problem = (
                error.problem
                if isinstance(error, SchemaError)
                else Message("no numbers or days.")
            )
            raise SchemaError(
                Message(
                    "Column {one!r} of the dictionary: {problem}",
                    one=Argument(one.name),
                    problem=said(problem),
                )
            ) from None
    parents = parents_in_tree(columns, tree=tree.items(), declared_by=by)
    return Schema(columns=tuple(columns), parents=tuple(parents) or None)


def with_tree(schema: Schema, path: Path, *, declared_by: str = "") -> Schema:
    """Return a schema with the parents that a code list tells: a CSV of codes and those above.

    Parameters
    ----------
    schema
        The schema.
    path
        A CSV file with a header and two columns: a code, and the coarser code it lies in.
    declared_by
        Who declared it; without a word its file did.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = [row for row in list(csv.reader(lines))[1:] if row]
    except (OSError, ValueError, csv.Error):
        raise SchemaError(Message("{path!r} cannot be read.", path=Name(path.name))) from None
    if not rows or any(len(row) < 2 for row in rows):
        raise SchemaError(
            Message("{path!r} is no list of codes and their parents.", path=Name(path.name)),
            hint=Message("a CSV file with a header and two columns: code,parent"),
        )
    tree = [(row[0].strip(), row[1].strip()) for row in rows]
    parents = parents_in_tree(schema.columns, tree=tree, declared_by=declared_by or path.name)
    if not parents:
        raise SchemaError(
            Message(
                "{path!r} leads the codes of no column to those of another.",
                path=Name(path.name),
            ),
            hint=Message("every value of the finer column needs a line, and those above it"),
        )
    old = [one for one in schema.parents or () if one.child not in {p.child for p in parents}]
    return replace(schema, parents=(*old, *parents))


def _column(entry: Told, by: str) -> Column:
    kinds = (
        kind for kind, form in _KINDS.items() if re.search(form, entry.kind, re.IGNORECASE)
    )
    kind, low, high = next(kinds, "category"), entry.low, entry.high
    marks = {key: _numbers([one])[0] for key, one in entry.missing.items()}
    common: dict[str, Any] = {"name": entry.name, "missing": marks, "declared_by": by}
    if kind in ("category", "boolean"):
        values = (False, True) if kind == "boolean" else _numbers(entry.codes)
        return Category(values=values or None, **common)
    if kind == "date":
        return Date(low=low, high=high, **common)
    number: Any = float if kind == "real" else int
    shared = sorted(map(number, entry.codes))
    ends = [None if end is None else number(end) for end in (low, high)]
    if None not in ends and shared:
        ends = [min(ends[0], *shared), max(ends[1], *shared)]
    common |= {"low": ends[0], "high": ends[1], "points": tuple(shared)}
    if kind == "whole":
        return Whole(**common)
    digits = max(len(str(end).partition(".")[2].rstrip("0")) for end in ends)
    return Real(decimals=digits if entry.decimals is None else entry.decimals, **common)


def _numbers(codes: Sequence[Any]) -> tuple[Any, ...]:
    """Return codes as whole numbers if all are: a file may hold numbers or their texts."""
    is_whole = all(isinstance(one, str) and _WHOLE.fullmatch(one) for one in codes)
    return tuple(map(int, codes)) if is_whole else tuple(codes)


def _nist_of(entry: Mapping[str, Any]) -> list[Any]:
    return list(entry.get("schema", entry).values()) or [{}]


def _nist(name: str, entry: Mapping[str, Any]) -> Told:
    null = entry.get("null_value", "N")
    codes = [*entry.get("values", ())]
    has_null = null in codes or entry.get("has_null")
    values = entry["values"] if isinstance(entry.get("values"), dict) else entry
    low, high = values.get("min"), values.get("max")
    is_real = float in (type(low), type(high)) or str(entry.get("dtype")).startswith("float")
    kind = "" if low is None else "number" if is_real else "int"
    codes = [code for code in codes if code not in ("min", "max", null)]
    return Told(name, kind, codes, {"not applicable": null} if has_null else {}, low, high, 1)


def _the_table(tables: Sequence[Any]) -> Any:
    if len(tables) != 1:
        raise SchemaError(
            Message("The metadata are of {number} tables, not of one.", number=len(tables))
        )
    return tables[0]


def _csvw(entry: Mapping[str, Any]) -> Told:
    title: Any = entry.get("titles") or entry.get("name", "")
    while title and not isinstance(title, str):  # one of several, one of several languages
        title = next(iter(title.values() if isinstance(title, dict) else title))
    kind = entry.get("datatype", "string")
    kind = {"base": kind} if isinstance(kind, str) else kind
    base, form = kind.get("base", "string"), _CODES.fullmatch(str(kind.get("format", "")))
    members = entry.get("qb:codeList", {}).get("skos:memberList", ())
    above = {
        str(one["skos:notation"]): str(one["skos:broader"])
        for one in members
        if one.get("skos:broader")
    }
    codes = [one["skos:notation"] for one in members]
    if form and base == "string":
        codes = form[1].split("|")
    nulls = entry.get("null", "")
    nulls = [nulls] if isinstance(nulls, str) else nulls
    missing = {} if entry.get("required") or not nulls else {"null": None}
    missing |= {one: one for one in nulls if one}
    low, high = (kind.get(f"{end}imum", kind.get(f"{end}Inclusive")) for end in ("min", "max"))
    return Told(title, base, codes, missing, low, high, above=above)
