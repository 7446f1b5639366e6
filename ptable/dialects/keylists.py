"""Lists of keys: one line per count and key, or per count and range of keys."""

import re
from typing import Any

from footing.messages import Argument, Message, Name, said
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
        problems.fail(
            Message(
                "the number of keys must lie between 2 and {max_keys}, not {total}",
                max_keys=MAX_KEYS,
                total=Argument(total),
            )
        )
    first, last_count = min(rows), max(rows)
    if first <= 1:
        problems.add_gaps(rows)
    else:
        problems.add(
            Message("the counts must start from 0 or 1, not from {first}", first=first)
        )
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
            Message(
                "{source} has no column '{names}', or has it twice; it has {cells}.",
                source=said(sheet.source),
                names=Name(missing[0]),
                cells=Argument(sorted(sheet.cells[0])),
            ),
            hint=Message(
                "needed are pcv, ckey and pvalue, or cell_value, cell_key and perturbation"
            ),
        )
    if len(sheet.cells) == 1:
        problems.fail(Message("it has no lines below the names of the columns"))
    pcv, ckey, pvalue = (names.index(name) for name in ("pcv", "ckey", "pvalue"))
    rows: dict[int, list[tuple[int, int, int, int]]] = {}
    for number, cells in sheet.body:
        count = _whole(problems, sheet, cells, pcv, number)
        noise = _whole(problems, sheet, cells, pvalue, number)
        span = _RANGE.fullmatch(cells[ckey])
        if span:
            first, last = int(span[1]), int(span[2])
        else:
            key = _whole(problems, sheet, cells, ckey, number)
            if key is None:
                continue
            first = last = key
        if count is None or noise is None:
            continue
        if count < 0 or not 0 <= first <= last:
            name = sheet.cells[0][pcv if count < 0 else ckey]
            problems.add(
                Message("column '{name}' must rise from 0 on", name=Name(name)), line=number
            )
        elif count + noise < 0:
            problems.add(
                Message(
                    "count {count} would be published as {count_2}",
                    count=count,
                    count_2=count + noise,
                ),
                line=number,
                count=count,
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
        limit = (
            Message() if number is None else Message(" within {max_noise}", max_noise=MAX_NOISE)
        )
        must = Message(
            "column '{cells}' must hold integers only{limit}",
            cells=Name(sheet.cells[0][place]),
            limit=limit,
        )
        problems.add_cell(cell, must, line=line)
        return None
    return number


def _check_row(
    problems: Problems, count: int, row: list[tuple[int, int, int, int]], total: int
) -> None:
    """Every key must be there once."""
    next_key = 0
    every = Message("it must have every key from 0 to {total} once", total=total - 1)
    for first, last, line, _ in row:
        if first > next_key:
            missing = Message(
                "{keys} missing; {every}", keys=said(_keys(next_key, first - 1)), every=every
            )
            problems.add(missing, line=line, count=count)
        elif first < next_key:
            twice = Message(
                "{keys} there more than once", keys=said(_keys(first, min(last, next_key - 1)))
            )
            problems.add(twice, line=line, count=count)
        next_key = max(next_key, last + 1)
    if next_key < total:
        problems.add(
            Message(
                "{keys} missing; {every}", keys=said(_keys(next_key, total - 1)), every=every
            ),
            count=count,
        )
    elif next_key > total:
        problems.add(
            Message("its keys go beyond {total}", total=total - 1), line=row[-1][2], count=count
        )


def _keys(first: int, last: int) -> str:
    return (
        Message("key {first} is", first=first)
        if first == last
        else Message("keys {first} to {last} are", first=first, last=last)
    )


def in_keys(table: PTable, n_keys: int) -> list[list[tuple[int, int, int]]]:
    """Give each row as first key, last key and noise out of a number of keys."""
    if any(end * n_keys % table.key_range for row in table.upper for end in row):
        raise PTableError(
            Message(
                "{n_keys} keys cannot hold the thresholds of this p-table exactly.",
                n_keys=n_keys,
            ),
            hint=Message(
                "quantise first: table.quantise({n_keys}), or convert with --keys {n_keys}",
                n_keys=n_keys,
            ),
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
            Message(
                "The layout 'ons' holds counts to {ons_last}, and this p-table has rows to "
                "{n_rows}.",
                ons_last=_ONS_LAST,
                n_rows=table.n_rows - 1,
            )
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
