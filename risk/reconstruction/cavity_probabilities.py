"""How probable each count is beside a Poisson mean that all other tables tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from footing.arrays import Floats, Integers
from ptable import PTable
from risk.reconstruction.count_probabilities import log_likelihoods
from risk.reconstruction.fitted_counts import FittedCells

_ROUNDS, _STEPS = 1, 40
#: Cells at a time.
_CHUNK = 100_000
#: Least and largest variance of what stands for a published number, in that of the noise.
_LEAST_VARIANCE, _MOST_VARIANCE = 0.1, 100.0
_LEAST_MEAN, _MOST_MULTIPLIER = 1e-5, 8.0


def cavity_probabilities(
    fit: FittedCells,
    *,
    ptable: PTable,
    variance: float,
    most: int,
    is_over: Callable[[], bool] = lambda: False,
) -> Floats:
    """Give the probability of each count of every published cell, given all tables.

    Parameters
    ----------
    fit
        Joint cells fitted to the published counts under normal noise.
    ptable
        The noise.
    variance
        Its largest variance.
    most
        The largest count that is told apart from larger ones.
    is_over
        Asked after each round whether to stop with the fit so far.

    Returns
    -------
    Floats
        Of shape ``(n, most + 2)``: of 0, 1, ..., `most`, and of all larger counts.

    Notes
    -----
    Without its own published number ``p`` a cell is taken to have a Poisson count, of the mean
    that all other tables tell; with it, a count has that probability times the chance that the
    p-table publishes it as ``p``. Normal noise knows nothing of rows that publish a 1 mostly as
    0, and of zeros that stay. The mean ``t`` of this distribution is what the fit should give
    the cell. So ``p`` is replaced by a number with a variance of its own which has the same
    effect near ``t``, and all cells are fitted again: a round of expectation propagation whose
    cavities are Poisson; five rounds found no more. Noises are taken for independent, which
    those of equal records are not; so how often the probabilities are right is to be counted,
    not believed.

    References
    ----------
    Minka 2001, Expectation propagation for approximate Bayesian inference.
    """
    cells = _Cells(fit, ptable)
    for _ in range(_ROUNDS):
        if is_over():
            break
        cavity = _cavity(fit)
        means, spreads = cells.moments(cavity)
        multipliers = np.log(np.maximum(means, _LEAST_MEAN) / cavity)
        # The slope of the multiplier against the mean is that of a normal observation.
        beside = np.maximum(means - spreads, 1e-3 * means + 1e-9)
        variances = spreads * means / beside
        variances = np.clip(variances, _LEAST_VARIANCE * variance, _MOST_VARIANCE * variance)
        fit = fit.fitted_to(means + variances * multipliers, variances, steps=_STEPS)
    return cells.probabilities(_cavity(fit), most=most)


def _cavity(fit: FittedCells) -> Floats:
    """Return the mean of each published cell by all that is published but itself."""
    own = np.clip(fit.multipliers, -_MOST_MULTIPLIER, _MOST_MULTIPLIER)
    cavity: Floats = np.maximum(fit.flat() * np.exp(-own), _LEAST_MEAN)
    return cavity


class _Cells:
    """The published cells, and how likely each count of theirs is published so."""

    def __init__(self, fit: FittedCells, ptable: PTable) -> None:
        self._published = np.concatenate(
            [one.published[one.is_shown] for one in fit.published_cells.values()]
        )
        self._gaps = np.arange(-ptable.max_noise, ptable.max_noise + 1)
        logs, n_single = log_likelihoods(ptable, self._gaps)
        cycle = len(logs) - n_single
        rows = n_single + (self._published - n_single) % cycle
        self._rows = np.where(self._published < n_single, self._published, rows)
        self._logs = logs

    def moments(self, means: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the variance of each count, of Poisson means without it."""
        parts = []
        for counts, weights in self._weights(means):
            mean = (weights * counts).sum(axis=1)
            parts.append((mean, (weights * counts**2).sum(axis=1) - mean**2))
        first, second = zip(*parts, strict=True)
        return np.concatenate(first), np.concatenate(second)

    def probabilities(self, means: Floats, *, most: int) -> Floats:
        """Return the probability of each count up to the most, and of all larger ones."""
        parts = []
        for counts, weights in self._weights(means):
            capped = np.minimum(counts, most + 1)
            values = [np.where(capped == n, weights, 0).sum(axis=1) for n in range(most + 2)]
            parts.append(np.stack(values, axis=1))
        return np.concatenate(parts)

    def _weights(self, means: Floats) -> Iterator[tuple[Integers, Floats]]:
        """Give the counts that cells may have, and their probabilities, some at a time."""
        from scipy.special import gammaln

        for start in range(0, max(1, len(means)), _CHUNK):
            part = slice(start, start + _CHUNK)
            counts = np.maximum(self._published[part, None] + self._gaps, 0)
            logs = self._logs[self._rows[part]] + counts * np.log(means[part, None])
            logs -= gammaln(counts + 1)
            weights = np.exp(logs - logs.max(axis=1, initial=-np.inf, keepdims=True))
            yield counts, weights / weights.sum(axis=1, keepdims=True)
