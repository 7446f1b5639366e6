"""The errors and the warning of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from footing.errors import ExplainedError

if TYPE_CHECKING:
    from ptable.solver.feasibility import RowFeasibility


class PTableError(ExplainedError):
    """Base of the errors of this package."""

    code = "ptable"


class InfeasibleError(PTableError):
    """No p-table satisfies the specification.

    Parameters
    ----------
    problem
        The rows that cannot be met and the variances they can reach.
    rows
        The feasibility of each of these rows.
    hint
        The nearest setting that works.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> try:
    ...     solve(NoiseSpec(max_noise=2, variance=3.0))
    ... except InfeasibleError as error:
    ...     print(error.code, [row.count for row in error.rows])
    ptable-infeasible [1]
    """

    code = "ptable-infeasible"

    def __init__(
        self, problem: str, *, rows: tuple[RowFeasibility, ...] = (), hint: str | None = None
    ) -> None:
        super().__init__(problem, hint=hint, at=("max_noise",))
        self.rows = rows


class InternalError(PTableError, RuntimeError):
    """A broken invariant of this package; please report it.

    Examples
    --------
    >>> InternalError.code
    'ptable-internal'
    """

    code = "ptable-internal"


class PTableWarning(UserWarning):
    """A specification was met only in part, and the user can act on it.

    Examples
    --------
    >>> issubclass(PTableWarning, UserWarning)
    True
    """
