"""Constraints on a transition matrix by name, for `ptable.solver.matrix` and `ptable.solve`.

Each is called as ``constraint(P, i, j)``: a cvxpy expression whose rows are the counts ``i``
and whose columns are the published counts ``j``, arrays of the shapes ``(rows, 1)`` and
``(1, columns)``. Cormode, Kulkarni and Srivastava (2018) write counts as columns, so that their
rows are the columns here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from footing.checks import problems_of
from footing.messages import Message, joined
from ptable.errors import PTableError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

#: A constraint that waits for its matrix.
Constraint: TypeAlias = "Callable[[Any, NDArray[np.int64], NDArray[np.int64]], list[Any]]"


def privacy(epsilon: float) -> Constraint:
    """Limit the odds between neighbouring counts: ``P[i, j] ≤ e^ε P[i ± 1, j]``.

    Parameters
    ----------
    epsilon
        ε of differential privacy.

    Examples
    --------
    >>> privacy(1.0).__doc__
    'Let neighbouring counts differ by a factor of at most e^1 in every column.'
    """
    _require(problems_of(epsilon, "epsilon", minimum=0))
    factor = math.exp(epsilon)

    def constraint(P: Any, i: Any, j: Any) -> list[Any]:  # noqa: N803
        del i, j
        return [P[:-1] <= factor * P[1:], P[1:] <= factor * P[:-1]]

    said = (
        f"Let neighbouring counts differ by a factor of at most e^{epsilon:g} in every column."
    )
    constraint.__doc__ = said
    return constraint


def smoothness(epsilon: float) -> Constraint:
    """Limit the odds between neighbouring noises: ``P[i, j] ≤ e^ε P[i, j ± 1]``.

    Parameters
    ----------
    epsilon
        ε of noise that is the same whatever the count.

    Examples
    --------
    >>> smoothness(1.0).__doc__
    'Let neighbouring published counts differ by a factor of at most e^1 in every row.'
    """
    _require(problems_of(epsilon, "epsilon", minimum=0))
    factor = math.exp(epsilon)

    def constraint(P: Any, i: Any, j: Any) -> list[Any]:  # noqa: N803
        del i, j
        return [P[:, :-1] <= factor * P[:, 1:], P[:, 1:] <= factor * P[:, :-1]]

    said = "Let neighbouring published counts differ by a factor of at most "
    constraint.__doc__ = f"{said}e^{epsilon:g} in every row."
    return constraint


def invariance(distribution: ArrayLike) -> Constraint:
    """Leave a distribution of counts as it is: ``Σ_i π_i P[i, j] = π_j``.

    Parameters
    ----------
    distribution
        The share of each count.

    Examples
    --------
    >>> invariance([0.5, 0.5]).__doc__
    'Give published counts the distribution that counts have.'
    """
    shares = np.asarray(distribution, dtype=np.float64)
    if shares.ndim != 1 or not np.isfinite(shares).all() or (shares < 0).any():
        raise PTableError(Message("A distribution has one share of 0 or more for each count."))

    def constraint(P: Any, i: Any, j: Any) -> list[Any]:  # noqa: N803
        """Give published counts the distribution that counts have."""
        del i, j
        return [shares @ P == shares]

    return constraint


def unbiasedness(P: Any, i: Any, j: Any) -> list[Any]:  # noqa: N803
    """Give noise the mean 0."""
    return [P @ j.ravel() == i.ravel()]


def symmetry(P: Any, i: Any, j: Any) -> list[Any]:  # noqa: N803
    """Keep the matrix the same from its other end: ``P[i, j] = P[n - i, n - j]``."""
    del i, j
    return [P[::-1, ::-1] == P]


def fairness(P: Any, i: Any, j: Any) -> list[Any]:  # noqa: N803
    """Let every count stay as likely as any other."""
    first, *others = _own_pairs(i, j)
    return [P[first] == P[other] for other in others]


def weak_honesty(P: Any, i: Any, j: Any) -> list[Any]:  # noqa: N803
    """Let a count stay at least as likely as by a draw of all published counts."""
    return [P[place] >= 1 / j.size for place in _own_pairs(i, j)]


def row_honesty(P: Any, i: Any, j: Any) -> list[Any]:  # noqa: N803
    """Publish no count as another one likelier than as itself."""
    return [P[row, column] >= P[row] for row, column in _own_pairs(i, j)]


def column_honesty(P: Any, i: Any, j: Any) -> list[Any]:  # noqa: N803
    """Let a published count stem from no other count likelier than from itself."""
    return [P[row, column] >= P[:, column] for row, column in _own_pairs(i, j)]


def row_monotony(P: Any, i: Any, j: Any) -> list[Any]:  # noqa: N803
    """Let probabilities of a row fall with the distance from the count."""
    constraints = []
    for row, column in _own_pairs(i, j):
        constraints += [P[row, k] <= P[row, k + 1] for k in range(column)]
        constraints += [P[row, k + 1] <= P[row, k] for k in range(column, j.size - 1)]
    return constraints


def column_monotony(P: Any, i: Any, j: Any) -> list[Any]:  # noqa: N803
    """Let probabilities of a column fall with the distance from the published count."""
    constraints = []
    for row, column in _own_pairs(i, j):
        constraints += [P[k, column] <= P[k + 1, column] for k in range(row)]
        constraints += [P[k + 1, column] <= P[k, column] for k in range(row, i.size - 1)]
    return constraints


def largest_noise(max_noise: int) -> Constraint:
    """Bound the noise: ``P[i, j] = 0`` where ``|j - i|`` is larger.

    Parameters
    ----------
    max_noise
        The largest noise.

    Examples
    --------
    >>> largest_noise(2).__doc__
    'Keep noise to 2 in either direction.'
    """
    _require(problems_of(max_noise, "max_noise", is_whole=True, minimum=1))

    def constraint(P: Any, i: Any, j: Any) -> list[Any]:  # noqa: N803
        rows, columns = np.nonzero(abs(j - i) > max_noise)
        return [P[rows, columns] == 0] if len(rows) else []

    constraint.__doc__ = f"Keep noise to {max_noise} in either direction."
    return constraint


def all_of(*constraints: Constraint) -> Constraint:
    """Ask for several constraints at once, as ``solve(spec, constraints=...)`` takes them.

    Parameters
    ----------
    constraints
        The constraints.

    Examples
    --------
    >>> all_of(row_honesty, privacy(1.0)).__doc__.splitlines()[0]
    'Publish no count as another one likelier than as itself.'
    """

    def constraint(P: Any, i: Any, j: Any) -> list[Any]:  # noqa: N803
        return [one for some in constraints for one in some(P, i, j)]

    constraint.__doc__ = "\n".join(some.__doc__ or "" for some in constraints)
    return constraint


def _own_pairs(i: NDArray[np.int64], j: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Give where counts stay: the places of row and column."""
    rows, columns = np.nonzero(i == j)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _require(problems: Sequence[str]) -> None:
    if problems:
        raise PTableError(Message("{problems}.", problems=joined("; ", problems)))
