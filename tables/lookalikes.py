"""Texts that look alike and are not the same, told apart by the code points that differ.

Alike are texts that Unicode calls equivalent (``é`` in one character, or ``e`` with an accent
behind it), that differ in blanks at their ends or in the kind of blanks, in characters without
a width, or in letters and digits of full width. Upper and lower case look different.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Between nulls, what makes texts of ASCII look like others.
_BLANKS = ("  ", "\0 ", " \0", *"\t\n\v\f\r\x1c\x1d\x1e\x1f")
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}


def appearance(text: str) -> str:
    """Return what a text looks like: the same for all that look alike."""
    if text.isascii():
        return " ".join(text.split())
    visible = "".join(c for c in text if unicodedata.category(c) != "Cf")  # of no width
    plain = unicodedata.normalize("NFC", visible.translate(_FULL_WIDTH))
    return " ".join(plain.split())


def look_alikes(texts: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the groups of different texts that look alike."""
    strings = list(texts)
    line = "\0".join(["", *strings, ""])
    if line.isascii() and not any(blank in line for blank in _BLANKS):
        return []  # each looks like itself alone
    groups: dict[str, list[str]] = {}
    for text in dict.fromkeys(strings):
        groups.setdefault(appearance(text), []).append(text)
    return [tuple(sorted(group)) for group in groups.values() if len(group) > 1]


def code_points(one: str, other: str) -> str:
    """Tell two texts apart by the code points in which they differ: ``U+00E9 / U+0065 U+0301``.

    What both begin and end with is left out: it may be a code of few records.
    """
    start, most = 0, min(len(one), len(other))
    while start < most and one[start] == other[start]:
        start += 1
    end = 0
    while end < most - start and one[-1 - end] == other[-1 - end]:
        end += 1
    parts = (text[start : len(text) - end] for text in (one, other))
    return " / ".join(" ".join(f"U+{ord(c):04X}" for c in part) or "nothing" for part in parts)
