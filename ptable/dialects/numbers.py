"""Printed numbers taken exactly: counts, noise, and decimals as integers out of a range."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Literal, TypeAlias

from footing.checks import require_integer
from ptable.errors import PTableError

Boundary: TypeAlias = Literal["[)", "(]"]

MAX_DIGITS = 12
MAX_NOISE = 10**6

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_WHOLE = re.compile(r"[+-]?[0-9]{1,64}(?:\.0*)?", re.ASCII)
_EXACT = Context(prec=2000)
_DOUBLE_DIGITS = 15
_MAX_EXPONENT = 30
_MAX_STEP = 1000
_NOISE_ERROR = Decimal("1e-9")
_BINARY = 2**32


def parse_whole(cell: str) -> int | None:
    """Read an integer; None where the cell holds none."""
    if _WHOLE.fullmatch(cell):
        return int(cell.partition(".")[0])
    decimal = parse_decimal(cell) if "e" in cell.lower() else None
    if decimal is None or abs(decimal) > 10**30 or decimal != int(decimal):
        return None
    return int(decimal)


def parse_decimal(cell: str, *, has_commas: bool = False) -> Decimal | None:
    """Read a decimal as printed; None where the cell holds none.

    More than 15 digits are the print of a double, and stand for its shortest decimal.
    """
    text = cell.replace(",", ".") if has_commas else cell
    if not _DECIMAL.fullmatch(text):
        return None
    exact = Decimal(text)
    if exact and abs(exact.adjusted()) > _MAX_EXPONENT:
        return None
    if len(exact.as_tuple().digits) > _DOUBLE_DIGITS:
        shortest = float(text)
        return Decimal(repr(shortest)) if math.isfinite(shortest) else None
    return exact


def places(number: Decimal) -> int:
    """Give the number of digits behind the point, without trailing zeros."""
    return max(0, -int(number.normalize(_EXACT).as_tuple().exponent))


@cache
def as_noise(number: Decimal) -> Fraction | None:
    """Read a noise value as a fraction with a denominator of at most 1000, or None."""
    if abs(number) > MAX_NOISE:
        return None
    digits = places(number)
    rounding = Decimal(5).scaleb(-digits - 1) if digits >= 6 else Decimal(0)
    error = Fraction(max(_NOISE_ERROR, rounding))
    exact = Fraction(number)
    for step in range(1, _MAX_STEP + 1):
        steps = round(exact * step)
        if abs(Fraction(steps, step) - exact) <= error:
            return Fraction(steps, step)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """What a writer is told besides the tables, as for `write_tables`."""

    digits: int | None = None
    small_n: int = 10

    def __post_init__(self) -> None:
        _require_whole("digits", self.digits, most=MAX_DIGITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Writing):
    """What a reader is told besides the file, as for `read_tables`; None follows from it."""

    boundary: Boundary = "[)"
    key_range: int | None = None
    large_counts: str | None = None
    anchors: bool = False

    def __post_init__(self) -> None:
        if self.boundary not in {"[)", "(]"}:
            raise PTableError(f"boundary must be '[)' or '(]', not {self.boundary!r}.")
        _require_whole("key_range", self.key_range, least=2, most=2**64)
        Writing.__post_init__(self)


def _require_whole(name: str, number: int | None, *, least: int = 1, most: int) -> None:
    if number is not None:
        require_integer(number, name, error=PTableError, minimum=least, maximum=most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How decimals from 0 to 1, rounded to some digits, become whole numbers of keys."""

    key_range: int
    digits: int | None = None
    boundary: Boundary = "[)"

    def keys(self, number: Fraction) -> int | None:
        """Give how many keys lie below a threshold; None where that is no whole number."""
        exact = number * self.key_range
        if self.boundary == "(]":
            # Key k out of K lies in (lb, ub] when lb K < k <= ub K; key 0 joins the first.
            return min(math.floor(exact) + 1, self.key_range)
        if exact.denominator != 1 and 10**MAX_DIGITS % number.denominator:
            # More digits than are taken as printed: the double they are the print of.
            exact = Fraction(float(number)) * self.key_range
        return int(exact) if exact.denominator == 1 else None

    def rounded(self, number: Fraction) -> Fraction:
        """Round to the digits asked for."""
        return number if self.digits is None else round(number, self.digits)


def choose_scale(thresholds: Iterable[Decimal], reading: Reading) -> Scale:
    """Find the key range in which all thresholds are whole."""
    key_range, digits, boundary = reading.key_range, reading.digits, reading.boundary
    if key_range is not None:
        return Scale(key_range=key_range, digits=digits, boundary=boundary)
    if boundary == "(]":
        raise PTableError(
            "Intervals that include their upper end, '(]', need the key_range of the keys.",
            hint="for keys of 8 decimal digits, key_range=10**8",
        )
    if digits is not None:
        return Scale(key_range=10**digits, digits=digits)
    numbers = list(thresholds)
    most = max(map(places, numbers), default=0)
    if most <= MAX_DIGITS:
        return Scale(key_range=10 ** max(most, 1))
    if all((float(number) * _BINARY).is_integer() for number in numbers):
        return Scale(key_range=_BINARY)
    raise PTableError(
        f"The thresholds have {most} decimal digits; at most {MAX_DIGITS} are taken as "
        "printed.",
        hint="pass digits=8 to round them",
    )


def digits_for(key_range: int) -> int | None:
    """Give the digits to round thresholds to; None where they can be written in full."""
    is_short = 10**MAX_DIGITS % key_range == 0 or _BINARY % key_range == 0
    return None if is_short else MAX_DIGITS


def print_decimal(number: Fraction, *, digits: int | None = None) -> str:
    """Write a fraction as a decimal, without an exponent."""
    if digits is None and 10**MAX_DIGITS % number.denominator == 0:
        return _fixed(number, MAX_DIGITS).rstrip("0").rstrip(".")
    if digits is None:
        return format(Decimal(repr(float(number))), "f")
    return _fixed(number, digits)


def _fixed(number: Fraction, digits: int) -> str:
    scaled = round(number * 10**digits)
    whole, rest = divmod(abs(scaled), 10**digits)
    sign = "-" if scaled < 0 else ""
    return f"{sign}{whole}.{rest:0{digits}d}" if digits else f"{sign}{whole}"
