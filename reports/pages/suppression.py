"""The overview of a suppression: what is hidden, why, at what loss, and against whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.pages import headings
from reports.catalogues.wording import WordLists
from reports.charts.matrix import Matrix, matrix, shade_of
from reports.parts import NOTHING, Figure, Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.facts.suppression import (
        DimensionLinkFact,
        EquationFact,
        PatternFact,
        PublicSuppressionFacts,
        SuppressionFacts,
    )
    from reports.i18n.languages import Words
    from reports.parts import Table

_WORDS = WordLists("suppression")
_SENTENCES, _PUBLIC = _WORDS.sentences("sentences"), _WORDS.sentences("public")
_RULES, _LINKS = _WORDS.sentences("rules"), _WORDS.sentences("links")
_METHODS = _WORDS.sentences("methods")
#: Shares that are drawn in shades of their own, for what a single cell is.
_SHARES = {"U": 1.0, "H": 0.3, "": 0.0}


def suppression_page(words: Words, facts: SuppressionFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what the office sees of a suppression."""
    cells = sum(level.cells for level in facts.levels)
    unsafe = sum(level.primary for level in facts.levels)
    hidden = unsafe + sum(level.secondary for level in facts.levels)
    values: dict[str, float | str] = {"cells": cells, "unsafe": unsafe, "hidden": hidden}
    return "suppression.html", {
        "title": facts.title or words.say("Overview of a suppression"),
        "headings": headings(
            words,
            "suppression",
            without=(
                *(() if facts.patterns else ("pattern",)),
                *(() if facts.links or facts.equations else ("links",)),
            ),
        ),
        "verdict": _SENTENCES["verdict"].say(words, values),
        "audit": _SENTENCES["audited" if facts.is_audited else "unaudited"].say(words),
        "measures": _measures(words, facts),
        "rules": [_rule(words, name, numbers) for name, numbers in facts.rules],
        "levels": _levels(words, facts),
        "against": list(_against(words, facts)),
        "table_links": _links(words, facts) if facts.links else None,
        "equations": _equations(words, facts) if facts.equations else None,
        "patterns": [
            _pattern(words, pattern, place) for place, pattern in enumerate(facts.patterns)
        ],
    }


def public_suppression_page(
    words: Words, facts: PublicSuppressionFacts
) -> tuple[str, dict[str, Any]]:
    """Arrange what anybody may know of a suppression."""
    cells = sum(table.cells for table in facts.tables)
    hidden = sum(table.hidden for table in facts.tables)
    values: dict[str, float | str] = {"cells": cells, "hidden": hidden}
    return "suppression-public.html", {
        "title": facts.title or words.say("Suppressed numbers"),
        "headings": headings(words, "suppression_public"),
        "verdict": _PUBLIC["some" if hidden else "none"].say(words, values),
        "original": _PUBLIC["original"].say(words),
        "why": _PUBLIC["why"].say(words),
        "reading": [_PUBLIC[name].say(words) for name in ("blank", "total", "parts")],
        "tables": Lines(words, facts.tables)
        .text("Table", lambda table: table.table)
        .number("Cells", lambda table: table.cells, "count")
        .number("Suppressed", lambda table: table.hidden, "count")
        .number("Share", lambda table: table.hidden / max(table.cells, 1), "share")
        .table("tables", words.say("Suppressed numbers by table")),
    }


def _rule(words: Words, name: str, numbers: tuple[float, ...]) -> str:
    values = dict(zip("ab", numbers, strict=False))
    return _RULES[name].say(words, values)


def _against(words: Words, facts: SuppressionFacts) -> Iterator[str]:
    """Say who is protected against whom."""
    yield _SENTENCES["outsiders"].say(words)
    if facts.prior is not None:
        below, above = facts.prior
        yield _SENTENCES["prior"].say(words, {"below": below, "above": above})
    if not facts.coalition:
        yield _SENTENCES["nobody"].say(words)
        return
    yield _SENTENCES["contributors"].say(words)
    if facts.coalition > 1:
        yield _SENTENCES["pairs"].say(words)
    if facts.has_holdings:
        yield _SENTENCES["holdings"].say(words)
    yield _SENTENCES["others"].say(words)


def _measures(words: Words, facts: SuppressionFacts) -> Table:
    say = words.say
    lines = (
        Lines(words, facts.measures)
        .text("Measure", lambda fact: fact.measure)
        .text("Search", lambda fact: _METHODS[fact.method].say(words))
        .number("Cells", lambda fact: fact.cells, "count")
        .number("Unsafe", lambda fact: fact.unsafe, "count")
        .number("Suppressed", lambda fact: fact.hidden, "count")
        .number("Value suppressed", lambda fact: fact.lost, "share")
    )
    if any(fact.gap is not None for fact in facts.measures):
        lines = lines.number("Cost not proven to be needed", lambda fact: fact.gap, "share")
    return lines.number("One possible value", lambda fact: fact.exact, "count").table(
        "measures",
        say("Suppressed cells by measure"),
        notes=[
            *_of_equal_cells(words, facts),
            say(
                "A cell suppressed for one measure is suppressed in all columns of all tables."
            ),
            say("The value suppressed is a share of the value of all cells, totals included."),
            say(
                "A suppressed safe cell with one possible value can be derived exactly: "
                "its suppression protects nothing."
            ),
            say(
                "A suppression without proof of its need may be needed nevertheless: "
                "except in the exact search, the proof considers each sum separately."
            ),
        ],
    )


