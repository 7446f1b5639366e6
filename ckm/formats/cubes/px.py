"""PX, the files of PxWeb and PC-Axis, after AXIS-VERSION 2013, in UTF-8.

The dimensions are the stub, the measures the heading (``CONTVARIABLE``). A suppressed cell is
``".."``, shown as `TableAbout.suppressed_label`; a cell that the table does not list is
``"."``. Sums of protected cells add up their noise: ``AGGREGALLOWED`` is NO. Rows come back in
the order of the categories. Withheld categories are a note of their column, for people.
Further languages repeat each keyword that has words, as in ``TITLE[fr]``.

A text of PX holds no quotation mark and no line break, a category at most 256 characters, a
number at most 15 decimals: what does not fit is refused. Categories with the same label are
told apart by their code in brackets. An empty line within a note parts it in two.
"""

import datetime as dt
import re
import zlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import IO

import numpy as np
from numpy.typing import NDArray

from ckm.engine.published_table import PublishedTable
from ckm.errors import FormatError
from ckm.formats.about import TableAbout
from ckm.formats.content import free_name, hidden, shown
from ckm.formats.cubes.cube import Axis, Cube, cube_of
from ckm.formats.cubes.json_stat import CONTENTS, elimination
from footing.messages import Message, Name, said

MISSING, SUPPRESSED = '"."', '".."'
NO_UNIT = "-"

_WIDTH = 256
_SHORT = 20
_DECIMALS = 15
_MAX_SHOWN = 6
# Keywords without words, which stand once for all languages.
_COMMON = (
    *("CHARSET", "AXIS-VERSION", "CODEPAGE", "LANGUAGE", "TABLEID", "DECIMALS", "MATRIX"),
    *("SHOWDECIMALS", "AGGREGALLOWED", "SUBJECT-CODE", "DESCRIPTIONDEFAULT"),
)
#: A year; with a half, a quarter, a month or a week, as PX or SDMX write it; or ISO's month.
_PERIOD = re.compile(r"([0-9]{4})(?:-?([HSQMW])([0-9]{1,2})|-([0-9]{2}))?")
_DIGITS = {"A": 0, "H": 1, "Q": 1, "M": 2, "W": 2}


def write_px(table: PublishedTable, stream: IO[bytes], about: TableAbout) -> None:
    """Write a table as PX."""
    if not table.n_rows:
        raise FormatError(
            Message("A PX file holds no table without rows."), hint=Message("choose CSV")
        )
    cube = cube_of(table, about, what="PX")
    numbers = {name: _numbers(name, values) for name, values in table.measures.items()}
    for line in _lines(table, cube, {name: n for name, (_, n) in numbers.items()}):
        stream.write(line.encode() + b"\r\n")
    stream.write(b"DATA=\r\n")
    columns = []
    for texts, _ in numbers.values():
        full: NDArray[np.object_] = np.full(cube.size, MISSING, object)
        full[cube.place] = texts
        columns.append(full.tolist())
    for start in range(0, cube.size, 4096):
        rows = zip(*(column[start : start + 4096] for column in columns), strict=True)
        stream.write(b" \r\n".join(" ".join(row).encode() for row in rows) + b" \r\n")
    stream.write(b";\r\n")


def _lines(table: PublishedTable, cube: Cube, decimals: Mapping[str, int]) -> list[str]:
    """Return all before the numbers: in the first language, then in each further one."""
    lines, about = _Header(table, cube).lines(decimals), cube.about
    if about.translations:
        codes = [about.language, *(each.language for each in about.translations)]
        lines.insert(
            lines.index(_line("LANGUAGE", about.language)) + 1, _list("LANGUAGES", codes)
        )
    for each in about.translations:
        for line in _Header(table, cube_of(table, each, what="PX")).lines(decimals):
            keyword, _, rest = line.partition("=")
            if keyword not in _COMMON:
                word, mark, key = keyword.partition("(")
                lines.append(f"{word}[{each.language}]{mark}{key}={rest}")
    return lines


def _numbers(name: str, values: NDArray[np.generic]) -> tuple[NDArray[np.object_], int]:
    """Return every number as PX writes it, and the decimals that the measure needs."""
    texts = np.empty(len(values), object)
    texts[:] = [repr(number) for number in shown(values).tolist()]
    decimals = 0
    if values.dtype == np.float64:
        texts[:] = [format(Decimal(t), "f") if "e" in t else t for t in texts]
        texts[:] = [t.removesuffix(".0") for t in texts]
        decimals = max(len(t.partition(".")[2]) for t in texts)
    if decimals > _DECIMALS:
        raise FormatError(
            Message(
                "Measure {name!r} has numbers of {decimals} decimals; PX holds {decimals_2}.",
                name=Name(name),
                decimals=decimals,
                decimals_2=_DECIMALS,
            ),
            hint=Message("round them, or choose another format"),
        )
    texts[hidden(values)] = SUPPRESSED
    return texts, decimals


