"""How near the original count is, in words an office can publish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from footing.messages import Message
from risk.errors import RiskError
from risk.inference.credible import credible_intervals
from risk.wellformed import require_between, require_counts

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from risk.inference.inverse import Inverse

_LEVELS = (0.5, 0.9, 0.95)
_UP_TO = 20
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Accuracy:
    """Hold an interval of originals for each published count and level.

    Parameters
    ----------
    published
        The published counts, one per line.
    levels
        The levels, one per column.
    lower, upper
        The ends of the intervals, which belong to them; line by column.
    half_widths
        The least ``h`` for which ``published - h`` to ``published + h`` holds the level.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> from risk import Inverse, Prior
    >>> inverse = Inverse(table=Mechanism.rounding(5).build(), prior=Prior.flat())
    >>> accuracy_table(inverse, [5, 10], levels=[0.95])
    Accuracy(n_published=2, levels=(0.95,))
    """

    published: NDArray[np.int64]
    levels: tuple[float, ...]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    half_widths: NDArray[np.int64]

    def to_frame(self) -> pd.DataFrame:
        """Give one line per published count and level.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> from risk import Inverse, Prior
        >>> inverse = Inverse(table=Mechanism.rounding(5).build(), prior=Prior.flat())
        >>> found = accuracy_table(inverse, [10], levels=[0.95])
        >>> found.to_frame().values.tolist()
        [[10.0, 0.95, 8.0, 12.0, 2.0]]
        """
        import pandas as pd

        n_lines, n_levels = self.half_widths.shape
        return pd.DataFrame(
            {
                "published": np.repeat(self.published, n_levels),
                "level": np.tile(np.array(self.levels), n_lines),
                "lower": self.lower.ravel(),
                "upper": self.upper.ravel(),
                "half_width": self.half_widths.ravel(),
            }
        )

    def __repr__(self) -> str:
        return f"Accuracy(n_published={len(self.published)}, levels={self.levels})"


def accuracy_table(
    inverse: Inverse,
    published: ArrayLike | None = None,
    *,
    levels: Iterable[float] = _LEVELS,
) -> Accuracy:
    """Find intervals that hold the original with a probability, for who has the prior.

    Parameters
    ----------
    inverse
        The p-table and the prior.
    published
        Published counts; None for those of 0 to 20 that occur.
    levels
        Probabilities, from 0 to 1.

    Notes
    -----
    Lower and upper ends are those of `credible_intervals`, the shortest; they need not lie
    evenly around the published count. Half-widths do: each is the least ``h`` with
    ``P(|X - j| ≤ h | X' = j)`` at the level.

    Given the published count, the statement is as good as the prior. The table tells of the
    noise, and of the prior too: one counted from original cells shows through how many of them
    are small. It is for inside, unless the prior is public or flat.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> from risk import Inverse, Prior
    >>> inverse = Inverse(table=solve(NoiseSpec(max_noise=5, variance=2.0)), prior=Prior.flat())
    >>> found = accuracy_table(inverse, [0, 1, 100])
    >>> found.half_widths
    array([[0, 2, 2],
           [1, 2, 3],
           [1, 2, 3]])
    """
    published_counts = (
        inverse.possible(_UP_TO)
        if published is None
        else require_counts(published, name="published").ravel()
    )
    shares = _levels(levels)
    intervals = [credible_intervals(inverse, published_counts, level=level) for level in shares]
    originals, probabilities = inverse.windows(published_counts)
    away = np.abs(originals - published_counts[:, None])
    reach = np.arange(int(away.max(initial=0)) + 1)
    coverage = np.stack([(probabilities * (away <= h)).sum(axis=1) for h in reach], axis=1)
    return Accuracy(
        published=published_counts,
        levels=shares,
        lower=np.stack([interval.lower for interval in intervals], axis=1),
        upper=np.stack([interval.upper for interval in intervals], axis=1),
        half_widths=_least(coverage, shares),
    )


def _levels(levels: Iterable[float]) -> tuple[float, ...]:
    shares = tuple(require_between(level, name="levels", most=1.0) for level in levels)
    if not shares:
        raise RiskError(
            Message("levels must hold at least one level."), hint=Message("levels=[0.95]")
        )
    return shares


def _least(coverage: NDArray[np.float64], levels: tuple[float, ...]) -> NDArray[np.int64]:
    """Give, per line and level, the first column that holds it."""
    full = coverage.copy()
    full[:, -1] = 1.0
    return np.stack([np.argmax(full >= level - _TOLERANCE, axis=1) for level in levels], axis=1)
