"""What an audit looked at, and whether it is what a service serves or a job releases."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ckm.config.job.job import Job
from ckm.errors import ConfigError
from ckm.methods.internal_files import record_file
from ckm.release.job_inputs import load_secret
from footing.messages import Message, Name, said
from reports.facts.release import CheckFact

if TYPE_CHECKING:
    from ckm.config.service.service import Service
    from ptable import PTable
    from reports.facts.release import Outcome

logger = logging.getLogger(__name__)

KIND = "ckm-audit"
_PURPOSE = "ckm audit of a service v1"
_WHAT = {
    "data": Message("other data"),
    "rules": Message("other rules, variables, populations or tables"),
    "ptable": Message("another p-table"),
    "secret": Message("another secret"),
}
#: What does not change the numbers that readers get, or has a digest of its own.
_ELSEWHERE: Any = {
    **dict.fromkeys(("about", "limits", "access", "ledger", "audit", "ptable"), True),
    **dict.fromkeys(("title", "magnitude", "output", "report"), True),
    "data": {"path", "database"},
    "keys": {"secret", "checks"},
}
#: What an audit does with tables of weighted counts alone; those before left them out.
_OF_WEIGHTED = {"weighted": "as counts"}
_WORDS = {"labels", "levels", "categories", "codelist", "title"}
_WORDS |= {"dataflow"}


_Share = Annotated[float, Field(ge=0, le=1)]
#: Key of ``[audit]`` → what is found more of than it lets pass.
_LIMITS = {
    "largest_share": Message("small counts"),
    "largest_zeros_share": Message("non-empty cells published as 0"),
    "largest_attribute_share": Message("categories of all of a cell"),
}
#: Key of ``[report.limits]`` → its check, and the key of ``[audit]``.
_CHECKS = {
    "all_tables": ("all-tables", "largest_share"),
    "occupied_zeros": ("occupied-zeros", "largest_zeros_share"),
    "attributes": ("attributes", "largest_attribute_share"),
}


class _Exposure(BaseModel):
    """The tables of one number of variables."""

    n_tables: int


class _Report(BaseModel):
    """What counts of the file that ``ckm audit -o`` writes."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, allow_inf_nan=False)

    kind: Literal["ckm-audit"]
    small: int
    confidence: float
    n_areas: int
    n_areas_drawn: int
    largest_share: _Share
    largest_zeros_share: _Share = 1.0  # an audit of before has none of these
    largest_attribute_share: _Share = 1.0
    interval: tuple[_Share, _Share] | None = Field(default=None, strict=False)
    zeros_interval: tuple[_Share, _Share] | None = Field(default=None, strict=False)
    unfinished: list[str] = []
    exposures: list[_Exposure]
    digests: dict[str, str]

    @property
    def shares(self) -> dict[str, float]:
        """By key of ``[audit]``, the shares held to a limit: beyond any where cut short.

        Of a sample of areas the upper end of an interval at 95 % counts; what has none there is
        as large as can be.
        """
        if self.unfinished:
            return dict.fromkeys(_LIMITS, math.inf)
        shares = {name: float(getattr(self, name)) for name in _LIMITS}
        if self.is_sample:
            ends = {"largest_share": self.interval, "largest_zeros_share": self.zeros_interval}
            for name, share in shares.items():
                interval = ends.get(name)
                shares[name] = 1.0 if interval is None else max(share, interval[1])
        return shares

    @property
    def is_sample(self) -> bool:
        """Whether some areas were drawn, and the others are not known."""
        return self.n_areas_drawn < self.n_areas


def digests_of(settings: Service | Job, ptable: PTable) -> dict[str, str]:
    """Return digests of all that published counts depend on; none gives the secret.

    Parameters
    ----------
    settings
        The service, or the job; of a job, not the earlier tables of its ledger.
    ptable
        Its p-table.
    """
    job = settings if isinstance(settings, Job) else settings.job
    content = settings.model_dump(exclude=_ELSEWHERE)
    for name in {"variable", "population", "table"} & set(content):
        content[name] = [one.model_dump(exclude=_WORDS) for one in getattr(settings, name)]
    if isinstance(settings, Job) and any(
        "weighted" in table.measures and "count" not in table.measures
        for table in settings.table
    ):
        content |= _OF_WEIGHTED
    content["hierarchies"] = {
        name: {**of, "tree": Path(of["tree"])} if isinstance(of, dict) else of
        for name, of in settings.hierarchies.items()
    }
    secret = load_secret(job)
    return {
        "data": _digest(job.data.files()),
        "rules": _digest(content),
        "ptable": ptable.id,
        "secret": "none" if secret is None else secret.derive(_PURPOSE).hex(),
    }


def _digest(of: object) -> str:
    """Return a digest in which a file is what it holds, wherever it lies."""
    text = json.dumps(of, sort_keys=True, default=_hash)
    return hashlib.sha256(text.encode()).hexdigest()


def _hash(file: Path) -> str:
    return record_file(file, name="").sha256


