"""Original and published counts of the same cells, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.messages import Message, Shape, joined
from risk.errors import RiskError
from risk.wellformed import require_counts


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Pairs:
    """Hold the original and the published counts of a set of cells.

    Whoever holds them holds unprotected counts: keep them inside.

    Parameters
    ----------
    original, published
        Whole numbers of at least 0, one per cell, in the same order.

    Examples
    --------
    >>> pairs = Pairs(original=[4, 0, 1], published=[5, 0, 0])
    >>> pairs
    Pairs(3 cells)
    >>> pairs.noise
    array([ 1,  0, -1])
    """

    original: ArrayLike
    published: ArrayLike

    def __post_init__(self) -> None:
        problems: list[str] = []
        original = counts_of(self.original, "original", problems)
        published = counts_of(self.published, "published", problems)
        if not problems and original.shape != published.shape:
            problems.append(
                Message(
                    "original and published must have one count per cell each, not shapes "
                    "{shape} and {published_shape}",
                    shape=Shape(original.shape),
                    published_shape=Shape(published.shape),
                )
            )
        if problems:
            raise RiskError(
                Message(
                    "These are no pairs of counts: {problems}.",
                    problems=joined("; ", problems),
                ),
                hint=Message("give aligned arrays of whole numbers, with 0 for empty cells"),
            )
        object.__setattr__(self, "original", original.ravel())
        object.__setattr__(self, "published", published.ravel())

    def __repr__(self) -> str:
        return f"Pairs({self.n_cells} cells)"

    @property
    def o(self) -> NDArray[np.int64]:
        """The original counts as an array.

        Examples
        --------
        >>> Pairs(original=[4], published=[5]).o
        array([4])
        """
        return self.original  # type: ignore[return-value]

    @property
    def p(self) -> NDArray[np.int64]:
        """The published counts as an array.

        Examples
        --------
        >>> Pairs(original=[4], published=[5]).p
        array([5])
        """
        return self.published  # type: ignore[return-value]

    @property
    def n_cells(self) -> int:
        """Number of cells.

        Examples
        --------
        >>> Pairs(original=[4], published=[5]).n_cells
        1
        """
        return len(self.o)

    @cached_property
    def noise(self) -> NDArray[np.int64]:
        """Published less original, ``d = p - o``.

        Examples
        --------
        >>> Pairs(original=[4], published=[5]).noise
        array([1])
        """
        return self.p - self.o

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """The size of the noise, ``|d|``.

        Examples
        --------
        >>> Pairs(original=[4], published=[2]).size
        array([2])
        """
        return np.abs(self.noise)

    @cached_property
    def relative(self) -> NDArray[np.float64]:
        """The relative size of the noise, ``|d|/o``, over cells with ``o > 0`` alone.

        Examples
        --------
        >>> Pairs(original=[4, 0], published=[2, 0]).relative
        array([0.5])
        """
        positive = self.o > 0
        return self.size[positive] / self.o[positive]

    @cached_property
    def root_gap(self) -> NDArray[np.float64]:
        """The gap on the square-root scale, ``|√p - √o|``.

        Examples
        --------
        >>> Pairs(original=[4], published=[1]).root_gap
        array([1.])
        """
        gap = np.zeros(self.n_cells)
        places = np.flatnonzero(self.noise)
        gap[places] = np.abs(np.sqrt(self.p[places]) - np.sqrt(self.o[places]))
        return gap

    def take(self, where: NDArray[Any]) -> Pairs:
        """Take some of the cells.

        Parameters
        ----------
        where
            Positions, or a truth value per cell.

        Examples
        --------
        >>> Pairs(original=[4, 0], published=[5, 0]).take([0]).noise
        array([1])
        """
        part = object.__new__(Pairs)
        object.__setattr__(part, "original", self.o[where])
        object.__setattr__(part, "published", self.p[where])
        return part


def counts_of(values: ArrayLike, name: str, problems: list[str]) -> NDArray[np.int64]:
    """Read whole numbers from 0 to 2**53, or note the problem."""
    try:
        array = require_counts(values, name=name)
    except RiskError as error:
        problems.append(error.problem.rstrip("."))
        return np.zeros(0, dtype=np.int64)
    if array.size and array.ndim not in {1, 2}:
        problems.append(f"{name} must have one or two dimensions, not {array.ndim}")
    return array
