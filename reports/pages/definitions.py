"""Every symbol, measure and source that a page shows, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.measures import figure_name, measure_name
from reports.catalogues.release import ATTACKS, REFERENCES
from reports.parts import Cell, Table, texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reports.facts.release import MeasureFact, RiskFacts, ScenarioFacts
    from reports.i18n.languages import Words

__all__ = ["definitions"]


def definitions(
    words: Words,
    utility: Sequence[MeasureFact],
    scenarios: ScenarioFacts | None,
    risk: RiskFacts | None,
) -> dict[str, Any]:
    """Define what a page shows, and nothing else.

    Parameters
    ----------
    words
        The language.
    utility, scenarios, risk
        What the page shows.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> sorted(definitions(words_of("en"), (), None, None))
    ['figures', 'measures', 'references', 'terms']
    """
    return {
        "terms": _terms(words),
        "measures": _measures(words, dict.fromkeys(fact.name for fact in utility)),
        "figures": _figures(words, scenarios),
        "references": _references(risk),
    }


def _terms(words: Words) -> list[tuple[str, str]]:
    return [
        (
            words.say("X, original count"),
            words.say("How many records are in a cell; also written o."),
        ),
        (
            words.say("X′, published count"),
            words.say("The count after protection; also written p."),
        ),
        (
            words.say("d, noise"),
            words.say("Published minus original count: d = X′ − X."),
        ),
        (
            words.say("p-table"),
            words.say(
                "The probabilities p(i, j) = P(X′ = j | X = i) that a count i is published "
                "as j."
            ),
        ),
        (
            words.say("Record key, cell key"),
            words.say("A random number of each record; the sum of those of a cell."),
        ),
        (
            words.say("P(X = i | X′ = j)"),
            words.say(
                "What a reader believes of the original count after seeing j: π(i) p(i, j) "
                "divided by the sum of π(k) p(k, j) over all k, with the prior π."
            ),
        ),
        (
            words.say("Prior π"),
            words.say("What is believed of a count before anything is published."),
        ),
        (
            words.say("S, sensitive counts"),
            words.say("The original counts that nobody should be able to infer."),
        ),
        (
            words.say("Draw"),
            words.say(
                "The noise of a set of records; cells that hold the same records share it."
            ),
        ),
        (
            words.say("Base"),
            words.say("How many cells, or totals with their parts, a measure is made of."),
        ),
        (
            words.say("Interval as tried"),
            words.say("Wilson's interval of a share, at a level of 95 percent."),
        ),
        (
            words.say("Margin"),
            words.say("A cell that is a total over at least one dimension."),
        ),
        (
            words.say("Gap"),
            words.say("A published total minus the sum of its published parts."),
        ),
        (
            words.say("Front"),
            words.say("The designs that no other beats on both risk and utility."),
        ),
        (
            words.say("0.000 and < 0.001"),
            words.say(
                "Probabilities have three decimals. 0.000 is exactly 0 and 1.000 exactly 1; "
                "what is close to them is written as less or more."
            ),
        ),
    ]


def _measures(words: Words, names: Iterable[str]) -> Table:
    from risk.utility import DEFINITIONS

    return _defined(
        words,
        ident="measure-definitions",
        caption=words.say("Measures of utility on this page"),
        lines=[(name, measure_name(words, name), *DEFINITIONS[name]) for name in names],
    )


def _figures(words: Words, scenarios: ScenarioFacts | None) -> Table:
    names: dict[str, None] = {}
    if scenarios is not None:
        names = dict.fromkeys(n for design in scenarios.designs for n in design.figures)
        names |= dict.fromkeys((scenarios.risk, scenarios.utility))
    lines = []
    if names:
        from risk.risk_map.catalogue import FIGURES

        lines = [
            (name, figure_name(words, name), FIGURES[name].unit, FIGURES[name].definition)
            for name in names
        ]
    return _defined(
        words,
        ident="figure-definitions",
        caption=words.say("Figures of designs on this page"),
        lines=lines,
    )


def _defined(
    words: Words, *, ident: str, caption: str, lines: Sequence[tuple[str, str, str, str]]
) -> Table:
    return Table(
        id=ident,
        caption=caption,
        columns=texts(
            words.say("Name"), words.say("In words"), words.say("Unit"), words.say("Definition")
        ),
        rows=tuple(
            (Cell(text=name, is_code=True), called, words.say(unit), words.say(definition))
            for name, called, unit, definition in lines
        ),
    )


def _references(risk: RiskFacts | None) -> list[Any]:
    names = ["handbook"]
    if risk is not None:
        names += [name for fact in risk.attacks for name in ATTACKS[fact.name].references]
        names += ["wilson"] if any(fact.trials for fact in risk.attacks) else []
    return [REFERENCES[name] for name in dict.fromkeys(names)]
