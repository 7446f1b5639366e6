"""From what is published back to what was there: q_ij = P(X = i | X' = j)."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.messages import Message, Name
from ptable.table import PTable
from risk.distributions.band import Band
from risk.distributions.distribution import Law
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.wellformed import require_counts, require_whole


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inverse:
    """Know the p-table and the prior, see a published count, and infer the original.

    Parameters
    ----------
    table
        A p-table of counts. Counts beyond its last row follow its rule for larger counts.
    prior
        What is believed before.

    Notes
    -----
    Bayes' rule, ``q_ij = π_i p_ij / Σ_k π_k p_kj``. It describes one cell seen alone, by who
    knows the p-table and the prior; other cells that share its records may tell more.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> from risk import Prior
    >>> inverse = Inverse(
    ...     table=solve(NoiseSpec(max_noise=2, variance=1.0)),
    ...     prior=Prior.supplied([0.5, 0.2, 0.2, 0.1]),
    ... )
    >>> inverse.probability([1, 2, 3], 1).round(4)
    array([0.5251, 0.4201, 0.0548])
    """

    table: PTable
    prior: Prior
    _band: Band = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_band", Band.of(self.table))

    def probability(self, originals: ArrayLike, published: ArrayLike) -> NDArray[np.float64]:
        """Give P(original | published), pair by pair; shapes broadcast.

        Parameters
        ----------
        originals, published
            Counts. A published count that the table and the prior never produce is refused.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> from risk import Prior
        >>> inverse = Inverse(table=Mechanism.rounding(5).build(), prior=Prior.flat())
        >>> inverse.probability([8, 9], 10)
        array([0.2, 0.2])
        """
        published_counts = require_counts(published, name="published")
        joint = self.prior.at(originals) * self._band.forward(originals, published_counts)
        return np.asarray(joint / self._totals(published_counts))

    def forward(self, originals: ArrayLike, published: ArrayLike) -> float:
        """Give P(published in a set | original in a set), p_IJ.

        Parameters
        ----------
        originals, published
            The two sets.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> from risk import Prior
        >>> inverse = Inverse(table=Mechanism.random_rounding(3).build(), prior=Prior.flat())
        >>> round(inverse.forward([1, 2], [3]), 4)
        0.5
        """
        weight, joint = self._joint(_as_set(originals), _as_set(published))
        if not weight:
            raise RiskError(
                Message("The prior must give some weight to the set of originals, not 0."),
                hint=Message("smooth the prior with Prior.from_counts(..., added=0.5)"),
            )
        return joint / weight

    def of_sets(self, originals: ArrayLike, published: ArrayLike) -> float:
        """Give P(original in a set | published in a set), q_IJ.

        Parameters
        ----------
        originals, published
            The two sets; a single count is a set of one.

        Notes
        -----
        ``Σ_{i∈I} Σ_{j∈J} π_i p_ij / Σ_{j∈J} Σ_k π_k p_kj``

        Examples
        --------
        >>> from ptable import Mechanism
        >>> from risk import Prior
        >>> inverse = Inverse(table=Mechanism.random_rounding(3).build(), prior=Prior.flat())
        >>> round(inverse.of_sets([1, 2], [0]), 4)
        0.5
        """
        published_counts = _as_set(published)
        total = float(self.weight(published_counts).sum())
        if not total:
            raise _never(published_counts)
        return min(1.0, self._joint(_as_set(originals), published_counts)[1] / total)

    def weight(self, published: ArrayLike) -> NDArray[np.float64]:
        """Give how probable each published count is, Σ_k π_k p_kj; 0 where it never occurs.

        Parameters
        ----------
        published
            Published counts.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> from risk import Prior
        >>> prior = Prior.supplied([1, 1, 2])
        >>> Inverse(table=Mechanism.rounding(2).build(), prior=prior).weight([0, 1, 2])
        array([0.25, 0.  , 0.75])
        """
        published_counts = require_counts(published, name="published")
        return np.asarray(
            self._window(published_counts.ravel())[1]
            .sum(axis=1)
            .reshape(published_counts.shape)
        )

    def possible(self, up_to: int) -> NDArray[np.int64]:
        """List the counts that are ever published, for some original that the prior allows.

        Parameters
        ----------
        up_to
            The largest to look at.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> from risk import Prior
        >>> inverse = Inverse(table=Mechanism.rounding(5).build(), prior=Prior.flat())
        >>> inverse.possible(12)
        array([ 0,  5, 10])
        """
        counts = np.arange(require_whole(up_to, name="up_to") + 1)
        return counts[self.weight(counts) > 0]

    def reachable(self, originals: ArrayLike, *, floor: float = 0.0) -> NDArray[np.int64]:
        """List what the originals of a set may be published as, where the prior allows them.

        Parameters
        ----------
        originals
            The set.
        floor
            The least P(published | original) that counts.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> from risk import Prior
        >>> inverse = Inverse(table=Mechanism.random_rounding(5).build(), prior=Prior.flat())
        >>> inverse.reachable([4, 5, 6])
        array([ 0,  5, 10])
        """
        suspects = _as_set(originals)
        suspects = suspects[self.prior.at(suspects) > 0]
        counts = np.unique(suspects[:, None] + self._band.noise)
        counts = counts[counts >= 0]
        matrix = self._band.forward(suspects[:, None], counts[None, :])
        return counts[((matrix > 0) & (matrix >= floor)).any(axis=0)]

    def given(self, published: int) -> Law:
        """Give the law of the original count.

        Parameters
        ----------
        published
            One published count.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> from risk import Prior
        >>> inverse = Inverse(table=Mechanism.random_rounding(2).build(), prior=Prior.flat())
        >>> inverse.given(2).support
        array([1, 2, 3])
        """
        originals, probabilities = self.windows([require_whole(published, name="published")])
        return Law(lowest=int(originals[0, 0]), probabilities=probabilities[0])

    def windows(self, published: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Give, for each published count, the originals in reach and their probabilities.

        Parameters
        ----------
        published
            Published counts, in one dimension.

        Returns
        -------
        tuple
            Two matrices with one line per published count, originals ascending. Negative
            numbers fill lines up and have probability 0.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> from risk import Prior
        >>> inverse = Inverse(table=Mechanism.random_rounding(2).build(), prior=Prior.flat())
        >>> originals, probabilities = inverse.windows([2, 4])
        >>> originals.tolist()
        [[1, 2, 3], [3, 4, 5]]
        """
        published_counts = require_counts(published, name="published")
        totals = self._totals(published_counts)
        originals, joint = self._window(published_counts)
        return originals, joint / totals[:, None]

    def expected(self, published: ArrayLike) -> NDArray[np.float64]:
        """Give the mean of the original count given each published one.

        Parameters
        ----------
        published
            Published counts.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> from risk import Prior
        >>> inverse = Inverse(table=Mechanism.random_rounding(2).build(), prior=Prior.flat())
        >>> inverse.expected([0, 2]).round(4)
        array([0.3333, 2.    ])
        """
        published_counts = require_counts(published, name="published")
        originals, probabilities = self.windows(published_counts.ravel())
        shift = ((originals - published_counts.reshape(-1, 1)) * probabilities).sum(axis=1)
        return np.asarray(published_counts + shift.reshape(published_counts.shape))

    def unchanged(self, published: ArrayLike) -> NDArray[np.float64]:
        """Give P(original = j | published = j): how often the reader sees the truth.

        Parameters
        ----------
        published
            Published counts.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> from risk import Prior
        >>> inverse = Inverse(table=Mechanism.random_rounding(2).build(), prior=Prior.flat())
        >>> inverse.unchanged([2, 4])
        array([0.5, 0.5])
        """
        return self.probability(published, published)

    def _joint(
        self, originals: NDArray[np.int64], published: NDArray[np.int64]
    ) -> tuple[float, float]:
        """Give the prior weight of a set, and that of the set and what is published."""
        weights = self.prior.at(originals)
        matrix = self._band.forward(originals[:, None], published[None, :])
        return float(weights.sum()), float((weights[:, None] * matrix).sum())

    def _window(
        self, published: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        originals, chances = self._band.windows(published)
        return originals, chances * self.prior.at(np.maximum(originals, 0))

    def _totals(self, published: NDArray[np.int64]) -> NDArray[np.float64]:
        totals = self.weight(published)
        if not (totals > 0).all():
            raise _never(np.unique(published[totals == 0]))
        return totals


def _as_set(counts: ArrayLike) -> NDArray[np.int64]:
    numbers = np.unique(require_counts(counts, name=Message("A set of counts")))
    if numbers.size == 0:
        raise RiskError(Message("A set of counts must not be empty."))
    return numbers


def _never(published: NDArray[np.int64]) -> RiskError:
    some = [*published[:5].tolist(), *[Name("...")] * (len(published) > 5)]
    return RiskError(
        Message("This table and prior never publish {some}.", some=some),
        hint=Message(
            "possible() lists what they do; a prior with beyond='last' and added "
            "counts leaves no gaps of its own"
        ),
    )
