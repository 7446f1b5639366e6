"""What the difference of two published counts tells of the records between them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from risk.errors import RiskError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from ptable import PTable

__all__ = ["DifferenceLaw", "difference_law", "sliver_posterior"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceLaw:
    """Hold the law of a published difference; exact fractions.

    Parameters
    ----------
    difference
        The original difference: the records of the sliver.
    probabilities
        Published difference → probability.

    Examples
    --------
    >>> from ptable import PTable
    >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    >>> difference_law(table, larger=2, parts=[1]).probabilities[1]
    Fraction(1, 2)
    """

    difference: int
    probabilities: dict[int, Fraction]

    @property
    def p_seen(self) -> float:
        """The probability that the published counts differ: then the sliver is not empty.

        Equal sets of records are always published alike, so this is the share of slivers that
        an intruder is certain about, without a single false alarm.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
        >>> round(difference_law(table, larger=60, parts=[59]).p_seen, 3)
        0.781
        """
        return float(1 - self.probabilities.get(0, Fraction(0)))

    @property
    def p_exact(self) -> float:
        """The probability that the published difference is the original one.

        Examples
        --------
        >>> from ptable import PTable
        >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
        >>> difference_law(table, larger=2, parts=[1]).p_exact
        0.5
        """
        return float(self.probabilities.get(self.difference, Fraction(0)))

    @property
    def accuracy(self) -> float:
        """How often an intruder is right who says "empty" exactly when no difference shows.

        Before seeing the counts, an empty sliver and this one are equally likely.

        Examples
        --------
        >>> from ptable import PTable
        >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
        >>> difference_law(table, larger=2, parts=[1]).accuracy
        1.0
        """
        return (1 + self.p_seen) / 2

    def to_frame(self) -> pd.DataFrame:
        """Give one line per published difference.

        Examples
        --------
        >>> from ptable import PTable
        >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
        >>> difference_law(table, larger=1, parts=[]).to_frame().values.tolist()
        [[0.0, 0.5], [2.0, 0.5]]
        """
        import pandas as pd

        lines = [(d, float(p)) for d, p in sorted(self.probabilities.items())]
        return pd.DataFrame(lines, columns=["difference", "probability"])


def difference_law(ptable: PTable, *, larger: int, parts: Sequence[int]) -> DifferenceLaw:
    """Compute the law of a published count less the published counts of its parts.

    Parameters
    ----------
    ptable
        The p-table; sets of records that differ have independent uniform cell keys, as the
        keyed mix makes them.
    larger
        The original count of the larger set.
    parts
        The original counts of disjoint sets inside it, together less than `larger`; or
        equal to it, with more than one part. One part with all records is the same set: its
        difference is always published as 0.

    Examples
    --------
    >>> from ptable import PTable
    >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    >>> difference_law(table, larger=5, parts=[5]).probabilities
    {0: Fraction(1, 1)}
    """
    counts = (larger, *parts)
    if min(counts) < 0 or sum(parts) > larger:
        raise RiskError("The parts must be counts that add up to the larger count at most.")
    held = [part for part in parts if part]
    if held == [larger] or larger == 0:
        return DifferenceLaw(difference=0, probabilities={0: Fraction(1)})
    law = {larger + v: p for v, p in _noise(ptable, larger).items()}
    for part in parts:
        new: dict[int, Fraction] = {}
        steps = _noise(ptable, part).items()
        for (seen, p), (v, q) in product(law.items(), steps):
            place = seen - part - v
            new[place] = new.get(place, Fraction(0)) + p * q
        law = new
    return DifferenceLaw(
        difference=larger - sum(parts), probabilities=dict(sorted(law.items()))
    )


def sliver_posterior(
    ptable: PTable,
    *,
    published_larger: int,
    published_part: int,
    largest: int,
    prior: Sequence[float] | None = None,
) -> NDArray[np.float64]:
    """Compute how likely a sliver of 0, 1, ... records is, given both published counts.

    Parameters
    ----------
    ptable
        The p-table.
    published_larger, published_part
        What was published for a set and for a set inside it.
    largest
        The largest sliver considered.
    prior
        The probabilities of 0 to `largest` records before; equal by default.

    Returns
    -------
    numpy.ndarray
        One probability per size of the sliver.

    Raises
    ------
    RiskError
        If no sliver of the sizes considered explains what was published.

    Notes
    -----
    Bayes' rule with every count of the part equally likely before. A sliver of 0 records means
    the same set twice, so it is possible only where both published counts are equal.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
    >>> sliver_posterior(table, published_larger=60, published_part=60, largest=1).round(2)
    array([0.82, 0.18])
    """
    before = np.ones(largest + 1) if prior is None else np.asarray(prior, dtype=np.float64)
    if before.shape != (largest + 1,) or not np.isfinite(before).all() or (before < 0).any():
        raise RiskError("prior must hold one probability per size from 0 to largest.")
    noise = ptable.max_noise
    part_counts = range(max(0, published_part - noise), published_part + noise + 1)
    likely = np.zeros(largest + 1)
    for part in part_counts:
        p_part = float(_noise(ptable, part).get(published_part - part, 0))
        if published_larger == published_part:
            likely[0] += p_part
        for size in range(1, largest + 1):
            seen = published_larger - part - size
            likely[size] += p_part * float(_noise(ptable, part + size).get(seen, 0))
    likely *= before
    if likely.sum() <= 0:
        raise RiskError(
            "No sliver of the sizes considered explains the published counts.",
            hint="raise largest; the sets may also not lie inside each other",
        )
    posterior: NDArray[np.float64] = likely / likely.sum()
    return posterior


def _noise(ptable: PTable, count: int) -> dict[int, Fraction]:
    """Give the law of the noise of any count, however large."""
    from ptable.lookup import cycle_length, serving_row

    if ptable.step != 1 or ptable.anchors is not None:
        raise RiskError("Differences of counts need a p-table of counts, not of magnitudes.")
    cycle = cycle_length(ptable.large_counts, n_rows=ptable.n_rows)
    row = serving_row(count, n_rows=ptable.n_rows, cycle=cycle)
    return {v: Fraction(n, ptable.key_range) for v, n in ptable.units(row).items()}
