"""What the files of a job's table say beside its numbers, in the words of the job."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

from ckm.config.job.variable import require_distinct
from ckm.engine.magnitudes.measures import mean_decimals
from ckm.engine.published_table import measure_columns
from ckm.engine.request import quantile_of, variable_of
from ckm.errors import ReleaseError
from ckm.formats import TableAbout
from ckm.formats.derivations import derivations_of
from ckm.formats.words import MISSING, category_labels, say
from footing.messages import Argument, Message, Name, joined
from tables import CodeTree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckm.config.job.job import Job
    from ckm.config.job.variable import JobVariable
    from ckm.engine.published_table import PublishedTable


#: Tables and variables of which a remark names so many at most.
_NAMED = 12


def missing_words(job: Job) -> Message | None:
    """Say which words for readers a job does not give; None where it gives all of them.

    Published files and pages then show the names of tables and columns instead, and no contact.
    """
    titles, variables = job.titles, job.variables
    untitled = [name for name in ("", *job.tables) if name not in titles]
    if len(job.tables) == 1 and len(untitled) == 1:
        untitled = []  # one of the two titles stands on every page
    columns = dict.fromkeys(n for table in job.tables.values() for n in table.dimensions)
    amounts = [variable_of(m) or "" for table in job.tables.values() for m in table.measures]
    names = [*columns, *filter(None, dict.fromkeys(amounts))]
    unlabelled = [n for n in names if n not in variables or not variables[n].labels]
    parts = []
    if "" in untitled:
        parts.append(Message("a title of the release"))
    if tables := [name for name in untitled if name]:
        parts.append(Message("a title of {tables}", tables=Name.each(tables[:_NAMED])))
    if unlabelled:
        parts.append(Message("labels of {columns}", columns=Name.each(unlabelled[:_NAMED])))
    if not job.report.contact:
        parts.append(Message("a contact"))
    if not parts:
        return None
    return Message(
        "not given for readers, as title, labels in [[variable]] or contact in [report]: "
        "{words}",
        words=joined("; ", parts),
    )


class TableWords:
    """Says what the tables of a job are: names, labels, hierarchies, who is responsible.

    Only categories of the published table are spoken of: a name beside it could tell that
    somebody is there.

    Parameters
    ----------
    job
        The job. Its code trees are read at once.
    language
        Of the words; by default the first of the files.
    """

    def __init__(self, job: Job, *, language: str = "") -> None:
        self._job = job
        self._language = language or job.output.languages[0]
        names = [name for table in job.tables.values() for name in table.dimensions]
        self._total = dict.fromkeys(names, job.output.total_label)
        for name, nested in job.hierarchies.items():
            if not isinstance(nested, list):
                path = nested if isinstance(nested, Path) else Path(nested["tree"])
                self._total[name] = CodeTree.read(path).root or job.output.total_label

    def columns(self, name: str) -> dict[str, str]:
        """Return the columns that the dimensions of a table make: column → dimension."""
        by_column: dict[str, str] = {}
        for dimension in self._job.tables[name].dimensions:
            nested = self._job.hierarchies.get(dimension)
            levels = nested if isinstance(nested, list) else []
            names = levels if len(levels) > 1 else [dimension]
            by_column |= dict.fromkeys(names, dimension)
        return by_column

    def total(self, dimension: str) -> str:
        """Return the category that stands for all others of a dimension."""
        return self._total[dimension]

    def about(self, name: str, table: PublishedTable) -> TableAbout:
        """Return what the files of a published table say."""
        job, output, columns = self._job, self._job.output, self.columns(name)
        language = self._language
        measures = measure_columns(job.tables[name].measures, table.dimensions)
        has_quantiles = bool(job.tables[name].quantiles)
        has_amounts = bool(job.tables[name].variables)
        has_noisy_amounts = has_amounts and job.suppression is None
        empty = "no_mean" if has_noisy_amounts else "suppressed"
        empty = "withheld" if has_quantiles else empty
        notes = [
            self._in(job.populations.get(name)),
            say(self._method(), language),
            say("amounts", language) if has_noisy_amounts else "",
            say("zeroed_amounts", language) if job.zeroes_sums(name) else "",
            say("quantiles", language) if has_quantiles else "",
            self._in(output.description),
            *derivations_of(job.derived, columns, language=language),
        ]
        return TableAbout(
            id=name,
            title=self._in(job.titles.get(name)),
            language=language,
            source=self._in(output.source),
            contact=job.report.contact,
            notes=list(dict.fromkeys(filter(None, notes))),
            labels=self._labels(columns)
            | {column: self._measure(measure) for column, measure in measures.items()},
            category_labels=self._categories(name, columns, table),
            unit=self._in(output.unit),
            units=self._units(measures),
            decimals=self._decimals(measures),
            updated=dt.date.fromisoformat(job.report.date) if job.report.date else None,
            geography=self._role(columns, lambda variable: variable.is_area),
            time=self._role(columns, lambda variable: variable.role == "time"),
            totals={
                column: self.total(dimension)
                for column, dimension in columns.items()
                if self.total(dimension) in table.dimensions[column][1]
            },
            hierarchies=self._hierarchies(columns),
            withheld_label=say("withheld", language),
            suppressed_label=say(empty, language),
            dataflow=job.dataflows.get(name, ""),
        )

    def _in(self, texts: Mapping[str, str] | None) -> str:
        """Return a text in the language; empty where nothing was said."""
        return (texts or {}).get(self._language, "")

    def _method(self) -> str:
        """Return the key of the words for what protects the counts."""
        if self._job.suppression is not None:
            return "suppression"
        if self._job.rounding is not None:
            return "small_rounding" if self._job.rounding.counts == "small" else "rounding"
        return "additive" if self._job.output.additive else "method"

    def _hierarchies(self, columns: Mapping[str, str]) -> dict[str, list[str]]:
        """Return the dimensions of several columns."""
        by_dimension: dict[str, list[str]] = {}
        for column, dimension in columns.items():
            by_dimension.setdefault(dimension, []).append(column)
        return {name: members for name, members in by_dimension.items() if len(members) > 1}

    def _labels(self, columns: Mapping[str, str]) -> dict[str, str]:
        """Return the labels of dimensions, and of columns that have one."""
        labels = {}
        for column, dimension in columns.items():
            own, above = self._job.variables.get(column), self._job.variables.get(dimension)
            labels[dimension] = (self._in(above.labels) if above else "") or dimension
            levels = {} if above is None else above.levels
            label = (self._in(own.labels) if own else "") or self._in(levels.get(column))
            labels |= {column: label} if label else {}
        return labels

    def _measure(self, measure: str) -> str:
        """Return the label of a measure."""
        variable = variable_of(measure)
        if variable is None:
            return say(measure, self._language)
        entry = self._job.variables.get(variable)
        statistic = measure.partition(":")[0]
        is_weighted = self._job.data.weight and statistic in {"sum", "mean"}
        kind = f"weighted_{statistic}" if is_weighted else statistic
        label = (self._in(entry.labels) if entry else "") or variable
        return say(kind, self._language).format(label, measure.rpartition(":")[2])

    def _units(self, measures: Mapping[str, str]) -> dict[str, str]:
        """Return the units of amounts, where the job names them."""
        magnitudes = {
            c: self._job.magnitudes.get(variable_of(m) or "") for c, m in measures.items()
        }
        return {
            column: self._in(magnitude.unit)
            for column, magnitude in magnitudes.items()
            if magnitude and magnitude.unit
        }

    def _decimals(self, measures: Mapping[str, str]) -> dict[str, int]:
        """Return the decimals to show of measures with amounts, where they are limited."""
        numbers: dict[str, int | None] = {}
        for column, measure in measures.items():
            variable = None if quantile_of(measure) else variable_of(measure)
            amount = self._job.magnitudes.get(variable or "")
            decimals = None if amount is None else amount.decimals
            if decimals is not None:
                is_mean = measure.startswith("mean:")
                numbers[column] = mean_decimals(decimals) if is_mean else max(decimals, 0)
        return {column: number for column, number in numbers.items() if number is not None}

    def _role(self, columns: Mapping[str, str], plays: Callable[[JobVariable], bool]) -> str:
        """Return the dimension or the column that tells places, or times."""
        name = next((v.name for v in self._job.variables.values() if plays(v)), "")
        if name in {*columns, *self._hierarchies(columns)}:
            return name
        nested = self._job.hierarchies.get(name)
        levels = nested if isinstance(nested, list) else []
        return next((column for column in columns if column in levels), "")

    def _categories(
        self, name: str, columns: Mapping[str, str], table: PublishedTable
    ) -> dict[str, dict[str, str]]:
        """Return the labels of the categories that the table shows."""
        by_column = {}
        for column, dimension in columns.items():
            code_labels = self.codes(column, dimension)
            texts = table.dimensions[column][1]
            self._require_listed(name, column, dimension, texts)
            own = {self.total(dimension): say("total", self._language)}
            if self._job.output.missing_label == MISSING:  # else the office's own word
                own[MISSING] = say(MISSING, self._language)
            all_labels = own | code_labels
            labels = {text: all_labels.get(text, text) for text in texts}
            if column in self._job.labelled_columns:
                require_distinct(column, labels)
            by_column[column] = category_labels(labels)
        return {column: labels for column, labels in by_column.items() if labels}

    def _variables(self, column: str, dimension: str) -> list[JobVariable]:
        """Return what is said of a column, the words of its own last."""
        names = dict.fromkeys([dimension, column])
        return [self._job.variables[n] for n in names if n in self._job.variables]

    def codes(self, column: str, dimension: str) -> dict[str, str]:
        """Return the codes that the job has words for, and those words."""
        return {
            code: self._in(texts)
            for variable in self._variables(column, dimension)
            for code, texts in variable.categories.items()
        }

    def _require_listed(
        self, name: str, column: str, dimension: str, texts: Sequence[str]
    ) -> None:
        variables = [v.codelist for v in self._variables(column, dimension) if v.codelist]
        if not variables:
            return
        output = self._job.output
        codes = {*self.codes(column, dimension), self.total(dimension), output.missing_label}
        strangers = len(set(texts) - codes)
        if strangers:
            raise ReleaseError(
                Message(
                    "Table {name!r} shows {strangers} categories of {column!r} that the code "
                    "list {codelist!r} does not name.",
                    name=Name(name),
                    strangers=strangers,
                    column=Name(column),
                    codelist=Argument(variables[-1].name),
                ),
                hint=Message("add them there, or leave their records out with where"),
            )
