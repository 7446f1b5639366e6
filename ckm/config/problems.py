"""What is wrong with a job file: all of it, worded for people."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from ckm.config.lines import KeyPath
from ckm.errors import ConfigError
from footing.data_files import read_data
from footing.errors import ExplainedError
from footing.messages import Enumeration, Message, Name, joined, said


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing to put right in a job file.

    Parameters
    ----------
    where, text, hint
        The section as people call it, what is wrong in it, and one way out.
    at
        Keys and numbers of entries that lead there, where known.
    number
        The line of the file.

    Examples
    --------
    >>> Problem(where="[ptable]", text="variance must be a number.").line()
    '[ptable] variance must be a number.'
    """

    where: str
    text: str
    hint: str | None = None
    at: KeyPath = field(default=(), compare=False)
    number: int | None = field(default=None, compare=False)

    def line(self) -> Message:
        """Return the problem in one line, with its place."""
        return joined(" ", filter(None, (self.where, self.text)))

    def placed(self, file: str) -> Message:
        """Return the problem in one line, with the file and its line as editors read them."""
        number = Message()
        if self.number is not None:
            number = Message(":{number}", number=self.number)
        return Message(
            "{file}{number}: {line}", file=Name(file), number=number, line=self.line()
        )


class JobError(ConfigError):
    """A job file that cannot be used, with every problem found in it.

    Examples
    --------
    >>> problem = Problem(where="[data]", text="path is missing.", number=3)
    >>> print(JobError("job.toml", [problem]))
    job.toml:3: [data] path is missing.
    """

    code: ClassVar[str] = "ckm-job"

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        self.file = name
        if len(self.problems) == 1:
            (only,) = self.problems
            super().__init__(only.placed(name), hint=only.hint)
            return
        lines = [
            Message("{file} has {number} problems:", file=Name(name), number=len(self.problems))
        ]
        for problem in self.problems:
            is_placed = problem.number is not None
            line = problem.placed(name) if is_placed else problem.line()
            lines.append(Message("  - {line}", line=line))
            if problem.hint is not None:
                lines.append(Message("    hint: {hint}", hint=said(problem.hint)))
        super().__init__(joined("\n", lines))


def problems_of_error(error: ExplainedError) -> list[Problem]:
    """Return what an error about the data tells, each part with its line where it has one."""
    if error.parts:
        return [problem for part in error.parts for problem in problems_of_error(part)]
    if error.location is None:
        return [Problem(where="", text=error.problem, hint=error.hint)]
    location = error.location
    return [
        Problem(
            where="", text=location.problem, hint=error.hint, at=error.at, number=location.line
        )
    ]


#: Numbers that rules of the parsing model name.
_LIMITS = {"ge", "gt", "le", "lt"}
_QUOTED = re.compile("'([^']*)'")


def did_you_mean(name: str, names: Iterable[str], *, cutoff: float = 0.6) -> Message | None:
    """Return a hint with the known name that is closest, if one is close."""
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=cutoff)
    return Message("did you mean {close!r}?", close=Name(close[0])) if close else None


#: Sections that may stand several times.
_REPEATED = {
    *("table", "variable", "population", "magnitude", "column"),
    *("report.exceptions", "suppression.cells"),
}
#: Sections whose names have two parts.
_INNER = {"report.limits", "report.exceptions", "suppression.cells"}
_WITH_NAMES = {"designs", "methods"}
_LONGEST_NAME = 100
_WORDS = read_data("ckm.config", "problems.toml")
_RULES, _FORMS = _WORDS["rules"], _WORDS["forms"]


def heading(place: KeyPath) -> Message:
    """Return a section as people call it, and what of it is meant.

    Examples
    --------
    >>> print(heading(("table", "people")))
    [[table]] 'people':
    >>> print(heading(("report", "exceptions", 1)))
    [[report.exceptions]] number 2:
    """
    if not place:
        return Message()
    section, rest = str(place[0]), list(place[1:])
    if rest and (section in _WITH_NAMES or f"{section}.{rest[0]}" in _INNER):
        section += f".{rest.pop(0)}"
    words: list[Name | Message] = [Name(f"[{section}]")]
    if section in _REPEATED:
        words = [Name(f"[[{section}]]")]
        if rest:
            words.append(_entry(rest.pop(0)))
    if rest:
        words.append(Name(".".join(map(str, rest)) + ":"))
    return Message("{words}", words=Enumeration(" ", words))


