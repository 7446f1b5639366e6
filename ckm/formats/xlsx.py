"""XLSX for people: of each language a sheet of the table, and one that says what it is.

The table stands under its title, its first note and its heads, which stay in sight: labels
with codes beside them, measures with their units, and numbers with the decimals to show. An
empty number is a suppressed one.

Written here and not with a library: those at hand round numbers to 15 or 16 digits, put the
time of writing into the file, and are several times slower. Texts are inline strings, never
formulas. Characters that XML cannot hold are written as Excel writes them, ``_x0001_``.
"""

import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import IO
from xml.sax.saxutils import escape

import numpy as np

from ckm.engine.published_table import PublishedTable
from ckm.errors import FormatError
from ckm.formats.about import TableAbout, about_table, to_plain
from ckm.formats.content import free_name, hidden, labelled, require_doubles, shown
from ckm.formats.words import say

XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_CORE = f"{_PACKAGE}/metadata/core-properties"
_TYPE = "application/vnd.openxmlformats-"
_DECIMALS = range(16)
_FIRST_FORMAT = 164  # smaller numbers are formats of Excel's own; 49 is that of texts
_XF = '<xf numFmtId="{}" fontId="{}" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"'
_WRAPPED = ' applyAlignment="1"><alignment horizontal="{}" vertical="top" wrapText="1"/></xf>'
# Styles of cells by their places; numbers follow, by how many decimals they show.
TEXT, TITLE, HEAD, NUMBER_HEAD, LONG = range(5)
_XFS = [
    *(_XF.format(49, font) + "/>" for font in (0, 2)),
    *(_XF.format(49, 1) + _WRAPPED.format(side) for side in ("left", "right")),
    _XF.format(49, 0) + _WRAPPED.format("left"),
    *(_XF.format(_FIRST_FORMAT + places, 0) + "/>" for places in _DECIMALS),
]
_NUMBERS = "".join(
    f'<numFmt numFmtId="{_FIRST_FORMAT + n}" formatCode="#,##0{"." * (n > 0)}{"0" * n}"/>'
    for n in _DECIMALS
)
_FONT = '<sz val="{}"/><name val="Calibri"/></font>'
_STYLES = f"""<styleSheet xmlns="{MAIN}">
<numFmts count="{len(_DECIMALS)}">{_NUMBERS}</numFmts>
<fonts count="3"><font>{_FONT.format(11)}<font><b/>{_FONT.format(11)}
<font><b/>{_FONT.format(14)}</fonts>
<fills count="2"><fill><patternFill patternType="none"/></fill>
<fill><patternFill patternType="gray125"/></fill></fills>
<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>
<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>
<cellXfs count="{len(_XFS)}">{"".join(_XFS)}</cellXfs>
<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>
</styleSheet>"""

HEAD_ROW = 3
MAX_ROWS = (1 << 20) - HEAD_ROW

