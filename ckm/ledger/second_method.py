"""Tables that show records which another method protected, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckm.ledger.definition import Definition
from ckm.ledger.protection import ANOTHER_NOISE, NOISE
from footing.arrays import Flags, Integers, Words
from footing.messages import Message, Name


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondMethod:
    """A table and one published before, with a set of records that each tells in its own way.

    Two methods, or one method with other settings, or the same rounding drawn anew: each is
    safe by itself, and both together tell more of the records than either.

    Parameters
    ----------
    table, method
        The table asked for, and what protects it.
    published, published_method
        The table published before, and what protected it.
    entry
        Number of the latter in the ledger; None while it is only asked for.

    Examples
    --------
    >>> print(
    ...     SecondMethod(table="b", method="rounding", published="a", published_method="noise")
    ... )
    Table 'b' (rounding) shows records of table 'a' (noise).
    """

    table: str
    method: str
    published: str
    published_method: str
    entry: int | None = None

    @classmethod
    def of(cls, table: Definition, published: Definition, *, entry: int | None) -> SecondMethod:
        """Name two tables by their definitions."""
        return cls(
            table=table.name,
            method=table.method,
            published=published.name,
            published_method=published.method,
            entry=entry,
        )

    @property
    def is_of_two_noises(self) -> bool:
        """Whether both tables have noise, by two p-tables: readers could average the two."""
        return {self.method, self.published_method} <= {NOISE, ANOTHER_NOISE}

    @property
    def words(self) -> Message:
        """Both tables and their methods, in public words."""
        names: dict[str, Any] = {
            "table": Name(self.table),
            "method": Name(self.method),
            "published": Name(self.published),
            "before": Name(self.published_method),
        }
        if self.entry is None:
            return Message(
                "Table {table!r} ({method}) shows records of table {published!r} ({before}).",
                **names,
            )
        return Message(
            "Table {table!r} ({method}) shows records of table {published!r} ({before}, entry "
            "{entry} of the ledger).",
            entry=self.entry,
            **names,
        )

    def __str__(self) -> str:
        return str(self.words)


def refused_methods(
    seconds: Sequence[SecondMethod], *, allows_second_noise: bool
) -> tuple[SecondMethod, ...]:
    """Return the second methods that are to be refused, where somebody may allow two noises."""
    return tuple(one for one in seconds if not (allows_second_noise and one.is_of_two_noises))


class LabelledRun(NamedTuple):
    """Sets in order, what is published of each, and in which entry."""

    sets: Words
    labels: Words
    entries: Integers


class LabelledSets:
    """The sets of a history that another method than noise published, and as what numbers."""

    def __init__(self) -> None:
        self.runs: tuple[LabelledRun, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.runs)

    def add(self, sets: Words, labels: Words, *, number: int) -> None:
        """Add those of an entry."""
        if not len(sets):
            return
        order = np.argsort(sets)
        entries = np.full(len(sets), number, np.int64)
        # Whole and at once: other threads may be looking sets up.
        self.runs = (*self.runs, LabelledRun(sets[order], labels[order], entries))

    def has(self, sets: Words, labels: Words) -> Flags:
        """Tell which of these sets are there, with the same numbers."""
        is_there = np.zeros(len(sets), bool)
        for run in self.runs:
            is_met, at = _met(sets, run.sets)
            is_there |= is_met & (run.labels[at] == labels)
        return is_there

    def knows(self, sets: Words) -> Flags:
        """Tell which of these sets are there, with whatever number."""
        is_there = np.zeros(len(sets), bool)
        for run in self.runs:
            is_there |= _met(sets, run.sets)[0]
        return is_there

    def others(self, sets: Words, labels: Words) -> list[int]:
        """Return the entries that have one of these sets, with another number or method."""
        entries = set[int]()
        for run in self.runs:
            is_met, at = _met(sets, run.sets)
            entries |= set(run.entries[at[is_met & (run.labels[at] != labels)]].tolist())
        return sorted(entries)


def differ(mine: tuple[Words, Words], theirs: tuple[Words, Words]) -> bool:
    """Tell whether two tables have a set in common that each publishes in its own way."""
    run = LabelledSets()
    run.add(*theirs, number=0)
    return bool(run.others(*mine))


def _met(sets: Words, earlier: Words) -> tuple[Flags, NDArray[np.intp]]:
    """Tell which sets are among known ones, which are in order, and where."""
    at = np.minimum(np.searchsorted(earlier, sets), len(earlier) - 1)
    return earlier[at] == sets, at
