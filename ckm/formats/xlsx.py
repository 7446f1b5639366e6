"""XLSX: the table, what is said about it, its categories and what is withheld, a sheet each.

Written here and not with a library: those at hand round numbers to 15 or 16 digits, put the
time of writing into the file, and are several times slower. Texts are inline strings, never
formulas; beside codes that have labels stands a column of them. An empty number is a
suppressed one. Characters that XML cannot hold are written as Excel writes them, ``_x0001_``.
"""

from __future__ import annotations

import re
import zipfile
from typing import IO, TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np

from ckm.errors import FormatError
from ckm.formats.about import about_table, to_plain
from ckm.formats.content import hidden, require_doubles, shown
from ckm.formats.cube import free_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ckm.engine.published_table import PublishedTable
    from ckm.formats.about import TableAbout

XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_CORE = f"{_PACKAGE}/metadata/core-properties"
_TYPE = "application/vnd.openxmlformats-"
_PLAIN = 'numFmtId="0" fontId="0" fillId="0" borderId="0"'
# Three styles of cells: plain, bold for headings, and texts that stay texts when edited.
_STYLES = f"""<styleSheet xmlns="{MAIN}">
<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>
<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>
<fills count="2"><fill><patternFill patternType="none"/></fill>
<fill><patternFill patternType="gray125"/></fill></fills>
<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>
<cellStyleXfs count="1"><xf {_PLAIN}/></cellStyleXfs>
<cellXfs count="3"><xf {_PLAIN} xfId="0"/>
<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>
<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>
<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>
</styleSheet>"""

MAX_ROWS = 1_048_575
TABLE, ABOUT, CATEGORIES, WITHHELD = "table", "about", "categories", "withheld"
WHOLE, DECIMAL = "whole numbers", "decimal numbers"

_MAX_COLUMNS = 16_384
_MAX_TEXT = 32_767
_CHUNK = 1 << 13
_SINGLE = (
    *("id", "title", "language", "source", "contact", "unit", "updated", "geography", "time"),
    *("suppressed_label", "withheld_label", "dataflow"),
)
# What XML cannot hold or would change, and texts that look like an escape of it.
_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


def parts(sheets: Sequence[str], *, title: str) -> dict[str, str]:
    """Return all parts but the sheets: name → text."""
    listed = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>'
        for n, name in enumerate(sheets, start=1)
    )
    links = [
        (f"{_OFFICE}/worksheet", f"worksheets/sheet{n + 1}.xml") for n in range(len(sheets))
    ]
    links.append((f"{_OFFICE}/styles", "styles.xml"))
    roots = [
        (f"{_OFFICE}/officeDocument", "xl/workbook.xml"),
        (f"{_PACKAGE}/relationships/metadata/core-properties", "docProps/core.xml"),
    ]
    texts = {
        "[Content_Types].xml": _content_types(len(sheets)),
        "_rels/.rels": _relationships(roots),
        "docProps/core.xml": f'<cp:coreProperties xmlns:cp="{_CORE}" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title></cp:coreProperties>",
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{_OFFICE}">'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relationships(links),
        "xl/styles.xml": _STYLES,
    }
    return {name: XML + text for name, text in texts.items()}


def _content_types(n_sheets: int) -> str:
    sheet = f"{_TYPE}officedocument.spreadsheetml."
    types = {
        "/xl/workbook.xml": f"{sheet}sheet.main+xml",
        "/xl/styles.xml": f"{sheet}styles+xml",
        "/docProps/core.xml": f"{_TYPE}package.core-properties+xml",
    }
    for number in range(1, n_sheets + 1):
        types[f"/xl/worksheets/sheet{number}.xml"] = f"{sheet}worksheet+xml"
    overrides = "".join(
        f'<Override PartName="{name}" ContentType="{kind}"/>' for name, kind in types.items()
    )
    return (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        f'<Default Extension="rels" ContentType="{_TYPE}package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>'
    )


