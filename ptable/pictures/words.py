"""Figures in words: probabilities, noise, and ranges of counts, in any language."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any, TypeAlias

from ptable.errors import PTableError

MINUS = "\N{MINUS SIGN}"

#: Gives the words of another language for English ones, as ``gettext`` does.
Words: TypeAlias = "Callable[[str], str]"


def in_english(words: str) -> str:
    """Leave words as they are."""
    return words


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """Put the words and figures of a picture in a language.

    Parameters
    ----------
    words
        Gives the words of the language for the English ones. What stands for a figure, as
        ``%(count)s`` does, is filled in afterwards.
    decimal_mark
        What stands between the whole part of a number and its decimals, ``"."`` or ``","``.
    """

    words: Words = in_english
    decimal_mark: str = "."

    def __post_init__(self) -> None:
        mark: Any = self.decimal_mark
        if mark not in {".", ","}:
            raise PTableError(f"decimal_mark must be '.' or ',', not {mark!r}.")
        if not callable(self.words):
            raise PTableError(
                "words must be a function from words to words.", hint="for example gettext"
            )

    def number(self, text: str) -> str:
        """Write a number that has a decimal point with the mark of the language."""
        return text.replace(".", self.decimal_mark)

    def listed(self, texts: Iterable[str]) -> str:
        """Join the parts of a list; commas within numbers keep it apart by semicolons."""
        texts = list(texts)
        return (self.words("; ") if any("," in text for text in texts) else ", ").join(texts)


#: The words as they stand in the code.
ENGLISH = Wording()


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


def ranges(numbers: Iterable[int], step: int = 1, *, wording: Wording = ENGLISH) -> str:
    """Write numbers in words, neighbours together."""
    runs = groupby(enumerate(sorted(numbers)), lambda one: one[1] - one[0])
    found = ([n for _, n in run] for _, run in runs)
    ends = [[wording.number(f"{n / step:.6g}") for n in (run[0], run[-1])] for run in found]
    both = wording.words("%(low)s to %(high)s")
    texts = [low if low == high else both % {"low": low, "high": high} for low, high in ends]
    if len(texts) <= 8:
        return wording.listed(texts)
    many = wording.words("%(ranges)s and %(more)s more ranges")
    return many % {"ranges": wording.listed(texts[:8]), "more": len(texts) - 8}
