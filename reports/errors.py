"""The error of this package."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["ReportError"]


class ReportError(ValueError):
    """Say what must hold, what was found and one way out.

    Parameters
    ----------
    problem
        What must hold or cannot be done, and what was found instead.
    hint
        One way out.

    Examples
    --------
    >>> print(ReportError("There is no language 'de'.", hint="take 'en' or 'fr'"))
    There is no language 'de'.
      hint: take 'en' or 'fr'
    """

    code: ClassVar[str] = "report"

    def __init__(self, problem: str, *, hint: str | None = None) -> None:
        super().__init__(problem if hint is None else f"{problem}\n  hint: {hint}")
        self.problem = problem
        self.hint = hint
