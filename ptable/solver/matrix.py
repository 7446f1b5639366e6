"""A whole transition matrix as one program: nothing is asked of it but what is named.

`ptable.solver.joint` has what a p-table of the cell key method must have: no bias, zeros that
stay, bounded noise. Here is a matrix without any of that, for designs of others: which of them
are the optimum of which constraints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from footing.checks import is_integer
from footing.messages import Argument, Message, Name
from ptable.errors import InfeasibleError, PTableError
from ptable.solver.statement import LINEAR, TIGHT, is_linear, load_cvxpy, solved

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ptable.design.shapes import Constraint

_Loss: TypeAlias = "Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[Any]]"

#: What each objective loses; None for the greatest entropy.
LOSSES: dict[str, _Loss | None] = {
    "entropy": None,
    "least-change": lambda i, j: np.where(i == j, 0.0, 1.0),
    "least-deviation": lambda i, j: abs(j - i) + 0.0,
    "least-variance": lambda i, j: (j - i) ** 2.0,
    "least-hellinger": lambda i, j: (np.sqrt(j) - np.sqrt(i)) ** 2 / 2,
}
_MAX_COUNT = 400
#: How far below 0 a probability may be for the solver's rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MatrixDesign:
    """A transition matrix that loses least within some constraints.

    Parameters
    ----------
    counts, published
        What its rows and columns belong to.
    transition
        P(published column | count row).
    loss
        What it loses on average; of entropy its negative.
    status
        What the solver said.
    words
        What was asked of it, a sentence each.
    """

    counts: NDArray[np.int64]
    published: NDArray[np.int64]
    transition: NDArray[np.float64]
    loss: float
    status: str
    words: tuple[str, ...] = field(default=())


def solve_matrix(
    counts: int | Sequence[int],
    *,
    published: Sequence[int] | None = None,
    objective: str = "least-change",
    weights: ArrayLike | None = None,
    constraints: Sequence[Constraint] = (),
) -> MatrixDesign:
    """Find the transition matrix that loses least within named constraints.

    Rows sum to one and nothing is negative; all else is named. What is linear is solved by
    HiGHS, so that the matrix is a vertex, and others by Clarabel.

    Parameters
    ----------
    counts
        The counts of the rows, or the largest one: 0, 1, ... up to it.
    published
        What may be published; the counts by default.
    objective
        ``"least-change"``, the probability of not staying, ``"least-deviation"``,
        ``"least-variance"``, ``"least-hellinger"``, or ``"entropy"``.
    weights
        What each count weighs in the loss; all the same by default.
    constraints
        From `ptable.design.shapes`, or your own: called with the matrix and its counts.

    Raises
    ------
    InfeasibleError
        Where no matrix has all of them.

    Examples
    --------
    >>> from ptable.design.shapes import privacy
    >>> design = solve_matrix(1, constraints=[privacy(math.log(3))])  # randomised response
    >>> design.transition.round(6).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    cp = load_cvxpy()

    if objective not in LOSSES:
        raise PTableError(
            Message(
                "objective must be one of {words}, not {objective!r}.",
                words=Argument(tuple(LOSSES)),
                objective=Argument(objective),
            )
        )
    rows = _counts(range(counts + 1) if isinstance(counts, int) else counts)
    columns = rows if published is None else _counts(published)
    i, j = rows[:, None], columns[None, :]
    share = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
    if share.shape != rows.shape or not (share >= 0).all() or not 0 < share.sum() < math.inf:
        raise PTableError(Message("weights must be one number of 0 or more for each count."))
    P = cp.Variable((len(rows), len(columns)), nonneg=True, name="P")  # noqa: N806
    lines: list[Any] = [cp.sum(P, axis=1) == 1]
    for constraint in constraints:
        lines += constraint(P, i, j)
    loss = LOSSES[objective]
    share = share / share.sum()
    goal = (
        cp.Minimize(-cp.sum(cp.multiply(share[:, None] + 0.0 * j, cp.entr(P))))
        if loss is None
        else cp.Minimize(cp.sum(cp.multiply(share[:, None] * loss(i, j), P)))
    )
    problem = cp.Problem(goal, lines)
    if is_linear(problem):
        status = solved(problem, "HIGHS", **LINEAR)
    else:
        status = solved(problem, "CLARABEL", **TIGHT)
    words = tuple((one.__doc__ or "").strip().partition("\n")[0] for one in constraints)
    if P.value is None or not status.startswith("optimal"):
        raise InfeasibleError(
            Message("No matrix has all of this: {status}.", status=Name(status)),
            hint=Message("leave one of the constraints out"),
        )
    transition = np.where(abs(P.value) < _ROUNDING, 0.0, P.value)
    return MatrixDesign(
        counts=rows,
        published=columns,
        transition=transition,
        loss=float(problem.value),
        status=status,
        words=words,
    )


def _counts(counts: Sequence[int]) -> NDArray[np.int64]:
    values = list(counts)
    if not values or not all(map(is_integer, values)) or sorted({*values}) != values:
        raise PTableError(Message("counts must be whole numbers, each larger than the last."))
    if values[0] < 0 or values[-1] > _MAX_COUNT or len(values) > _MAX_COUNT:
        raise PTableError(Message("counts must lie in 0..{most}.", most=_MAX_COUNT))
    return np.array(values, dtype=np.int64)
