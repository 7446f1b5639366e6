"""The frontier that a job's internal report shows: read from the file that was drawn for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from ckm.errors import ConfigError
from footing.messages import Message, Name, said
from reports.facts.frontier import FrontierFacts

if TYPE_CHECKING:
    from ckm.config.job.job import Job
    from ptable import PTable


def frontier_of(job: Job, ptable: PTable) -> FrontierFacts | None:
    """Read the frontier that a job names; None where it names none. Nothing is solved.

    Parameters
    ----------
    job
        The job.
    ptable
        Its p-table.

    Raises
    ------
    ConfigError
        If the file cannot be read, is none, or was drawn for another p-table.
    """
    path = job.report.frontier
    if path is None:
        return None
    again = Message(
        "draw it again: ckm ptable frontier {job} -o {path} --force",
        job=Name(job.path.name),
        path=Name(path.name),
    )
    try:
        content = json.loads(path.read_bytes())
        if isinstance(content, dict):
            content.pop("edition", None)
        facts = TypeAdapter(FrontierFacts).validate_json(json.dumps(content), strict=True)
    except OSError as error:
        raise ConfigError(
            Message(
                "The frontier {path!r} cannot be read: {reason}.",
                path=Name(path.name),
                reason=said(error.strerror or Message("it is not there")),
            ),
            hint=again,
        ) from None
    except (ValidationError, ValueError, RecursionError):
        raise ConfigError(
            Message(
                "The file {path!r} is no frontier: ckm ptable frontier writes one, as .json.",
                path=Name(path.name),
            ),
            hint=again,
        ) from None
    if facts.ptable != ptable.id:
        raise ConfigError(
            Message("The frontier {path!r} is of another p-table.", path=Name(path.name)),
            hint=again,
        )
    return facts
