"""Every symbol, measure and source that a page shows, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.measures import figure_name, measure_name
from reports.catalogues.pages import TERMS
from reports.catalogues.release import ATTACKS, REFERENCES
from reports.parts import Cell, Lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reports.facts.release import MeasureFact, RiskFacts, ScenarioFacts
    from reports.i18n.languages import Words
    from reports.parts import Table


def definitions(
    words: Words,
    utility: Sequence[MeasureFact],
    scenarios: ScenarioFacts | None,
    risk: RiskFacts | None,
) -> dict[str, Any]:
    """Define what a page shows, and nothing else."""
    return {
        "terms": [(words.say(name), words.say(meaning)) for name, meaning in TERMS],
        "measures": _measures(words, dict.fromkeys(fact.name for fact in utility)),
        "figures": _figures(words, scenarios),
        "references": _references(risk),
    }


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
    return (
        Lines(words, lines)
        .text("Name", lambda line: Cell(text=line[0], is_code=True))
        .text("In words", lambda line: line[1])
        .text("Unit", lambda line: words.say(line[2]))
        .text("Definition", lambda line: words.say(line[3]))
        .table(ident, caption)
    )


def _references(risk: RiskFacts | None) -> list[Any]:
    names = ["handbook"]
    if risk is not None:
        names += [name for fact in risk.attacks for name in ATTACKS[fact.name].references]
        names += ["wilson"] if any(fact.trials for fact in risk.attacks) else []
    return [REFERENCES[name] for name in dict.fromkeys(names)]
