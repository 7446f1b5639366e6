"""Attacks on trained models, each beside what the promise of the model allows."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from reports.catalogues.pages import headings
from reports.catalogues.training import ATTACKS, AUDITS, INVERSIONS, PICTURES
from reports.charts.curves import Curve, Curves, Spot, panels
from reports.facts.training import AuditFacts, MembershipFact, ModelFact, RateFact
from reports.i18n.languages import Words
from reports.pages.training.private import delta, meanings, scheme, unit_of
from reports.parts import NOTHING, Cell, Entry, Lines, Row, Table, with_interval
from reports.report import Download, as_csv, download, facts_file

#: Rates below are drawn here: fewer records cannot tell them from none.
_LEAST_RATE = 1e-3
_RATE = ("false_positive_rate", "true_positive_rate", "low", "high", "ceiling")


def audits_page(words: Words, facts: AuditFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what attacks reached."""
    return "audits.html", {
        "title": facts.title or words.say("Attacks on trained models"),
        "headings": headings(words, "audits", without=_missing(facts)),
        "verdict": _verdict(words, facts),
        "is_broken": any(_is_broken(model) for model in facts.models),
        "models": _models(words, facts),
        "pictures": _roc(words, facts),
        "attacks": _attacks(words, facts),
        "bounds": _bounds(words, facts),
        "inversions": _inversions(words, facts),
        "attack_meanings": meanings(
            words, ATTACKS, {a.name for model in facts.models for a in model.attacks}
        ),
        "inversion_meanings": meanings(
            words, INVERSIONS, {i.name for model in facts.models for i in model.inversions}
        ),
        "downloads": _downloads(facts),
    }


def _missing(facts: AuditFacts) -> list[str]:
    """Name the parts of the page that no model has anything for."""
    parts = {"membership": "attacks", "bounds": "one_run", "inversions": "inversions"}
    return [
        part
        for part, field in parts.items()
        if not any(getattr(model, field) for model in facts.models)
    ]


def _is_broken(model: ModelFact) -> bool:
    return (
        model.is_refuted
        or any(attack.is_above for attack in model.attacks)
        or any(one.is_above for one in model.inversions)
    )


def _verdict(words: Words, facts: AuditFacts) -> str:
    broken = [model.name for model in facts.models if _is_broken(model)]
    if broken:
        return AUDITS["broken"].say(words, {"models": words.listed(broken)})
    promises = any(model.epsilon is not None for model in facts.models)
    return AUDITS["kept" if promises else "nothing"].say(words)


def _promise(words: Words, model: ModelFact) -> str:
    if model.epsilon is None or model.delta is None:
        return words.say("no guarantee")
    return words.say(
        "ε = %(epsilon)s, δ = %(delta)s",
        epsilon=words.numbers.amount(model.epsilon),
        delta=delta(words, model.delta),
    )


def _models(words: Words, facts: AuditFacts) -> Table:
    return (
        Lines(words, facts.models)
        .text("Model", lambda model: model.name)
        .text("Guarantee", lambda model: _promise(words, model))
        .text("Holds for", lambda model: _holds_for(words, model))
        .number("Shadow models", lambda model: model.shadows or None, "count")
        .text("Outcome", lambda model: _kept(words, model))
        .table("models", words.say("The models and their guarantees"))
    )


def _holds_for(words: Words, model: ModelFact) -> str:
    if not model.adjacency:
        return NOTHING
    return words.say(
        "%(scheme)s, per %(unit)s",
        scheme=scheme(words, model.sampling, model.adjacency),
        unit=unit_of(words, model.unit),
    )


def _kept(words: Words, model: ModelFact) -> Entry:
    entry = _outcome(words, is_bounded=model.epsilon is not None, is_above=_is_broken(model))
    if model.epsilon is None or isinstance(entry, Cell):
        return entry
    return Cell(text=entry, outcome="passed")


def _outcome(words: Words, *, is_bounded: bool, is_above: bool) -> Entry:
    if not is_bounded:
        return words.say("no guarantee")
    if is_above:
        return Cell(text=words.say("above the bound"), outcome="failed")
    return words.say("within the bound")


def _name(words: Words, attack: MembershipFact) -> str:
    return words.say(ATTACKS[attack.name].name) if attack.name in ATTACKS else attack.name


def _roc(words: Words, facts: AuditFacts) -> Row | None:
    """Draw what the attacks on each model found, the models beside each other."""
    models = [
        (m, curves) for m in facts.models if (curves := [a for a in m.attacks if a.curve])
    ]
    if not models:
        return None
    guess = ((_LEAST_RATE, _LEAST_RATE), (1.0, 1.0))
    several = []
    for number, (model, curves) in enumerate(models):
        lines = [_curve(_name(words, attack), attack.curve) for attack in curves]
        if model.ceiling:
            most = [(x, y) for x, y in model.ceiling if x >= _LEAST_RATE * (1 - 1e-9)]
            label = words.say("the maximum under the guarantee")
            lines.append(_curve(label, most, is_limit=True))
        lines.append(_curve(words.say("guessing"), guess, is_limit=True))
        best = max(curves, key=lambda attack: attack.auc)
        data = Curves(
            **PICTURES["roc"].say(
                words,
                f"roc-{number}",
                model=model.name,
                area=best.auc,
                attack=_name(words, best),
            ),
            is_log_across=True,
            is_log_upwards=True,
            least=_LEAST_RATE,
        )
        several.append((data, lines))
    title = words.say("True positive rate by false positive rate, both on logarithmic scales")
    places = [(m, a, x, y) for m, curves in models for a in curves for x, y in a.curve]
    return Row(
        id="roc",
        title=title,
        panels=panels(words, "roc", several),
        data=Lines(words, places)
        .text("Model", lambda line: line[0].name)
        .text("Attack", lambda line: _name(words, line[1]))
        .number("false positive rate", lambda line: line[2], "ratio")
        .number("true positive rate", lambda line: line[3], "ratio")
        .table("roc-data", title, n_heads=2),
    )


