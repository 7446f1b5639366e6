"""The shape of a job file. These models parse; domain objects are built from them."""

from __future__ import annotations

import datetime as dt  # noqa: TC003  (pydantic reads the types)
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from ckm.config.job.magnitude_schema import MagnitudeModel, magnitude_sections
from ckm.config.job.suppression import SuppressionModel, suppression_sections
from ckm.config.section import Section as _Section
from ckm.config.section import Text as _Text
from ckm.config.section import TextModel
from ckm.formats.names import FORMAT_NAMES

__all__ = [
    "JobModel",
    "LedgerModel",
    "PTableModel",
    "TextModel",
    "known_keys",
]

_Name = Field(min_length=1)
_MaxNoise = Annotated[int, Field(ge=1, le=1000)]
_Probability = Annotated[float, Field(ge=0, lt=1)]
_Limit = Annotated[float, Field(ge=0, le=1)]
_StayRule = Literal["exact", "at-least", "at-most"]
_Monotone = Literal["none", "left", "both", "unimodal"]
_VarianceRule = Literal["exact", "at-most", "nearest"]


# Looked up when the job is built, where the nearest name can be told.
_Format = Annotated[str, Field(json_schema_extra={"enum": list(FORMAT_NAMES)})]


class DataModel(_Section):
    """The microdata: one row per person or unit."""

    path: str = Field(
        min_length=1, description="A Parquet or CSV file, a glob, or a DuckDB file."
    )
    table: str | None = Field(
        default=None, min_length=1, description="The table of a DuckDB file."
    )
    id: str | None = Field(
        default=None, min_length=1, description="Column of stable identifiers; needs a secret."
    )
    record_key: str | None = Field(
        default=None, min_length=1, description="Column of stored random keys, instead of id."
    )
    key_range: int | None = Field(
        default=None,
        gt=1,
        description="Stored keys run from 0 to key_range - 1; for example 256.",
    )
    weight: str | None = Field(default=None, min_length=1, description="Column of weights.")
    engine: Literal["duckdb", "spark"] = Field(
        default="duckdb", description="What tabulates the records; the numbers are the same."
    )
    master: str | None = Field(
        default=None, min_length=1, description='For spark: "local[*]" or "spark://host:7077".'
    )


class KeysModel(_Section):
    """Where the secret lies, and how strictly keys are judged."""

    secret: str | None = Field(
        default=None, min_length=1, description="Path of a secret file. Without it: CKM_SECRET."
    )
    checks: Literal["stop", "warn", "skip"] = Field(
        default="stop", description="What to do when the keys are poor."
    )
    mix: bool = Field(
        default=True, description="Mix cell keys with the secret; false replays other tools."
    )


class PTableModel(_Section):
    """The noise: a specification to solve, or a file."""

    path: str | None = Field(default=None, min_length=1, description="A p-table file.")
    max_noise: _MaxNoise | list[_MaxNoise] | None = Field(
        default=None, description="Largest noise, D; one, or one per row."
    )
    variance: float | list[float] | None = Field(
        default=None, description="Variance of the noise, V; one number, or one per row."
    )
    small: int | None = Field(default=None, ge=0, description="No published count in 1..small.")
    p_stay: float | list[float] | None = Field(
        default=None,
        description="Probability that a count is published as it is; one, or one per row.",
    )
    p_stay_rule: _StayRule | list[_StayRule] | None = Field(
        default=None, description="Whether p_stay is met, or a bound; one, or one per row."
    )
    monotone: _Monotone | list[_Monotone] | None = Field(
        default=None, description="The shape of the probabilities; one, or one per row."
    )
    symmetric: bool | list[bool] | None = Field(
        default=None, description="Whether noise v and -v are equally likely."
    )
    variance_rule: _VarianceRule | list[_VarianceRule] | None = Field(
        default=None, description="What to do where a row cannot reach the variance."
    )
    min_probability: _Probability | list[_Probability] | None = Field(
        default=None, description="Every allowed noise has at least this probability."
    )
    zero_bias: float | None = Field(
        default=None, ge=0, description="Mean noise of a count of 0; zeros stay without."
    )
    zero_variance: float | None = Field(
        default=None, gt=0, description="Variance of the noise of a count of 0."
    )
    step: int | None = Field(
        default=None, ge=1, description="Noise in multiples of 1/step, for magnitudes."
    )
    anchors: list[int] | None = Field(
        default=None, min_length=1, description="The counts that have a row, for magnitudes."
    )


