"""Lists of intervals: one line per count and noise, with cumulative probabilities or keys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from ptable.dialects.numbers import (
    MAX_DIGITS,
    MAX_NOISE,
    as_noise,
    choose_scale,
    parse_decimal,
    parse_whole,
    places,
)
from ptable.dialects.text import Problems
from ptable.errors import PTableError
from ptable.table import PTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from decimal import Decimal

    from ptable.dialects.options import Reading
    from ptable.dialects.text import Sheet

#: Names that other tools give to the columns.
ALIASES = {
    "lb": "p_int_lb",
    "ub": "p_int_ub",
    "kum_p_u": "p_int_lb",
    "kum_p_o": "p_int_ub",
    "diff": "v",
}
_ONLY = "all"
_FINE_DIGITS = 4
_LONG_NOISE = 6
_NO_DIGIT = Fraction(1, 10**14)
_Keys: TypeAlias = "Callable[[Fraction], int | None]"


@dataclass(slots=True, kw_only=True)
class _Line:
    """One interval as printed; `lower` is None where the file has none."""

    number: int
    count: int
    noise: Fraction
    lower: Fraction | None
    upper: Fraction
    p: Fraction | None


def read_decimal_intervals(sheet: Sheet, reading: Reading) -> dict[str, PTable]:
    r"""Read decimal thresholds: the layouts of R ptable, cellKey, ckm, τ-ARGUS and SAS."""
    parser = _Parser(sheet, {"p_int_lb": "lower", "p_int_ub": "upper"})
    kinds = parser.read(is_decimal=True)
    try:
        scale = choose_scale(
            parser.thresholds,
            key_range=reading.key_range,
            digits=reading.digits,
            boundary=reading.boundary,
        )
    except PTableError as error:
        raise PTableError(f"{sheet.source}: {error.problem}", hint=error.hint) from None
    if scale.digits is not None:
        for line in (line for lines in kinds.values() for line in lines):
            line.upper = scale.rounded(line.upper)
            line.lower = None if line.lower is None else scale.rounded(line.lower)
    return _tables(parser, kinds, scale.keys, scale.key_range, reading)


def read_key_intervals(sheet: Sheet, reading: Reading) -> dict[str, PTable]:
    r"""Read integer thresholds: the layout of `PTable.to_frame`."""
    parser = _Parser(sheet, {"lower": "lower", "upper": "upper"})
    kinds = parser.read(is_decimal=False)
    everything = [line for lines in kinds.values() for line in lines]
    total = reading.key_range or math.floor(max(line.upper for line in everything))
    if not 2 <= total <= 2**64:
        parser.problems.fail("the largest threshold must lie between 2 and 2**64")
    for line in everything:
        line.upper /= total
        line.lower = None if line.lower is None else line.lower / total
        if line.upper > 1:
            parser.problems.add(f"the threshold lies above {total}", line=line.number)
    parser.problems.stop()
    return _tables(parser, kinds, lambda x: math.floor(x * total), total, reading)


class _Parser:
    """Reads the lines of a sheet and notes what is wrong with single lines."""

    def __init__(self, sheet: Sheet, thresholds: dict[str, str]) -> None:
        self.sheet = sheet
        self.problems = Problems(sheet.source)
        self.thresholds: list[Decimal] = []
        self.p_digits = 0
        names = [ALIASES.get(name, name) for name in sheet.names]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            self.problems.fail(f"it has column '{twice[0]}' twice")
        self.place = {
            thresholds.get(name, name): place
            for place, name in enumerate(names)
            if name in {"i", "j", "v", "p", "type", *thresholds}
        }
        ends = next(name for name, role in thresholds.items() if role == "upper")
        missing = [name for name in ("i", "v", "upper") if name not in self.place]
        if "v" in missing and "j" in self.place:
            missing.remove("v")
        if missing:
            name = {"v": "v' or 'j", "upper": ends}.get(missing[0], missing[0])
            needs = f"needed are i, one of j and v, and {ends}"
            raise PTableError(
                f"{sheet.source} has no column '{name}'; it has {sorted(sheet.cells[0])}.",
                hint=needs if ends == "upper" else f"{needs}, or upper",
            )
        if len(sheet.cells) == 1:
            self.problems.fail("it needs at least one line below the names of the columns")

    def read(self, *, is_decimal: bool) -> dict[str, list[_Line]]:
        """Read every line, by type of table; raise when one is wrong."""
        kinds: dict[str, list[_Line]] = {}
        for number, cells in self.sheet.body:
            line = self._line(number, cells, is_decimal=is_decimal)
            kind = cells[self.place["type"]] if "type" in self.place else _ONLY
            if not kind:
                self.problems.add("the cell of column 'type' is empty", line=number)
            if line is not None:
                kinds.setdefault(kind, []).append(line)
        self.problems.stop()
        return kinds

    def _line(self, number: int, cells: list[str], *, is_decimal: bool) -> _Line | None:
        count = parse_whole(cells[self.place["i"]])
        if count is None or not 0 <= count <= MAX_NOISE:
            shown = cells[self.place["i"]]
            what = f"'{shown}'" if shown else "an empty cell"
            self.problems.add(
                f"column 'i' must hold counts from 0 to {MAX_NOISE}, not {what}", line=number
            )
            return None
        upper = self._threshold("upper", cells, number, count, is_decimal=is_decimal)
        lower = None
        if "lower" in self.place:
            lower = self._threshold("lower", cells, number, count, is_decimal=is_decimal)
            if lower is None:
                return None
        p = self._decimal("p", cells, number, count) if "p" in self.place else None
        if p is not None and not 0 <= p <= 1:
            self.problems.add(
                f"p must lie between 0 and 1, not {p:f}", line=number, count=count
            )
        elif p is not None:
            self.p_digits = max(self.p_digits, _printed_places(p))
        noise = self._noise(cells, number, count)
        if noise is None or upper is None:
            return None
        return _Line(
            number=number,
            count=count,
            noise=noise,
            lower=lower,
            upper=upper,
            p=None if p is None else Fraction(p),
        )

    def slack(self) -> Fraction:
        """Give how far p may be from the width of its interval, as both may be rounded."""
        ours = Fraction(1, 10**self.p_digits) / 2
        if not self.thresholds:
            return _NO_DIGIT + (ours if self.p_digits >= _FINE_DIGITS else 0)
        digits = max(map(_printed_places, self.thresholds))
        slack = Fraction(3, 2 * 10**digits) if digits >= _FINE_DIGITS else Fraction(0)
        # Few digits are exact rather than rounded, unless the thresholds have more.
        return _NO_DIGIT + slack + (ours if 0 < self.p_digits < digits else 0)

    def _decimal(self, name: str, cells: list[str], line: int, count: int) -> Decimal | None:
        cell = cells[self.place[name]]
        found = parse_decimal(cell, has_commas=self.sheet.has_commas)
        if found is None:
            what = f"'{cell}'" if cell else "an empty cell"
            self.problems.add(
                f"column '{self._name(name)}' must hold numbers, not {what}",
                line=line,
                count=count,
            )
        return found

    def _name(self, role: str) -> str:
        return self.sheet.cells[0][self.place[role]]

    def _threshold(
        self, role: str, cells: list[str], line: int, count: int, *, is_decimal: bool
    ) -> Fraction | None:
        cell = cells[self.place[role]]
        if is_decimal:
            decimal = parse_decimal(cell, has_commas=self.sheet.has_commas)
            if decimal is not None and 0 <= decimal <= 1:
                self.thresholds.append(decimal)
                return Fraction(decimal)
        else:
            whole = parse_whole(cell)
            if whole is not None and 0 <= whole <= 2**64:
                return Fraction(whole)
        what = f"'{cell}'" if cell else "an empty cell"
        kind = "decimals from 0 to 1" if is_decimal else "integers from 0 on"
        self.problems.add(
            f"column '{self._name(role)}' must hold {kind}, not {what}", line=line, count=count
        )
        return None

    def _noise(self, cells: list[str], line: int, count: int) -> Fraction | None:
        v = self._decimal("v", cells, line, count) if "v" in self.place else None
        j = self._decimal("j", cells, line, count) if "j" in self.place else None
        if (v is None and "v" in self.place) or (j is None and "j" in self.place):
            return None
        printed = v if v is not None else j - count if j is not None else None
        noise = None if printed is None else as_noise(printed)
        if noise is None:
            self.problems.add(
                f"the noise {printed} must lie within {MAX_NOISE} and be a multiple of 1/s "
                "for an s of at most 1000",
                line=line,
                count=count,
            )
            return None
        if j is not None and not _is_sum(j, count, noise):
            self.problems.add("'v' must be 'j' minus 'i'", line=line, count=count)
        if noise < -count:
            self.problems.add(
                f"count {count} would be published as {float(count + noise):g}", line=line
            )
        return noise


def _is_sum(printed: Decimal, count: int, noise: Fraction) -> bool:
    if noise.denominator == 1 and printed == count + noise.numerator:
        return True  # the usual case, without fractions
    return abs(Fraction(printed) - count - noise) <= _print_error(printed)


def _printed_places(number: Decimal) -> int:
    """Give the number of digits behind the point, trailing zeros included; at most 12."""
    return min(MAX_DIGITS, max(0, -int(number.as_tuple().exponent)))


def _print_error(number: Decimal) -> Fraction:
    digits = places(number)
    rounding = Fraction(6, 10 ** (digits + 1)) if digits >= _LONG_NOISE else Fraction(0)
    return max(rounding, Fraction(1, 10**9))


def _tables(
    parser: _Parser,
    kinds: dict[str, list[_Line]],
    keys: _Keys,
    total: int,
    reading: Reading,
) -> dict[str, PTable]:
    problems, stem = parser.problems, parser.sheet.stem
    slack = parser.slack()
    tables = {}
    for kind, lines in kinds.items():
        rows: dict[int, list[_Line]] = {}
        for line in lines:
            rows.setdefault(line.count, []).append(line)
        step = math.lcm(*(line.noise.denominator for line in lines))
        if step > 1000:
            problems.fail("the noise has no common step of at least 1/1000")
        if len(kinds) > 1 and max(rows) == 0:
            problems.add(f"type '{kind}' has no count but 0", line=lines[0].number)
        _check_counts(problems, rows, may_skip=step > 1 or reading.anchors)
        units = {count: _row(problems, row, keys, slack, total) for count, row in rows.items()}
        problems.stop()
        units.setdefault(0, [(Fraction(0), total)])
        counts = sorted(units)
        tables[kind] = PTable(
            noise=tuple(tuple(int(v * step) for v, _ in units[count]) for count in counts),
            upper=tuple(tuple(end for _, end in units[count]) for count in counts),
            key_range=total,
            large_counts=reading.large_counts or "last",
            step=step,
            anchors=tuple(counts),
            label=stem if len(kinds) == 1 else f"{stem} {kind}".strip(),
        )
    return tables


def _check_counts(problems: Problems, counts: Iterable[int], *, may_skip: bool) -> None:
    if may_skip:
        return
    for before, count in pairwise(sorted({0, *counts})):
        if count > before + 1:
            missing = (
                f"count {before + 1} has"
                if count == before + 2
                else f"counts {before + 1} to {count - 1} have"
            )
            problems.add(f"{missing} no lines, though count {count} has")
            problems.hint = (
                "where only some counts have rows, as in tables for magnitudes, "
                "pass anchors=True"
            )


def _row(
    problems: Problems, lines: list[_Line], keys: _Keys, slack: Fraction, total: int
) -> list[tuple[Fraction, int]]:
    """Check that the intervals of a count fit each other, and count their keys."""
    ordered = _ordered(problems, lines)
    row, end = [], Fraction(0)
    for line in ordered:
        lower = end if line.lower is None else line.lower
        problem = _misfit(line, lower, end, slack)
        if problem is not None:
            problems.add(problem, line=line.number, count=line.count)
            return []
        end = line.upper
        upper = keys(end)
        if upper is None:
            problems.add(
                f"the threshold {_show(end)} is no multiple of 1/{total}",
                line=line.number,
                count=line.count,
            )
            problems.hint = "read it without key_range; any keys can be looked up in it"
        elif lower != end:
            row.append((line.noise, upper))
    if ordered and end != 1:
        problems.add(
            f"the last threshold is {_show(end)}, not 1",
            line=ordered[-1].number,
            count=ordered[-1].count,
        )
    return row


def _ordered(problems: Problems, lines: list[_Line]) -> list[_Line]:
    """Put the lines of a count in the order of their thresholds, where that is safe."""
    if lines[0].lower is not None:
        return sorted(lines, key=lambda line: (line.lower or 0, line.upper))
    if lines[0].p is None and len({line.noise for line in lines}) < len(lines):
        problems.add("it has a noise value twice", line=lines[-1].number, count=lines[0].count)
        return []
    # Without lower thresholds a falling one is a mistake, unless all lines come last first.
    is_reversed = all(a.upper > b.upper for a, b in pairwise(lines))
    return lines[::-1] if is_reversed else lines


def _misfit(line: _Line, lower: Fraction, end: Fraction, slack: Fraction) -> str | None:
    if lower > line.upper:
        return f"the threshold falls from {_show(lower)} to {_show(line.upper)}"
    if lower != end:
        what = "leave a gap" if lower > end else "overlap"
        return (
            f"the intervals {what}: one ends at {_show(end)}, the next starts at {_show(lower)}"
        )
    if line.p is not None and abs(line.upper - lower - line.p) > slack:
        return f"p is {_show(line.p)}, its thresholds give {_show(line.upper - lower)}"
    return None


def _show(number: Fraction) -> str:
    return f"{float(number):.12g}"
