"""Matrices: keys by counts as in SuperSTAR, and counts by noise as in an overlay."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np

from footing.messages import Argument, Message, Name
from ptable.dialects.intervals import Builder, Line
from ptable.dialects.keylists import in_keys
from ptable.dialects.numbers import (
    MAX_NOISE,
    Reading,
    Writing,
    choose_scale,
    digits_for,
    parse_decimal,
    parse_whole,
    print_decimal,
)
from ptable.dialects.text import Problems, Sheet
from ptable.errors import PTableError
from ptable.lookup import cycle_length, row_of
from ptable.quantisation.key_matrix import table_from_key_matrix
from ptable.table import PTable

_KEYS = 256
_USUAL_COLUMNS = 30
_MAX_COLUMNS = 10_000


def read_superstar(sheet: Sheet, reading: Reading) -> dict[str, PTable]:
    r"""Read a matrix with a line per key and a column per count from 1 on.

    Counts beyond the last column P take one of the last S in turn: count c takes column
    P - S + 1 + (c mod S). The table gets rows up to P + S, from which on the last S rows follow
    in turn.
    """
    problems = Problems(sheet.source)
    is_named = any(parse_whole(cell) is None for cell in sheet.cells[0])
    first_column = int(is_named and sheet.cells[0][0] == "")
    lines = list(zip(sheet.numbers, sheet.cells, strict=True))[int(is_named) :]
    total = reading.key_range or _KEYS
    if len(lines) != total:
        problems.fail(
            Message(
                "it must have one line per key, {total}, and has {number}",
                total=total,
                number=len(lines),
            )
        )
    columns: list[list[int]] = [[] for _ in sheet.cells[0][first_column:]]
    for number, cells in lines:
        for count, cell in enumerate(cells[first_column:], start=1):
            noise = parse_whole(cell)
            if noise is None or abs(noise) > MAX_NOISE:
                must = Message("it must hold integers within {max_noise}", max_noise=MAX_NOISE)
                problems.add_cell(cell, must, line=number, count=count)
            elif count + noise < 0:
                problems.add(
                    Message("it would be published as {count}", count=count + noise),
                    line=number,
                    count=count,
                )
            else:
                columns[count - 1].append(noise)
    last, small = len(columns), reading.small_n
    if not 1 <= small <= last:
        problems.fail(
            Message(
                "small_n must lie between 1 and the number of columns, {last}, not {small}",
                last=last,
                small=Argument(small),
            )
        )
    problems.stop()
    rule = reading.large_counts
    loop = small if rule is None and small > 1 else None
    matrix = np.array(columns, np.int64).T
    table = table_from_key_matrix(matrix, small_n=loop, label=sheet.stem)
    if rule is not None:
        table = replace(table, large_counts=rule)
    return {"all": table}


def write_superstar(table: PTable, writing: Writing) -> str:
    """Write a matrix with a line for each of 256 keys and a column per count from 1 on."""
    if table.noise[0] != (0,):
        raise PTableError(
            Message(
                "The layout 'superstar' has no column for count 0, and this p-table "
                "changes zeros."
            )
        )
    rows = in_keys(table, _KEYS)
    last = _columns_needed(table, writing.small_n)
    columns = [
        [v for first, stop, v in rows[row_of(table, count)] for _ in range(first, stop + 1)]
        for count in range(1, last + 1)
    ]
    return "".join(",".join(map(str, line)) + "\n" for line in zip(*columns, strict=True))


def _columns_needed(table: PTable, small: int) -> int:
    """Find how many columns give every larger count its row."""
    if small < 1:
        raise PTableError(
            Message("small_n must be at least 1, not {small}.", small=Argument(small))
        )
    names: dict[object, int] = {}
    alike = [
        names.setdefault(row, len(names)) for row in zip(table.noise, table.upper, strict=True)
    ]
    cycle = cycle_length(table.large_counts, n_rows=table.n_rows)
    period: int = math.lcm(cycle, small)
    most = table.n_rows + 2 * small
    usual = max(small, _USUAL_COLUMNS)
    if most <= _MAX_COLUMNS and period <= _MAX_COLUMNS:
        candidates: list[int] = [usual, *range(small, max(most, usual) + 1)]
        for last in candidates:
            stop = max(last, table.n_rows) + period
            if all(
                alike[row_of(table, count)]
                == alike[row_of(table, last - small + 1 + count % small)]
                for count in range(last + 1, stop + 1)
            ):
                return last
    raise PTableError(
        Message(
            "The layout 'superstar' with SmallN {small} cannot hold the rule for large "
            "counts, {large_counts!r}, of this p-table of {n_rows} rows.",
            small=small,
            large_counts=Name(table.large_counts),
            n_rows=table.n_rows,
        ),
        hint=Message("pass small_n={cycle}", cycle=cycle) if 1 < cycle != small else None,
    )


def read_destatis(sheet: Sheet, reading: Reading) -> dict[str, PTable]:
    r"""Read an overlay: noise values in the first line, then cumulative shares by count."""
    problems = Problems(sheet.source)
    has_counts = parse_whole(sheet.cells[0][0]) is None
    noise = [parse_whole(cell) for cell in sheet.cells[0][int(has_counts) :]]
    values = [v for v in noise if v is not None and abs(v) <= MAX_NOISE]
    if len(values) < len(noise) or len(set(values)) < len(values) or not values:
        problems.fail(
            Message("the first line must hold different whole noise values"),
            line=sheet.numbers[0],
        )
    rows: dict[int, tuple[int, list[Decimal]]] = {}
    for place, (number, cells) in enumerate(sheet.body):
        count = parse_whole(cells[0]) if has_counts else place
        if count is None or not 0 <= count <= MAX_NOISE:
            problems.add(
                Message("the first cell must be a count, not '{cells}'", cells=Name(cells[0])),
                line=number,
            )
            continue
        if count in rows:
            problems.add(Message("the count is there twice"), line=number, count=count)
        decimals = [
            parse_decimal(cell, has_commas=sheet.has_commas)
            for cell in cells[int(has_counts) :]
        ]
        shares = [x for x in decimals if x is not None and 0 <= x <= 1]
        if len(shares) < len(decimals):
            problems.add(
                Message("it must hold decimals from 0 to 1 only"), line=number, count=count
            )
            continue
        rows[count] = number, shares
    if not rows:
        problems.fail(Message("it has no lines of shares"))
    problems.add_gaps(rows)
    problems.stop()
    scale = choose_scale((x for _, shares in rows.values() for x in shares), reading)
    lines = []
    for count, (number, shares) in rows.items():
        ends = [Fraction(0), *(scale.rounded(Fraction(x)) for x in shares)]
        for v, (lower, upper) in zip(values, pairwise(ends), strict=True):
            if lower < upper and count + v < 0:
                problems.add(
                    Message("it would be published as {count}", count=count + v),
                    line=number,
                    count=count,
                )
            lines.append(
                Line(number=number, count=count, noise=Fraction(v), lower=lower, upper=upper)
            )
    return Builder(sheet.stem, problems, scale, end="share").tables({"all": lines}, reading)


def write_destatis(table: PTable, writing: Writing) -> str:
    """Write an overlay: noise values in the first line, then cumulative shares by count."""
    values = sorted({v for row in table.noise for v in row})
    lines = [",".join(["i", *map(str, values)])]
    digits = writing.digits or digits_for(table.key_range)
    for count, (noise, upper) in enumerate(zip(table.noise, table.upper, strict=True)):
        if any(a >= b for a, b in pairwise(noise)):
            raise PTableError(
                Message(
                    "The layout 'destatis' has noise that rises with the key; count {count} of "
                    "this p-table has another order.",
                    count=count,
                ),
                hint=Message("write it as r-ptable"),
            )
        ends = dict(zip(noise, upper, strict=True))
        running, cells = 0, [str(count)]
        for v in values:
            running = ends.get(v, running)
            cells.append(print_decimal(Fraction(running, table.key_range), digits=digits))
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"
