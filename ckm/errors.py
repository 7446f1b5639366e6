"""The errors of `ckm`: each with a stable code, a problem and a way out."""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "CheckFailedError",
    "CkmError",
    "ConfigError",
    "FormatError",
    "InternalError",
    "ReleaseError",
]


class CkmError(ValueError):
    """Base of the errors of this package.

    Parameters
    ----------
    problem
        What must hold or cannot be done, and what we got. Never a record, a key or a cell.
    hint
        One way out.
    """

    code: ClassVar[str] = "ckm"

    def __init__(self, problem: str, *, hint: str | None = None) -> None:
        self.problem = problem
        self.hint = hint
        super().__init__(problem if hint is None else f"{problem}\n  hint: {hint}")


class ConfigError(CkmError):
    """A parameter or a job file is wrong."""

    code = "ckm-config"


class ReleaseError(CkmError):
    """A release cannot be written."""

    code = "ckm-release"


class FormatError(ReleaseError):
    """A table does not fit a file format, or a file holds no table."""

    code = "ckm-format"


class CheckFailedError(CkmError):
    """A check of a release failed: nothing was published."""

    code = "ckm-check"


class InternalError(CkmError, RuntimeError):
    """An invariant of the engine is broken: our fault, please report it."""

    code = "ckm-internal"
