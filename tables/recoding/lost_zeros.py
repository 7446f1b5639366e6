"""Codes that may have lost zeros in a spreadsheet: 45.1 for 45.10, 1 for 01."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

_DECIMAL = re.compile(r"([0-9]+)\.([0-9]+)")
_DIGITS = re.compile(r"[0-9]+")


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
