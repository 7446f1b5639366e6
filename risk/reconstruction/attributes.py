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
