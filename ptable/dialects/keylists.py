"""Lists of keys: one line per count and key, or per count and range of keys."""

import re
from typing import Any

from ptable.dialects.numbers import MAX_NOISE, Reading, Writing, parse_whole
from ptable.dialects.text import Problems, Sheet, sheet_of_frame
from ptable.errors import PTableError
from ptable.lookup import intervals, row_of
from ptable.table import PTable

#: More keys than any such tool has; lists name every one of them.
MAX_KEYS = 2**16
_CANTABULAR_KEYS = 256
_ONS_LAST, _ONS_CYCLE = 750, 250
_NAMES = {"cell_value": "pcv", "cell_key": "ckey", "perturbation": "pvalue"}
_RANGE = re.compile(r"([0-9]{1,9})\s*-\s*([0-9]{1,9})", re.ASCII)


def read_key_lines(sheet: Sheet, reading: Reading) -> dict[str, PTable]:
    r"""Read noise by count and key: the layouts of the ONS and of Cantabular."""
    problems = Problems(sheet.source)
    rows = _parse(sheet, problems)
    problems.stop()
    total = reading.key_range or max(last for row in rows.values() for _, last, *_ in row) + 1
    if not 2 <= total <= MAX_KEYS:
        problems.fail(f"the number of keys must lie between 2 and {MAX_KEYS}, not {total}")
    first, last_count = min(rows), max(rows)
    if first <= 1:
        problems.add_gaps(rows)
    else:
        problems.add(f"the counts must start from 0 or 1, not from {first}")
    for count, row in rows.items():
        _check_row(problems, count, row, total)
    problems.stop()
    rows.setdefault(0, [(0, total - 1, 0, 0)])
    counts = range(last_count + 1)
    is_ons = "pcv" in sheet.names and last_count == _ONS_LAST
    rule = f"cycle:{_ONS_CYCLE}" if is_ons else "last"
    table = PTable(
        noise=tuple(tuple(v for *_, v in rows[count]) for count in counts),
        upper=tuple(tuple(last + 1 for _, last, *_ in rows[count]) for count in counts),
        key_range=total,
        large_counts=reading.large_counts or rule,
        label=sheet.stem,
    )
    return {"all": table}


def table_from_key_frame(frame: Any, *, large_counts: str, label: str) -> PTable:
    """Build a table from one line per count and key; see `PTable.from_key_table`."""
    sheet = sheet_of_frame(frame, stem=label)
    return read_key_lines(sheet, Reading(large_counts=large_counts))["all"]


def _parse(sheet: Sheet, problems: Problems) -> dict[int, list[tuple[int, int, int, int]]]:
    """Read first key, last key, line and noise, by count, in order of keys."""
    names = [_NAMES.get(name, name) for name in sheet.names]
    missing = [name for name in ("pcv", "ckey", "pvalue") if names.count(name) != 1]
    if missing:
        raise PTableError(
            f"{sheet.source} has no column '{missing[0]}', or has it twice; "
            f"it has {sorted(sheet.cells[0])}.",
            hint="needed are pcv, ckey and pvalue, or cell_value, cell_key and perturbation",
        )
    if len(sheet.cells) == 1:
        problems.fail("it has no lines below the names of the columns")
    pcv, ckey, pvalue = (names.index(name) for name in ("pcv", "ckey", "pvalue"))
    rows: dict[int, list[tuple[int, int, int, int]]] = {}
    for number, cells in sheet.body:
        count = _whole(problems, sheet, cells, pcv, number)
        noise = _whole(problems, sheet, cells, pvalue, number)
        span = _RANGE.fullmatch(cells[ckey])
        if span:
            first, last = int(span[1]), int(span[2])
        else:
            found = _whole(problems, sheet, cells, ckey, number)
            if found is None:
                continue
            first = last = found
        if count is None or noise is None:
            continue
        if count < 0 or not 0 <= first <= last:
            name = sheet.cells[0][pcv if count < 0 else ckey]
            problems.add(f"column '{name}' must rise from 0 on", line=number)
        elif count + noise < 0:
            problems.add(
                f"count {count} would be published as {count + noise}", line=number, count=count
            )
        else:
            rows.setdefault(count, []).append((first, last, number, noise))
    for row in rows.values():
        row.sort()
    return rows


