"""Read CSV on the Web, as `ckm.formats` writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.engine.published_table import PublishedTable
from ckm.errors import FormatError
from ckm.formats.about import TableAbout, read_date
from ckm.formats.csv_text import _start, read_rows
from ckm.formats.csvw import _GEOGRAPHY, _TEXTS, _TIME, _UNIT, METADATA_SUFFIX
from tests.readers.json_stat import own_units, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def read_csvw(path: Path) -> tuple[PublishedTable, TableAbout, list[TableAbout]]:
    """Read a table from a CSV file and its metadata."""
    beside = path.with_name(path.name + METADATA_SUFFIX)
    if not beside.is_file():
        raise FormatError(
            f"There are no metadata {beside.name!r} beside the file.", hint="read it as 'csv'"
        )
    document = read_json(beside, beside.read_bytes())
    names = [name for name, _ in _start(path)[0]]
    try:
        columns = document["tableSchema"]["columns"]
        if [column["titles"] for column in columns] != names:
            raise FormatError(f"The metadata {beside.name!r} are not those of {path.name!r}.")
        kinds = {c["titles"]: _kind(c) for c in columns}
        table = read_rows(path, names, kinds)
        said = [_about(_in(document, code)) for code in _languages(document)]
        return _in_order(table, columns), said[0], said[1:]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"The metadata {beside.name!r} do not describe a table.") from None


def _kind(column: Mapping[str, Any]) -> str:
    return {"string": "text", "long": "whole", "double": "double"}[column["datatype"]]


def _members(column: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(column.get("qb:codeList", {}).get("skos:memberList", []))


def _in_order(table: PublishedTable, columns: Sequence[Mapping[str, Any]]) -> PublishedTable:
    """Give the categories the order of the metadata."""
    dimensions = dict(table.dimensions)
    for column in columns:
        name = column["titles"]
        if name not in dimensions or not _members(column):
            continue
        listed = [member["skos:notation"] for member in _members(column)]
        codes, found = dimensions[name]
        place = {text: code for code, text in enumerate(listed)}
        if set(found) <= set(place):
            moved = np.array([place[text] for text in found] + [0], np.int32)
            dimensions[name] = (moved[codes], listed)
    return PublishedTable(dimensions=dimensions, measures=table.measures)


def _languages(part: Any) -> list[str]:
    """Return the languages of a document, that of plain texts first."""
    if isinstance(part, dict) and "@context" in part:
        first = part["@context"][1]["@language"]
        others = {code for value in part.values() for code in _languages(value)}
        return [first, *sorted(others - {first})]
    if isinstance(part, dict):
        own = [part["@language"]] if "@language" in part else []
        return own + [code for value in part.values() for code in _languages(value)]
    return [code for value in part for code in _languages(value)] if type(part) is list else []


def _in(part: Any, language: str) -> Any:
    """Return a document in one language."""
    if isinstance(part, list) and all(isinstance(p, dict) and "@value" in p for p in part):
        return next((p["@value"] for p in part if p["@language"] == language), [])
    if isinstance(part, dict) and "@context" in part:
        rest = {key: _in(value, language) for key, value in part.items() if key != "@context"}
        return {**rest, "language": language}
    if isinstance(part, dict):
        return {key: _in(value, language) for key, value in part.items()}
    return [_in(value, language) for value in part] if isinstance(part, list) else part


def _about(document: Mapping[str, Any]) -> TableAbout:
    columns = document["tableSchema"]["columns"]
    said: dict[str, Any] = {p: document[word] for p, word in _TEXTS.items() if word in document}
    if "updated" in said:
        said["updated"] = read_date(said["updated"])
    notes, withheld = [], {}
    for note in document.get("notes", []):
        if "rdfs:comment" in note:
            notes.append(note["rdfs:comment"])
        elif "skos:notation" in note:
            withheld[note["dc:relation"]] = note["skos:notation"]
            said["withheld_label"] = note["dc:title"]
    labels: dict[str, str] = {}
    totals: dict[str, str] = {}
    category_labels: dict[str, dict[str, str]] = {}
    for column in columns:
        name, listed = column["titles"], column.get("qb:codeList", {})
        labels |= {name: column["rdfs:label"]} if "rdfs:label" in column else {}
        totals |= {name: listed["skos:hasTopConcept"]} if "skos:hasTopConcept" in listed else {}
        told = {
            m["skos:notation"]: m["skos:prefLabel"]
            for m in _members(column)
            if m.get("skos:prefLabel")
        }
        category_labels |= {name: told} if told else {}
        kind = column.get("propertyUrl")
        said |= {"geography": name} if kind == _GEOGRAPHY else {}
        said |= {"time": name} if kind == _TIME else {}
    measures = [c for c in columns if "qb:codeList" not in c]
    unit, units = own_units([(c["titles"], c.get(_UNIT, "")) for c in measures])
    return TableAbout(
        unit=unit,
        units=units,
        language=document["language"],
        notes=notes,
        labels=labels,
        category_labels=category_labels,
        totals=totals,
        withheld=withheld,
        **said,
    )
