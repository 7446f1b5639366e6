"""From ``[output]`` and ``[[variable]]`` to what the files of a job are and say."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ckm.config.job.job import JobOutput, JobVariable
from ckm.config.problems import did_you_mean
from ckm.config.words import read_codelist, texts_of
from ckm.formats.names import FORMAT_NAMES, without_repeats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ckm.config.job.job import Job
    from ckm.config.job.schema import JobModel, OutputModel, VariableModel
    from ckm.config.words import Texts

    Add = Callable[[str, str, str | None], None]

__all__ = ["build_output", "build_variables", "common_texts"]

_SHOWN = 5


def build_output(model: OutputModel, *, add: Add) -> JobOutput:
    """Build what the files of a release are.

    Parameters
    ----------
    model
        The section.
    add
        Called with the section, a problem and a hint.

    Examples
    --------
    >>> from ckm.config.job.schema import OutputModel
    >>> build_output(OutputModel(formats=["px"]), add=print).formats
    ('px',)
    """
    for name in dict.fromkeys(model.formats):
        if name not in FORMAT_NAMES:
            known = f"known are {', '.join(FORMAT_NAMES)}"
            hint = did_you_mean(name, FORMAT_NAMES) or known
            add("[output]", f"the format {name!r} is unknown.", hint)
    languages = [model.language] if isinstance(model.language, str) else model.language
    for name in sorted({n for n in languages if languages.count(n) > 1}):
        add("[output]", f"language names {name!r} twice.", "name each language once")
    return JobOutput(
        formats=without_repeats(model.formats),
        total_label=model.total_label,
        missing_label=model.missing_label,
        languages=tuple(languages),
        source=texts_of(model.source),
        unit=texts_of(model.unit),
        description=texts_of(model.description),
        additive=model.additive,
        csv_formulas=model.csv_formulas,
    )


def build_variables(
    model: JobModel, *, find: Callable[[str, str, str], Path], add: Add
) -> Mapping[str, JobVariable]:
    """Build the words for dimensions and columns.

    Parameters
    ----------
    model
        The job.
    find
        Called with a section, a key and the name of a file; returns its path.
    add
        Called with the section, a problem and a hint.
    """
    names = [variable.name for variable in model.variable]
    for name in sorted({n for n in names if names.count(n) > 1}):
        add("[[variable]]", f"the name {name!r} occurs more than once.", None)
    areas = [variable.name for variable in model.variable if variable.is_area]
    if len(areas) > 1:
        shown = ", ".join(map(repr, areas))
        add("[[variable]]", f"one variable is the area, not {shown}.", None)
    return {v.name: _variable(v, model, find=find, add=add) for v in model.variable}


def _variable(
    variable: VariableModel,
    model: JobModel,
    *,
    find: Callable[[str, str, str], Path],
    add: Add,
) -> JobVariable:
    where = f"[[variable]] {variable.name!r}:"
    categories = {code: texts_of(text) for code, text in variable.categories.items()}
    path = None
    if variable.codelist is not None:
        if variable.categories:
            add(where, "has both codelist and categories.", "keep one of the two")
        path = find(where, "codelist", variable.codelist)
        categories = read_codelist(path, add=partial(add, where))
    nested = model.hierarchies.get(variable.name)
    levels = nested if isinstance(nested, list) else []
    for level in variable.levels:
        if level not in levels:
            add(where, f"{level!r} is no level of it.", did_you_mean(level, levels))
    return JobVariable(
        name=variable.name,
        labels=texts_of(variable.labels),
        is_area=variable.is_area,
        levels={name: texts_of(text) for name, text in variable.levels.items()},
        categories=categories,
        codelist=path,
    )


def common_texts(job: Job) -> tuple[str, ...]:
    """Name the texts of a job that are not there in each language of its files.

    Files of all languages then say the same: the one text, the name or the code.

    Parameters
    ----------
    job
        The job.
    """
    output, languages = job.output, job.output.languages
    titles = {"": "the title", **{name: f"the title of {name!r}" for name in job.tables}}
    texts = {what: job.titles.get(name, {}) for name, what in titles.items()}
    for what in ("source", "unit", "description"):
        texts |= {what: said} if (said := getattr(output, what)) else {}
    texts |= {f"the unit of {n!r}": m.unit for n, m in job.magnitudes.items() if m.unit}
    for name in dict.fromkeys(d for table in job.tables.values() for d in table.dimensions):
        texts[f"the label of {name!r}"] = {}
    for name, variable in job.variables.items():
        texts[f"the label of {name!r}"] = variable.labels
        texts |= {f"the label of {n!r}": t for n, t in variable.levels.items()}
    found = [
        what
        for what, said in texts.items()
        if len({said.get(code) for code in languages}) < len(languages)
    ]
    for name, variable in job.variables.items():
        listed = job.categories.get(name, ())
        declared = listed if isinstance(listed, list) else ()
        words: dict[str, Texts] = {code: {} for code in declared if isinstance(code, str)}
        codes = [
            repr(code)
            for code, said in (words | dict(variable.categories)).items()
            if len({said.get(c) for c in languages} - {code}) < len(languages)
        ]
        if codes:
            shown = ", ".join(codes[:_SHOWN]) + ", …" * (len(codes) > _SHOWN)
            number = f"{len(codes)} categor{'ies' if len(codes) > 1 else 'y'}"
            found.append(f"{number} of {name!r}: {shown}")
    return tuple(found)
