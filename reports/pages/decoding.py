"""Decoded reports: what was found, how sure it is, what it tells of a person."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

from reports.catalogues.pages import CORRECTIONS, PARAMETERS, SUSPICIONS, headings
from reports.catalogues.wording import written
from reports.charts.bars import Interval, Intervals, interval_bars, interval_lines
from reports.pages.common import outcome_cell
from reports.parts import Cell, Figure, Lines, Table, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reports.facts.decoding import CandidateFact, DecodingFacts, EstimateFact
    from reports.facts.release import Outcome
    from reports.i18n.languages import Words
    from reports.parts import Entry

_Item = TypeVar("_Item")
#: Names in a picture, from the largest estimate on.
_MAX_LINES = 40
#: Values in a picture of bars.
_MAX_BARS = 150
#: A test of fit below this chance says that something is missing.
_MISFIT = 0.001


def decoding_page(words: Words, facts: DecodingFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what is known of decoded reports."""
    found = _by_size(fact for fact in facts.candidates if fact.is_detected)
    others = _by_size(fact for fact in facts.candidates if not fact.is_detected)
    return "decoding.html", {
        "title": facts.title or words.say("Decoded reports"),
        "headings": headings(words, "decoding"),
        "verdict": _verdict(words, facts, len(found)),
        "correction": words.say(
            CORRECTIONS[facts.correction], alpha=words.numbers.plain(facts.alpha)
        ),
        "checks": _checks(words, facts),
        "suspicions": [
            words.say(SUSPICIONS[fact.name], found=words.numbers.count(fact.found))
            for fact in facts.suspicions
        ],
        "pictures": _pictures(words, facts, found),
        "found": _estimates(
            words, found, ident="found", caption=words.say("Candidates that were found")
        ),
        "others": _estimates(
            words, others, ident="others", caption=words.say("Candidates that were not found")
        ),
        "masses": _masses(words, facts),
        "collisions": [words.listed(names) for names in facts.collisions],
        "privacy": _privacy(words, facts),
        "is_screened": facts.fitted_together < len(facts.candidates),
        "limit": None if facts.limit is None else _reports(words, facts, facts.limit),
        "confidence": words.numbers.plain(100 * facts.confidence),
        "parameters": _parameters(words, facts),
    }


def _by_size(facts: Any) -> list[CandidateFact]:
    return sorted(facts, key=lambda fact: -(fact.amount.estimate if fact.amount else -1e30))


def _verdict(words: Words, facts: DecodingFacts, found: int) -> str:
    start = words.say_many("Of %(n)s candidate", "Of %(n)s candidates", len(facts.candidates))
    return words.say_many(
        "%(start)s, %(n)s was found in %(reports)s reports.",
        "%(start)s, %(n)s were found in %(reports)s reports.",
        found,
        start=start,
        reports=words.numbers.count(facts.reports),
    )


def _checks(words: Words, facts: DecodingFacts) -> Table:
    lines: list[tuple[Entry, ...]] = [
        (
            words.say("The counts are possible with these parameters"),
            outcome_cell(words, "failed" if facts.suspicions else "passed"),
            words.say_many("%(n)s remark", "%(n)s remarks", len(facts.suspicions)),
        ),
        (
            words.say("All reports are accounted for"),
            outcome_cell(words, _outcome(facts.mass_misfit)),
            "–"
            if facts.mass is None
            else words.say(
                "%(mass)s of 1, chance %(chance)s",
                mass=words.numbers.probability(facts.mass.estimate / facts.reports),
                chance=_chance(words, facts.mass_misfit),
            ),
        ),
        (
            words.say("No frequent string is missing from the candidates"),
            outcome_cell(words, _outcome(facts.misfit)),
            "–"
            if facts.dispersion is None
            else words.say(
                "dispersion %(dispersion)s, chance %(chance)s",
                dispersion=words.numbers.amount(facts.dispersion),
                chance=_chance(words, facts.misfit),
            ),
        ),
    ]
    return Table(
        id="fit",
        caption=words.say("Checks of the counts and of the fit"),
        columns=texts(words.say("Rule"), words.say("Outcome"), words.say("Result")),
        rows=tuple(lines),
        notes=(
            words.say(
                "A check of the fit fails when its chance is below %(limit)s. The dispersion "
                "is the squared distance of counts from the fit, 1 when nothing is missing; "
                "above 1 it widens all intervals.",
                limit=words.numbers.plain(_MISFIT),
            ),
        ),
    )


def _outcome(chance: float | None) -> Outcome:
    if chance is None:
        return "not computed"
    return "failed" if chance < _MISFIT else "passed"


def _chance(words: Words, chance: float | None) -> str:
    return "–" if chance is None else words.numbers.probability(chance)


