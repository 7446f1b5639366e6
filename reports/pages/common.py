"""What every edition says: the verdict, and how a check ended."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reports.parts import Cell

if TYPE_CHECKING:
    from collections.abc import Collection

    from reports.facts import FileFact, Outcome
    from reports.languages import Words
    from reports.parts import Entry

__all__ = ["file_entries", "has_failed", "outcome_cell", "page_title", "verdict"]


def page_title(words: Words, title: str, ident: str) -> str:
    """Name a page after its release.

    Parameters
    ----------
    words
        The language.
    title, ident
        Of the release; either may be empty.

    Examples
    --------
    >>> from reports.languages import words_of
    >>> page_title(words_of("en"), "", "2027-03")
    'Release 2027-03'
    """
    if title:
        return title
    return words.say("Release %(id)s", id=ident) if ident else words.say("Release of tables")


def outcome_cell(words: Words, outcome: Outcome) -> Cell:
    """Say how a check ended.

    Parameters
    ----------
    words
        The language.
    outcome
        How it ended.

    Examples
    --------
    >>> from reports.languages import words_of
    >>> outcome_cell(words_of("en"), "failed").text
    'failed'
    """
    says = {
        "passed": words.say("passed"),
        "failed": words.say("failed"),
        "not computed": words.say("not computed"),
    }
    return Cell(text=says[outcome], outcome=outcome)


def verdict(words: Words, outcomes: Collection[Outcome]) -> str:
    """Sum up the checks in one sentence.

    Parameters
    ----------
    words
        The language.
    outcomes
        How each check ended.

    Examples
    --------
    >>> from reports.languages import words_of
    >>> verdict(words_of("en"), ["passed", "failed", "not computed"])
    'Of 3 checks, 1 failed and 1 was not computed.'
    """
    total, number = len(outcomes), Counter(outcomes)
    failed, open_ = number["failed"], number["not computed"]
    if not total:
        return words.say("No check was made.")
    if not failed and not open_:
        return words.say_many("The one check passed.", "All %(n)s checks passed.", total)
    start = words.say_many("Of %(n)s check", "Of %(n)s checks", total)
    if not open_:
        return words.say_many(
            "%(start)s, %(n)s failed.", "%(start)s, %(n)s failed.", failed, start=start
        )
    if not failed:
        return words.say_many(
            "%(start)s, none failed and %(n)s was not computed.",
            "%(start)s, none failed and %(n)s were not computed.",
            open_,
            start=start,
        )
    start = words.say_many(
        "%(start)s, %(n)s failed", "%(start)s, %(n)s failed", failed, start=start
    )
    return words.say_many(
        "%(start)s and %(n)s was not computed.",
        "%(start)s and %(n)s were not computed.",
        open_,
        start=start,
    )


def has_failed(outcomes: Collection[Outcome]) -> bool:
    """Tell whether a check failed or was not computed.

    Parameters
    ----------
    outcomes
        How each check ended.

    Examples
    --------
    >>> has_failed(["passed", "not computed"])
    True
    """
    return any(outcome != "passed" for outcome in outcomes)


def file_entries(words: Words, file: FileFact) -> tuple[Entry, Entry, Entry]:
    """Give name, size and hash of a file.

    Parameters
    ----------
    words
        The language.
    file
        The file.

    Examples
    --------
    >>> from reports.facts import FileFact
    >>> from reports.languages import words_of
    >>> file_entries(words_of("en"), FileFact(file="a.csv", bytes=1200, sha256="00"))[1]
    '1,200'
    """
    return (
        Cell(text=file.file, is_code=True),
        words.numbers.count(file.bytes),
        Cell(text=file.sha256, is_code=True),
    )
