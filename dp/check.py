"""The exact loss of a mechanism with finitely many outcomes: its matrix decides."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dp.errors import DPError
from footing.messages import Message, Name


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The largest log-ratio, and where it is.

    Parameters
    ----------
    epsilon
        The log-ratio; infinite where an outcome is possible for one input only.
    inputs
        The two inputs, the likelier one first.
    outcome
        The outcome that tells them apart.

    Examples
    --------
    >>> exact_epsilon([[0.5, 0.5], [0.25, 0.75]]).outcome
    0
    """

    epsilon: float
    inputs: tuple[int, int]
    outcome: int


def exact_epsilon(
    transition: ArrayLike, *, neighbours: Iterable[tuple[int, int]] | str = "all"
) -> Loss:
    """Return the epsilon of a mechanism given as a matrix.

    Parameters
    ----------
    transition
        ``transition[i, j]`` is the chance of outcome ``j`` for input ``i``.
    neighbours
        Pairs of inputs; ``"all"``, or ``"next"`` for each input and the one after it, as
        counts of data with a record more.

    Examples
    --------
    >>> round(exact_epsilon([[0.75, 0.25], [0.25, 0.75]]).epsilon, 4)
    1.0986
    >>> exact_epsilon([[0.5, 0.5], [0.0, 1.0]]).epsilon
    inf
    """
    matrix = _matrix(transition)
    with np.errstate(divide="ignore"):
        logs = np.log(matrix)
    worst = Loss(epsilon=0.0, inputs=(0, 0), outcome=0)
    for first, second in _pairs(neighbours, len(matrix)):
        for one, other in ((first, second), (second, first)):
            possible = np.flatnonzero(matrix[one] > 0)
            ratios = logs[one, possible] - logs[other, possible]
            place = int(np.argmax(ratios))
            if ratios[place] > worst.epsilon:
                worst = Loss(
                    epsilon=float(ratios[place]),
                    inputs=(one, other),
                    outcome=int(possible[place]),
                )
    return worst


def _matrix(transition: ArrayLike) -> NDArray[np.float64]:
    matrix = np.asarray(transition, dtype=np.float64)
    if matrix.ndim != 2 or not matrix.size:
        raise DPError(Message("A mechanism is a matrix: a row for each input."))
    if not (matrix >= 0).all() or not np.allclose(matrix.sum(axis=1), 1, atol=1e-9, rtol=0):
        raise DPError(Message("The chances of each row must be 0 or more and sum to 1."))
    return matrix


def _pairs(neighbours: Iterable[tuple[int, int]] | str, size: int) -> Iterable[tuple[int, int]]:
    if neighbours == "next":
        return ((i, i + 1) for i in range(size - 1))
    if neighbours == "all":
        return ((i, j) for i in range(size) for j in range(i))
    if isinstance(neighbours, str):
        raise DPError(
            Message("Unknown neighbours {neighbours!r}.", neighbours=Name(neighbours)),
            hint=Message("known: 'all', 'next'"),
        )
    pairs = list(neighbours)
    if any(not (0 <= i < size and 0 <= j < size) for i, j in pairs):
        raise DPError(Message("Neighbours must be inputs from 0 to {size}.", size=size - 1))
    return pairs
