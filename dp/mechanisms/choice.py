"""Choosing instead of measuring: the exponential mechanism, and permute-and-flip."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp.adjacency import Adjacency
from dp.checking import checked_count, checked_epsilon, checked_positive, checked_probability
from dp.errors import DPError
from dp.guarantee import Guarantee
from dp.mechanisms.opendp import check_scores, choose_largest
from footing.messages import Message, Name

_LAWS = {"exponential": "gumbel", "permute-and-flip": "exponential"}
_SAFETY = 1 + 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential:
    """Choose a candidate, likelier the better its score.

    Parameters
    ----------
    epsilon
        What a choice costs.
    sensitivity
        How far one unit moves any score.
    adjacency, unit
        The neighbours, and who is protected.
    is_monotonic
        Whether a unit that is added moves all scores in one direction, as it does counts:
        half the noise then.
    kind
        ``"exponential"``, or ``"permute-and-flip"``: never worse at the same epsilon, with a
        larger rho.

    Examples
    --------
    Nationalities of 6, 5, 3 and 2 people:

    >>> pick = Exponential(epsilon=2, sensitivity=1, adjacency=Adjacency.ADD_REMOVE)
    >>> pick.probabilities([6, 5, 3, 2]).round(2)
    array([0.7 , 0.26, 0.03, 0.01])
    >>> pick.choose([6, 5, 3, 2]) in range(4)
    True
    """

    epsilon: float
    sensitivity: float
    adjacency: Adjacency
    unit: str = "record"
    is_monotonic: bool = False
    kind: str = "exponential"

    def __post_init__(self) -> None:
        checked_epsilon(self.epsilon)
        checked_positive(self.sensitivity, "sensitivity")
        object.__setattr__(self, "adjacency", Adjacency(self.adjacency))
        if self.kind not in _LAWS:
            raise DPError(
                Message("Unknown kind {kind!r}.", kind=Name(self.kind)),
                hint=Message("known: {laws}", laws=Name.each(_LAWS)),
            )
        if self.is_monotonic and self.adjacency != Adjacency.ADD_REMOVE:
            raise DPError(
                Message(
                    "Scores are monotonic for neighbours add-remove, not {adjacency}.",
                    adjacency=self.adjacency,
                ),
                hint=Message("leave is_monotonic out"),
            )

    @property
    def scale(self) -> float:
        """The scale of the noise on the scores.

        Examples
        --------
        >>> round(Exponential(epsilon=2, sensitivity=1, adjacency="replace").scale, 9)
        1.0
        """
        factor = 1 if self.is_monotonic else 2
        # A hair wider than the division says, so that its rounding cannot cost epsilon.
        return factor * self.sensitivity / self.epsilon * _SAFETY

    @property
    def guarantee(self) -> Guarantee:
        """What a choice promises. The exponential mechanism has rho of epsilon² / 8.

        References
        ----------
        Cesar, Rogers 2021, on its bounded range.

        Examples
        --------
        >>> print(Exponential(epsilon=2, sensitivity=1, adjacency="add-remove").guarantee)
        epsilon = 2, rho = 0.5 (add-remove, per record)
        """
        rho = self.epsilon**2 / 8 if self.kind == "exponential" else math.inf
        return Guarantee(
            epsilon=self.epsilon, rho=rho, adjacency=self.adjacency, unit=self.unit
        )

    def choose(self, scores: ArrayLike) -> int:
        """Return the index of the chosen candidate. Every call costs epsilon again.

        Parameters
        ----------
        scores
            One per candidate; candidates are public and fixed beforehand.

        Examples
        --------
        >>> Exponential(epsilon=50, sensitivity=1, adjacency="replace").choose([0, 9, 3])
        1
        """
        return choose_largest(_scores(scores), scale=self.scale, distribution=_LAWS[self.kind])

    def check(self, answer: ArrayLike) -> None:
        """Raise what `release` would raise, and choose nothing.

        Parameters
        ----------
        answer
            The scores.

        Examples
        --------
        >>> Exponential(epsilon=1, sensitivity=1, adjacency="replace").check([0, 9])
        """
        check_scores(_scores(answer))

    def release(self, answer: ArrayLike) -> int:
        """Choose: `choose` by the name that a ledger knows.

        Parameters
        ----------
        answer
            The scores.

        Examples
        --------
        >>> Exponential(epsilon=50, sensitivity=1, adjacency="replace").release([0, 9, 3])
        1
        """
        return self.choose(answer)

    def probabilities(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Return the chance of each candidate. They are as secret as the scores.

        Parameters
        ----------
        scores
            One per candidate.

        Examples
        --------
        >>> choice = Exponential(epsilon=1, sensitivity=1, adjacency="replace")
        >>> choice.probabilities([3, 3]).tolist()
        [0.5, 0.5]
        """
        if self.kind != "exponential":
            raise DPError(Message("The chances of permute-and-flip have no short formula."))
        logits = _scores(scores) / self.scale
        weights = np.exp(logits - logits.max())
        return np.asarray(weights / weights.sum())

    def accuracy(self, confidence: float = 0.95, *, candidates: int) -> float:
        """Return how far below the best score the choice falls at most, at a confidence.

        Parameters
        ----------
        confidence
            The chance that it is nearer.
        candidates
            How many there are.

        Notes
        -----
        ``scale * ln(candidates / (1 - confidence))``.

        Examples
        --------
        >>> pick = Exponential(epsilon=2, sensitivity=1, adjacency="replace")
        >>> round(pick.accuracy(0.95, candidates=4), 3)
        4.382
        """
        confidence = checked_probability(confidence, "confidence")
        number = checked_count(candidates, "candidates")
        if confidence == 1:
            return math.inf
        return self.scale * math.log(number / (1 - confidence))


def _scores(scores: ArrayLike) -> NDArray[Any]:
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise DPError(Message("Scores must be numbers.")) from None
    if values.ndim != 1 or not values.size:
        raise DPError(Message("A choice needs a list of at least one score."))
    if not np.isfinite(values).all():
        raise DPError(
            Message("A score is missing or infinite."), hint=Message("leave the candidate out")
        )
    return values
