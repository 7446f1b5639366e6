"""What a reader may learn: posteriors, the worst tables, attacks by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.release import ATTACK_SETTINGS, ATTACKS, OWN_PRIORS, PRIORS, REFERENCES
from reports.charts.bars import Bars, lines_of_shares
from reports.parts import Cell, Figure, Table, numbers, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.facts.release import AttackFact, PosteriorFact, RiskFacts
    from reports.i18n.languages import Words
    from reports.parts import Entry

__all__ = ["posterior_picture", "posterior_table", "risk_parts"]

_MAX_LINES = 40


def risk_parts(words: Words, risk: RiskFacts) -> dict[str, Any]:
    """Arrange what a reader may learn.

    Parameters
    ----------
    words
        The language.
    risk
        The facts.

    Examples
    --------
    >>> from reports.facts.release import RiskFacts
    >>> from reports.i18n.languages import words_of
    >>> risk = RiskFacts(
    ...     sensitive=(1, 2), prior="table-counts", posteriors=(), worst=(), attacks=()
    ... )
    >>> risk_parts(words_of("en"), risk)["sensitive"]
    '1–2'
    """
    return {
        "sensitive": words.numbers.ranges(risk.sensitive),
        "prior": words.say(PRIORS[risk.prior]),
        "posteriors": posterior_table(
            words,
            risk.posteriors,
            ident="posteriors",
            caption=words.say("What a small published count tells of the original one"),
        ),
        "pictures": posterior_picture(words, risk.posteriors),
        "worst": _worst(words, risk),
        "attacks": _attacks(words, risk),
    }


def posterior_table(
    words: Words, posteriors: Sequence[PosteriorFact], *, ident: str, caption: str
) -> Table:
    """Arrange posteriors, one published count a line.

    Parameters
    ----------
    words
        The language.
    posteriors
        The facts.
    ident, caption
        Of the table.

    Examples
    --------
    >>> from reports.facts.release import PosteriorFact
    >>> from reports.i18n.languages import words_of
    >>> fact = PosteriorFact(published=3, share=0.1, originals={2: 0.4, 3: 0.6}, sensitive=0.4)
    >>> posterior_table(words_of("en"), [fact], ident="a", caption="b").rows[0][2]
    '0.400'
    """
    probability = words.numbers.probability
    return Table(
        id=ident,
        caption=caption,
        columns=(
            *numbers(
                words.say("Published"),
                words.say("Expected share of cells"),
                words.say("P(X is sensitive | X′)"),
            ),
            *texts(words.say("Likely original counts X, with P(X | X′)")),
        ),
        rows=tuple(
            (
                words.numbers.count(fact.published),
                probability(fact.share),
                probability(fact.sensitive),
                _originals(words, fact),
            )
            for fact in posteriors
        ),
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
    """Draw how likely a sensitive original lies behind each published count.

    Parameters
    ----------
    words
        The language.
    posteriors
        The facts; none give no picture.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> posterior_picture(words_of("en"), ())
    []
    """
    shown = posteriors[:_MAX_LINES]
    if not shown:
        return []
    number = words.numbers
    worst = max(shown, key=lambda fact: fact.sensitive)
    title = words.say("How likely a sensitive count lies behind a published one")
    bars = Bars(
        id="posterior-bars",
        title=title,
        description=words.say(
            "A bar per published count. The longest is that of %(published)s: probability "
            "%(probability)s.",
            published=number.count(worst.published),
            probability=number.probability(worst.sensitive),
        ),
        across=words.say("P(X is sensitive | X′)"),
        upwards=words.say("published count X′"),
    )
    lines = [(number.count(f.published), f.sensitive, "") for f in shown]
    data = Table(
        id="posterior-bars-data",
        caption=words.say("Probability that the original count is sensitive"),
        columns=numbers(words.say("Published"), words.say("P(X is sensitive | X′)")),
        rows=tuple((name, number.probability(share)) for name, share, _ in lines),
    )
    svg = lines_of_shares(words, bars, lines)
    return [Figure(id="posterior-bars", title=title, svg=svg, data=data)]


def _worst(words: Words, risk: RiskFacts) -> Table:
    count, probability = words.numbers.count, words.numbers.probability
    return Table(
        id="worst",
        caption=words.say("Worst tables: the most that one of their published counts tells"),
        columns=(
            *texts(words.say("Table")),
            *numbers(
                words.say("Published X′"),
                words.say("Original X"),
                words.say("P(X | X′)"),
                words.say("Published X′, for the set"),
                words.say("P(X is sensitive | X′)"),
            ),
            *texts(words.say("Prior: the counts of")),
        ),
        rows=tuple(
            (
                fact.table or words.say("all tables"),
                count(fact.published),
                count(fact.original),
                probability(fact.probability),
                count(fact.set_published),
                probability(fact.set_probability),
                words.say(OWN_PRIORS[fact.prior]),
            )
            for fact in risk.worst
        ),
    )


def _attacks(words: Words, risk: RiskFacts) -> Table:
    return Table(
        id="attack-table",
        caption=words.say("Attacks: what they assume, how often they succeed, what is allowed"),
        columns=(
            *texts(words.say("Attack"), words.say("Assumption"), words.say("Target")),
            *numbers(
                words.say("Success by formula"),
                words.say("Success as tried"),
                words.say("Requests per target"),
                words.say("Allowed"),
            ),
        ),
        rows=tuple(_attack_row(words, fact) for fact in risk.attacks),
    )


def _attack_row(words: Words, fact: AttackFact) -> tuple[Entry, ...]:
    says, number = ATTACKS[fact.name], words.numbers
    papers = words.listed(REFERENCES[name].short for name in says.references)
    settings = words.listed(
        words.say(
            "%(name)s: %(value)s",
            name=words.say(ATTACK_SETTINGS.get(name, name)),
            value=number.plain(value),
        )
        for name, value in fact.settings.items()
    )
    formula, allowed = fact.closed_form, fact.allowed
    return (
        Cell(text=words.say(says.name), small=papers),
        Cell(text=words.say(says.assumption), small=settings),
        words.say(says.target),
        words.say("no formula") if formula is None else number.probability(formula),
        _tried(words, fact),
        words.say("not counted") if fact.queries is None else number.count(fact.queries),
        words.say("no limit") if allowed is None else _allowed(words, fact, allowed),
    )


def _allowed(words: Words, fact: AttackFact, allowed: float) -> Entry:
    """Write the limit, and what lies above it."""
    above = []
    if fact.closed_form is not None and fact.closed_form > allowed:
        above.append(words.say("exceeded by formula"))
    if fact.successes is not None and fact.trials and fact.successes > allowed * fact.trials:
        above.append(words.say("exceeded as tried"))
    return Cell(text=words.numbers.probability(allowed), small=words.listed(above))


def _tried(words: Words, fact: AttackFact) -> Entry:
    if fact.successes is None or not fact.trials:
        return words.say("not tried")
    number = words.numbers
    small = words.say(
        "%(successes)s of %(trials)s",
        successes=number.count(fact.successes),
        trials=number.count(fact.trials),
    )
    if fact.low is not None and fact.high is not None:
        low, high = number.probability(fact.low), number.probability(fact.high)
        interval = words.say("interval %(low)s to %(high)s", low=low, high=high)
        small = words.listed([small, interval])
    return Cell(text=number.probability(fact.successes / fact.trials), small=small)
