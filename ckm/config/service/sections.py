"""The sections of a service file that a job has not."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

from pydantic import Field

from ckm.config.job.ledger import JobLedger
from ckm.config.job.output import CsvFormulas, Languages
from ckm.config.job.variable import JobVariable
from ckm.config.section import FilePath, Items, Name, ReadAs, Section, Words
from ckm.config.words import texts_of

if TYPE_CHECKING:
    from ckm.config.reading import Reading

Role: TypeAlias = Literal["public", "researcher", "officer"]
Reconstruction: TypeAlias = Literal["whoever may filter can reconstruct every true count"]

#: What an office has to say, word for word, before the public may filter.
RECONSTRUCTION: Reconstruction = get_args(Reconstruction)[0]

_OTHERS_MAY_READ = 0o077
_Count = Annotated[int, Field(ge=1)]


class ServiceAbout(Section):
    """What the service calls itself, and where it listens."""

    id: str = Field(
        default="data",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
        description="Name of the table in addresses: /tables/{id}.",
    )
    title: Words = Field(description="Title, one for both languages or { en = …, fr = … }.")
    description: Words = Field(default={}, description="A sentence or two.")
    source: Words = Field(default={}, description="Who is responsible for the data.")
    contact: Name = Field(default="", description="Whom to ask.")
    unit: Words = Field(default={}, description="What is counted: persons.")
    updated: dt.date | None = Field(default=None, description="Date of the data.")
    languages: Languages = Field(
        default=("en", "fr"), description="Languages; the first is the default."
    )
    listen: Name = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port; 0 takes a free one.")
    workers: int = Field(default=1, ge=1, le=64, description="Processes.")
    total_label: Name = Field(default="Total", description="The code of totals.")
    missing_label: Name = Field(default="(missing)", description="The code of missing.")
    csv_formulas: CsvFormulas = Field(
        default="keep",
        description="escape puts an apostrophe before texts of CSV that could be formulas.",
    )


class OfferedVariable(JobVariable):
    """A variable that the service offers, with its words by language."""

    name: Name = Field(description="A column, or the name of a hierarchy.")
    is_area: bool = Field(default=False, description="Rules are judged area by area.")
    is_sensitive: bool = Field(default=False, description="Looked at for group disclosure.")

    def add_problems(self, reading: Reading) -> None:
        """Let the name stand for labels that are not there."""
        super().add_problems(reading)
        if not self.labels:
            object.__setattr__(self, "labels", texts_of(self.name))


class ServiceLimits(Section):
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
    concurrent_scans: _Count = Field(default=2, description="Scans at a time.")
    concurrent_requests: _Count = Field(default=64, description="Requests at a time.")
    cache_bytes: int = Field(
        default=256_000_000, ge=0, description="Memory for cells and for answers, each half."
    )
    large_cells: _Count = Field(
        default=1_000_000, description="Cells of a job; above maximum_cells, answers wait."
    )
    jobs: _Count = Field(default=32, description="Jobs that are kept or wait.")
    job_seconds: float = Field(default=300.0, gt=0, description="Longest a job may work.")
    job_hours: float = Field(default=24.0, gt=0, description="How long results are kept.")
    job_bytes: _Count = Field(
        default=1_000_000_000, description="Bytes of all results together."
    )
    ledger_sets: _Count = Field(
        default=5_000_000, description="Sets of records in the ledger; then no new table."
    )
    connections: _Count = Field(default=512, description="Connections of one process.")
    memory_limit: Name | None = Field(default=None, description='DuckDB memory: "2GB".')
    threads: _Count | None = Field(default=None, description="DuckDB threads; all by default.")

    def per_hour(self, role: str) -> int:
        """Return the requests per hour of a role."""
        limits = {
            "researcher": self.requests_per_hour_researcher,
            "officer": self.requests_per_hour_officer,
        }
        return limits.get(role, self.requests_per_hour)


class ServiceAccess(Section):
    """Who may ask."""

    mode: Literal["open", "tokens"] = Field(
        default="open", description="open answers anybody, tokens only who has one."
    )
    tokens: FilePath | None = Field(default=None, description="The file of hashed tokens.")
    audit: FilePath | None = Field(default=None, description="The file of the audit log.")
    budgets: FilePath | None = Field(
        default=None, description="The file of used budgets, so that a restart keeps them."
    )
    trusted_proxies: Items[Name] = Field(
        default=(), description="Addresses whose X-Forwarded-For is believed."
    )
    filters: Role = Field(
        default="officer",
        description="The least role that may filter, or count some categories alone.",
    )
    accepts_reconstruction: Annotated[bool, ReadAs(Reconstruction, lambda *_: True)] = Field(
        default=False,
        description="What the office has to say where the mode is open and the public filters.",
    )
    origins: Items[Name] = Field(
        default=(), description='Web sites whose scripts may ask (CORS); ["*"] for all.'
    )

    @property
    def has_filters(self) -> bool:
        """Whether there can be a caller who may filter."""
        return self.filters == "public" or self.tokens is not None

    def add_problems(self, reading: Reading) -> None:
        """Note files that cannot be, and what opens the true counts to strangers."""
        where, tokens = "[access]", self.tokens
        if self.mode == "tokens" and tokens is None:
            hint = 'tokens = "tokens.json", filled with: ckm token add'
            reading.add(where, 'mode = "tokens" needs the file of tokens.', hint)
        if tokens is not None and tokens.exists() and tokens.stat().st_mode & _OTHERS_MAY_READ:
            text = "the file of tokens can be read by others."
            reading.add(where, text, f"chmod 600 {tokens.name}")
        for path, what in ((self.audit, "audit log"), (self.budgets, "file of budgets")):
            if path is not None and not path.parent.is_dir():
                reading.add(where, f"the folder of the {what} does not exist.")
        is_open = self.mode == "open" and self.filters == "public"
        if is_open and not self.accepts_reconstruction:
            text = (
                'filters = "public" in an open service lets anybody reconstruct the true '
                "counts, from some hundred filtered tables."
            )
            words = f'accepts_reconstruction = "{RECONSTRUCTION}"'
            hint = f"leave filters out, or accept it in these words: {words}"
            reading.add(where, text, hint)


class ServiceLedger(JobLedger):
    """The record of what was published, by this service and by batch jobs."""

    smallest: int = Field(default=10, ge=1, description="Smaller cells are not compared.")
    official: Items[FilePath] = Field(
        default=(), description="Job files whose tables are recorded before callers are heard."
    )
