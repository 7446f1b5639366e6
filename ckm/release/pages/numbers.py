"""Read the numbers of a report again, from the JSON that a release keeps of them."""

import json
from pathlib import Path
from typing import NoReturn, cast

from pydantic import TypeAdapter, ValidationError

from ckm.errors import ReleaseError
from footing.messages import Message, Name, said
from reports.facts.messages import KnownMessages
from reports.facts.release import ReleaseFacts

_MAX_SHOWN = 3


def read_facts(path: Path) -> ReleaseFacts:
    """Read ``internal/report.json`` of a release.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ReleaseError
        If there is no such file, or it holds something else.

    Examples
    --------
    >>> import pathlib
    >>> try:
    ...     read_facts(pathlib.Path("nowhere") / "report.json")
    ... except ReleaseError as error:
    ...     print(error.problem)
    The release has no 'report.json': it was made without a report.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise ReleaseError(
            Message(
                "The release has no {path!r}: it was made without a report.",
                path=Name(path.name),
            ),
            hint=Message(
                "ckm release internal/job.toml makes one, without place under [output]"
            ),
        ) from None
    except OSError as error:
        raise ReleaseError(
            Message(
                "The file {path!r} cannot be read: {reason}.",
                path=Name(path.name),
                reason=said(error.strerror or ""),
            ),
            hint=Message("look at the file's permissions"),
        ) from None
    try:
        content = json.loads(raw, parse_constant=_refuse)
        if not isinstance(content, dict) or content.pop("edition", None) != "internal":
            raise _unfit(path, Message("it is no internal report"))
        messages = KnownMessages()
        text = json.dumps(messages.as_texts(content))
        facts = TypeAdapter(ReleaseFacts).validate_json(text, strict=True)
        return cast("ReleaseFacts", messages.in_facts(facts))
    except ValidationError as error:
        places = [".".join(map(str, e["loc"])) for e in error.errors(include_input=False)]
        more = Message()
        if len(places) > _MAX_SHOWN:
            more = Message(", and {number} more", number=len(places) - _MAX_SHOWN)
        if not any(places):
            raise _unfit(path, Message("it is not valid JSON in UTF-8")) from None
        raise _unfit(
            path,
            Message("look at {places}{more}", places=Name.each(places[:_MAX_SHOWN]), more=more),
        ) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, ReleaseError):
            raise
        raise _unfit(path, Message("it is not valid JSON in UTF-8")) from None


def _unfit(path: Path, why: Message) -> ReleaseError:
    return ReleaseError(
        Message(
            "The file {path!r} is not the report of a release by this version of ckm: {why}.",
            path=Name(path.name),
            why=why,
        ),
        hint=Message("make the release again, or take the version of ckm that made it"),
    )


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)
