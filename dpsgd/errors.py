"""The errors of this package."""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "BudgetEndedError",
    "CheckpointError",
    "DPSGDError",
    "PlanError",
    "TrainingDataError",
    "UnsupportedLayerError",
]


class DPSGDError(ValueError):
    """Say what must hold, what was found and one way out.

    Parameters
    ----------
    problem
        What must hold or cannot be done, and what was found instead.
    hint
        One way out.

    Examples
    --------
    >>> print(DPSGDError("steps must be a whole number from 1, not 0.", hint="try 600"))
    steps must be a whole number from 1, not 0.
      hint: try 600
    """

    code: ClassVar[str] = "dpsgd"

    def __init__(self, problem: str, *, hint: str | None = None) -> None:
        super().__init__(problem if hint is None else f"{problem}\n  hint: {hint}")
        self.problem = problem
        self.hint = hint


class PlanError(DPSGDError):
    """A plan contradicts itself, or what is asked for is not in the plan.

    Examples
    --------
    >>> PlanError.code
    'dpsgd-plan'
    """

    code: ClassVar[str] = "dpsgd-plan"


class BudgetEndedError(DPSGDError):
    """All steps of the plan are taken. One more would cost more than was promised.

    Examples
    --------
    >>> BudgetEndedError.code
    'dpsgd-ended'
    """

    code: ClassVar[str] = "dpsgd-ended"


class UnsupportedLayerError(DPSGDError, TypeError):
    """A layer mixes records, or has no gradient for each record.

    Examples
    --------
    >>> issubclass(UnsupportedLayerError, TypeError)
    True
    """

    code: ClassVar[str] = "dpsgd-layer"


class TrainingDataError(DPSGDError):
    """The data do not have the shape or the kind of values that the plan declares.

    Examples
    --------
    >>> TrainingDataError.code
    'dpsgd-data'
    """

    code: ClassVar[str] = "dpsgd-data"


class CheckpointError(DPSGDError):
    """A file of a model or of a run is not what it says, or belongs to another plan.

    Examples
    --------
    >>> CheckpointError.code
    'dpsgd-checkpoint'
    """

    code: ClassVar[str] = "dpsgd-checkpoint"
