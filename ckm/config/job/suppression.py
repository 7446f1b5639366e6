"""The section ``[suppression]``: which cells are unsafe, and how others are chosen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ckm.config.lines import KeyPath
from ckm.config.problems import did_you_mean, heading
from ckm.config.section import FilePath, Items, Label, ReadAs, Section, optional
from ckm.engine.request import quantile_of, variable_of
from ckm.errors import ConfigError
from ckm.methods.settings import (
    LARGEST_HIDDEN_SHARE,
    CellsFile,
    LinkSetting,
    RequestRule,
    SuppressionSettings,
)
from footing.messages import Argument, Message, Name

if TYPE_CHECKING:
    from ckm.config.job.job import Job
    from ckm.config.reading import Reading

_WHERE = ("suppression",)


class DominanceSection(Section):
    """The nk rule."""

    n: int = Field(ge=1, le=6, description="How many of the largest contributors.")
    percent: float = Field(gt=0, lt=100, description="Their share of the total.")


class PriorPosteriorSection(Section):
    """The p-q rule."""

    posterior: float = Field(gt=0, lt=100, description="p: how near they come, per cent.")
    prior: float = Field(gt=0, le=100, description="q: how near all were before, per cent.")


_Dominance = Annotated[
    tuple[int, float], ReadAs(DominanceSection, lambda rule, _: (rule.n, rule.percent))
]
_PriorPosterior = Annotated[
    tuple[float, float],
    ReadAs(PriorPosteriorSection, lambda rule, _: (rule.posterior, rule.prior)),
]


class RequestSection(Section):
    """The request rule: passive confidentiality."""

    column: Label | None = optional("Of records: whether the contributor asked.")
    percent: float = Field(gt=0, lt=100, description="Their share of the total.")


class CellsSection(Section):
    """A file of what is known of cells beforehand."""

    path: FilePath = Field(description="The .hst of tau-ARGUS, or CSV with a header.")
    table: Label = Field(description="The table whose cells it names.")
    measure: Label | None = optional("The measure that is meant; without it, all of them.")
    unknown: Literal["refuse", "ignore"] | None = optional(
        "What becomes of lines of cells that are not there; without it, as in [suppression]."
    )


class LinkSection(Section):
    """What the office says of a link that readers may see."""

    equation: Label | None = optional(
        'Variables that belong together: "turnover = costs + profit".'
    )
    tables: Items[Label] | None = optional("Two tables with records in common.")
    holds: bool = optional(
        "Whether readers are taken to know it; false takes an equation away.", default=True
    )


class PriorSection(Section):
    """What readers know of every number beforehand."""

    below: float = Field(gt=0, le=100, description="At least so much of it less, per cent.")
    above: float = Field(gt=0, description="At most so much of it more, per cent.")


class JobSuppression(Section):
    """Cells are hidden instead of changed; all others are published as they are."""

    threshold: int | None = optional("Cells of fewer contributors are unsafe.", ge=2)
    margin: float = optional(
        "Protection of such cells of amounts, per cent.", default=10.0, gt=0, le=1000
    )
    dominance: _Dominance | None = optional("The nk rule.")
    p_percent: float | None = optional("The p % rule.", gt=0, lt=100)
    prior_posterior: _PriorPosterior | None = optional("The p-q rule.")
    request: RequestSection | None = optional("Cells are unsafe whose contributor asked.")
    zero_margin: float | None = optional(
        "Sums of 0 over records are unsafe, and kept so wide.", gt=0
    )
    holding: Label | None = optional(
        "Column of the holding that a record belongs to: the contributor for the rules."
    )
    coalition: int = optional(
        "How many contributors may join what they know: 0, 1 or 2.", default=1, ge=0, le=2
    )
    prior: (
        Annotated[
            tuple[float, float],
            ReadAs(PriorSection, lambda known, _: (known.below, known.above)),
        ]
        | None
    ) = optional("Within what readers know every number beforehand.")
    costs: Label = optional(
        'What it costs to hide a cell: its number, "one", a measure such as "count", or '
        '"sqrt:jobs", of a variable that no table need show.',
        default="value",
    )
    cells: Items[CellsSection] = optional(
        "Files that call cells safe, unsafe or protected, with levels and costs.", default=()
    )
    unknown: Literal["refuse", "ignore"] = optional(
        "What becomes of lines, and of keep and prefer, of cells that are not there.",
        default="refuse",
    )
    keep: list[dict[str, str]] = optional(
        "Cells that are published, by dimension and category.", default=[]
    )
    prefer: list[dict[str, str]] = optional(
        "Cells that are hidden before others, by dimension and category.", default=[]
    )
    previous: FilePath | None = optional(
        "The folder of an earlier release, whose hidden cells are preferred."
    )
    preferred_cost: float = optional(
        "What hiding a preferred cell costs, as a share.", default=0.01, ge=0, le=1
    )
    zero_cost: float | None = optional(
        "What it costs to hide a cell of 0, of one table; without it they are published.", gt=0
    )
    links: Items[LinkSection] = optional(
        "What the office says of links between columns, and between tables.", default=()
    )
    shadow: dict[str, str] = optional(
        "Variable = the variable that rules of amounts read instead of it.", default={}
    )
    method: Literal["auto", "exact", "sequential"] = optional(
        "How secondary cells are chosen.", default="auto"
    )
    limit_s: float = optional("When the search stops with the best found.", default=600.0, gt=0)
    largest_hidden_share: float = optional(
        "How much of the value of a table's inner cells may be hidden, as a share.",
        default=LARGEST_HIDDEN_SHARE,
        gt=0,
        le=1,
    )
    audit: bool = optional(
        "Compute what readers can work out of each hidden cell.", default=True
    )

    def add_problems(self, reading: Reading) -> None:
        """Note a rule that contradicts itself."""
        posterior, prior = self.prior_posterior or (0.0, 0.0)
        if posterior > prior:
            reading.add(
                ("suppression", "prior_posterior"),
                Message("posterior must be at most prior."),
                key="posterior",
            )
        for file in self.cells:
            reading.require_file(
                ("suppression", "cells", file.table),
                "path",
                file.path,
            )
        if self.previous is not None and not (self.previous / "public").is_dir():
            text = Message(
                "previous {path!r} is no folder of a release.",
                path=Name(reading.name_of(self.previous)),
            )
            reading.add(
                _WHERE, text, Message("it has a folder public, with the tables"), key="previous"
            )

    @property
    def settings(self) -> SuppressionSettings:
        """The parameters of the method."""
        request = self.request
        rule = None if request is None else RequestRule(**dict(request))
        cells = tuple(CellsFile(**dict(file)) for file in self.cells)
        links = tuple(
            LinkSetting(
                equation=link.equation, tables=tuple(link.tables or ()), holds=link.holds
            )
            for link in self.links
        )
        own = {"request": rule, "cells": cells, "links": links}
        return SuppressionSettings(**dict(self) | own)

    def files(self, tables: list[str]) -> list[Path]:
        """Return the files that the choice of cells depends on."""
        paths = [file.path for file in self.cells]
        if self.previous is not None:
            public = self.previous / "public"
            ends = [[public / f"{t}.{end}" for end in ("parquet", "csv")] for t in tables]
            paths += [p for both in ends for p in [q for q in both if q.is_file()][:1]]
            pattern = self.previous / "internal" / "pattern.parquet"
            paths += [pattern] if pattern.is_file() else []
        return paths

    def add_problems_beside(self, job: Job, reading: Reading) -> None:
        """Note what noise has and suppression has not, and rules without their numbers."""
        add_problems_without_noise(_WHERE, job, reading)
        self._add_problems_of_cells(job, reading)
        self._add_problems_of_links(job, reading)
        margins = [table.margins for table in job.table]
        if self.zero_cost is not None and margins != ["all"]:
            text = Message("zero_cost is for one table with all its margins.")
            reading.add(
                _WHERE,
                text,
                Message("remove zero_cost: zeros are then published"),
                key="zero_cost",
            )
        measures = {measure for table in job.table for measure in table.measures}
        if any(map(quantile_of, measures)):
            text = Message(
                "hides sums and counts: true quantiles would give single values away."
            )
            reading.add(_WHERE, text, Message("publish quantiles in a job with noise"))
        has_amounts = any(":" in measure for measure in measures)
        public = {"count"} if job.report.has_public_counts else set[str]()
        counts = any(not measure.startswith("sum:") for measure in measures - public)
        names = (
            "dominance",
            "p_percent",
            "prior_posterior",
            "request",
            "zero_margin",
            "holding",
        )
        of_amounts = [name for name in names if getattr(self, name) is not None]
        self._add_problems_of_contributors(job, reading)
        self._add_problems_of_shadows(job, reading)
        if job.report.has_public_counts:
            self._add_problems_of_public_counts(job, reading)
        is_said = bool(self.cells) or bool({*of_amounts} - {"holding"})
        if self.threshold is None and (counts or not is_said):
            hint = Message("threshold = 3 hides counts of 1 and 2")
            reading.add(
                _WHERE, Message("threshold is missing: which counts are too small?"), hint
            )
        if of_amounts and not has_amounts:
            text = Message(
                "{keys} judges amounts, and no table shows any.",
                keys=Name.each(of_amounts),
            )
            reading.add(
                _WHERE,
                text,
                Message('add "sum:…" to the measures of a table, or remove it'),
                key=of_amounts[0],
            )

    def _add_problems_of_contributors(self, job: Job, reading: Reading) -> None:
        """Note what asks of records what they are not."""
        data, of_records = job.data, job.data.cells is None
        if self.request is not None and (self.request.column is None) == of_records:
            text = Message("request names the column of records who asked, and of cells none.")
            hint = Message(
                'request = { column = "asked", percent = 50.0 }; for cells: [data.amounts]'
            )
            reading.add(_WHERE, text, hint, key="request")
        if self.holding is not None and not of_records:
            text = Message("holding adds up records, no cells.")
            reading.add(
                _WHERE,
                text,
                Message("give cells the largest contributions of holdings"),
                key="holding",
            )
        if job.signed:
            names = Name.each(job.signed)
            if self.prior is None:
                text = Message(
                    "prior is missing: {names!r} may be negative, and nothing bounds them.",
                    names=names,
                )
                hint = Message(
                    "prior = { below = 100.0, above = 100.0 }, of the absolute amounts"
                )
                reading.add(_WHERE, text, hint)
            if self.coalition:
                text = Message(
                    "{names!r} may be negative, and contributors are thought of above 0 alone.",
                    names=names,
                )
                reading.add(
                    _WHERE,
                    text,
                    Message("coalition = 0 protects against outsiders"),
                    key="coalition",
                )
            if self.holding is not None or not of_records:
                text = Message(
                    "{names!r} may be negative, for records without holding alone.",
                    names=names,
                )
                reading.add(_WHERE, text, Message("publish these sums with noise: ckm release"))
        if data.engine == "spark" and (self.holding or self.request or job.signed):
            text = Message("holdings, requests and amounts below 0 are tabulated by duckdb.")
            reading.add(_WHERE, text, Message("remove engine"))

    def _add_problems_of_shadows(self, job: Job, reading: Reading) -> None:
        """Note shadows of nothing, and those that no rule reads."""
        if not self.shadow:
            return
        for variable in self.shadow:
            if variable not in job.summed:
                text = Message(
                    "shadow is of {variable!r}, and no table shows sums of it.",
                    variable=Name(variable),
                )
                reading.add(_WHERE, text, did_you_mean(variable, job.summed), key="shadow")
        if not (self.dominance or self.p_percent or self.prior_posterior):
            text = Message("shadow is read by no rule.")
            hint = Message("dominance, p_percent and prior_posterior read it")
            reading.add(_WHERE, text, hint, key="shadow")
        if job.data.cells is not None:
            text = Message("shadow is for records, and the data are cells.")
            hint = Message("remove shadow: rules read the largest contributions of the cells")
            reading.add(_WHERE, text, hint, key="shadow")

    def _add_problems_of_public_counts(self, job: Job, reading: Reading) -> None:
        """Note where a number of records is what has to be hidden, or is none."""
        alone = [
            table.name
            for table in job.table
            if "count" in table.measures and not any(":" in m for m in table.measures)
        ]
        of_cells = [f.table for f in self.cells if f.measure in {None, "count"}]
        keys = [k for k in ("zero_margin", "zero_cost") if getattr(self, k) is not None]
        if alone:
            text = Message(
                "Counts are public by [[report.exceptions]], and tables show them alone, as "
                "what the threshold protects: {names}.",
                names=Name.each(alone),
            )
            hint = Message("publish these tables in another job, or remove public_counts")
            reading.add(_WHERE, text, hint)
        if of_cells:
            text = Message(
                "Counts are public by [[report.exceptions]], and files of cells may call some "
                "unsafe, of the tables {names}.",
                names=Name.each(dict.fromkeys(of_cells)),
            )
            hint = Message('name another measure for these files, such as "sum:turnover"')
            reading.add(_WHERE, text, hint)
        for key in keys:
            text = Message(
                "Counts are public by [[report.exceptions]], and would disclose sums of 0 "
                "that {key} hides.",
                key=Name(key),
            )
            reading.add(_WHERE, text, Message("remove {key}", key=Name(key)), key=key)
        if any(amount.holdings for amount in job.data.amounts.values()):
            text = Message("Counts of holdings are never public, and the cells count holdings.")
            reading.add(_WHERE, text, Message("remove public_counts"))

    def _add_problems_of_links(self, job: Job, reading: Reading) -> None:
        """Note links that are none: of tables that are not there, or equations of nothing."""
        names = [table.name for table in job.table]
        for link in self.links:
            if link.equation is not None:
                _add_problem_of_equation(link.equation, reading)
            where = ("suppression", "links")
            if (link.equation is None) == (link.tables is None):
                hint = Message('equation = "turnover = costs + profit", or tables = ["a", "b"]')
                text = Message("each of the links has an equation, or two tables.")
                reading.add(where, text, hint)
            if link.tables is None:
                continue
            for name in link.tables:
                if name not in names:
                    text = Message("there is no table {name!r}.", name=Name(name))
                    reading.add(where, text, did_you_mean(name, names), key="tables")
            if len({*link.tables}) != 2:
                text = Message("tables of a link are two.")
                reading.add(where, text, Message("write one entry a pair"), key="tables")
            if not link.holds:
                text = Message(
                    "tables of the same records are linked, whatever the job says of them."
                )
                hint = Message("holds = false is for equations; leave this entry out")
                reading.add(where, text, hint, key="holds")

    def _add_problems_of_cells(self, job: Job, reading: Reading) -> None:
        """Note tables and measures that are not there, of costs and of files of cells."""
        measures = {table.name: list(table.measures) for table in job.table}
        for file in self.cells:
            where = ("suppression", "cells", file.table)
            if file.table not in measures:
                text = Message("there is no such table.")
                reading.add(where, text, did_you_mean(file.table, measures), key="table")
            elif file.measure not in {None, *measures[file.table]}:
                text = Message(
                    "the table does not show {measure!r}.", measure=Name(file.measure)
                )
                reading.add(
                    where,
                    text,
                    did_you_mean(str(file.measure), measures[file.table]),
                    key="measure",
                )
        if self.costs in {"value", "one", "count"}:
            return
        if self.costs.removeprefix("sqrt:") not in {self.costs, ""}:
            return  # of a variable that no table need show
        variable = variable_of(self.costs)
        if variable is not None and self.costs == f"sum:{variable}":
            is_there = all(self.costs in columns for columns in measures.values())
        else:
            is_there = self.costs == "weighted" and job.data.weight is not None
        if not is_there:
            text = Message(
                "costs are no measure {costs!r} that all tables show.",
                costs=Argument(self.costs),
            )
            hint = Message(
                '"value", "one", "count", "weighted", "sum:…" of every table, or "sqrt:…" of '
                "any variable"
            )
            reading.add(_WHERE, text, hint, key="costs")


def _add_problem_of_equation(text: str, reading: Reading) -> None:
    """Note an equation that cannot be read."""
    from ckm.methods.suppression.equations import Equation  # with all of suppression

    try:
        Equation.parse(text)
    except ConfigError as error:
        reading.add_error(("suppression", "links"), error)


def add_problems_without_noise(where: KeyPath, job: Job, reading: Reading) -> None:
    """Note what noise has, and a job that adds none has not."""
    if job.ptable is not None:
        hint = Message("write two jobs, and publish the tables of one of them")
        text = Message(
            "stands beside [ptable]: the same numbers in two ways give the noise away."
        )
        reading.add(where, text, hint)
    if job.output.additive:
        text = Message(
            "additive is for noise: the tables of {where} add up.", where=heading(where)
        )
        reading.add(("output",), text, Message("remove additive"), key="additive")
    for key in ("limits", "exceptions", "designs", "sensitive"):
        if key == "exceptions" and all(e.public_counts for e in job.report.exceptions):
            continue  # if any
        if getattr(job.report, key) != type(job.report).model_fields[key].default:
            text = Message(
                "{key} is for noise, and {where} has none.", key=Name(key), where=heading(where)
            )
            reading.add(("report",), text, Message("remove {key}", key=Name(key)), key=key)
