"""Files of what is known of cells beforehand: `.hst` of tau-ARGUS, or CSV with a header."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import ConfigError
from footing.messages import Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

SAFE, UNSAFE, KEPT = 1, 2, 3
_NO = float("nan")
_STATUS = {
    **dict.fromkeys(("s", "safe"), SAFE),
    **dict.fromkeys(("u", "unsafe", "true"), UNSAFE),
    **dict.fromkeys(("p", "protected", "keep"), KEPT),
    **dict.fromkeys(("", "na", "false"), 0),
}
_COST, _LEVELS = {"c", "w"}, "pl"
_WORDS = {"s", "u", "p", _LEVELS} | _COST
#: The columns of a data frame that hold a status; the second is that of rtauargus.
_STATUS_COLUMNS = ("status", "is_secret_prim")
_NUMBERS = ("cost", "lower", "upper")


@dataclass(frozen=True, slots=True)
class Line:
    """What a line says of a cell; a number that it does not give is no number."""

    number: int
    named: Mapping[str, str]
    status: int = 0
    lower: float = _NO
    upper: float = _NO
    cost: float = _NO


def read_lines(
    path: Path, *, dimensions: Sequence[str], columns: Sequence[str]
) -> Iterator[Line]:
    """Read a file; a line that says nothing that can be understood is named.

    Parameters
    ----------
    path
        A name that ends with ``.hst`` is of tau-ARGUS; all else is CSV with a header.
    dimensions
        Those of the table, in the order in which ``.hst`` gives their codes.
    columns
        The names by which CSV may give categories.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=_delimiter(path, len(dimensions)))
        numbered = ((n, row) for n, row in enumerate(rows, 1) if any(map(str.strip, row)))
        if path.suffix.lower() == ".hst":  # fields of tau-ARGUS may have blanks around them
            stripped = ((n, [field.strip() for field in row]) for n, row in numbered)
            yield from (_of_hst(path, n, row, dimensions) for n, row in stripped)
            return
        _, first = next(numbered, (0, []))
        header = [name.strip() for name in first]
        all_columns = {*columns, *_STATUS_COLUMNS, *_NUMBERS}
        if twice := [name for name in header if name in all_columns and header.count(name) > 1]:
            raise ConfigError(
                Message(
                    "The file {path!r} of cells has {twice!r} twice.",
                    path=Name(path.name),
                    twice=Name(twice[0]),
                )
            )
        if not set(header) & set(columns) or not set(header) & all_columns - set(columns):
            raise ConfigError(
                Message(
                    "The file {path!r} of cells needs columns of their categories, {columns}, "
                    "and of what is said of them.",
                    path=Name(path.name),
                    columns=Name.each(columns),
                ),
                hint=Message(
                    "status, cost, lower and upper; or is_secret_prim, as in rtauargus"
                ),
            )
        for n, row in numbered:
            if len(row) < len(header) or any(map(str.strip, row[len(header) :])):
                raise _wrong(
                    path,
                    n,
                    Message(
                        "has {number} fields, and the header {number_2}",
                        number=len(row),
                        number_2=len(header),
                    ),
                )
            fields = dict(zip(header, row, strict=False))
            texts = {name: fields[name].strip() for name in fields if name not in columns}
            yield _of_csv(path, n, fields | texts)  # categories are texts as they are written


def _delimiter(path: Path, places: int) -> str:
    """Find what separates fields: in ``.hst``, what brings a word to its place."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
    if path.suffix.lower() == ".hst":
        for mark in ",;\t|":
            row = next(csv.reader([first], delimiter=mark), [])
            if len(row) > places and row[places].strip().lower() in _WORDS:
                return mark
    return max(",;\t|", key=first.count)


def _of_hst(path: Path, number: int, row: list[str], dimensions: Sequence[str]) -> Line:
    places = len(dimensions)
    word, rest = (row[places].lower() if len(row) > places else ""), row[places + 1 :]
    n_numbers = 1 if word in _COST else 2 if word == _LEVELS else 0
    if word not in _WORDS or len(rest) < n_numbers or any(rest[n_numbers:]):
        raise _wrong(
            path,
            number,
            Message("needs {places} codes and then s, u, p, c or pl", places=places),
        )
    codes = dict(zip(dimensions, row, strict=False))
    values = [_number(path, number, text) for text in rest[:n_numbers]]
    if word in _COST:
        return Line(number, codes, cost=values[0])
    if word == _LEVELS:
        return Line(number, codes, lower=values[0], upper=values[1])
    return Line(number, codes, status=_STATUS[word])


def _of_csv(path: Path, number: int, row: Mapping[str, str]) -> Line:
    words = [row[column].lower() for column in _STATUS_COLUMNS if row.get(column)]
    if any(word not in _STATUS for word in words):
        raise _wrong(
            path, number, Message("has a status other than safe, unsafe and protected")
        )
    statuses = {_STATUS[word] for word in words} - {0}
    if len(statuses) > 1:
        raise _wrong(path, number, Message("says two things of its cell"))
    texts = {name: row.get(name, "") for name in _NUMBERS}
    values = {
        name: _NO if text in {"", "NA"} else _number(path, number, text)
        for name, text in texts.items()
    }
    return Line(number, row, status=max(statuses, default=0), **values)


def _number(path: Path, number: int, text: str) -> float:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = _NO
    if not (np.isfinite(value) and value >= 0):
        raise _wrong(
            path, number, Message("has a cost or a level that is no number of 0 or more")
        )
    return value


def _wrong(path: Path, number: int, what: str) -> ConfigError:
    return ConfigError(
        Message(
            "Line {number} of {path!r} {what}.",
            number=number,
            path=Name(path.name),
            what=said(what),
        )
    )
