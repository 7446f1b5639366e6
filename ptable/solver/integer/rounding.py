"""Numbers as they print, and short enough to be read, on the safe side of an exact end."""

import math
from fractions import Fraction

_DIGITS = 3


def exact(number: float) -> Fraction:
    """Take a number as it prints."""
    return Fraction(repr(float(number)))


def inward(
    wish: Fraction, low: Fraction, high: Fraction | None, *, strict: bool = False
) -> float:
    """Give the number of an interval that is nearest to a wish, shortened but never outside."""
    if wish >= low and (high is None or wish <= high):
        return float(wish)
    is_low = wish < low
    end = low if is_low or high is None else high
    for digits in range(_DIGITS, 16):
        unit = _unit(end, digits)
        steps = math.ceil(end / unit) if is_low else math.floor(end / unit)
        if strict and steps * unit == end:
            steps += 1 if is_low else -1
        value = steps * unit
        if value >= low and (high is None or value <= high):
            return float(value)
    return float(end)


def _unit(number: Fraction, digits: int) -> Fraction:
    """Give the worth of the last of some significant digits."""
    size = math.floor(math.log10(number)) if number > 0 else -_DIGITS
    return Fraction(10) ** (size - digits + 1)