class _Header:
    """The keywords of a file, in the order that the format recommends."""

    def __init__(self, table: PublishedTable, cube: Cube) -> None:
        self._about = about = cube.about
        self._measures = list(table.measures)
        name = free_name(CONTENTS, [axis.name for axis in cube.axes])
        labels = {m: about.labels[m] for m in self._measures if m in about.labels}
        contents = Axis(name=name, columns=(name,), ids=self._measures, labels=labels)
        self._axes = [*cube.axes, contents]
        names = _distinct({a.name: about.labels.get(a.name, a.name) for a in self._axes})
        self._names = [
            _word(names[axis.name], Message("the name of a dimension")) for axis in self._axes
        ]
        self._values = [_values(axis) for axis in self._axes]

    def lines(self, decimals: Mapping[str, int]) -> list[str]:
        """Return the lines of a table whose measures need so many decimals."""
        about = self._about
        digits = [min(about.decimals.get(m, decimals[m]), _MAX_SHOWN) for m in self._measures]
        most = max(*decimals.values(), *digits)
        title = about.title or ", ".join([*self._values[-1], *self._names[:-1]])
        code = _matrix(about.id)
        lines = ['CHARSET="ANSI";', 'AXIS-VERSION="2013";', 'CODEPAGE="utf-8";']
        lines += [_line("LANGUAGE", about.language)]
        lines += [_line("TABLEID", about.id)] if about.id else []
        lines += [f"DECIMALS={most};", f"SHOWDECIMALS={min(digits)};"]
        lines += [_line("MATRIX", code), "AGGREGALLOWED=NO;", _line("SUBJECT-CODE", code)]
        lines += [_line("SUBJECT-AREA", title[:_WIDTH])]
        if about.title:
            lines += [_line("DESCRIPTION", title), "DESCRIPTIONDEFAULT=YES;"]
        lines += [_line("TITLE", title), _line("CONTENTS", title[:_WIDTH])]
        lines += [_line("UNITS", about.unit or NO_UNIT)]
        lines += self._dimensions() + self._precision(digits) + self._last()
        return lines

    def _dimensions(self) -> list[str]:
        lines = [_list("STUB", self._names[:-1])] if len(self._names) > 1 else []
        lines += [_list("HEADING", self._names[-1:]), _line("CONTVARIABLE", self._names[-1])]
        for axis, name, values in zip(self._axes, self._names, self._values, strict=True):
            key = f'("{name}")'
            lines.append(_list("VALUES" + key, values))
            lines += self._time(axis, key)
            if values != list(axis.ids):
                for text in axis.ids:
                    _word(text, Message("a category of {axis!r}", axis=Name(axis.name)))
                lines.append(_list("CODES" + key, axis.ids))
            if name != axis.name:
                word = _word(axis.name, Message("the name of a dimension"))
                lines.append(_line("VARIABLECODE" + key, word))
            lines += self._kind(axis, key) + self._tree(axis, key)
            total = elimination(axis, self._about)
            if total is not None:
                lines.append(_line("ELIMINATION" + key, values[list(axis.ids).index(total)]))
        units = [self._about.units.get(m, self._about.unit) for m in self._measures]
        lines += [
            _line(f'UNITS("{value}")', unit or NO_UNIT)
            for value, unit in zip(self._values[-1], units, strict=True)
        ]
        return lines

    def _precision(self, digits: Sequence[int]) -> list[str]:
        """Return the decimals of measures that show more than others, such as means."""
        return [
            f'PRECISION("{self._names[-1]}","{value}")={decimals};'
            for value, decimals in zip(self._values[-1], digits, strict=True)
            if decimals > min(digits)
        ]

    def _time(self, axis: Axis, key: str) -> list[str]:
        """Return the periods of the dimension of time, where all of them are periods."""
        if axis.name != self._about.time:
            return []
        periods = [_period(text) for text in axis.ids]
        scales = {scale for scale, _ in periods}
        if len(scales) != 1 or "" in scales:
            return []
        return [
            f"TIMEVAL{key}=TLIST({scales.pop()}1)," + _list("", [t for _, t in periods])[1:]
        ]

    def _kind(self, axis: Axis, key: str) -> list[str]:
        about = self._about
        if about.geography and (
            axis.name == about.geography or about.geography in axis.columns
        ):
            return [_line("VARIABLE-TYPE" + key, "G")]
        if about.time and (axis.name == about.time or about.time in axis.columns):
            return [_line("VARIABLE-TYPE" + key, "T")]
        return []

    def _tree(self, axis: Axis, key: str) -> list[str]:
        if len(axis.columns) == 1:
            return []
        levels = [
            _word(name, Message("the name of a column")) for name in (axis.name, *axis.columns)
        ]
        lines = []
        if axis.total is not None:
            pairs = [
                f'"{parent}":"{child}"'
                for parent, below in axis.children.items()
                for child in below
            ]
            tree = ",\r\n".join([f'"{axis.total}"', *pairs])
            lines = [f"HIERARCHIES{key}={tree};", f"HIERARCHYLEVELS{key}={len(levels)};"]
        return [*lines, _list("HIERARCHYNAMES" + key, levels)]

    def _last(self) -> list[str]:
        about, lines = self._about, []
        if about.updated:
            clock = "%H:%M" if isinstance(about.updated, dt.datetime) else "00:00"
            lines.append(_line("LAST-UPDATED", about.updated.strftime(f"%Y%m%d {clock}")))
        lines += [_line("CONTACT", about.contact)] if about.contact else []
        lines += [_line("SOURCE", about.source)] if about.source else []
        if about.notes:
            if any("#" in note for note in about.notes):
                raise FormatError(
                    Message("A note of PX holds no '#': it stands for a line break."),
                    hint=Message("change the note, or choose another format"),
                )
            lines.append(
                _line("NOTE", "##".join(note.replace("\n", "#") for note in about.notes))
            )
        for axis, name in zip(self._axes, self._names, strict=True):
            areas = [text for column in axis.columns for text in about.withheld.get(column, ())]
            if areas:
                note = f"{about.withheld_label}: {', '.join(areas)}"
                lines.append(_line(f'NOTEX("{name}")', note))
        word = about.suppressed_label
        return [*lines, _line("DATASYMBOL2", word if len(word) <= _SHORT else "..")]


