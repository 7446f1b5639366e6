"""The errors and the warning of this package."""

from footing.errors import ExplainedError


class DPError(ExplainedError):
    """Base of the errors of this package."""

    code = "dp"


class UnboundedError(DPError):
    """One record can change the answer without limit: no noise hides it.

    Examples
    --------
    >>> UnboundedError.code
    'dp-unbounded'
    """

    code = "dp-unbounded"


class BudgetSpentError(DPError):
    """What is asked for costs more than what is left, or was had. Nothing was charged.

    Examples
    --------
    >>> BudgetSpentError.code
    'dp-spent'
    """

    code = "dp-spent"


class LedgerFileError(DPError):
    """A ledger cannot be opened, or is not what it says.

    Examples
    --------
    >>> LedgerFileError.code
    'dp-ledger'
    """

    code = "dp-ledger"


class MissingPackageError(DPError, ImportError):
    """A package that does the work is not installed.

    Examples
    --------
    >>> issubclass(MissingPackageError, ImportError)
    True
    """

    code = "dp-package"


class DPWarning(UserWarning):
    """What weakens a guarantee or an account, and can be mended.

    Examples
    --------
    >>> issubclass(DPWarning, UserWarning)
    True
    """
