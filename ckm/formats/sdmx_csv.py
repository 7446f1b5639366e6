"""SDMX-CSV 2.0 and 1.0: one observation a line, under the ids of a data structure.

Columns and categories are written as they are: name them in the job as the data structure
does, `total_label="_T"` included. The column of times is ``TIME_PERIOD`` where all its
categories are periods of SDMX. Several measures, or one that is not ``count``, make the
dimension ``MEASURE``. A published number has the status A (normal) and is F (free); a
suppressed one is empty, Q (suppressed) and C (confidential). Where the margin of error is
told, counts below five times that margin are U (low reliability). No code of SDMX says that a
number is protected by noise: the notes, which say so, are the attribute ``COMMENT_DSET`` of the
whole set and stand in its first line. A cell that the table does not list has no line.
"""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING

import numpy as np

from ckm.errors import FormatError
from ckm.formats.about import TableAbout, is_period
from ckm.formats.content import hidden
from ckm.formats.csv_text import lines_of, plain_numbers
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from ckm.engine.published_table import PublishedTable

_FIRST = {"2.0": ("STRUCTURE", "STRUCTURE_ID", "ACTION"), "1.0": ("DATAFLOW",)}
_LAST = ("OBS_VALUE", "OBS_STATUS", "CONF_STATUS")
_KEPT = {*_FIRST["2.0"], *_FIRST["1.0"], *_LAST}
_KEPT |= {"MEASURE", "COMMENT_DSET", "SERIES_KEY", "OBS_KEY", "STRUCTURE_NAME"}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_CODE = re.compile(r"[A-Za-z0-9_@$-]+")
_SPECIAL = re.compile(r'[",\r\n]|^\s|\s$')
_SINGLE = "count"
_TIME = "TIME_PERIOD"
_CHUNK = 1 << 16


def write_sdmx_csv(
    table: PublishedTable, stream: IO[bytes], about: TableAbout, *, version: str
) -> None:
    """Write a table as SDMX-CSV 2.0 or 1.0."""
    _check(table)
    measures = list(table.measures)
    dataflow = about.dataflow or f"CKM:{_id(about.id)}(1.0)"
    first = ("dataflow", dataflow, "I") if version == "2.0" else (dataflow,)
    notes = "\n".join(about.notes)
    header = [*_FIRST[version], *_ids(table, about)]
    header += ["MEASURE"] * (measures != [_SINGLE]) + [*_LAST] + ["COMMENT_DSET"] * bool(notes)
    stream.write((",".join(header) + "\n").encode())
    for start in range(0, table.n_rows, _CHUNK):
        comment = None if not notes else notes if start == 0 else ""
        rows = slice(start, start + _CHUNK)
        stream.write(_lines(table, rows, first, comment, reliable_from=about.reliable_from))


def _lines(
    table: PublishedTable,
    rows: slice,
    first: Sequence[str],
    comment: str | None,
    *,
    reliable_from: int,
) -> bytes:
    """Join the columns of some rows, all at once."""
    import pyarrow as pa

    names = list(table.measures)
    size = len(next(iter(table.measures.values()))[rows])
    columns = [pa.scalar(text) for text in first]
    for codes, categories in table.dimensions.values():
        texts = pa.array([_quoted(text) for text in categories], pa.string())
        columns.append(texts.take(pa.array(np.repeat(codes[rows], len(names)))))
    if names != [_SINGLE]:
        columns.append(pa.array(names * size, pa.string()))
    arrays = [values[rows] for values in table.measures.values()]
    is_hidden = np.stack([hidden(values) for values in arrays], axis=1).ravel()
    is_low = np.stack([(v < reliable_from) & (v.dtype == np.int64) for v in arrays], axis=1)
    columns.append(_interleaved([plain_numbers(values) for values in arrays]))
    status = np.where(is_hidden, "Q,C", np.where(np.asarray(is_low).ravel(), "U,F", "A,F"))
    columns.append(pa.array(status, pa.string()))
    if comment is not None:
        columns.append(
            pa.array([_quoted(comment) if comment else "", *[""] * (len(is_hidden) - 1)])
        )
    return lines_of(columns)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _SPECIAL.search(text) else text


def _check(table: PublishedTable) -> None:
    for name in table.dimensions:
        if not _NAME.fullmatch(name) or name in _KEPT:
            raise FormatError(
                Message(
                    "SDMX has no dimension {name!r}: an id has letters, digits, '_' and '-', "
                    "starts with a letter and is no word of SDMX-CSV.",
                    name=Name(name),
                ),
                hint=Message("name the columns as the data structure does, or choose CSV"),
            )
    for name, (_, categories) in table.dimensions.items():
        if "" in categories:
            raise FormatError(
                Message(
                    "SDMX has no empty category; dimension {name!r} has one.",
                    name=Name(name),
                ),
                hint=Message("choose CSV"),
            )
    for name in table.measures:
        if not _CODE.fullmatch(name):
            raise FormatError(
                Message(
                    "SDMX has no measure {name!r}: an id has letters and digits.",
                    name=Name(name),
                ),
                hint=Message("name the variable as the data structure does, or choose CSV"),
            )
    if not table.n_rows and list(table.measures) != [_SINGLE]:
        raise FormatError(
            Message("SDMX-CSV does not tell the measures of a table without rows."),
            hint=Message("choose CSV"),
        )


def _ids(table: PublishedTable, about: TableAbout) -> list[str]:
    """Return the ids of the dimensions: that of times is ``TIME_PERIOD`` by the standard."""
    names, time = list(table.dimensions), about.time
    if time in names and all(map(is_period, table.dimensions[time][1])):
        return [name if name != time or _TIME in names else _TIME for name in names]
    return names


def _id(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_@$-]", "_", text) or "TABLE"


def _interleaved(columns: Sequence[pa.Array]) -> pa.Array:
    """Return the columns row by row as one."""
    import pyarrow as pa

    size = len(columns[0])
    order = (np.arange(len(columns)) * size + np.arange(size)[:, None]).ravel()
    return pa.chunked_array(columns).combine_chunks().take(pa.array(order))
