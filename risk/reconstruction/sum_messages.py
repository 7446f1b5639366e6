"""What a published sum tells of its parts, and they of it, count by count."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Floats, Integers
from risk.reconstruction.sums_of_parts import SumsOfParts

#: No message says more than this logarithm against a count.
_MOST_AGAINST = -8.0
#: The smallest share of a message.
_LEAST = 1e-13
#: Numbers of one array.
_CHUNK = 2_000_000


class PossibleCounts:
    """The counts that cells can have, each as many, and how likely each is.

    Parameters
    ----------
    first
        The least count of each cell, shape ``(n,)``; the others follow it.
    published
        What is published, shape ``(n,)``; -1 where nothing is.
    logs
        The logarithm of the probability that each count is published so, shape ``(n, w)``.
    means
        Of the Poisson priors, shape ``(n,)``.
    """

    def __init__(
        self, *, first: Integers, published: Integers, logs: Floats, means: Floats
    ) -> None:
        self.first, self.published, self.logs, self.means = first, published, logs, means
        self.counts = first[:, None] + np.arange(logs.shape[1])
        self.prior = _log_poisson(self.counts, means[:, None])

    def probabilities(self, logs: Floats) -> Floats:
        """Return those of each count, shape ``(n, w)``, from the log of all that is said."""
        return _normalised(self.prior + logs)


def convolution_length(links: SumsOfParts, *, width: int) -> int:
    """Return a power of 2 that holds all sums of counts of so many parts."""
    return 1 << int(links.parts.shape[1] * (width - 1)).bit_length()


class SumMessages:
    """Messages between sums and their parts, as logarithms of the shapes of both.

    Parameters
    ----------
    cells, links
        All cells, and which of them add up to which.

    Notes
    -----
    A part has a Poisson prior, so the parts of a sum are drawn from its records, each with the
    probability that its mean has among those of the parts. A sum hears from its parts how
    probable what is said of them is with each count; a part hears how probable what is said of
    the sum and all other parts is. Where the other parts are empty the sum has the records of
    a part, and the same noise: one of both numbers counts, and different ones are impossible.
    """

    def __init__(self, cells: PossibleCounts, links: SumsOfParts) -> None:
        self._cells, self._links = cells, links
        width = cells.logs.shape[1]
        self.to_sums = np.zeros((len(links.sums), width))
        self.to_parts = np.zeros((*links.parts.shape, width))
        n_parts = links.parts.shape[1]
        self._length = convolution_length(links, width=width)
        self._chunk = max(1, _CHUNK // (n_parts * self._length))

    def add_to(self, logs: Floats) -> None:
        """Add what is said to that of all cells, shape ``(n, w)``."""
        np.add.at(logs, self._links.sums, self.to_sums)
        np.add.at(logs, self._links.parts, self.to_parts)

    def move(self, logs: Floats, *, share: float) -> None:
        """Move a share of the way towards what follows from all that is said of the cells."""
        for start in range(0, len(self.to_sums), self._chunk):
            some = slice(start, start + self._chunk)
            sums, parts = self._links.sums[some], self._links.parts[some]
            heard = _OneStep(
                self._cells,
                sums,
                parts,
                sum_weights=_scaled(logs[sums] - self.to_sums[some]),
                part_weights=_normalised(
                    self._cells.prior[parts] + logs[parts] - self.to_parts[some]
                ),
                length=self._length,
            )
            self.to_sums[some] += share * (heard.by_sums() - self.to_sums[some])
            is_seen = (self._cells.published[parts] >= 0)[:, :, None]  # the others hear nothing
            by_parts = np.where(is_seen, heard.by_parts(), 0)
            self.to_parts[some] += share * (by_parts - self.to_parts[some])


class _OneStep:
    """What some sums and their parts hear.

    Let a sum have ``k`` parts and each cell ``w`` possible counts. Weights are what all others
    say of a cell, those of parts times their prior.
    """

    def __init__(
        self,
        cells: PossibleCounts,
        sums: Integers,
        parts: Integers,
        *,
        sum_weights: Floats,
        part_weights: Floats,
        length: int,
    ) -> None:
        self._cells, self._sums, self._parts = cells, sums, parts
        self._of_sums, self._of_parts, self._length = sum_weights, part_weights, length
        self._n_parts, self._width = parts.shape[1], sum_weights.shape[1]
        self._below = cells.first[sums] - cells.first[parts].sum(axis=1)
        spectrum = np.fft.rfft(part_weights, length, axis=2)
        before, after = _others(spectrum)
        whole = np.fft.irfft(before[:, -1] * spectrum[:, -1], length, axis=1)
        rest = np.fft.irfft(before * after, length, axis=2)
        self._all, self._others = np.maximum(whole, 0), np.maximum(rest, 0)  # rounding
        self._empty = np.where(cells.first[parts] == 0, part_weights[:, :, 0], 0)
        before, after = _others(self._empty)
        self._others_empty = before * after
        numbers, of_parts = cells.published[sums][:, None], cells.published[parts]
        self._is_same = (numbers == of_parts)[:, :, None]
        self._is_seen = ((numbers >= 0) & (of_parts >= 0))[:, :, None]
        self._equal = self._same_records()

    def by_sums(self) -> Floats:
        """Return the messages to sums, shape ``(n, w)``."""
        at = self._below[:, None] + np.arange(self._width)
        weights = _taken(self._all, at, last=self._n_parts * (self._width - 1))
        weights += self._equal.sum(axis=1)
        means = self._cells.means[self._parts].sum(axis=1, keepdims=True)
        prior = _log_poisson(self._cells.counts[self._sums], means)
        message: Floats = np.log(np.maximum(weights, _LEAST)) - prior
        message -= message.max(axis=1, keepdims=True)
        return np.maximum(message, _MOST_AGAINST)

    def by_parts(self) -> Floats:
        """Return the messages to parts, shape ``(n, k, w)``."""
        steps = np.arange(self._width)
        at = self._below[:, None] + np.arange(1 - self._width, self._width)
        rest = _taken(self._others, at[:, None], last=(self._n_parts - 1) * (self._width - 1))
        of_rest = rest[:, :, steps[:, None] - steps + self._width - 1]
        weights: Floats = np.einsum("na,nkab->nkb", self._of_sums, of_rest)
        weights += self._part_is_sum() * self._others_empty[:, :, None]
        # Another part may have all records of the sum, while this one is empty.
        alone = np.einsum("na,nka->nk", self._of_sums, self._equal)
        beside = alone.sum(axis=1, keepdims=True) - alone
        weights[:, :, 0] += np.divide(
            beside, self._empty, out=np.zeros_like(beside), where=self._empty > _LEAST
        )
        least = np.maximum(_LEAST * weights.max(axis=2, keepdims=True), 1e-300)
        return np.maximum(_scaled_logs(np.log(np.maximum(weights, least))), _MOST_AGAINST)

    def _same_records(self) -> Floats:
        """Return what equal noise adds to each count of a sum if a part has all its records."""
        counts = self._cells.counts[self._sums][:, None]
        at = counts - self._cells.first[self._parts][:, :, None]
        weights = _taken(self._of_parts, at, last=self._width - 1)
        logs = _taken(self._cells.logs[self._parts], at, last=self._width - 1)
        change = (counts > 0) * self._change(logs)
        added: Floats = weights * change * self._others_empty[:, :, None]
        return added

    def _part_is_sum(self) -> Floats:
        """Return what equal noise adds to each count of a part with all records of a sum."""
        counts = self._cells.counts[self._parts]
        at = counts - self._cells.first[self._sums][:, None, None]
        weights = _taken(self._of_sums[:, None], at, last=self._width - 1)
        logs = _taken(self._cells.logs[self._sums][:, None], at, last=self._width - 1)
        added: Floats = weights * (counts > 0) * self._change(logs)
        return added

    def _change(self, logs: Floats) -> Floats:
        """Return by how much one number instead of two changes a weight, relatively."""
        change: Floats = np.where(self._is_same, np.exp(-logs), 0) - 1
        return np.where(self._is_seen, change, 0)


def _others(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the products along axis 1 of all before each, and of all after it."""
    ones = np.ones_like(values[:, :1])
    before = np.cumprod(np.concatenate([ones, values[:, :-1]], axis=1), axis=1)
    after = np.cumprod(np.concatenate([ones, values[:, :0:-1]], axis=1), axis=1)
    return before, after[:, ::-1]


def _taken(values: Floats, at: Integers, *, last: int) -> Floats:
    """Take values along the last axis, 0 outside of the first and the last."""
    shape = (*np.broadcast_shapes(values.shape[:-1], at.shape[:-1]), at.shape[-1])
    places = np.broadcast_to(np.clip(at, 0, last), shape)
    some = np.take_along_axis(
        np.broadcast_to(values, (*shape[:-1], values.shape[-1])), places, -1
    )
    is_inside = (at >= 0) & (at <= last)
    taken: Floats = np.where(is_inside, some, 0)
    return taken


def _log_poisson(counts: Integers, means: Floats) -> Floats:
    from scipy.special import gammaln

    logs: Floats = counts * np.log(means) - means - gammaln(counts + 1)
    return logs


def _scaled_logs(logs: Floats) -> Floats:
    scaled: Floats = logs - logs.max(axis=-1, keepdims=True)
    return scaled


def _scaled(logs: Floats) -> Floats:
    weights: Floats = np.exp(_scaled_logs(logs))
    return weights


def _normalised(logs: Floats) -> Floats:
    weights = _scaled(logs)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights
