"""Component keys of other tools: the digits of a decimal cell key, rotated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import MagnitudeError
from footing.messages import Message

if TYPE_CHECKING:
    from footing.arrays import Floats, Words

_DIGITS = 15  # what R prints of a number


def decimal_keys(keys: Words, *, key_range: int) -> Floats:
    """Turn integer keys into the decimals in [0, 1) that other tools calculate with."""
    return np.array([key / key_range for key in keys.tolist()], np.float64)


def rotations(keys: Words, *, key_range: int, decimals: int, components: int) -> Words:
    """Rotate keys at fixed decimals, once for the first component, twice for the second ..."""
    size = 10**decimals
    numbers = np.empty((len(keys), components), np.uint64)
    for cell, key in enumerate(keys.tolist()):
        number = (2 * key * size + key_range) // (2 * key_range) % size
        for column in range(components):
            number = number % (size // 10) * 10 + number // (size // 10)
            numbers[cell, column] = number
    return numbers


def printed_rotations(keys: Floats, *, components: int, same_key: bool) -> Floats:
    """Rotate the digits of keys as R prints them.

    What moves to the end is the third character of the text, also where that is not a digit:
    keys below 1e-4 are printed with an exponent. A key of one digit becomes 0.0 and that
    digit, and 0 from then on.
    """
    numbers = np.empty((len(keys), components))
    for cell, key in enumerate(keys.tolist()):
        text = _printed(key)
        length = len(text)
        for column in range(components):
            if column or not same_key:
                rest = text[3:length]
                if not column:
                    rest = rest or "0"
                text = text[:2] + rest + text[2:3]
            numbers[cell, column] = _parsed(text)
    return numbers


def require_numbers(keys: Floats) -> None:
    """Refuse keys that a rotation left without a number, at which cellKey stops."""
    if np.isnan(keys).any():
        raise MagnitudeError(
            Message(
                "Rotating the printed digits of some cell keys leaves no number; cellKey stops."
            ),
            hint=Message('use rules="ckm", whose keys do not depend on digits'),
        )


def _printed(number: float) -> str:
    """Print a number in [0, 1) with up to 15 digits, fixed where that is not longer."""
    mantissa, _, exponent = f"{number:.{_DIGITS - 1}e}".partition("e")
    digits = mantissa.replace(".", "").rstrip("0")
    if not digits:
        return "0"
    power = int(exponent)
    scientific = f"{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{power:+03d}"
    if power >= 0:
        return digits
    fixed = "0." + "0" * (-power - 1) + digits
    return fixed if len(fixed) <= len(scientific) else scientific


def _parsed(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
