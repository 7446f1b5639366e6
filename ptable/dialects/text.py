"""From the bytes of a file, or a data frame, to lines of cells, with all problems collected."""

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from footing.messages import Argument, Message, Name, joined, said
from ptable.errors import PTableError

_MAX_BYTES = 2**28
_SHOWN = 5
_LONGEST_CELL = 64
_WIDE_ENCODINGS = (b"\xff\xfe", b"\xfe\xff")


class Problems:
    """What is wrong with a source, collected and told together.

    Parameters
    ----------
    source
        What the message calls the source.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.hint: str | None = None
        self._shown: list[str] = []
        self._total = 0

    def add(self, problem: str, *, line: int | None = None, count: int | None = None) -> None:
        """Note a problem and where it is."""
        self._total += 1
        if self._total <= _SHOWN:
            place = [Message("line {line}", line=line)] if line is not None else []
            place += [Message("count {count}", count=count)] if count is not None else []
            self._shown.append(
                joined(": ", [joined(", ", place), problem]) if place else problem
            )

    def add_cell(
        self, cell: str, must: str, *, line: int | None = None, count: int | None = None
    ) -> None:
        """Note a cell that is not what it must be."""
        end = "…" if len(cell) > _LONGEST_CELL else ""  # a frame may hold any text
        text = Argument(f"{cell[:_LONGEST_CELL]}{end}")
        what = Message("'{cell}'", cell=text) if cell else Message("an empty cell")
        self.add(
            Message("{must}, not {what}", must=said(must), what=what), line=line, count=count
        )

    def add_gaps(self, counts: Iterable[int], *, hint: str | None = None) -> None:
        """Note the counts without lines below the largest that has some."""
        for before, count in pairwise(sorted({0, *counts})):
            if count > before + 1:
                missing = Message("count {before} has", before=before + 1)
                if count > before + 2:
                    missing = Message(
                        "counts {before} to {count} have", before=before + 1, count=count - 1
                    )
                self.add(
                    Message(
                        "{names} no lines, though count {count} has", names=missing, count=count
                    )
                )
                self.hint = hint

    def stop(self) -> None:
        """Raise what was noted; do nothing when that is nothing."""
        if self._total:
            more = (
                Message(" (and {total} more)", total=self._total - _SHOWN)
                if self._total > _SHOWN
                else Message()
            )
            raise PTableError(
                Message(
                    "{source} is no p-table: {words}{more}.",
                    source=said(self.source),
                    words=joined("; ", self._shown),
                    more=more,
                ),
                hint=self.hint,
            )

    def fail(self, problem: str, *, line: int | None = None, hint: str | None = None) -> None:
        """Note a problem beyond which nothing can be read, and raise."""
        self.add(problem, line=line)
        self.hint = hint or self.hint
        self.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    r"""The cells of a file or frame, stripped of blanks and quotes, with their line numbers.

    Parameters
    ----------
    source, stem
        What messages call it, and what tables read from it are called.
    cells
        Per line its cells; the first line may be a header.
    numbers
        Per line its number in the file.
    separator
        What parted the cells.
    has_commas
        Whether decimals are written with a comma.
    """

    source: str
    stem: str
    cells: list[list[str]]
    numbers: list[int]
    separator: str = ","
    has_commas: bool = False

    @property
    def names(self) -> list[str]:
        r"""The first line as column names, in lower case."""
        return [cell.lower() for cell in self.cells[0]]

    @property
    def body(self) -> list[tuple[int, list[str]]]:
        r"""The lines below the first, with their numbers."""
        return list(zip(self.numbers[1:], self.cells[1:], strict=True))


def sheet_of_path(path: Path) -> Sheet:
    """Read a file as lines of cells."""
    problems = Problems(Message("The file '{path}'", path=Name(path.name)))
    try:
        if path.stat().st_size > _MAX_BYTES:
            problems.fail(
                Message("it is larger than {max_bytes} MiB", max_bytes=_MAX_BYTES // 2**20)
            )
        content = path.read_bytes()
    except OSError as error:
        raise PTableError(
            Message(
                "The file '{path}' cannot be read: {strerror}.",
                path=Name(path.name),
                strerror=said(str(error.strerror)),
            )
        ) from error
    return sheet_of_bytes(content, source=problems.source, stem=path.stem)


def sheet_of_bytes(content: bytes, *, source: str, stem: str) -> Sheet:
    r"""Cut the content of a file into lines of cells."""
    problems = Problems(source)
    text = _decode(content, problems)
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if not first:
        problems.fail(Message("it is empty"))
    separator = max(";\t,", key=first.count)
    cells: list[list[str]] = []
    numbers: list[int] = []
    # One line at a time, so that a stray quote cannot swallow lines and numbers stay right.
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if '"' in line:
            try:
                (row,) = csv.reader(
                    [line], delimiter=separator, strict=True, skipinitialspace=True
                )
            except (csv.Error, ValueError):
                problems.fail(Message("its quotes do not match"), line=number)
        else:
            row = line.split(separator)
        cells.append([cell.strip() for cell in row])
        numbers.append(number)
    widest = max(cells, key=len)
    for number, row in zip(numbers, cells, strict=True):
        if len(row) != len(cells[0]):
            problems.add(
                Message(
                    "it has {number} cells, the first line {number_2}",
                    number=len(row),
                    number_2=len(cells[0]),
                ),
                line=number,
            )
        elif any(len(cell) > _LONGEST_CELL for cell in row):
            problems.add(
                Message(
                    "a cell has more than {longest_cell} characters", longest_cell=_LONGEST_CELL
                ),
                line=number,
            )
    if separator == "," and len(widest) > len(cells[0]):
        problems.hint = Message("where decimals have a comma, part the cells by ';'")
    problems.stop()
    return Sheet(
        source=source,
        stem=stem,
        cells=cells,
        numbers=numbers,
        separator=separator,
        has_commas=separator != "," and _has_commas(cells, numbers, problems),
    )


def sheet_of_frame(frame: Any, *, stem: str = "") -> Sheet:
    """Write a data frame as lines of cells; floats as they print."""
    names = [str(name) for name in frame.columns]
    columns = [list(map(_cell, frame[name].tolist())) for name in frame.columns]
    cells = [names, *map(list, zip(*columns, strict=True))]
    return Sheet(source="The frame", stem=stem, cells=cells, numbers=list(range(len(cells))))


def _cell(value: object) -> str:
    is_missing = value is None or (isinstance(value, float) and math.isnan(value))
    text = "" if is_missing else str(value).strip()
    return "" if text in {"<NA>", "NaT"} else text


def _decode(content: bytes, problems: Problems) -> str:
    if content.startswith(_WIDE_ENCODINGS):
        problems.fail(Message("it is written in UTF-16"), hint=Message("save it as UTF-8"))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    if any(ord(sign) < 32 and sign not in "\t\r\n" for sign in set(text)):
        problems.fail(Message("it is no text"))
    return text


def _has_commas(cells: list[list[str]], numbers: list[int], problems: Problems) -> bool:
    """Tell whether decimals have a comma, and refuse a mixture."""
    place: dict[str, int] = {}
    for number, row in zip(numbers[1:], cells[1:], strict=True):
        for cell in row:
            for sign in ".,":
                if sign in cell and cell[:1] in "-+.,0123456789":
                    place.setdefault(sign, number)
        if len(place) == 2:
            problems.fail(
                Message(
                    "decimals have a comma and a point, in lines {place} and {place_2}",
                    place=place[","],
                    place_2=place["."],
                )
            )
    return "," in place
