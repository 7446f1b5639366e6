"""How far a ratio, or any other figure of two counts, strays: P(abs(R - R') > beta)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from footing.messages import Argument, Message, Shape
from risk.distributions.noise_distributions import published_law
from risk.errors import RiskError
from risk.wellformed import read_pair, require_between

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import NDArray

    from ptable.table import PTable
    from risk.distributions.distribution import Law
    from risk.inference.inverse import Inverse

    Statistic = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def percentage(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the first count in percent of the second.

    Parameters
    ----------
    first, second
        Counts; a second count of 0 gives an infinite or undefined figure.

    Examples
    --------
    >>> percentage(np.array([20.0]), np.array([80.0]))
    array([25.])
    """
    return 100 * first / second


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StatisticError:
    """Hold the law of the absolute error of one figure.

    Parameters
    ----------
    figure
        The figure R that is known, from which the other strays.
    errors
        The possible values of ``abs(R - R')``, ascending; infinite where the other figure is
        undefined, as with a denominator of 0.
    probabilities
        One for each error.

    Notes
    -----
    Errors and limits closer than ``1e-9 * max(1, abs(R))`` count as equal, so that a tie does
    not depend on the last digit of a floating-point division.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> error = error_given_originals(Mechanism.random_rounding(5).build(), (20, 99))
    >>> error.errors.round(2), error.probabilities.round(2)
    (array([0.2 , 0.85]), array([0.8, 0.2]))
    """

    figure: float
    errors: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    @property
    def undefined(self) -> float:
        """The probability that the other figure is undefined.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> error = error_given_originals(Mechanism.random_rounding(5).build(), (1, 4))
        >>> round(error.undefined, 4)
        0.2
        """
        return float(self.probabilities[np.isinf(self.errors)].sum())

    def exceeds(self, beta: float) -> float:
        """Give P(abs(R - R') > beta).

        Parameters
        ----------
        beta
            The limit, 0 or more.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> error = error_given_originals(Mechanism.random_rounding(5).build(), (20, 100))
        >>> error.exceeds(0)
        0.0
        """
        limit = require_between(beta, name="beta") + self._tie
        return float(self.probabilities[self.errors > limit].sum())

    def reaches(self, beta: float) -> float:
        """Give P(abs(R - R') >= beta), as other tools compute it; 1 for beta 0.

        Parameters
        ----------
        beta
            The limit, 0 or more.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> error = error_given_originals(Mechanism.random_rounding(5).build(), (20, 100))
        >>> error.reaches(0)
        1.0
        """
        limit = require_between(beta, name="beta") - self._tie
        return min(1.0, float(self.probabilities[self.errors >= limit].sum()))

    def smallest_beta(self, level: float = 0.05) -> float:
        """Give the smallest limit that the error exceeds with at most a given probability.

        Parameters
        ----------
        level
            The probability, from 0 to 1.

        Returns
        -------
        float
            0 or one of `errors`; infinite where the figure is undefined more often than that.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> error = error_given_originals(Mechanism.random_rounding(5).build(), (20, 99))
        >>> round(error.smallest_beta(0.05), 2), round(error.smallest_beta(0.2), 2)
        (0.85, 0.2)
        """
        limit = require_between(level, name="level", most=1.0) * (1 + 1e-12)
        above = np.concatenate((np.cumsum(self.probabilities[::-1])[::-1], [0.0]))
        limits = np.concatenate(([0.0], self.errors))
        return float(limits[np.argmax(above <= limit)])

    def to_frame(self) -> pd.DataFrame:
        """Give one line per possible error.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> error = error_given_originals(Mechanism.random_rounding(5).build(), (20, 100))
        >>> error.to_frame().values.tolist()
        [[0.0, 1.0]]
        """
        import pandas as pd

        return pd.DataFrame({"error": self.errors, "probability": self.probabilities})

    def __repr__(self) -> str:
        return f"StatisticError(n_errors={len(self.errors)})"

    @property
    def _tie(self) -> float:
        return _tie(self.figure)


