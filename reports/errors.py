"""The error of this package."""

from footing.errors import ExplainedError


class ReportError(ExplainedError):
    """Base of the errors of this package."""

    code = "report"
