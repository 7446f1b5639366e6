"""Draw counts by their exact law, without a single report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rappor.counts import Counts
from rappor.errors import RapporError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rappor.candidates import Candidates

__all__ = ["draw_counts"]


def draw_counts(
    amounts: ArrayLike, *, candidates: Candidates, generator: np.random.Generator
) -> Counts:
    """Draw the counts of clients who each report one value once.

    Parameters
    ----------
    amounts
        How many clients hold each candidate.
    candidates
        The values, and what the reports are made with.
    generator
        Of random numbers.

    Notes
    -----
    Cohorts are uniform. Bits of one report are noised independently, so that the ones of a bit
    are binomial given how many clients of the cohort set it.

    Examples
    --------
    >>> from rappor.candidates import Candidates
    >>> from rappor.parameters import Parameters
    >>> sure = Parameters.basic(2, f=0.0, p=0.0, q=1.0)
    >>> towns = Candidates.of(["Lyon", "Nice"], parameters=sure)
    >>> draw_counts([3, 1], candidates=towns, generator=np.random.default_rng(1)).ones.tolist()
    [[3, 1]]
    """
    held = np.asarray(amounts)
    if held.shape != (len(candidates.names),) or held.dtype.kind not in "iu" or held.min() < 0:
        raise RapporError("Each candidate needs a whole number of clients.")
    shape = candidates.parameters
    m, k = shape.n_cohorts, shape.n_bits
    by_cohort = generator.multinomial(held, np.full(m, 1 / m)).astype(np.int64)
    n = by_cohort.sum(axis=0)
    design = candidates.design.tocoo()
    rows, columns = design.coords
    held_bits = np.zeros(m * k, np.int64)
    np.add.at(held_bits, rows, by_cohort[columns, rows // k])
    rest = np.repeat(n, k) - held_bits
    ones = generator.binomial(held_bits, shape.q_star) + generator.binomial(rest, shape.p_star)
    return Counts(n=n, ones=ones.reshape(m, k), parameters=shape)
