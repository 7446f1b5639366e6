"""What the difference of two published counts tells of the records between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from risk.distributions.band import Band
from risk.errors import RiskError
from risk.wellformed import read_numbers, require_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ptable import PTable
    from risk.distributions.distribution import Law


@dataclass(frozen=True, slots=True, kw_only=True)
class SliverLaw:
    """Hold the law of a published difference beside the original one; for inside.

    Parameters
    ----------
    difference
        The original difference: the records of the sliver.
    law
        Of the published difference, see `risk.difference_law`.
    """

    difference: int
    law: Law

    @property
    def p_seen(self) -> float:
        """The probability that the published counts differ.

        Equal sets of records are always published alike, so where one set lies inside another
        this is the share of slivers that an intruder is certain about, without a single false
        alarm.
        """
        return 1 - float(self.law.at(0))

    @property
    def p_exact(self) -> float:
        """The probability that the published difference is the original one."""
        return float(self.law.at(self.difference))

    @property
    def accuracy(self) -> float:
        """How often an intruder is right who says "empty" exactly when no difference shows.

        Before seeing the counts, an empty sliver and this one are equally likely.
        """
        return (1 + self.p_seen) / 2


def sliver_posterior(
    ptable: PTable,
    *,
    published_larger: int,
    published_part: int,
    largest: int,
    prior: Sequence[float] | None = None,
) -> NDArray[np.float64]:
    """Compute how likely a sliver of 0, 1, ... records is, given both published counts.

    Bayes' rule with every count of the part equally likely before. A sliver of 0 records means
    the same set twice, so it is possible only where both published counts are equal.
    """
    require_whole(largest, name="largest")
    seen_larger = require_whole(published_larger, name="published_larger")
    seen_part = require_whole(published_part, name="published_part")
    before = np.ones(largest + 1) if prior is None else read_numbers(prior, name="prior")
    if before.shape != (largest + 1,) or (before < 0).any():
        raise RiskError("prior must hold one probability per size from 0 to largest.")
    band = Band.of(ptable)
    parts = np.arange(max(0, seen_part - band.highest), max(0, seen_part - band.lowest) + 1)
    p_part = band.forward(parts, seen_part)
    likely = np.zeros(largest + 1)
    likely[0] = p_part.sum() if seen_larger == seen_part else 0.0
    for size in range(1, largest + 1):
        likely[size] = p_part @ band.forward(parts + size, seen_larger)
    likely *= before
    if likely.sum() <= 0:
        raise RiskError(
            "No sliver of the sizes considered explains the published counts.",
            hint="raise largest; the sets may also not lie inside each other",
        )
    posterior: NDArray[np.float64] = likely / likely.sum()
    return posterior
