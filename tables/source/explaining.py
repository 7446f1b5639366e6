"""Errors of DuckDB and of drivers, told without their texts, which may quote records."""

import contextlib
import re
from collections.abc import Callable, Iterator

import duckdb

from footing.messages import Argument, Message, Name, Shape
from tables.errors import SourceError, TablesError
from tables.source.far_times import refusal_of_far

_STATES = Message(
    "42P01 is no such table, 42703 no such column, 42601 no SQL, 42501 no "
    "permission, 25006 a query that would write, 28P01 a wrong password"
)
#: What a driver's text must hold → what is told in its place, and a way out.
_REASONS = {
    r"libpq\] Failed to connect.*(FATAL|password)": (
        Message("refuses the user, the password or the database"),
        Message("a password stands in PGPASSWORD or ~/.pgpass"),
    ),
    r"libpq\] Failed to connect|NETWORK_CONNECTION": (
        Message("does not answer"),
        Message("look at the server's name and port"),
    ),
    r"no such (table|column):": (
        Message("has no table or column of that name"),
        Message("look at its spelling"),
    ),
    r"IO: failed to open|unable to open database file": (
        Message("cannot be opened"),
        Message("look at the path's spelling"),
    ),
    r"Could not decode to UTF-8": (
        Message("holds texts that are not in UTF-8"),
        Message("write them again in UTF-8, or cast the column to a blob"),
    ),
    r"AWS Error": (
        Message("cannot be read from S3"),
        Message(
            "look at the address and rights, and at AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        ),
    ),
}


@contextlib.contextmanager
def explained(
    label: str, *kinds: type[Exception], far_column: Callable[[], str | None] | None = None
) -> Iterator[None]:
    """Turn DuckDB's errors, and those of other kinds, into ours, which quote no record.

    Where values do not fit their type, what finds a column of points in time too far away is
    asked for its name.
    """
    try:
        yield
    except TablesError:
        raise
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except Exception as error:
        if not isinstance(error, (duckdb.Error, RuntimeError, *kinds)):
            raise
        is_unfit = isinstance(error, duckdb.ConversionException)
        name = far_column() if is_unfit and far_column is not None else None
        explanation = _explain(error, label) if name is None else _explain_far(name)
        error.args = ()  # the chain of exceptions must not carry the text either
        raise explanation from None


def _explain_far(name: str) -> SourceError:
    refusal = refusal_of_far(name)
    return SourceError(refusal.problem, hint=refusal.hint)


def _explain(error: BaseException, label: str) -> SourceError:
    """Say what DuckDB could not do, without its text."""
    text = str(error)
    if isinstance(error, duckdb.OutOfMemoryException):
        return SourceError(
            Message("The work does not fit into the memory and the disk space for spilling."),
            hint=Message("raise memory_limit, free disk space, or ask for fewer dimensions"),
        )
    line = re.search(r"[Ll]ine:?\s*(\d+)", text)
    where = Message(" (line {group})", group=Name(line.group(1))) if line else Message()
    what = {
        "InvalidInputException": Message("is damaged or not of its format{where}", where=where),
        "IOException": Message("cannot be read from disk{where}", where=where),
        "ConversionException": Message(
            "holds values that do not fit their column's type{where}", where=where
        ),
    }.get(
        type(error).__name__,
        Message("cannot be read ({name}){where}", name=Shape(type(error)), where=where),
    )
    is_ours = isinstance(error, duckdb.Error)
    hint = (
        Message("check the file with another reader")
        if is_ours
        else Message("look at the address and rights")
    )
    for pattern, reason in _REASONS.items() if not is_ours else ():
        if re.search(pattern, text, re.DOTALL):
            what, hint = reason
            break
    if state := getattr(error, "sqlstate", None):
        what, hint = (
            Message("cannot be read (SQLSTATE {state})", state=Argument(state)),
            _STATES,
        )
    return SourceError(
        Message("The source {label!r} {what}.", label=Name(label), what=what), hint=hint
    )
