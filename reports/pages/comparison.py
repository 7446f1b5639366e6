"""Designs compared on one set of tables, before any release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.comparison import FINDINGS
from reports.pages.definitions import definitions
from reports.pages.methods import method_parts
from reports.pages.release.risk import posterior_table
from reports.pages.release.utility import by_variable
from reports.pages.scenarios import figure_table, scenario_parts
from reports.parts import Table, numbers, texts

if TYPE_CHECKING:
    from reports.facts.release import ComparisonFacts, SetFact
    from reports.i18n.languages import Words

__all__ = ["comparison_page"]


def comparison_page(words: Words, facts: ComparisonFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what is known of the designs.

    Parameters
    ----------
    words
        The language.
    facts
        The facts.

    Examples
    --------
    >>> comparison_page.__name__  # facts of a comparison: see `comparison_report`
    'comparison_page'
    """
    measures = [fact for several in facts.utility.values() for fact in several]
    return "comparison.html", {
        "title": words.text(facts.title) or _title(words, facts),
        "id": "",
        "facts": facts,
        "headings": _headings(words, facts),
        "methods": None if facts.methods is None else method_parts(words, facts.methods),
        "findings": [
            FINDINGS[name].say(words, values, of=f"the finding {name!r}")
            for name, values in facts.conclusion.items()
        ],
        "sensitive": words.numbers.ranges(facts.sensitive),
        "tables": _tables(words, facts),
        "scenarios": scenario_parts(words, facts.scenarios),
        "by_table": _by_table(words, facts),
        "deviations": _sets(
            words,
            facts.sets,
            ident="deviation-sets",
            caption=words.say("What a count may be published as"),
            member="deviation",
        ),
        "possible": _sets(
            words,
            facts.sets,
            ident="possible-sets",
            caption=words.say("The originals that may lie behind a published count"),
            member="possible",
        ),
        "certainty": _certainty(words, facts),
        "posteriors": [
            posterior_table(words, several, ident=f"posteriors-{place}", caption=design)
            for place, (design, several) in enumerate(facts.posteriors.items())
        ],
        "utility": [
            (design, by_variable(words, several, facts.levels, ident=f"variables-{place}"))
            for place, (design, several) in enumerate(facts.utility.items())
        ],
        "definitions": definitions(words, measures, facts.scenarios, None),
    }


def _title(words: Words, facts: ComparisonFacts) -> str:
    if facts.scenarios.designs or facts.methods is None:
        return words.say("Designs compared")
    return words.say("Methods compared")


def _headings(words: Words, facts: ComparisonFacts) -> dict[str, str]:
    """Name the parts of the page: those of methods, those of designs, or both."""
    headings = {}
    if facts.methods is not None:
        headings["methods"] = words.say("Methods, by what was measured")
        if not facts.scenarios.designs:
            return headings
    return headings | {
        "conclusion": words.say("Conclusion"),
        "compared": words.say("What was compared"),
        "scenarios": words.say("Risk and utility"),
        "sets": words.say("What may become of a count"),
        "posteriors": words.say("What a published count tells"),
        "utility": words.say("Utility by variable"),
        "definitions": words.say("Definitions and references"),
    }


def _tables(words: Words, facts: ComparisonFacts) -> Table:
    return Table(
        id="tables",
        caption=words.say("Tables, with their cells, empty ones included"),
        columns=(*texts(words.say("Table")), *numbers(words.say("Cells"))),
        rows=tuple((name, words.numbers.count(cells)) for name, cells in facts.tables.items()),
    )


def _by_table(words: Words, facts: ComparisonFacts) -> list[Table]:
    names = (facts.scenarios.risk, facts.scenarios.utility, "aad", "changed_pct", "false_zeros")
    return [
        figure_table(
            words,
            designs,
            names=[n for n in dict.fromkeys(names) if any(n in d.figures for d in designs)],
            ident=f"by-table-{place}",
            caption=words.say("Designs on the table “%(table)s”", table=table),
        )
        for place, (table, designs) in enumerate(facts.by_table.items())
    ]


def _sets(
    words: Words, sets: tuple[SetFact, ...], *, ident: str, caption: str, member: str
) -> Table:
    """Arrange sets with designs down and counts across."""
    designs = list(dict.fromkeys(fact.design for fact in sets))
    counts = sorted({fact.count for fact in sets})
    known = {(f.design, f.count): getattr(f, member) for f in sets}
    empty = words.say("never")
    return Table(
        id=ident,
        caption=caption,
        columns=(*texts(words.say("Design"), *(words.numbers.count(n) for n in counts)),),
        rows=tuple(
            (
                design,
                *(words.numbers.ranges(known.get((design, n), ())) or empty for n in counts),
            )
            for design in designs
        ),
    )


def _certainty(words: Words, facts: ComparisonFacts) -> Table:
    """Arrange P(sensitive | published) with designs down and published counts across."""
    published = sorted({f.published for some in facts.posteriors.values() for f in some})
    rows = []
    for design, some in facts.posteriors.items():
        known = {fact.published: fact.sensitive for fact in some}
        rows.append(
            (
                design,
                *(
                    words.numbers.probability(known[n]) if n in known else words.say("never")
                    for n in published
                ),
            )
        )
    return Table(
        id="certainty",
        caption=words.say("Probability that the original is sensitive, by published count"),
        columns=(
            *texts(words.say("Design")),
            *numbers(*(words.numbers.count(n) for n in published)),
        ),
        rows=tuple(rows),
        notes=(words.say("Never: the design never publishes this count."),),
    )
