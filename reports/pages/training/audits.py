"""Attacks on trained models, each beside what the promise of the model allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.training import ATTACKS, INVERSIONS
from reports.charts.curves import Curve, Curves, Spot, curves
from reports.charts.marked import Marked, MarkedLine, marked_bars
from reports.downloads import as_csv, as_json, download
from reports.pages.training.private import delta, scheme, unit_of
from reports.parts import Cell, Figure, Table, numbers, texts

if TYPE_CHECKING:
    from reports.downloads import Download
    from reports.facts.training import AuditFacts, InversionFact, MembershipFact, ModelFact
    from reports.i18n.languages import Words
    from reports.parts import Entry

__all__ = ["audits_page"]

#: Rates below are drawn here: fewer records cannot tell them from none.
_LEAST_RATE = 1e-3
_LONGEST = 38


def audits_page(words: Words, facts: AuditFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what attacks reached.

    Parameters
    ----------
    words
        The language.
    facts
        The facts.

    Examples
    --------
    >>> audits_page.__name__  # see `audits_report`
    'audits_page'
    """
    has_attacks = any(model.attacks for model in facts.models)
    has_bounds = any(model.one_run for model in facts.models)
    has_inversions = any(model.inversions for model in facts.models)
    return "audits.html", {
        "title": facts.title or words.say("Attacks on trained models"),
        "id": "",
        "facts": facts,
        "headings": {
            "verdict": words.say("Verdict"),
            **({"membership": words.say("Who was in the data?")} if has_attacks else {}),
            **({"bounds": words.say("What one run proves")} if has_bounds else {}),
            **(
                {"inversions": words.say("What was guessed or rebuilt")}
                if has_inversions
                else {}
            ),
            "reading": words.say("How to read it"),
            "numbers": words.say("The numbers as files"),
        },
        "verdict": _verdict(words, facts),
        "is_broken": any(_is_broken(model) for model in facts.models),
        "models": _models(words, facts),
        "pictures": [
            figure
            for draw in (_roc, _low_rates)
            for number, model in enumerate(facts.models)
            for figure in draw(words, model, number)
        ],
        "attacks": _attacks(words, facts),
        "bounds": _bounds(words, facts),
        "bounds_drawn": _bounds_drawn(words, facts),
        "inversions": _inversions(words, facts),
        "attack_meanings": _meanings(
            words, ATTACKS, [a.name for model in facts.models for a in model.attacks]
        ),
        "inversion_meanings": _meanings(
            words, INVERSIONS, [i.name for model in facts.models for i in model.inversions]
        ),
        "downloads": _downloads(facts),
    }


def _is_broken(model: ModelFact) -> bool:
    return (
        model.is_refuted
        or any(attack.is_above for attack in model.attacks)
        or any(one.is_above for one in model.inversions)
    )


def _verdict(words: Words, facts: AuditFacts) -> str:
    broken = [model.name for model in facts.models if _is_broken(model)]
    if broken:
        return words.say(
            "The promise is broken for: %(models)s. What was found there is above what the "
            "guarantee allows.",
            models=words.listed(broken),
        )
    if not any(model.epsilon is not None for model in facts.models):
        return words.say("No model here promises anything: there is nothing to be kept.")
    return words.say(
        "Nothing that was found is above what the guarantee allows. That proves nothing: "
        "better attacks may exist."
    )


def _promise(words: Words, model: ModelFact) -> str:
    if model.epsilon is None or model.delta is None:
        return words.say("no promise")
    return words.say(
        "ε = %(epsilon)s, δ = %(delta)s",
        epsilon=words.numbers.amount(model.epsilon),
        delta=delta(words, model.delta),
    )


