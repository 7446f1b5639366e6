"""The errors of this package."""

from footing.errors import ExplainedError


class DPSGDError(ExplainedError):
    """Base of the errors of this package."""

    code = "dpsgd"


class PlanError(DPSGDError):
    """A plan contradicts itself, or what is asked for is not in the plan.

    Examples
    --------
    >>> PlanError.code
    'dpsgd-plan'
    """

    code = "dpsgd-plan"


class BudgetEndedError(DPSGDError):
    """All steps of the plan are taken. One more would cost more than was promised.

    Examples
    --------
    >>> BudgetEndedError.code
    'dpsgd-ended'
    """

    code = "dpsgd-ended"


class UnsupportedLayerError(DPSGDError, TypeError):
    """A layer mixes records, or has no gradient for each record.

    Examples
    --------
    >>> issubclass(UnsupportedLayerError, TypeError)
    True
    """

    code = "dpsgd-layer"


class TrainingDataError(DPSGDError):
    """The data do not have the shape or the kind of values that the plan declares.

    Examples
    --------
    >>> TrainingDataError.code
    'dpsgd-data'
    """

    code = "dpsgd-data"


class CheckpointError(DPSGDError):
    """A file of a model or of a run is not what it says, or belongs to another plan.

    Examples
    --------
    >>> CheckpointError.code
    'dpsgd-checkpoint'
    """

    code = "dpsgd-checkpoint"
