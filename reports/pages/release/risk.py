"""What a reader may learn: posteriors, the worst tables, attacks by name."""

from collections.abc import Sequence
from typing import Any

from reports.catalogues.release import (
    ATTACK_SETTINGS,
    ATTACKS,
    OWN_PRIORS,
    PICTURES,
    PRIORS,
)
from reports.charts.bars import Bar, Bars, rows
from reports.facts.release import AttackFact, PosteriorFact, RiskFacts, WorstFact
from reports.i18n.languages import Words
from reports.pages.release.decision import sure_entry
from reports.parts import Cell, Entry, Figure, Lines, Table

_MAX_LINES = 40


def risk_parts(words: Words, risk: RiskFacts) -> dict[str, Any]:
    """Arrange what a reader may learn."""
    return {
        "sensitive": words.numbers.ranges(risk.sensitive),
        "prior": words.say(PRIORS[risk.prior]),
        "posteriors": posterior_table(
            words,
            risk.posteriors,
            ident="posteriors",
            caption=words.say("Inference on the original count from a small published count"),
        ),
        "pictures": posterior_picture(words, risk.posteriors),
        "worst": _worst(words, risk),
        "attacks": _attacks(words, risk),
    }


def posterior_table(
    words: Words, posteriors: Sequence[PosteriorFact], *, ident: str, caption: str
) -> Table:
    """Arrange posteriors, one published count a line."""
    return (
        Lines(words, posteriors)
        .number("Published", lambda fact: fact.published, "count")
        .number("Expected share of cells", lambda fact: fact.share, "probability")
        .number("P(X is sensitive | X′)", lambda fact: fact.sensitive, "probability")
        .text("Likely original counts X, with P(X | X′)", lambda fact: _originals(words, fact))
        .table(ident, caption)
    )


def _originals(words: Words, fact: PosteriorFact) -> str:
    return words.listed(
        words.say(
            "%(name)s: %(value)s",
            name=words.numbers.count(original),
            value=words.numbers.probability(share),
        )
        for original, share in fact.originals.items()
    )


def posterior_picture(words: Words, posteriors: Sequence[PosteriorFact]) -> list[Figure]:
    """Draw how likely a sensitive original lies behind each published count."""
    selection = posteriors[:_MAX_LINES]
    if not selection:
        return []
    worst = max(selection, key=lambda fact: fact.sensitive)
    texts = PICTURES["posteriors"].say(
        words, "posterior-bars", published=worst.published, probability=worst.sensitive
    )
    bars = Bars(**texts)
    number = words.numbers
    lines = [
        Bar(name=number.count(f.published), number=f.sensitive, text=number.share(f.sensitive))
        for f in selection
    ]
    return [
        Lines(words, selection)
        .number("Published", lambda fact: fact.published, "count")
        .number("P(X is sensitive | X′)", lambda fact: fact.sensitive, "probability")
        .figure(
            bars,
            rows(words, bars, lines, are_shares=True),
            caption=words.say("Probability that the original count is sensitive"),
        )
    ]


def _worst(words: Words, risk: RiskFacts) -> Table:
    return (
        Lines(words, risk.worst)
        .text("Table", lambda fact: _judged(words, fact))
        .number("Published X′", lambda fact: fact.published, "count")
        .number("Original X", lambda fact: fact.original, "count")
        .number("P(X | X′)", lambda fact: fact.probability, "probability")
        .number("Published X′, for the set", lambda fact: fact.set_published, "count")
        .number("P(X is sensitive | X′)", lambda fact: fact.set_probability, "probability")
        .number("Small counts known as small", lambda fact: sure_entry(words, fact))
        .table(
            "worst",
            words.say("Tables with the highest disclosure risk from one published count"),
        )
    )


def _attacks(words: Words, risk: RiskFacts) -> Table:
    no_formula, not_counted = words.say("no formula"), words.say("not counted")
    lines = (
        Lines(words, risk.attacks)
        .text("Attack", lambda fact: words.say(ATTACKS[fact.name].name))
        .text("Scenario", lambda fact: _assumed(words, fact))
        .number(
            "Success by formula",
            lambda fact: no_formula if fact.closed_form is None else fact.closed_form,
            "probability",
        )
        .number("Success as tried", lambda fact: _tried(words, fact))
        .number(
            "Requests per target",
            lambda fact: not_counted if fact.queries is None else fact.queries,
            "count",
        )
    )
    if any(fact.allowed is not None for fact in risk.attacks):
        lines = lines.number("Allowed", lambda fact: _allowed(words, fact))
    return lines.table("attack-table", words.say("Attacks: assumptions and success rates"))


def _judged(words: Words, fact: WorstFact) -> Cell:
    """Name a table, and the prior where it is not that of its own cells."""
    name = fact.table or words.say("all tables")
    is_own = fact.prior == "table-counts"
    prior = "" if is_own else words.say("prior: %(of)s", of=words.say(OWN_PRIORS[fact.prior]))
    return Cell(text=name, small=prior)


def _assumed(words: Words, fact: AttackFact) -> str:
    says = ATTACKS[fact.name]
    sentence = f"{words.say(says.assumption)} {words.say(says.target)}"
    settings = words.listed(
        words.say(
            "%(name)s: %(value)s",
            name=words.say(ATTACK_SETTINGS.get(name, name)),
            value=words.numbers.plain(value),
        )
        for name, value in fact.settings.items()
    )
    return f"{sentence} ({settings})" if settings else sentence


def _allowed(words: Words, fact: AttackFact) -> Entry:
    """Write the limit, and what lies above it."""
    if fact.allowed is None:
        return words.say("no limit")
    above = []
    if fact.closed_form is not None and fact.closed_form > fact.allowed:
        above.append(words.say("exceeded by formula"))
    if fact.trials and (fact.successes or 0) > fact.allowed * fact.trials:
        above.append(words.say("exceeded as tried"))
    return Cell(text=words.numbers.probability(fact.allowed), small=words.listed(above))


def _tried(words: Words, fact: AttackFact) -> Entry:
    if fact.successes is None or not fact.trials:
        return words.say("not tried")
    number = words.numbers
    small = words.say(
        "%(successes)s of %(trials)s",
        successes=number.count(fact.successes),
        trials=number.count(fact.trials),
    )
    return Cell(text=number.probability(fact.successes / fact.trials), small=small)