def _of_equal_cells(words: Words, facts: SuppressionFacts) -> Iterator[str]:
    """Say that the list has fewer cells than the tables, where it does."""
    cells = sum(level.cells for level in facts.levels)
    if any(fact.cells < cells for fact in facts.measures):
        yield words.say(
            "Cells of the same records, such as a group and its only category, are counted "
            "once here, and one by one everywhere else."
        )


def _levels(words: Words, facts: SuppressionFacts) -> Table:
    hidden = [(level, level.primary + level.secondary) for level in facts.levels]
    return (
        Lines(words, hidden)
        .text("Table", lambda line: line[0].table)
        .text("By", lambda line: ", ".join(line[0].columns) or words.say("the total"))
        .number("Cells", lambda line: line[0].cells, "count")
        .number("Unsafe", lambda line: line[0].primary, "count")
        .number("Secondary suppressions", lambda line: line[0].secondary, "count")
        .number("Suppressed", lambda line: line[1] / max(line[0].cells, 1), "share")
        .table("levels", words.say("Suppressed cells by table and level"), n_heads=2)
    )


def _links(words: Words, facts: SuppressionFacts) -> Table:
    """List the tables that have cells in common, and how their dimensions nest."""

    def nesting(fact: DimensionLinkFact) -> str:
        return _LINKS[fact.nesting].say(words, {"first": fact.first, "second": fact.second})

    return (
        Lines(words, facts.links)
        .text("Table", lambda link: link.tables[0])
        .text("Other table", lambda link: link.tables[1])
        .number("Common cells", lambda link: link.cells, "count")
        .text("Dimensions", lambda link: "; ".join(map(nesting, link.dimensions)) or NOTHING)
        .text("Office", lambda link: _status(words, "stated" if link.is_confirmed else "seen"))
        .table(
            "table-links",
            words.say("Tables that have cells in common"),
            n_heads=2,
            notes=[words.say("Such cells are suppressed in all tables or in none.")],
        )
    )


def _equations(words: Words, facts: SuppressionFacts) -> Table:
    """List which variables tell one another, and which sums are protected by it."""

    def further(fact: EquationFact) -> str:
        texts = [
            words.say("%(variable)s in %(table)s", variable=variable, table=table)
            for table, variable in fact.tables
        ]
        return "; ".join(texts) or NOTHING

    return (
        Lines(words, facts.equations)
        .text("Equation", lambda fact: fact.equation)
        .text("Office", lambda fact: _status(words, fact.status))
        .text("In all records", lambda fact: _exactness(words, fact))
        .text("Protected although not shown", further)
        .table(
            "equations",
            words.say("Variables that belong together"),
            notes=[
                words.say(
                    "Where a table shows all variables of an equation but one, the sums of "
                    "this one are protected as if the table showed them."
                )
            ],
        )
    )


def _status(words: Words, status: str) -> str:
    return _LINKS[status].say(words)


def _exactness(words: Words, fact: EquationFact) -> str:
    if fact.is_exact is None:
        return NOTHING
    return words.say("yes") if fact.is_exact else words.say("no")


def _pattern(words: Words, fact: PatternFact, place: int) -> Figure:
    """Draw which cells are hidden: U unsafe, H for the sake of others."""
    is_flat = all(cells == 1 for _, _, cells, _, _ in fact.cells)
    shares = {
        (row, column): (_SHARES[mark] if is_flat else hidden / max(cells, 1), mark)
        for row, column, cells, unsafe, hidden in fact.cells
        for mark in (_mark(cells, unsafe, hidden),)
    }
    legend = {
        shade_of(_SHARES["U"]): words.say("U: unsafe, primary suppression"),
        shade_of(_SHARES["H"]): words.say("H: secondary suppression"),
        shade_of(_SHARES[""]): words.say("published"),
    }
    labels = Matrix(
        id=f"pattern-{place}",
        title=words.say("Suppressed cells of %(table)s", table=fact.table),
        description=words.say(
            "The share of cells that is suppressed, for each pair of categories."
        ),
        across=fact.across,
        down=fact.down,
        columns=fact.columns,
        rows=fact.rows,
        home={},
        legend=legend if is_flat else None,
    )
    notes = []
    if not is_flat:
        notes = [words.say("Shades are shares of the cells over all further dimensions.")]

    def entry(row: tuple[int, str], column: int) -> str:
        if (row[0], column) not in shares:
            return NOTHING
        return shares[row[0], column][1] or words.say("published")

    return (
        Lines(words, list(enumerate(fact.rows)))
        .text("Row", lambda row: row[1])
        .texts(dict(enumerate(fact.columns)), entry)
        .figure(labels, matrix(words, labels, shares), notes=notes)
    )


def _mark(cells: int, unsafe: int, hidden: int) -> str:
    if cells == 1:
        return "U" if unsafe else "H" if hidden else ""
    return f"{hidden}/{cells}" if hidden else ""
