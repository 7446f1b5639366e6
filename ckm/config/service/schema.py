"""The shape of a service file. These models parse; domain objects are built from them."""

from __future__ import annotations

import datetime as dt  # noqa: TC003  (pydantic looks at it)
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, Discriminator, Field, Tag

from ckm.config.job.schema import (
    CodeTreeModel,
    DataModel,
    KeysModel,
    LedgerModel,
    PTableModel,
    TextModel,
)
from ckm.config.section import Section as _Section
from ckm.config.service.service import Reconstruction, Role  # noqa: TC001  (pydantic looks)

__all__ = ["ServiceModel", "known_service_keys"]

_Name = Annotated[str, Field(min_length=1)]
_Count = Annotated[int, Field(ge=1)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Permille = Annotated[float, Field(ge=0, le=1000)]
_Mean = Annotated[float, Field(gt=0)]
_Persons = Annotated[int, Field(ge=0)]
_Kind = TypeVar("_Kind")


def _limit_or_off(value: object) -> str:
    """Tell false from a limit of 0, which equals it and is the strictest of all."""
    return "off" if value is False else "limit"


_Limit = Annotated[
    Annotated[_Kind, Tag("limit")] | Annotated[Literal[False], Tag("off")],
    Discriminator(_limit_or_off),
]


_Text = _Name | TextModel


class AboutModel(_Section):
    """What the service calls itself, and where it listens."""

    id: str = Field(
        default="data",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
        description="Name of the table in addresses: /tables/{id}.",
    )
    title: _Text = Field(description="Title, one for both languages or { en = …, fr = … }.")
    description: _Text | None = Field(default=None, description="A sentence or two.")
    source: _Text | None = Field(default=None, description="Who is responsible for the data.")
    contact: _Name | None = Field(default=None, description="Whom to ask.")
    unit: _Text | None = Field(default=None, description="What is counted: persons.")
    updated: dt.date | None = Field(default=None, description="Date of the data.")
    languages: list[Literal["en", "fr"]] = Field(
        default=["en", "fr"], min_length=1, description="Languages; the first is the default."
    )
    listen: _Name = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port; 0 takes a free one.")
    workers: int = Field(default=1, ge=1, le=64, description="Processes.")
    total_label: _Name = Field(default="Total", description="The code of totals.")
    missing_label: _Name = Field(default="(missing)", description="The code of missing.")
    csv_formulas: Literal["keep", "escape"] = Field(
        default="keep",
        description="escape puts an apostrophe before texts of CSV that could be formulas.",
    )


class VariableModel(_Section):
    """A variable that the service offers."""

    name: _Name = Field(description="A column, or the name of a hierarchy.")
    labels: _Text | None = Field(default=None, description="What readers see.")
    is_area: bool = Field(default=False, description="Rules are judged area by area.")
    is_sensitive: bool = Field(default=False, description="Looked at for group disclosure.")
    levels: dict[str, _Text] = Field(
        default={}, description="Level of the hierarchy → what readers see."
    )
    categories: dict[str, _Text] = Field(default={}, description="Code → what readers see.")
    codelist: _Name | None = Field(
        default=None, description="A CSV file of columns code, en, fr instead of categories."
    )


class RulesModel(_Section):
    """Which tables are published; false switches a rule off."""

    maximum_cells: _Limit[_Count] = Field(default=100_000, description="Cells of an answer.")
    maximum_categories: _Limit[_Count] = Field(
        default=62_000, description="Categories of one variable."
    )
    maximum_variables: _Limit[_Count] = Field(default=6, description="Variables, filters too.")
    small_areas: list[_Name] = Field(default=[], description="Levels of areas that are small.")
    maximum_variables_small_areas: _Limit[_Count] = Field(
        default=4, description="Variables of a table of small areas."
    )
    exclusive: list[list[_Name]] = Field(
        default=[], description="Groups of variables of which a table has one at most."
    )
    mandatory: list[_Name] = Field(default=[], description="Variables every table must have.")
    minimum_population: _Limit[_Count] = Field(default=10, description="Persons of an area.")
    sparsity_a: _Limit[_Share] = Field(
        default=0.25, description="Largest share of ones among cells that are not empty."
    )
    sparsity_b: _Limit[_Share] = Field(
        default=0.5, description="Largest share of ones and twos among those."
    )
    permille_zeros: _Limit[_Permille] = Field(default=False, description="Such as 718.")
    permille_ones: _Limit[_Permille] = Field(default=False, description="Such as 281.")
    permille_dominant: _Limit[_Permille] = Field(
        default=False, description="Largest share of one category, such as 828."
    )
    mean_cell_size: _Limit[_Mean] = Field(
        default=2.0, description="Persons per cell of an area."
    )
    group_disclosure: _Limit[_Persons] = Field(
        default=1, description="Sensitive variables: all but so many are in one category."
    )
    permille_disclosive: _Permille = Field(
        default=45, description="Share of such groups that is borne."
    )
    judge_filters: bool = Field(
        default=True, description="Variables of a filter count as if the table showed them."
    )


class LimitsModel(_Section):
    """What one caller, and all callers together, may use."""

    requests_per_hour: _Count = Field(default=1000, description="Of one token or address.")
    requests_per_hour_researcher: _Count = Field(default=5000, description="Of a researcher.")
    requests_per_hour_officer: _Count = Field(default=50_000, description="Of an officer.")
    requests_per_day: _Count | None = Field(
        default=None, description="Of one token or address, whatever its role."
    )
    thin_difference_cost: int = Field(
        default=50, ge=0, description="Requests that a refusal by the ledger counts for."
    )
    cells_researcher: _Count | None = Field(
        default=None, description="maximum_cells of researchers and officers."
    )
    request_bytes: int = Field(default=65_536, ge=1024, description="Largest request.")
    seconds: float = Field(default=30.0, gt=0, description="Longest a request may work.")
    concurrent_scans: int = Field(default=2, ge=1, description="Scans at a time.")
    concurrent_requests: int = Field(default=64, ge=1, description="Requests at a time.")
    cache_bytes: int = Field(
        default=256_000_000, ge=0, description="Memory for cells and for answers, each half."
    )
    large_cells: _Count = Field(
        default=1_000_000, description="Cells of a job; above maximum_cells, answers wait."
    )
    jobs: int = Field(default=32, ge=1, description="Jobs that are kept or wait.")
    job_seconds: float = Field(default=300.0, gt=0, description="Longest a job may work.")
    job_hours: float = Field(default=24.0, gt=0, description="How long results are kept.")
    job_bytes: int = Field(
        default=1_000_000_000, ge=1, description="Bytes of all results together."
    )
    ledger_sets: int = Field(
        default=5_000_000, ge=1, description="Sets of records in the ledger; then no new table."
    )
    connections: int = Field(default=512, ge=1, description="Connections of one process.")
    memory_limit: _Name | None = Field(default=None, description='DuckDB memory: "2GB".')
    threads: _Count | None = Field(default=None, description="DuckDB threads; all by default.")


class AccessModel(_Section):
    """Who may ask."""

    mode: Literal["open", "tokens"] = Field(
        default="open", description="open answers anybody, tokens only who has one."
    )
    tokens: _Name | None = Field(default=None, description="The file of hashed tokens.")
    audit: _Name | None = Field(default=None, description="The file of the audit log.")
    budgets: _Name | None = Field(
        default=None, description="The file of used budgets, so that a restart keeps them."
    )
    trusted_proxies: list[_Name] = Field(
        default=[], description="Addresses whose X-Forwarded-For is believed."
    )
    filters: Role = Field(
        default="officer",
        description="The least role that may filter, or count some categories alone.",
    )
    accepts_reconstruction: Reconstruction | None = Field(
        default=None,
        description="What the office has to say where the mode is open and the public filters.",
    )
    origins: list[_Name] = Field(
        default=[], description='Web sites whose scripts may ask (CORS); ["*"] for all.'
    )


class ServiceLedgerModel(LedgerModel):
    """The record of what was published, by this service and by batch jobs."""

    smallest: int = Field(default=10, ge=1, description="Smaller cells are not compared.")
    official: list[_Name] = Field(
        default=[], description="Job files whose tables are recorded before callers are heard."
    )


class ServiceModel(_Section):
    """A service that answers table requests."""

    version: Literal[1] = Field(alias="schema", description="Always 1.")
    service: AboutModel
    data: DataModel
    keys: KeysModel = KeysModel()
    ptable: PTableModel
    hierarchies: dict[str, list[str] | str | CodeTreeModel] = Field(
        default={}, description="Columns from broad to fine, or a code tree."
    )
    categories: dict[str, list[str | int | bool] | str] = Field(
        default={}, description="Categories that may occur, so that empty cells are known."
    )
    variable: list[VariableModel] = Field(min_length=1, description="What may be asked for.")
    rules: RulesModel = RulesModel()
    limits: LimitsModel = LimitsModel()
    access: AccessModel = AccessModel()
    ledger: ServiceLedgerModel | None = None


_SECTIONS: dict[str, type[BaseModel]] = {
    "service": AboutModel,
    "data": DataModel,
    "keys": KeysModel,
    "ptable": PTableModel,
    "variable": VariableModel,
    "rules": RulesModel,
    "limits": LimitsModel,
    "access": AccessModel,
    "ledger": ServiceLedgerModel,
}


def known_service_keys() -> dict[str, tuple[str, ...]]:
    """Return the keys of each section; those of the top level under ``""``.

    Examples
    --------
    >>> known_service_keys()["ledger"]
    ('path', 'url', 'threshold', 'policy', 'smallest', 'history', 'also', 'official')
    """
    keys = {name: tuple(model.model_fields) for name, model in _SECTIONS.items()}
    top = tuple(field.alias or name for name, field in ServiceModel.model_fields.items())
    return {"": top, **keys}
