"""What a reader may say about the original count, with a stated probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from risk.wellformed import require_between, require_counts, require_whole

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from risk.inference.inverse import Inverse

_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class CredibleSet:
    """The fewest original counts that hold a level.

    Parameters
    ----------
    published
        The published count.
    level
        The level asked for.
    counts
        The originals, ascending.
    probability
        What they hold together; at least the level.

    Examples
    --------
    >>> CredibleSet(published=3, level=0.9, counts=(2, 3, 4), probability=0.93).counts
    (2, 3, 4)
    """

    published: int
    level: float
    counts: tuple[int, ...]
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CredibleIntervals:
    """The shortest interval of originals for each published count.

    Parameters
    ----------
    level
        The level asked for.
    published
        The published counts.
    lower, upper
        The ends, which belong to the interval.
    probability
        What each interval holds; at least the level.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> from risk import Inverse, Prior
    >>> inverse = Inverse(table=Mechanism.random_rounding(5).build(), prior=Prior.flat())
    >>> found = credible_intervals(inverse, [0, 10], level=0.9)
    >>> found.lower, found.upper
    (array([0, 7]), array([ 3, 13]))
    """

    level: float
    published: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    probability: NDArray[np.float64]

    def to_frame(self) -> pd.DataFrame:
        """Give one line per published count.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> from risk import Inverse, Prior
        >>> inverse = Inverse(table=Mechanism.rounding(5).build(), prior=Prior.flat())
        >>> credible_intervals(inverse, [10]).to_frame().values.tolist()
        [[10.0, 8.0, 12.0, 1.0]]
        """
        import pandas as pd

        names = ("published", "lower", "upper", "probability")
        return pd.DataFrame({name: getattr(self, name) for name in names})


def credible_set(inverse: Inverse, published: int, *, level: float = 0.95) -> CredibleSet:
    """Find the fewest originals that hold a level, the most probable first.

    Parameters
    ----------
    inverse
        The p-table and the prior.
    published
        What the reader sees.
    level
        From 0 to 1.

    Notes
    -----
    The set of highest posterior density. Equally probable originals are taken by their
    distance to the published count, the smaller first.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> from risk import Inverse, Prior
    >>> inverse = Inverse(table=Mechanism.random_rounding(5).build(), prior=Prior.flat())
    >>> credible_set(inverse, 10, level=0.5).counts
    (9, 10, 11)
    """
    share = require_between(level, name="level", most=1.0)
    published_count = require_whole(published, name="published")
    distribution = inverse.given(published_count)
    values = distribution.numbers
    order = np.lexsort(
        (values, np.abs(values - published_count), -np.round(distribution.probabilities, 12))
    )
    coverage = np.cumsum(distribution.probabilities[order])
    n_taken = min(len(coverage), int(np.searchsorted(coverage, share - _TOLERANCE)) + 1)
    return CredibleSet(
        published=published_count,
        level=share,
        counts=tuple(sorted(values[order[:n_taken]].tolist())),
        probability=min(1.0, float(coverage[n_taken - 1])),
    )


def credible_intervals(
    inverse: Inverse, published: ArrayLike, *, level: float = 0.95
) -> CredibleIntervals:
    """Find the shortest interval of originals for each published count.

    Parameters
    ----------
    inverse
        The p-table and the prior.
    published
        Published counts, in one dimension.
    level
        From 0 to 1.

    Notes
    -----
    Of several shortest intervals the most probable is taken, then the lowest.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> from risk import Inverse, Prior
    >>> table = solve(NoiseSpec(max_noise=5, variance=2.0))
    >>> found = credible_intervals(Inverse(table=table, prior=Prior.flat()), [100])
    >>> found.lower, found.upper, found.probability.round(3)
    (array([97]), array([102]), array([0.959]))
    """
    share = require_between(level, name="level", most=1.0)
    published_counts = require_counts(published, name="published").ravel()
    originals, probabilities = inverse.windows(published_counts)
    running = np.concatenate(
        (np.zeros((len(published_counts), 1)), np.cumsum(probabilities, axis=1)), axis=1
    )
    lines = np.arange(len(published_counts))
    starts = np.zeros(len(published_counts), dtype=np.int64)
    lengths = np.zeros(len(published_counts), dtype=np.int64)
    coverage = np.zeros(len(published_counts))
    for length in range(1, originals.shape[1] + 1):
        masses = running[:, length:] - running[:, :-length]
        best = np.argmax(np.round(masses, 12), axis=1)
        mass = masses[lines, best]
        new = (lengths == 0) & ((mass >= share - _TOLERANCE) | (length == originals.shape[1]))
        starts[new], lengths[new], coverage[new] = best[new], length, mass[new]
    return CredibleIntervals(
        level=share,
        published=published_counts,
        lower=originals[lines, starts],
        upper=originals[lines, starts + lengths - 1],
        probability=np.minimum(coverage, 1.0),
    )
