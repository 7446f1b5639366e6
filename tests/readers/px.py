"""Read PX: what this package writes, and files of others."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.errors import FormatError
from ckm.formats.about import TableAbout
from ckm.formats.content import is_weighted, masked
from ckm.formats.cubes.cube import MAX_CELLS, Axis
from ckm.formats.cubes.px import MISSING, NO_UNIT
from tests.readers.json_stat import labels_of, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from ckm.engine.published_table import PublishedTable

__all__ = ["read_px"]

# KEYWORD("key")= and what follows up to the semicolon outside of quotation marks.
_ENTRY = re.compile(
    r'\s*([A-Z0-9-]+)(?:\[([\w-]+)\])?(?:\(((?:"[^"]*"[\s,]*)*)\))?\s*=((?:"[^"]*"|[^";])*);'
)
_DATA = re.compile(r"\s*DATA\s*=")
_TOKEN = re.compile(r'((?:"[^"]*"\s*)+)|([,:])')
_TEXT = re.compile(r'"([^"]*)"')

# A dash is nothing at all; one dot to seven are numbers that are not there.
_NIL = '"-"'
_DOTS = [f'"{"." * length}"' for length in range(1, 8)]

Entries = dict[tuple[str, str], str]


def read_px(path: Path) -> tuple[PublishedTable, TableAbout, list[TableAbout]]:
    """Read a table from PX.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    FormatError
        If it is no PX file.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        entries, data = _entries(text)
        others = [_about(each, _axes(each)) for each in _translated(entries)]
        return _table(_axes(entries), data), _about(entries, _axes(entries)), others
    except (AttributeError, IndexError, KeyError, OverflowError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"The file {path.name!r} is no PX file in UTF-8.") from None


def _entries(text: str) -> tuple[Entries, str]:
    found: Entries = {}
    place = 0
    while (data := _DATA.match(text, place)) is None:
        match = _ENTRY.match(text, place)
        if match is None:
            raise ValueError
        key = "".join(_TEXT.findall(match[3] or ""))
        found[match[1] + (f"[{match[2]}]" if match[2] else ""), key] = match[4]
        place = match.end()
    return found, text[data.end() :].strip().removesuffix(";")


def _translated(entries: Entries) -> Iterator[Entries]:
    """Return the entries of each further language, with those that have none."""
    for code in _texts(entries.get(("LANGUAGES", ""), ""))[1:]:
        own = {
            (word.removesuffix(f"[{code}]"), key): value
            for (word, key), value in entries.items()
            if word.endswith(f"[{code}]")
        }
        common = {name: entries[name] for name in (("TABLEID", ""),) if name in entries}
        yield {**common, **own, ("LANGUAGE", ""): f'"{code}"'}


def _texts(value: str) -> list[str]:
    """Return the texts of a value; pieces without a comma between them are one text."""
    return ["".join(_TEXT.findall(m[1])) for m in _TOKEN.finditer(value) if m[1]]


def _text(entries: Entries, keyword: str, key: str = "") -> str:
    return "".join(_texts(entries.get((keyword, key), "")))


def _axes(entries: Entries) -> list[Axis]:
    """Return the axes, the last one that of the measures."""
    names = _texts(entries.get(("STUB", ""), "")) + _texts(entries.get(("HEADING", ""), ""))
    if not names:
        raise ValueError
    contents = _text(entries, "CONTVARIABLE")
    if contents and names[-1] != contents:
        raise FormatError("The measures of the PX file are not its last variable.")
    axes = [_axis(entries, name) for name in names]
    if not contents:
        axes.append(Axis(name="", columns=("",), ids=["value"]))
    return axes


def _axis(entries: Entries, name: str) -> Axis:
    values = _texts(entries["VALUES", name])
    ids = _texts(entries.get(("CODES", name), "")) or values
    levels = _texts(entries.get(("HIERARCHYNAMES", name), ""))
    own = _text(entries, "VARIABLECODE", name) or name
    tree: dict[str, list[str]] = {}
    listed = _texts(entries.get(("HIERARCHIES", name), ""))[1:]
    for parent, child in zip(listed[::2], listed[1::2], strict=True):
        tree.setdefault(parent, []).append(child)
    return Axis(
        name=own,
        columns=tuple(levels[1:]) if len(levels) > 2 else (own,),
        ids=ids,
        labels={code: text for code, text in zip(ids, values, strict=True) if code != text},
        children=tree,
    )


def _table(axes: list[Axis], data: str) -> PublishedTable:
    tokens = data.split()
    *dimensions, contents = axes
    size = math.prod(len(axis.ids) for axis in axes)
    if size > MAX_CELLS or len(tokens) != size:
        raise FormatError(f"The PX file has {len(tokens):,} cells where {size:,} are meant.")
    cells = np.array([*tokens, ""], object)[:-1].reshape(-1, len(contents.ids))
    cells[cells == _NIL] = "0"
    is_dotted = np.isin(cells, _DOTS)
    place = np.flatnonzero((cells != MISSING).any(axis=1))
    measures = {
        name: _numbers(name, cells[place, at], is_dotted[place, at])
        for at, name in enumerate(contents.ids)
    }
    return table_of(dimensions, place, measures)


def _numbers(name: str, cells: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
    present = cells[~mask].tolist()
    is_whole = not is_weighted(name) and not any("." in text for text in present)
    values = np.zeros(len(cells), np.int64 if is_whole else np.float64)
    values[~mask] = [(int if is_whole else float)(text) for text in present]
    return masked(values, mask)


def _about(entries: Entries, axes: list[Axis]) -> TableAbout:
    labels: dict[str, str] = {}
    category_labels: dict[str, dict[str, str]] = {}
    totals: dict[str, str] = {}
    kinds: dict[str, str] = {}
    *dimensions, contents = axes
    for axis, name in zip(axes, _shown_names(entries, axes), strict=True):
        if name != axis.name:
            labels[axis.name] = name
        if axis is contents:
            labels |= axis.labels
            continue
        category_labels |= labels_of(axis)
        total = _text(entries, "ELIMINATION", name)
        if total:
            code = next((c for c, text in axis.labels.items() if text == total), total)
            totals |= dict.fromkeys(axis.columns, code)
        kinds[_text(entries, "VARIABLE-TYPE", name)] = axis.name
        if ("TIMEVAL", name) in entries:
            kinds["T"] = axis.name
    unit = _text(entries, "UNITS")
    note = _text(entries, "NOTE")
    return TableAbout(
        id=_text(entries, "TABLEID"),
        title=_text(entries, "DESCRIPTION"),
        language=_text(entries, "LANGUAGE") or "en",
        source=_text(entries, "SOURCE"),
        contact=_text(entries, "CONTACT"),
        notes=[part.replace("#", "\n") for part in note.split("##")] if note else [],
        labels=labels,
        category_labels=category_labels,
        unit="" if unit == NO_UNIT else unit,
        geography=kinds.get("G", ""),
        time=kinds.get("T", ""),
        totals=totals,
        hierarchies={a.name: a.columns for a in dimensions if len(a.columns) > 1},
    )


def _shown_names(entries: Entries, axes: list[Axis]) -> list[str]:
    names = _texts(entries.get(("STUB", ""), "")) + _texts(entries.get(("HEADING", ""), ""))
    return [*names, ""][: len(axes)]
