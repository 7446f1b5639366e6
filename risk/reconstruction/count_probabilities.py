"""How probable each count is, given all tables, by the rows of the p-table."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from footing.arrays import Flags, Floats, Integers, Levels
from ptable import PTable
from ptable.lookup import cycle_length, serving_row
from ptable.proof.divergence import laws_of
from risk.reconstruction.fitted_counts import FittedCells
from risk.reconstruction.lattice import Lattice
from risk.reconstruction.sum_messages import (
    PossibleCounts,
    SumMessages,
    convolution_length,
)
from risk.reconstruction.sums_of_parts import sums_of_parts

#: Steps end once a whole one would change the probabilities of a cell by less than that on
#: average, or after so many.
_ENOUGH, _STEPS = 3e-3, 20
#: Messages have settled where the last step would change them by less than that.
_SETTLED = 1.5e-2
#: Messages move by this share of the way, and by so much of it where they have swung back.
_SHARE, _LESS = 0.3, 0.7
#: A sum of more parts says next to nothing of one of them.
_MOST_PARTS = 64
_LEAST_MEAN = 1e-4
#: The logarithm of the probability of what the p-table never does.
_IMPOSSIBLE = -30.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CountProbabilities:
    """The probability of each count of every published cell.

    Parameters
    ----------
    shares
        Of shape ``(n, most + 2)``: of 0, 1, ..., `most`, and of all larger counts.
    is_settled
        Whether further steps would hardly change them.
    """

    shares: Floats
    is_settled: bool


def count_probabilities(
    fit: FittedCells,
    lattice: Lattice,
    *,
    ptable: PTable,
    most: int,
    is_over: Callable[[], bool] = lambda: False,
) -> CountProbabilities:
    """Give the probability of each count of every published cell, given all tables.

    Parameters
    ----------
    fit
        Joint cells fitted to tables that are sums of others: how frequent cells are before
        anything else is published of them.
    lattice
        The tables.
    ptable
        The noise.
    most
        The largest count that is told apart from larger ones.
    is_over
        Asked after each step whether to stop with what there is.

    Notes
    -----
    A published number can come from some counts, each with the chance that the p-table
    publishes it so. With a Poisson prior of the fitted mean, a cell and the cells that add up
    to it tell each other how probable each count makes all that is said of the others of this
    sum (belief propagation, whose sums are convolutions; messages move by a part of the way).
    Where all other parts are empty, a sum has the records of its part, and so its noise. For
    one sum and its parts the result is that of enumeration. Tables that share cells return
    to a cell what it said itself, so how often the probabilities are right is to be counted,
    not believed.

    References
    ----------
    Pearl 1988, Probabilistic Reasoning in Intelligent Systems; Kschischang, Frey, Loeliger
    2001, Factor graphs and the sum-product algorithm; Murphy, Weiss, Jordan 1999, Loopy belief
    propagation for approximate inference.
    """
    is_shown = np.concatenate([one.is_shown.ravel() for one in fit.published_cells.values()])
    cells = _possible_counts(fit, ptable, is_shown)
    is_vague = ~is_shown & (cells.means > ptable.max_noise)
    messages = []
    for links in sums_of_parts(lattice, list(fit.published_cells), most_parts=_MOST_PARTS):
        is_used = is_shown[links.sums] & ~is_vague[links.parts].any(axis=1)
        messages.append(SumMessages(cells, links.part(is_used)))
    logs = cells.logs
    shares, change, share = _shares(cells, logs, most=most), math.inf, _SHARE
    for _ in range(_STEPS if messages else 0):
        for one in messages:
            one.move(logs, share=share)
        logs = cells.logs.copy()
        for one in messages:
            one.add_to(logs)
        earlier, shares = shares, _shares(cells, logs, most=most)
        before, change = change, float(np.abs(shares - earlier).max(axis=1).mean() / share)
        if change > before:
            share *= _LESS
        if change < _ENOUGH or is_over():
            break
    is_settled = not messages or change < _SETTLED
    return CountProbabilities(shares=shares[is_shown], is_settled=is_settled)


def messages_size(
    lattice: Lattice, tables: Collection[Levels], *, max_noise: int
) -> tuple[int, int]:
    """Give the number of parts that messages go to, and of numbers that a step convolves.

    Parameters
    ----------
    lattice, tables
        Tables of a lattice.
    max_noise
        Of the p-table.
    """
    n_parts = n_numbers = 0
    for links in sums_of_parts(lattice, tables, most_parts=_MOST_PARTS):
        n_parts += links.parts.size
        n_numbers += links.parts.size * convolution_length(links, width=2 * max_noise + 1)
    return n_parts, n_numbers


def _possible_counts(fit: FittedCells, ptable: PTable, is_shown: Flags) -> PossibleCounts:
    """Return those of all cells; one that is not shown has its prior alone."""
    published = np.concatenate([one.published.ravel() for one in fit.published_cells.values()])
    published = np.where(is_shown, published, 0)
    noise, gaps = ptable.max_noise, np.arange(2 * ptable.max_noise + 1)
    logs, n_single = log_likelihoods(ptable, gaps - noise)
    cycle = len(logs) - n_single
    rows = n_single + (published - n_single) % cycle
    rows = np.where(published < n_single, published, rows)
    first = np.maximum(0, published - noise)
    at = first[:, None] + gaps - published[:, None] + noise
    known = logs[rows[:, None], np.minimum(at, len(gaps) - 1)]
    known = np.maximum(np.where(at < len(gaps), known, -math.inf), _IMPOSSIBLE)
    means = np.concatenate([one.ravel() for one in fit.sums().values()])
    return PossibleCounts(
        first=first,
        published=np.where(is_shown, published, -1),
        logs=np.where(is_shown[:, None], known, 0.0),
        means=np.maximum(means, _LEAST_MEAN),
    )


def _shares(cells: PossibleCounts, logs: Floats, *, most: int) -> Floats:
    """Return the probability of each count up to the most, and of all larger ones."""
    weights, capped = cells.probabilities(logs), np.minimum(cells.counts, most + 1)
    shares = [np.where(capped == n, weights, 0).sum(axis=1) for n in range(most + 2)]
    return np.stack(shares, axis=1)


def log_likelihoods(ptable: PTable, gaps: Integers) -> tuple[Floats, int]:
    """Return log P(published | published + gap), and from which published count rows repeat.

    A number that no count is published as says nothing: all gaps are alike.
    """
    laws = laws_of(ptable, key_range=ptable.key_range)
    cycle = cycle_length(ptable.large_counts, n_rows=len(laws))
    n_single = len(laws) + ptable.max_noise
    logs = np.full((n_single + cycle, len(gaps)), -math.inf)
    for published, row in enumerate(logs):
        for place, gap in enumerate(gaps.tolist()):
            count = published + gap
            if count < 0:
                continue
            law = laws[serving_row(count, n_rows=len(laws), cycle=cycle)]
            if law.get(-gap):
                row[place] = math.log(law[-gap] / ptable.key_range)
        if np.isinf(row).all():
            row[gaps >= -published] = 0.0
    return logs, n_single
