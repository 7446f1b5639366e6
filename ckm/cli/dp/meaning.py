"""What an epsilon means, in plain words, English and French; the words are in meaning.toml."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from footing.data_files import read_data
from reports.i18n.languages import words_of
from reports.i18n.numbers import Numbers
from reports.pages.training.private import unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dp import Guarantee
    from dp.belief import Meaning, Shift
    from reports import Report
    from reports.facts.meaning import EpsilonFact

_TEXTS = read_data("ckm.cli.dp", "meaning.toml")
LANGUAGES: dict[str, dict[str, str]] = {name: _TEXTS[name] for name in ("en", "fr")}
_PREMIUM = 2000
_LARGEST = 700.0
#: Neighbours between which a value that changes counts twice.
_TWICE = {"add-remove", "zero-out"}
_RANGES = (0.1, 0.5, 1.0, 2.0, 3.0)
_GRID = tuple(place / 40 for place in range(41))


def explained(meaning: Meaning, *, adjacency: str, unit: str, language: str) -> list[str]:
    """Return what a guarantee means, a sentence a line.

    Each sentence is a theorem; docs/explanation/privacy/dp.md has the proofs.
    """
    words, numbers = LANGUAGES[language], Numbers(language)
    unit = unit_of(words_of(language), unit)

    def share(value: float) -> str:
        return f"{numbers.plain(round(100 * value, 2))} %"

    def factor(value: float) -> str:
        return _finite(value, lambda finite: numbers.plain(round(finite, 2)))

    def shifted(shift: Shift, what: str) -> str:
        chance = numbers.tiny(shift.chance)
        return words["shift"].format(
            what=words[what].format(unit=unit),
            factor=factor(shift.factor),
            but=words["but"].format(chance=chance) if shift.chance else "",
            beliefs=words["and"].join(
                words["belief"].format(prior=share(p), most=share(most), least=share(least))
                for p, least, most in shift.beliefs
            ),
        )

    lift = math.exp(meaning.epsilon) if meaning.epsilon <= _LARGEST else math.inf
    lines = [
        words["promise-delta" if meaning.delta else "promise"].format(
            epsilon=numbers.plain(meaning.epsilon),
            delta=numbers.tiny(meaning.delta),
            odds=factor(lift),
        ),
        words["who"],
    ]
    if meaning.membership:
        lines.append(shifted(meaning.membership, f"member-{adjacency}"))
    is_place = adjacency == "distance"
    lines.append(shifted(meaning.value, "about-distance" if is_place else "about"))
    if adjacency in _TWICE:
        lines.append(words["twice"])
    if meaning.membership:
        lines += [
            words["rate"].format(wrong=share(wrong), right=share(right))
            for wrong, right in meaning.rates
        ]
    lines.append(words["advantage"].format(advantage=share(meaning.advantage)))
    if not meaning.delta:
        premium = _finite(_PREMIUM * lift, numbers.count)
        who = words["place"] if is_place else unit
        lines.append(words["premium"].format(premium=premium, unit=who))
    if not is_place:
        lines.append(words["facts"].format(unit=unit))
    lines += [words[name].format(unit=unit) for name in ("repeat", adjacency)]
    return lines


def _finite(value: float, say: Callable[[float], str]) -> str:
    return say(value) if math.isfinite(value) else "\N{INFINITY}"


def meaning_page(
    guarantee: Guarantee, *, priors: Sequence[float], unit: str, language: str
) -> Report:
    """Return the page of what a guarantee means, for whoever decides on it."""
    from dp.belief import TABLE_EPSILONS, TABLE_PRIORS, meaning
    from footing.version import engine_version
    from reports import make_report
    from reports.facts.meaning import MeaningFacts

    pure, adjacency = replace(guarantee, delta=0.0), str(guarantee.adjacency)
    statement = meaning(guarantee, priors=priors)
    lines = explained(statement, adjacency=adjacency, unit=unit, language=language)

    def several(epsilons: Sequence[float], priors: Sequence[float]) -> tuple[EpsilonFact, ...]:
        return tuple(_fact(replace(pure, epsilon=epsilon), priors) for epsilon in epsilons)

    facts = MeaningFacts(
        version=engine_version(),
        delta=guarantee.delta,
        adjacency=adjacency,
        unit=unit,
        sentences=tuple(line.removeprefix("- ") for line in lines),
        asked=_fact(guarantee, priors),
        curve=_fact(guarantee, _GRID),
        others=several(sorted({*TABLE_EPSILONS, statement.epsilon} - {0.0}), priors[:1]),
        ranges=several(_RANGES, _GRID),
        table=several(TABLE_EPSILONS, TABLE_PRIORS),
    )
    return make_report(facts, language=language)


def _fact(guarantee: Guarantee, priors: Sequence[float]) -> EpsilonFact:
    """Return what can be believed, and how far a count is off."""
    from dp import Geometric, count, meaning
    from reports.facts.meaning import EpsilonFact

    epsilon, adjacency = guarantee.epsilon, guarantee.adjacency
    statement, error = meaning(guarantee, priors=priors), None
    if statement.membership and epsilon:
        error = Geometric.calibrated(count(adjacency), epsilon=epsilon).accuracy(0.95)
    return EpsilonFact(
        epsilon=epsilon,
        member=statement.membership.beliefs if statement.membership else (),
        value=statement.value.beliefs,
        error=error,
    )