def _pictures(
    words: Words, facts: DecodingFacts, found: Sequence[CandidateFact]
) -> list[Figure]:
    is_ordered = facts.is_ordered and len(facts.candidates) <= _MAX_BARS
    shown = list(facts.candidates) if is_ordered else list(found[:_MAX_LINES])
    lines = [
        Interval(
            name=fact.name or words.say("(empty)"),
            estimate=fact.amount.estimate,
            low=fact.amount.low,
            high=fact.amount.high,
            is_found=fact.is_detected,
        )
        for fact in shown
        if fact.amount is not None
    ]
    if not lines:
        return []
    title = words.say("Estimated reports, with intervals")
    data = Intervals(
        id="distribution",
        title=title,
        description=words.say_many(
            "%(n)s estimate and its interval of %(confidence)s %%; the largest is "
            "“%(name)s” with %(amount)s reports.",
            "%(n)s estimates and their intervals of %(confidence)s %%; the largest is "
            "“%(name)s” with %(amount)s reports.",
            len(lines),
            confidence=words.numbers.plain(100 * facts.confidence),
            name=(largest := max(lines, key=lambda line: line.estimate)).name,
            amount=words.numbers.count(largest.estimate),
        ),
        amount=words.say("reports"),
        names=words.say("value"),
        found=words.say("found"),
        other=words.say("not found"),
    )
    draw = interval_bars if is_ordered else interval_lines
    notes = [words.say("A bar or a dot is the estimate; the line through it is the interval.")]
    if not is_ordered and len(found) > _MAX_LINES:
        notes.append(
            words.say(
                "The largest %(n)s of %(all)s candidates found.",
                n=words.numbers.count(_MAX_LINES),
                all=words.numbers.count(len(found)),
            )
        )
    return [
        Figure(
            id="picture",
            title=title,
            svg=draw(words, data, lines),
            data=_estimates(words, shown, ident="drawn", caption=title),
            notes=tuple(notes),
        )
    ]


def _estimates(
    words: Words, facts: Sequence[CandidateFact], *, ident: str, caption: str
) -> Table:
    return (
        _amounts(
            Lines(words, facts).text(
                "Candidate", lambda fact: fact.name or words.say("(empty)")
            ),
            lambda fact: fact.amount,
        )
        .number("Adjusted p-value", lambda fact: fact.adjusted, "probability")
        .table(ident, caption)
    )


def _amounts(
    lines: Lines[_Item], amount_of: Callable[[_Item], EstimateFact | None]
) -> Lines[_Item]:
    """Add an estimate, its deviation and its interval."""

    def part(item: _Item, name: str) -> float | None:
        amount = amount_of(item)
        return None if amount is None else getattr(amount, name)

    say = lines.words.say
    headings = {
        "estimate": say("Reports"),
        "sd": say("Standard deviation"),
        "low": say("Interval from"),
        "high": say("to"),
    }
    return lines.numbers(headings, part, "count")


def _masses(words: Words, facts: DecodingFacts) -> Table:
    lines = []
    if facts.unknown is not None:
        lines.append((words.say("Strings that are not among the candidates"), facts.unknown))
    elif facts.rest is not None:
        says = words.say("Strings that are not among the candidates, and candidates too weak")
        lines.append((says, facts.rest))
    if facts.mass is not None:
        lines.append((words.say("Everything together"), facts.mass))
    return (
        _amounts(Lines(words, lines).text("What", lambda line: line[0]), lambda line: line[1])
        .number("Share of all reports", lambda line: line[1].estimate / facts.reports, "amount")
        .table(
            "masses",
            words.say("Reports without a name"),
            notes=(
                words.say("An estimate may be below 0 or above all reports: noise does that."),
            ),
        )
    )


def _reports(words: Words, facts: DecodingFacts, amount: float) -> str:
    return words.say(
        "%(amount)s reports, %(share)s %% of all",
        amount=words.numbers.count(amount),
        share=words.numbers.plain(round(100 * amount / facts.reports, 2)),
    )


def _privacy(words: Words, facts: DecodingFacts) -> list[str]:
    def factor(epsilon: float) -> str:
        return words.numbers.amount(math.exp(min(epsilon, 700.0)))

    says = []
    if facts.epsilon_one is not None:
        says.append(
            # claim rappor-loss
            words.say(
                "One report: ε = %(epsilon)s. It changes the odds between two values of a "
                "person by a factor of at most %(factor)s.",
                epsilon=words.numbers.amount(facts.epsilon_one),
                factor=factor(facts.epsilon_one),
            )
        )
    else:
        says.append(words.say("One report may tell the value for certain: nothing bounds ε."))
    if facts.epsilon_permanent is not None:
        says.append(
            words.say(
                "All reports that a person ever sends of one and the same value: ε = "
                "%(epsilon)s, a factor of at most %(factor)s.",
                epsilon=words.numbers.amount(facts.epsilon_permanent),
                factor=factor(facts.epsilon_permanent),
            )
        )
    else:
        says.append(
            words.say(
                "There is no permanent response: several reports of a person add up without a "
                "bound, so that each person may report once."
            )
        )
    says.append(words.say("Values that differ, or change, add up."))
    return says


def _parameters(words: Words, facts: DecodingFacts) -> Table:
    return (
        Lines(words, facts.parameters.items())
        .text("Name", lambda line: Cell(text=line[0], is_code=True))
        .text("Meaning", lambda line: words.say(PARAMETERS[line[0]]))
        .text("Value", lambda line: written(words, line[1], "plain"))
        .table("parameters", words.say("Parameters of the reports"))
    )
