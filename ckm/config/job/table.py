"""The sections ``[[table]]``: the tables to publish."""

import re
from dataclasses import fields
from functools import cached_property
from typing import Literal

from pydantic import Field

from ckm.config.lines import KeyPath
from ckm.config.reading import Reading
from ckm.config.section import Items, Label, Section, Some, Words, optional
from ckm.engine.request import TableRequest
from ckm.errors import ConfigError
from footing.messages import Message

_MAX_NAME = 100
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_RESERVED = {"con", "prn", "aux", "nul", "manifest"} | {
    f"{port}{digit}" for port in ("com", "lpt") for digit in range(10)
}


class JobTable(Section):
    """One table to publish."""

    name: Label = Field(description="Name of the table and of its files.")
    title: Words = optional("What it shows; one text, or { en = …, fr = … }.", default={})
    population: Words = optional(
        "Which records it counts, for readers; one text, or { en = …, fr = … }.", default={}
    )
    dataflow: Label | None = optional('What SDMX knows it by: "AGENCY:ID(1.0)".')
    dimensions: Some[str] = Field(description="Columns, or names of hierarchies.")
    measures: Some[str] = optional(
        '"count", "weighted", and of a variable "sum:income", "mean:income", '
        '"median:income", "quantile:income:0.9".',
        default=("count",),
    )
    margins: Literal["all", "none"] | Items[Items[str]] = optional(
        "Which totals to publish beside the finest cells, which every table has.", default="all"
    )
    where: Label | None = optional("Which rows count, for example: age >= 15")
    empty_cells: Literal["auto", "grid", "drop"] = optional(
        "grid lists every combination, drop no published zero.", default="auto"
    )
    missing_values: Literal["stop", "skip"] = optional(
        "What sums do about records without a value.", default="stop"
    )

    @cached_property
    def request(self) -> TableRequest:
        """What the engine is asked for."""
        return TableRequest(**{f.name: getattr(self, f.name) for f in fields(TableRequest)})

    @property
    def place(self) -> KeyPath:
        """Where it stands in the file."""
        return ("table", self.name)

    def add_problems(self, reading: Reading) -> None:
        """Note a name that is no file name, and words that say nothing."""
        from ckm.formats.about import is_dataflow

        if (
            not _SAFE_NAME.fullmatch(self.name)
            or len(self.name) > _MAX_NAME
            or self.name.lower().split(".")[0] in _RESERVED
        ):
            hint = Message(
                "use letters, digits, - and _, starting with a letter; not con or manifest"
            )
            reading.add(
                self.place, Message("name cannot be a file name everywhere."), hint, key="name"
            )
        if len(set(self.dimensions)) < len(self.dimensions):
            reading.add(
                self.place, Message("dimensions must differ from each other."), key="dimensions"
            )
        if self.dataflow is not None and not is_dataflow(self.dataflow):
            hint = Message('written "AGENCY:ID(1.0)"')
            reading.add(
                self.place, Message("dataflow is not an id of SDMX."), hint, key="dataflow"
            )
        if len(set(self.measures)) < len(self.measures):
            reading.add(
                self.place, Message("measures must differ from each other."), key="measures"
            )
            return
        try:
            self.request  # noqa: B018  (it says what it cannot be)
        except ConfigError as error:
            reading.add_error(self.place, error)
