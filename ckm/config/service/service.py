"""What a service file says, once it is checked and its paths are resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping
    from pathlib import Path

    from ckm.config.job.job import Job, JobLedger
    from ckm.config.words import Texts

__all__ = [
    "RECONSTRUCTION",
    "OfferedVariable",
    "Reconstruction",
    "Role",
    "Service",
    "ServiceAccess",
    "ServiceLimits",
]

Role = Literal["public", "researcher", "officer"]
Reconstruction = Literal["whoever may filter can reconstruct every true count"]

#: What an office has to say, word for word, before the public may filter.
RECONSTRUCTION: Reconstruction = get_args(Reconstruction)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedVariable:
    """A variable that the service offers, with its words by language."""

    name: str
    labels: Texts
    is_area: bool
    is_sensitive: bool
    levels: Mapping[str, Texts]
    categories: Mapping[str, Texts]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """What callers may use; see the service file."""

    requests_per_hour: int
    requests_per_hour_researcher: int
    requests_per_hour_officer: int
    requests_per_day: int | None
    thin_difference_cost: int
    cells_researcher: int | None
    request_bytes: int
    seconds: float
    concurrent_scans: int
    concurrent_requests: int
    cache_bytes: int
    large_cells: int
    jobs: int
    job_seconds: float
    job_hours: float
    job_bytes: int
    ledger_sets: int
    connections: int
    memory_limit: str | None
    threads: int | None

    def per_hour(self, role: str) -> int:
        """Return the requests per hour of a role.

        Parameters
        ----------
        role
            ``"public"``, ``"researcher"`` or ``"officer"``.
        """
        limits = {
            "researcher": self.requests_per_hour_researcher,
            "officer": self.requests_per_hour_officer,
        }
        return limits.get(role, self.requests_per_hour)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccess:
    """Who may ask; see the service file."""

    mode: Literal["open", "tokens"]
    tokens: Path | None
    audit: Path | None
    budgets: Path | None
    trusted_proxies: tuple[str, ...]
    origins: tuple[str, ...]
    filters: Role = "officer"
    accepts_reconstruction: bool = False

    @property
    def has_filters(self) -> bool:
        """Whether there can be a caller who may filter."""
        return self.filters == "public" or self.tokens is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service that answers table requests. Build one with `read_service`."""

    job: Job
    id: str
    title: Texts
    description: Texts
    source: Texts
    unit: Texts
    contact: str
    updated: dt.date | None
    languages: tuple[str, ...]
    listen: str
    port: int
    workers: int
    variables: Mapping[str, OfferedVariable]
    rules: Mapping[str, Any]
    limits: ServiceLimits
    access: ServiceAccess
    ledger: JobLedger | None = None
    official: tuple[Job, ...] = ()

    @property
    def method(self) -> str:
        """The word of what is said about the noise, on every page and in every answer."""
        return "reconstruction" if self.access.accepts_reconstruction else "method"

    @property
    def area(self) -> str | None:
        """The variable of areas."""
        return next((v.name for v in self.variables.values() if v.is_area), None)

    @property
    def cautions(self) -> tuple[str, ...]:
        """What an office should know before it opens the service to strangers."""
        told = []
        if self.ledger is None:
            told.append(
                "without [ledger] nobody compares requests with what was published: two "
                "tables that differ by one person give that person away"
            )
        elif not self.official:
            told.append(
                "[ledger] reserves nothing: a table that a caller asks for first may keep one "
                'of the office from publication; official = ["job.toml"] prevents it'
            )
        filters = self.access.filters
        if filters != "officer" and self.access.has_filters:
            who = "everybody" if self.access.mode == "open" else "everybody with a token"
            who = who if filters == "public" else "every researcher with a token"
            told.append(
                f"{who} may filter: whoever may filter can reconstruct the true counts from "
                "some hundred tables, with a ledger too; "
                'filters = "officer" in [access] prevents it'
            )
        return tuple(told)
