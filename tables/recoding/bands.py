"""Bands of numbers and dates: where each begins and ends, and what it is called.

A band holds its lower bound and not its upper one, so that bands neither overlap nor leave a
gap. Bounds are exact decimals or dates, never floating-point numbers.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from footing.messages import Message, Name, said
from tables.errors import RequestError
from tables.filtering.values import bounds_of

Bound: TypeAlias = Decimal | dt.date
Open: TypeAlias = Literal["end", "start", "both", "none"]
Period: TypeAlias = Literal["year", "quarter", "month"]

MOST_BANDS = 1000
_DIGITS = 60  # of sums of bounds, exact
_DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Band:
    """The values from `lower` up to, and without, `upper`; None is no bound."""

    lower: Bound | None
    upper: Bound | None
    label: str


def read_bound(value: object, what: str) -> Bound:
    """Return a bound as an exact number, or a date; a float is what its digits say."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (dt.datetime, bool)):
        value = None
    if isinstance(value, dt.date):
        return value
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, int):
        value = Decimal(value)
    if not isinstance(value, Decimal) or not value.is_finite():
        raise RequestError(
            Message("{what} must be a number or a date, and finite.", what=said(what)),
            hint=Message(
                'write 5, 0.5 or 2027-03-31 without quotes; open = "both" for open ends'
            ),
        )
    return value


def require_rising(bounds: Sequence[Bound], what: str) -> None:
    """Raise unless bounds are of one kind and each is above the one before."""
    if len({isinstance(bound, Decimal) for bound in bounds}) > 1:
        raise RequestError(
            Message("{what} mixes numbers and dates.", what=said(what)),
            hint=Message("write one kind"),
        )
    pairs: Iterator[tuple[Any, Any]] = pairwise(bounds)  # of one kind
    for low, high in pairs:
        if not low < high:
            raise RequestError(
                Message(
                    "{what} must rise: {written} comes after {written_2}.",
                    what=said(what),
                    written=said(written(high)),
                    written_2=said(written(low)),
                ),
                hint=Message("each number is where a band begins, and the one before it ends"),
            )


def steps(width: Decimal, start: Decimal, end: Decimal) -> list[Bound]:
    """Return the bounds from `start` by steps of a width, the last at or above `end`."""
    with localcontext(prec=_DIGITS):
        number = int(((end - start) / width).to_integral_value(rounding="ROUND_CEILING"))
        number = max(number, 1)
        if number > MOST_BANDS:
            raise RequestError(
                Message(
                    "Bands of width {written} would be more than {most_bands:,}.",
                    written=said(written(width)),
                    most_bands=MOST_BANDS,
                ),
                hint=Message("make them wider, or give start and end"),
            )
        return [start + width * place for place in range(number + 1)]


def anchored(width: Decimal, anchor: Decimal, value: Decimal) -> Decimal:
    """Return the last bound at or below a value, of those whole widths from an anchor."""
    with localcontext(prec=_DIGITS):
        places = (value - anchor) / width
        return anchor + width * places.to_integral_value(rounding="ROUND_FLOOR")


def bands_between(bounds: Sequence[Bound], opens: Open, *, is_whole: bool) -> tuple[Band, ...]:
    """Return the bands between rising bounds, those of open ends among them."""
    ends: list[Bound | None] = list(bounds)
    if opens in {"start", "both"}:
        ends.insert(0, None)
    if opens in {"end", "both"}:
        ends.append(None)
    numbers = [bound for bound in bounds if isinstance(bound, Decimal)]
    is_whole = is_whole and all(number == number.to_integral_value() for number in numbers)
    decimals = max((_decimals(number) for number in numbers), default=0)
    return tuple(
        Band(low, high, _label(low, high, is_whole=is_whole, decimals=decimals))
        for low, high in pairwise(ends)
    )


def written(bound: Bound, decimals: int = 0) -> str:
    """Write a bound as people do: 85, 0.5, 2027-03-31."""
    if isinstance(bound, dt.date):
        return bound.isoformat()
    return f"{bound:.{max(decimals, _decimals(bound))}f}"


def _decimals(number: Decimal) -> int:
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _label(low: Bound | None, high: Bound | None, *, is_whole: bool, decimals: int) -> str:
    """Call a band 5–9, 5–<7.5, 2020-01-01 – 2029-12-31, and with an open end <5 or 85+."""
    if low is None:
        return "" if high is None else f"<{written(high, decimals)}"
    if high is None:
        first = written(low, decimals)
        return f"{first}+" if isinstance(low, Decimal) else f"≥{first}"
    if isinstance(low, Decimal) and isinstance(high, Decimal):
        dash = " – " if low < 0 else "–"
        if not is_whole:
            return f"{written(low, decimals)}{dash}<{written(high, decimals)}"
        with localcontext(prec=_DIGITS):
            last: Bound = high - 1
    else:
        dash, last = " – ", high - _DAY  # type: ignore[operator]
    first = written(low, decimals)
    return first if last == low else f"{first}{dash}{written(last, decimals)}"


