"""The errors of this package."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["RiskError"]


class RiskError(ValueError):
    """Say what must hold, what was found and one way out.

    Parameters
    ----------
    problem
        What must hold or cannot be done, and what was found instead.
    hint
        One way out.

    Examples
    --------
    >>> print(RiskError("The prior must sum to 1, not 0.9.", hint="divide it by its sum"))
    The prior must sum to 1, not 0.9.
      hint: divide it by its sum
    """

    code: ClassVar[str] = "risk"

    def __init__(self, problem: str, *, hint: str | None = None) -> None:
        super().__init__(problem if hint is None else f"{problem}\n  hint: {hint}")
        self.problem = problem
        self.hint = hint