class CodeTreeModel(_Section):
    """A column of codes, and the file that says which code lies in which."""

    column: str = _Name
    tree: str = _Name


class OutputModel(_Section):
    """The files of the release, and what each of them says of itself."""

    formats: list[_Format] = Field(
        default=["csv", "parquet"], min_length=1, description="Formats of each table."
    )
    language: (
        Literal["en", "fr"] | Annotated[list[Literal["en", "fr"]], Field(min_length=1)]
    ) = Field(
        default="en",
        description='Language of all words in the files; ["en", "fr"] for files in both.',
    )
    source: _Text | None = Field(
        default=None, description="Who is responsible for the numbers."
    )
    unit: _Text | None = Field(default=None, description="What is counted: persons.")
    description: _Text | None = Field(default=None, description="A sentence or two.")
    total_label: str = Field(
        default="Total", min_length=1, description="What totals are called in the tables."
    )
    missing_label: str = Field(
        default="(missing)",
        min_length=1,
        description="What missing categories are called in the tables.",
    )
    additive: bool = Field(
        default=False, description="Change published counts again until tables add up."
    )
    csv_formulas: Literal["keep", "escape"] = Field(
        default="keep",
        description="escape puts an apostrophe before texts of CSV that could be formulas.",
    )


class TableModel(_Section):
    """One table to publish."""

    name: str = Field(min_length=1, description="Name of the table and of its files.")
    title: _Text | None = Field(
        default=None, description="What it shows; one text, or { en = …, fr = … }."
    )
    dataflow: str | None = Field(
        default=None, min_length=1, description='What SDMX knows it by: "AGENCY:ID(1.0)".'
    )
    dimensions: list[str] = Field(min_length=1, description="Columns, or names of hierarchies.")
    measures: list[str] = Field(
        default=["count"],
        min_length=1,
        description='"count", "weighted", and "sum:income", "mean:income" of a variable.',
    )
    margins: Literal["all", "none"] | list[list[str]] = Field(
        default="all",
        description="Which totals to publish beside the finest cells, which every table has.",
    )
    where: str | None = Field(
        default=None, min_length=1, description="Which rows count, for example: age >= 15"
    )
    empty_cells: Literal["auto", "grid", "drop"] = Field(
        default="auto", description="grid lists every combination, drop no published zero."
    )
    missing_values: Literal["stop", "skip"] = Field(
        default="stop", description="What sums do about records without a value."
    )


class VariableModel(_Section):
    """The words for a dimension or a column."""

    name: str = Field(min_length=1, description="A dimension, or a column of a hierarchy.")
    labels: _Text | None = Field(default=None, description="What readers see.")
    is_area: bool = Field(default=False, description="Whether it tells places.")
    levels: dict[str, _Text] = Field(
        default={}, description="Level of the hierarchy → what readers see."
    )
    categories: dict[str, _Text] = Field(default={}, description="Code → what readers see.")
    codelist: str | None = Field(
        default=None,
        min_length=1,
        description="A CSV file of columns code, en, fr instead of categories.",
    )


class LimitsModel(_Section):
    """What the office allows; a release that goes beyond is not published."""

    posterior: _Limit | None = Field(
        default=None, description="Largest P(original | published) of a sensitive count."
    )
    posterior_set: _Limit | None = Field(
        default=None, description="Largest P(the original is sensitive | published)."
    )
    attacks: dict[str, _Limit] = Field(
        default={}, description="Name of an attack = its largest probability of success."
    )
    aad: float | None = Field(
        default=None, ge=0, description="Largest mean deviation of a table, in counts."
    )


class ExceptionModel(_Section):
    """Something that a rule forbids and somebody allowed."""

    what: str = Field(min_length=1, description="What is allowed.")
    who: str = Field(min_length=1, description="Who allowed it.")
    when: dt.date = Field(description="When it was allowed: a date without quotes.")
    why: str = Field(min_length=1, description="Why it was allowed.")
    check: str | None = Field(
        default=None, min_length=1, description="A check of the release that may fail."
    )


