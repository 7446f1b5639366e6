"""Records drawn from a calibrated network: spread evenly, shuffled, column by column."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Floats, Integers
from synth.marginals.belief import Network

_WIDE = 2**62
_GOLDEN = (math.sqrt(5) - 1) / 2


def draw_codes(
    network: Network,
    beliefs: Sequence[Floats],
    *,
    number: int,
    rng: np.random.Generator,
    is_even: bool = True,
) -> list[Integers]:
    """Draw the codes of each column, clique after clique.

    Among the records that agree on what a clique shares with its parent, the new columns are
    drawn by systematic sampling: as many of each kind as expected, to within one. Chance
    spreads many records over the other columns that are known; with `is_even` multiples of the
    golden ratio do, over the latest first.
    """
    codes = [np.zeros(number, np.int64) for _ in network.sizes]
    earlier: list[int] = []
    for one in network.tree.order:
        clique = network.tree.cliques[one]
        separator = [column for column in clique if column in earlier]
        new = [column for column in clique if column not in earlier]
        if not new:
            continue
        rows = np.zeros(number, np.int64)
        for column in separator:
            rows *= network.sizes[column]
            rows += codes[column]
        axes = [clique.index(column) for column in separator + new]
        high = int(np.prod([network.sizes[column] for column in separator]))
        others = [column for column in reversed(earlier) if column not in separator]
        kinds = _kinds(codes, others if is_even else [], network.sizes, most=_WIDE // high)
        cells = _systematic(beliefs[one].transpose(axes).reshape(high, -1), rows, kinds, rng)
        for column in reversed(new):
            cells, codes[column] = np.divmod(cells, network.sizes[column])
        earlier += new
    return codes


def _kinds(
    codes: Sequence[Integers], columns: Sequence[int], sizes: Sequence[int], *, most: int
) -> tuple[Integers, int]:
    """Return a number for the codes of some columns, the first weighing most, and its range."""
    width, kinds = 1, np.zeros(len(codes[0]), np.int64)
    for column in columns:
        if width * sizes[column] > most:
            break
        width *= sizes[column]
        kinds = kinds * sizes[column] + codes[column]
    return kinds, width


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
    places = places_of(groups, len(members), rng)
    picks = np.searchsorted(steps, before[groups] + places * length[groups], side="right")
    last = starts + members - 1
    return np.asarray(order[_stay(picks, starts[groups], last[groups], shares[order])])


def _systematic(
    chances: Floats, rows: Integers, kinds: tuple[Integers, int], rng: np.random.Generator
) -> Integers:
    """Draw a column of `chances` for each record, given its row."""
    width = chances.shape[1]
    totals = chances.sum(axis=1, keepdims=True)
    # A row without a chance has no records; it may hold anything.
    shares = np.divide(chances, totals, out=np.full(chances.shape, 1 / width), where=totals > 0)
    steps = np.cumsum(shares, axis=1) + np.arange(len(shares))[:, None]
    places = places_of(rows, len(shares), rng, kinds=kinds)
    picks = np.searchsorted(steps.ravel(), rows + places, side="right")
    first = rows * width
    return np.asarray(_stay(picks, first, first + width - 1, shares.ravel()) - first)


def places_of(
    rows: Integers,
    high: int,
    rng: np.random.Generator,
    *,
    kinds: tuple[Integers, int] | None = None,
) -> Floats:
    """Return numbers in [0, 1), spread evenly over the records of each row, in random order.

    Those of each kind are spread, too, if there are kinds.
    """
    counts = np.bincount(rows, minlength=high)
    starts = (np.cumsum(counts) - counts)[rows]
    shuffled = rng.permutation(len(rows))
    codes, width = kinds or (rows, 1)
    small = rows.astype(np.uint16) if high <= 2**16 else rows
    ranks = _ranks(small if width == 1 else rows * width + codes, shuffled) - starts
    if width > 1:
        spread = (ranks * _GOLDEN + rng.random(high)[rows]) % 1
        ranks = _ranks(rows + spread / 2, shuffled) - starts
    return np.asarray((ranks + rng.random(high)[rows]) / counts[rows])


def _ranks(keys: NDArray[Any], shuffled: Integers) -> Integers:
    """Return the rank of each key, equal ones in the order of `shuffled`."""
    ranks = np.empty(len(keys), np.int64)
    ranks[shuffled[np.argsort(keys[shuffled], kind="stable")]] = np.arange(len(keys))
    return ranks


def _stay(picks: Integers, first: Integers, last: Integers, shares: Floats) -> Integers:
    """Put back what rounding carried over the edge of its row or into an empty cell."""
    picks = np.asarray(np.clip(picks, first, last), np.int64)
    wrong = np.flatnonzero(shares[picks] <= 0)
    for one in wrong.tolist():
        inside = shares[first[one] : last[one] + 1]
        if inside.max() > 0:
            picks[one] = first[one] + int(np.argmax(inside))
    return picks
