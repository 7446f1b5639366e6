"""What went wrong, for people and for programs: message, way out, exit code."""

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click

from ckm._packages import place_of
from ckm.cli.terminal.click_sentences import message_of
from footing.addresses import Address
from footing.errors import ExplainedError
from footing.messages import Message, Name, Shape, Text, data_of, joined, said

CHECK_FAILED = 1
WRONG_REQUEST = 2
WRONG_DATA = 3
INFEASIBLE = 4
INTERNAL = 70
INTERRUPTED = 130

# Looked up along the classes of an error, nearest first; by name, to import nothing.
_EXITS = {
    "KeyQualityError": CHECK_FAILED,
    "CheckFailedError": CHECK_FAILED,
    "ThinDifferenceError": CHECK_FAILED,
    "ManyCountsError": CHECK_FAILED,
    "SecondMethodError": CHECK_FAILED,
    "OtherMethodsError": CHECK_FAILED,
    "BudgetSpentError": CHECK_FAILED,
    "CapError": CHECK_FAILED,
    "SourceError": WRONG_DATA,
    "DataError": WRONG_DATA,
    "MagnitudeError": WRONG_DATA,
    "MismatchError": WRONG_DATA,
    "ReportFileError": WRONG_DATA,
    "DomainError": WRONG_DATA,
    "SynthError": WRONG_REQUEST,
    "InfeasibleError": INFEASIBLE,
    "RapporInfeasibleError": INFEASIBLE,
    "InternalError": INTERNAL,
    "TablesError": WRONG_REQUEST,
    "PTableError": WRONG_REQUEST,
    "ReportError": WRONG_REQUEST,
    "RapporError": WRONG_REQUEST,
    "DPError": WRONG_REQUEST,
    "TrainingDataError": WRONG_DATA,
    "DPSGDError": WRONG_REQUEST,
    "RiskError": WRONG_REQUEST,
    "CkmError": WRONG_REQUEST,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An error as it is shown."""

    exit: int
    code: str
    message: str
    hint: str | None = None
    problems: tuple[dict[str, Any], ...] = ()
    located: tuple[dict[str, Any], ...] = ()
    inside: str = ""

    def fields(self) -> dict[str, Any]:
        """Return the fields of the JSON line; what stays inside is no part of it."""
        words = {"message": self.message, "hint": self.hint} | data_of(self.message)
        problems = {"problems": list(self.problems)} if self.problems else {}
        return {"code": self.code, "exit": self.exit, **words, **problems}


def explain(error: BaseException) -> Failure:
    """Turn an exception into what the user sees. Texts of foreign exceptions are never shown:
    they may quote data.
    """  # noqa: D205
    if isinstance(error, click.UsageError):
        return _usage(error)
    if isinstance(error, click.ClickException):
        return Failure(exit=WRONG_REQUEST, code="usage", message=message_of(error))
    if isinstance(error, ExplainedError):
        return _our(error)
    if isinstance(error, OSError) and error.errno is not None:
        return _system(error, error.errno)
    if isinstance(error, MemoryError):
        return Failure(
            exit=WRONG_REQUEST,
            code="memory",
            message=Message("The memory of this machine does not suffice."),
            hint=Message("limit it with --memory-limit, or ask for fewer dimensions"),
        )
    return _bug(error)


def _system(error: OSError, number: int) -> Failure:
    reason = os.strerror(number)
    is_full = number in {errno.ENOSPC, errno.EDQUOT}
    hint = (
        Message("free some space")
        if is_full
        else Message("look at the path and its permissions")
    )
    message = Message(
        "A file or the output of the command cannot be written or read: {reason}.",
        reason=Text(reason),
    )
    if error.filename:
        name = Address(os.path.basename(os.fsdecode(error.filename))).masked  # noqa: PTH119
        message = Message("{name!r}: {reason}.", name=Name(name), reason=Text(reason))
    return Failure(exit=WRONG_REQUEST, code="system", message=message, hint=hint)


def _usage(error: click.UsageError) -> Failure:
    is_bare = isinstance(error, click.exceptions.NoArgsIsHelpError)
    message = Message("The command is missing.") if is_bare else message_of(error)
    hint = (
        None
        if error.ctx is None
        else Message("see: {command} --help", command=Name(error.ctx.command_path))
    )
    return Failure(exit=WRONG_REQUEST, code="usage", message=message, hint=hint)


def _our(error: ExplainedError) -> Failure:
    names = [cls.__name__ for cls in type(error).__mro__]
    code = next((_EXITS[name] for name in names if name in _EXITS), INTERNAL)
    hint: str | None = error.hint
    if code == INTERNAL:
        hint = joined("; ", [hint, _REPORT]) if hint else _REPORT
    problems = tuple(
        {
            "code": str(error.code),
            "message": p.text,
            "hint": p.hint,
            "where": p.where,
            "file": getattr(error, "file", None),
            "line": p.number,
            "key": ".".join(map(str, p.at)) or None,
        }
        for p in getattr(error, "problems", ())
        if hasattr(p, "where")
    )
    return Failure(
        exit=code,
        code=str(error.code),
        message=error.problem,
        hint=hint,
        problems=problems,
        located=tuple(_located(error)),
        inside=error.inside,
    )


def _located(error: ExplainedError) -> Iterator[dict[str, Any]]:
    """Give what is wrong in each line of a file that an error, or a part of it, is about."""
    for part in error.parts:
        yield from _located(part)
    if error.location is not None:
        yield {
            "code": str(error.code),
            "message": error.location.problem,
            "hint": error.hint,
            "where": "",
            "file": error.location.file,
            "line": error.location.line,
            "key": None,
        }


_REPORT = Message("this is a bug of ckm: report this message with the output of ckm --version")


def _bug(error: BaseException) -> Failure:
    place = place_of(error)
    return Failure(
        exit=INTERNAL,
        code="bug",
        message=Message(
            "ckm stopped on a bug of its own: {name} at {place}.",
            name=Shape(type(error)),
            place=said(place),
        ),
        hint=Message(
            "report this line with the output of ckm --version; CKM_DEBUG=1 shows "
            "more, but what it shows may hold data"
        ),
    )