class ReportModel(_Section):
    """What the reports of a release say beside its numbers."""

    id: str | None = Field(
        default=None, min_length=1, description="What the release is called."
    )
    date: dt.date | None = Field(default=None, description="Of the release, without quotes.")
    contact: str | None = Field(
        default=None, min_length=1, description="Whom readers may ask; shown to everybody."
    )
    ptable_label: str | None = Field(
        default=None,
        min_length=1,
        description="Your own name of the p-table, shown to everybody; no parameter, no hash.",
    )
    languages: list[Literal["en", "fr"]] = Field(
        default=["en", "fr"], min_length=1, description="Languages of the pages."
    )
    designs: str | None = Field(
        default=None, min_length=1, description="A file of other designs to compare."
    )
    sensitive: int = Field(
        default=4, ge=1, le=1000, description="Counts from 1 to this one are sensitive."
    )
    limits: LimitsModel = LimitsModel()
    exceptions: list[ExceptionModel] = Field(
        default=[], description="What somebody allowed, and why."
    )


class LedgerModel(_Section):
    """The record of what was published, which no table may contradict by a few records."""

    path: str | None = Field(default=None, min_length=1, description="The ledger's file.")
    url: str | None = Field(
        default=None, min_length=1, description="Or a database, postgresql://…"
    )
    threshold: int = Field(
        default=2, ge=1, le=4, description="Differences of so few records are thin."
    )
    policy: Literal["refuse", "flag"] = Field(
        default="refuse", description="refuse publishes nothing then, flag tells and publishes."
    )
    smallest: int = Field(default=1, ge=1, description="Smaller cells are not compared.")
    history: str = Field(
        default="public", min_length=1, description="Tables with the same readers."
    )
    also: list[Annotated[str, Field(min_length=1)]] = Field(
        default=[], description="Further histories that these readers know."
    )


class JobModel(_Section):
    """A release job."""

    version: Literal[1] = Field(alias="schema", description="Always 1.")
    title: _Text | None = Field(
        default=None, description="What the release is called; one text, or { en = …, fr = … }."
    )
    data: DataModel
    keys: KeysModel = KeysModel()
    ptable: PTableModel | None = Field(
        default=None, description="The noise; needed where there is no [suppression]."
    )
    suppression: SuppressionModel | None = Field(
        default=None, description="For ckm suppress: which cells are hidden, instead of noise."
    )
    hierarchies: dict[str, list[str] | str | CodeTreeModel] = Field(
        default={}, description="Columns from broad to fine, or a code tree."
    )
    categories: dict[str, list[str | int | bool] | str] = Field(
        default={}, description="Categories that may occur, so that empty cells are known."
    )
    variable: list[VariableModel] = Field(
        default=[], description="Words for dimensions, as in a service file."
    )
    magnitude: list[MagnitudeModel] = Field(
        default=[], description="The noise of sums and means, by variable."
    )
    output: OutputModel = OutputModel()
    report: ReportModel = ReportModel()
    ledger: LedgerModel | None = None
    table: list[TableModel] = Field(min_length=1, description="The tables to publish.")


_SECTIONS: dict[str, type[BaseModel]] = {
    "data": DataModel,
    "keys": KeysModel,
    "ptable": PTableModel,
    "variable": VariableModel,
    "output": OutputModel,
    "report": ReportModel,
    "report.limits": LimitsModel,
    "report.exceptions": ExceptionModel,
    "ledger": LedgerModel,
    "table": TableModel,
    **magnitude_sections(),
    **suppression_sections(),
}


def known_keys() -> dict[str, tuple[str, ...]]:
    """Return the keys of each section; those of the top level under ``""``.

    Examples
    --------
    >>> known_keys()["keys"]
    ('secret', 'checks', 'mix')
    """
    keys = {name: tuple(model.model_fields) for name, model in _SECTIONS.items()}
    top = tuple(field.alias or name for name, field in JobModel.model_fields.items())
    return {"": top, **keys}
