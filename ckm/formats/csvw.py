"""CSV on the Web: a CSV file, and beside it ``-metadata.json`` that says what it holds.

The metadata name every column, its type and its categories in order; withheld categories are
an annotation of the table. An empty number is a suppressed one, an empty text is a text.
"""

import json
from collections.abc import Sequence
from itertools import zip_longest
from typing import IO, Any
from urllib.parse import quote

import numpy as np

from ckm.engine.published_table import PublishedTable
from ckm.formats.about import TableAbout, about_table, to_plain

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
    document: dict[str, Any] = {
        "@context": [_CONTEXT, {"@language": about.language}],
        "url": quote(name),
        "dialect": {"encoding": "utf-8", "header": True, "doubleQuote": True, "trim": False},
    }
    versions = (about, *about.translations)
    plain = [to_plain(each) for each in versions]
    texts = {
        word: _text(versions, [p.get(part) for p in plain]) for part, word in _TEXTS.items()
    }
    document |= {word: text for word, text in texts.items() if text}
    notes: list[dict[str, Any]] = [
        {"rdfs:comment": _text(versions, translations)}
        for translations in zip_longest(*(each.notes for each in versions))
    ]
    withheld = _text(versions, [each.withheld_label for each in versions])
    notes += [
        {"dc:title": withheld, "dc:relation": column, "skos:notation": list(areas)}
        for column, areas in about.withheld.items()
    ]
    document |= {"notes": notes} if notes else {}
    columns = [_dimension(column, table, versions) for column in table.dimensions]
    columns += [_measure(column, values, versions) for column, values in table.measures.items()]
    for place, column in enumerate(columns, start=1):
        column["name"] = f"column{place}"
    document["tableSchema"] = {"columns": columns}
    stream.write((json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode())


def _text(versions: Sequence[TableAbout], texts: Sequence[str | None]) -> Any:
    """Return a text; one of each language, with its code, where they differ."""
    if len(set(texts)) == 1:
        return texts[0]
    pairs = [
        (text, about.language) for text, about in zip(texts, versions, strict=True) if text
    ]
    return [{"@value": text, "@language": language} for text, language in pairs]


def _titles(column: str, versions: Sequence[TableAbout]) -> dict[str, Any]:
    label = _text(versions, [each.labels.get(column) for each in versions])
    return {"titles": column} | ({"rdfs:label": label} if label else {})


def _dimension(
    column: str, table: PublishedTable, versions: Sequence[TableAbout]
) -> dict[str, Any]:
    about, labels = versions[0], [each.category_labels.get(column, {}) for each in versions]
    texts = {
        c: _text(versions, [each.get(c) for each in labels])
        for c in table.dimensions[column][1]
    }
    members = [
        {"@type": "skos:Concept", "skos:notation": code}
        | ({"skos:prefLabel": text} if text else {})
        for code, text in texts.items()
    ]
    code_list: dict[str, Any] = {"@type": "skos:OrderedCollection", "skos:memberList": members}
    if column in about.totals:
        code_list["skos:hasTopConcept"] = about.totals[column]
    entry = _titles(column, versions) | {
        "datatype": "string",
        "null": [],
        "qb:codeList": code_list,
    }
    for url, own_column in ((_GEOGRAPHY, about.geography), (_TIME, about.time)):
        entry |= {"propertyUrl": url} if own_column and own_column == column else {}
    return entry


def _measure(column: str, values: Any, versions: Sequence[TableAbout]) -> dict[str, Any]:
    kind = "long" if values.dtype == np.int64 else "double"
    unit = _text(versions, [each.units.get(column, each.unit) for each in versions])
    return _titles(column, versions) | {"datatype": kind} | ({_UNIT: unit} if unit else {})
