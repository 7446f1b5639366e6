"""What a published total tells about its largest contributor.

The noise is a share of the largest contributor x: ``published = x + others + s x V``, with V in
units; in sensitive cells two more contributors have noise of their own. Everything here has a
closed form.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.checks import require_number
from footing.messages import Message
from risk.errors import RiskError
from risk.wellformed import read_numbers, require_between

_TOTAL = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountNoise:
    """State the law of the noise on a total, as a share of its largest contributor.

    Parameters
    ----------
    share
        One unit of noise as a share of the largest contributor, above 0.
    values
        The noise before jitter, in units.
    probabilities
        Their probabilities, which sum to 1.
    width
        The width of the even jitter around each value, in units; 0 for none.

    Examples
    --------
    >>> noise = AmountNoise(share=0.1, values=(-1, 1), probabilities=(0.5, 0.5), width=1.0)
    >>> noise.least, noise.greatest, noise.variance
    (-1.5, 1.5, 1.0833333333333333)
    """

    share: float
    values: tuple[float, ...]
    probabilities: tuple[float, ...]
    width: float = 0.0

    def __post_init__(self) -> None:
        values = read_numbers(self.values, name="values")
        chances = read_numbers(self.probabilities, name="probabilities")
        if values.ndim != 1 or values.shape != chances.shape or not values.size:
            raise RiskError(
                Message("values and probabilities must be two lists of one length.")
            )
        if (chances < 0).any() or abs(float(chances.sum()) - 1) > _TOTAL:
            raise RiskError(Message("probabilities must be 0 or more and sum to 1."))
        share = require_number(self.share, "share", error=RiskError, above=0)
        order = np.argsort(values, kind="stable")
        places = order[chances[order] > 0]
        object.__setattr__(self, "share", share)
        object.__setattr__(self, "width", require_between(self.width, name="width"))
        object.__setattr__(self, "values", tuple(values[places].tolist()))
        object.__setattr__(self, "probabilities", tuple(chances[places].tolist()))

    @property
    def least(self) -> float:
        """The least noise, in units.

        Examples
        --------
        >>> AmountNoise(share=0.1, values=(-1, 1), probabilities=(0.5, 0.5)).least
        -1.0
        """
        return self.values[0] - self.width / 2

    @property
    def greatest(self) -> float:
        """The greatest noise, in units.

        Examples
        --------
        >>> AmountNoise(share=0.1, values=(-1, 1), probabilities=(0.5, 0.5)).greatest
        1.0
        """
        return self.values[-1] + self.width / 2

    @property
    def variance(self) -> float:
        """The variance of the noise, in squared units.

        Examples
        --------
        >>> AmountNoise(share=0.1, values=(-1, 1), probabilities=(0.5, 0.5)).variance
        1.0
        """
        values, chances = np.array(self.values), np.array(self.probabilities)
        mean = float(chances @ values)
        return float(chances @ (values - mean) ** 2) + self.width**2 / 12

    def below(self, units: ArrayLike) -> NDArray[np.float64]:
        """Give the probability of noise at or below some numbers of units.

        Parameters
        ----------
        units
            The numbers.

        Examples
        --------
        >>> noise = AmountNoise(share=0.1, values=(-1, 1), probabilities=(0.5, 0.5), width=1.0)
        >>> noise.below([-1.0, 0.0, 1.25])
        array([0.25 , 0.5  , 0.875])
        """
        at = read_numbers(units, name="units")[..., None] - np.array(self.values)
        inside = np.clip(at / self.width + 0.5, 0, 1) if self.width else (at >= 0) * 1.0
        return np.asarray(inside @ np.array(self.probabilities), np.float64)


def chance_within(
    noise: AmountNoise, *, percent: float, others: ArrayLike = 0.0, beside: Sequence[float] = ()
) -> NDArray[np.float64]:
    """Give the probability that a total less what is known estimates the largest well.

    Parameters
    ----------
    noise
        The noise.
    percent
        How near the estimate is to the largest contributor, in per cent of it.
    others
        What the intruder does not know of the rest, as a share of the largest contributor.
    beside
        Contributors with noise of their own, as in sensitive cells, as shares of the largest.

    Notes
    -----
    The estimate is off by ``R + s x V``: the probability is that of ``|R / x + s V| <= p``,
    which is ``F((p - r) / s) - F((-p - r) / s)`` with the distribution F of the noise. Without
    noise it is 1 exactly where the p % rule calls a cell sensitive. The noise of others is
    independent, with its jitter at the middles of two halves.

    Examples
    --------
    >>> noise = AmountNoise(share=0.1, values=(-1, 1), probabilities=(0.5, 0.5), width=1.0)
    >>> chance_within(noise, percent=10, others=[0.0, 0.2])
    array([0.5 , 0.25])
    """
    near = require_between(percent, name="percent") / 100
    rest, weights = read_numbers(others, name="others")[..., None], np.ones(1)
    points = np.add.outer(noise.values, noise.width * np.array([-0.25, 0.25])).ravel()
    for size in beside:
        shifted = rest[..., None] + noise.share * size * points
        rest = shifted.reshape(*rest.shape[:-1], -1)
        weights = np.multiply.outer(weights, np.repeat(noise.probabilities, 2) / 2).ravel()
    upper = noise.below((near - rest) / noise.share)
    # Noise that is exactly at the lower end is near enough too.
    below = noise.below(np.nextafter((-near - rest) / noise.share, -np.inf))
    return np.asarray((upper - below) @ weights, np.float64)
