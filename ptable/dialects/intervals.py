"""Lists of intervals: one line per count and noise, with cumulative probabilities or keys."""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from footing.messages import Argument, Message, Name, said
from ptable.dialects.numbers import (
    MAX_DIGITS,
    MAX_NOISE,
    Reading,
    Scale,
    as_noise,
    choose_scale,
    parse_decimal,
    parse_whole,
    places,
)
from ptable.dialects.text import Problems, Sheet, sheet_of_frame
from ptable.errors import PTableError
from ptable.table import PTable

#: Names that other tools give to the columns.
ALIASES = {
    "lb": "p_int_lb",
    "ub": "p_int_ub",
    "kum_p_u": "p_int_lb",
    "kum_p_o": "p_int_ub",
    "diff": "v",
}
_ONLY = "all"
_COLUMNS = ("i", "j", "v", "p", "type")
_FINE_DIGITS = 4
_LONG_NOISE = 6
_NO_DIGIT = Fraction(1, 10**14)
_ANCHORS = Message(
    "where only some counts have rows, as in tables for magnitudes, pass anchors=True"
)


@dataclass(slots=True, kw_only=True)
class Line:
    """One interval as printed; `lower` is None where the file has none."""

    number: int
    count: int
    noise: Fraction
    lower: Fraction | None
    upper: Fraction
    p: Fraction | None = None

    def scale(self, scale: Scale) -> None:
        """Round both ends."""
        self.upper = scale.rounded(self.upper)
        self.lower = None if self.lower is None else scale.rounded(self.lower)


def read_decimal_intervals(sheet: Sheet, reading: Reading) -> dict[str, PTable]:
    r"""Read decimal thresholds: the layouts of R ptable, cellKey, ckm, τ-ARGUS and SAS."""
    parser = _Parser(sheet, is_decimal=True)
    kinds = parser.read()
    try:
        scale = choose_scale(parser.thresholds, reading)
    except PTableError as error:
        raise PTableError(
            Message(
                "{source}: {problem}", source=said(sheet.source), problem=said(error.problem)
            ),
            hint=error.hint,
        ) from None
    for line in (line for lines in kinds.values() for line in lines):
        line.scale(scale)
    # Both ends of an interval move by up to half a digit where rounding was asked for.
    step = Fraction(0) if scale.digits is None else Fraction(1, 10**scale.digits)
    slack = parser.slack() + step
    return Builder(sheet.stem, parser.problems, scale, slack=slack).tables(kinds, reading)


def read_key_intervals(sheet: Sheet, reading: Reading) -> dict[str, PTable]:
    r"""Read integer thresholds: the layout of `PTable.to_frame`."""
    parser = _Parser(sheet, is_decimal=False)
    kinds = parser.read()
    everything = [line for lines in kinds.values() for line in lines]
    total = reading.key_range or math.floor(max(line.upper for line in everything))
    if not 2 <= total <= 2**64:
        parser.problems.fail(Message("the largest threshold must lie between 2 and 2**64"))
    for line in everything:
        line.upper /= total
        line.lower = None if line.lower is None else line.lower / total
        if line.upper > 1:
            parser.problems.add(
                Message("the threshold lies above {total}", total=total), line=line.number
            )
    parser.problems.stop()
    scale = Scale(key_range=total)
    return Builder(sheet.stem, parser.problems, scale, slack=parser.slack()).tables(
        kinds, reading
    )


def table_from_frame(
    frame: Any, *, key_range: int | None, digits: int | None, label: str
) -> PTable:
    """Build a table from one line per interval; see `PTable.from_frame`."""
    reading = Reading(key_range=key_range, digits=digits)
    sheet = sheet_of_frame(frame, stem=label)
    kinds = set(map(str, frame["type"].tolist())) if "type" in frame.columns else set()
    if len(kinds) > 1:
        raise PTableError(
            Message(
                "The frame holds several p-tables, of types {kinds}.",
                kinds=Name.each(sorted(kinds)),
            ),
            hint=Message("keep the lines of one type"),
        )
    if "upper" not in sheet.names:
        tables = read_decimal_intervals(sheet, reading)
    elif key_range is None:
        raise PTableError(Message("Integer thresholds in 'upper' need a key_range."))
    else:
        tables = read_key_intervals(sheet, reading)
    return next(iter(tables.values()))


