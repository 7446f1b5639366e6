"""The amounts that noise must hide, and how large a step of noise is as a share of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ckm.engine.magnitudes.sensitive.conditions import largest_contributions
from ckm.errors import ConfigError
from footing.checks import require_integer, require_number
from footing.messages import Message

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from footing.arrays import Floats
    from tables.magnitudes.amounts import Magnitudes

_LARGEST_POWER = 20

Base: TypeAlias = Literal["top", "mean", "range", "sum"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportional:
    """Make a step the same share of every amount.

    Parameters
    ----------
    share
        The share, above 0 and at most 1.

    Examples
    --------
    >>> Proportional(share=0.1).shares([3.0, 5000.0])
    array([0.1, 0.1])
    """

    share: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", _share("share", self.share))

    @property
    def small(self) -> float:
        """The share of small amounts.

        Examples
        --------
        >>> Proportional(share=0.1).small
        0.1
        """
        return self.share

    def shares(self, amounts: ArrayLike) -> Floats:
        """Give the share that one step is of each amount.

        Parameters
        ----------
        amounts
            Amounts; their sign does not count.

        Examples
        --------
        >>> Proportional(share=0.2).shares([-7.0])
        array([0.2])
        """
        return np.full(np.shape(amounts), self.share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flex:
    """Let the share of a step fall from small amounts to large ones.

    Parameters
    ----------
    point
        Up to this amount the share is `small`; beyond it falls towards `large`.
    small, large
        The shares, above 0 and at most 1; `large` is at most `small`.
    power
        How fast the share falls, a whole number from 1 to 20. With 1 it does not fall to
        `large`, but goes to ``large + 2 small``.

    Examples
    --------
    >>> Flex(point=1000.0, small=0.3, large=0.03, power=3).shares([10.0, 1000.0, 1e9]).round(4)
    array([0.3 , 0.3 , 0.03])
    """

    point: float
    small: float
    large: float
    power: int = 3

    def __post_init__(self) -> None:
        for name in ("small", "large"):
            object.__setattr__(self, name, _share(name, getattr(self, name)))
        if self.large > self.small:
            raise ConfigError(
                Message(
                    "The share of large amounts, {large:g}, must not exceed that of small "
                    "ones, {small:g}.",
                    large=self.large,
                    small=self.small,
                ),
                hint=Message("exchange small and large"),
            )
        point = require_number(self.point, "point", error=ConfigError, above=0)
        power = require_integer(
            self.power, "power", error=ConfigError, minimum=1, maximum=_LARGEST_POWER
        )
        object.__setattr__(self, "point", point)
        object.__setattr__(self, "power", power)

    def shares(self, amounts: ArrayLike) -> Floats:
        """Give the share that one step is of each amount.

        Parameters
        ----------
        amounts
            Amounts; their sign does not count.

        Examples
        --------
        >>> Flex(point=10.0, small=0.2, large=0.1, power=2).shares([-5.0, 10.0])
        array([0.2, 0.2])
        """
        sizes = np.abs(np.asarray(amounts, np.float64))
        beyond = flex_curve(
            np.maximum(sizes, self.point),
            point=self.point,
            small=self.small,
            large=self.large,
            power=self.power,
        )
        return np.where(sizes < self.point, self.small, beyond)


Scale: TypeAlias = Flex | Proportional


def flex_curve(
    amounts: ArrayLike, *, point: float, small: float, large: float, power: int
) -> Floats:
    """Evaluate the formula of the flex function, which serves amounts from `point` on.

    Notes
    -----
    ``m(x) = l (1 + ((s x - l f) / (l f)) (2 f / (f + x))**q)`` with the point f, the shares s
    and l of small and large amounts and the power q. Below f the formula is not meant to be
    used: its first factor falls to -1 and its second rises to ``2**q``, so that m falls to
    ``l (1 - 2**q)``, below 0. From f on both factors are positive where s is at least l.

    References
    ----------
    Giessing and Tent (2019), Concepts for generalising tools implementing the cell key method
    to the case of continuous variables, UNECE/Eurostat work session on confidentiality.
    """
    sizes = np.asarray(amounts, np.float64)
    foot = large * point
    rise = (small * sizes - foot) / foot
    base = (2 * point) / (point + sizes)
    fall = np.ones_like(base)
    for _ in range(power):  # products round alike everywhere, library powers do not
        fall = fall * base
    return np.asarray(large * (1 + rise * fall), np.float64)


def _share(name: str, value: object) -> float:
    return require_number(value, name, error=ConfigError, above=0, maximum=1)


def bases(magnitudes: Magnitudes, *, base: Base, components: int) -> Floats:
    """Give the amounts that noise is scaled to, one column per component, without sign.

    Records that contribute zero change none of them. The range includes 0, because that of a
    single contributor would be 0 otherwise, and so would its noise. With weights the largest
    contribution to a total need not be that of the largest value: noise made for a value of
    100 that stands for one would leave one of 90 that stands for fifty bare.
    """
    if base == "top":
        values = _largest(magnitudes, components)
    elif base == "mean":
        values = _ratio(magnitudes.total, magnitudes.weighted_contributors)
    elif base == "range":
        spread = np.maximum(magnitudes.high, 0) - np.minimum(magnitudes.low, 0)
        values = np.maximum(spread, magnitudes.largest)
    else:
        values = magnitudes.total
    return np.abs(values.reshape(len(magnitudes), components))


def bases_of_records(magnitudes: Magnitudes, *, base: Base, components: int) -> Floats:
    """Give the amounts that other tools scale noise to, with their sign.

    The mean and the range are those of all records, zeros among them; the range of a single
    record is 0.
    """
    if base == "top":
        values = _top(magnitudes, components)
    elif base == "mean":
        values = _ratio(magnitudes.total, magnitudes.weight)
    elif base == "range":
        has_zero = magnitudes.records > magnitudes.contributors
        high = np.where(has_zero, np.maximum(magnitudes.high, 0), magnitudes.high)
        low = np.where(has_zero, np.minimum(magnitudes.low, 0), magnitudes.low)
        values = high - low
    else:
        values = magnitudes.total
    return values.reshape(len(magnitudes), components)


def _largest(magnitudes: Magnitudes, components: int) -> Floats:
    """Give the largest weighted values, the very largest first even if `top` lacks it."""
    if components == 1:
        return magnitudes.largest
    sizes = -np.sort(-np.abs(_top(magnitudes, components)), axis=1)
    lacks = magnitudes.largest > sizes[:, 0]
    shifted = np.column_stack([magnitudes.largest, sizes[:, :-1]])
    return np.where(lacks[:, None], shifted, sizes)


def _top(magnitudes: Magnitudes, components: int) -> Floats:
    values, weights = largest_contributions(magnitudes, components, of="noise")
    return np.asarray(values * weights, np.float64)


def _ratio(total: Floats, divisor: Floats) -> Floats:
    return np.divide(total, divisor, out=np.zeros_like(total), where=divisor != 0)
