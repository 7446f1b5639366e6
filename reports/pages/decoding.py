"""Decoded reports: what was found, how sure it is, what it tells of a person."""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from reports.catalogues.pages import CORRECTIONS, DECODED, PARAMETERS, SUSPICIONS, headings
from reports.catalogues.wording import written
from reports.charts.bars import Bar, Bars, columns, rows
from reports.facts.decoding import CandidateFact, DecodingFacts, EstimateFact
from reports.facts.release import Outcome
from reports.i18n.languages import Words
from reports.pages.common import outcome_cell
from reports.parts import NOTHING, Cell, Figure, Lines, Table

_Item = TypeVar("_Item")
#: Names in a picture, from the largest estimate on.
_MAX_LINES = 40
#: Values in a picture of bars.
_MAX_BARS = 150
#: A test of fit below this chance says that something is missing.
_MISFIT = 0.001


def decoding_page(words: Words, facts: DecodingFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what is known of decoded reports."""
    detections = _by_size(fact for fact in facts.candidates if fact.is_detected)
    others = _by_size(fact for fact in facts.candidates if not fact.is_detected)
    return "decoding.html", {
        "title": facts.title or words.say("Decoded reports"),
        "headings": headings(words, "decoding"),
        "verdict": _verdict(words, facts, len(detections)),
        "correction": words.say(
            CORRECTIONS[facts.correction], alpha=words.numbers.plain(facts.alpha)
        ),
        "checks": _checks(words, facts),
        "suspicions": [
            words.say(SUSPICIONS[fact.name], found=words.numbers.count(fact.found))
            for fact in facts.suspicions
        ],
        "pictures": _pictures(words, facts, detections),
        "found": _estimates(
            words, detections, ident="found", caption=words.say("Candidates that were found")
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


def _verdict(words: Words, facts: DecodingFacts, number: int) -> str:
    start = words.say_many("Of %(n)s candidate", "Of %(n)s candidates", len(facts.candidates))
    return words.say_many(
        "%(start)s, %(n)s was found in %(reports)s reports.",
        "%(start)s, %(n)s were found in %(reports)s reports.",
        number,
        start=start,
        reports=words.numbers.count(facts.reports),
    )


def _checks(words: Words, facts: DecodingFacts) -> Table:
    mass = dispersion = NOTHING
    if facts.mass is not None:
        share = facts.mass.estimate / facts.reports
        chance = _chance(words, facts.mass_misfit)
        mass = DECODED["mass-found"].say(words, {"mass": share, "chance": chance})
    if facts.dispersion is not None:
        chance = _chance(words, facts.misfit)
        dispersion = DECODED["missing-found"].say(
            words, {"dispersion": facts.dispersion, "chance": chance}
        )
    n_remarks = len(facts.suspicions)
    remarks = words.say_many("%(n)s remark", "%(n)s remarks", n_remarks)
    lines: tuple[tuple[str, Outcome, str], ...] = (
        ("counts", "failed" if facts.suspicions else "passed", remarks),
        ("mass", _outcome(facts.mass_misfit), mass),
        ("missing", _outcome(facts.misfit), dispersion),
    )
    return (
        Lines(words, lines)
        .text("Rule", lambda line: DECODED[line[0]].say(words))
        .text("Outcome", lambda line: outcome_cell(words, line[1]))
        .text("Result", lambda line: line[2])
        .table(
            "fit",
            words.say("Checks of the counts and of the fit"),
            notes=(DECODED["fit"].say(words, {"limit": _MISFIT}),),
        )
    )


def _outcome(chance: float | None) -> Outcome:
    if chance is None:
        return "not computed"
    return "failed" if chance < _MISFIT else "passed"


def _chance(words: Words, chance: float | None) -> str:
    return NOTHING if chance is None else words.numbers.probability(chance)


def _pictures(
    words: Words, facts: DecodingFacts, detections: Sequence[CandidateFact]
) -> list[Figure]:
    is_ordered = facts.is_ordered and len(facts.candidates) <= _MAX_BARS
    selection = list(facts.candidates) if is_ordered else list(detections[:_MAX_LINES])
    lines = [
        Bar(
            name=fact.name or words.say("(empty)"),
            number=fact.amount.estimate,
            low=fact.amount.low,
            high=fact.amount.high,
            is_filled=fact.is_detected,
        )
        for fact in selection
        if fact.amount is not None
    ]
    if not lines:
        return []
    title = words.say("Estimated reports, with intervals")
    largest = max(lines, key=lambda line: line.number)
    amount = words.numbers.count(largest.number)
    data = Bars(
        id="distribution",
        title=title,
        description=words.say_many(
            "%(n)s estimate and its interval of %(confidence)s %%; the largest is "
            "“%(name)s” with %(amount)s reports.",
            "%(n)s estimates and their intervals of %(confidence)s %%; the largest is "
            "“%(name)s” with %(amount)s reports.",
            len(lines),
            confidence=words.numbers.plain(100 * facts.confidence),
            name=largest.name,
            amount=amount,
        ),
        across=words.say("value") if is_ordered else words.say("reports"),
        upwards=words.say("reports") if is_ordered else "",
        filled=words.say("found"),
        outlined=words.say("not found"),
    )
    if is_ordered:
        svg = columns(words, data, [(line.name, [line]) for line in lines])
    else:
        svg = rows(words, data, lines, width=720, are_dots=True)
    notes = [DECODED["bars"].say(words)]
    if not is_ordered and len(detections) > _MAX_LINES:
        notes.append(DECODED["largest"].say(words, {"n": _MAX_LINES, "all": len(detections)}))
    return [
        Figure(
            id="picture",
            title=title,
            svg=svg,
            data=_estimates(words, selection, ident="drawn", caption=title),
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
        lines.append(("unknown", facts.unknown))
    elif facts.rest is not None:
        lines.append(("rest", facts.rest))
    if facts.mass is not None:
        lines.append(("everything", facts.mass))
    return (
        _amounts(
            Lines(words, lines).text("Quantity", lambda line: DECODED[line[0]].say(words)),
            lambda line: line[1],
        )
        .number("Share of all reports", lambda line: line[1].estimate / facts.reports, "amount")
        .table(
            "masses",
            words.say("Reports without a name"),
            notes=(DECODED["noise"].say(words),),
        )
    )


def _reports(words: Words, facts: DecodingFacts, amount: float) -> str:
    share = round(100 * amount / facts.reports, 2)
    return DECODED["reports"].say(words, {"amount": amount, "share": share})


def _privacy(words: Words, facts: DecodingFacts) -> list[str]:
    def bounded(name: str, epsilon: float | None, *, otherwise: str) -> str:
        if epsilon is None:
            return DECODED[otherwise].say(words)
        values = {"epsilon": epsilon, "factor": math.exp(min(epsilon, 700.0))}
        return DECODED[name].say(words, values)

    return [
        bounded("one", facts.epsilon_one, otherwise="one-unbounded"),
        bounded("permanent", facts.epsilon_permanent, otherwise="no-permanent"),
        DECODED["changes"].say(words),
    ]


def _parameters(words: Words, facts: DecodingFacts) -> Table:
    return (
        Lines(words, facts.parameters.items())
        .text("Name", lambda line: Cell(text=line[0], is_code=True))
        .text("Meaning", lambda line: words.say(PARAMETERS[line[0]]))
        .text("Value", lambda line: written(words, line[1], "plain"))
        .table("parameters", words.say("Parameters of the reports"))
    )