def _curve(
    name: str, places: Iterable[tuple[float, float]], *, is_limit: bool = False
) -> Curve:
    spots = tuple(Spot(x=x, y=y) for x, y in places)
    return Curve(name=name, spots=spots, is_marked=False, is_limit=is_limit)


def _attacks(words: Words, facts: AuditFacts) -> Table:
    places = dict.fromkeys(
        rate.false_positive_rate
        for model in facts.models
        for attack in model.attacks
        for rate in attack.rates
    )

    def found_at(line: tuple[ModelFact, MembershipFact], place: float) -> Entry:
        rates = [rate for rate in line[1].rates if rate.false_positive_rate == place]
        return _rate(words, rates[-1]) if rates else NOTHING

    say, share = words.say, words.numbers.share
    return (
        Lines(words, [(model, attack) for model in facts.models for attack in model.attacks])
        .text("Attack", lambda line: _name(words, line[1]))
        .text("Model", lambda line: line[0].name)
        .number("area under the curve", lambda line: line[1].auc, "probability")
        .number("advantage", lambda line: _advantage(words, line[1]))
        .numbers(
            {
                place: say("true positive rate at %(rate)s", rate=share(place))
                for place in places
            },
            found_at,
        )
        .text("Outcome", lambda line: _attack_outcome(words, line[1]))
        .table(
            "attacks",
            words.say("Result of each attack, and the maximum under the guarantee"),
            n_heads=2,
        )
    )


def _attack_outcome(words: Words, attack: MembershipFact) -> Entry:
    is_bounded = attack.is_above or attack.advantage_ceiling is not None
    return _outcome(words, is_bounded=is_bounded, is_above=attack.is_above)


def _advantage(words: Words, attack: MembershipFact) -> Entry:
    text = words.numbers.probability(attack.advantage)
    if attack.advantage_ceiling is None:
        return text
    most = words.numbers.probability(attack.advantage_ceiling)
    return Cell(text=text, small=words.say("at most %(most)s", most=most))


def _rate(words: Words, rate: RateFact) -> Entry:
    write, value = words.numbers.ratio, rate.true_positive_rate
    if rate.ceiling is None:
        return with_interval(words, write, value, rate.low, rate.high)
    text = words.say(
        "%(low)s to %(high)s; at most %(most)s",
        low=write(rate.low),
        high=write(rate.high),
        most=write(rate.ceiling),
    )
    return Cell(text=write(value), small=text)


def _bounds(words: Words, facts: AuditFacts) -> Table:
    return (
        Lines(words, [(model, model.one_run) for model in facts.models if model.one_run])
        .text("Model", lambda line: line[0].name)
        .number("lower bound of ε", lambda line: line[1].epsilon, "amount")
        .number("ε guaranteed", lambda line: line[0].epsilon, "amount")
        .number("canaries", lambda line: line[1].canaries, "count")
        .number("guesses", lambda line: line[1].guesses, "count")
        .number("right guesses", lambda line: line[1].right, "count")
        .number("probability that the bound is wrong", lambda line: line[1].error, "share")
        .text("Outcome", lambda line: _refuted(words, line[0]))
        .table("lower-bounds", words.say("Lower bounds of ε from one run with canaries"))
    )


def _refuted(words: Words, model: ModelFact) -> Entry:
    if model.epsilon is None:
        return words.say("no guarantee")
    if model.is_refuted:
        return Cell(text=words.say("guarantee refuted"), outcome="failed")
    return words.say("not refuted")


def _inversions(words: Words, facts: AuditFacts) -> Table:
    def share(value: float, low: float, high: float) -> Entry:
        return with_interval(words, words.numbers.probability, value, low, high)

    return (
        Lines(words, [(model, one) for model in facts.models for one in model.inversions])
        .text("Quantity", lambda line: words.say(INVERSIONS[line[1].name].name))
        .text("Model", lambda line: line[0].name)
        .number(
            "of records used",
            lambda line: share(line[1].members, line[1].members_low, line[1].members_high),
        )
        .number(
            "of others",
            lambda line: share(line[1].others, line[1].others_low, line[1].others_high),
        )
        .number("without a model", lambda line: line[1].baseline, "probability")
        .number("at most allowed", lambda line: line[1].ceiling, "probability")
        .text(
            "Outcome",
            lambda line: _outcome(
                words, is_bounded=line[1].ceiling is not None, is_above=line[1].is_above
            ),
        )
        .table(
            "inversions-table",
            words.say("Share inferred or reconstructed, of records used and of others"),
            n_heads=2,
        )
    )


def _downloads(facts: AuditFacts) -> list[Download]:
    rates = [
        (model.name, attack.name, *attrgetter(*_RATE)(rate))
        for model in facts.models
        for attack in model.attacks
        for rate in attack.rates
    ]
    places = [
        (model.name, attack.name, x, y)
        for model in facts.models
        for attack in model.attacks
        for x, y in attack.curve
    ]
    columns = ("model", "attack", *_RATE)
    return [
        download("rates.csv", as_csv(columns, rates)),
        download("curves.csv", as_csv(columns[:4], places)),
        facts_file("audit.json", facts),
    ]
