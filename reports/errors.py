"""The error of this package."""

from __future__ import annotations

from footing.errors import ExplainedError


class ReportError(ExplainedError):
    """Base of the errors of this package."""

    code = "report"
