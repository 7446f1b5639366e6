"""The errors of this package."""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "CapError",
    "MismatchError",
    "RapporError",
    "RapporInfeasibleError",
    "ReportFileError",
]


class RapporError(ValueError):
    """Say what must hold, what was found and one way out.

    Parameters
    ----------
    problem
        What must hold or cannot be done, and what was found instead.
    hint
        One way out.

    Examples
    --------
    >>> print(RapporError("q must differ from p, not equal it.", hint="try q=0.75"))
    q must differ from p, not equal it.
      hint: try q=0.75
    """

    code: ClassVar[str] = "rappor"

    def __init__(self, problem: str, *, hint: str | None = None) -> None:
        super().__init__(problem if hint is None else f"{problem}\n  hint: {hint}")
        self.problem = problem
        self.hint = hint


class ReportFileError(RapporError):
    """A file of reports, counts or parameters does not hold what it should.

    Examples
    --------
    >>> ReportFileError("The file 'counts.csv' is empty.").code
    'rappor-file'
    """

    code: ClassVar[str] = "rappor-file"


class MismatchError(RapporError):
    """Reports or counts were made with other parameters.

    Examples
    --------
    >>> MismatchError("These counts were made with other parameters.").code
    'rappor-mismatch'
    """

    code: ClassVar[str] = "rappor-mismatch"


class RapporInfeasibleError(RapporError):
    """No design reaches what is asked.

    Examples
    --------
    >>> RapporInfeasibleError("No design finds strings of 0.01 %.").code
    'rappor-infeasible'
    """

    code: ClassVar[str] = "rappor-infeasible"


class CapError(RapporError):
    """A report would bring a client's loss above its cap; it must not be sent.

    Examples
    --------
    >>> CapError("This report would bring the loss to 4.4, above the cap of 2.5.").code
    'rappor-cap'
    """

    code: ClassVar[str] = "rappor-cap"
