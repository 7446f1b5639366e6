"""How every number and date of a page is written: one rounding, in the reader's language."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from datetime import date as Day  # noqa: N812  (a method has its name)
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache

_SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
#: Language → what stands between whole part and decimals, and between groups of three digits,
#: as CLDR has them; a library of all languages is 30 MB.
_SEPARATORS = {"en": (".", ","), "fr": (",", "\N{NARROW NO-BREAK SPACE}")}
_MONTHS = {
    "en": "January February March April May June July August September October November"
    " December",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre"
    " décembre",
}
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: From here on a number is written with its power of ten.
_HUGE = 1e15
#: A sum of probabilities may miss 1 by this much.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Numbers:
    r"""Write numbers and dates in a language.

    Parameters
    ----------
    language
        ``"en"`` or ``"fr"``.
    """

    language: str

    def count(self, number: float) -> str:
        """Write a whole number in groups of three digits."""
        return self._decimal(round(number), "#,##0")

    def signed(self, number: float) -> str:
        """Write a whole number with its sign."""
        return ("+" if round(number) > 0 else "") + self.count(number)

    def probability(self, number: float) -> str:
        r"""Write a probability with three decimals; 0.000 is 0, and 1.000 is 1."""
        if 0 < number < 0.0005:
            return self._near_zero(0.001, "0.000")
        if 0.9995 <= number < 1 - _ROUNDING:
            return f">{_SPACE}{self._decimal(0.999, '0.000')}"
        return self._decimal(number, "0.000")

    def share(self, number: float) -> str:
        r"""Write a share in percent; only none is 0 %, and only all is 100 %."""
        if number < -_ROUNDING:
            return f"{MINUS if number <= -0.0005 else ''}{self.share(-number)}"
        if number <= _ROUNDING or number >= 1 - _ROUNDING:
            return f"{self._decimal(100 * number, '0')}{_SPACE}%"
        if number < 0.0005:
            return f"<{_SPACE}{self._decimal(0.1, '0.0')}{_SPACE}%"
        if number >= 0.9995:
            return f">{_SPACE}{self._decimal(99.9, '0.0')}{_SPACE}%"
        return f"{self._decimal(100 * number, '0.0')}{_SPACE}%"

    def percent(self, share: float) -> str:
        r"""Write a share that somebody set in percent, without trailing zeros."""
        return f"{self.plain(100 * share)}{_SPACE}%"

    def hundredths(self, share: float) -> str:
        r"""Write a share in percent with two decimals."""
        return f"{self._decimal(100 * share, '0.00')}{_SPACE}%"

    def amount(self, number: float) -> str:
        r"""Write any other figure with three decimals, fewer where it is large."""
        size = abs(number)
        if 0 < size < 0.0005:
            return self._near_zero(math.copysign(0.001, number), "0.000")
        if size < 100:
            return self._decimal(number, "0.000")
        return self._decimal(number, "0.0" if size < 10_000 else "#,##0")

    def decimals(self, number: float, digits: int) -> str:
        """Write a number with so many decimals."""
        return self._decimal(number, "#,##0" + ("." + "0" * digits if digits else ""))

    def ratio(self, number: float) -> str:
        r"""Write a ratio or a correlation with four decimals."""
        if 0 < abs(number) < 0.00005:
            return self._near_zero(math.copysign(0.0001, number), "0.0000")
        return self._decimal(number, "0.0000" if abs(number) < 100 else "#,##0.0")

    def plain(self, number: float) -> str:
        """Write a figure that somebody set, without trailing zeros."""
        if 0 < abs(number) < 0.0005:
            return self.tiny(number)
        return self._decimal(number, "#,##0.####")

    def tiny(self, number: float) -> str:
        """Write a figure that may be very small with its power of ten."""
        if not number:
            return "0"
        mantissa, _, exponent = f"{number:.1e}".partition("e")
        power = str(int(exponent)).translate(_SUPERSCRIPTS)
        return f"{self._decimal(float(mantissa), '0.0')} × 10{power}"

    def ranges(self, numbers: Iterable[int]) -> str:
        """Write whole numbers, neighbours together."""
        runs: list[list[int]] = []
        for number in sorted(set(numbers)):
            if runs and runs[-1][1] == number - 1:
                runs[-1][1] = number
            else:
                runs.append([number, number])
        return ", ".join(
            self.count(low) if low == high else f"{self.count(low)}–{self.count(high)}"
            for low, high in runs
        )

    def date(self, text: str) -> str:
        """Write an ISO date in words; any other text stays as it is."""
        try:
            return self._day(Day.fromisoformat(text))
        except ValueError:
            return text

    def moment(self, text: str) -> str:
        """Write an ISO moment in words, in UTC; any other text stays as it is."""
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            return text
        when = when.astimezone(UTC) if when.tzinfo else when
        return f"{self._day(when)}, {when:%H:%M:%S} UTC"

    def _day(self, day: Day) -> str:
        return f"{day.day} {_MONTHS[self.language].split()[day.month - 1]} {day.year}"

    def _near_zero(self, least: float, pattern: str) -> str:
        """Write that a number is nearer to 0 than this one."""
        return f"{'<' if least > 0 else '>'}{_SPACE}{self._decimal(least, pattern)}"

    def _decimal(self, number: float, pattern: str) -> str:
        if math.isnan(number):
            return "NaN"
        if abs(number) >= _HUGE:
            return self.tiny(number)
        return _formatted(number, pattern, self.language)


@lru_cache(maxsize=10_000)
def _formatted(number: float, pattern: str, language: str) -> str:
    """Write a number by a pattern of CLDR: its commas group, its zeros are always written."""
    whole, _, decimals = pattern.partition(".")
    rounded = Decimal(str(number)).quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_EVEN)
    digits, _, rest = f"{abs(rounded):{',' if ',' in whole else ''}f}".partition(".")
    rest = rest[: decimals.count("0")] + rest[decimals.count("0") :].rstrip("0")
    point, group = _SEPARATORS[language]
    text = digits.replace(",", group) + (point + rest if rest else "")
    return f"{MINUS}{text}" if rounded < 0 else text
