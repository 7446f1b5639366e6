"""What a service file says, once it is checked and its paths are resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping
    from pathlib import Path

    from ckm.config.job import Job, JobLedger
    from ckm.config.words import Texts

__all__ = ["OfferedVariable", "Role", "Service", "ServiceAccess", "ServiceLimits"]

Role = Literal["public", "researcher", "officer"]


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
    filters: Role = "public"


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
        if self.access.mode == "open" and self.access.filters == "public":
            told.append(
                "everybody may filter: with some hundred tables a patient reader averages the "
                'noise out; filters = "researcher" in [access] prevents it'
            )
        return tuple(told)
