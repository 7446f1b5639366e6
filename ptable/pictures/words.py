"""Figures in words: probabilities, noise, and ranges of counts."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MINUS", "decimal", "percent", "ranges", "signed"]

MINUS = "\N{MINUS SIGN}"


def decimal(amount: Fraction | float) -> str:
    """Write a figure with four significant digits.

    Parameters
    ----------
    amount
        The figure.

    Examples
    --------
    >>> decimal(Fraction(1, 3)), decimal(-0.0)
    ('0.3333', '0')
    """
    text = f"{float(amount):.4g}"
    return "0" if text == "-0" else text.replace("-", MINUS)


def percent(share: Fraction, digits: int = 0) -> str:
    """Write a probability in percent; what is not zero never looks like zero.

    Parameters
    ----------
    share
        The probability.
    digits
        How many decimals.

    Examples
    --------
    >>> percent(Fraction(1, 1000)), percent(Fraction(999, 1000)), percent(Fraction(1, 3), 1)
    ('<1', '>99', '33.3')
    """
    unit = Fraction(1, 10**digits)
    scaled = share * 100
    if 0 < scaled < unit:
        return f"<{float(unit):.{digits}f}"
    if 100 - unit < scaled < 100:
        return f">{float(100 - unit):.{digits}f}"
    if scaled in {0, 100}:
        return str(int(scaled))
    return f"{float(round(scaled, digits)):.{digits}f}"


def signed(steps: int, step: int) -> str:
    """Write noise with its sign, in units.

    Parameters
    ----------
    steps
        The noise, in steps.
    step
        How many steps make one unit.

    Examples
    --------
    >>> signed(3, 2), signed(0, 2)
    ('+1.5', '0')
    """
    if not steps:
        return "0"
    sign = "+" if steps > 0 else MINUS
    return sign + (str(abs(steps)) if step == 1 else f"{abs(steps) / step:.6g}")


def ranges(numbers: Iterable[int], step: int = 1) -> str:
    """Write numbers in words, neighbours together.

    Parameters
    ----------
    numbers
        The numbers, in steps.
    step
        How many steps make one unit.

    Examples
    --------
    >>> ranges([1, 2, 3, 7])
    '1 to 3, 7'
    """
    runs: list[list[int]] = []
    for n in sorted(numbers):
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    words = [
        f"{low / step:.6g}" if low == high else f"{low / step:.6g} to {high / step:.6g}"
        for low, high in runs
    ]
    more = f" and {len(words) - 8} more ranges" if len(words) > 8 else ""
    return ", ".join(words[:8]) + more