_MAX_COLUMNS = 16_384
_MAX_TEXT = 32_767
_CHUNK = 1 << 13
_SHOWN = 2  # decimals of numbers of which nobody says how many to show
_NARROW, _WIDE = 11, 60
_ABOUT_WIDTHS = (24, 24, 100)
_SINGLE = ("title", "id", "source", "contact", "updated", "dataflow")
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
    # Title, note and heads stand on each printed page of a table: every other sheet.
    titles = "".join(
        f'<definedName name="_xlnm.Print_Titles" localSheetId="{n}">'
        f"'{sheets[n]}'!$1:${HEAD_ROW}</definedName>"
        for n in range(0, len(sheets), 2)
    )
    texts = {
        "[Content_Types].xml": _content_types(len(sheets)),
        "_rels/.rels": _relationships(roots),
        "docProps/core.xml": f'<cp:coreProperties xmlns:cp="{_CORE}" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title></cp:coreProperties>",
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{_OFFICE}">'
        f"<sheets>{listed}</sheets><definedNames>{titles}</definedNames></workbook>",
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
    sheets: dict[str, Iterable[str]] = {}
    for each in (about, *about.translations):
        sheets[free_name(say("sheet", each.language), sheets)] = _table_sheet(table, each)
        sheets[free_name(say("about", each.language), sheets)] = _about_sheet(table, each)
    with zipfile.ZipFile(stream, "w") as book:
        title = escape(_ODD.sub(" ", about.title))
        for name, text in parts(list(sheets), title=title).items():
            _add(book, name, [text])
        for number, texts in enumerate(sheets.values(), start=1):
            _add(book, f"xl/worksheets/sheet{number}.xml", texts)


def _add(book: zipfile.ZipFile, name: str, texts: Iterable[str]) -> None:
    """Add a file that carries no time and no mark of the machine."""
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 0
    with book.open(entry, "w") as file:
        for text in texts:
            file.write(text.encode())


def _sheet(
    rows: Iterable[str], widths: Sequence[int], *, below: int = 0, last: str = ""
) -> Iterator[str]:
    """Write a sheet: rows below heads that stay in sight, which filter them up to a cell."""
    pane = f'<pane ySplit="{below}" topLeftCell="A{below + 1}" activePane="bottomLeft"'
    pane = f'{pane} state="frozen"/>' if below else ""
    columns = [
        f'<col min="{n}" max="{n}" width="{width}" customWidth="1"/>'
        for n, width in enumerate(widths, start=1)
    ]
    yield (
        f'{XML}<worksheet xmlns="{MAIN}"><sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>'
        f'<sheetViews><sheetView workbookViewId="0">{pane}</sheetView></sheetViews>'
        '<sheetFormatPr defaultRowHeight="15"/>'
        f"<cols>{''.join(columns)}</cols><sheetData>"
    )
    yield from rows
    filters = f'<autoFilter ref="A{below}:{last}"/>' if last else ""
    setup = '<pageSetup orientation="landscape" fitToWidth="1" fitToHeight="0"/>'
    yield f"</sheetData>{filters}{setup}</worksheet>"


def _table_sheet(table: PublishedTable, about: TableAbout) -> Iterator[str]:
    places = [
        about.decimals.get(name, 0 if (shown(values) % 1 == 0).all() else _SHOWN)
        for name, values in table.measures.items()
    ]
    table = labelled(table, about)
    longest = [max(map(len, texts), default=0) for _, texts in table.dimensions.values()]
    longest += [
        len(f"{np.abs(shown(values)).max(initial=0):,.{n}f}")
        for values, n in zip(table.measures.values(), places, strict=True)
    ]
    widths = [min(max(length + 3, _NARROW), _WIDE) for length in longest]
    last = f"{_letters(len(widths) - 1)}{HEAD_ROW + table.n_rows}"
    return _sheet(_table_rows(table, about, places, widths), widths, below=HEAD_ROW, last=last)


def _table_rows(
    table: PublishedTable, about: TableAbout, places: Sequence[int], widths: Sequence[int]
) -> Iterator[str]:
    """Write the rows in pieces, so that a large table needs little memory."""
    yield _text_row(1, [about.title or about.id], [TITLE])
    yield _text_row(2, about.notes[:1], [TEXT])
    styles = [HEAD] * len(table.dimensions) + [NUMBER_HEAD] * len(table.measures)
    yield _text_row(HEAD_ROW, table.columns, styles, widths=widths)
    letters = [_letters(place) for place in range(len(table.columns))]
    fragments = [[_cell(text) for text in texts] for _, texts in table.dimensions.values()]
    for start in range(0, table.n_rows, _CHUNK):
        end = min(start + _CHUNK, table.n_rows)
        rows = range(start + HEAD_ROW + 1, end + HEAD_ROW + 1)
        columns = []
        for (codes, _), texts, letter in zip(
            table.dimensions.values(), fragments, letters, strict=False
        ):
            code = codes[start : start + _CHUNK].tolist()
            columns.append(
                [f'<c r="{letter}{r}"{texts[c]}' for r, c in zip(rows, code, strict=True)]
            )
        for values, letter, decimals in zip(
            table.measures.values(), letters[len(fragments) :], places, strict=True
        ):
            numbers = shown(values)[start : start + _CHUNK].tolist()
            style = LONG + 1 + decimals
            cells = [
                f'<c r="{letter}{r}" s="{style}"><v>{n!r}</v></c>'
                for r, n in zip(rows, numbers, strict=True)
            ]
            for place in np.flatnonzero(hidden(values)[start : start + _CHUNK]).tolist():
                cells[place] = ""
            columns.append(cells)
        lines = zip(rows, zip(*columns, strict=True), strict=True)
        yield "".join([f'<row r="{r}">{"".join(cells)}</row>' for r, cells in lines])


def _text_row(
    number: int, texts: Sequence[str], styles: Sequence[int], *, widths: Sequence[int] = ()
) -> str:
    """Write a row of texts, as high as they need to be in columns of some widths."""
    cells = [
        f'<c r="{_letters(place)}{number}"{_cell(text, style=style)}'
        for place, (text, style) in enumerate(zip(texts, styles, strict=False))
    ]
    lines = [len(wrap(text, width - 1)) for text, width in zip(texts, widths, strict=False)]
    height = f' ht="{15 * max(lines)}" customHeight="1"' if any(lines) else ""
    return f'<row r="{number}"{height}>{"".join(cells)}</row>'


def _cell(text: str, *, style: int = TEXT) -> str:
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


def _about_sheet(table: PublishedTable, about: TableAbout) -> Iterator[str]:
    rows = enumerate(_about_rows(table, about), start=1)
    lines = [_text_row(n, row, [LONG] * 3, widths=_ABOUT_WIDTHS) for n, row in rows]
    return _sheet(lines, _ABOUT_WIDTHS)


def _about_rows(table: PublishedTable, about: TableAbout) -> Iterator[tuple[str, str, str]]:
    """Say what the table is, an item a row, in the language of the sheet."""
    said, language = to_plain(about), about.language
    for item in _SINGLE:
        if item in said:
            yield say(f"about_{item}", language), "", said[item]
    yield from ((say("about_note", language), "", note) for note in about.notes)
    for kind, names in (("dimension", table.dimensions), ("measure", table.measures)):
        for name in names:
            unit = about.units.get(name, about.unit) if kind == "measure" else ""
            label = about.labels.get(name, name) + (f" ({unit})" if unit else "")
            yield say(f"about_{kind}", language), name, label
    if any(hidden(values).any() for values in table.measures.values()):
        yield say("about_empty", language), "", about.suppressed_label
    for name, areas in about.withheld.items():
        yield from ((about.withheld_label, name, area) for area in areas)
