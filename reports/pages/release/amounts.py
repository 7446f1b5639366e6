"""Sums of amounts: how they were changed, and what they tell of the largest contributor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.catalogues.release import NOTES
from reports.parts import Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.facts.release import AmountFact
    from reports.i18n.languages import Words
    from reports.parts import Table


def change_table(words: Words, amounts: Sequence[AmountFact]) -> Table:
    """Arrange how sums were changed, a table and variable a line."""
    return (
        Lines(words, amounts)
        .text("Table", lambda fact: fact.table)
        .text("Variable", lambda fact: fact.variable)
        .number("Cells with a sum", lambda fact: fact.cells, "count")
        .number("Bias", lambda fact: _share(words, fact.bias))
        .number("Half of the cells deviate by at most", lambda fact: _share(words, fact.median))
        .number("Nine tenths deviate by at most", lambda fact: _share(words, fact.most))
        .number(
            "Share of cells within 5 % of the original sum",
            lambda fact: _share(words, fact.within),
        )
        .table(
            "sums",
            words.say("How far published sums lie from the original ones"),
            n_heads=2,
            notes=(NOTES["sums"].say(words),),
        )
    )


def exposure_table(words: Words, amounts: Sequence[AmountFact]) -> Table:
    """Arrange what sums tell of the largest contributor, a table and variable a line."""
    return (
        Lines(words, amounts)
        .text("Table", lambda fact: fact.table)
        .text("Variable", lambda fact: fact.variable)
        .number("Exposed cells", lambda fact: fact.exposed, "count")
        .number(
            "Probability of a near estimate, by formula",
            lambda fact: _share(words, fact.expected),
        )
        .number(
            "Share of exposed cells with a near estimate",
            lambda fact: _share(words, fact.found),
        )
        .table(
            "contributors",
            words.say("What sums tell of the largest contributor"),
            n_heads=2,
            notes=(NOTES["contributors"].say(words),),
        )
    )


def _share(words: Words, number: float | None) -> str | None:
    if number is None:
        return None
    return words.numbers.probability(number) if number >= 0 else words.numbers.amount(number)
