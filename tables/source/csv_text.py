"""The text of CSV files, line by line: header, encoding, line ends, and where a text stands.

DuckDB reads the records. This reads the first line, and looks a line up where something is
to be said of it: of its text the shape alone is told.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import IO, Any

from footing.messages import Argument, Message, Name, said
from tables.errors import SourceError
from tables.refusals import colliding_names

_DELIMITERS = ",;\t|"
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_MOST_NAME, _MOST_HEADER = 10_000, 50_000_000
_BREAK = re.compile(r"\r\n|\r|\n")
_CHUNK = 1 << 22
_LOOK = 65_536
# Blanks as C and DuckDB know them; Python's own are more.
_BLANKS = r"[ \t\n\v\f\r]*"
_NUMBER = re.compile(_BLANKS + r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?" + _BLANKS)
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
#: What programs write where a value is missing.
MISSING_TEXTS = frozenset(
    {"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "NULL", "null", "None", "."}
)
_FAILURES = (OSError, EOFError, zlib.error)


@dataclass(frozen=True, slots=True)
class Layout:
    """What the first line of a CSV file says.

    Parameters
    ----------
    delimiter
        The sign between two fields.
    names
        The columns.
    """

    delimiter: str
    names: tuple[str, ...]


def read_layout(file: str) -> Layout:
    """Read the first line of a CSV file, which names every column."""
    name = Path(file).name
    _require_encoding(file)
    header = _first_record(file)
    if not header.strip() and _is_blank(file):
        raise SourceError(
            Message(
                "The file {name!r} is empty: it holds no line, or blank ones alone.",
                name=Argument(name),
            ),
            hint=Message("is it the file that was meant, and was it written to its end?"),
        )
    delimiter = max(_DELIMITERS, key=_QUOTED.sub("", header).count)
    names = tuple(_fields(header, delimiter))
    if not any(names) or any(not each.strip() for each in names):
        raise SourceError(
            Message("The first line of {name!r} must name every column.", name=Name(name)),
            hint=Message(
                "add a header line, without a delimiter at its end; from R, write with "
                "row.names = FALSE"
            ),
        )
    if any(len(each) > _MOST_NAME for each in names):
        raise SourceError(
            Message(
                "A column of {name!r} has a name of more than {most_name:,} characters.",
                name=Name(name),
                most_name=_MOST_NAME,
            ),
            hint=Message("is a quote left open in the first line?"),
        )
    for refusal in colliding_names(names).values():
        raise SourceError(refusal.problem, hint=refusal.hint)
    return Layout(delimiter, names)


def _require_encoding(file: str) -> None:
    """Refuse what begins like another encoding than UTF-8."""
    with _opened(file) as handle:
        start: bytes = handle.read(_LOOK)
    encoding = _MARKS.get(start[:2])
    if encoding is None and b"\0" in start[:4]:
        encoding = "UTF-16"  # without a mark: every second byte of plain letters is 0
    if encoding is not None:
        raise not_utf_8(Path(file).name, encoding)


def not_utf_8(name: str, encoding: str, where: str = "") -> SourceError:
    """Return the error of a file in another encoding, with the way out."""
    return SourceError(
        Message(
            "The file {name!r} is not a text in UTF-8{where}; it may be {encoding}.",
            name=Name(name),
            where=said(where),
            encoding=said(encoding),
        ),
        hint=Message(
            "save it as CSV UTF-8, or convert it: iconv -f {encoding} -t UTF-8",
            encoding=said(encoding),
        ),
    )


def _is_blank(file: str) -> bool:
    with _lines(file) as lines:
        return not any(map(str.strip, lines))


def _first_record(file: str) -> str:
    parts: list[str] = []
    is_open, size = False, 0
    with _lines(file) as lines:
        for line in lines:
            parts.append(line)
            size += len(line)
            is_open ^= line.count('"') % 2 == 1
            if not is_open or size > _MOST_HEADER:
                break
    text = "".join(parts)
    header = text.rstrip("\r\n")
    breaks = _BREAK.findall(text)
    if len(set(breaks)) > 1:  # DuckDB takes the first for the end of all lines
        raise SourceError(
            Message(
                "A name in the first line of {path!r} holds a line break.",
                path=Name(Path(file).name),
            ),
            hint=Message("remove it: lines end in another way"),
        )
    if any("\udc80" <= sign <= "\udcff" for sign in header):  # bytes that are no UTF-8
        raise not_utf_8(Path(file).name, "WINDOWS-1252")
    return header


def rows(file: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of every record behind the header, with the number of its first line."""
    parts: list[str] = []
    first, is_open, is_header = 1, False, True
    with _lines(file) as lines:
        for number, line in enumerate(lines, start=1):
            if not parts:
                first = number
            parts.append(line)
            is_open ^= line.count('"') % 2 == 1
            if is_open:
                continue
            text, parts = "".join(parts).rstrip("\r\n"), []
            if not is_header:
                yield first, _fields(text, delimiter)
            is_header = False


