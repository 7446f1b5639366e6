"""What no public page may hold, and the look that it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.errors import CheckFailedError
from reports.facts.checking import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reports import Report
    from reports.facts.release import PublicFacts, ReleaseFacts
    from tables import Secret

_FEWEST_LETTERS = 8
_MAX_SHOWN = 5


def hidden_texts(facts: ReleaseFacts, *, more: Iterable[str] = ()) -> tuple[str, ...]:
    """List what must stay inside: identifiers, hashes, times, and if given more.

    Numbers need no list: `reports.scan` marks every number that is not known to everybody.
    """
    made = facts.reproduction
    texts = [
        facts.noise.ptable_id,
        made.job.sha256,
        *(file.sha256 for file in made.inputs),
        made.started,
        made.finished,
        *more,
    ]
    public = {file.sha256 for table in facts.tables for file in table.files}
    return tuple(
        text
        for text in dict.fromkeys(texts)
        if len(text) >= _FEWEST_LETTERS and text not in public
    )


def require_clean(
    page: Report,
    facts: PublicFacts,
    *,
    hidden: Sequence[str],
    secret: Secret | None = None,
) -> None:
    """Raise where a public page holds what must stay inside."""
    from reports import scan

    contents = (page.html, page.to_json())
    marks = sum(len(scan(content, facts, forbidden=hidden)) for content in contents)
    marks += sum(secret is not None and secret.is_in(content) for content in contents)
    if marks:
        raise _failed("a public page", marks, _guilty(walk(facts), facts, hidden, secret))


def require_clean_texts(
    content: Mapping[str, object],
    facts: PublicFacts,
    *,
    what: str,
    hidden: Sequence[str],
    secret: Secret | None = None,
) -> None:
    """Raise where a public file holds a text that must stay inside."""
    texts = [(place, text) for place, text in walk(content) if isinstance(text, str)]
    if _is_guilty("\n".join(text for _, text in texts), facts, hidden, secret):
        guilty = _guilty(texts, facts, hidden, secret)
        raise _failed(what, len(guilty), guilty)


def _guilty(
    texts: Iterable[tuple[str, object]],
    facts: PublicFacts,
    hidden: Sequence[str],
    secret: Secret | None,
) -> list[str]:
    """Name the places of texts that hold what must stay inside."""
    return [
        place
        for place, text in texts
        if isinstance(text, str) and _is_guilty(text, facts, hidden, secret)
    ]


def _is_guilty(
    text: str, facts: PublicFacts, hidden: Sequence[str], secret: Secret | None
) -> bool:
    from reports import scan

    if secret is not None and secret.is_in(text):
        return True
    return any(mark.kind == "forbidden" for mark in scan(text, facts, forbidden=hidden))


def _failed(what: str, marks: int, guilty: Sequence[str]) -> CheckFailedError:
    shown = ", ".join(guilty[:_MAX_SHOWN]) + ", …" * (len(guilty) > _MAX_SHOWN)
    way = f"take the secret, the folder or the hash out of: {shown}"
    return CheckFailedError(
        f"The release check 'public-scan' failed (found marks {marks}): {what} "
        "would hold what must stay inside; nothing was published.",
        hint=way if guilty else "no text of the job holds it: please report this message",
    )
