"""What is wrong with a job file: all of it, worded for people."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ckm.config.lines import Place
from ckm.errors import ConfigError


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

    def line(self) -> str:
        """Return the problem in one line, with its place."""
        return f"{self.where} {self.text}".strip()

    def placed(self, file: str) -> str:
        """Return the problem in one line, with the file and its line as editors read them."""
        number = "" if self.number is None else f":{self.number}"
        return f"{file}{number}: {self.line()}"


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
        lines = [f"{name} has {len(self.problems)} problems:"]
        for problem in self.problems:
            is_placed = problem.number is not None
            lines.append(f"  - {problem.placed(name) if is_placed else problem.line()}")
            if problem.hint is not None:
                lines.append(f"    hint: {problem.hint}")
        super().__init__("\n".join(lines))


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return a hint with the known name that is closest, if one is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"did you mean {close[0]!r}?" if close else None


_REPEATED = ("table", "variable", "population", "magnitude", "column")
_RULES = {
    "string_type": "must be a text in quotes.",
    "int_type": "must be a whole number.",
    "int_from_float": "must be a whole number.",
    "float_type": "must be a number.",
    "finite_number": "must be a finite number.",
    "bool_type": "must be true or false.",
    "list_type": "must be a list in square brackets.",
    "dict_type": "must be a table of names and values.",
    "model_type": "must be a table of keys and values.",
    "model_attributes_type": "must be a table of keys and values.",
    "date_type": "must be a date without quotes, such as 2027-03-15.",
    "greater_than_equal": "must be at least {ge:g}.",
    "greater_than": "must be greater than {gt:g}.",
    "less_than_equal": "must be at most {le:g}.",
    "less_than": "must be less than {lt:g}.",
    "string_too_short": "must not be empty.",
    "too_short": "must not be empty.",
    "string_pattern_mismatch": "must be letters, digits, - and _, and begin with no sign.",
}
_UNIONS = {
    "hierarchies": (
        "must be a list of columns from broad to fine, a code tree file, "
        "or { column = …, tree = … }."
    ),
    "categories": "must be a list of categories, or the path of a CSV or Parquet file.",
    "data.path": "must be a path in quotes, or a list of paths.",
    "experiment.areas": "must be a list of dimensions.",
    "margins": 'must be "all", "none", or a list of lists of dimensions.',
    "max_noise": "must be a whole number from 1 to 1000, or a list of these, one per row.",
    "variance": "must be a number, or a list of numbers, one per row.",
    "p_stay": "must be a number, or a list of numbers, one per row.",
    "p_stay_rule": 'must be "exact", "at-least" or "at-most", or a list of these.',
    "monotone": 'must be "none", "left", "both" or "unimodal", or a list of these.',
    "symmetric": "must be true or false, or a list of these, one per row.",
    "variance_rule": 'must be "exact", "at-most" or "nearest", or a list of these.',
    **dict.fromkeys(
        ("title", "labels", "description", "source", "unit"),
        "must be a text in quotes, or { en = …, fr = … }.",
    ),
    **dict.fromkeys(
        ("variable.levels", "variable.categories"),
        "must give texts in quotes, or { en = …, fr = … }.",
    ),
    "output.language": 'must be "en" or "fr", or a list of languages: ["en", "fr"].',
    "magnitude.decimals": 'must be "all", or a whole number from -15 to 15.',
    "min_probability": "must lie in [0, 1), or be a list of such numbers, one per row.",
}


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
    union = section if section in _UNIONS else key
    union = f"{section}.{key}" if f"{section}.{key}" in _UNIONS else union
    is_key = kind in {"extra_forbidden", "missing"} and union != section and len(rest) == 1
    if union in _UNIONS and rest and not is_key:
        return Problem(where=where, text=f"{key} {_UNIONS[union]}")
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
