"""What counts say of each bit, freed of the noise on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rappor.errors import RapporError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rappor.counts import Counts
    from rappor.parameters import Parameters


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observed:
    """The bits of the cohorts that sent a report.

    Parameters
    ----------
    rows
        Their places, cohort after cohort.
    ones, n
        Reports with a 1 there, and all reports of the cohort.
    share
        The unbiased share of clients whose value sets the bit; noise may take it out of [0, 1].
    parameters
        What the reports were made with.
    """

    rows: NDArray[np.int64]
    ones: NDArray[np.float64]
    n: NDArray[np.float64]
    share: NDArray[np.float64]
    parameters: Parameters

    def expected(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the probability of a 1 where this share of clients sets the bit."""
        p, q = self.parameters.p_star, self.parameters.q_star
        return p + (q - p) * np.clip(share, 0.0, 1.0)

    def weights(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give one over the binomial variance where this share of clients sets the bit.

        A bit that is certain to be 0 or 1 counts as if half a report said otherwise.
        """
        p, q = self.parameters.p_star, self.parameters.q_star
        least = 0.5 / (self.n + 1)
        chance = np.clip(self.expected(share), least, 1 - least)
        return self.n * (q - p) ** 2 / (chance * (1 - chance))


def observe(counts: Counts) -> Observed:
    """Free counts of the noise; cohorts without reports say nothing and are left out.

    A bit that a share x of the clients sets is reported as 1 with probability
    p* + (q* - p*) x, hence x is estimated as (ones / n - p*) / (q* - p*).
    """
    if counts.total == 0:
        raise RapporError("There is no report to decode.", hint="sum reports first")
    shape = counts.parameters
    heard = np.flatnonzero(counts.n)
    rows = (heard[:, None] * shape.n_bits + np.arange(shape.n_bits)).ravel()
    ones = counts.ones[heard].ravel().astype(float)
    n = np.repeat(counts.n[heard], shape.n_bits).astype(float)
    share = (ones / n - shape.p_star) / (shape.q_star - shape.p_star)
    return Observed(rows=rows, ones=ones, n=n, share=share, parameters=shape)
