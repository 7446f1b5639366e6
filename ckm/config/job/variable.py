"""The sections ``[[variable]]``: the words for dimensions and columns."""

import csv
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import Field

from ckm.config.problems import did_you_mean
from ckm.config.reading import LANGUAGES, Reading
from ckm.config.section import FilePath, Name, Section, Texts, Words, optional


class JobVariable(Section):
    """The words for a dimension or a column, by language; no labels stand for the name."""

    name: Name = Field(description="A dimension, or a column of a hierarchy.")
    labels: Words = optional("What readers see.", default={})
    is_area: bool = optional("Whether it tells places.", default=False)
    role: Literal["time"] | None = optional('"time" where it tells times: years, months.')
    levels: dict[str, Words] = optional(
        "Level of the hierarchy → what readers see.", default={}
    )
    categories: dict[str, Words] = optional("Code → what readers see.", default={})
    codelist: FilePath | None = optional(
        "A CSV file of the column code and one for each language instead of categories."
    )

    def add_problems(self, reading: Reading) -> None:
        """Take the categories from the code list, and note what is wrong with it."""
        where = f"[[variable]] {self.name!r}:"
        if self.is_area and self.role == "time":
            reading.add(
                where, "tells places or times, not both.", "keep one of is_area and role"
            )
        if self.codelist is None:
            return
        if self.categories:
            reading.add(where, "has both codelist and categories.", "keep one of the two")
        reading.require_file(where, "codelist", self.codelist)
        categories = _read_codelist(
            self.codelist, languages=reading.languages, add=partial(reading.add, where)
        )
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
    times = [variable.name for variable in variables if variable.role == "time"]
    if len(times) > 1:
        shown = ", ".join(map(repr, times))
        reading.add("[[variable]]", f"one variable tells times, not {shown}.")
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


def _read_codelist(
    path: Path, *, languages: Sequence[str], add: Callable[[str, str | None], None]
) -> dict[str, Texts]:
    r"""Read a code list: code → what readers see, by language."""
    if not path.is_file():
        return {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        rows = []
    if not rows or not {"code", *languages} <= set(rows[0]):
        columns = ", ".join(["code", *languages])
        add(f"codelist must be a CSV file in UTF-8 with the columns {columns}.", None)
        return {}
    codes = [row["code"] for row in rows]
    if None in codes or len(set(codes)) < len(codes):
        add("codelist names a code twice, or none.", "give each code a line of its own")
        return {}
    return {
        row["code"]: {
            language: row[language if language in languages else languages[0]] or row["code"]
            for language in LANGUAGES
        }
        for row in rows
    }
