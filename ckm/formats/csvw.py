"""CSV on the Web: a CSV file, and beside it ``-metadata.json`` that says what it holds.

The metadata name every column, its type and its categories in order; withheld categories are
an annotation of the table. An empty number is a suppressed one, an empty text is a text.
"""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from ckm.engine.published_table import PublishedTable
from ckm.errors import FormatError
from ckm.formats.about import TableAbout, about_table, read_date, to_plain
from ckm.formats.content import own_units
from ckm.formats.csv_text import read_header, read_json, read_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

METADATA_SUFFIX = "-metadata.json"

_CONTEXT = "http://www.w3.org/ns/csvw"
_SDMX = "http://purl.org/linked-data/sdmx/2009/"
_GEOGRAPHY, _TIME = f"{_SDMX}dimension#refArea", f"{_SDMX}dimension#refPeriod"
_UNIT = f"{_SDMX}attribute#unitMeasure"
_TEXTS = {
    "id": "dc:identifier",
    "title": "dc:title",
    "source": "dc:publisher",
    "contact": "schema:contactPoint",
    "updated": "dc:modified",
}


def write_metadata(
    table: PublishedTable, stream: IO[bytes], about: TableAbout, *, name: str
) -> None:
    """Write the metadata of a table's CSV file."""
    about = about_table(about, table)
    said = to_plain(about)
    document: dict[str, Any] = {
        "@context": [_CONTEXT, {"@language": about.language}],
        "url": quote(name),
        "dialect": {"encoding": "utf-8", "header": True, "doubleQuote": True, "trim": False},
    }
    document |= {word: said[part] for part, word in _TEXTS.items() if part in said}
    notes: list[dict[str, Any]] = [{"rdfs:comment": note} for note in about.notes]
    notes += [
        {"dc:title": about.withheld_label, "dc:relation": column, "skos:notation": list(areas)}
        for column, areas in about.withheld.items()
    ]
    document |= {"notes": notes} if notes else {}
    columns = [_dimension(column, table, about) for column in table.dimensions]
    columns += [_measure(column, values, about) for column, values in table.measures.items()]
    for place, column in enumerate(columns, start=1):
        column["name"] = f"column{place}"
    document["tableSchema"] = {"columns": columns}
    stream.write((json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode())


def _titles(column: str, about: TableAbout) -> dict[str, Any]:
    label = about.labels.get(column)
    return {"titles": column} | ({} if label is None else {"rdfs:label": label})


def _dimension(column: str, table: PublishedTable, about: TableAbout) -> dict[str, Any]:
    labels = about.category_labels.get(column, {})
    members = [
        {"@type": "skos:Concept", "skos:notation": text}
        | ({"skos:prefLabel": labels[text]} if text in labels else {})
        for text in table.dimensions[column][1]
    ]
    listed: dict[str, Any] = {"@type": "skos:OrderedCollection", "skos:memberList": members}
    if column in about.totals:
        listed["skos:hasTopConcept"] = about.totals[column]
    found = _titles(column, about) | {"datatype": "string", "null": [], "qb:codeList": listed}
    for url, named in ((_GEOGRAPHY, about.geography), (_TIME, about.time)):
        found |= {"propertyUrl": url} if named and named == column else {}
    return found


def _measure(column: str, values: Any, about: TableAbout) -> dict[str, Any]:
    kind = "long" if values.dtype == np.int64 else "double"
    said = about.units.get(column, about.unit)
    unit = {_UNIT: said} if said else {}
    return _titles(column, about) | {"datatype": kind} | unit


def read_csvw(path: Path) -> tuple[PublishedTable, TableAbout]:
    """Read a table from a CSV file and its metadata."""
    beside = path.with_name(path.name + METADATA_SUFFIX)
    if not beside.is_file():
        raise FormatError(
            f"There are no metadata {beside.name!r} beside the file.", hint="read it as 'csv'"
        )
    document = read_json(beside, beside.read_bytes())
    names = read_header(path)
    try:
        columns = document["tableSchema"]["columns"]
        if [column["titles"] for column in columns] != names:
            raise FormatError(f"The metadata {beside.name!r} are not those of {path.name!r}.")
        kinds = {c["titles"]: _kind(c) for c in columns}
        table = read_rows(path, names, kinds)
        return _in_order(table, columns), _about(document, columns)
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


def _about(document: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> TableAbout:
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
            if "skos:prefLabel" in m
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
        language=document["@context"][1]["@language"],
        notes=notes,
        labels=labels,
        category_labels=category_labels,
        totals=totals,
        withheld=withheld,
        **said,
    )
