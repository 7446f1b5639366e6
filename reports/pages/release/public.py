"""The public edition: from `PublicFacts`, and from nothing else."""

from itertools import count, product
from string import ascii_lowercase
from typing import Any
from urllib.parse import quote

from reports.catalogues.pages import headings
from reports.catalogues.release import CHECKS
from reports.facts.release import FirstRowsFact, MarginFact, PublicFacts, PublicTableFact
from reports.i18n.languages import LANGUAGES, Words
from reports.pages.common import (
    has_failed,
    outcome_cell,
    page_title,
    released,
    released_files,
    verdict,
)
from reports.parts import NOTHING, Cell, Lines, Table


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
        "first_rows": _first_rows(words, facts),
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


def _tables(words: Words, facts: PublicFacts) -> Table:
    def files(table: PublicTableFact) -> Cell:
        links = [(name, f"./{quote(name)}") for name in _readable(table, words.language)]
        return Cell(text="", links=tuple(links)) if links else Cell(text=NOTHING)

    def named(table: PublicTableFact) -> Cell:
        by = ", ".join(map(words.text, table.dimensions))
        return Cell(text=words.text(table.title) or table.name, small=by)

    return (
        Lines(words, facts.tables)
        .text("Table", named)
        .number("Published cells", lambda table: table.published, "count")
        .text("Files", files)
        .table("tables", words.say("Released tables"))
    )


def _first_rows(words: Words, facts: PublicFacts) -> list[Table]:
    """Show the first rows of each table as they are published."""
    # Places are told apart by letters, as a page holds no number but those of the facts.
    places = (
        "first-rows-" + "".join(letters)
        for length in count(1)
        for letters in product(ascii_lowercase, repeat=length)
    )
    return [
        _rows_of(words, place, table, table.first_rows, facts.margin)
        for place, table in zip(places, facts.tables, strict=False)
        if table.first_rows is not None and table.first_rows.categories
    ]


def _rows_of(
    words: Words,
    ident: str,
    table: PublicTableFact,
    first: FirstRowsFact,
    margin: MarginFact | None,
) -> Table:
    lines = Lines(words, list(zip(first.categories, first.numbers, strict=True)))
    labels = {place: words.text(name) for place, name in enumerate(first.dimensions)}
    measures = {place: words.text(name) for place, name in enumerate(first.measures)}
    shown = len(first.categories)
    notes = []
    if shown < table.published:
        notes.append(
            words.say(
                "The first %(shown)s of %(rows)s rows; all are in the files.",
                shown=words.numbers.count(shown),
                rows=words.numbers.count(table.published),
            )
        )
    if margin is not None:
        notes.append(
            words.say(
                "Each count lies within ±%(count)s of the true one with a probability of "
                "%(sure)s %% or more.",
                count=words.numbers.count(margin.count),
                sure=words.numbers.count(margin.level),
            )
        )
    return (
        lines.texts(labels, lambda line, place: words.text(line[0][place]))
        .numbers(measures, lambda line, place: _published(words, line[1][place]))
        .table(ident, words.text(table.title) or table.name, n_heads=len(labels), notes=notes)
    )


def _published(words: Words, number: str) -> Cell | None:
    """Write a published number with all its decimals, in groups of three digits."""
    if not number:
        return None
    whole, point, decimals = number.partition(".")
    mark = words.numbers.plain(0.5)[1] if point else ""
    sign = "\N{MINUS SIGN}" if whole.startswith("-") else ""
    return Cell(text=f"{sign}{words.numbers.count(abs(int(whole)))}{mark}{decimals}")


def _readable(table: PublicTableFact, language: str) -> list[str]:
    """Name the files of a table, but those of another language that are there in this one."""
    names = [file.file for file in table.files]
    own = f"{table.name}.{language}."
    others = [f"{table.name}.{code}." for code in LANGUAGES if code != language]
    twice = {
        other + name.removeprefix(own)
        for name in names
        if name.startswith(own)
        for other in others
    }
    return [name for name in names if name not in twice]


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
