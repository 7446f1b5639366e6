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
from footing.data_files import read_data
from footing.messages import Message

_BOOK = read_data("ckm.formats", "xlsx.toml")
#: Styles of cells by their places in the book; numbers follow, by how many decimals they show.
TEXT, TITLE, HEAD, NUMBER_HEAD, LONG = range(5)

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
    filled = {
        key: "".join(text.format(n=n, name=name) for n, name in enumerate(sheets, start=1))
        for key, text in _BOOK["sheet"].items()
    }
    filled["titles"] = "".join(
        _BOOK["around"]["titles"].format(place=place, name=sheets[place], head=HEAD_ROW)
        for place in range(0, len(sheets), 2)
    )
    return {name: text.format(title=title, **filled) for name, text in _BOOK["parts"].items()}


def write_xlsx(table: PublishedTable, stream: IO[bytes], about: TableAbout) -> None:
    """Write a table as XLSX."""
    if table.n_rows > MAX_ROWS or 2 * len(table.columns) > _MAX_COLUMNS:
        raise FormatError(
            Message(
                "XLSX holds {max_rows:,} rows and {max_columns:,} columns; the table has "
                "{n_rows:,} and {number:,}.",
                max_rows=MAX_ROWS,
                max_columns=_MAX_COLUMNS // 2,
                n_rows=table.n_rows,
                number=len(table.columns),
            ),
            hint=Message("choose CSV or Parquet"),
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
    around = _BOOK["around"]
    pane = around["pane"].format(below=below, first=below + 1) if below else ""
    columns = [
        around["column"].format(n=n, width=width) for n, width in enumerate(widths, start=1)
    ]
    yield around["before"].format(pane=pane, columns="".join(columns))
    yield from rows
    filters = around["filters"].format(below=below, last=last) if last else ""
    yield around["after"].format(filters=filters)


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
            Message(
                "A cell of XLSX holds {max_text:,} characters; a text has {number:,}.",
                max_text=_MAX_TEXT,
                number=len(text),
            ),
            hint=Message("choose another format"),
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
    content, language = to_plain(about), about.language
    for item in _SINGLE:
        if item in content:
            yield say(f"about_{item}", language), "", content[item]
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
