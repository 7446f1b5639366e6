"""Model inversion: guess a hidden attribute from the others and from what a model says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpsgd.audits.bounds import Ceiling
from dpsgd.audits.rates import MemberShares, require_confidence
from dpsgd.errors import DPSGDError
from footing.arrays import Floats, Integers
from footing.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeInversion(MemberShares):
    """How often a hidden attribute was guessed.

    Parameters
    ----------
    baseline
        The share that the most frequent value gets right, without a model.

    Examples
    --------
    >>> AttributeInversion(
    ...     members=0.9,
    ...     members_low=0.85,
    ...     members_high=0.94,
    ...     others=0.4,
    ...     others_low=0.3,
    ...     others_high=0.5,
    ...     baseline=0.4,
    ...     ceiling=0.8,
    ... ).is_above
    True
    """

    baseline: float


def attribute_inversion(
    loss: Callable[[Any], ArrayLike],
    members: Sequence[Any],
    others: Sequence[Any],
    *,
    actual: tuple[ArrayLike, ArrayLike],
    weights: ArrayLike,
    ceiling: Ceiling | None = None,
    confidence: float = 0.95,
) -> AttributeInversion:
    """Guess a hidden attribute of members and of others, and compare.

    Parameters
    ----------
    loss
        Given records, the model's cross-entropy of each one's known outcome.
    members, others
        For each value that the attribute can have, the records with that value put in; of
        records trained on, and of records that were not.
    actual
        The number of the actual value, for each member and each other.
    weights
        How frequent each value is in the population; public.
    ceiling
        What the guarantee allows.
    confidence
        Of all intervals together.

    Notes
    -----
    The guess is the value with the largest ``weight * exp(-loss)``. What is guessed of others
    follows from the population and no guarantee forbids it; the ceiling is for what members
    lose beyond, see `Ceiling.success`.

    References
    ----------
    Fredrikson et al. 2014, section 4.

    Examples
    --------
    >>> def loss(rows):
    ...     return (rows[:, 0] - rows[:, 1]) ** 2  # the outcome equals the hidden value
    >>> outcome = np.array([0.0, 1, 1, 0])
    >>> put = [np.column_stack((np.full(4, value), outcome)) for value in (0.0, 1.0)]
    >>> attribute_inversion(
    ...     loss, put, put, actual=(outcome, outcome), weights=[0.5, 0.5]
    ... ).members
    1.0
    """
    prior = np.asarray(weights, dtype=np.float64)
    if prior.ndim != 1 or len(prior) < 2 or not (prior > 0).all():
        raise DPSGDError(
            Message("weights need a positive number for each of at least two values."),
            hint=Message("leave out values that do not occur"),
        )
    require_confidence(confidence)
    hits = []
    truths = [np.asarray(truth) for truth in actual]
    for records, truth in zip((members, others), truths, strict=True):
        right = _guesses(loss, records, np.log(prior), len(truth)) == truth
        hits.append((int(right.sum()), len(right)))
    return AttributeInversion.of(
        *hits,
        ceiling=ceiling,
        confidence=confidence,
        baseline=float((truths[1] == int(prior.argmax())).mean()),
    )


def _guesses(
    loss: Callable[[Any], ArrayLike], records: Sequence[Any], log_prior: Floats, number: int
) -> Integers:
    if len(records) != len(log_prior) or not number:
        raise DPSGDError(
            Message("Give the records once for each value, and at least one record.")
        )
    table = np.array([np.asarray(loss(rows), dtype=np.float64) for rows in records])
    if table.shape != (len(log_prior), number) or not np.isfinite(table).all():
        raise DPSGDError(Message("The model must give one finite loss for each record."))
    return np.asarray((log_prior[:, None] - table).argmax(axis=0))
