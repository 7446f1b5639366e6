"""Numbers as JSON writes them, column by column, as bytes.

Python writes a number at a time. Here the numbers of a row are characters in a row of a
matrix, and a second one says which of them stand in the text: leading and trailing zeros do
not. It takes whole numbers and decimals of up to six places; the texts are those of `repr`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ckm.formats.content import hidden, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from footing.arrays import Flags, Integers

    Words = NDArray[np.uint32]

_THOUSAND, _MILLION = 1000, 10**6
_GROUPS = 3  # of three digits, before the decimal point
_PLACES = 6
_LEAST = 1e-4  # smaller numbers have an exponent in their text


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NumberTexts:
    """The numbers of some columns of one type, cut into digits; a row for each column.

    Parameters
    ----------
    whole
        What stands before the decimal point, without its sign.
    largest
        The largest of these.
    millionths
        What stands behind it; None for whole numbers.
    is_negative, is_hidden
        Which numbers have a sign, and which are suppressed: ``null``.
    """

    whole: Integers
    largest: int
    millionths: Integers | None
    is_negative: Flags
    is_hidden: Flags

    @classmethod
    def of(cls, columns: Sequence[NDArray[Any]]) -> Self | None:
        """Cut the numbers of columns; None where some have more digits than fit."""
        numbers = np.stack([shown(values) for values in columns])
        sizes = np.abs(numbers)
        if not sizes.size or sizes.min() < 0 or not sizes.max() < _THOUSAND**_GROUPS:
            return None
        millionths = None
        if numbers.dtype == np.int64:
            whole = sizes.astype(np.int32)
        else:
            scaled = np.rint(sizes * _MILLION)
            # n / 10⁶ is the double next to that decimal, whose shortest text is the decimal.
            is_short = (scaled / _MILLION == sizes) & ((sizes >= _LEAST) | (sizes == 0))
            if not is_short.all():
                return None
            whole, millionths = (
                part.astype(np.int32) for part in np.divmod(scaled.astype(np.int64), _MILLION)
            )
        return cls(
            whole=whole,
            largest=int(whole.max()),
            millionths=millionths,
            is_negative=np.signbit(numbers),
            is_hidden=np.stack([hidden(values) for values in columns]),
        )

    @property
    def decimals(self) -> list[int]:
        """How many decimals each column has, 1 where decimal numbers are all suppressed."""
        if self.millionths is None:
            return [0] * len(self.whole)
        places = np.where(self.is_hidden, -1, _places(self.millionths)).max(axis=1)
        return [1 if most < 0 else most for most in places.tolist()]

    def words(self, rows: slice) -> tuple[list[Words], list[Words]]:
        """Return the characters of some rows, four to a word, and which of them stand."""
        groups, standing = self._whole_words(rows)
        if self.is_negative.any():
            groups.insert(0, _word("   -"))
            is_negative = self.is_negative[:, rows]
            standing.insert(0, np.where(is_negative, _flags("0001"), _flags("0000")))
        if self.millionths is not None:
            high, low = np.divmod(self.millionths[:, rows], _THOUSAND)
            places = _places(self.millionths[:, rows])
            groups += [_groups(".")[high], _groups("")[low]]
            standing += [_STANDING_HIGH[places], _STANDING_LOW[places]]
        is_hidden = self.is_hidden[:, rows]
        if is_hidden.any():
            standing = [np.where(is_hidden, _flags("0000"), one) for one in standing]
            groups.append(_word("null"))
            standing.append(np.where(is_hidden, _flags("1111"), _flags("0000")))
        return [*groups, _word(",   ")], [*standing, _flags("1000")]

    def _whole_words(self, rows: slice) -> tuple[list[Words], list[Words]]:
        """Return groups of three digits, of which leading zeros do not stand."""
        whole = self.whole[:, rows]
        n_digits, n_groups = np.ones(whole.shape, np.intp), 1
        for power in range(1, 3 * _GROUPS):
            if self.largest < 10**power:
                break
            n_digits += whole >= 10**power
            n_groups = power // 3 + 1
        powers = range(n_groups - 1, -1, -1)
        groups = [_groups("")[whole // _THOUSAND**power % _THOUSAND] for power in powers]
        return groups, [_STANDING_WHOLE[power][n_digits] for power in powers]


def joined_texts(runs: Sequence[NumberTexts], rows: slice) -> bytes:
    """Return the numbers of some rows, columns side by side, with commas between them."""
    pairs: list[tuple[Words, Words]] = []
    for run in runs:
        size = run.whole[:, rows].shape
        own = [[np.broadcast_to(word, size) for word in words] for words in run.words(rows)]
        pairs += [
            (characters[column], stands[column])
            for column in range(size[0])
            for characters, stands in zip(*own, strict=True)
        ]
    text, standing = (np.empty((size[1], len(pairs)), np.uint32) for _ in range(2))
    for place, (word, stands) in enumerate(pairs):
        text[:, place], standing[:, place] = word, stands
    joined: bytes = text.view(np.uint8)[standing.view(bool)].tobytes()
    return joined[:-1]


def runs_of(columns: Sequence[NDArray[Any]]) -> list[NumberTexts] | None:
    """Cut the numbers of a table, neighbours of one type together; None where some are long."""
    runs = [
        NumberTexts.of(list(own)) for _, own in groupby(columns, key=lambda own: own.dtype.str)
    ]
    fitting = [run for run in runs if run is not None]
    return fitting if len(fitting) == len(runs) else None


def _places(millionths: Integers) -> NDArray[np.int8]:
    """Return how many decimals numbers need: 0 to 6."""
    places: NDArray[np.int8] = _PLACES - _trailing_zeros()[millionths]
    return places


def _word(text: str) -> Words:
    """Return four characters as a word."""
    return np.frombuffer(text.encode(), np.uint32)


def _flags(text: str) -> Words:
    """Return which of four characters stand, 1 for those that do, as a word."""
    return np.array([sign == "1" for sign in text]).view(np.uint32)


def _table(texts: Sequence[str]) -> Words:
    return np.concatenate([_flags(text) for text in texts])


# Which of the characters of a group stand: of digits before the point by their number, of those
# behind it by how many are needed, at least one. A group has a spare character in front.
_STANDING_WHOLE = [
    _table([f"0{'1' * min(max(n - 3 * power, 0), 3):0>3}" for n in range(3 * _GROUPS + 1)])
    for power in range(_GROUPS)
]
_STANDING_HIGH = _table([f"1{'1' * min(max(n, 1), 3):0<3}" for n in range(_PLACES + 1)])
_STANDING_LOW = _table([f"0{'1' * max(n - 3, 0):0<3}" for n in range(_PLACES + 1)])


@cache
def _groups(sign: str) -> Words:
    """Return 000 to 999 with a character in front, as words."""
    return np.concatenate([_word(f"{sign:1}{number:03}") for number in range(_THOUSAND)])


@cache
def _trailing_zeros() -> NDArray[np.int8]:
    """Return with how many zeros 0 to 999,999 end, as numbers of six digits."""
    numbers = np.arange(_MILLION)
    zeros = np.zeros(_MILLION, np.int8)
    for power in range(1, _PLACES + 1):
        zeros += numbers % 10**power == 0
    zeros.setflags(write=False)
    return zeros
