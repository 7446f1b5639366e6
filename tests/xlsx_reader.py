"""Read XLSX: the sheets that this package writes, also when a spreadsheet saved them again."""

from __future__ import annotations

import re
import zipfile
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np

from ckm.engine.published_table import PublishedTable
from ckm.errors import FormatError
from ckm.formats.about import TableAbout, from_plain
from ckm.formats.content import encoded, masked
from ckm.formats.xlsx import ABOUT, CATEGORIES, DECIMAL, MAX_ROWS, TABLE, WITHHELD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["read_xlsx"]

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_BY_COLUMN = {"total": "totals", "unit": "units", "decimals": "decimals"}
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")

Row = dict[int, str]


def read_xlsx(path: Path) -> tuple[PublishedTable, TableAbout]:
    """Read a table from XLSX.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    FormatError
        If it is no such file.
    """
    try:
        with zipfile.ZipFile(path) as book:
            sheets = {name: list(_rows(book, part)) for name, part in _sheets(book).items()}
            return _table(sheets), _about(sheets)
    except (
        AttributeError,
        IndexError,
        KeyError,
        OSError,
        StopIteration,
        ValueError,
        ET.ParseError,
        zipfile.BadZipFile,
    ) as error:
        if isinstance(error, (FormatError, FileNotFoundError, PermissionError)):
            raise
        raise FormatError(
            f"The file {path.name!r} is no XLSX file of a table.",
            hint=f"it needs the sheets {TABLE!r}, {ABOUT!r} and {CATEGORIES!r}",
        ) from None


def _sheets(book: zipfile.ZipFile) -> dict[str, str]:
    """Return the sheets by name, each with its texts resolved later."""
    links = {
        link.get("Id"): str(link.get("Target")).removeprefix("/xl/")
        for link in _parse(book, "xl/_rels/workbook.xml.rels")
    }
    sheets = _parse(book, "xl/workbook.xml").iter(f"{_MAIN}sheet")
    return {str(sheet.get("name")): f"xl/{links[sheet.get(_LINK)]}" for sheet in sheets}


def _parse(book: zipfile.ZipFile, part: str) -> ET.Element:
    return ET.fromstring(book.read(part))  # noqa: S314  (expat limits what entities expand to)


def _rows(book: zipfile.ZipFile, part: str) -> Iterator[Row]:
    """Yield the rows of a sheet: place of the column → text."""
    shared = (
        [_text(entry) for entry in _parse(book, "xl/sharedStrings.xml")]
        if "xl/sharedStrings.xml" in book.namelist()
        else []
    )
    with book.open(part) as file:
        for number, (_, element) in enumerate(ET.iterparse(file)):  # noqa: S314  (as above)
            if element.tag != f"{_MAIN}row":
                continue
            if number > 64 * MAX_ROWS:
                raise ValueError
            row = {}
            for place, cell in enumerate(element):
                text = _value(cell, shared)
                if text is not None:
                    row[_place(cell.get("r"), place)] = text
            yield row
            element.clear()


def _value(cell: ET.Element, shared: Sequence[str]) -> str | None:
    kind = cell.get("t")
    if kind == "inlineStr":
        return _text(cell)
    value = cell.find(f"{_MAIN}v")
    text = None if value is None else value.text
    if text is None:
        return None
    if kind == "s":
        return shared[int(text)]
    return _unescape(text) if kind == "str" else text


def _text(element: ET.Element) -> str:
    return _unescape("".join(part.text or "" for part in element.iter(f"{_MAIN}t")))


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda code: chr(int(code[1], 16)), text) if "_x" in text else text


def _place(reference: str | None, place: int) -> int:
    if reference is None:
        return place
    found = 0
    for letter in reference.rstrip("0123456789"):
        found = found * 26 + ord(letter) - 64
    return found - 1


def _listed(sheets: Mapping[str, Sequence[Row]], name: str) -> list[tuple[str, ...]]:
    return [tuple(row.get(place, "") for place in range(3)) for row in sheets[name][1:]]


def _table(sheets: Mapping[str, Sequence[Row]]) -> PublishedTable:
    header, *rows = sheets[TABLE]
    names = [header[place] for place in range(len(header))]
    said = _listed(sheets, ABOUT)
    numbers = {name: text for item, name, text in said if item == "numbers"}
    wanted = {name for item, name, _ in said if item == "dimension"}
    categories: dict[str, list[str]] = {name: [] for name in names if name in wanted}
    for name, text, _ in _listed(sheets, CATEGORIES):
        categories[name].append(text)
    dimensions, measures = {}, {}
    for place, name in enumerate(names):
        column = [row.get(place) for row in rows]
        if name in categories:
            dimensions[name] = _dimension([text or "" for text in column], categories[name])
        elif name in numbers:  # the rest are labels
            measures[name] = _measure(column, is_whole=numbers[name] != DECIMAL)
    return PublishedTable(dimensions=dimensions, measures=measures)


def _dimension(texts: Sequence[str], categories: Sequence[str]) -> tuple[Any, list[str]]:
    places = {text: place for place, text in enumerate(categories)}
    if not set(texts) <= set(places):  # somebody added rows
        return encoded(texts)
    codes = np.fromiter((places[text] for text in texts), np.int32, len(texts))
    return codes, list(categories)


def _measure(column: Sequence[str | None], *, is_whole: bool) -> Any:
    mask = np.fromiter((text is None for text in column), bool, len(column))
    if is_whole:
        numbers = [_whole(text) for text in column]
        return masked(np.array(numbers, np.int64), mask)
    return masked(np.array([float(text or 0) for text in column], np.float64), mask)


def _whole(text: str | None) -> int:
    """Read a whole number, which a spreadsheet may have saved as 5E3."""
    if text is None:
        return 0
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if not number.is_integer():
            raise
        return int(number)


def _about(sheets: Mapping[str, Sequence[Row]]) -> TableAbout:
    plain: dict[str, Any] = {"notes": [], "labels": {}, "totals": {}, "hierarchies": {}}
    for item, name, text in _listed(sheets, ABOUT):
        if item == "note":
            plain["notes"].append(text)
        elif item in {"dimension", "measure", "hierarchy"}:
            plain["labels"] |= {name: text} if text != name else {}
        elif item == "level":
            plain["hierarchies"].setdefault(name, []).append(text)
        elif item in _BY_COLUMN and name:
            said = int(text) if item == "decimals" else text
            plain.setdefault(_BY_COLUMN[item], {})[name] = said
        elif not name:
            plain[item] = text
    labels: dict[str, dict[str, str]] = {}
    for column, category, label in _listed(sheets, CATEGORIES):
        if label != category:
            labels.setdefault(column, {})[category] = label
    withheld: dict[str, list[str]] = {}
    for column, category, _ in _listed(sheets, WITHHELD) if WITHHELD in sheets else []:
        withheld.setdefault(column, []).append(category)
    return from_plain(plain | {"category_labels": labels, "withheld": withheld})