def _models(words: Words, facts: AuditFacts) -> Table:
    return Table(
        id="models",
        caption=words.say("The models, and what each promises"),
        columns=(
            *texts(words.say("Model"), words.say("Promise"), words.say("Holds for")),
            *numbers(words.say("Shadow models")),
            *texts(words.say("Outcome")),
        ),
        rows=tuple(
            (
                model.name,
                _promise(words, model),
                words.say(
                    "%(scheme)s, per %(unit)s",
                    scheme=scheme(words, model.sampling, model.adjacency),
                    unit=unit_of(words, model.unit),
                )
                if model.adjacency
                else "–",
                words.numbers.count(model.shadows) if model.shadows else "–",
                _outcome(words, model),
            )
            for model in facts.models
        ),
    )


def _outcome(words: Words, model: ModelFact) -> Entry:
    if model.epsilon is None:
        return words.say("no promise")
    if _is_broken(model):
        return Cell(text=words.say("above the bound"), outcome="failed")
    return Cell(text=words.say("within the bound"), outcome="passed")


def _name(words: Words, attack: MembershipFact) -> str:
    return words.say(ATTACKS[attack.name][0]) if attack.name in ATTACKS else attack.name


def _roc(words: Words, model: ModelFact, number: int) -> list[Figure]:
    drawn = [attack for attack in model.attacks if attack.curve]
    if not drawn:
        return []
    title = words.say(
        "Members found by false alarms, both by powers of ten: %(model)s", model=model.name
    )
    lines = [
        Curve(
            name=_name(words, attack),
            spots=tuple(Spot(x=x, y=y) for x, y in attack.curve),
            is_marked=False,
        )
        for attack in drawn
    ]
    guess = ((_LEAST_RATE, _LEAST_RATE), (1.0, 1.0))
    lines.append(
        Curve(
            name=words.say("guessing"),
            spots=tuple(Spot(x=x, y=y) for x, y in guess),
            is_marked=False,
        )
    )
    if model.ceiling:
        lines.append(
            Curve(
                name=words.say("the most that the promise allows"),
                spots=tuple(
                    Spot(x=x, y=y) for x, y in model.ceiling if x >= _LEAST_RATE * (1 - 1e-9)
                ),
                is_marked=False,
                is_limit=True,
            )
        )
    best = max(drawn, key=lambda attack: attack.auc)
    data = Curves(
        id=f"roc-{number}",
        title=title,
        description=words.say(
            "A curve per attack; the largest area, %(area)s, is that of: %(attack)s.",
            area=words.numbers.probability(best.auc),
            attack=_name(words, best),
        ),
        across=words.say("others taken for members"),
        upwards=words.say("members found"),
        is_log_across=True,
        is_log_upwards=True,
        least=_LEAST_RATE,
    )
    table = Table(
        id=f"roc-{number}-data",
        caption=title,
        columns=(
            *texts(words.say("Attack")),
            *numbers(words.say("others taken for members"), words.say("members found")),
        ),
        rows=tuple(
            (_name(words, attack), words.numbers.ratio(x), words.numbers.ratio(y))
            for attack in drawn
            for x, y in attack.curve
        ),
    )
    return [Figure(id=data.id, title=title, svg=curves(words, data, lines), data=table)]


def _low_rates(words: Words, model: ModelFact, number: int) -> list[Figure]:
    """Draw members found at the middle low rate, with intervals."""
    shown = [
        (attack, attack.rates[min(1, len(attack.rates) - 1)])
        for attack in model.attacks
        if attack.rates
    ]
    if not shown:
        return []
    title = words.say(
        "Members found where %(rate)s of others are taken for members: %(model)s",
        rate=words.numbers.share(shown[0][1].false_positive_rate),
        model=model.name,
    )
    lines = [
        MarkedLine(
            name=_short(_name(words, attack)),
            value=rate.true_positive_rate,
            marks={} if rate.ceiling is None else {"ceiling": rate.ceiling},
            low=rate.low,
            high=rate.high,
        )
        for attack, rate in shown
    ]
    data = Marked(
        id=f"low-rates-{number}",
        title=title,
        description=words.say(
            "A dot per attack, with its interval; a diamond marks the most that the promise "
            "allows."
        ),
        across=words.say("members found"),
        bar=words.say("members found"),
        marks={"ceiling": words.say("the most that the promise allows")}
        if any(line.marks for line in lines)
        else {},
        least=_LEAST_RATE,
        most=1.0,
    )
    table = Table(
        id=f"{data.id}-data",
        caption=title,
        columns=(
            *texts(words.say("Attack")),
            *numbers(
                words.say("members found"),
                words.say("Interval from"),
                words.say("to"),
                words.say("at most allowed"),
            ),
        ),
        rows=tuple(
            (
                _name(words, attack),
                words.numbers.ratio(rate.true_positive_rate),
                words.numbers.ratio(rate.low),
                words.numbers.ratio(rate.high),
                "–" if rate.ceiling is None else words.numbers.ratio(rate.ceiling),
            )
            for attack, rate in shown
        ),
    )
    return [Figure(id=data.id, title=title, svg=marked_bars(words, data, lines), data=table)]