def find_text(
    layouts: Mapping[str, Layout], column: str, fits: Callable[[str], bool]
) -> tuple[str, int, str] | None:
    """Return the file, the line and the text of a column's first text that does not fit."""
    with contextlib.suppress(*_FAILURES):
        for file, layout in layouts.items():
            place = layout.names.index(column)
            for line, fields in rows(file, layout.delimiter):
                if place < len(fields) and fields[place] and not fits(fields[place]):
                    return file, line, fields[place]
    return None


def test_of(word: str, *, decimal: str) -> Callable[[str], bool]:
    """Return what tells whether a text is of a declared type."""
    tests: dict[str, Callable[[str], bool]] = {"integer": is_whole, "date": is_day}
    return tests.get(word, functools.partial(is_number, decimal=decimal))


def is_number(text: str, *, decimal: str = ".") -> bool:
    """Tell whether a text is a finite number."""
    if decimal != ".":
        text = text.replace(".", "x").replace(decimal, ".")
    return _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def is_whole(text: str) -> bool:
    """Tell whether a text is a whole number, written as it is printed."""
    return _WHOLE.fullmatch(text) is not None and abs(int(text)) < 2**127


def is_day(text: str) -> bool:
    """Tell whether a text is a day such as 2027-03-31."""
    try:
        return _DAY.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def cure(text: str, *, decimal: str) -> str | None:
    """Say what helps with a text that would be a number if it were written otherwise."""
    if text in MISSING_TEXTS:
        return Message(
            "where this text stands for a missing value: missing = [{text!r}] in a job, "
            "--missing {text} in a command",
            text=Name(text),
        )
    other = "," if decimal == "." else "."
    if is_number(text, decimal=other):
        return Message(
            'where {mark} is the decimal mark: decimal = "{mark}" in a job, --decimal {mark} '
            "in a command",
            mark=Name(other),
        )
    bare = re.sub(r"(?<=[0-9])[ ,.'_\u00a0\u202f\u2019](?=[0-9]{3})", "", text)
    if is_number(bare, decimal=decimal) or is_number(bare, decimal=other):
        return Message("write numbers without a separator of thousands")
    return None


def is_of_two_line_ends(file: str) -> bool:
    """Tell whether some lines of a file end in another way than others."""
    return len(_line_ends(file)) > 1


def _line_ends(file: str) -> set[bytes]:
    ends: set[bytes] = set()
    with _opened(file) as handle:
        tail = b""
        while chunk := handle.read(_CHUNK):
            chunk, tail = tail + chunk, b""
            if chunk.endswith(b"\r"):
                chunk, tail = chunk[:-1], b"\r"
            pairs, feeds = chunk.count(b"\r\n"), chunk.count(b"\n")
            ends |= {b"\r\n"} if pairs else set()
            ends |= {b"\n"} if feeds > pairs else set()
            ends |= {b"\r"} if chunk.count(b"\r") > pairs else set()
    return ends | ({b"\r"} if tail else set())


@contextlib.contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    """Open the bytes of a file, decompressed."""
    opener: Any = gzip.open if file.lower().endswith(".gz") else open
    problem = None
    try:
        with opener(file, "rb") as handle:
            yield handle
    except (EOFError, zlib.error, gzip.BadGzipFile):
        problem = "gzip"
    except OSError as error:
        problem = type(error).__name__
    if problem == "gzip":
        raise SourceError(
            Message(
                "The file {path!r} is no whole file of gzip: it ends too early, or is damaged.",
                path=Argument(Path(file).name),
            ),
            hint=Message("compress it again, or decompress it and name the text"),
        )
    if problem is not None:
        raise SourceError(
            Message(
                "The file {path!r} cannot be read ({problem}).",
                path=Name(Path(file).name),
                problem=said(problem),
            ),
            hint=Message("is it complete, and may you read it?"),
        )


@contextlib.contextmanager
def _lines(file: str) -> Iterator[IO[str]]:
    """Open the lines of a file, with their ends, whichever these are."""
    opener: Any = gzip.open if file.lower().endswith(".gz") else open
    with opener(
        file, "rt", encoding="utf-8-sig", errors="surrogateescape", newline=""
    ) as handle:
        yield handle


def _fields(text: str, delimiter: str) -> list[str]:
    """Split a record into its fields."""
    if '"' not in text:
        return text.split(delimiter)
    fields, at = [], 0
    while True:
        quoted = _QUOTED.match(text, at)
        value, start = (
            (quoted[1].replace('""', '"'), quoted.end()) if quoted is not None else ("", at)
        )
        end = text.find(delimiter, start)
        fields.append(value + text[start : end if end >= 0 else None])
        if end < 0:
            return fields
        at = end + len(delimiter)
