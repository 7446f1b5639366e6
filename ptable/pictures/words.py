"""Figures in words: probabilities, noise, and ranges of counts."""

from collections.abc import Iterable
from fractions import Fraction
from itertools import groupby

from footing.messages import Message

MINUS = "\N{MINUS SIGN}"


def decimal(amount: Fraction | float) -> str:
    """Write a figure with four significant digits."""
    text = f"{float(amount):.4g}"
    return "0" if text == "-0" else text.replace("-", MINUS)


def percent(share: Fraction, digits: int = 0) -> str:
    """Write a probability in percent; what is not zero never looks like zero."""
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
    """Write noise with its sign, in units."""
    if not steps:
        return "0"
    sign = "+" if steps > 0 else MINUS
    return sign + (str(abs(steps)) if step == 1 else f"{abs(steps) / step:.6g}")


def ranges(numbers: Iterable[int], step: int = 1) -> str:
    """Write numbers in words, neighbours together."""
    runs = groupby(enumerate(sorted(numbers)), lambda one: one[1] - one[0])
    groups = ([n for _, n in run] for _, run in runs)
    ends = [[f"{n / step:.6g}" for n in (run[0], run[-1])] for run in groups]
    texts = [low if low == high else f"{low} to {high}" for low, high in ends]
    more = Message(" and {number} more ranges", number=len(texts) - 8) if len(texts) > 8 else ""
    return ", ".join(texts[:8]) + more
