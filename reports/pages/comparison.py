"""Designs compared on one set of tables, before any release."""

from collections.abc import Collection, Mapping
from typing import Any

from reports.catalogues.comparison import FINDINGS, RECOMMENDED, TRIALS
from reports.catalogues.pages import headings
from reports.facts.release import ComparisonFacts, SetFact
from reports.i18n.languages import Words
from reports.pages.common import definitions
from reports.pages.frontier import frontier_parts
from reports.pages.methods import method_parts
from reports.pages.release.risk import posterior_table
from reports.pages.release.utility import by_variable
from reports.pages.scenarios import figure_table, scenario_parts
from reports.parts import Cell, Lines, Table


def comparison_page(
    words: Words, facts: ComparisonFacts, *, is_full: bool = False
) -> tuple[str, dict[str, Any]]:
    """Arrange what a choice between designs needs, and if asked the long lists."""
    measures = [fact for several in facts.utility.values() for fact in several]
    names = {design.name for design in facts.scenarios.designs if design.front or design.chosen}
    names |= {str(values.get("design")) for values in [*facts.conclusion.values()][:1]}
    return "comparison.html", {
        "title": words.text(facts.title) or _title(words, facts),
        "is_full": is_full,
        "headings": _headings(words, facts, is_full=is_full),
        "methods": None if facts.methods is None else method_parts(words, facts.methods),
        "findings": [
            (name, FINDINGS[name].say(words, values, of=f"the finding {name!r}"))
            for name, values in facts.conclusion.items()
        ],
        "recommended": _recommended(words, facts),
        "sensitive": words.numbers.ranges(facts.sensitive),
        "tables": _tables(words, facts),
        "scenarios": scenario_parts(words, facts.scenarios),
        "frontier": facts.frontier and frontier_parts(words, facts.frontier),
        "by_table": _by_table(words, facts, names) if is_full else [],
        "deviations": _sets(
            words,
            facts.sets,
            names,
            ident="deviation-sets",
            caption=words.say("What a count may be published as"),
            member="deviation",
        ),
        "possible": _sets(
            words,
            facts.sets,
            names,
            ident="possible-sets",
            caption=words.say("Original counts compatible with a published count"),
            member="possible",
        ),
        "certainty": _certainty(words, facts, names),
        "posteriors": [
            posterior_table(words, several, ident=f"posteriors-{place}", caption=design)
            for place, (design, several) in enumerate(facts.posteriors.items())
            if is_full and design in names
        ],
        "utility": [
            (design, by_variable(words, several, facts.levels, ident=f"variables-{place}"))
            for place, (design, several) in enumerate(facts.utility.items())
            if is_full and design in names
        ],
        "definitions": definitions(words, measures if is_full else (), facts.scenarios, None),
    }


def _title(words: Words, facts: ComparisonFacts) -> str:
    if facts.scenarios.designs or facts.methods is None:
        return words.say("Designs compared")
    return words.say("Methods compared")


def _headings(words: Words, facts: ComparisonFacts, *, is_full: bool) -> dict[str, str]:
    """Name the parts of the page: those of methods, those of designs, or both."""
    without = ["methods"] * (facts.methods is None) + ["utility"] * (not is_full)
    without += ["frontier"] * (facts.frontier is None)
    names = headings(words, "comparison", without=without)
    if facts.methods is None or facts.scenarios.designs:
        return names
    return {"methods": names["methods"]}


def _recommended(words: Words, facts: ComparisonFacts) -> list[str]:
    """Say why a design is recommended, what it costs, and whose rules these are."""
    steps = [v for name, v in facts.conclusion.items() if name.startswith("least-loss")]
    if not steps:
        return []
    sentences: dict[str, Mapping[str, float | str]] = {}
    won = next(iter(facts.conclusion.values()))
    if "design" in won:
        sentences["reason"] = {**won, "designs": steps[-1]["designs"]}
        for rule, step in enumerate(steps[:-1], start=1):
            if step["design"] != steps[rule]["design"]:
                sentences["other"] = {"other": step["design"], "rule": float(rule)}
        cells = float(facts.conclusion["cells"]["distinct"])
        whole = [m for m in facts.utility.get(str(won["design"]), ()) if m.group == "all"]
        figures = {m.name: m.number for m in whole if m.number is not None}
        if {"changed_pct", "false_zeros", "aad"} <= set(figures):
            shares = {"zeros_pct": 100 * figures["false_zeros"] / cells, "cells": cells}
            sentences["price"] = figures | shares
    sentences["rules" if facts.is_limit_set else "no-rules"] = {}
    return [RECOMMENDED[name].say(words, values) for name, values in sentences.items()]


def _tables(words: Words, facts: ComparisonFacts) -> Table:
    return (
        Lines(words, facts.tables.items())
        .text("Table", lambda line: _titled(words, facts, line[0]))
        .number("Cells", lambda line: line[1], "count")
        .table("tables", words.say("Tables, with their cells, empty ones included"))
    )


def _titled(words: Words, facts: ComparisonFacts, name: str) -> Cell:
    """Write the title of a table with its name below, or the name of one without a title."""
    title = words.text(facts.titles.get(name, ""))
    return Cell(text=title, small=name) if title else Cell(text=name)


def _by_table(words: Words, facts: ComparisonFacts, selection: set[str]) -> list[Table]:
    names = (facts.scenarios.risk, facts.scenarios.utility, "aad", "changed_pct", "false_zeros")
    return [
        figure_table(
            words,
            designs,
            names=[n for n in dict.fromkeys(names) if any(n in d.figures for d in designs)],
            ident=f"by-table-{place}",
            caption=words.say("Designs on the table “%(table)s”", table=table),
            selection=selection,
        )
        for place, (table, designs) in enumerate(facts.by_table.items())
    ]


def _sets(
    words: Words,
    sets: tuple[SetFact, ...],
    selection: Collection[str],
    *,
    ident: str,
    caption: str,
    member: str,
) -> Table:
    """Arrange sets with counts down and designs across."""
    designs = {fact.design: fact.design for fact in sets if fact.design in selection}
    values = {(f.count, f.design): getattr(f, member) for f in sets}
    empty = words.say("never")
    return (
        Lines(words, sorted({fact.count for fact in sets}))
        .number("Count", int, "count")
        .texts(designs, lambda *at: words.numbers.ranges(values.get(at, ())) or empty)
        .table(ident, caption)
    )


def _certainty(words: Words, facts: ComparisonFacts, selection: Collection[str]) -> Table:
    """Arrange P(sensitive | published) with published counts down and designs across."""
    values = {
        (fact.published, design): fact.sensitive
        for design, some in facts.posteriors.items()
        for fact in some
        if design in selection
    }
    return (
        Lines(words, sorted({published for published, _ in values}))
        .number("Published count", int, "count")
        .numbers(
            {design: design for _, design in values},
            lambda *at: values.get(at, words.say("never")),
            "probability",
        )
        .table(
            "certainty",
            words.say("Probability that the original is sensitive, by published count"),
            notes=(TRIALS["never"].say(words),),
        )
    )