def named_bands(mapping: Mapping[str, object], what: str) -> tuple[Band, ...]:
    """Read bands with labels of their own: label → start and end."""
    bands: list[Band] = []
    for label, ends in mapping.items():
        if not isinstance(ends, Mapping) or not ends or set(ends) - {"start", "end"}:
            raise RequestError(
                Message(
                    "The band {label!r} of {what} has a start, an end or both.",
                    label=Name(label),
                    what=said(what),
                ),
                hint=Message('bands = { "young" = { end = 18 }, "old" = { start = 18 } }'),
            )
        low, high = (
            read_bound(
                ends[key],
                Message("The {key} of the band {label!r}", key=Name(key), label=Name(label)),
            )
            if key in ends
            else None
            for key in ("start", "end")
        )
        bands.append(Band(low, high, label))
    for band in bands:
        both = [bound for bound in (band.lower, band.upper) if bound is not None]
        require_rising(both, Message("The band {label!r}", label=Name(band.label)))
    for one, next_one in pairwise(bands):
        if one.upper != next_one.lower or one.upper is None:
            raise RequestError(
                Message(
                    "The bands {label!r} and {next_one_label!r} of {what} overlap or leave a "
                    "gap.",
                    label=Name(one.label),
                    next_one_label=Name(next_one.label),
                    what=said(what),
                ),
                hint=Message("a band ends, its end left out, where the next one starts"),
            )
    require_rising([b.upper for b in bands if b.upper is not None], what)
    return tuple(bands)


def bands_sql(bands: Sequence[Band], operand: str, sql_type: str, outside: str) -> str:
    """Return the SQL of a record's band, from that of its number or date.

    Compared in the column's own type with the bound, or the value next to it, as filters do.
    """
    parts = [f"WHEN {operand} IS NULL THEN NULL"]
    if bands[0].lower is not None:
        parts.append(f"WHEN {_below(operand, bands[0].lower, sql_type)} THEN {outside}")
    for band in bands:
        if band.upper is not None:
            below = _below(operand, band.upper, sql_type)
            parts.append(f"WHEN {below} THEN {text_sql(band.label)}")
    last = bands[-1]
    parts.append(f"ELSE {text_sql(last.label) if last.upper is None else outside}")
    return f"CASE {' '.join(parts)} END"


def text_sql(text: str) -> str:
    """Write a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def value_sql(value: object, sql_type: str) -> str:
    """Write a value of a type for SQL."""
    return f"CAST({text_sql(str(value))} AS {sql_type})"


def literal_of(bound: Bound) -> int | Decimal | str:
    """Return a bound as the language of filters has it."""
    if isinstance(bound, dt.date):
        return bound.isoformat()
    return int(bound) if bound == bound.to_integral_value() else bound


def _below(operand: str, bound: Bound, sql_type: str) -> str:
    bounds = bounds_of(literal_of(bound), sql_type)
    if bounds is None or bounds.low is None:  # less than all values of the type
        return "false"
    return f"{operand} {'<' if bounds.is_exact else '<='} {value_sql(bounds.low, sql_type)}"


def period_sql(period: Period, operand: str, outside: str) -> str:
    """Return the SQL of a record's year, quarter or month: 2027, 2027-Q1, 2027-03."""
    date = f"CAST({operand} AS DATE)"
    text = f"CAST({date} AS VARCHAR)"
    first, last = (value_sql(day, "DATE") for day in ("0001-01-01", "9999-12-31"))
    label_sql = f"left({text}, {4 if period != 'month' else 7})"
    if period == "quarter":
        month = f"right(left({text}, 7), 2)"
        quarters = zip(("04", "07", "10"), ("1", "2", "3"), strict=True)
        cases = " ".join(f"WHEN {month} < '{end}' THEN '-Q{n}'" for end, n in quarters)
        label_sql = f"{label_sql} || CASE {cases} ELSE '-Q4' END"
    return (
        f"CASE WHEN {operand} IS NULL THEN NULL "
        f"WHEN {date} >= {first} AND {date} <= {last} THEN {label_sql} "
        f"ELSE {outside} END"
    )


def labels_of(bands: Sequence[Band]) -> Iterator[str]:
    """Return what the bands are called, in their order."""
    return (band.label for band in bands)
