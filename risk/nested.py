"""What two published counts give away together when one record more tells the cells apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from risk.band import Band
from risk.errors import RiskError
from risk.wellformed import require_counts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ptable.table import PTable
    from risk.histogram import Histogram
    from risk.prior import Prior

__all__ = ["GivenAway", "certain_with_one_more", "differing_answers"]

#: Probabilities of a p-table are multiples of one part in 2**32; less is arithmetic.
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAway:
    """How often an original count is known for certain, and from what.

    Parameters
    ----------
    probability
        P(the original is known for certain | it is one of the suspects).
    original, published, published_more
        The original that is given away most often, what it is then published as, and what
        the cell with one record more is published as; None where nothing is ever certain.

    Examples
    --------
    >>> GivenAway(probability=0.0, original=None, published=None, published_more=None).original
    """

    probability: float
    original: int | None
    published: int | None
    published_more: int | None


def certain_with_one_more(table: PTable, prior: Prior, originals: ArrayLike) -> GivenAway:
    """Compute how often two nested cells that differ by one record give an original away.

    Parameters
    ----------
    table
        The p-table.
    prior
        What is believed about the smaller cell before.
    originals
        The suspects.

    Notes
    -----
    The reader knows the p-table and that the second cell holds the records of the first and
    one more. The noises are independent, so an original i is published with it as (a, b) with
    probability ``p_ia p_(i+1)b``; it is certain when no other original that the prior allows
    may be. Two zonings whose boundary moved by one person are such cells.

    Examples
    --------
    >>> from ptable.mechanisms import Mechanism
    >>> from risk.prior import Prior
    >>> found = certain_with_one_more(Mechanism.rounding(5).build(), Prior.flat(), [1, 2, 3, 4])
    >>> found.probability, found.original, found.published, found.published_more
    (0.25, 2, 0, 5)
    """
    suspects = np.unique(require_counts(originals, name="originals"))
    weights = prior.at(suspects)
    if not weights.any():
        raise RiskError(
            "originals must list a count that the prior does not rule out.",
            hint="smooth the prior with Prior.from_counts(..., added=0.5)",
        )
    band = Band.of(table)
    weights = weights / weights.sum()
    total, most, place = 0.0, 0.0, None
    for suspect, weight in zip(suspects.tolist(), weights.tolist(), strict=True):
        if not weight:
            continue
        certain, pair = _certain(band, prior, suspect)
        total += weight * certain
        if weight * certain > max(most, _NOTHING):
            most, place = weight * certain, (suspect, *pair)
    if place is None:
        return GivenAway(probability=0.0, original=None, published=None, published_more=None)
    return GivenAway(
        probability=min(1.0, total),
        original=place[0],
        published=place[1],
        published_more=place[2],
    )


def _certain(band: Band, prior: Prior, suspect: int) -> tuple[float, tuple[int, int]]:
    """Give how often one original is certain, and the pair from which it is most often."""
    noise = np.arange(band.lowest, band.highest + 1)
    published, more = (seen[seen >= 0] for seen in (suspect + noise, suspect + 1 + noise))
    # Whoever may be confused with the suspect is published within its reach.
    near = np.arange(max(0, suspect - band.width + 1), suspect + band.width)
    near = near[prior.at(near) > 0]
    first = band.forward(near[:, None], published[None, :])
    second = band.forward(near[:, None] + 1, more[None, :])
    possible = (first > 0).astype(np.float32).T @ (second > 0).astype(np.float32)
    own = int(np.flatnonzero(near == suspect)[0])
    certain = np.outer(first[own], second[own]) * (possible == 1)
    a, b = np.unravel_index(int(np.argmax(certain)), certain.shape)
    return float(certain.sum()), (int(published[a]), int(more[b]))


def differing_answers(table: PTable, histogram: Histogram) -> float:
    """Compute how often two draws of noise for one cell differ.

    Parameters
    ----------
    table
        The p-table.
    histogram
        The cells.

    Notes
    -----
    ``Σ_c N_c (1 - Σ_v p_c(v)²) / Σ_c N_c`` with ``N_c`` cells of count c: 0 where no chance is
    in the noise. Where it is drawn once and for all, as from cell keys, nobody ever sees it.

    Examples
    --------
    >>> from ptable.mechanisms import Mechanism
    >>> from risk.histogram import Histogram
    >>> table = Mechanism.random_rounding(3).build()
    >>> round(differing_answers(table, Histogram.of([1, 2, 3])), 4)
    0.2963
    """
    band = Band.of(table)
    equal = np.square(band.probabilities).sum(axis=1)[band.rows(histogram.counts)]
    return max(0.0, float(histogram.cells @ (1 - equal)) / histogram.n_cells)