def require_audited(service: Service, ptable: PTable) -> None:
    """Refuse a service whose file names an audit of something else, or beyond its limit.

    Parameters
    ----------
    service
        The service; one that names no audit passes.
    ptable
        Its p-table.

    Raises
    ------
    ConfigError
        If the audit cannot be read, looked at something else, or found too much.
    """
    path, audit = service.audit.report, service.audit
    if path is None:
        return
    report = _fitting(path, service, ptable)
    again = _again(path, service)
    if (report.small, report.confidence) != (audit.small, audit.confidence):
        raise ConfigError(
            Message(
                "The audit {path!r} was made with small = {small} and confidence = "
                "{confidence:g}, [audit] has {audit_small} and {audit_confidence:g}.",
                path=Name(path.name),
                small=report.small,
                confidence=report.confidence,
                audit_small=audit.small,
                audit_confidence=audit.confidence,
            ),
            hint=again,
        )
    if report.n_areas_drawn < min(audit.areas or report.n_areas, report.n_areas):
        raise ConfigError(
            Message(
                "The audit {path!r} covered {n_areas_drawn} of {n_areas} areas, [audit] "
                "wants {areas}.",
                path=Name(path.name),
                n_areas_drawn=report.n_areas_drawn,
                n_areas=report.n_areas,
                areas=audit.areas or Message("all"),
            ),
            hint=Message(
                "{again}; or areas = {n_areas_drawn} in [audit]: callers are told",
                again=again,
                n_areas_drawn=report.n_areas_drawn,
            ),
        )
    if report.unfinished:
        raise ConfigError(
            Message(
                "The audit {path!r} was cut short by a limit of CPU time: it is a lower bound, "
                "and meets no limit.",
                path=Name(path.name),
            ),
            hint=again,
        )
    for name, what in _LIMITS.items():
        limit = getattr(audit, name)
        if limit is not None and report.shares[name] > limit:
            raise ConfigError(
                Message(
                    "The audit {path!r} inferred more {what} than {name} = {limit:g} in "
                    "[audit] allows.",
                    path=Name(path.name),
                    what=what,
                    name=Name(name),
                    limit=limit,
                ),
                hint=Message(
                    "of a sample of areas the upper end of an interval (95 %) is held to the "
                    "limit, and categories have none: look at all areas, or at more of them "
                    "(areas in [audit]); ckm audit {path} says what to close",
                    path=Name(service.path.name),
                )
                if report.is_sample
                else Message(
                    "ckm audit {path} says what to close", path=Name(service.path.name)
                ),
            )
    if report.n_areas_drawn < report.n_areas:
        logger.warning(
            "%s",
            Message(
                "the audit covered {number} of {areas} areas, and tables by area only",
                number=report.n_areas_drawn,
                areas=report.n_areas,
            ),
            extra={"event": "audit of a sample"},
        )


def audit_checks(job: Job, ptable: PTable) -> tuple[CheckFact, ...]:
    """Hold a release to the limit of what all its tables tell together.

    Parameters
    ----------
    job
        The job; without an audit there is no check.
    ptable
        Its p-table.

    Raises
    ------
    ConfigError
        If the audit cannot be read, or looked at something else.
    """
    path, limits = job.report.audit, job.report.limits
    if path is None:
        return ()
    report = _fitting(path, job, ptable)
    n_tables = sum(exposure.n_tables for exposure in report.exposures)
    checks = []
    for key, (name, figure) in _CHECKS.items():
        limit = getattr(limits, key)
        outcome: Outcome = "no limit"
        if limit is not None:
            outcome = "passed" if report.shares[figure] <= limit else "failed"
        elif key != "all_tables":
            continue
        checks.append(
            CheckFact(
                name=name,
                outcome=outcome,
                allowed={} if limit is None else {"share": limit},
                found={
                    "share": getattr(report, figure),
                    "small": float(report.small),
                    "tables": float(n_tables),
                },
            )
        )
    return tuple(checks)


def _again(path: Path, settings: Service | Job) -> Message:
    return Message(
        "look at it again: ckm audit {path} -o {audit} --force",
        path=Name(settings.path.name),
        audit=Name(path.name),
    )


def _fitting(path: Path, settings: Service | Job, ptable: PTable) -> _Report:
    """Read an audit; refuse one of something else."""
    again = _again(path, settings)
    report = _read(path, again)
    own = digests_of(settings, ptable)
    other = [what for name, what in _WHAT.items() if report.digests.get(name) != own[name]]
    if other:
        raise ConfigError(
            Message(
                "The audit {path!r} is of {other}.",
                path=Name(path.name),
                other=Name.each(other),
            ),
            hint=again,
        )
    return report


def _read(path: Path, again: str) -> _Report:
    try:
        return _Report.model_validate_json(path.read_bytes())
    except OSError as error:
        reason = error.strerror or Message("it is not there")
        raise ConfigError(
            Message(
                "The audit {path!r} cannot be read: {reason}.",
                path=Name(path.name),
                reason=said(reason),
            ),
            hint=again,
        ) from None
    except ValidationError:
        raise ConfigError(
            Message(
                "The file {path!r} is no audit: ckm audit writes one, as .json.",
                path=Name(path.name),
            ),
            hint=again,
        ) from None
