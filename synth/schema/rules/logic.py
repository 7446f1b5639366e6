"""What may be true, false or neither, of values that are known up to their cells.

A value that is known exactly is a cell with one number; there the verdict is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from footing.arrays import AnyIntegers, Flags, Floats
from footing.messages import Message
from synth.errors import RuleError


class Verdict(NamedTuple):
    """Where something may be true, false, or neither because a value is missing."""

    true: Flags
    false: Flags
    neither: Flags


class Amount(NamedTuple):
    """Numbers between two bounds each; `missing` tells where there is none."""

    low: Floats
    high: Floats
    missing: Flags
    codes: AnyIntegers | None = None

    @classmethod
    def fixed(cls, value: float) -> Amount:
        """Return one number.

        Parameters
        ----------
        value
            The number.
        """
        number = np.asarray(float(value))
        return cls(number, number, np.asarray(False))  # noqa: FBT003

    def combine(self, sign: str, other: Amount) -> Amount:
        """Return the sum, difference or product.

        Parameters
        ----------
        sign
            ``"+"``, ``"-"`` or ``"*"``.
        other
            The other numbers.
        """
        missing = self.missing | other.missing
        if sign == "+":
            return Amount(self.low + other.low, self.high + other.high, missing)
        if sign == "-":
            return Amount(self.low - other.high, self.high - other.low, missing)
        corners = [one * two for one in self[:2] for two in other[:2]]
        return Amount(reduce(np.minimum, corners), reduce(np.maximum, corners), missing)

    def compare(self, sign: str, other: Amount) -> Verdict:
        """Tell where a comparison may hold.

        Parameters
        ----------
        sign
            The comparison.
        other
            The other numbers.
        """
        missing = self.missing | other.missing
        if sign in (">", ">="):
            return other.compare({">": "<", ">=": "<="}[sign], self)
        if sign == "<":
            true, false = self.low < other.high, self.high >= other.low
        elif sign == "<=":
            true, false = self.low <= other.high, self.high > other.low
        else:
            true = (self.low <= other.high) & (other.low <= self.high)
            one = (self.low == self.high) & (other.low == other.high)
            false = ~(one & (self.low == other.low))
            if sign == "!=":
                true, false = false, true
        return Verdict(true & ~missing, false & ~missing, missing)


class Codes(NamedTuple):
    """Codes of a column of categories; those from its size on are missing."""

    codes: AnyIntegers

    @classmethod
    def fixed(cls, code: int) -> Codes:
        """Return one code."""
        return cls(np.asarray(code))


Operands = Mapping[str, Amount | Codes]
Test = Callable[[Operands], Verdict]


def every(parts: Sequence[Test]) -> Test:
    """Return the test that all parts hold."""
    return lambda operands: reduce(_both, (part(operands) for part in parts))


def either(parts: Sequence[Test]) -> Test:
    """Return the test that a part holds."""
    return opposite(every([opposite(part) for part in parts]))


def opposite(part: Test) -> Test:
    """Return the test that a part does not hold."""

    def test(operands: Operands) -> Verdict:
        true, false, neither = part(operands)
        return Verdict(false, true, neither)

    return test


def known_missing(name: str, codes: set[int]) -> Test:
    """Return the test that a value is missing."""

    def test(operands: Operands) -> Verdict:
        own_codes = operands[name].codes
        if own_codes is None:
            raise RuleError(Message("A rule needs codes."))
        true = np.isin(own_codes, list(codes))
        return Verdict(true, ~true, np.zeros_like(true))

    return test


def compare(
    name: str,
    sign: str,
    other: Codes | str,
    *,
    size: int,
    table: Sequence[int] | None = None,
) -> Test:
    """Return the test of categories against a code, or another column of categories.

    Parameters
    ----------
    name
        The column.
    sign
        The comparison.
    other
        A code, or the name of another column.
    size
        How many codes of the column are values.
    table
        The code in this column for each value of the other.
    """
    aligned = np.asarray([*(table or []), -1])

    def test(operands: Operands) -> Verdict:
        one = operands[name].codes
        if one is None:
            raise RuleError(Message("A rule needs codes."))
        missing = one >= size
        if isinstance(other, Codes):
            two = np.asarray(other.codes)
        else:
            own_codes = np.asarray(operands[other].codes)
            two = aligned[np.minimum(own_codes, len(aligned) - 1)]
            missing = missing | (two < 0)
        true = _HOLDS[sign](one, two)
        return Verdict(true & ~missing, ~true & ~missing, missing | np.zeros_like(true))

    return test


_HOLDS: dict[str, Callable[..., Flags]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _both(one: Verdict, two: Verdict) -> Verdict:
    neither = (one.neither & (two.neither | two.true)) | (two.neither & one.true)
    return Verdict(one.true & two.true, one.false | two.false, neither)
