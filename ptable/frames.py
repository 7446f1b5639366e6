"""P-tables from the long frames of other tools."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ptable.errors import PTableError
from ptable.table import PTable

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["table_from_frame", "table_from_key_frame"]

_MOST_DIGITS = 12


def table_from_frame(
    frame: Any, *, key_range: int | None, digits: int | None, label: str
) -> PTable:
    """Build a table from one line per interval; see `PTable.from_frame`.

    Parameters
    ----------
    frame
        Lines with ``i``, ``j`` or ``v``, and ``upper`` or ``p_int_ub``.
    key_range, digits, label
        As for `PTable.from_frame`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"i": [1, 1], "j": [0, 2], "upper": [4, 8]})
    >>> table_from_frame(frame, key_range=8, digits=None, label="").units(1)
    {-1: 4, 1: 4}
    """
    columns = set(map(str, frame.columns))
    ends_name = "upper" if "upper" in columns else "p_int_ub"
    missing = [name for name in ("i", ends_name) if name not in columns]
    if not columns & {"v", "j"}:
        missing.append("v' or 'j")
    if missing:
        raise PTableError(
            f"The frame has no column '{missing[0]}'; it has {sorted(columns)}.",
            hint="needed are i, one of j and v, and one of upper and p_int_ub",
        )
    _refuse_kinds(frame, columns)
    counts = _whole(frame, "i")
    noise = _whole(frame, "v") if "v" in columns else _minus(_whole(frame, "j"), counts)
    if columns >= {"v", "j"} and _minus(_whole(frame, "j"), counts) != noise:
        raise PTableError("Column 'v' must be 'j' minus 'i' on every line.")
    if ends_name == "upper":
        if key_range is None:
            raise PTableError("Integer thresholds in 'upper' need a key_range.")
        uppers, total = _whole(frame, "upper"), key_range
    else:
        uppers, total = _from_decimals(frame, "p_int_ub", key_range, digits)
    lowers = None
    for name in ("lower", "p_int_lb"):
        if name in columns:
            lowers = (
                _whole(frame, name)
                if name == "lower"
                else _from_decimals(frame, name, total, digits)[0]
            )
    rows = _collect(counts, noise, lowers, uppers)
    return PTable(
        noise=tuple(tuple(v for v, _ in row) for row in rows),
        upper=tuple(tuple(end for _, end in row) for row in rows)
        if counts and min(counts) == 0
        else ((total,), *(tuple(end for _, end in row) for row in rows[1:])),
        key_range=total,
        label=label,
    )


def table_from_key_frame(frame: Any, *, large_counts: str, label: str) -> PTable:
    """Build a table from one line per count and key; see `PTable.from_key_table`.

    Parameters
    ----------
    frame
        Lines with ``pcv``, ``ckey`` and ``pvalue``.
    large_counts, label
        As for `PTable.from_key_table`.

    Examples
    --------
    >>> import pandas as pd
    >>> lines = pd.DataFrame({"pcv": [1, 1], "ckey": [1, 0], "pvalue": [0, 1]})
    >>> table_from_key_frame(lines, large_counts="last", label="").noise
    ((0,), (1, 0))
    """
    columns = set(map(str, frame.columns))
    missing = {"pcv", "ckey", "pvalue"} - columns
    if missing:
        raise PTableError(
            f"The frame has no column '{min(missing)}'; it has {sorted(columns)}.",
            hint="needed are pcv, ckey and pvalue",
        )
    counts = np.array(_whole(frame, "pcv"), dtype=np.int64)
    keys = np.array(_whole(frame, "ckey"), dtype=np.int64)
    noise = np.array(_whole(frame, "pvalue"), dtype=np.int64)
    if not counts.size:
        raise PTableError("The frame has no lines.")
    total, last = int(keys.max()) + 1, int(counts.max())
    first = int(counts.min())
    complete = (last - first + 1) * total == len(counts)
    place = (counts - first) * total + keys
    is_unique = len(np.unique(place)) == len(place)
    if first not in {0, 1} or keys.min() < 0 or not complete or not is_unique:
        raise PTableError(
            f"Every count from 0 or 1 to {last} must have every key from 0 to {total - 1} once."
        )
    order = np.argsort(place)
    rows = noise[order].reshape(last - first + 1, total).tolist()
    uppers = tuple(range(1, total + 1))
    return PTable(
        noise=tuple(((0,) * total, *map(tuple, rows)) if first else map(tuple, rows)),
        upper=(uppers,) * (last + 1),
        key_range=total,
        large_counts=large_counts,
        label=label,
    )


def _refuse_kinds(frame: Any, columns: set[str]) -> None:
    if "type" in columns:
        kinds = sorted({str(kind) for kind in frame["type"]})
        if len(kinds) > 1:
            raise PTableError(
                f"The frame holds several p-tables, of types {', '.join(kinds)}.",
                hint="keep the lines of one type",
            )


def _whole(frame: Any, name: str) -> list[int]:
    numbers = []
    for number in frame[name].tolist():
        try:
            exact = Decimal(str(number))
            whole = int(exact)
        except (InvalidOperation, ValueError, OverflowError):
            whole, exact = 0, Decimal("0.5")
        if whole != exact:
            raise PTableError(f"Column '{name}' must hold integers only.")
        numbers.append(whole)
    return numbers


def _minus(left: Sequence[int], right: Sequence[int]) -> list[int]:
    return [a - b for a, b in zip(left, right, strict=True)]


def _from_decimals(
    frame: Any, name: str, key_range: int | None, digits: int | None
) -> tuple[list[int], int]:
    """Take decimals as they print, which drops the noise of their binary form."""
    numbers = []
    for number in frame[name].tolist():
        try:
            exact = Decimal(repr(float(number)))
        except ValueError:
            exact = Decimal("NaN")
        if not exact.is_finite() or not 0 <= exact <= 1:
            raise PTableError(f"Column '{name}' must hold decimals from 0 to 1.")
        numbers.append(exact if digits is None else round(exact, digits))
    places = max((-int(x.normalize().as_tuple().exponent) for x in numbers), default=0)
    total = key_range or 10 ** (digits or max(places, 1))
    if digits is None and key_range is None and places > _MOST_DIGITS:
        raise PTableError(
            f"Column '{name}' has {places} decimal digits; at most {_MOST_DIGITS} are taken "
            "as printed.",
            hint="pass digits=8 to round them",
        )
    scaled = [x * total for x in numbers]
    if any(x != int(x) for x in scaled):
        raise PTableError(f"Column '{name}' must hold multiples of 1/{total}.")
    return [int(x) for x in scaled], total


def _collect(
    counts: Sequence[int],
    noise: Sequence[int],
    lowers: Sequence[int] | None,
    uppers: Sequence[int],
) -> list[list[tuple[int, int]]]:
    if not counts or min(counts) < 0:
        raise PTableError("Column 'i' must hold counts from 0 on, and at least one line.")
    rows: list[list[tuple[int, int]]] = [[] for _ in range(max(counts) + 1)]
    starts: list[list[int]] = [[] for _ in rows]
    for place, (count, v, end) in enumerate(zip(counts, noise, uppers, strict=True)):
        rows[count].append((v, end))
        starts[count].append(-1 if lowers is None else lowers[place])
    if not rows[0]:
        rows[0] = [(0, -1)]
        starts[0] = [-1]
    problems = []
    for count, (row, lower) in enumerate(zip(rows, starts, strict=True)):
        if not row:
            problems.append(f"count {count} has no lines, though count {len(rows) - 1} has")
            continue
        order = sorted(range(len(row)), key=lambda place: (row[place][1], lower[place]))
        rows[count] = [row[place] for place in order]
        ends = [0, *(end for _, end in rows[count])]
        gaps = [
            place
            for place, (before, _) in enumerate(pairwise(ends))
            if lower[order[place]] not in {-1, before}
        ]
        if gaps:
            problems.append(f"the intervals of count {count} overlap or leave gaps")
        if len({v for v, _ in row}) < len(row) and lowers is None:
            problems.append(f"count {count} has a noise value twice")
    if problems:
        raise PTableError("This is no p-table: " + "; ".join(problems[:5]) + ".")
    return rows
