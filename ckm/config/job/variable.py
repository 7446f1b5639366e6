"""The sections ``[[variable]]``: the words for dimensions and columns."""

import csv
import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr

from ckm.config.problems import did_you_mean
from ckm.config.reading import LANGUAGES, Reading
from ckm.config.section import FilePath, Label, ReadAs, Section, Texts, Words, optional
from footing.messages import Message, Name
from tables import DerivedVariable, RequestError
from tables.errors import DataError

#: The keys that say how a variable is derived, beside `of`.
_DERIVING = (
    "bands",
    "width",
    "start",
    "end",
    "open",
    "recode",
    "keep",
    "other",
    "missing",
    "absent",
)
_Bound = int | float | dt.date


def _recode(value: Any, reading: Reading) -> Any:
    return reading.resolve(value) if isinstance(value, str) else value


class JobVariable(Section):
    """The words for a dimension or a column, by language; no labels stand for the name.

    With ``of`` it is derived: made of a column whenever the records are read.
    """

    name: Label = Field(description="A dimension, or a column of a hierarchy.")
    of: Label | None = optional("The column that it is made of; its name is new then.")
    bands: list[_Bound] | dict[str, dict[str, _Bound]] | None = optional(
        "Where bands begin, rising; the last one is open. Or label → { start = …, end = … }."
    )
    width: int | float | Literal["year", "quarter", "month"] | None = optional(
        'Bands of one width instead; of dates "year", "quarter" or "month".'
    )
    start: int | float | None = optional("Where bands of a width begin; else at the least.")
    end: int | float | None = optional("Where bands of a width end; else at the largest.")
    open: Literal["end", "start", "both", "none"] | None = optional(
        "Beyond which ends there is a band; by default beyond the end."
    )
    recode: Annotated[dict[str, str] | Path | None, ReadAs(dict[str, str] | Label, _recode)] = (
        optional("Code → category, or a CSV file of columns code, label.")
    )
    keep: bool = optional("Leave codes that recode does not name as they are.", default=False)
    other: Label | None = optional("The category of other values; else they are refused.")
    missing: Label | None = optional(
        "The category of records without a value, which may be one of the others."
    )
    absent: Literal["stop", "allow"] | None = optional(
        'Whether recode may name codes that no record has: "stop" by default.'
    )
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
    _derived: DerivedVariable | None = PrivateAttr(default=None)

    @property
    def derived(self) -> DerivedVariable | None:
        """How it is made of a column; None for a column of the data or a hierarchy."""
        if self.of is not None and self._derived is None:
            settings = {key: getattr(self, key) for key in ("name", "of", *_DERIVING)}
            self._derived = DerivedVariable(**settings)
        return self._derived

    def add_problems(self, reading: Reading) -> None:
        """Take the categories from the code list, and note what is wrong with it."""
        where = ("variable", self.name)
        self._add_problems_of_derivation(reading)
        if self.is_area and self.role == "time":
            reading.add(
                where,
                Message("tells places or times, not both."),
                Message("keep one of is_area and role"),
                key="is_area",
            )
        if self.codelist is None:
            return
        if self.categories:
            reading.add(
                where,
                Message("has both codelist and categories."),
                Message("keep one of the two"),
                key="codelist",
            )
        reading.require_file(where, "codelist", self.codelist)
        categories = _read_codelist(
            self.codelist,
            languages=reading.languages,
            add=partial(reading.add, where, key="codelist"),
        )
        object.__setattr__(self, "categories", categories)

    def _add_problems_of_derivation(self, reading: Reading) -> None:
        where = ("variable", self.name)
        if self.of is None:
            for key in _DERIVING:
                if key in self.model_fields_set:
                    reading.add(
                        where,
                        Message("{key} needs of: which column is it made of?", key=Name(key)),
                        key=key,
                    )
            return
        if isinstance(self.recode, Path):
            before = len(reading.problems)
            reading.require_file(where, "recode", self.recode)
            if len(reading.problems) > before:
                return
        try:
            _ = self.derived
        except RequestError as error:
            reading.add_error(where, error)


def add_problems_of_variables(
    variables: Sequence[JobVariable], hierarchies: Mapping[str, object], reading: Reading
) -> None:
    """Note variables that contradict each other, and levels that are none."""
    names = [variable.name for variable in variables]
    for name in sorted({n for n in names if names.count(n) > 1}):
        reading.add(
            ("variable",),
            Message("the name {name!r} occurs more than once.", name=Name(name)),
        )
    areas = [variable.name for variable in variables if variable.is_area]
    if len(areas) > 1:
        reading.add(
            ("variable",),
            Message("one variable is the area, not {names!r}.", names=Name.each(areas)),
        )
    times = [variable.name for variable in variables if variable.role == "time"]
    if len(times) > 1:
        reading.add(
            ("variable",),
            Message("one variable tells times, not {names!r}.", names=Name.each(times)),
        )
    for variable in variables:
        nested = hierarchies.get(variable.name)
        levels = nested if isinstance(nested, list) else []
        for level in variable.levels:
            if level not in levels:
                where = ("variable", variable.name)
                text = Message("{level!r} is no level of it.", level=Name(level))
                reading.add(where, text, did_you_mean(level, levels), key=("levels", level))


def require_distinct(column: str, labels: Mapping[str, str]) -> None:
    """Refuse labels of a file that readers could not tell apart."""
    alike = [
        label
        for code, label in labels.items()
        if any(label in (other, text) for other, text in labels.items() if other != code)
    ]
    if alike:
        raise DataError(
            Message(
                "The file of the records labels several codes of column {column!r} alike, "
                "or one as another code: {labels!r}.",
                column=Name(column),
                labels=Name.each(dict.fromkeys(alike)),
            ),
            hint=Message(
                "[[variable]] with name = {column!r} and categories of your own",
                column=Name(column),
            ),
        )


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
        add(
            Message(
                "codelist must be a CSV file in UTF-8 with the columns {columns}.",
                columns=Name.each(["code", *languages]),
            ),
            None,
        )
        return {}
    codes = [row["code"] for row in rows]
    if not all(codes) or len(set(codes)) < len(codes):
        add(
            Message("codelist names a code twice, or none."),
            Message("give each code a line of its own"),
        )
        return {}
    return {
        row["code"]: {
            language: row[language if language in languages else languages[0]] or row["code"]
            for language in LANGUAGES
        }
        for row in rows
    }
