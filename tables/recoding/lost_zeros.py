"""Codes that a program changed: without zeros, 45.1 for 45.10, or with decimals, 1,0 for 1."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

_DECIMAL = re.compile(r"([0-9]+)\.([0-9]+)")
_DIGITS = re.compile(r"[0-9]+")
_WHOLE_WITH_DECIMALS = re.compile(r"([0-9]+)[.,]0{1,2}")


def codes_without_zeros(codes: Iterable[object]) -> list[str]:
    """Return the codes that are shorter than their siblings, as after the loss of a zero.

    Parameters
    ----------
    codes
        The codes of one dimension, in any order.

    Examples
    --------
    >>> codes_without_zeros(["10.10", "47.11", "45.1", "62.02"])
    ['45.1']
    >>> codes_without_zeros(["10.1", "10.11", "10.12"])  # 10.1 is the group of the others
    []
    >>> codes_without_zeros(["01", "02", "3", "2A"])
    ['3']
    """
    texts = sorted({str(code) for code in codes})
    return sorted([*_behind(texts), *_before(texts)])


def codes_with_decimals(codes: Iterable[object]) -> list[str]:
    """Return the codes if all of them are whole numbers written with decimals.

    A program that has no missing whole numbers turns the codes 1 and 10 into 1.0 and 10.0, as
    soon as a record has none. Labels without a digit, such as that of totals, are passed over.

    Parameters
    ----------
    codes
        The codes of one dimension, in any order; those that are no texts are written as
        numbers are. With three decimals they may be thousands: 1,000.

    Examples
    --------
    >>> codes_with_decimals(["10,0", "1,0", "2,0", "Total"])
    ['1,0', '10,0', '2,0']
    >>> codes_with_decimals(["1.0", "1.1", "2.0"])  # decimals tell codes apart
    []
    """
    texts = sorted({code for code in codes if isinstance(code, str)})
    numbered = [text for text in texts if re.search("[0-9]", text)]
    if not all(map(_WHOLE_WITH_DECIMALS.fullmatch, numbered)):
        return []
    return numbered if len(set(map(_whole, numbered))) == len(numbered) > 1 else []


def without_decimals(codes: Sequence[str]) -> dict[str, str]:
    """Return code → its whole number, of as many digits as the longest: they sort as numbers.

    Parameters
    ----------
    codes
        What `codes_with_decimals` returns.

    Examples
    --------
    >>> without_decimals(["1,0", "10,0"])
    {'1,0': '01', '10,0': '10'}
    """
    size = max((len(_whole(code)) for code in codes), default=0)
    return {
        code: _whole(code).zfill(size) for code in sorted(codes, key=lambda c: int(_whole(c)))
    }


def _whole(code: str) -> str:
    return re.split("[.,]", code)[0]


def _behind(texts: Sequence[str]) -> list[str]:
    """Return the codes with fewer digits behind the point, no other code begins with them."""
    digits = {text: len(parts[2]) for text in texts if (parts := _DECIMAL.fullmatch(text))}
    if not digits:
        return []
    usual = Counter(digits.values()).most_common(1)[0][0]
    beginnings = {text[:end] for text in digits for end in range(1, len(text))}
    return [text for text, size in digits.items() if size < usual and text not in beginnings]


def _before(texts: Sequence[str]) -> list[str]:
    """Return the shorter numbers beside others that begin with 0."""
    numbers = [text for text in texts if _DIGITS.fullmatch(text)]
    sizes = {len(text) for text in numbers if len(text) > 1 and text.startswith("0")}
    if len(sizes) != 1:
        return []
    (size,) = sizes
    shorter = [text for text in numbers if len(text) < size]
    if "0" in shorter:  # it is the group of those that begin with it
        return []
    return [text for text in shorter if text.zfill(size) not in numbers]
