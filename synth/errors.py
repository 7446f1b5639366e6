"""The errors of this package."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["OverspentError", "SynthError"]


class SynthError(ValueError):
    """Say what must hold, what was found and one way out.

    Parameters
    ----------
    problem
        What must hold or cannot be done, and what was found instead.
    hint
        One way out.

    Examples
    --------
    >>> print(SynthError("rho must be positive, not 0.", hint="0.03 is epsilon 1"))
    rho must be positive, not 0.
      hint: 0.03 is epsilon 1
    """

    code: ClassVar[str] = "synth"

    def __init__(self, problem: str, *, hint: str | None = None) -> None:
        super().__init__(problem if hint is None else f"{problem}\n  hint: {hint}")
        self.problem = problem
        self.hint = hint


class OverspentError(SynthError):
    """A measurement would cost more than what is left. Nothing was measured.

    Examples
    --------
    >>> OverspentError.code
    'synth-overspent'
    """

    code: ClassVar[str] = "synth-overspent"
