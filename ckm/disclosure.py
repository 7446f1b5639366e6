"""What no public page may hold, and the look that it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.errors import CheckFailedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reports import Report
    from reports.facts import PublicFacts, ReleaseFacts
    from tables import Secret

__all__ = ["hidden_texts", "require_clean"]

_FEWEST_LETTERS = 8


def hidden_texts(facts: ReleaseFacts, *, more: Iterable[str] = ()) -> tuple[str, ...]:
    """List what must stay inside: identifiers, hashes, times, and if given more.

    Numbers need no list: `reports.scan` marks every number that is not known to everybody.

    Parameters
    ----------
    facts
        All that is known of the release.
    more
        Other texts, such as names of folders; those too short to tell anything are left out.

    Examples
    --------
    >>> from ckm.config.facts import read_facts
    >>> hidden_texts(read_facts("out/internal/report.json"))  # doctest: +SKIP
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
    """Raise where a public page holds what must stay inside.

    Parameters
    ----------
    page
        The page.
    facts
        All that it may know.
    hidden
        Texts that it may not hold; never named in the error.
    secret
        The secret, if it is at hand.

    Raises
    ------
    CheckFailedError
        With the number of places.

    Examples
    --------
    >>> from reports import release_report
    >>> from reports.facts import PublicFacts
    >>> facts = PublicFacts(
    ...     id="2027-03",
    ...     title="Jobseekers",
    ...     date="",
    ...     contact="",
    ...     version="0.1.0",
    ...     ptable_label="",
    ...     checks={},
    ...     tables=(),
    ... )
    >>> page = release_report(facts, edition="public", language="en")
    >>> require_clean(page, facts, hidden=["c7a5b3a7c7a5b3a7"])
    """
    from reports import scan

    contents = (page.html, page.to_json())
    marks = sum(len(scan(content, facts, forbidden=hidden)) for content in contents)
    marks += sum(secret is not None and secret.is_in(content) for content in contents)
    if marks:
        raise CheckFailedError(
            f"The release check 'public-scan' failed (found marks {marks}): a public page "
            "would hold what must stay inside; nothing was published.",
            hint="look for a secret, a folder or a hash in the titles and [report] of the job",
        )