def error_given_originals(
    table: PTable, originals: tuple[int, int], *, statistic: Statistic = percentage
) -> StatisticError:
    """Give the law of the error that publishing will make, for who knows the originals.

    Parameters
    ----------
    table
        The p-table.
    originals
        The original counts A and B of two different cells.
    statistic
        A function of two arrays of counts; by default ``100 * A / B``.

    Notes
    -----
    ``R = f(A, B)`` is known; A' and B' follow the p-table, independently.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> table = solve(NoiseSpec(max_noise=5, variance=2.0))
    >>> error = error_given_originals(table, (20, 100))
    >>> round(error.exceeds(1), 4), round(error.smallest_beta(0.05), 4)
    (0.4366, 2.9167)
    """
    counts = read_pair(originals, name="originals")
    return _error(
        (published_law(table, counts[0]), published_law(table, counts[1])), counts, statistic
    )


def error_given_published(
    inverse: Inverse,
    published: tuple[int, int],
    *,
    second: Inverse | None = None,
    statistic: Statistic = percentage,
) -> StatisticError:
    """Give the law of the error that publishing has made, for who sees the published counts.

    Parameters
    ----------
    inverse
        The p-table and the prior.
    published
        The published counts A' and B' of two different cells.
    second
        Another p-table or prior for B'.
    statistic
        As for `error_given_originals`.

    Notes
    -----
    ``R' = f(A', B')`` is known; A and B follow the inverse probabilities, independently. That
    one is part of the other, and so not larger, is left out: the prior does not know it.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> from risk import Inverse, Prior
    >>> table = solve(NoiseSpec(max_noise=5, variance=2.0))
    >>> error = error_given_published(Inverse(table=table, prior=Prior.flat()), (20, 100))
    >>> round(error.exceeds(1), 4)
    0.4366
    """
    counts = read_pair(published, name="published")
    distributions = inverse.given(counts[0]), (second or inverse).given(counts[1])
    return _error(distributions, counts, statistic)


def _error(
    distributions: tuple[Law, Law], counts: tuple[int, int], statistic: Statistic
) -> StatisticError:
    figure = float(_figures(statistic, *(np.array([[float(count)]]) for count in counts))[0, 0])
    if not math.isfinite(figure):
        raise RiskError(
            Message("The statistic must be defined where it is known; it is not."),
            hint=Message("a ratio needs a denominator above 0"),
        )
    first, second = (distribution.numbers.astype(np.float64) for distribution in distributions)
    others = _figures(statistic, first[:, None], second[None, :])
    away = np.abs(others - figure)
    away[~np.isfinite(others)] = math.inf
    chances = np.outer(distributions[0].probabilities, distributions[1].probabilities).ravel()
    order = np.argsort(away, axis=None, kind="stable")
    order = order[chances[order] > 0]
    errors, chances = away.ravel()[order], chances[order]
    gaps = np.diff(np.nan_to_num(errors, posinf=np.finfo(np.float64).max))
    groups = np.concatenate(([0], np.cumsum(gaps > _tie(figure))))
    starts = np.flatnonzero(np.concatenate(([1], np.diff(groups))))
    return StatisticError(
        figure=figure, errors=errors[starts], probabilities=np.add.reduceat(chances, starts)
    )


def _figures(
    statistic: Statistic, first: NDArray[np.float64], second: NDArray[np.float64]
) -> NDArray[np.float64]:
    with np.errstate(all="ignore"):
        figures = np.asarray(statistic(first, second), dtype=np.float64)
    shape = np.broadcast_shapes(first.shape, second.shape)
    if np.broadcast_shapes(figures.shape, shape) != shape:
        raise RiskError(
            Message(
                "statistic must give one figure per pair of counts, {shape}, not "
                "{figures_shape}.",
                shape=Argument(shape),
                figures_shape=Shape(figures.shape),
            ),
            hint=Message("write it for arrays, such as lambda a, b: 100 * a / b"),
        )
    return np.broadcast_to(figures, shape).copy()


def _tie(figure: float) -> float:
    return 1e-9 * max(1.0, abs(figure))
