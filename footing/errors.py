"""The error that the errors of every package descend from."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

from footing.addresses import without_passwords
from footing.messages import Message, Name, joined, said


class _Unshown(str):
    """A text that what dumps the variables of an error does not show."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'…'" if self else "''"


class _UnshownMessage(Message):
    """The same of a message."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'…'"


def unshown(text: str) -> str:
    """Return a text that what dumps the variables of an error does not show."""
    if isinstance(text, Message) and text:
        return _UnshownMessage._made(text.template, text.values)  # noqa: SLF001
    return _Unshown(text)


@dataclass(frozen=True, slots=True)
class Location:
    """A line of a file, and what is wrong there."""

    file: str
    line: int
    problem: str


class ExplainedError(ValueError):
    """Say what must hold, what was found and one way out.

    Parameters
    ----------
    problem
        What must hold or cannot be done, and what was found instead: a `Message`, which can be
        said in other languages; or a text. Never a record, a key, a cell or a secret; an
        address that is quoted loses its password.
    hint
        One way out, a `Message` or a text.
    at
        The place in the job file that is at fault: keys and numbers of entries, from the top.
    inside
        What of the data is at fault: codes, numbers of records. It is no part of the message,
        and nothing but the terminal of whoever has the data shows it: no log, no answer.

    Attributes
    ----------
    code
        A name that stays when the words change, for scripts and logs.

    Examples
    --------
    >>> problem = Message("The prior must sum to 1, not {total:g}.", total=0.9)
    >>> print(ExplainedError(problem, hint=Message("divide it by its sum")))
    The prior must sum to 1, not 0.9.
      hint: divide it by its sum
    """

    code: ClassVar[str] = "error"
    #: The errors that this one tells below its heading, each in a line of its own.
    parts: tuple["ExplainedError", ...] = ()
    _heading: str = ""
    #: Where in a file it is, and what is wrong there; none where nobody looked it up.
    location: "Location | None" = None

    def __init_subclass__(cls, *, is_public: bool = True) -> None:
        """Name an error after the package that one imports, as tracebacks print it."""
        super().__init_subclass__()
        package, _, module = cls.__module__.rpartition(".")
        if is_public and module == "errors":
            cls.__module__ = package

    def __init__(
        self,
        problem: str,
        *,
        hint: str | None = None,
        inside: str = "",
        at: tuple[str | int, ...] = (),
    ) -> None:
        problem = _masked(problem)
        hint = None if hint is None else _masked(hint)
        super().__init__(problem if hint is None else _with_hint(problem, hint))
        self.problem = problem
        self.hint = hint
        self.inside = unshown(inside)
        self.at = at

    def add_hint(self, *, hint: str) -> None:
        """Say what helps before whatever else does."""
        if self.hint:
            hint = joined("; ", [hint, self.hint])
        ExplainedError.__init__(self, self.problem, hint=hint, inside=self.inside, at=self.at)

    def reword(self, problem: str) -> None:
        """Say the problem in other words."""
        ExplainedError.__init__(self, problem, hint=self.hint, inside=self.inside, at=self.at)

    def reword_each(self, words: Callable[["ExplainedError"], str]) -> None:
        """Say the problem in other words, or those of its parts."""
        for part in self.parts:
            part.reword_each(words)
        self.reword(_told(self) if self.parts else words(self))

    def begin_with(self, words: Callable[[str], str]) -> None:
        """Say the problem, or what stands above its parts, in other words."""
        self._heading = words(self._heading)
        self.reword(_told(self) if self.parts else words(self.problem))

    @classmethod
    def of_several(
        cls, heading: str, errors: Iterable["ExplainedError"], *, hint: str | None = None
    ) -> Self:
        """Return one error that tells several, each in a line of its own."""
        error = cls(heading, hint=hint)
        error._heading, error.parts = heading, tuple(errors)
        error.reword(_told(error))
        return error


def _told(error: ExplainedError, depth: int = 1) -> str:
    """Return the lines of an error: its heading and its parts, or its problem alone."""
    if not error.parts:
        return error.problem
    lines = [error._heading]  # noqa: SLF001
    indent = "  " * depth
    for part in error.parts:
        line = _told(part, depth + 1)
        if part.hint is not None:
            line = _with_hint(line, part.hint, indent=f"{indent}  ")
        lines.append(line)
    return joined(f"\n{indent}- ", lines)


def _with_hint(problem: str, hint: str, *, indent: str = "  ") -> Message:
    return Message(
        "{problem}\n{indent}hint: {hint}",
        problem=said(problem),
        indent=Name(indent),
        hint=said(hint),
    )


def _masked(text: str) -> str:
    """Return what may be shown; the holes of a message mask what stands in them."""
    return text if isinstance(text, Message) else without_passwords(text)
