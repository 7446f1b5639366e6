"""The public edition: from `PublicFacts`, and from nothing else."""

from typing import Any

from reports.catalogues.pages import headings
from reports.catalogues.release import CHECKS
from reports.facts.release import MarginFact, PublicFacts
from reports.i18n.languages import Words
from reports.pages.common import (
    has_failed,
    outcome_cell,
    page_title,
    released,
    released_files,
    verdict,
)
from reports.pages.release.released_tables import first_rows, list_of_tables
from reports.parts import Lines, Table


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
        "tables": list_of_tables(words, facts),
        "first_rows": first_rows(words, facts),
        "released": released(words, facts.tables),
        "margin": facts.margin and _margin(words, facts.margin),
        "precision": facts.margin and _precision(words, facts.margin),
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


def _margin(words: Words, margin: MarginFact) -> str:
    count = words.numbers.count
    return words.say(
        "Each count lies within ±%(largest)s of the true one, and within ±%(count)s with a "
        "probability of %(sure)s %% or more; the variance of the changes is %(variance)s or "
        "less. A difference of %(difference)s or less between two counts can come from the "
        "changes alone.",
        largest=count(margin.largest),
        count=count(margin.count),
        sure=count(margin.level),
        variance=words.numbers.plain(margin.variance),
        difference=count(margin.difference),
    )


def _precision(words: Words, margin: MarginFact) -> Table:
    return (
        Lines(words, margin.shares.items())
        .number("Count", lambda line: line[0], "count")
        .number("Margin of error", lambda _: f"±{words.numbers.count(margin.count)}")
        .number("As a share, %", lambda line: line[1], "plain")
        .table("precision", words.say("Margin of error by size of count"))
    )
