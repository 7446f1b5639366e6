"""What tables tell of single persons: a category of somebody who is alone in a cell."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Levels
from risk.reconstruction.lattice import Lattice, Shown, Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAttributes(Tally):
    """How often the category of a person is found who is alone in a cell of other variables.

    Parameters
    ----------
    n
        How many persons there are, once for each table and each variable of it in which the
        other variables leave the person alone.
    by_frequency
        How often the most frequent category of all is right.
    alone
        How often the largest count of the table is, as published.
    together
        How often the largest count is that was fitted to all tables.
    """

    n: int = 0
    by_frequency: int = 0
    alone: int = 0
    together: int = 0


def found_attributes(
    lattice: Lattice,
    published_cells: Mapping[Levels, Shown],
    *,
    truth: Mapping[Levels, NDArray[Any]],
    estimates: Mapping[Levels, NDArray[Any]],
    axes: Collection[int],
) -> FoundAttributes:
    """Guess the categories of persons of whom everything else that a table shows is known.

    Parameters
    ----------
    lattice, shown
        The tables, and what they show.
    truth, fitted
        For every table its true counts, and those fitted to all tables together.
    axes
        The variables to guess, at their finest levels.

    Notes
    -----
    Somebody who knows that a person is in the data, and alone in a cell, guesses the category
    with the largest count among those that the table tells apart; of equal ones the most
    frequent.
    """
    top_level = [len(one) - 1 for one in lattice.groups]
    total = FoundAttributes()
    for table, one in published_cells.items():
        others = [axis for axis, level in enumerate(table) if level < top_level[axis]]
        for axis in sorted(set(axes) & set(others)) if len(others) > 1 else ():
            if table[axis] == 0:
                counts = (truth[table], one.published, estimates[table])
                total += _guessed(*counts, is_shown=one.is_shown, axis=axis)
    return total


def _guessed(
    truth: NDArray[Any],
    published: NDArray[Any],
    estimates: NDArray[Any],
    *,
    is_shown: Flags,
    axis: int,
) -> FoundAttributes:
    true, cells, fit, mask = (
        np.moveaxis(counts, axis, -1).reshape(-1, counts.shape[axis])
        for counts in (truth, published, estimates, is_shown)
    )
    frequency = (cells * mask).sum(axis=0)
    is_alone = mask.all(axis=1) & (true.sum(axis=1) == 1)
    answer = true[is_alone].argmax(axis=1)
    share = frequency / max(frequency.sum(), 1) / 1000  # it decides between equal counts alone

    def right(counts: NDArray[Any]) -> int:
        return int(((counts[is_alone] + share).argmax(axis=1) == answer).sum())

    return FoundAttributes(
        n=len(answer),
        by_frequency=right(np.zeros(cells.shape)),
        alone=right(cells),
        together=right(fit),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundGroups(Tally):
    """How often all records of a cell have the category that a stranger names.

    Equal records have equal noise. So where one category is published like the cell, and all
    others as 0, the cell has that category alone, or two noises are equal by chance.

    Parameters
    ----------
    n
        How often that is published.
    right
        How often all records have the category.
    """

    n: int = 0
    right: int = 0

    @property
    def share(self) -> float:
        """The share of the statements that are right."""
        return self.right / self.n if self.n else 0.0


def found_groups(
    lattice: Lattice,
    published_cells: Mapping[Levels, Shown],
    *,
    truth: Mapping[Levels, NDArray[Any]],
    axes: Collection[int],
) -> FoundGroups:
    """Say of each cell that is published like one of its categories that it has no other.

    Parameters
    ----------
    lattice, published_cells, truth, axes
        See `found_attributes`; each table is held against the one without the variable.
    """
    total = FoundGroups()
    for table, one in published_cells.items():
        for axis in sorted(axes):
            top = len(lattice.groups[axis]) - 1
            above = (*table[:axis], top, *table[axis + 1 :])
            if table[axis] == 0 and top > 0 and above in published_cells:
                total += _stated(one, published_cells[above], truth[table], axis)
    return total


def _stated(part: Shown, whole: Shown, truth: NDArray[Any], axis: int) -> FoundGroups:
    is_seen = whole.is_shown & part.is_shown.all(axis=axis, keepdims=True)
    is_alike = (part.published == whole.published).any(axis=axis, keepdims=True)
    n_published = (part.published > 0).sum(axis=axis, keepdims=True)
    is_stated = is_seen & is_alike & (n_published == 1) & (whole.published > 0)
    named = np.take_along_axis(truth, part.published.argmax(axis=axis, keepdims=True), axis)
    is_right = is_stated & (named == truth.sum(axis=axis, keepdims=True))
    return FoundGroups(n=int(is_stated.sum()), right=int(is_right.sum()))
