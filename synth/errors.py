"""The errors of this package."""

from typing import ClassVar

from footing.errors import ExplainedError


class SynthError(ExplainedError):
    """Base of the errors of this package."""

    code = "synth"


class OverspentError(SynthError):
    """A measurement would cost more than what is left. Nothing was measured.

    Examples
    --------
    >>> OverspentError.code
    'synth-overspent'
    """

    code = "synth-overspent"


class SchemaError(SynthError):
    """A declaration does not hold together.

    Examples
    --------
    >>> SchemaError.code
    'synth-schema'
    """

    code = "synth-schema"


class UndeclaredError(SchemaError):
    """A domain is not declared: it would have to be read off the confidential records.

    Examples
    --------
    >>> UndeclaredError.code
    'synth-undeclared'
    """

    code = "synth-undeclared"


class RuleError(SchemaError):
    """A rule cannot be read, or no record can satisfy it.

    Examples
    --------
    >>> RuleError.code
    'synth-rule'
    """

    code = "synth-rule"


class DomainError(SynthError):
    """The records do not fit the schema.

    Examples
    --------
    >>> DomainError.code
    'synth-domain'
    """

    code = "synth-domain"


class UnitError(DomainError):
    """A unit has more records than the schema says, or a record has no unit.

    Examples
    --------
    >>> UnitError.code
    'synth-unit'
    """

    code = "synth-unit"


class CertificateError(SynthError):
    """A certificate cannot be read, or a model is not one.

    Examples
    --------
    >>> CertificateError.code
    'synth-certificate'
    """

    code = "synth-certificate"


class EvaluationError(SynthError, is_public=False):
    """The frames or the request cannot be evaluated.

    Examples
    --------
    >>> EvaluationError.code
    'synth-evaluation'
    """

    code: ClassVar[str] = "synth-evaluation"