class _Parser:
    """Reads the lines of a sheet and notes what is wrong with single lines."""

    def __init__(self, sheet: Sheet, *, is_decimal: bool) -> None:
        self.sheet, self.is_decimal = sheet, is_decimal
        self.problems = Problems(sheet.source)
        self.thresholds: list[Decimal] = []
        self.p_digits = 0
        names = [ALIASES.get(name, name) for name in sheet.names]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            self.problems.fail(Message("it has column '{twice}' twice", twice=Name(twice[0])))
        lower, ends = ("p_int_lb", "p_int_ub") if is_decimal else ("lower", "upper")
        roles = {lower: "lower", ends: "upper"} | {name: name for name in _COLUMNS}
        self.place = {roles[name]: k for k, name in enumerate(names) if name in roles}
        missing = [name for name in ("i", "v", "upper") if name not in self.place]
        if "v" in missing and "j" in self.place:
            missing.remove("v")
        if missing:
            name = {"v": "v' or 'j", "upper": ends}.get(missing[0], missing[0])
            needs = Message("needed are i, one of j and v, and {ends}", ends=Name(ends))
            raise PTableError(
                Message(
                    "{source} has no column '{name}'; it has {cells}.",
                    source=said(sheet.source),
                    name=Name(name),
                    cells=Argument(sorted(sheet.cells[0])),
                ),
                hint=needs if ends == "upper" else Message("{needs}, or upper", needs=needs),
            )
        if len(sheet.cells) == 1:
            self.problems.fail(
                Message("it needs at least one line below the names of the columns")
            )

    def read(self) -> dict[str, list[Line]]:
        """Read every line, by type of table; raise when one is wrong."""
        kinds: dict[str, list[Line]] = {}
        for number, cells in self.sheet.body:
            line = self._line(number, cells)
            kind = cells[self.place["type"]] if "type" in self.place else _ONLY
            if not kind:
                self.problems.add(Message("the cell of column 'type' is empty"), line=number)
            if line is not None:
                kinds.setdefault(kind, []).append(line)
        self.problems.stop()
        return kinds

    def _line(self, number: int, cells: list[str]) -> Line | None:
        count = parse_whole(cells[self.place["i"]])
        if count is None or not 0 <= count <= MAX_NOISE:
            must = Message(
                "column 'i' must hold counts from 0 to {max_noise}", max_noise=MAX_NOISE
            )
            self.problems.add_cell(cells[self.place["i"]], must, line=number)
            return None
        upper = self._threshold("upper", cells, number, count)
        lower = None
        if "lower" in self.place:
            lower = self._threshold("lower", cells, number, count)
            if lower is None:
                return None
        p = self._decimal("p", cells, number, count)
        if p is not None and not 0 <= p <= 1:
            self.problems.add(
                Message("p must lie between 0 and 1, not {p:f}", p=p), line=number, count=count
            )
        elif p is not None:
            self.p_digits = max(self.p_digits, _printed_places(p))
        noise = self._noise(cells, number, count)
        if noise is None or upper is None:
            return None
        share = None if p is None else Fraction(p)
        return Line(number=number, count=count, noise=noise, lower=lower, upper=upper, p=share)

    def slack(self) -> Fraction:
        """Give how far p may be from the width of its interval, as both may be rounded."""
        ours = Fraction(1, 10**self.p_digits) / 2
        if not self.thresholds:
            return _NO_DIGIT + (ours if self.p_digits >= _FINE_DIGITS else 0)
        digits = max(map(_printed_places, self.thresholds))
        slack = Fraction(3, 2 * 10**digits) if digits >= _FINE_DIGITS else Fraction(0)
        # Few digits are exact rather than rounded, unless the thresholds have more.
        return _NO_DIGIT + slack + (ours if 0 < self.p_digits < digits else 0)

    def _decimal(self, role: str, cells: list[str], line: int, count: int) -> Decimal | None:
        """Read a column; None where it is missing, or its cell holds no number."""
        if role not in self.place:
            return None
        cell = cells[self.place[role]]
        number = parse_decimal(cell, has_commas=self.sheet.has_commas)
        if number is None:
            must = Message("column '{name}' must hold numbers", name=Name(self._name(role)))
            self.problems.add_cell(cell, must, line=line, count=count)
        return number

    def _name(self, role: str) -> str:
        return self.sheet.cells[0][self.place[role]]

    def _threshold(self, role: str, cells: list[str], line: int, count: int) -> Fraction | None:
        cell = cells[self.place[role]]
        if self.is_decimal:
            decimal = parse_decimal(cell, has_commas=self.sheet.has_commas)
            if decimal is not None and 0 <= decimal <= 1:
                self.thresholds.append(decimal)
                return Fraction(decimal)
        else:
            whole = parse_whole(cell)
            if whole is not None and 0 <= whole <= 2**64:
                return Fraction(whole)
        kind = (
            Message("decimals from 0 to 1")
            if self.is_decimal
            else Message("integers from 0 on")
        )
        must = Message(
            "column '{name}' must hold {kind}", name=Name(self._name(role)), kind=kind
        )
        self.problems.add_cell(cell, must, line=line, count=count)
        return None

    def _noise(self, cells: list[str], line: int, count: int) -> Fraction | None:
        v, j = (self._decimal(role, cells, line, count) for role in ("v", "j"))
        if (v is None and "v" in self.place) or (j is None and "j" in self.place):
            return None
        printed = v if v is not None else j - count if j is not None else None
        noise = None if printed is None else as_noise(printed)
        if noise is None:
            self.problems.add(
                Message(
                    "the noise {printed} must lie within {max_noise} and be a multiple of 1/s "
                    "for an s of at most 1000",
                    printed=printed,
                    max_noise=MAX_NOISE,
                ),
                line=line,
                count=count,
            )
            return None
        if j is not None and not _is_sum(j, count, noise):
            self.problems.add(Message("'v' must be 'j' minus 'i'"), line=line, count=count)
        if noise < -count:
            self.problems.add(
                Message(
                    "count {count} would be published as {count_2:g}",
                    count=count,
                    count_2=float(count + noise),
                ),
                line=line,
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


@dataclass(frozen=True, slots=True)
class Builder:
    """Makes p-tables of intervals, and notes where those of a count do not fit each other."""

    stem: str
    problems: Problems
    scale: Scale
    slack: Fraction = Fraction(0)
    #: What messages call the end of an interval.
    end: str = "threshold"

    def tables(self, kinds: dict[str, list[Line]], reading: Reading) -> dict[str, PTable]:
        """Make a table of the intervals of each type."""
        problems, total = self.problems, self.scale.key_range
        tables = {}
        for kind, lines in kinds.items():
            rows: dict[int, list[Line]] = {}
            for line in lines:
                rows.setdefault(line.count, []).append(line)
            step = math.lcm(*(line.noise.denominator for line in lines))
            if step > 1000:
                problems.fail(Message("the noise has no common step of at least 1/1000"))
            if len(kinds) > 1 and max(rows) == 0:
                problems.add(
                    Message("type '{kind}' has no count but 0", kind=said(kind)),
                    line=lines[0].number,
                )
            if step == 1 and not reading.anchors:
                problems.add_gaps(rows, hint=_ANCHORS)
            units = {count: self._row(row) for count, row in rows.items()}
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
                label=self.stem if len(kinds) == 1 else f"{self.stem} {kind}".strip(),
            )
        return tables

    def _row(self, lines: list[Line]) -> list[tuple[Fraction, int]]:
        """Check that the intervals of a count fit each other, and count their keys."""
        ordered = self._ordered(lines)
        row, end = [], Fraction(0)
        for line in ordered:
            lower = end if line.lower is None else line.lower
            problem = self._misfit(line, lower, end)
            if problem is not None:
                self._add(problem, line)
                return []
            end = line.upper
            upper = self.scale.keys(end)
            if upper is None:
                total = self.scale.key_range
                self._add(
                    Message(
                        "the {end} {show} is no multiple of 1/{total}",
                        end=Name(self.end),
                        show=Name(_show(end)),
                        total=total,
                    ),
                    line,
                )
                self.problems.hint = Message(
                    "read it without key_range; any keys can be looked up in it"
                )
            elif lower != end:
                row.append((line.noise, upper))
        if ordered and end != 1:
            self._add(
                Message(
                    "the last {end} is {show}, not 1", end=Name(self.end), show=Name(_show(end))
                ),
                ordered[-1],
            )
        return row

    def _ordered(self, lines: list[Line]) -> list[Line]:
        """Put the lines of a count in the order of their ends, where that is safe."""
        if lines[0].lower is not None:  # what falls goes first, and is refused
            lowers = [line.lower or Fraction(0) for line in lines]
            order = sorted(
                zip(lowers, lines, strict=True),
                key=lambda pair: (pair[0] <= pair[1].upper, pair[0], pair[1].upper),
            )
            return [line for _, line in order]
        if lines[0].p is None and len({line.noise for line in lines}) < len(lines):
            self._add(Message("it has a noise value twice"), lines[-1])
            return []
        # Without lower ends a falling one is a mistake, unless all lines come last first.
        is_reversed = all(a.upper > b.upper for a, b in pairwise(lines))
        return lines[::-1] if is_reversed else lines

    def _misfit(self, line: Line, lower: Fraction, end: Fraction) -> str | None:
        if lower > line.upper:
            return Message(
                "the {end} falls from {show} to {show_2}",
                end=Name(self.end),
                show=Name(_show(lower)),
                show_2=Name(_show(line.upper)),
            )
        if lower != end:
            what = Message("leave a gap") if lower > end else Message("overlap")
            starts = Message(
                "one ends at {show}, the next starts at {show_2}",
                show=Name(_show(end)),
                show_2=Name(_show(lower)),
            )
            return Message("the intervals {what}: {starts}", what=what, starts=starts)
        if line.p is not None and abs(line.upper - lower - line.p) > self.slack:
            return Message(
                "p is {show}, its thresholds give {show_2}",
                show=Name(_show(line.p)),
                show_2=Name(_show(line.upper - lower)),
            )
        return None

    def _add(self, problem: str, line: Line) -> None:
        self.problems.add(problem, line=line.number, count=line.count)


def _show(number: Fraction) -> str:
    return f"{float(number):.12g}"
