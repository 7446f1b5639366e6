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
    suspects, weights = suspects[weights > 0], weights[weights > 0]
    largest, above = int(suspects.max()), max(band.highest, 0)
    seen = np.arange(largest + above + 2)
    # Whoever may be confused with a suspect is published within its reach.
    everybody = np.arange(largest + above - min(band.lowest, 0) + 1)
    first = band.forward(everybody[:, None], seen[None, :])
    second = band.forward(everybody[:, None] + 1, seen[None, :])
    allowed = prior.at(everybody) > 0
    possible = (first[allowed] > 0).astype(int).T @ (second[allowed] > 0)
    together = first[suspects][:, :, None] * second[suspects][:, None, :]
    certain = weights[:, None, None] / weights.sum() * together * (possible == 1)
    total = float(certain.sum())
    if total < _NOTHING:
        return GivenAway(probability=0.0, original=None, published=None, published_more=None)
    most = int(np.argmax(certain.sum(axis=(1, 2))))
    a, b = np.unravel_index(int(np.argmax(certain[most])), certain[most].shape)
    return GivenAway(
        probability=min(1.0, total),
        original=int(suspects[most]),
        published=int(a),
        published_more=int(b),
    )


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
