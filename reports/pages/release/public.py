"""The public edition: from `PublicFacts`, and from nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.release import CHECKS
from reports.pages.common import file_entries, has_failed, outcome_cell, page_title, verdict
from reports.parts import Table, numbers, texts

if TYPE_CHECKING:
    from reports.facts.release import PublicFacts
    from reports.i18n.languages import Words

__all__ = ["public_page"]


def public_page(words: Words, facts: PublicFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what everybody may know.

    Parameters
    ----------
    words
        The language.
    facts
        What everybody may know.

    Examples
    --------
    >>> from reports.facts.release import PublicFacts
    >>> from reports.i18n.languages import words_of
    >>> facts = PublicFacts(
    ...     id="2027-03",
    ...     title="",
    ...     date="",
    ...     contact="",
    ...     version="1",
    ...     ptable_label="",
    ...     checks={},
    ...     tables=(),
    ... )
    >>> public_page(words_of("en"), facts)[0]
    'public.html'
    """
    outcomes = list(facts.checks.values())
    return "public.html", {
        "title": page_title(words, words.text(facts.title), facts.id),
        "id": facts.id,
        "facts": facts,
        "headings": _headings(words),
        "verdict": verdict(words, outcomes),
        "has_failed": has_failed(outcomes),
        "checks": _checks(words, facts),
        "tables": _tables(words, facts),
        "files": _files(words, facts),
    }


def _headings(words: Words) -> dict[str, str]:
    return {
        "verdict": words.say("Verdict and checks"),
        "released": words.say("What was released"),
        "protection": words.say("How the counts are protected"),
        "effect": words.say("What the protection does to the counts"),
        "risk": words.say("What risk remains"),
        "reproduction": words.say("How to check what you have"),
        "definitions": words.say("Definitions"),
        "contact": words.say("Contact"),
    }


def _checks(words: Words, facts: PublicFacts) -> Table:
    return Table(
        id="checks",
        caption=words.say("Checks before the release"),
        columns=texts(words.say("Check"), words.say("What it asks"), words.say("Result")),
        rows=tuple(
            (
                words.say(CHECKS[name].name),
                words.say(CHECKS[name].public),
                outcome_cell(words, outcome),
            )
            for name, outcome in facts.checks.items()
        ),
    )


def _tables(words: Words, facts: PublicFacts) -> Table:
    return Table(
        id="tables",
        caption=words.say("Released tables"),
        columns=(
            *texts(words.say("Table"), words.say("Title"), words.say("Dimensions")),
            *numbers(words.say("Published rows")),
        ),
        rows=tuple(
            (
                table.name,
                words.text(table.title),
                ", ".join(map(words.text, table.dimensions)),
                words.numbers.count(table.published),
            )
            for table in facts.tables
        ),
    )


def _files(words: Words, facts: PublicFacts) -> Table:
    return Table(
        id="files",
        caption=words.say("Released files"),
        columns=(
            *texts(words.say("Table"), words.say("File")),
            *numbers(words.say("Bytes")),
            *texts(words.say("SHA-256")),
        ),
        rows=tuple(
            (table.name, *file_entries(words, file))
            for table in facts.tables
            for file in table.files
        ),
        n_heads=2,
    )
