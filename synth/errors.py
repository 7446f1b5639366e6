"""The errors of this package."""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "CertificateError",
    "DomainError",
    "OverspentError",
    "RuleError",
    "SchemaError",
    "SynthError",
    "SynthWarning",
    "UndeclaredError",
    "UnitError",
]


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


class SchemaError(SynthError):
    """A declaration does not hold together.

    Examples
    --------
    >>> SchemaError.code
    'synth-schema'
    """

    code: ClassVar[str] = "synth-schema"


class UndeclaredError(SchemaError):
    """A domain is not declared: it would have to be read off the confidential records.

    Examples
    --------
    >>> UndeclaredError.code
    'synth-undeclared'
    """

    code: ClassVar[str] = "synth-undeclared"


class RuleError(SchemaError):
    """A rule cannot be read, or no record can satisfy it.

    Examples
    --------
    >>> RuleError.code
    'synth-rule'
    """

    code: ClassVar[str] = "synth-rule"


class DomainError(SynthError):
    """The records do not fit the schema.

    Examples
    --------
    >>> DomainError.code
    'synth-domain'
    """

    code: ClassVar[str] = "synth-domain"


class UnitError(DomainError):
    """A unit has more records than the schema says, or a record has no unit.

    Examples
    --------
    >>> UnitError.code
    'synth-unit'
    """

    code: ClassVar[str] = "synth-unit"


class CertificateError(SynthError):
    """A certificate cannot be read, or a model is not one.

    Examples
    --------
    >>> CertificateError.code
    'synth-certificate'
    """

    code: ClassVar[str] = "synth-certificate"


class SynthWarning(UserWarning):
    """What weakens the protection or the data, and can be mended.

    Examples
    --------
    >>> issubclass(SynthWarning, UserWarning)
    True
    """
