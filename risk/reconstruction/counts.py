"""Published counts as bounds on sums of base cells."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.checks import is_integer
from footing.messages import Argument, Message, Name, joined
from ptable import PTable
from risk.errors import RiskError
from risk.wellformed import read_array, read_numbers


def possible_range(
    published: ArrayLike, *, max_noise: ArrayLike, zeros_stay: bool = True
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the least and the largest original count of each published count."""
    published_counts = np.asarray(published, dtype=np.int64)
    noise = np.asarray(max_noise, dtype=np.int64)
    least = (
        (published_counts > 0).astype(np.int64)
        if zeros_stay
        else np.zeros_like(published_counts)
    )
    return np.maximum(least, published_counts - noise), published_counts + noise


def possible_origins(
    ptable: PTable, published: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the least and the largest original count of each published count, from a p-table."""
    from ptable.lookup import cycle_length, serving_row
    from ptable.proof.divergence import laws_of

    distributions = laws_of(ptable, key_range=ptable.key_range)
    cycle = cycle_length(ptable.large_counts, n_rows=len(distributions))
    different, place = np.unique(np.asarray(published), return_inverse=True)
    ranges = []
    for value in different.tolist():
        origins = [
            y
            for y in range(max(0, value - ptable.max_noise), value + ptable.max_noise + 1)
            if value - y
            in distributions[serving_row(y, n_rows=len(distributions), cycle=cycle)]
        ]
        ranges.append((origins[0], origins[-1]) if origins else (1, 0))
    lower, upper = np.array(ranges, dtype=np.int64).reshape(-1, 2)[place].T
    return lower, upper


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PublishedCounts:
    """Hold what was published of sums of base cells, and what an intruder knows of the noise.

    Parameters
    ----------
    starts, cells, weights
        The sums: sum ``r`` adds ``weights[e]`` times base cell ``cells[e]`` for ``e`` from
        ``starts[r]`` to ``starts[r + 1] - 1``.
    published
        What was published for each sum.
    n_cells
        How many base cells there are; each holds a count of 0 or more.
    max_noise
        The largest noise, known or guessed: one for all, or one per sum.
    small
        Counts from 1 to this are never published.
    zeros_stay
        Whether a count of 0 is always published as 0.

    Notes
    -----
    A published count ``p`` tells that its original ``y`` lies in ``p - D .. p + D`` and is at
    least 0. Where zeros stay, ``p > 0`` also tells ``y >= 1``. Both hold together as one pair
    of bounds on the sum, ``max(1, p - D) <= y <= p + D`` where ``p > 0`` and
    ``0 <= y <= D`` where ``p = 0``; nothing else is lost, as a published 0 may come from 0 and
    from every count up to ``D``. A count that may not be published contradicts `small`.
    """

    starts: NDArray[np.int64]
    cells: NDArray[np.int64]
    weights: NDArray[np.int64]
    published: NDArray[np.int64]
    n_cells: int
    max_noise: int | NDArray[np.int64]
    small: int = 0
    zeros_stay: bool = True
    lower: NDArray[np.int64] = field(init=False)
    upper: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        problems: list[str] = []
        for name in ("starts", "cells", "weights", "published", "max_noise"):
            array = read_array(getattr(self, name), name=name)
            if array.size and not _is_whole(array):
                problems.append(Message("{name} must be whole numbers", name=Name(name)))
            else:
                array = np.array(array, dtype=np.int64)
                array.setflags(write=False)
                object.__setattr__(self, name, array)
        if not problems:
            problems = self._problems()
        if problems:
            raise RiskError(
                Message(
                    "These are no published counts: {problems}.",
                    problems=joined("; ", problems),
                )
            )
        lower, upper = possible_range(
            self.published, max_noise=self.max_noise, zeros_stay=self.zeros_stay
        )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    def _problems(self) -> list[str]:
        n_sums, noise = len(self.published), np.asarray(self.max_noise)
        problems: list[str] = []
        if not is_integer(self.n_cells, minimum=1):
            problems.append(
                Message(
                    "n_cells must be at least 1, not {n_cells}", n_cells=Argument(self.n_cells)
                )
            )
        is_layout = self.starts.shape == (n_sums + 1,) and self.starts[0] == 0
        if not is_layout or (np.diff(self.starts) < 1).any():
            problems.append(
                Message("starts must rise from 0, with one entry more than there are sums")
            )
        elif self.cells.shape != self.weights.shape or len(self.cells) != self.starts[-1]:
            problems.append(Message("cells and weights need one entry per part of a sum"))
        if self.cells.size and not 0 <= self.cells.min() <= self.cells.max() < self.n_cells:
            problems.append(Message("cells must lie in 0..n_cells - 1"))
        if (self.weights == 0).any():
            problems.append(Message("weights must not be 0"))
        if self.published.size and self.published.min() < 0:
            problems.append(Message("published counts must not be negative"))
        if noise.ndim > 1 or (noise.ndim == 1 and len(noise) != n_sums) or (noise < 0).any():
            problems.append(Message("max_noise must be 0 or more: one for all, or one per sum"))
        if not is_integer(self.small, minimum=0):
            problems.append(
                Message("small must be 0 or more, not {small}", small=Argument(self.small))
            )
        return problems

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
        published: ArrayLike,
        *,
        max_noise: ArrayLike,
        small: int = 0,
        zeros_stay: bool = True,
    ) -> Self:
        """Take the sums from a matrix, dense or of scipy, with one column per base cell."""
        from scipy.sparse import csr_array, issparse

        if not issparse(matrix):
            matrix = read_numbers(matrix, name="matrix")
            if matrix.ndim != 2:
                raise RiskError(
                    Message(
                        "matrix must have 2 dimensions, not {ndim}.", ndim=Argument(matrix.ndim)
                    )
                )
        rows: Any = csr_array(matrix)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        return cls(
            starts=rows.indptr,
            cells=rows.indices,
            weights=rows.data,
            published=read_array(published, name="published"),
            n_cells=int(rows.shape[1]),
            max_noise=read_array(max_noise, name="max_noise"),
            small=small,
            zeros_stay=zeros_stay,
        )

    def known_to(self, ptable: PTable) -> Self:
        """Sharpen the bounds of the sums for an intruder who has the whole p-table."""
        lower, upper = possible_origins(ptable, self.published)
        sharp = replace(self)
        object.__setattr__(sharp, "lower", np.maximum(lower, self.lower))
        object.__setattr__(sharp, "upper", np.minimum(upper, self.upper))
        return sharp

    @property
    def n_sums(self) -> int:
        """How many counts were published."""
        return len(self.published)

    @property
    def is_contradictory(self) -> bool:
        """Whether a single published count already contradicts what is assumed."""
        blocked = (self.published >= 1) & (self.published <= self.small)
        return bool(blocked.any() or (self.lower > self.upper).any())

    def __repr__(self) -> str:
        return f"PublishedCounts(n_cells={self.n_cells}, n_sums={self.n_sums})"


def _is_whole(array: NDArray[Any]) -> bool:
    """Tell whether an array holds whole numbers that are exact as floats."""
    if array.dtype.kind not in "iuf":
        return False
    if not np.isfinite(array).all() or (array != np.rint(array)).any():
        return False
    return bool(array.max() <= 2**53 and array.min() >= -(2**53))
