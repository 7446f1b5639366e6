"""P-tables from data frames in the layouts of other tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptable.dialects.intervals import read_decimal_intervals, read_key_intervals
from ptable.dialects.keylists import read_key_lines
from ptable.dialects.numbers import check_options
from ptable.dialects.options import Reading
from ptable.dialects.text import sheet_of_frame
from ptable.errors import PTableError

if TYPE_CHECKING:
    from ptable.table import PTable


def table_from_frame(
    frame: Any, *, key_range: int | None, digits: int | None, label: str
) -> PTable:
    """Build a table from one line per interval; see `PTable.from_frame`."""
    check_options(key_range=key_range, digits=digits)
    sheet = sheet_of_frame(frame, stem=label)
    reading = Reading(key_range=key_range, digits=digits)
    kinds = set(map(str, frame["type"].tolist())) if "type" in frame.columns else set()
    if len(kinds) > 1:
        raise PTableError(
            f"The frame holds several p-tables, of types {', '.join(sorted(kinds))}.",
            hint="keep the lines of one type",
        )
    if "upper" not in sheet.names:
        tables = read_decimal_intervals(sheet, reading)
    elif key_range is None:
        raise PTableError("Integer thresholds in 'upper' need a key_range.")
    else:
        tables = read_key_intervals(sheet, reading)
    return next(iter(tables.values()))


def table_from_key_frame(frame: Any, *, large_counts: str, label: str) -> PTable:
    """Build a table from one line per count and key; see `PTable.from_key_table`."""
    sheet = sheet_of_frame(frame, stem=label)
    return read_key_lines(sheet, Reading(large_counts=large_counts))["all"]
