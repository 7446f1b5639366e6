"""The public edition: from `PublicFacts`, and from nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.pages import headings
from reports.catalogues.release import CHECKS
from reports.pages.common import has_failed, outcome_cell, page_title, released_files, verdict
from reports.parts import Lines

if TYPE_CHECKING:
    from reports.facts.release import PublicFacts
    from reports.i18n.languages import Words
    from reports.parts import Table


def public_page(words: Words, facts: PublicFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what everybody may know."""
    outcomes = list(facts.checks.values())
    return "public.html", {
        "title": page_title(words, words.text(facts.title), facts.id),
        "id": facts.id,
        "headings": headings(words, "public"),
        "verdict": verdict(words, outcomes),
        "has_failed": has_failed(outcomes),
        "checks": _checks(words, facts),
        "tables": _tables(words, facts),
        "files": released_files(words, facts.tables),
    }


def _checks(words: Words, facts: PublicFacts) -> Table:
    return (
        Lines(words, facts.checks)
        .text("Check", lambda name: words.say(CHECKS[name].name))
        .text("What it asks", lambda name: words.say(CHECKS[name].public))
        .text("Result", lambda name: outcome_cell(words, facts.checks[name]))
        .table("check-table", words.say("Checks before the release"))
    )


def _tables(words: Words, facts: PublicFacts) -> Table:
    return (
        Lines(words, facts.tables)
        .text("Table", lambda table: table.name)
        .text("Title", lambda table: words.text(table.title))
        .text("Dimensions", lambda table: ", ".join(map(words.text, table.dimensions)))
        .number("Published rows", lambda table: table.published, "count")
        .table("tables", words.say("Released tables"))
    )
