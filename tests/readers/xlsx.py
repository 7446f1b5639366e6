"""Read XLSX as a person would: the sheets of a language, by their places and words."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import openpyxl

from ckm.engine.published_table import PublishedTable
from ckm.formats.about import TableAbout
from ckm.formats.content import encoded, is_weighted, masked
from ckm.formats.words import LANGUAGES, say
from ckm.formats.xlsx import HEAD_ROW
from tests.readers.json_stat import own_units

_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")


def read_xlsx(path):
    """Read a table, and what is said about it in its first language and in others."""
    book = openpyxl.load_workbook(path)
    sheets = {sheet.title: [*map(_texts, sheet.values)] for sheet in book}
    for sheet in book:
        if sheet.auto_filter.ref:  # up to the last row, also where that one is empty
            last = int(re.findall(r"\d+", sheet.auto_filter.ref)[-1])
            rows = sheets[sheet.title]
            rows += [[None] * sheet.max_column] * (last - len(rows))
    first = [language for language in LANGUAGES if say("sheet", language) in sheets]
    first.sort(key=lambda language: list(sheets).index(say("sheet", language)))
    found = [_read(sheets, language) for language in first]
    (table, about), *others = found
    for other, _ in others:
        for one, same in zip(table.measures.values(), other.measures.values(), strict=True):
            assert np.ma.allequal(one, same)
    return table, about, [said for _, said in others]


def _texts(row):
    return [
        _ESCAPE.sub(lambda code: chr(int(code[1], 16)), cell) if isinstance(cell, str) else cell
        for cell in row
    ]


def _read(sheets, language):
    listed = sheets[say("about", language)]
    items = {key: say(f"about_{key}", language) for key in ("dimension", "measure", "note")}
    names = {key: [r[1:3] for r in listed if r[0] == word] for key, word in items.items()}
    heads, *rows = sheets[say("sheet", language)][HEAD_ROW - 1 :]
    columns = [[row[place] for row in rows] for place in range(len(heads))]
    at, labels, categories, dimensions, measures = 0, {}, {}, {}, {}
    for name, label in names["dimension"]:
        labels |= {name: label} if label != name else {}
        texts = [text or "" for text in columns[at]]
        at += 1
        if at < len(heads) and heads[at].rstrip("_") == f"{label} (code)":
            codes = [code or "" for code in columns[at]]
            told = {c: t for c, t in zip(codes, texts, strict=True) if c != t}
            categories[name], texts, at = told, codes, at + 1
        dimensions[name] = encoded(texts)
    units = []
    for (name, head), column in zip(names["measure"], columns[at:], strict=True):
        label, unit = re.fullmatch(r"(.*?)(?: \((.*)\))?", head, re.DOTALL).groups()
        units.append((name, unit or ""))
        labels |= {name: label} if label != name else {}
        numbers = [n for n in column if n is not None]
        whole = all(type(n) is int for n in numbers) if numbers else not is_weighted(name)
        filled = np.array([n or 0 for n in column], np.int64 if whole else np.float64)
        measures[name] = masked(filled, np.array([n is None for n in column], bool))
    unit, units = own_units(units)
    said = dict.fromkeys(("title", "id", "source", "contact", "updated", "dataflow"), "")
    said |= {k: r[2] for k in said for r in listed if r[0] == say(f"about_{k}", language)}
    if said["updated"]:
        kind = dt.datetime if "T" in said["updated"] else dt.date
        said["updated"] = kind.fromisoformat(said["updated"])
    said["updated"] = said["updated"] or None
    known = {*items.values(), *(say(f"about_{k}", language) for k in (*said, "empty"))}
    withheld = {}
    for item, name, area in listed:
        if item not in known:
            said["withheld_label"] = item
            withheld.setdefault(name, []).append(area)
    about = TableAbout(
        notes=[note for _, note in names["note"]],
        labels=labels,
        category_labels=categories,
        unit=unit,
        units=units,
        language=language,
        withheld=withheld,
        **said,
    )
    return PublishedTable(dimensions=dimensions, measures=measures), about
