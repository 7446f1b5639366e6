"""Write lists of intervals: R ptable's columns, the exports to τ-ARGUS and SAS, and our own."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from footing.messages import Message, Name
from ptable.dialects.numbers import Writing, digits_for, print_decimal
from ptable.errors import PTableError
from ptable.table import PTable

_EXPORT_DIGITS = 8
_MAX_NOISE_DIGITS = 8
_SMALL = "small_cells"


class _Interval(NamedTuple):
    original: int
    noise: Fraction
    lower: Fraction
    upper: Fraction


def _intervals(table: PTable, digits: int | None) -> Iterator[_Interval]:
    """Give the intervals of a table, in order, rounded where so asked."""
    for count, noise, ends in zip(table.counts.tolist(), table.noise, table.upper, strict=True):
        shares = [Fraction(end, table.key_range) for end in (0, *ends)]
        if digits is not None:
            shares = [round(share, digits) for share in shares]
        for v, (lower, upper) in zip(noise, pairwise(shares), strict=True):
            if lower < upper:
                yield _Interval(count, Fraction(v, table.step), lower, upper)


def write_r_ptable(tables: Mapping[str, PTable], writing: Writing) -> str:
    """Write the columns of R ptable, which cellKey and INSEE's ckm read."""
    lines = ["i,j,p,v,p_int_lb,p_int_ub,type"]
    for kind, table in tables.items():
        digits = writing.digits or digits_for(table.key_range)
        for count, noise, lower, upper in _intervals(table, digits):
            numbers = [count + noise, upper - lower, noise, lower, upper]
            lines.append(",".join([str(count), *map(print_decimal, numbers), kind]))
    return "\n".join(lines) + "\n"


def write_tau_argus(tables: Mapping[str, PTable], writing: Writing) -> str:
    """Write R ptable's export to τ-ARGUS: upper thresholds only, padded columns, 8 digits."""
    return _export(tables, writing, has_lower=False)


def write_sas(tables: Mapping[str, PTable], writing: Writing) -> str:
    """Write R ptable's export to SAS: as for τ-ARGUS, with lower thresholds."""
    return _export(tables, writing, has_lower=True)


def _export(tables: Mapping[str, PTable], writing: Writing, *, has_lower: bool) -> str:
    if _SMALL in tables and len(tables) > 1:
        raise PTableError(
            Message(
                "A p-table of type '{small}' is exported to a file of its own.",
                small=Name(_SMALL),
            ),
            hint=Message("write each of the others to another file"),
        )
    digits = writing.digits or _EXPORT_DIGITS
    has_type = len(tables) > 1 or any(
        table.step != 1 or table.anchors is not None for table in tables.values()
    )
    noise_digits = max(map(_noise_digits, tables.values()))
    names = ["i", "j", "p", "v", *(["p_int_lb"] if has_lower else []), "p_int_ub"]
    columns: list[list[str]] = [[] for _ in names]
    kinds = []
    for kind, table in tables.items():
        for count, noise, lower, upper in _intervals(table, digits):
            shares = [lower, upper] if has_lower else [upper]
            cells = [
                str(count),
                print_decimal(count + noise, digits=noise_digits),
                print_decimal(upper - lower, digits=digits),
                print_decimal(noise, digits=noise_digits),
                *(print_decimal(share, digits=digits) for share in shares),
            ]
            for column, cell in zip(columns, cells, strict=True):
                column.append(cell)
            kinds.append(kind)
    widths = [max(map(len, column)) for column in columns]
    if has_type:
        names, columns, widths = [*names, "type"], [*columns, kinds], [*widths, 0]
    lines = [
        ";".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        for cells in zip(*columns, strict=True)
    ]
    return "\n".join([";".join(names), *lines]) + "\n"


def _noise_digits(table: PTable) -> int:
    """Give the digits that write noise exactly, or enough to recognise it."""
    for digits in range(_MAX_NOISE_DIGITS):
        if all(v * 10**digits % table.step == 0 for row in table.noise for v in row):
            return digits
    return _MAX_NOISE_DIGITS


def write_frame(tables: Mapping[str, PTable], writing: Writing) -> str:
    """Write the columns of `PTable.to_frame`, with thresholds in whole keys."""
    del writing
    lines = ["i,j,v,p,lower,upper" + (",type" if len(tables) > 1 else "")]
    for kind, table in tables.items():
        for count, noise, lower, upper in _intervals(table, None):
            cells = [str(count), *map(print_decimal, (count + noise, noise, upper - lower))]
            cells += [str(end * table.key_range) for end in (lower, upper)]
            lines.append(",".join([*cells, kind] if len(tables) > 1 else cells))
    return "\n".join(lines) + "\n"
