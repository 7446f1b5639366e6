"""Values of columns and their texts: one mapping for printing, filtering and preparing.

Every category has one text, and the text, in a filter, stands for that category and no other.
A column whose type or values cannot keep that promise is refused by name.
"""

import datetime as dt
import functools
import math
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Protocol, Self, TypeAlias

import numpy as np
import pyarrow as pa

from footing.messages import Message, Name, said
from tables.errors import DataError

#: What columns of each kind hold.
NOUNS = {
    "integer": Message("whole numbers"),
    "number": "numbers",
    "text": "texts",
    "boolean": Message("true and false"),
    "date": "dates",
    "time": Message("times of day"),
    "other": Message("nested or binary values"),
}
_SIGNED = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
_UNSIGNED = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64, "UHUGEINT": 128}
_FLOATS: dict[str, type[np.floating]] = {"FLOAT": np.float32, "DOUBLE": np.float64}
_SECOND = 10**9
_DAY = 86_400 * _SECOND
_UNITS = {  # nanoseconds in a unit
    "DATE": _DAY,
    "TIMESTAMP_S": _SECOND,
    "TIMESTAMP_MS": 10**6,
    "TIMESTAMP": 10**3,
    "TIMESTAMP WITH TIME ZONE": 10**3,
    "TIMESTAMP_NS": 1,
    "TIMESTAMPTZ_NS": 1,
}
_CLOCKS = {"TIME": 10**3, "TIME_NS": 1}
_EPOCH = dt.date(1970, 1, 1).toordinal()
_LIMITS = ((1 - _EPOCH) * _DAY, (dt.date.max.toordinal() - _EPOCH + 1) * _DAY - 1)
_NANOSECONDS = (-(2**63) + 1, 2**63 - 1)  # what 64 bits of them reach; the rest is missing
_MAX_DIGITS = 38
_HUGE = 400  # a number of more digits is beyond every type
_DATED = re.compile(r"(?!0000)\d{4}-\d\d-\d\d(?: |$)")
_CLOCK = re.compile(r"([01]\d|2[0-3]):")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,39}")
_SUB_MICROSECONDS = re.compile(r"[.,]\d{6}(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelled:
    """A number of a filter that is written otherwise than it is printed: 007, 10.0, 1e3.

    Parameters
    ----------
    number
        The number.
    text
        As it is written: the category that it stands for in a column of texts.
    """

    number: int | Decimal
    text: str


Literal: TypeAlias = int | Decimal | str | bool | Spelled


@dataclass(frozen=True, slots=True)
class NumberReading:
    """How the texts of a column are read as numbers.

    Parameters
    ----------
    sql_type
        What they become: ``DOUBLE``, or a decimal type that holds all of them exactly.
    decimal
        The decimal mark.
    is_lenient
        Whether a text that is no number is missing; else all are known to be numbers.
    """

    sql_type: str
    decimal: str = "."
    is_lenient: bool = False

    def with_points(self, column: str) -> str:
        """Return SQL of the texts with a point as decimal mark."""
        return column if self.decimal == "." else f"replace({column}, '{self.decimal}', '.')"

    def sql(self, column: str) -> str:
        """Return SQL of the numbers of a column, whose name is quoted."""
        if not self.is_lenient:
            return f"CAST({self.with_points(column)} AS {self.sql_type})"
        # DuckDB takes 1_0 for 10, and words for infinity and for no number.
        number = f"TRY_CAST({self.with_points(column)} AS DOUBLE)"
        signs = [f"contains({column}, '{sign}')" for sign in ("_", *self._no_marks)]
        return f"CASE WHEN isfinite({number}) AND NOT ({' OR '.join(signs)}) THEN {number} END"

    @property
    def _no_marks(self) -> str:
        return "" if self.decimal == "." else "."


class Texts(Protocol):
    """The texts of a column of a file."""

    def are_numbers(self) -> bool:
        """Tell whether all of them are numbers."""
        ...

    def reading(self, *, is_exact: bool = False) -> NumberReading:
        """Tell how they are read as numbers, or raise because one is none.

        Parameters
        ----------
        is_exact
            As decimals where doubles would round them.
        """
        ...


class FileType(str):
    """The SQL type of a column of a text file, whose categories are the texts of the file.

    Parameters
    ----------
    sql_type
        DuckDB's type. That of whole numbers and dates gives every text back.
    texts
        The texts.
    """

    __slots__ = ("texts",)

    texts: Texts

    def __new__(cls, sql_type: str, texts: Texts) -> Self:
        """Make a text that equals the type's name."""
        text = super().__new__(cls, sql_type)
        text.texts = texts
        return text


def kind_of(sql_type: str) -> str:
    """Return the kind of a column of one of DuckDB's types."""
    if sql_type in _SIGNED or sql_type in _UNSIGNED:
        return "integer"
    if sql_type in _FLOATS or sql_type.startswith("DECIMAL"):
        return "number"
    if sql_type in {"VARCHAR", "UUID"} or sql_type.startswith("ENUM"):
        return "text"
    if sql_type == "BOOLEAN":
        return "boolean"
    if sql_type in _CLOCKS:
        return "time"
    return "date" if sql_type in _UNITS else "other"


def texts_of(categories: pa.Array, column: str) -> list[str]:
    """Write each category as a text that depends on nothing but its value."""
    kind = categories.type
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        if pa.types.is_float32(kind):  # 0.1 is 0.1, not the double next to it
            return [_number(float(str(number))) for number in categories.to_numpy()]
        numbers = categories.to_pylist()
        if pa.types.is_decimal(kind) and any(
            len(number.as_tuple().digits) > _MAX_DIGITS for number in numbers
        ):
            raise _textless(
                column,
                Message("numbers of more than {max_digits} digits", max_digits=_MAX_DIGITS),
            )
        return [_number(number) for number in numbers]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return [str(text) for text in categories.to_pylist()]
    texts = [str(text) for text in categories.cast(pa.string()).to_pylist()]
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        if not all(map(_DATED.match, texts)):
            raise _textless(column, Message("dates beyond the years 1 to 9999"))
    elif pa.types.is_time(kind) and not all(map(_CLOCK.match, texts)):
        raise _textless(column, Message("times of day from 24:00 on"))
    has_clock = pa.types.is_timestamp(kind) or pa.types.is_time(kind)
    return [_moment(text) for text in texts] if has_clock else texts


def _textless(column: str, what: str) -> DataError:
    return DataError(
        Message(
            "Column {column!r} holds {what}, which no filter could name.",
            column=Name(column),
            what=said(what),
        ),
        hint=Message("recode them, or filter their records out beforehand"),
    )


def text_of(category: object) -> str:
    """Write a declared category as `texts_of` writes the same value from the data."""
    if isinstance(category, (bool, np.bool_)):
        return "true" if category else "false"
    if isinstance(category, (float, np.floating)):
        is_single = isinstance(category, np.float32)
        return _number(float(str(category)) if is_single else float(category))
    if isinstance(category, Decimal):
        return _number(category)
    if isinstance(category, dt.datetime) and category.tzinfo is not None:
        return _moment(str(category.astimezone(dt.UTC).replace(tzinfo=None))) + "Z"
    if isinstance(category, (dt.datetime, dt.time)):
        return _moment(str(category))
    return str(category)


def _number(number: float | Decimal) -> str:
    """Write a number without a fraction that says nothing: 2, 2.5."""
    if isinstance(number, Decimal):
        text = format(number, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    number = float(number)
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def _moment(text: str) -> str:
    """Write a time without a fraction that says nothing, whatever the unit it is kept in."""
    head, dot, tail = text.partition(".")
    fraction = tail.rstrip("Z")
    zone = tail[len(fraction) :]
    digits = fraction.rstrip("0")
    return f"{head}{dot}{digits}{zone}" if digits else head + zone


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a literal lies among the values of a type.

    Parameters
    ----------
    low, high
        The largest value that is not above it, the smallest that is not below it, as
        parameters to cast to the type; None where there is none.
    """

    low: object | None
    high: object | None

    @property
    def is_exact(self) -> bool:
        """Whether the literal is one of the values."""
        return self.low is not None and self.low == self.high


def bounds_of(literal: Literal, sql_type: str) -> Bounds | None:
    """Find a literal of a filter among the values of a type; None where it does not fit.

    A number stands for the nearest floating-point number, and is exact for other types.
    """
    kind = kind_of(sql_type)
    if isinstance(literal, Spelled):
        literal = literal.number
    if isinstance(literal, bool):
        return _exactly("true" if literal else "false") if kind == "boolean" else None
    if isinstance(literal, str):
        return _text_bounds(literal, kind, sql_type)
    if sql_type in _FLOATS:
        return _float_bounds(literal, _FLOATS[sql_type])
    if kind not in {"integer", "number"}:
        return None
    digits, decimals, low, high = 0, 0, 0, 0
    if kind == "number":
        digits, decimals = map(int, sql_type[8:-1].split(","))
        low, high = 1 - 10**digits, 10**digits - 1
    elif sql_type in _SIGNED:
        low, high = -(2 ** (_SIGNED[sql_type] - 1)), 2 ** (_SIGNED[sql_type] - 1) - 1
    else:
        high = 2 ** _UNSIGNED[sql_type] - 1
    return _whole_bounds(
        _fraction(literal) * 10**decimals, (low, high), lambda units: _shifted(units, decimals)
    )


def text_bounds_of(literal: Literal, sql_type: str) -> Bounds | None:
    """Find a literal among the texts of a column of a file; None where it does not fit.

    A number stands for the text as which it is written.
    """
    if isinstance(literal, bool):
        return None
    if isinstance(literal, Spelled):
        text = literal.text
    else:
        text = literal if isinstance(literal, str) else plain(literal)
    if kind_of(sql_type) == "text":
        return _exactly(text)
    if not _WHOLE.fullmatch(text):  # the text of none of the column's numbers
        return Bounds(None, None)
    return bounds_of(int(text), sql_type)


def plain(number: int | Decimal) -> str:
    """Write a number of a filter in the one way that says nothing but the number."""
    return str(number) if isinstance(number, int) else format(number.normalize(), "f")


def _exactly(value: object) -> Bounds:
    return Bounds(value, value)


def _text_bounds(literal: str, kind: str, sql_type: str) -> Bounds | None:
    if kind == "text":
        return _exactly(_uuid(literal) if sql_type == "UUID" else literal)
    if sql_type in _FLOATS and literal in {"inf", "-inf"}:
        return _exactly(float(literal))
    if kind == "time":
        return _between(_clock(literal), sql_type, _CLOCKS[sql_type], (0, _DAY - 1))
    if kind == "date":
        return _between(_instant(literal), sql_type, _UNITS[sql_type], _LIMITS)
    return None


def _between(
    at: Fraction | None, sql_type: str, units: int, limits: tuple[int, int]
) -> Bounds | None:
    """Place a moment, in nanoseconds, among those of some units."""
    if at is None:
        return None
    low, high = limits if units > 1 or sql_type in _CLOCKS else _NANOSECONDS
    write = _clock_text if sql_type in _CLOCKS else functools.partial(_instant_text, sql_type)
    return _whole_bounds(at / units, (low // units, high // units), lambda n: write(n * units))


def _uuid(text: str) -> str:
    """Write an identifier as it is printed; another text is equal to none."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return text


def _whole_bounds(at: Fraction, limits: tuple[int, int], write: Callable[[int], str]) -> Bounds:
    low, high = limits
    below, above = min(math.floor(at), high), max(math.ceil(at), low)
    return Bounds(
        write(below) if below >= low else None, write(above) if above <= high else None
    )


def _float_bounds(literal: int | Decimal, kind: type[np.floating]) -> Bounds:
    """Read a number as the nearest of its type; none but 0 is 0, and none is infinite."""
    at = _fraction(literal)
    largest, least = float(np.finfo(kind).max), float(np.finfo(kind).smallest_subnormal)
    if abs(at) > Fraction(largest):
        return Bounds(largest, math.inf) if at > 0 else Bounds(-math.inf, -largest)
    near = _nearest(at, kind)
    if near == 0 and at:
        return Bounds(0.0, least) if at > 0 else Bounds(-least, 0.0)
    return _exactly(near)


def _nearest(at: Fraction, kind: type[np.floating]) -> float:
    """Round to the nearest number of a type, once; ties to even."""
    double = at.numerator / at.denominator
    if kind is np.float64:
        return double
    with np.errstate(all="ignore"):
        single = np.float32(double)
        steps = (np.nextafter(single, np.float32(end)) for end in (-np.inf, np.inf))
        around = [single, *(number for number in steps if np.isfinite(number))]

    def distance(number: np.float32) -> tuple[Fraction, int]:
        return abs(Fraction(float(number)) - at), int(number.view(np.uint32)) & 1

    return float(min(around, key=distance))


def _fraction(literal: int | Decimal) -> Fraction:
    """Return a number exactly, or one as good where it is beyond every type."""
    if isinstance(literal, int):
        return Fraction(literal)
    if literal.is_zero():
        return Fraction(0)
    sign = -1 if literal.is_signed() else 1
    if literal.adjusted() > _HUGE:
        return Fraction(sign * 10**_HUGE)
    return Fraction(sign, 10**_HUGE) if literal.adjusted() < -_HUGE else Fraction(literal)


def _shifted(units: int, decimals: int) -> str:
    """Write a whole number of units of the last decimal."""
    if not decimals:
        return str(units)
    digits = str(abs(units)).rjust(decimals + 1, "0")
    return f"{'-' * (units < 0)}{digits[:-decimals]}.{digits[-decimals:]}"


def _beyond(text: str) -> Fraction:
    """Return what the digits behind a microsecond say, in nanoseconds."""
    fine = _SUB_MICROSECONDS.search(text)
    return Fraction(int(fine[1]) * 1000, 10 ** len(fine[1])) if fine else Fraction(0)


def _clock(text: str) -> Fraction | None:
    """Read a time of day, in nanoseconds."""
    try:
        clock = dt.time.fromisoformat(text)
    except ValueError:
        return None
    if clock.tzinfo is not None:
        return None
    seconds = clock.hour * 3600 + clock.minute * 60 + clock.second
    return seconds * _SECOND + clock.microsecond * 1000 + _beyond(text)


def _clock_text(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, _SECOND)
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return f"{hours:02}:{minutes:02}:{seconds % 60:02}.{rest:09}"


def _instant(text: str) -> Fraction | None:
    """Read a date or a moment, by default of UTC, in nanoseconds from 1970."""
    try:
        if len(text) <= 10:
            return Fraction((dt.date.fromisoformat(text).toordinal() - _EPOCH) * _DAY)
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    shift = moment.utcoffset() or dt.timedelta()
    since = moment.replace(tzinfo=None) - dt.datetime(1970, 1, 1)  # noqa: DTZ001
    microseconds = (since - shift) // dt.timedelta(microseconds=1)
    return microseconds * 1000 + _beyond(text)


def _instant_text(sql_type: str, nanoseconds: int) -> str:
    days, rest = divmod(nanoseconds, _DAY)
    date = dt.date.fromordinal(days + _EPOCH).isoformat()
    if sql_type == "DATE":
        return date
    digits = max(10 - len(str(_UNITS[sql_type])), 0)
    clock = _clock_text(rest)[: 9 + digits].rstrip(".")
    return f"{date} {clock}{'+00' if 'T' in sql_type[9:] else ''}"
