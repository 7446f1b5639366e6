"""What an audit of a service looked at, and whether it is what the service serves."""

from __future__ import annotations

import hashlib
import json
import logging
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ckm.errors import ConfigError
from ckm.release.files.manifest import record_file
from ckm.release.job_inputs import load_secret

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ckm.config.service.service import Service
    from ptable import PTable

logger = logging.getLogger(__name__)

KIND = "ckm-audit"
_PURPOSE = "ckm audit of a service v1"
_WHAT = {
    "data": "other data",
    "rules": "other rules, variables or populations",
    "ptable": "another p-table",
    "secret": "another secret",
}
#: What does not change the numbers that callers can get, or has a digest of its own.
_ELSEWHERE: Any = {
    **dict.fromkeys(("about", "limits", "access", "ledger", "audit", "ptable"), True),
    "data": {"path"},
    "keys": {"secret", "checks"},
}
_WORDS = {"labels", "levels", "categories", "codelist", "boundaries", "boundary_code", "title"}


class _Report(BaseModel):
    """What counts of the file that ``ckm audit -o`` writes."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, allow_inf_nan=False)

    kind: Literal["ckm-audit"]
    small: int
    confidence: float
    n_areas: int
    n_areas_drawn: int
    largest_share: Annotated[float, Field(ge=0, le=1)]
    digests: dict[str, str]


def digests_of(service: Service, ptable: PTable) -> dict[str, str]:
    """Return digests of all that the numbers of a service depend on; none gives the secret.

    Parameters
    ----------
    service
        The service.
    ptable
        Its p-table.
    """
    job = service.job
    data = job.data.files()
    others = [file for file in job.input_files() if file not in data and file != job.ptable]
    settings = service.model_dump(exclude=_ELSEWHERE)
    for name in ("variable", "population"):
        settings[name] = [one.model_dump(exclude=_WORDS) for one in getattr(service, name)]
    settings["hierarchies"] = {
        name: {**of, "tree": ""} if isinstance(of, dict) else of
        for name, of in service.hierarchies.items()
    }  # where files lie does not matter
    text = json.dumps(settings, sort_keys=True, default=lambda _: "")
    secret = load_secret(job)
    return {
        "data": _digest(_hashes(data)),
        "rules": _digest([text, *_hashes(others)]),
        "ptable": ptable.id,
        "secret": "none" if secret is None else secret.derive(_PURPOSE).hex(),
    }


def _hashes(files: Iterable[Path]) -> list[str]:
    return [record_file(file, name="").sha256 for file in files]


def _digest(texts: list[str]) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


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
    again = f"look at it again: ckm audit {service.path.name} -o {path.name} --force"
    report = _read(path, again)
    own = digests_of(service, ptable)
    other = [what for name, what in _WHAT.items() if report.digests.get(name) != own[name]]
    if other:
        raise ConfigError(f"The audit {path.name!r} is of {', and '.join(other)}.", hint=again)
    if (report.small, report.confidence) != (audit.small, audit.confidence):
        raise ConfigError(
            f"The audit {path.name!r} was made with small = {report.small} and confidence = "
            f"{report.confidence:g}, [audit] has {audit.small} and {audit.confidence:g}.",
            hint=again,
        )
    if audit.largest_share is not None and report.largest_share > audit.largest_share:
        raise ConfigError(
            f"The audit {path.name!r} found more small counts than largest_share = "
            f"{audit.largest_share:g} in [audit] lets pass.",
            hint=f"ckm audit {service.path.name} says what to close",
        )
    if report.n_areas_drawn < report.n_areas:
        logger.warning(
            "the audit looked at %d of %d areas, and at tables by area alone",
            report.n_areas_drawn,
            report.n_areas,
            extra={"event": "audit of a sample"},
        )


def _read(path: Path, again: str) -> _Report:
    try:
        return _Report.model_validate_json(path.read_bytes())
    except OSError as error:
        reason = error.strerror or "it is not there"
        raise ConfigError(
            f"The audit {path.name!r} cannot be read: {reason}.", hint=again
        ) from None
    except ValidationError:
        raise ConfigError(
            f"The file {path.name!r} is no audit of a service: ckm audit writes one.",
            hint=again,
        ) from None
