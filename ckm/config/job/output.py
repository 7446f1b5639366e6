"""The section ``[output]``: what the files of a release are and say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field

from ckm.config.problems import did_you_mean
from ckm.config.section import Name, ReadAs, Section, Some, Words, optional
from ckm.formats import FORMAT_NAMES, without_repeats
from footing.places import is_folder

if TYPE_CHECKING:
    from ckm.config.job.job import Job
    from ckm.config.reading import Reading
    from ckm.config.section import Texts

_SHOWN = 5

Language: TypeAlias = Literal["en", "fr"]
CsvFormulas: TypeAlias = Literal["keep", "escape"]
Languages = Annotated[
    tuple[Language, ...], ReadAs(Some[Language], lambda found, _: tuple(dict.fromkeys(found)))
]
_OneOrMore = Annotated[
    tuple[str, ...],
    ReadAs(
        Language | Some[Language],
        lambda given, _: (given,) if isinstance(given, str) else given,
    ),
]
# Looked up when the section is there, where the nearest name can be told.
_Format = Annotated[str, Field(json_schema_extra={"enum": list(FORMAT_NAMES)})]
_Formats = Annotated[
    tuple[str, ...], ReadAs(Some[_Format], lambda given, _: without_repeats(given))
]


class JobOutput(Section):
    """The files that a release writes of each table, and what all of them say."""

    formats: _Formats = optional("Formats of each table.", default=("csv", "parquet"))
    languages: _OneOrMore = Field(
        default=("en",),
        alias="language",
        description='Language of all words in the files; ["en", "fr"] for files in both.',
    )
    place: Name | None = optional(
        "Where the workers of Spark write the tables instead of this machine: s3://bucket/…."
    )
    source: Words = optional("Who is responsible for the numbers.", default={})
    unit: Words = optional("What is counted: persons.", default={})
    description: Words = optional("A sentence or two.", default={})
    total_label: Name = optional("What totals are called in the tables.", default="Total")
    missing_label: Name = optional(
        "What missing categories are called in the tables.", default="(missing)"
    )
    additive: bool = optional(
        "Change published counts again until tables add up.", default=False
    )
    publish_noise: bool = optional(
        "Say in every file how far counts may lie from the true ones.", default=False
    )
    stream: bool = optional(
        "Compute each table part by part along its first dimension, for tables larger than "
        "memory.",
        default=False,
    )
    csv_formulas: CsvFormulas = optional(
        "escape puts an apostrophe before texts of CSV that could be formulas.", default="keep"
    )

    def add_problems(self, reading: Reading) -> None:
        """Note formats that are unknown, and languages that are named twice."""
        if self.place is not None and not is_folder(self.place):  # not echoed
            hint = "s3://…, hdfs://…, abfss://… or file:///…, with no password, * or last /"
            reading.add("[output]", "place names no folder that workers can write.", hint)
        for name in self.formats:
            if name not in FORMAT_NAMES:
                known = f"known are {', '.join(FORMAT_NAMES)}"
                hint = did_you_mean(name, FORMAT_NAMES) or known
                reading.add("[output]", f"the format {name!r} is unknown.", hint)
        for name in sorted({n for n in self.languages if self.languages.count(n) > 1}):
            hint = "name each language once"
            reading.add("[output]", f"language names {name!r} twice.", hint)


def common_texts(job: Job) -> tuple[str, ...]:
    """Name the texts of a job that are not there in each language of its files.

    Files of all languages then say the same: the one text, the name or the code.
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
            number = f"{len(codes)} categories" if len(codes) > 1 else "1 category"
            found.append(f"{number} of {name!r}: {shown}")
    return tuple(found)
