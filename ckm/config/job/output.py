"""The section ``[output]``: what the files of a release are and say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field

from ckm.config.problems import did_you_mean
from ckm.config.section import Label, ReadAs, Section, Some, Words, optional
from ckm.formats import FORMAT_NAMES, without_repeats
from footing.messages import Message, Name
from footing.places import is_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckm.config.job.job import Job
    from ckm.config.reading import Reading
    from ckm.config.section import Texts

_SHOWN = 5

Language: TypeAlias = Literal["en", "fr"]
CsvFormulas: TypeAlias = Literal["keep", "escape"]
CsvLocale: TypeAlias = Literal["language", "en", "fr"]
Languages = Annotated[
    tuple[Language, ...],
    ReadAs(Some[Language], lambda languages, _: tuple(dict.fromkeys(languages))),
]
_OneOrMore = Annotated[
    tuple[str, ...],
    ReadAs(
        Language | Some[Language],
        lambda value, _: (value,) if isinstance(value, str) else value,
    ),
]
# Looked up when the section is there, where the nearest name can be told.
_Format = Annotated[str, Field(json_schema_extra={"enum": list(FORMAT_NAMES)})]
Formats = Annotated[
    tuple[str, ...], ReadAs(Some[_Format], lambda value, _: without_repeats(value))
]


class JobOutput(Section):
    """The files that a release writes of each table, and what all of them say."""

    formats: Formats = optional("Formats of each table.", default=("csv", "parquet"))
    languages: _OneOrMore = Field(
        default=("en",),
        alias="language",
        description='Language of all words in the files; ["en", "fr"] for files in both.',
    )
    place: Label | None = optional(
        "Where the workers of Spark write the tables instead of this machine: s3://bucket/…."
    )
    source: Words = optional("Who is responsible for the numbers.", default={})
    unit: Words = optional("What is counted: persons.", default={})
    description: Words = optional("A sentence or two.", default={})
    total_label: Label = optional("What totals are called in the tables.", default="Total")
    missing_label: Label = optional(
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

    csv_locale: CsvLocale = optional(
        "Whose separators csv-labels has: fr puts ; between columns and a comma before "
        "decimals; language takes those of the words in the file.",
        default="language",
    )

    def add_problems(self, reading: Reading) -> None:
        """Note formats that are unknown, and languages that are named twice."""
        if self.place is not None and not is_folder(self.place):  # not echoed
            hint = Message(
                "s3://…, hdfs://…, abfss://… or file:///…, with no password, * or last /"
            )
            reading.add(
                ("output",),
                Message("place names no folder that workers can write."),
                hint,
                key="place",
            )
        add_unknown_formats(self.formats, reading)
        for name in sorted({n for n in self.languages if self.languages.count(n) > 1}):
            hint = Message("name each language once")
            reading.add(
                ("output",),
                Message("language names {name!r} twice.", name=Name(name)),
                hint,
                key="language",
            )


def add_unknown_formats(formats: Iterable[str], reading: Reading) -> None:
    """Note formats that there are not, and the nearest that there are."""
    for name in formats:
        if name not in FORMAT_NAMES:
            choices = Message("known are {format_names}", format_names=Name.each(FORMAT_NAMES))
            hint = did_you_mean(name, FORMAT_NAMES) or choices
            reading.add(
                ("output",),
                Message("the format {name!r} is unknown.", name=Name(name)),
                hint,
                key=("formats", name),
            )


def common_texts(job: Job) -> list[str]:
    """Name the texts of a job that are not there in each language of its files.

    Files of all languages then say the same: the one text, the name or the code.
    """
    output, languages = job.output, job.output.languages
    titles = {
        "": Message("the title"),
        **{name: Message("the title of {name!r}", name=Name(name)) for name in job.tables},
    }
    texts: dict[str, Texts] = {what: job.titles.get(name, {}) for name, what in titles.items()}
    texts |= {
        Message("the population of {name!r}", name=Name(name)): population
        for name, population in job.populations.items()
    }
    for what in ("source", "unit", "description"):
        texts |= {what: translation} if (translation := getattr(output, what)) else {}
    for name, magnitude in job.magnitudes.items():
        if magnitude.unit:
            texts[Message("the unit of {name!r}", name=Name(name))] = magnitude.unit
    for name in dict.fromkeys(d for table in job.tables.values() for d in table.dimensions):
        texts[_label_of(name)] = {}
    for name, variable in job.variables.items():
        texts |= {
            _label_of(n): t for n, t in {name: variable.labels, **variable.levels}.items()
        }
    sentences = [
        what
        for what, translation in texts.items()
        if len({translation.get(code) for code in languages}) < len(languages)
    ]
    for name, variable in job.variables.items():
        categories = job.categories.get(name, ())
        declared = categories if isinstance(categories, list) else ()
        words: dict[str, Texts] = {code: {} for code in declared if isinstance(code, str)}
        codes = [
            repr(code)
            for code, translation in (words | dict(variable.categories)).items()
            if len({translation.get(c) for c in languages} - {code}) < len(languages)
        ]
        if codes:
            categories = [*codes[:_SHOWN], *["…"] * (len(codes) > _SHOWN)]
            number = (
                Message("{number} categories", number=len(codes))
                if len(codes) > 1
                else Message("1 category")
            )
            sentences.append(
                Message(
                    "{number} of {name!r}: {codes}",
                    number=number,
                    name=Name(name),
                    codes=Name.each(categories),
                )
            )
    return sentences


def _label_of(name: str) -> Message:
    return Message("the label of {name!r}", name=Name(name))
