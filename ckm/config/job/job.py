"""A release job: what a job file says, checked and with its paths resolved."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, PrivateAttr

from ckm.config.job.data import JobData, JobKeys
from ckm.config.job.ledger import JobLedger
from ckm.config.job.magnitude import JobMagnitude
from ckm.config.job.noise import JobNoise
from ckm.config.job.output import JobOutput
from ckm.config.job.report import JobReport
from ckm.config.job.rounding import JobRounding
from ckm.config.job.suppression import JobSuppression
from ckm.config.job.table import JobTable
from ckm.config.job.variable import (
    JobVariable,
    add_problems_of_variables,
    require_distinct,
)
from ckm.config.lines import KeyPath
from ckm.config.problems import did_you_mean
from ckm.config.reading import LANGUAGES, Reading
from ckm.config.section import (
    Items,
    Label,
    ReadAs,
    Section,
    SettingsFile,
    Some,
    Texts,
    Words,
    one_text,
    optional,
    texts_of,
)
from ckm.engine.request import TableRequest, quantile_of, variable_of
from ckm.formats.words import say
from footing.messages import Message, Name
from tables import DerivedVariable, FilterError
from tables.filtering.filters import parse_filter


class CodeTreeSection(Section):
    """A column of codes, and the file that says which code lies in which."""

    column: Label = Field(description="The column.")
    tree: Label = Field(description="The file of the tree.")


def _resolved(value: Any, reading: Reading) -> Any:
    if isinstance(value, CodeTreeSection):
        return {"column": value.column, "tree": str(reading.resolve(value.tree))}
    return reading.resolve(value) if isinstance(value, str) else value


_Hierarchy: TypeAlias = Annotated[
    list[str] | Path | dict[str, str], ReadAs(list[str] | str | CodeTreeSection, _resolved)
]
_Category: TypeAlias = Annotated[
    list[str | int | bool] | Path, ReadAs(list[str | int | bool] | str, _resolved)
]
Hierarchies = Annotated[
    dict[str, _Hierarchy], Field(description="Columns from broad to fine, or a code tree.")
]
Categories = Annotated[
    dict[str, _Category],
    Field(description="Categories that may occur, so that empty cells are known."),
]


class Job(SettingsFile, title="A release job of ckm"):
    """One release: data, keys, noise and tables. `ckm.config.read_job` reads one."""

    title: Words = optional(
        "What the release is called; one text, or { en = …, fr = … }.", default={}
    )
    data: JobData
    keys: JobKeys = JobKeys()
    ptable: JobNoise | None = optional(
        "The noise; needed where there is no [suppression] or [rounding]."
    )
    suppression: JobSuppression | None = optional("Which cells are hidden, instead of noise.")
    rounding: JobRounding | None = optional("Controlled rounding of counts, instead of noise.")
    hierarchies: Hierarchies = Field(default={})
    categories: Categories = Field(default={})
    variable: Items[JobVariable] = optional(
        "Words for dimensions, and variables made of columns; as in a service file.",
        default=(),
    )
    magnitude: Items[JobMagnitude] = optional(
        "The noise of sums and means, by variable.", default=()
    )
    output: JobOutput = JobOutput()
    report: JobReport = JobReport()
    ledger: JobLedger | None = None
    table: Some[JobTable] = Field(description="The tables to publish.")
    _labelled: frozenset[str] = PrivateAttr(default=frozenset())
    _discrete: tuple[str, ...] = PrivateAttr(default=())

    @property
    def tables(self) -> Mapping[str, TableRequest]:
        """Name of a table → what the engine is asked for."""
        return {table.name: table.request for table in self.table}

    @property
    def titles(self) -> Mapping[str, Texts]:
        """Name of a table, or "" for the release → its title by language."""
        texts = {"": self.title} | {table.name: table.title for table in self.table}
        return {name: title for name, title in texts.items() if title}

    @property
    def populations(self) -> Mapping[str, Texts]:
        """Name of a table → which records it counts, by language, where these are not all.

        Of a filter without words of the office readers learn that there is one. Its text may
        hold codes, identifiers or amounts that no table shows.
        """
        texts = {table.name: table.population for table in self.table if table.population}
        for table in self.table:
            if table.where and table.name not in texts:
                texts[table.name] = {code: say("filter", code) for code in LANGUAGES}
        return texts

    @property
    def dataflows(self) -> Mapping[str, str]:
        """Name of a table → what SDMX knows it by."""
        return {t.name: t.dataflow for t in self.table if t.dataflow is not None}

    @property
    def variables(self) -> Mapping[str, JobVariable]:
        """Name of a dimension or a column → the words for it."""
        return {variable.name: variable for variable in self.variable}

    def labelled(self, labels: Mapping[str, Mapping[str, str]]) -> "Job":
        """Return the job with labels of its records, where it gives none of its own.

        Parameters
        ----------
        labels
            Column → category → label, for readers of every language.
        """
        added, labelled = dict(self.variables), set[str]()
        for dimension in dict.fromkeys(d for t in self.table for d in t.dimensions):
            nested = self.hierarchies.get(dimension)
            columns = {name: name for name in nested} if isinstance(nested, list) else {}
            source = nested["column"] if isinstance(nested, dict) else dimension
            for output_column, column in (columns or {dimension: source}).items():
                own = (self.variables.get(name) for name in (dimension, output_column))
                if column not in labels or any(v and (v.categories or v.codelist) for v in own):
                    continue
                require_distinct(column, labels[column])
                categories = {code: texts_of(text) for code, text in labels[column].items()}
                variable = self.variables.get(output_column) or JobVariable(name=output_column)
                added[output_column] = variable.changed(categories=categories)
                labelled.add(output_column)
        if not labelled:
            return self
        job = self.changed(variable=tuple(added.values()))
        job._labelled = frozenset(labelled)  # noqa: SLF001  (a job of ours)
        return job

    @property
    def labelled_columns(self) -> frozenset[str]:
        """Columns of tables whose labels are those of the records' files."""
        return self._labelled

    @property
    def derived(self) -> tuple[DerivedVariable, ...]:
        """The variables that are made of columns, in their order."""
        variables = (variable.derived for variable in self.variable)
        return tuple(derived for derived in variables if derived is not None)

    @property
    def magnitudes(self) -> Mapping[str, JobMagnitude]:
        """Variable of which a table shows sums or means → the noise of these.

        Also variables of quantiles alone that have a section, which tells their period.
        """
        own = {magnitude.name: magnitude for magnitude in self.magnitude}
        common = own.get(None) or JobMagnitude()
        summed = {name for table in self.table for name in table.request.variables}
        return {
            name: own.get(name, common)
            for name in self.summed
            if name in summed or {name, None} & set(own)
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sections that belong to no table, perhaps by a slip; filters without words."""
        texts = (*self._unused(), *self._wordless())
        return tuple(f"{self.path.name}: {text}" for text in texts)

    def title_of(
        self, table: str = "", *, languages: Sequence[str] = LANGUAGES
    ) -> str | Mapping[str, str]:
        """Return a title, by language where languages differ; empty for none.

        Parameters
        ----------
        table
            Name of the table, or ``""`` for the release.
        languages
            Those that are wanted.
        """
        return _in_languages(self.titles.get(table, {}), languages)

    def population_of(
        self, table: str, *, languages: Sequence[str] = LANGUAGES
    ) -> str | Mapping[str, str]:
        """Return which records a table counts, as `title_of`; empty where these are all."""
        return _in_languages(self.populations.get(table, {}), languages)

    @property
    def checks(self) -> Literal["stop", "warn", "skip"]:
        """What defects of keys do; a table of cells may have none, or none that matter."""
        is_idle = not self.has_noise and self.data.cells is not None
        return "skip" if is_idle or not self.data.has_keys else self.keys.checks

    @property
    def has_noise(self) -> bool:
        """Whether counts are changed by chance, and neither hidden nor rounded instead."""
        return self.suppression is None and self.rounding is None

    @property
    def needs_secret(self) -> bool:
        """Whether the job cannot run without a secret."""
        if not self.has_noise:
            return False
        own = any(magnitude.rules == "ckm" for magnitude in self.magnitudes.values())
        own = own or any(quantile_of(m) for table in self.table for m in table.measures)
        return self.data.id is not None or (self.keys.mix and self.data.has_keys) or own

    def input_files(self) -> tuple[Path, ...]:
        """Return every file that the published files depend on, the secret excepted."""
        files = [*self.data.files()]
        files += [tree for tree in self.hierarchies.values() if isinstance(tree, Path)]
        files += [Path(t["tree"]) for t in self.hierarchies.values() if isinstance(t, dict)]
        files += [path for path in self.categories.values() if isinstance(path, Path)]
        files += [v.codelist for v in self.variable if v.codelist is not None]
        files += [v.recode for v in self.variable if isinstance(v.recode, Path)]
        if isinstance(self.ptable, Path):
            files.append(self.ptable)
        if self.suppression is not None:
            files += self.suppression.files(list(self.tables))
        for magnitude in self.magnitudes.values():
            files += [path for path in magnitude.ptables.values() if isinstance(path, Path)]
        return tuple(dict.fromkeys(files))

    def shown(self, path: Path) -> str:
        """Return a path as people wrote it: relative to the job file where it lies below."""
        folder = self.path.parent
        near = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
        return self.data.name_of(path) or near

    def place_of(self, argument: KeyPath) -> KeyPath:
        """Return the place in the file of a column of the data, or a part of some table."""
        kind, name = argument[:2] if len(argument) > 1 else ("", "")
        if kind == "column":
            keys = [key for key, value in self.data if value == name]
            return ("data", *keys[:1])
        if kind == "dimensions":
            homes = [table.place for table in self.table if name in table.dimensions]
            return (*homes[0], *argument) if homes else argument
        return argument

    def add_problems(self, reading: Reading) -> None:
        """Note what several sections contradict each other in."""
        add_problems_of_dimensions(self.hierarchies, self.categories, reading)
        add_problems_of_variables(self.variable, self.hierarchies, reading)
        self._add_problems_of_tables(reading)
        names = [magnitude.name for magnitude in self.magnitude]
        for number, magnitude in enumerate(self.magnitude):
            if magnitude.name in names[:number]:
                text = Message("the name occurs more than once.")
                text = text if magnitude.name else Message("a second one for all.")
                reading.add(
                    magnitude.place,
                    text,
                    Message("give every variable one section"),
                    key="name",
                )
        self._add_problems_of_continuous(reading)
        self._add_problems_of_public_counts(reading)
        self._add_problems_of_second_ptable(reading)
        if self.output.publish_noise and (not self.has_noise or self.output.additive):
            is_additive = self.output.additive
            what = (
                Message("additive changes them again")
                if is_additive
                else Message("there is none")
            )
            text = Message(
                "publish_noise tells how far noise takes counts, and {what}.", what=what
            )
            reading.add(("output",), text, Message("remove publish_noise"), key="publish_noise")
        if self.data.amounts and self.suppression is None:
            text = Message("amounts are read for suppression alone.")
            reading.add(("data",), text, Message("remove amounts"), key="amounts")
        for instead in (self.suppression, self.rounding):
            if instead is not None:
                instead.add_problems_beside(self, reading)
        if not self.has_noise:
            return
        if self.ptable is None:
            hint = Message(
                "[ptable] is for noise; a job that hides cells has [suppression] instead"
            )
            reading.add(
                ("ptable",), Message("is missing: which noise protects the tables?"), hint
            )
        if self.output.additive:
            self._add_problems_of_additive(reading)

    def _add_problems_of_tables(self, reading: Reading) -> None:
        lowered = [table.name.lower() for table in self.table]
        for name in sorted({a for a, b in pairwise(sorted(lowered)) if a == b}):
            last = len(lowered) - 1 - lowered[::-1].index(name)
            text = Message("the name {name!r} occurs more than once.", name=Name(name))
            hint = Message(
                "names become file names: they must differ in more than upper and lower case"
            )
            reading.add(("table",), text, hint, key=(last, "name"))
        for table in self.table:
            if "weighted" in table.measures and self.data.weight is None:
                text = Message('the measure "weighted" needs [data] weight.')
                reading.add(
                    table.place, text, Message('add weight = "…"'), key=("measures", "weighted")
                )
            if isinstance(table.margins, str):
                continue
            columns = [*table.dimensions, *self._levels(table.dimensions)]
            for name in dict.fromkeys(n for subset in table.margins for n in subset):
                if name not in columns:
                    text = Message(
                        "margins name {name!r}, which is no dimension of it.",
                        name=Name(name),
                    )
                    reading.add(table.place, text, did_you_mean(name, columns), key="margins")

    def _add_problems_of_continuous(self, reading: Reading) -> None:
        """Note exceptions that nobody can grant, or that no public report would tell."""
        dimensions = {d for table in self.table for d in table.dimensions}
        nested = (self.hierarchies.get(d) for d in dimensions)
        dimensions |= {c for levels in nested if isinstance(levels, list) for c in levels}
        for number, entry in enumerate(self.report.exceptions):
            column, where = entry.continuous, ("report", "exceptions", number)
            if column is None:
                continue
            if column in self.summed:
                text = Message(
                    "{column!r} cannot be continuous and a dimension: the job sums it, too.",
                    column=Name(column),
                )
                reading.add(
                    where,
                    text,
                    Message("cut it into bands, or publish no sums of it"),
                    key="continuous",
                )
            elif column not in dimensions:
                text = Message(
                    "continuous names {column!r}, which is a dimension of no table.",
                    column=Name(column),
                )
                reading.add(where, text, did_you_mean(column, dimensions), key="continuous")

    def _add_problems_of_public_counts(self, reading: Reading) -> None:
        """Note exceptions for counts that nothing hides."""
        for number, entry in enumerate(self.report.exceptions):
            if entry.public_counts and self.suppression is None:
                reading.add(
                    ("report", "exceptions", number),
                    Message("public_counts is for counts beside sums that are hidden."),
                    Message("remove it, or write a job with [suppression]"),
                    key="public_counts",
                )

    def _add_problems_of_second_ptable(self, reading: Reading) -> None:
        """Note exceptions for a p-table of which no ledger could know an earlier one."""
        for number, entry in enumerate(self.report.exceptions):
            if entry.second_ptable and (self.ledger is None or not self.has_noise):
                reading.add(
                    ("report", "exceptions", number),
                    Message("second_ptable is for noise beside tables of a [ledger]."),
                    Message("remove it, or name the ledger"),
                    key="second_ptable",
                )

    def _add_problems_of_additive(self, reading: Reading) -> None:
        where = ("output",)
        if getattr(self.ptable, "positive_bias", 0):
            text = Message(
                "additive may take positive counts to 0, and [ptable] has positive_bias."
            )
            reading.add(where, text, Message("remove one of the two"), key="additive")
        for table in self.table:
            others = [measure for measure in table.measures if measure != "count"]
            if others:
                hint = Message("publish it in a job of its own without additive")
                text = Message(
                    "additive is for counts, and table {table!r} shows {others!r}.",
                    table=Name(table.name),
                    others=Name(others[0]),
                )
                reading.add(where, text, hint, key="additive")

    def zeroes_sums(self, table: str) -> bool:
        """Return whether a table has sums that are 0 wherever the published count is."""
        measures, magnitudes = self.tables[table].measures, self.magnitudes
        return any(f"sum:{n}" in measures and magnitudes[n].zero_with_count for n in magnitudes)

    @property
    def continuous(self) -> tuple[str, ...]:
        """The dimensions that somebody allowed to be continuous."""
        allowed = (entry.continuous for entry in self.report.exceptions)
        return (*self._discrete, *(column for column in allowed if column is not None))

    def take_discrete(self, columns: Iterable[str]) -> None:
        """Take columns for categories, as another job does that has the same tables."""
        self._discrete = tuple(columns)

    @property
    def signed(self) -> list[str]:
        """The variables that are added up and may be negative."""
        return [name for name, own in self.magnitudes.items() if own.signed]

    @property
    def summed(self) -> list[str]:
        """The variables of which tables show sums, means or quantiles."""
        variables = (variable_of(name) for table in self.table for name in table.measures)
        return list(dict.fromkeys(name for name in variables if name is not None))

    def _levels(self, names: Iterable[str]) -> list[str]:
        """Return the columns of hierarchies."""
        nested = (self.hierarchies.get(name) for name in names)
        return [column for h in nested if isinstance(h, list) for column in h]

    def _filtered(self) -> Iterator[str]:
        """Return the columns of filters that can be read."""
        for table in self.table:
            with contextlib.suppress(FilterError):
                yield from parse_filter(table.where).columns if table.where else ()

    def _wordless(self) -> Iterator[str]:
        """Name the tables that count some records alone and have no words for it."""
        names = [table.name for table in self.table if table.where and not table.population]
        if names:
            yield Message(
                "Readers learn that {tables} count some records alone, and not which: say it "
                "in words, population = {example}.",
                tables=Name.each(names),
                example=Name('{ en = "…", fr = "…" }'),
            )

    def _unused(self) -> Iterator[str]:
        table_dimensions = list(
            dict.fromkeys(d for table in self.table for d in table.dimensions)
        )
        summed = self.summed
        columns = [
            *table_dimensions,
            *self._levels(table_dimensions),
            *summed,
            *self._filtered(),
        ]
        columns += [variable.of for variable in self.derived]
        dimensions = list(table_dimensions)
        if self.suppression is not None:  # it reads of a hierarchy what lies in what
            links = [
                n for n in self.hierarchies if set(self._levels([n])) & set(table_dimensions)
            ]
            dimensions += links
        is_no = Message("is a dimension of no table")
        amounts = [m.name for m in self.magnitude]
        for where, names, choices, what in (
            ("[hierarchies]", self.hierarchies, dimensions, is_no),
            ("[categories]", self.categories, dimensions, is_no),
            (
                "[[variable]]",
                self.variables,
                columns,
                Message("is no dimension or column of a table"),
            ),
            ("[[magnitude]]", amounts, summed, Message("is a variable of no table")),
        ):
            for name in names:
                if name is not None and name not in choices:
                    way = did_you_mean(name, choices)
                    yield Message(
                        "{section} {name!r} {what}, so it does nothing{end}",
                        section=Name(where),
                        name=Name(name),
                        what=what,
                        end=Message("; {way}", way=way) if way else Message("."),
                    )


def _in_languages(texts: Texts, languages: Sequence[str]) -> str | Mapping[str, str]:
    return one_text({code: texts[code] for code in languages if code in texts})


def add_problems_of_dimensions(
    hierarchies: Mapping[str, list[str] | Path | dict[str, str]],
    categories: Mapping[str, list[Any] | Path],
    reading: Reading,
) -> None:
    """Note hierarchies and categories that are not there, or that repeat themselves."""
    for section, entries, what in (
        ("hierarchies", hierarchies, Message("columns, from broad to fine")),
        ("categories", categories, Message("categories")),
    ):
        for name, value in entries.items():
            if isinstance(value, list):
                if not value or len(set(value)) < len(value):
                    reading.add(
                        (section,),
                        Message(
                            "{name!r} must list different {what}.",
                            name=Name(name),
                            what=what,
                        ),
                        key=name,
                    )
            elif isinstance(value, dict):
                reading.require_file((section,), f"{name}.tree", Path(value["tree"]))
            else:
                reading.require_file((section,), name, value)