def _relationships(links: Sequence[tuple[str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="rId{n}" Type="{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(links, start=1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{listed}</Relationships>'


def write_xlsx(table: PublishedTable, stream: IO[bytes], about: TableAbout) -> None:
    """Write a table as XLSX."""
    if table.n_rows > MAX_ROWS or 2 * len(table.columns) > _MAX_COLUMNS:
        raise FormatError(
            f"XLSX holds {MAX_ROWS:,} rows and {_MAX_COLUMNS // 2:,} columns; the table has"
            f" {table.n_rows:,} and {len(table.columns):,}.",
            hint="choose CSV or Parquet",
        )
    require_doubles(table, "XLSX")
    about = about_table(about, table)
    sheets: dict[str, Iterable[str]] = {
        TABLE: _table_rows(table, about),
        ABOUT: _text_rows(["item", "name", "text"], _about_rows(table, about)),
        CATEGORIES: _text_rows(["column", "category", "label"], _category_rows(table, about)),
    }
    if about.withheld:
        sheets[WITHHELD] = _text_rows(
            ["column", about.withheld_label],
            [(column, text) for column, areas in about.withheld.items() for text in areas],
        )
    with zipfile.ZipFile(stream, "w") as book:
        title = escape(_ODD.sub(" ", about.title))
        for name, text in parts(list(sheets), title=title).items():
            _add(book, name, [text])
        for number, rows in enumerate(sheets.values(), start=1):
            _add(book, f"xl/worksheets/sheet{number}.xml", _sheet(rows, is_first=number == 1))


def _add(book: zipfile.ZipFile, name: str, texts: Iterable[str]) -> None:
    """Add a file that carries no time and no mark of the machine."""
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 0
    with book.open(entry, "w") as file:
        for text in texts:
            file.write(text.encode())


def _sheet(rows: Iterable[str], *, is_first: bool) -> Iterator[str]:
    pane = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'
    selected = ' tabSelected="1"' if is_first else ""
    yield (
        f'{XML}<worksheet xmlns="{MAIN}"><sheetViews><sheetView{selected} workbookViewId="0">'
        f'{pane}</sheetView></sheetViews><sheetFormatPr defaultRowHeight="15"/>'
        '<cols><col min="1" max="64" width="18" customWidth="1"/></cols><sheetData>'
    )
    yield from rows
    yield "</sheetData></worksheet>"


def _text_columns(table: PublishedTable, about: TableAbout) -> dict[str, tuple[Any, list[str]]]:
    """Return the columns of codes, and beside each that has labels a column of them."""
    columns: dict[str, tuple[Any, list[str]]] = {}
    for name, (codes, categories) in table.dimensions.items():
        columns[name] = codes, list(categories)
        labels = about.category_labels.get(name, {})
        texts = [labels.get(text, text) for text in categories]
        if texts != list(categories):
            shown = about.labels.get(name, name)
            columns[free_name(shown, [*table.columns, *columns])] = codes, texts
    return columns


def _table_rows(table: PublishedTable, about: TableAbout) -> Iterator[str]:
    """Write the rows in pieces, so that a large table needs little memory."""
    texts = _text_columns(table, about)
    header = [*texts, *table.measures]
    yield _text_row(1, header, style=1)
    letters = [_letters(place) for place in range(len(header))]
    fragments = [[_cell(text) for text in categories] for _, categories in texts.values()]
    for start in range(0, table.n_rows, _CHUNK):
        rows = range(start + 2, min(start + _CHUNK, table.n_rows) + 2)
        columns = []
        for (codes, _), cells, letter in zip(texts.values(), fragments, letters, strict=False):
            code = codes[start : start + _CHUNK].tolist()
            columns.append(
                [f'<c r="{letter}{r}"{cells[c]}' for r, c in zip(rows, code, strict=True)]
            )
        for values, letter in zip(
            table.measures.values(), letters[len(fragments) :], strict=True
        ):
            numbers = shown(values)[start : start + _CHUNK].tolist()
            cells = [
                f'<c r="{letter}{r}"><v>{n!r}</v></c>'
                for r, n in zip(rows, numbers, strict=True)
            ]
            for place in np.flatnonzero(hidden(values)[start : start + _CHUNK]).tolist():
                cells[place] = ""
            columns.append(cells)
        lines = zip(rows, zip(*columns, strict=True), strict=True)
        yield "".join([f'<row r="{r}">{"".join(cells)}</row>' for r, cells in lines])


def _text_rows(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _text_row(1, header, style=1)
    for number, row in enumerate(rows, start=2):
        yield _text_row(number, row)


def _text_row(number: int, texts: Sequence[str], *, style: int = 2) -> str:
    cells = [
        f'<c r="{_letters(place)}{number}"{_cell(text, style=style)}'
        for place, text in enumerate(texts)
    ]
    return f'<row r="{number}">{"".join(cells)}</row>'


def _cell(text: str, *, style: int = 2) -> str:
    """Write a text as what follows the reference of its cell."""
    if len(text) > _MAX_TEXT:
        raise FormatError(
            f"A cell of XLSX holds {_MAX_TEXT:,} characters; a text has {len(text):,}.",
            hint="choose another format",
        )
    safe = escape(_ODD.sub(lambda odd: f"_x{ord(odd[0]):04X}_", text))
    return f' t="inlineStr" s="{style}"><is><t xml:space="preserve">{safe}</t></is></c>'


def _letters(place: int) -> str:
    text = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        text = chr(65 + rest) + text
    return text


def _about_rows(table: PublishedTable, about: TableAbout) -> Iterator[tuple[str, str, str]]:
    """Say everything but the categories, an item a row."""
    said = {"language": about.language} | to_plain(about)
    for item in _SINGLE:
        if item in said:
            yield item, "", said[item]
    yield from (("note", "", note) for note in about.notes)
    yield from (("dimension", name, about.labels.get(name, name)) for name in table.dimensions)
    for name, values in table.measures.items():
        yield "measure", name, about.labels.get(name, name)
        yield "numbers", name, WHOLE if values.dtype == np.int64 else DECIMAL
        if name in about.units:
            yield "unit", name, about.units[name]
        if name in about.decimals:
            yield "decimals", name, str(about.decimals[name])
    for name, columns in about.hierarchies.items():
        yield "hierarchy", name, about.labels.get(name, name)
        yield from (("level", name, column) for column in columns)
    yield from (("total", name, total) for name, total in about.totals.items())


def _category_rows(table: PublishedTable, about: TableAbout) -> Iterator[tuple[str, str, str]]:
    for name, (_, categories) in table.dimensions.items():
        labels = about.category_labels.get(name, {})
        for text in categories:
            yield name, text, labels.get(text, text)
