"""The errors of this package."""

from footing.errors import ExplainedError


class RiskError(ExplainedError):
    """Base of the errors of this package."""

    code = "risk"
