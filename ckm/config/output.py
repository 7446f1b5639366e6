"""From ``[output]`` and ``[[variable]]`` to what the files of a job are and say."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ckm.config.job import JobOutput, JobVariable
from ckm.config.problems import did_you_mean
from ckm.config.words import read_codelist, texts_of
from ckm.format_names import FORMAT_NAMES, without_repeats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ckm.config.model import JobModel, OutputModel, TextModel, VariableModel

    Add = Callable[[str, str, str | None], None]

__all__ = ["build_output", "build_variables", "in_language"]


def in_language(text: str | TextModel | None, language: str) -> str:
    """Return a text in a language; empty where nothing was said.

    Parameters
    ----------
    text
        As it was parsed.
    language
        ``"en"`` or ``"fr"``.

    Examples
    --------
    >>> in_language("Sex", "fr")
    'Sex'
    """
    return texts_of(text).get(language, "")


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
    >>> from ckm.config.model import OutputModel
    >>> build_output(OutputModel(formats=["px"]), add=print).formats
    ('px',)
    """
    for name in dict.fromkeys(model.formats):
        if name not in FORMAT_NAMES:
            known = f"known are {', '.join(FORMAT_NAMES)}"
            hint = did_you_mean(name, FORMAT_NAMES) or known
            add("[output]", f"the format {name!r} is unknown.", hint)
    return JobOutput(
        formats=without_repeats(model.formats),
        total_label=model.total_label,
        missing_label=model.missing_label,
        language=model.language,
        source=in_language(model.source, model.language),
        unit=in_language(model.unit, model.language),
        description=in_language(model.description, model.language),
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
    where, language = f"[[variable]] {variable.name!r}:", model.output.language
    categories = {c: in_language(t, language) for c, t in variable.categories.items()}
    path = None
    if variable.codelist is not None:
        if variable.categories:
            add(where, "has both codelist and categories.", "keep one of the two")
        path = find(where, "codelist", variable.codelist)
        listed = read_codelist(path, add=partial(add, where))
        categories = {code: texts[language] for code, texts in listed.items()}
    nested = model.hierarchies.get(variable.name)
    levels = nested if isinstance(nested, list) else []
    for level in variable.levels:
        if level not in levels:
            add(where, f"{level!r} is no level of it.", did_you_mean(level, levels))
    return JobVariable(
        name=variable.name,
        label=in_language(variable.labels, language),
        labels=texts_of(variable.labels),
        is_area=variable.is_area,
        levels={name: in_language(text, language) for name, text in variable.levels.items()},
        categories=categories,
        codelist=path,
    )
