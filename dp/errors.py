"""The errors and the warning of this package."""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "BudgetSpentError",
    "DPError",
    "DPWarning",
    "LedgerFileError",
    "MissingPackageError",
    "UnboundedError",
]


class DPError(ValueError):
    """Say what must hold, what was found and one way out.

    Parameters
    ----------
    problem
        What must hold or cannot be done, and what was found instead.
    hint
        One way out.

    Examples
    --------
    >>> print(DPError("epsilon must be positive, not -1.", hint="0.1 to 1 is usual"))
    epsilon must be positive, not -1.
      hint: 0.1 to 1 is usual
    """

    code: ClassVar[str] = "dp"

    def __init__(self, problem: str, *, hint: str | None = None) -> None:
        super().__init__(problem if hint is None else f"{problem}\n  hint: {hint}")
        self.problem = problem
        self.hint = hint


class UnboundedError(DPError):
    """One record can change the answer without limit: no noise hides it.

    Examples
    --------
    >>> UnboundedError.code
    'dp-unbounded'
    """

    code: ClassVar[str] = "dp-unbounded"


class BudgetSpentError(DPError):
    """What is asked for costs more than what is left. Nothing was charged.

    Examples
    --------
    >>> BudgetSpentError.code
    'dp-spent'
    """

    code: ClassVar[str] = "dp-spent"


class LedgerFileError(DPError):
    """A ledger cannot be opened, or is not what it says.

    Examples
    --------
    >>> LedgerFileError.code
    'dp-ledger'
    """

    code: ClassVar[str] = "dp-ledger"


class MissingPackageError(DPError, ImportError):
    """A package that does the work is not installed.

    Examples
    --------
    >>> issubclass(MissingPackageError, ImportError)
    True
    """

    code: ClassVar[str] = "dp-package"


class DPWarning(UserWarning):
    """What weakens a guarantee or an account, and can be mended.

    Examples
    --------
    >>> issubclass(DPWarning, UserWarning)
    True
    """
