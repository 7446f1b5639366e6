"""The errors of `tables`: each with a stable code, a problem and a way out."""

import difflib
from collections.abc import Iterable

from footing.errors import ExplainedError, unshown
from footing.messages import Argument, Message, Name, mark, said
from tables import lookalikes


class TablesError(ExplainedError):
    """Base of the errors of this package."""

    code = "tables"


class SourceError(TablesError, OSError):
    """The data cannot be opened or read."""

    code = "tables-source"


class DataError(TablesError):
    """The data do not fit what was asked of them."""

    code = "tables-data"


class KeyQualityError(DataError):
    """The record keys are missing, repeated, out of range or not uniform."""

    code = "tables-keys"


class RequestError(TablesError):
    """The request is wrong, whatever the data hold."""

    code = "tables-request"


class FilterError(RequestError):
    """The filter cannot be parsed or does not fit the columns' types.

    Parameters
    ----------
    problem, hint
        As for every error.
    reason
        What is wrong, in one word, for those who say it in other words or languages:
        ``"length"``, ``"depth"``, ``"empty"``, ``"sign"``, ``"expected"``, ``"column"`` or
        ``"type"``.
    facts
        What the reason speaks of: a limit, a position, a column.
    """

    code = "tables-filter"

    def __init__(
        self, problem: str, *, hint: str | None = None, reason: str = "", **facts: object
    ) -> None:
        self.reason = reason
        self.facts = facts
        super().__init__(problem, hint=hint, at=("where",))


class StoppedError(TablesError, TimeoutError, is_public=False):
    """The work was stopped because its time was over."""

    code = "tables-stopped"


class DataWarning(UserWarning):
    """The data fit what was asked, but not as whoever asked may expect.

    Parameters
    ----------
    problem
        What is noticed. Never a record, a code or a number of records.
    inside
        What of the data it is, as for `ExplainedError`: for the terminal alone.
    """

    def __init__(self, problem: str = "", *, inside: str = "") -> None:
        super().__init__(problem)
        self.inside = unshown(inside)


class KeyQualityWarning(DataWarning):
    """The record keys have a defect that was asked to be tolerated."""


_UNKNOWN = {
    "Column": mark("Column {name!r} is not in the data; it has {names}."),
    "Sheet": mark("Sheet {name!r} is not in the data; it has {names}."),
    "Margin": mark("Margin {name!r} is not a dimension of the table; it has {names}."),
    "Table": mark("Table {name!r} is not in the data; it has {names}."),
}


def unknown_name(kind: str, name: object, names: Iterable[str]) -> tuple[str, str]:
    """Word the problem and the hint for a name that does not exist."""
    listing, hint = _likely(name, list(names))
    if kind in _UNKNOWN:
        return Message(_UNKNOWN[kind], name=Argument(name), names=listing), hint
    problem = Message(
        "{kind} {name!r} is not in the data; it has {names}.",
        kind=said(kind),
        name=Argument(name),
        names=listing,
    )
    return problem, hint


def missing_column(file: str, name: object, names: Iterable[str]) -> tuple[str, str]:
    """Word the problem and the hint for a column that a file beside the data lacks."""
    listing, hint = _likely(name, list(names))
    return Message(
        "The file {file!r} has no column {name!r}; it has {words}.",
        file=Name(file),
        name=Argument(name),
        words=listing,
    ), hint


def _likely(name: object, names: list[str]) -> tuple[Message, Message]:
    """Return the first names that exist, and the hint that names the nearest."""
    listing = Message(
        "{names!r}{more}",
        names=Name.each(names[:12]),
        more=Message(", …") if len(names) > 12 else Message(),
    )
    looks = lookalikes.appearance(str(name))
    alike = [other for other in names if lookalikes.appearance(other) == looks]
    close = alike or difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
    hint = (
        Message("did you mean {close!r}?", close=Name(close[0]))
        if close
        else Message("names are case-sensitive")
    )
    if alike:
        points = lookalikes.code_points(str(name), close[0])
        hint = Message(
            "did you mean {close!r}? It looks alike, and is written otherwise: {points}",
            close=Name(close[0]),
            points=said(points),
        )
    return listing if names else Message("none"), hint
