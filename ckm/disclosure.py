"""What no public page may hold, and the look that it does not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ckm.errors import CheckFailedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reports import Report
    from reports.facts import ReleaseFacts
    from tables import Secret

__all__ = ["hidden_texts", "require_clean"]

_FEWEST_LETTERS = 8
_LEAST_COUNT = 10_000
_SHORT_ID = 12


def hidden_texts(
    facts: ReleaseFacts, *, more: Iterable[str] = (), counts: Iterable[int] = ()
) -> tuple[str, ...]:
    """List what must stay inside: identifiers, hashes, times, and if given more.

    Parameters
    ----------
    facts
        All that is known of the release.
    more
        Other texts, such as names of folders.
    counts
        Original counts, such as the number of records.

    Notes
    -----
    A number that is public for another reason, such as the size of a file, is no mark; nor
    is a text, or a number, too short to tell anything.

    Examples
    --------
    >>> from ckm.config.facts import read_facts
    >>> hidden_texts(read_facts("out/internal/report.json"))  # doctest: +SKIP
    """
    noise, made = facts.noise, facts.reproduction
    texts = [
        noise.ptable_id,
        noise.ptable_id[:_SHORT_ID],
        made.job.sha256,
        *(file.sha256 for file in made.inputs),
        made.started,
        made.finished,
        *more,
    ]
    public = facts.public()
    known = {table.published for table in public.tables}
    known |= {file.bytes for table in public.tables for file in table.files}
    hashes = {file.sha256 for table in public.tables for file in table.files}
    texts = [text for text in texts if len(text) >= _FEWEST_LETTERS and text not in hashes]
    for count in counts:
        if count >= _LEAST_COUNT and count not in known:
            texts += [f"{count}", f"{count:,}", f"{count:,}".replace(",", "\u202f")]
    return tuple(dict.fromkeys(texts))


def require_clean(page: Report, *, hidden: Sequence[str], secret: Secret | None = None) -> None:
    """Raise where a public page holds a text that must stay inside.

    Parameters
    ----------
    page
        The page.
    hidden
        The texts; never named in the error.
    secret
        The secret, if it is at hand.

    Raises
    ------
    CheckFailedError
        With the number of places.
    """
    contents = (page.html, page.to_json())
    marks = sum(
        len(re.findall(rf"(?<!\w){re.escape(text)}(?!\w)", content))
        for content in contents
        for text in hidden
    )
    marks += sum(secret is not None and secret.is_in(content) for content in contents)
    if marks:
        raise CheckFailedError(
            f"The release check 'public-scan' failed (found marks {marks}): a public page "
            "would hold what must stay inside; nothing was published.",
            hint="look for a secret, a folder or a hash in the titles and [report] of the job",
        )
