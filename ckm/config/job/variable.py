"""The sections ``[[variable]]``: the words for dimensions and columns."""

import csv
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from pydantic import Field

from ckm.config.problems import did_you_mean
from ckm.config.reading import Reading
from ckm.config.section import LANGUAGES, FilePath, Name, Section, Texts, Words, optional
from tables.errors import DataError


class JobVariable(Section):
    """The words for a dimension or a column, by language; no labels stand for the name."""

    name: Name = Field(description="A dimension, or a column of a hierarchy.")
    labels: Words = optional("What readers see.", default={})
    is_area: bool = optional("Whether it tells places.", default=False)
    levels: dict[str, Words] = optional(
        "Level of the hierarchy → what readers see.", default={}
    )
    categories: dict[str, Words] = optional("Code → what readers see.", default={})
    codelist: FilePath | None = optional(
        "A CSV file of columns code, en, fr instead of categories."
    )

    def add_problems(self, reading: Reading) -> None:
        """Take the categories from the code list, and note what is wrong with it."""
        if self.codelist is None:
            return
        where = f"[[variable]] {self.name!r}:"
        if self.categories:
            reading.add(where, "has both codelist and categories.", "keep one of the two")
        reading.require_file(where, "codelist", self.codelist)
        categories = _read_codelist(self.codelist, add=partial(reading.add, where))
        object.__setattr__(self, "categories", categories)


def add_problems_of_variables(
    variables: Sequence[JobVariable], hierarchies: Mapping[str, object], reading: Reading
) -> None:
    """Note variables that contradict each other, and levels that are none."""
    names = [variable.name for variable in variables]
    for name in sorted({n for n in names if names.count(n) > 1}):
        reading.add("[[variable]]", f"the name {name!r} occurs more than once.")
    areas = [variable.name for variable in variables if variable.is_area]
    if len(areas) > 1:
        shown = ", ".join(map(repr, areas))
        reading.add("[[variable]]", f"one variable is the area, not {shown}.")
    for variable in variables:
        nested = hierarchies.get(variable.name)
        levels = nested if isinstance(nested, list) else []
        for level in variable.levels:
            if level not in levels:
                where, text = (
                    f"[[variable]] {variable.name!r}:",
                    f"{level!r} is no level of it.",
                )
                reading.add(where, text, did_you_mean(level, levels))


def require_distinct(column: str, labels: Mapping[str, str]) -> None:
    """Refuse labels of a file that readers could not tell apart."""
    alike = [
        label
        for code, label in labels.items()
        if any(label in (other, said) for other, said in labels.items() if other != code)
    ]
    if alike:
        raise DataError(
            f"The file of the records labels several codes of column {column!r} alike, or one "
            f"as another code: {', '.join(map(repr, dict.fromkeys(alike)))}.",
            hint=f"[[variable]] with name = {column!r} and categories of your own",
        )


def _read_codelist(path: Path, *, add: Callable[[str, str | None], None]) -> dict[str, Texts]:
    r"""Read a code list: code → what readers see, by language."""
    if not path.is_file():
        return {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        rows = []
    if not rows or not {"code", *LANGUAGES} <= set(rows[0]):
        add("codelist must be a CSV file in UTF-8 with the columns code, en, fr.", None)
        return {}
    codes = [row["code"] for row in rows]
    if None in codes or len(set(codes)) < len(codes):
        add("codelist names a code twice, or none.", "give each code a line of its own")
        return {}
    return {
        row["code"]: {language: row[language] or row["code"] for language in LANGUAGES}
        for row in rows
    }
