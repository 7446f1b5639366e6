"""The errors of this package."""

from __future__ import annotations

from footing.errors import ExplainedError

__all__ = ["RiskError"]


class RiskError(ExplainedError):
    """Base of the errors of this package."""

    code = "risk"
