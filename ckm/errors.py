"""The errors of `ckm`: each with a stable code, a problem and a way out."""

from dataclasses import dataclass

from footing.errors import ExplainedError


@dataclass(frozen=True, slots=True, repr=False)
class Places:
    """Cells that a refusal is about: for a file that its owner alone reads, and no message.

    Parameters
    ----------
    columns
        What is said of each.
    rows
        The cells.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


#: The columns of unsafe cells.
CELL_COLUMNS = ("table", "cell", "what")


class CkmError(ExplainedError):
    """Base of the errors of this package."""

    code = "ckm"


class ConfigError(CkmError):
    """A parameter or a job file is wrong."""

    code = "ckm-config"


class MagnitudeError(CkmError):
    """The amounts of a table do not fit the noise that was asked for.

    Examples
    --------
    >>> print(MagnitudeError("The variable 'income' has negative values.", hint="set signed"))
    The variable 'income' has negative values.
      hint: set signed
    """

    code = "ckm-magnitude"


class ReleaseError(CkmError):
    """A release cannot be written."""

    code = "ckm-release"


class FormatError(ReleaseError, is_public=False):
    """A table does not fit a file format, or a file holds no table."""

    code = "ckm-format"


class CheckFailedError(CkmError, is_public=False):
    """A check of a release failed: nothing was published.

    Parameters
    ----------
    problem, hint
        As for `ExplainedError`.
    places
        The cells at fault, which no message names.
    """

    code = "ckm-check"

    def __init__(
        self, problem: str, *, hint: str | None = None, places: Places | None = None
    ) -> None:
        super().__init__(problem, hint=hint)
        self.places = places


class InternalError(CkmError, RuntimeError):
    """An invariant of the engine is broken: our fault, please report it."""

    code = "ckm-internal"