def _whole(
    problems: Problems, sheet: Sheet, cells: list[str], place: int, line: int
) -> int | None:
    cell = cells[place]
    number = parse_whole(cell)
    if number is None or abs(number) > MAX_NOISE:
        limit = "" if number is None else f" within {MAX_NOISE}"
        must = f"column '{sheet.cells[0][place]}' must hold integers only{limit}"
        problems.add_cell(cell, must, line=line)
        return None
    return number


def _check_row(
    problems: Problems, count: int, row: list[tuple[int, int, int, int]], total: int
) -> None:
    """Every key must be there once."""
    wanted = 0
    every = f"it must have every key from 0 to {total - 1} once"
    for first, last, line, _ in row:
        if first > wanted:
            missing = f"{_keys(wanted, first - 1)} missing; {every}"
            problems.add(missing, line=line, count=count)
        elif first < wanted:
            twice = f"{_keys(first, min(last, wanted - 1))} there more than once"
            problems.add(twice, line=line, count=count)
        wanted = max(wanted, last + 1)
    if wanted < total:
        problems.add(f"{_keys(wanted, total - 1)} missing; {every}", count=count)
    elif wanted > total:
        problems.add(f"its keys go beyond {total - 1}", line=row[-1][2], count=count)


def _keys(first: int, last: int) -> str:
    return f"key {first} is" if first == last else f"keys {first} to {last} are"


def in_keys(table: PTable, n_keys: int) -> list[list[tuple[int, int, int]]]:
    """Give each row as first key, last key and noise out of a number of keys."""
    if any(end * n_keys % table.key_range for row in table.upper for end in row):
        raise PTableError(
            f"{n_keys} keys cannot hold the thresholds of this p-table exactly.",
            hint=f"quantise first: table.quantise({n_keys}), or convert with --keys {n_keys}",
        )
    return [
        [
            (lower * n_keys // table.key_range, upper * n_keys // table.key_range - 1, v)
            for v, lower, upper in intervals(values, ends)
        ]
        for values, ends in zip(table.noise, table.upper, strict=True)
    ]


def write_cantabular(table: PTable, writing: Writing) -> str:
    """Write a table for Cantabular: 256 keys, in ranges of equal noise."""
    del writing
    lines = ["cell_value,cell_key,perturbation"]
    for count, row in enumerate(in_keys(table, _CANTABULAR_KEYS)):
        if count or table.n_rows == 1 or row != [(0, _CANTABULAR_KEYS - 1, 0)]:
            lines += [
                f"{count},{first}-{last},{v}" if last > first else f"{count},{first},{v}"
                for first, last, v in row
            ]
    return "\n".join(lines) + "\n"


def write_ons(table: PTable, writing: Writing) -> str:
    """Write a table for the ONS package: counts 1 to 750, one line per count and key."""
    del writing
    if table.n_rows > _ONS_LAST + 1:
        raise PTableError(
            f"The layout 'ons' holds counts to {_ONS_LAST}, and this p-table has rows to "
            f"{table.n_rows - 1}."
        )
    n_keys = table.key_range if table.key_range <= MAX_KEYS // 16 else _CANTABULAR_KEYS
    rows = in_keys(table, n_keys)
    counts = range(int(rows[0] == [(0, n_keys - 1, 0)]), _ONS_LAST + 1)
    lines = ["pcv,ckey,pvalue"]
    for count in counts:
        lines += [
            f"{count},{key},{v}"
            for first, last, v in rows[row_of(table, count)]
            for key in range(first, last + 1)
        ]
    return "\n".join(lines) + "\n"
