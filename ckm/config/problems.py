"""What is wrong with a job file: all of it, worded for people."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ckm.config.lines import Place
from ckm.errors import ConfigError
from footing.data_files import read_data
from footing.messages import Message, Name, joined, said


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
    at: Place = field(default=(), compare=False)
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


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return a hint with the known name that is closest, if one is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"did you mean {close[0]!r}?" if close else None


_REPEATED = ("table", "variable", "population", "magnitude", "column")
_WORDS = read_data("ckm.config", "problems.toml")
_RULES, _FORMS = _WORDS["rules"], _WORDS["forms"]


def problem_from_pydantic(
    error: Any,
    *,
    sections: dict[str, tuple[str, ...]],
    names: Mapping[str, Sequence[str]],
) -> Problem:
    """Word one error of the parsing model, without echoing the value that was given."""
    loc = [str(part) for part in error["loc"]]
    kind, context = error["type"], error.get("ctx", {})
    section, where, rest = _place(loc, names, sections)
    key = rest[0] if rest else ""
    union = section if section in _FORMS else key
    union = f"{section}.{key}" if f"{section}.{key}" in _FORMS else union
    is_key = kind in {"extra_forbidden", "missing"} and union != section and len(rest) == 1
    if union in _FORMS and rest and not is_key:
        return Problem(where=where, text=f"{key} {_FORMS[union]}")
    inner = ".".join([section, *rest[:-1]])
    if len(rest) > 1 and inner in sections:
        section, where = inner, f"{where} {'.'.join(rest[:-1])}:"
        key = rest[-1]
    elif len(rest) > 1:
        key = f"{rest[0]}, entry {int(rest[1]) + 1}," if rest[1].isdigit() else ".".join(rest)
    if kind == "extra_forbidden":
        return _unknown(key, section=section, where=where, sections=sections)
    if kind == "missing":
        text = f"{key} is missing." if key else "is missing."
        return Problem(where=where, text=text)
    if kind == "literal_error":
        return Problem(
            where=where, text=f"{key} must be one of {context['expected']}.".replace("'", '"')
        )
    rule = _RULES.get(kind, "has a value that is not allowed.")
    return Problem(where=where, text=f"{key} {rule.format(**context)}".lstrip())


def _place(
    loc: list[str], names: Mapping[str, Sequence[str]], sections: dict[str, tuple[str, ...]]
) -> tuple[str, str, list[str]]:
    """Return the section, how people call it, and the keys below it."""
    if loc[:1] in [[name] for name in _REPEATED if name in sections]:
        section = loc[0]
        if len(loc) > 1 and loc[1].isdigit():
            return section, f"[[{section}]] {names[section][int(loc[1])]}:", loc[2:]
        return section, f"[[{section}]]", []
    if loc[:2] == ["report", "limits"]:
        return "report.limits", "[report.limits]", loc[2:]
    if loc[:2] == ["report", "exceptions"] and len(loc) > 2 and loc[2].isdigit():
        where = f"[[report.exceptions]] number {int(loc[2]) + 1}:"
        return "report.exceptions", where, loc[3:]
    if loc and (loc[0] in {"hierarchies", "categories"} or loc[0] in sections):
        return loc[0], f"[{loc[0]}]", loc[1:]
    return "", "", loc


def _unknown(
    key: str, *, section: str, where: str, sections: dict[str, tuple[str, ...]]
) -> Problem:
    """Word an unknown key: the closest known one, or the section it belongs to."""
    hint = did_you_mean(key, sections[section])
    homes = [name for name, keys in sections.items() if key in keys and name != section]
    if hint is None and homes:
        home = "the top of the file" if not homes[0] else f"[{homes[0]}]"
        is_list = homes[0] in {*_REPEATED, "report.exceptions"}
        home = f"[[{homes[0]}]]" if is_list else home
        hint = f"{key!r} belongs in {home}"
    if hint is None:
        hint = "known here: " + ", ".join(sections[section])
        if section == "keys":  # the value is not echoed: it may be the secret itself
            return Problem(where=where, text="has a key that is unknown.", hint=hint)
    text = f"key {key!r} is unknown." if where else f"The key {key!r} is unknown."
    return Problem(where=where, text=text, hint=hint)
