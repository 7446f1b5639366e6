"""The errors of this package."""

from footing.errors import ExplainedError


class RapporError(ExplainedError):
    """Base of the errors of this package."""

    code = "rappor"


class ReportFileError(RapporError):
    """A file of reports, counts or parameters does not hold what it should.

    Examples
    --------
    >>> ReportFileError("The file 'counts.csv' is empty.").code
    'rappor-file'
    """

    code = "rappor-file"


class MismatchError(RapporError):
    """Reports or counts were made with other parameters.

    Examples
    --------
    >>> MismatchError("These counts were made with other parameters.").code
    'rappor-mismatch'
    """

    code = "rappor-mismatch"


class RapporInfeasibleError(RapporError):
    """No design reaches what is asked.

    Examples
    --------
    >>> RapporInfeasibleError("No design finds strings of 0.01 %.").code
    'rappor-infeasible'
    """

    code = "rappor-infeasible"


class CapError(RapporError):
    """A report would bring a client's loss above its cap; it must not be sent.

    Examples
    --------
    >>> CapError("This report would bring the loss to 4.4, above the cap of 2.5.").code
    'rappor-cap'
    """

    code = "rappor-cap"
