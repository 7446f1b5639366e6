"""Many tables of the same records together, and what is found of their cells.

Whoever may ask for tables asks for all of them. The tables lie in a lattice: each shows every
variable at one level, its finest or a coarser one up to the total, and all are sums of the same
joint cells.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Floats, Integers, Levels

#: So many joint cells are held at most.
MAX_JOINT = 20_000_000
_ENOUGH = 20


class Lattice:
    """Sums of joint cells, table by table.

    Parameters
    ----------
    groups
        For every variable and level, finest first: the category at this level of each finest
        category. The last level is the total.
    tables
        Combinations of levels, one level for each variable.
    """

    def __init__(self, groups: Sequence[Sequence[Integers]], tables: Sequence[Levels]) -> None:
        self.groups = groups
        self.sizes = [[int(codes.max(initial=0)) + 1 for codes in one] for one in groups]
        self.shape = tuple(len(one[0]) for one in groups)
        self.tables = tuple(dict.fromkeys(tables))
        # Level by level of one variable after the other, so that tables share their sums.
        finest = (0,) * len(groups)
        self._above: dict[Levels, tuple[Levels, int]] = {}
        for table in self.tables:
            below = finest
            for axis, level in enumerate(table):
                here = (*below[:axis], level, *below[axis + 1 :])
                if level:
                    self._above.setdefault(here, (below, axis))
                below = here

    def shape_of(self, table: Levels) -> tuple[int, ...]:
        """Give the number of categories of each variable in a table."""
        return tuple(sizes[level] for sizes, level in zip(self.sizes, table, strict=True))

    def codes(self, axis: int, below: int, above: int) -> Integers | None:
        """Give the category at a level of each at one below; None where they do not nest."""
        low, high = self.groups[axis][below], self.groups[axis][above]
        codes = np.zeros(self.sizes[axis][below], np.int64)
        codes[low] = high
        return codes if (codes[low] == high).all() else None

    def without_detail(self, tables: Collection[Levels]) -> set[Levels]:
        """Return the tables that are no sum of another over one variable or a step of it."""
        return {
            table
            for table in tables
            if not any(
                (*table[:axis], below, *table[axis + 1 :]) in tables
                and self.codes(axis, below, level) is not None
                for axis, level in enumerate(table)
                for below in range(level)
            )
        }

    def sums(self, joint: NDArray[Any]) -> dict[Levels, NDArray[Any]]:
        """Add joint cells up to every table."""
        sums = {(0,) * joint.ndim: joint}
        for table, (below, axis) in self._above.items():
            sums[table] = self._raised(sums[below], axis, table[axis])
        return {table: sums[table] for table in self.tables}

    def spread(self, tables: Mapping[Levels, Floats]) -> Floats:
        """Give each joint cell the sum over all cells that it is part of (the adjoint)."""
        every = (0,) * len(self.shape)
        sums = {table: values.astype(np.float64) for table, values in tables.items()}
        for table, (below, axis) in reversed(self._above.items()):
            if table in sums:
                part = np.take(sums[table], self.groups[axis][table[axis]], axis=axis)
                sums[below] = sums[below] + part if below in sums else part
        return sums.get(every, np.zeros(self.shape))

    def _raised(self, values: NDArray[Any], axis: int, level: int) -> NDArray[Any]:
        return added(values, self.groups[axis][level], axis=axis)


def added(values: NDArray[Any], codes: Integers, *, axis: int) -> NDArray[Any]:
    """Add up along an axis what has the same code; every code up to the largest occurs."""
    if not codes.any():  # the total: adding up is faster than by places
        total: NDArray[Any] = values.sum(axis=axis, keepdims=True)
        return total
    if (np.diff(codes) < 0).any():
        order = np.argsort(codes, kind="stable")
        codes, values = codes[order], values.take(order, axis=axis)
    starts = np.searchsorted(codes, np.arange(codes.max(initial=0) + 1))
    sums: NDArray[Any] = np.add.reduceat(values, starts, axis=axis)
    return sums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Shown:
    """What a table shows.

    Parameters
    ----------
    published
        Its counts, as published.
    is_shown
        Which of them are published at all; the others may hold anything.
    """

    published: Integers
    is_shown: Flags

    def mapped(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Shown:
        """Change both arrays alike."""
        return Shown(published=change(self.published), is_shown=change(self.is_shown))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Numbers of what is found, which add up one by one."""

    def __add__(self, other: Self) -> Self:
        names = [field.name for field in fields(self)]
        return type(self)(**{n: getattr(self, n) + getattr(other, n) for n in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Tally):
    """How many small counts are found from cells that look alike.

    Of a cell with fewer than 20 others like it nobody is taken to be sure, though some of these
    are guessed best.

    Parameters
    ----------
    n_small
        How many published cells hold between 1 and the largest small count.
    guessed
        How many cells the best guess takes for small.
    right
        For how many of the small ones the best guess is right.
    sure, sure_wrong
        How often somebody is sure enough that a cell is small, and names its count; how often
        wrongly.
    certain
        Of how many small ones no other count fits what is published.
    """

    n_small: int = 0
    guessed: int = 0
    right: int = 0
    sure: int = 0
    sure_wrong: int = 0
    certain: int = 0

    @property
    def share(self) -> float:
        """The share of small counts that the best guess has right."""
        return self.right / self.n_small if self.n_small else 0.0


class OfCells:
    """What is said of each cell, arrays of one length."""

    __slots__ = ()

    def part(self, cells: slice) -> Self:
        """Keep what is said of some cells."""
        return self.mapped(lambda arrays: arrays[0][cells], [self])

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Put what is said of some cells behind each other."""
        return parts[0].mapped(np.concatenate, parts)

    def mapped(
        self, change: Callable[[list[NDArray[Any]]], NDArray[Any]], some: Sequence[Self]
    ) -> Self:
        """Change each array of several of these into one."""
        names = [one.name for one in fields(self)]  # type: ignore[arg-type]
        return type(self)(**{n: change([getattr(one, n) for one in some]) for n in names})


OfCellsT = TypeVar("OfCellsT", bound=OfCells)


def better_by_halves(
    ways: Sequence[OfCellsT], successes: Sequence[Flags], *, seed: int = 0
) -> OfCellsT:
    """Say of each half of the cells what that way says which succeeds more often of the other.

    Whoever chose among ways by what is to be found would find more than by any rule. Readers
    learn from simulated tables which way is better, and here from the other half of the cells.

    Parameters
    ----------
    ways
        What is said of all cells.
    successes
        Of which cells each way says what counts; flags of all cells.
    seed
        Of the halves.
    """
    half = np.random.default_rng(seed).random(len(successes[0])) < 0.5
    best = [
        int(np.argmax([(one & others).sum() for one in successes])) for others in (~half, half)
    ]
    if best[0] == best[1]:
        return ways[best[0]]
    first, second = (ways[place] for place in best)
    return first.mapped(lambda pair: np.where(half, *pair), [first, second])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Guesses(OfCells):
    """What is guessed of each cell, arrays of shape ``(n,)``. Disclosive.

    Parameters
    ----------
    is_small
        Whether the cell holds between 1 and the largest small count.
    is_guessed
        Whether the best guess takes it for small.
    is_right
        Whether the best guess is its count, where all that is not small is one answer.
    is_sure
        Whether somebody is sure enough that it is small, and names its count.
    is_certain
        Whether no other count fits the bounds, and it is not large.
    """

    is_small: Flags
    is_guessed: Flags
    is_right: Flags
    is_sure: Flags
    is_certain: Flags

    @property
    def found(self) -> Found:
        """How many small counts are found."""
        return Found(
            n_small=int(self.is_small.sum()),
            guessed=int(self.is_guessed.sum()),
            right=int((self.is_right & self.is_small).sum()),
            sure=int(self.is_sure.sum()),
            sure_wrong=int((self.is_sure & ~self.is_right).sum()),
            certain=int((self.is_certain & self.is_small).sum()),
        )


def guessed_counts(
    truth: Integers,
    guess: Integers,
    clues: Sequence[Integers],
    *,
    small: int,
    confidence: float,
    bounds: tuple[Floats, Floats] | None = None,
    n_coarse: int = 0,
    is_guess_learnt: bool = True,
) -> Guesses:
    """Guess each count by what is most frequent among other cells with the same clues.

    Parameters
    ----------
    truth
        The true counts, shape ``(n,)``.
    guess
        What to guess where fewer than 20 others have the same clues, shape ``(n,)``.
    clues
        What a reader sees of every cell, arrays of shape ``(n,)``: alike where equal.
    small
        Counts from 1 to this are small.
    confidence
        From which share of the others on a reader is sure.
    bounds
        The least and the largest count of each cell, shape ``(n,)``, where they are known: no
        guess leaves them.
    n_coarse
        How many of the first clues tell what to guess where fewer than 20 others have all of
        them; 0 for none.
    is_guess_learnt
        Whether to guess what is most frequent among others, or always `guess`: then others
        tell who is sure.

    Notes
    -----
    A reader who knows the p-table can simulate such tables and learn the same frequencies. Each
    cell is left out of the frequencies that its own guess is made by.
    """
    capped = np.minimum(truth, small + 1)  # what is not small is one answer, but for 0
    is_small = (capped >= 1) & (capped <= small)
    if not len(truth):
        return Guesses(**dict.fromkeys((f.name for f in fields(Guesses)), is_small))
    others = _others_alike(capped, clues, n_values=small + 2)
    if n_coarse:
        is_rare = others.sum(axis=1) < _ENOUGH
        others[is_rare] = _others_alike(capped, clues[:n_coarse], n_values=small + 2)[is_rare]
    n_others = others.sum(axis=1)
    is_known = n_others >= _ENOUGH
    frequent, best = others.argmax(axis=1), np.clip(guess, 0, small + 1)
    if is_guess_learnt:
        best = np.where(is_known, frequent, best)
    is_certain = np.zeros(len(truth), bool)
    is_sure = is_known & (others.max(axis=1) >= confidence * n_others) & (best == frequent)
    if bounds is not None:
        lower, upper = (np.minimum(one, small + 1).astype(np.int64) for one in bounds)
        is_certain = (lower == upper) & (upper <= small)
        is_sure = (is_sure & (lower <= best) & (best <= upper)) | is_certain
        best = np.clip(best, lower, upper)
    is_guessed = (best >= 1) & (best <= small)
    return Guesses(
        is_small=is_small,
        is_guessed=is_guessed,
        is_right=best == capped,
        is_sure=is_sure & is_guessed,
        is_certain=is_certain,
    )


def _others_alike(
    values: Integers, clues: Sequence[Integers], *, n_values: int
) -> NDArray[np.int64]:
    """Count the values of all others with the same clues, shape ``(n, n_values)``."""
    group = np.unique(np.stack([*clues]), axis=1, return_inverse=True)[1].ravel()
    times = np.zeros((int(group.max()) + 1, n_values), np.int64)
    np.add.at(times, (group, values), 1)
    others = times[group]
    others[np.arange(len(values)), values] -= 1
    return others


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundZeros(Tally):
    """How many cells published as 0 are named that hold records.

    Parameters
    ----------
    n, n_occupied
        How many cells are published as 0, and how many of them hold records.
    named, right
        How many are named, as more of the cells that look alike hold records than not, or as
        no count of 0 fits; how often rightly.
    sure, sure_wrong
        How many are named by somebody who is sure enough; how often wrongly.
    certain
        How many cannot be empty.
    """

    n: int = 0
    n_occupied: int = 0
    named: int = 0
    right: int = 0
    sure: int = 0
    sure_wrong: int = 0
    certain: int = 0

    @property
    def share(self) -> float:
        """The share of the cells that hold records which are named."""
        return self.right / self.n_occupied if self.n_occupied else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NamedZeros(OfCells):
    """What is said of each cell, arrays of shape ``(n,)``, False but of zeros. Disclosive.

    Parameters
    ----------
    is_zero, is_occupied
        Whether it is published as 0, and holds records nevertheless.
    is_named, is_sure, is_certain
        See `FoundZeros`.
    """

    is_zero: Flags
    is_occupied: Flags
    is_named: Flags
    is_sure: Flags
    is_certain: Flags

    @property
    def found(self) -> FoundZeros:
        """How many cells are named."""
        return FoundZeros(
            n=int(self.is_zero.sum()),
            n_occupied=int(self.is_occupied.sum()),
            named=int(self.is_named.sum()),
            right=int((self.is_named & self.is_occupied).sum()),
            sure=int(self.is_sure.sum()),
            sure_wrong=int((self.is_sure & ~self.is_occupied).sum()),
            certain=int(self.is_certain.sum()),
        )


def named_zeros(
    truth: Integers,
    published: Integers,
    clues: Sequence[Integers],
    *,
    confidence: float,
    lower: Floats,
    is_likely: Flags | None = None,
) -> NamedZeros:
    """Name cells published as 0 that hold records, by others that look alike.

    Parameters
    ----------
    truth, published, clues, confidence
        See `guessed_counts`; a cell is left out of the frequencies that name it.
    lower
        The least count of each cell.
    is_likely
        Which cells to name instead of those that others name: these tell who is sure.
    """
    is_zero = published == 0
    is_occupied = is_zero & (truth > 0)
    is_certain = is_zero & (lower > 0)
    is_named, is_sure = is_certain.copy(), is_certain.copy()
    if is_zero.any():
        others = _others_alike(
            is_occupied[is_zero].astype(np.int64), [one[is_zero] for one in clues], n_values=2
        )
        n_others, occupied = others.sum(axis=1), others[:, 1]
        is_known = n_others >= _ENOUGH
        is_named[is_zero] |= is_known & (2 * occupied > n_others)
        is_sure[is_zero] |= is_known & (occupied >= confidence * n_others)
    if is_likely is not None:
        is_named = is_certain | (is_zero & is_likely)
        is_sure &= is_named
    return NamedZeros(
        is_zero=is_zero,
        is_occupied=is_occupied,
        is_named=is_named,
        is_sure=is_sure,
        is_certain=is_certain,
    )
