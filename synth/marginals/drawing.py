"""Records drawn from a calibrated network: spread evenly, shuffled, column by column."""

from collections.abc import Sequence

import numpy as np

from footing.arrays import Floats, Integers
from synth.marginals.belief import Network


def draw_codes(
    network: Network, beliefs: Sequence[Floats], *, number: int, rng: np.random.Generator
) -> list[Integers]:
    """Draw the codes of each column, clique after clique.

    Among the records that agree on what a clique shares with its parent, the new columns are
    drawn by systematic sampling: as many of each kind as expected, to within one. The records
    are put in a fresh order for each clique; in the same order, columns that are independent
    given others would not be.
    """
    codes = [np.zeros(number, np.int64) for _ in network.sizes]
    known: set[int] = set()
    for one in network.tree.order:
        clique = network.tree.cliques[one]
        given = [column for column in clique if column in known]
        new = [column for column in clique if column not in known]
        if not new:
            continue
        rows = np.zeros(number, np.int64)
        for column in given:
            rows *= network.sizes[column]
            rows += codes[column]
        axes = [clique.index(column) for column in given + new]
        high = int(np.prod([network.sizes[column] for column in given]))
        cells = _systematic(beliefs[one].transpose(axes).reshape(high, -1), rows, rng)
        for column in reversed(new):
            cells, codes[column] = np.divmod(cells, network.sizes[column])
        known.update(new)
    return codes


def draw_within(
    groups: Integers, group_of: Integers, shares: Floats, *, rng: np.random.Generator
) -> Integers:
    """Draw a code of each group."""
    members = np.bincount(group_of)
    order = np.argsort(group_of, kind="stable")
    if (members == 1).all():
        return np.asarray(order[groups])
    starts = np.concatenate(([0], np.cumsum(members)[:-1]))
    steps = np.cumsum(shares[order])
    before = np.concatenate(([0.0], steps))[starts]
    length = np.concatenate((steps[starts[1:] - 1], steps[-1:])) - before
    places = _places(groups, len(members), rng)
    found = np.searchsorted(steps, before[groups] + places * length[groups], side="right")
    last = starts + members - 1
    return np.asarray(order[_stay(found, starts[groups], last[groups], shares[order])])


def _systematic(chances: Floats, rows: Integers, rng: np.random.Generator) -> Integers:
    """Draw a column of `chances` for each record, given its row."""
    width = chances.shape[1]
    totals = chances.sum(axis=1, keepdims=True)
    # A row without a chance has no records; it may hold anything.
    shares = np.divide(chances, totals, out=np.full(chances.shape, 1 / width), where=totals > 0)
    steps = np.cumsum(shares, axis=1) + np.arange(len(shares))[:, None]
    places = _places(rows, len(shares), rng)
    found = np.searchsorted(steps.ravel(), rows + places, side="right")
    first = rows * width
    return np.asarray(_stay(found, first, first + width - 1, shares.ravel()) - first)


def _places(rows: Integers, high: int, rng: np.random.Generator) -> Floats:
    """Return numbers in [0, 1), spread evenly over the records of each row, in random order."""
    number = len(rows)
    shuffled = rng.permutation(number)
    small = rows.astype(np.uint16) if high <= 2**16 else rows
    order = shuffled[np.argsort(small[shuffled], kind="stable")]
    counts = np.bincount(rows, minlength=high)
    ranks = np.empty(number, np.int64)
    ranks[order] = np.arange(number)
    ranks -= (np.cumsum(counts) - counts)[rows]
    return np.asarray((ranks + rng.random(high)[rows]) / counts[rows])


def _stay(found: Integers, first: Integers, last: Integers, shares: Floats) -> Integers:
    """Put back what rounding carried over the edge of its row or into an empty cell."""
    found = np.asarray(np.clip(found, first, last), np.int64)
    wrong = np.flatnonzero(shares[found] <= 0)
    for one in wrong.tolist():
        inside = shares[first[one] : last[one] + 1]
        if inside.max() > 0:
            found[one] = first[one] + int(np.argmax(inside))
    return found
