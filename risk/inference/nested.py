"""What two published counts give away together when one record more tells the cells apart."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.messages import Message
from ptable.table import PTable
from risk.distributions.band import Band
from risk.distributions.histogram import Histogram
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.wellformed import require_counts

#: Probabilities of a p-table are multiples of one part in 2**32; less is arithmetic.
_NEGLIGIBLE = 1e-12


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
    set_probability
        P(it is certain that the original is a suspect | it is one of the suspects).
    set_published, set_published_more
        The two published counts that make it certain most often; None where none do.
    """

    probability: float = 0.0
    original: int | None = None
    published: int | None = None
    published_more: int | None = None
    set_probability: float = 0.0
    set_published: int | None = None
    set_published_more: int | None = None


def certain_with_one_more(table: PTable, prior: Prior, originals: ArrayLike) -> GivenAway:
    """Compute how often two nested cells that differ by one record give an original away.

    The reader knows the p-table and that the second cell holds the records of the first and
    one more. The noises are independent, so an original i is published with it as (a, b) with
    probability ``p_ia p_(i+1)b``; it is certain when no other original that the prior allows
    may be, and it is certain to be a suspect when none that is no suspect may be. Two zonings
    whose boundary moved by one person are such cells.
    """
    suspects = np.unique(require_counts(originals, name="originals"))
    weights = prior.at(suspects)
    if not weights.any():
        raise RiskError(
            Message("originals must list a count that the prior does not rule out."),
            hint=Message("smooth the prior with Prior.from_counts(..., added=0.5)"),
        )
    band = Band.of(table)
    weights = weights / weights.sum()
    single, several = _Sure(), _Sure()
    for suspect, weight in zip(suspects.tolist(), weights.tolist(), strict=True):
        if weight:
            view, others, strangers = _pairs(band, prior, suspect, suspects)
            single.add(suspect, weight * view.chances * (others == 0), view)
            several.add(suspect, weight * view.chances * (strangers == 0), view)
    return GivenAway(
        probability=min(1.0, single.total),
        original=single.original,
        published=single.published,
        published_more=single.published_more,
        set_probability=min(1.0, several.total),
        set_published=several.published,
        set_published_more=several.published_more,
    )


class _View(NamedTuple):
    """What an original and the same cell with one record more are published as."""

    published: NDArray[np.int64]
    published_more: NDArray[np.int64]
    chances: NDArray[np.float64]


class _Sure:
    """Adds up what is certain, and keeps the original and the pair that weigh most."""

    def __init__(self) -> None:
        self.total, self.most = 0.0, _NEGLIGIBLE
        self.original: int | None = None
        self.published: int | None = None
        self.published_more: int | None = None

    def add(self, original: int, certain: NDArray[np.float64], view: _View) -> None:
        """Add what an original makes certain, pair by pair."""
        self.total += float(certain.sum())
        if float(certain.sum()) > self.most:
            self.most = float(certain.sum())
            a, b = np.unravel_index(int(np.argmax(certain)), certain.shape)
            self.original = original
            self.published = int(view.published[a])
            self.published_more = int(view.published_more[b])


def _pairs(
    band: Band, prior: Prior, suspect: int, suspects: NDArray[np.int64]
) -> tuple[_View, NDArray[np.float32], NDArray[np.float32]]:
    """Give what may be seen of an original, how many others may be, and how many strangers."""
    outcomes = (suspect + band.noise, suspect + 1 + band.noise)
    published, more = (counts[counts >= 0] for counts in outcomes)
    # Whoever may be confused with the suspect is published within its reach.
    near = np.arange(max(0, suspect - band.width + 1), suspect + band.width)
    near = near[prior.at(near) > 0]
    first = band.forward(near[:, None], published[None, :])
    second = band.forward(near[:, None] + 1, more[None, :])
    is_first, is_second = (first > 0).astype(np.float32), (second > 0).astype(np.float32)
    own = near == suspect
    view = _View(published, more, np.outer(first[own], second[own]))
    is_stranger = ~np.isin(near, suspects)
    return (
        view,
        is_first[~own].T @ is_second[~own],
        is_first[is_stranger].T @ is_second[is_stranger],
    )


def differing_answers(table: PTable, histogram: Histogram) -> float:
    """Compute how often two draws of noise for one cell differ.

    ``Σ_c N_c (1 - Σ_v p_c(v)²) / Σ_c N_c`` with ``N_c`` cells of count c: 0 where no chance is
    in the noise. Where it is drawn once and for all, as from cell keys, nobody ever sees it.
    """
    band = Band.of(table)
    equal = np.square(band.probabilities).sum(axis=1)[band.rows(histogram.counts)]
    return max(0.0, float(histogram.cells @ (1 - equal)) / histogram.n_cells)
