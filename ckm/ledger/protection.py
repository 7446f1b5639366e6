"""How a method protected the cells of a table, as far as a second method would tell more."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from footing.disclosive import Disclosive

if TYPE_CHECKING:
    from footing.arrays import Flags, Integers, Words

#: The method of every entry that names no other: equal sets have equal noise by themselves.
NOISE = "noise"
#: That of a second p-table beside the one that a ledger began with, and of another mix of keys.
ANOTHER_NOISE = "another noise"
_WORD = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CellProtection(Disclosive):
    """What stands for the cells of a table, beside the method and its settings.

    Readers learn nothing new of a set of records that is published with the same number by the
    same method and settings once more, and something from everything else.

    Parameters
    ----------
    method
        Its name, which the ledger lists: ``"rounding"``.
    settings
        What decides how far numbers lie from true ones; it stays inside.
    numbers
        For each cell what is published; None where nothing but method and settings counts.
    hidden
        Which cells are hidden; None for none.
    pattern
        What all cells that are hidden together have in common, and no other choice of cells.
    is_compared
        Whether cells that differ by few records tell more than each by itself.

    Examples
    --------
    >>> CellProtection(method="rounding", settings="base 5", numbers=np.array([5, 10]))
    CellProtection(…)
    """

    method: str
    settings: str = ""
    numbers: Integers | None = None
    hidden: Flags | None = None
    pattern: str = ""
    is_compared: bool = True

    def words(self, whole: Integers, part: Integers) -> tuple[Words, Words, Words]:
        """Return, as three words for each set, what is published of it.

        Parameters
        ----------
        whole
            The cell that each set is, or that it is left of.
        part
            What is left out of it; -1 for nothing.

        Examples
        --------
        >>> own = CellProtection(method="rounding", numbers=np.array([15, 5]))
        >>> own.words(np.array([0, 0]), np.array([-1, 1]))[1].tolist()
        [15, 10]
        """
        is_rest = part >= 0
        values = np.zeros(len(whole), np.int64)
        if self.numbers is not None:
            values = self.numbers[whole] - np.where(is_rest, self.numbers[part], 0)
        is_hidden = np.zeros(len(whole), bool)
        if self.hidden is not None:
            is_hidden = self.hidden[whole] | (is_rest & self.hidden[part])
        numbers = values.astype(np.uint64)
        numbers[is_hidden] = _word(self.pattern)
        method = np.full(len(whole), _word(f"{len(self.method)} {self.method} {self.settings}"))
        return method, numbers, is_hidden.astype(np.uint64)


def _word(text: str) -> np.uint64:
    digest = hashlib.sha256(text.encode()).digest()
    return np.uint64(int.from_bytes(digest[:_WORD], "big"))