def _entry(entry: str | int) -> Name | Message:
    if isinstance(entry, int):
        return Message("number {number}:", number=entry + 1)
    return Name(f"{entry[:_LONGEST_NAME]!r}:") if entry else Message("without a name:")


def problem_from_pydantic(
    error: Any,
    *,
    sections: dict[str, tuple[str, ...]],
    names: Mapping[str, Sequence[str | int]],
) -> Problem:
    """Word one error of the parsing model, without echoing the value that was given."""
    place = _split(tuple(error["loc"]), names, sections)
    section, rest = place.section, [str(part) for part in place.rest]
    kind, context = error["type"], error.get("ctx", {})
    key: Name | Message = Name(rest[0] if rest else "")
    union = section if section in _FORMS else str(key)
    union = f"{section}.{key}" if f"{section}.{key}" in _FORMS else union
    is_key = kind in {"extra_forbidden", "missing"} and union != section and len(rest) == 1
    if union in _FORMS and rest and not is_key:
        text = Message("{key} {rule}", key=key, rule=Message(_FORMS[union]))
        return Problem(where=heading(place.at), text=text)
    at = place.at
    inner = ".".join([section, *rest[:-1]])
    if len(rest) > 1 and inner in sections:
        section, at, key = inner, (*at, *rest[:-1]), Name(rest[-1])
    elif len(rest) > 1 and rest[1].isdigit():
        key = Message("{key}, entry {number},", key=Name(rest[0]), number=int(rest[1]) + 1)
    elif len(rest) > 1:
        key = Name(".".join(rest))
    where = heading(at)
    if kind == "extra_forbidden":
        return _unknown(str(key), section=section, where=where, sections=sections)
    if kind == "missing":
        text = Message("{key} is missing.", key=key) if key else Message("is missing.")
    elif kind == "literal_error":
        values = Name.each(f'"{one}"' for one in _QUOTED.findall(context["expected"]))
        values = values or [Name(context["expected"])]
        text = Message("{key} must be one of {values}.", key=key, values=_one_of(values))
    else:
        rule = Message("has a value that is not allowed.")
        if kind in _RULES:
            limits = {name: end for name, end in context.items() if name in _LIMITS}
            rule = Message(_RULES[kind], **limits)
        text = Message("{key} {rule}", key=key, rule=rule) if key else rule
    return Problem(where=where, text=text)


def _one_of(values: list[Name]) -> Message:
    *others, last = values
    if not others:
        return Message("{value}", value=last)
    return Message("{values} or {last}", values=others, last=last)


class _Split(NamedTuple):
    """A place of the parsing model, cut where its section ends."""

    section: str
    at: KeyPath
    rest: KeyPath


def _split(
    place: KeyPath,
    names: Mapping[str, Sequence[str | int]],
    sections: dict[str, tuple[str, ...]],
) -> _Split:
    """Return the section, its place with names of entries, and the keys below it."""
    name = str(place[0]) if place else ""
    entry = place[1] if len(place) > 1 else None
    if name in _REPEATED and name in sections:
        if isinstance(entry, int):
            return _Split(name, (name, names[name][entry]), place[2:])
        return _Split(name, (name,), ())
    if place[:2] == ("report", "limits"):
        return _Split("report.limits", place[:2], place[2:])
    if place[:2] == ("report", "exceptions") and len(place) > 2 and isinstance(place[2], int):
        return _Split("report.exceptions", place[:3], place[3:])
    if place and (name in {"hierarchies", "categories"} or name in sections):
        return _Split(name, (name,), place[1:])
    return _Split("", (), place)


def _unknown(
    key: str, *, section: str, where: Message, sections: dict[str, tuple[str, ...]]
) -> Problem:
    """Word an unknown key: the closest known one, or the section it belongs to."""
    hint = did_you_mean(key, sections[section])
    homes = [name for name, keys in sections.items() if key in keys and name != section]
    if hint is None and homes:
        is_list = homes[0] in _REPEATED
        home = Name(f"[[{homes[0]}]]" if is_list else f"[{homes[0]}]")
        at_top = Message("the top of the file")
        hint = Message(
            "{key!r} belongs in {home}", key=Name(key), home=home if homes[0] else at_top
        )
    if hint is None:
        hint = Message("known here: {keys}", keys=Name.each(sections[section]))
        if section == "keys":  # the value is not echoed: it may be the secret itself
            return Problem(where=where, text=Message("has a key that is unknown."), hint=hint)
    text = (
        Message("key {key!r} is unknown.", key=Name(key))
        if where
        else Message("The key {key!r} is unknown.", key=Name(key))
    )
    return Problem(where=where, text=text, hint=hint)
