"""Recodes: which code becomes which category, from a mapping or a CSV file of two columns."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from footing.messages import Message, Name, said
from tables.errors import RequestError
from tables.filtering.values import text_of

_MOST_CODES = 1_000_000


def read_recode(path: str | os.PathLike[str], *, of: str, name: str) -> dict[str, str]:
    """Read a recode from a CSV file: a code and its category in each line.

    Parameters
    ----------
    path
        The file. Its first line is ``code,label``, or names the two variables.
    of, name
        The column that is recoded, and what is made of it.

    Returns
    -------
    dict
        Code → category, both as they are written.

    Raises
    ------
    RequestError
        If it is no such file; the message tells the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "occ.csv"
    >>> _ = file.write_text("code,label" + chr(10) + "11,1" + chr(10))
    >>> read_recode(file, of="occ", name="major")
    {'11': '1'}
    """
    what = Message("The recode {path!r}", path=Name(Path(path).name))
    problem, rows = None, list[tuple[int, list[str]]]()
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            start = file.readline()
            file.seek(0)
            reader = csv.reader(file, delimiter=max(",;\t", key=start.count), strict=True)
            rows += ((reader.line_num, row) for row in reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problem = getattr(error, "strerror", None) or Message("it is not a CSV text in UTF-8")
    if (
        problem is not None
    ):  # raised here, so that the decoder's copy of the bytes is not chained
        raise RequestError(
            Message("{what} cannot be read: {problem}.", what=what, problem=said(problem))
        )
    while rows and not any(rows[-1][1]):  # lines at the end that hold nothing
        rows.pop()
    header = tuple(rows[0][1]) if rows else ()
    if len(header) != 2 or header[0] not in {"code", of} or header[1] not in {"label", name}:
        raise RequestError(
            Message(
                "{what} needs two columns, code and label, named in its first line.", what=what
            ),
            hint=Message(
                "its first line is code,label or {of},{name}", of=said(of), name=Name(name)
            ),
        )
    if len(rows) > _MOST_CODES:
        raise RequestError(
            Message(
                "{what} has more than {most_codes:,} codes.", what=what, most_codes=_MOST_CODES
            )
        )
    lines: dict[str, int] = {}
    recode: dict[str, str] = {}
    for line, row in rows[1:]:
        if len(row) != 2 or not all(row):
            is_blank = not any(row)
            lacks = (
                Message("is blank")
                if is_blank
                else Message("needs a code and a label, and nothing else")
            )
            hint = (
                Message("remove it")
                if is_blank
                else Message("put a text that holds the separator in quotes")
            )
            raise RequestError(
                Message("{what}: line {line} {lacks}.", what=what, line=line, lacks=lacks),
                hint=hint,
            )
        code, label = row
        if code in recode:
            raise RequestError(
                Message(
                    "{what} has the code of line {line} twice: it is in line {lines} too.",
                    what=what,
                    line=line,
                    lines=lines[code],
                ),
                hint=Message("give each code one line"),
            )
        recode[code], lines[code] = label, line
    return recode


def as_codes(codes: Mapping[Any, object], what: str) -> dict[str, str]:
    """Return a recode as texts: code, as tables print it, → category."""
    recode: dict[str, str] = {}
    for code, label in codes.items():
        if not isinstance(label, str):
            raise RequestError(
                Message("{what} must give texts in quotes.", what=said(what)),
                hint=Message('{ "1" = "yes" }'),
            )
        text = text_of(code)
        if text in recode:
            raise RequestError(
                Message("{what} has the code {text!r} twice.", what=said(what), text=Name(text))
            )
        recode[text] = label
    return recode
