"""A plan of differentially private tables: what its file says, checked, its paths resolved."""

from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from ckm.config.job.data import Records
from ckm.config.job.ledger import RecordsLedger
from ckm.config.job.output import Formats, add_unknown_formats
from ckm.config.lines import KeyPath
from ckm.config.read import build, open_settings
from ckm.config.reading import Reading
from ckm.config.section import (
    FilePath,
    Items,
    Label,
    Section,
    SettingsFile,
    Some,
    optional,
)
from dp import DPError, Plan, Question, TablePlan
from footing.messages import Message, Name
from tables import FilterError
from tables.filtering.filters import parse_filter

#: Formats that hold any text: with keys that are found, no other is sure to be written once
#: the ledger is charged. Where all keys are declared, each format is tried before.
_HOLD_ANY_TEXT = ("csv", "parquet", "xlsx")
_EXAMPLE = Message("ckm schema dp lists the keys of a plan")


class PlanData(Records):
    """The records, of which one at least is expected."""

    allow_empty: bool = optional("Whether there may be no record.", default=False)


class Privacy(Section):
    """Who is protected, and what all tables together may cost."""

    unit: Label = Field(description="Column of the identifiers of those who are protected.")
    protects: Label = optional("What they are, as the ledger has it.", default="person")
    epsilon: float = optional("What all tables may cost; this, or rho.", default=0.0)
    delta: float = optional("The delta of it; for Gaussian noise and found keys.", default=0.0)
    rho: float | None = optional("In place of epsilon, which is then told at delta.")
    noise: Literal["laplace", "gaussian"] | None = optional("By default as delta says.")
    people: int | None = optional("A public number of units, by which delta is judged.")
    confidence: float = optional("Of each interval.", default=0.95)


class PlanLedger(Section):
    """The ledger that is charged. A plan has its price before there is one."""

    path: FilePath = Field(description="Its file; ckm dp ledger create makes one.")
    who: Label = Field(description="Who releases.")


class PlanReleaseLedger(RecordsLedger):
    """The record of what was published of the same records, which the tables enter."""

    _where: ClassVar[KeyPath] = ("release_ledger",)


class Asked(Section):
    """One question, asked of each group."""

    kind: Label = Field(description="units, rows, sum, mean, histogram, quantiles, top.")
    column: str = optional("Whose values.", default="")
    lower: float | None = optional("Public bounds of values; without them they are found.")
    upper: float | None = optional("As lower.")
    step: float | None = optional("Values are rounded to multiples of it.")
    edges: Items[float] = optional("Of the bins of a histogram.", default=())
    categories: Items[str] = optional("The only values that count.", default=())
    at: Items[float] = optional("Which quantiles, from 0 to 1.", default=())
    k: int | None = optional("How many of the most frequent categories.")
    share: float = optional("Its part of the budget beside others.", default=1.0)


class TableSection(Section):
    """One table."""

    name: Label = Field(description="Its name, and that of its files.", pattern=r"^[\w-]+$")
    by: dict[str, Literal["find"] | Some[str]] = optional(
        'Column to its keys; "find" for those with enough units.', default={}
    )
    ask: Some[Asked] = Field(description="What is asked of each group.")
    groups_per_unit: int = optional("In how many groups a unit is kept.", default=1)
    rows_per_group: int = optional("How many rows of it in each.", default=1)
    share: float = optional("The part of finding keys in the budget.", default=1.0)
    where: str = optional("Which records count, as in a job; public.", default="")

    def add_problems(self, reading: Reading) -> None:
        """Note a filter that cannot be read; the data tell whether it fits."""
        try:
            if self.where:
                parse_filter(self.where)
        except FilterError as error:
            reading.add_error(("table", self.name), error)


class PlanOutput(Section):
    """The files of each table."""

    formats: Formats = optional("Formats of each table.", default=("csv",))
    title: str = optional("The heading of the page.", default="")

    def add_problems(self, reading: Reading) -> None:
        """Note formats that there are not."""
        add_unknown_formats(self.formats, reading)


class DPPlanFile(SettingsFile, title="A plan of tables with noise, for ckm"):
    """One plan. `read_dp_plan` reads it."""

    data: PlanData
    privacy: Privacy
    ledger: PlanLedger | None = None
    release_ledger: PlanReleaseLedger | None = None
    table: Some[TableSection] = Field(description="The tables.")
    output: PlanOutput = PlanOutput()

    @cached_property
    def plan(self) -> Plan:
        """What is asked, and what it may cost."""
        return Plan(
            **self.privacy.model_dump(exclude={"noise"}),
            noise=self.privacy.noise or "",
            tables=tuple(map(_table, self.table)),
        )

    def add_problems(self, reading: Reading) -> None:
        """Note what the plan says it cannot be."""
        if self.data.types or self.data.text:
            text = Message(
                "types and text are not declared for a plan: it reads all columns as texts."
            )
            reading.add(
                ("data",),
                text,
                Message("remove them; decimal may stay"),
                key="types" if self.data.types else "text",
            )
        self._add_problems_of_files(reading)
        try:
            self.plan  # noqa: B018
        except DPError as error:
            reading.add_error((), error, error.hint or _EXAMPLE)

    def _add_problems_of_files(self, reading: Reading) -> None:
        """Note files that might fail once the ledger is charged."""
        is_finding = any("find" in table.by.values() for table in self.table)
        for name in self.output.formats:
            if is_finding and name not in _HOLD_ANY_TEXT:
                reading.add(
                    ("output",),
                    Message(
                        "the format {name!r} does not hold every text that may be found as a "
                        "key.",
                        name=Name(name),
                    ),
                    Message(
                        "choose {formats}, or declare all keys",
                        formats=Name.each(_HOLD_ANY_TEXT),
                    ),
                    key=("formats", name),
                )
        if "json-stat2" in self.output.formats:
            for table in self.table:
                if table.name == "certificate":
                    reading.add(
                        ("table", table.name),
                        Message("its file would have the name of the certificate."),
                        Message("choose another name"),
                        key="name",
                    )


def _table(section: TableSection) -> TablePlan:
    settings: dict[str, Any] = section.model_dump(exclude={"ask", "by"})
    return TablePlan(
        **settings,
        by={name: None if keys == "find" else tuple(keys) for name, keys in section.by.items()},
        questions=tuple(Question(**question.model_dump()) for question in section.ask),
    )


def read_dp_plan(path: Path | str) -> DPPlanFile:
    """Read and check a plan; relative paths start at its folder. The data are not opened."""
    reading, document = open_settings(path, kind="plan")
    return build(DPPlanFile, document, reading)