def _short(name: str) -> str:
    """Cut a name that has no room beside a bar."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _attacks(words: Words, facts: AuditFacts) -> Table:
    at = dict.fromkeys(
        rate.false_positive_rate
        for model in facts.models
        for attack in model.attacks
        for rate in attack.rates
    )
    rows = []
    for model in facts.models:
        for attack in model.attacks:
            known = {rate.false_positive_rate: rate for rate in attack.rates}
            line: list[Entry] = [
                _name(words, attack),
                model.name,
                words.numbers.probability(attack.auc),
                _beside(words, attack.advantage, attack.advantage_ceiling),
            ]
            for place in at:
                rate = known.get(place)
                line.append(
                    "–"
                    if rate is None
                    else Cell(
                        text=words.numbers.ratio(rate.true_positive_rate),
                        small=_between(words, rate.low, rate.high, rate.ceiling),
                    )
                )
            line.append(
                Cell(text=words.say("above the bound"), outcome="failed")
                if attack.is_above
                else words.say("within the bound")
                if attack.advantage_ceiling is not None
                else words.say("no promise")
            )
            rows.append(tuple(line))
    return Table(
        id="attacks",
        caption=words.say("What each attack reached, and the most that the promise allows"),
        columns=(
            *texts(words.say("Attack"), words.say("Model")),
            *numbers(
                words.say("area under the curve"),
                words.say("advantage"),
                *(
                    words.say("members found at %(rate)s", rate=words.numbers.share(place))
                    for place in at
                ),
            ),
            *texts(words.say("Outcome")),
        ),
        rows=tuple(rows),
        n_heads=2,
    )


def _beside(words: Words, value: float, ceiling: float | None) -> Entry:
    text = words.numbers.probability(value)
    if ceiling is None:
        return text
    return Cell(
        text=text,
        small=words.say("at most %(most)s", most=words.numbers.probability(ceiling)),
    )


def _between(words: Words, low: float, high: float, ceiling: float | None) -> str:
    low_text, high_text = words.numbers.ratio(low), words.numbers.ratio(high)
    if ceiling is None:
        return words.say("%(low)s to %(high)s", low=low_text, high=high_text)
    return words.say(
        "%(low)s to %(high)s; at most %(most)s",
        low=low_text,
        high=high_text,
        most=words.numbers.ratio(ceiling),
    )


def _bounds(words: Words, facts: AuditFacts) -> Table:
    rows = []
    for model in facts.models:
        if (found := model.one_run) is None:
            continue
        rows.append(
            (
                model.name,
                words.numbers.amount(found.epsilon),
                "–" if model.epsilon is None else words.numbers.amount(model.epsilon),
                words.numbers.count(found.canaries),
                words.numbers.count(found.guesses),
                words.numbers.count(found.right),
                words.numbers.share(found.error),
                words.say("no promise")
                if model.epsilon is None
                else Cell(text=words.say("promise refuted"), outcome="failed")
                if model.is_refuted
                else words.say("not refuted"),
            )
        )
    return Table(
        id="lower-bounds",
        caption=words.say("Lower bounds of ε from one run with canaries"),
        columns=(
            *texts(words.say("Model")),
            *numbers(
                words.say("ε is not below"),
                words.say("ε promised"),
                words.say("canaries"),
                words.say("guesses"),
                words.say("right guesses"),
                words.say("chance that the bound is wrong"),
            ),
            *texts(words.say("Outcome")),
        ),
        rows=tuple(rows),
    )


def _bounds_drawn(words: Words, facts: AuditFacts) -> Figure | None:
    shown = [model for model in facts.models if model.one_run is not None]
    if not shown:
        return None
    title = words.say("ε from below, by one run, and ε promised")
    lines = [
        MarkedLine(
            name=_short(model.name),
            value=model.one_run.epsilon if model.one_run else 0.0,
            marks={} if model.epsilon is None else {"promise": model.epsilon},
        )
        for model in shown
    ]
    data = Marked(
        id="bounds-drawn",
        title=title,
        description=words.say(
            "A bar per model up to its lower bound; a diamond marks the ε that it promises."
        ),
        across=words.say("ε"),
        bar=words.say("lower bound"),
        marks={"promise": words.say("ε promised")} if any(line.marks for line in lines) else {},
    )
    table = Table(
        id="bounds-drawn-data",
        caption=title,
        columns=(
            *texts(words.say("Model")),
            *numbers(words.say("lower bound"), words.say("ε promised")),
        ),
        rows=tuple(
            (
                model.name,
                words.numbers.amount(line.value),
                "–" if model.epsilon is None else words.numbers.amount(model.epsilon),
            )
            for model, line in zip(shown, lines, strict=True)
        ),
    )
    return Figure(
        id="bounds-drawn", title=title, svg=marked_bars(words, data, lines), data=table
    )


def _inversions(words: Words, facts: AuditFacts) -> Table:
    return Table(
        id="inversions-table",
        caption=words.say("Share guessed or rebuilt, of records used and of others"),
        columns=(
            *texts(words.say("What"), words.say("Model")),
            *numbers(
                words.say("of records used"),
                words.say("of others"),
                words.say("without a model"),
                words.say("at most allowed"),
            ),
            *texts(words.say("Outcome")),
        ),
        rows=tuple(
            _inversion(words, model, one) for model in facts.models for one in model.inversions
        ),
        n_heads=2,
    )


def _inversion(words: Words, model: ModelFact, one: InversionFact) -> tuple[Entry, ...]:
    def share(value: float, low: float, high: float) -> Cell:
        return Cell(
            text=words.numbers.probability(value),
            small=words.say(
                "%(low)s to %(high)s",
                low=words.numbers.probability(low),
                high=words.numbers.probability(high),
            ),
        )

    return (
        words.say(INVERSIONS[one.name][0]),
        model.name,
        share(one.members, one.members_low, one.members_high),
        share(one.others, one.others_low, one.others_high),
        "–" if one.baseline is None else words.numbers.probability(one.baseline),
        "–" if one.ceiling is None else words.numbers.probability(one.ceiling),
        words.say("no promise")
        if one.ceiling is None
        else Cell(text=words.say("above the bound"), outcome="failed")
        if one.is_above
        else words.say("within the bound"),
    )


def _meanings(words: Words, known: Any, names: list[str]) -> list[tuple[str, str]]:
    return [
        (words.say(name), words.say(meaning))
        for key, (name, meaning) in known.items()
        if key in names
    ]


def _downloads(facts: AuditFacts) -> list[Download]:
    rates = [
        (
            model.name, attack.name, rate.false_positive_rate, rate.true_positive_rate,
            rate.low, rate.high, rate.ceiling,
        )
        for model in facts.models
        for attack in model.attacks
        for rate in attack.rates
    ]  # fmt: skip
    places = [
        (model.name, attack.name, x, y)
        for model in facts.models
        for attack in model.attacks
        for x, y in attack.curve
    ]
    columns = (
        "model", "attack", "false_positive_rate", "true_positive_rate", "low", "high",
        "ceiling",
    )  # fmt: skip
    return [
        download("rates.csv", as_csv(columns, rates)),
        download("curves.csv", as_csv(columns[:4], places)),
        download("audit.json", as_json(facts)),
    ]