def _period(text: str) -> tuple[str, str]:
    """Return the scale of a period and the period, as PX writes it; no scale for none."""
    match = _PERIOD.fullmatch(text)
    if match is None:
        return "", ""
    scale = "M" if match[4] else {None: "A", "S": "H"}.get(match[2], match[2])
    part = match[3] or match[4] or ""
    return scale, match[1] + (part.lstrip("0").zfill(_DIGITS[scale]) if part else "")


def _matrix(table_id: str) -> str:
    """Return an id of at most 20 characters; the end of a longer one becomes a checksum."""
    if len(table_id) > _SHORT:
        return f"{table_id[: _SHORT - 9]}-{zlib.crc32(table_id.encode()):08x}"
    return table_id or "table"


def _values(axis: Axis) -> list[str]:
    """Return the texts of an axis, each different from the others."""
    what = Message("a category of {axis!r}", axis=Name(axis.name))
    labels = _distinct({text: axis.labels.get(text, text) for text in axis.ids})
    return [_word(labels[text], what) for text in axis.ids]


def _distinct(labels: dict[str, str]) -> dict[str, str]:
    """Add the code to labels that repeat."""
    counts: dict[str, int] = {}
    for label in labels.values():
        counts[label] = counts.get(label, 0) + 1
    texts = {c: t if counts[t] == 1 or t == c else f"{t} [{c}]" for c, t in labels.items()}
    if len(set(texts.values())) < len(texts):
        raise FormatError(
            Message("PX tells categories apart by their labels, and some are the same."),
            hint=Message("change the labels, or choose JSON-stat"),
        )
    return texts


def _word(text: str, what: str) -> str:
    """Check the text of a name or a category."""
    if not text or len(text) > _WIDTH:
        raise FormatError(
            Message(
                "PX holds texts of 1 to {width} characters; {what} has {number}.",
                width=_WIDTH,
                what=said(what),
                number=len(text),
            ),
            hint=Message("choose another format"),
        )
    return _plain(text, what)


def _plain(text: str, what: str) -> str:
    if '"' in text or any(ord(mark) < 32 or mark in "\x7f\x85\u2028\u2029" for mark in text):
        raise FormatError(
            Message(
                "PX holds no quotation marks, line breaks and control characters; {what} does.",
                what=said(what),
            ),
            hint=Message("choose another format"),
        )
    return text


def _line(keyword: str, text: str) -> str:
    """Write a keyword with one text, a long one in pieces."""
    _plain(text, Message("the text of {partition}", partition=said(keyword.partition("(")[0])))
    pieces = [text[start : start + _WIDTH] for start in range(0, len(text), _WIDTH)] or [""]
    return f"{keyword}=" + "\r\n".join(f'"{piece}"' for piece in pieces) + ";"


def _list(keyword: str, texts: Sequence[str]) -> str:
    """Write a keyword with several texts, lines broken between them."""
    lines, line = [], f"{keyword}="
    for place, text in enumerate(texts):
        entry = f'"{text}"' + ("," if place < len(texts) - 1 else ";")
        if len(line) + len(entry) > _WIDTH and not line.endswith("="):
            lines.append(line)
            line = ""
        line += entry
    return "\r\n".join([*lines, line])
