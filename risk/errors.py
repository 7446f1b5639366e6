"""The errors of this package."""

from __future__ import annotations

from footing.errors import ExplainedError


class RiskError(ExplainedError):
    """Base of the errors of this package."""

    code = "risk"
