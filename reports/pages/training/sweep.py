"""Many training runs: accuracy by epsilon, private against plain, and what choosing costs."""

from operator import attrgetter
from typing import Any

from reports.catalogues.pages import headings
from reports.catalogues.training import CHOICES, PICTURES, SWEEP, TUNING
from reports.catalogues.wording import written
from reports.charts.curves import Curve, Curves, Spot, panels
from reports.facts.training import OutcomeFact, SweepFacts
from reports.i18n.languages import Words
from reports.pages.training.private import delta, epsilon, meanings, scheme
from reports.parts import NOTHING, Lines, Row, Table, with_interval
from reports.report import Download, as_csv, download, facts_file


def sweep_page(words: Words, facts: SweepFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what is known of many training runs."""
    frontier = _frontier(words, facts)
    return "sweep.html", {
        "title": facts.title or words.say("Training runs compared"),
        "headings": headings(words, "sweep"),
        "verdict": _verdict(words, facts),
        "remarks": _remarks(words, facts),
        "scheme": _holds(words, facts),
        "frontier": frontier,
        "by_choice": _by_choice(words, facts),
        "tuning": _tuning(words, facts),
        "meanings": meanings(words, TUNING, {fact.name for fact in facts.tuning}),
        "downloads": _downloads(facts),
    }


def _best(facts: SweepFacts, *, is_private: bool) -> OutcomeFact | None:
    return next((o for o in facts.outcomes if o.is_private == is_private), None)


def _holds(words: Words, facts: SweepFacts) -> str:
    return scheme(words, facts.sampling, facts.adjacency) if facts.adjacency else ""


def _verdict(words: Words, facts: SweepFacts) -> str:
    private, plain = _best(facts, is_private=True), _best(facts, is_private=False)
    if private is None:
        if plain is None:
            return SWEEP["nothing"].say(words)
        return SWEEP["plain"].say(words, {"accuracy": plain.mean})
    reached = SWEEP["private"].say(
        words, {"accuracy": private.mean, "epsilon": epsilon(words, private.epsilon)}
    )
    if plain is None:
        return SWEEP["private-alone"].say(words, {"reached": reached})
    points = round(100 * abs(plain.mean - private.mean), 1)
    return SWEEP["both"].say(words, {"reached": reached, "plain": plain.mean, "points": points})


def _remarks(words: Words, facts: SweepFacts) -> list[str]:
    if facts.delta is None:
        sentences = [SWEEP["no-delta"].say(words)]
    else:
        values = {"delta": delta(words, facts.delta), "scheme": _holds(words, facts)}
        sentences = [SWEEP["delta" if facts.adjacency else "delta-alone"].say(words, values)]
    whole = {fact.name: fact for fact in facts.tuning}
    one, every = whole.get("one"), whole.get("sum") or whole.get("basic")
    if one is not None and one.epsilon is not None and every is not None and every.runs > 1:
        both = {"epsilon": epsilon(words, every.epsilon), "one": epsilon(words, one.epsilon)}
        sentences.append(SWEEP["all-runs"].say(words, {"runs": every.runs, **both}))
    private, plain = _best(facts, is_private=True), _best(facts, is_private=False)
    if private and plain and private.sd is not None and plain.sd is not None and plain.sd > 0:
        spread = {"private": private.sd, "plain": plain.sd}
        sentences.append(SWEEP["repetitions"].say(words, spread))
    if any(outcome.runs == 1 for outcome in facts.outcomes):
        sentences.append(SWEEP["once"].say(words))
    return sentences


def _frontier(words: Words, facts: SweepFacts) -> Row | None:
    private = sorted(
        (o for o in facts.outcomes if o.is_private and o.epsilon), key=lambda o: o.epsilon or 0
    )
    plain = _best(facts, is_private=False)
    if not private:
        return None
    least, most = private[0].epsilon or 0.0, private[-1].epsilon or 0.0
    front, rest = (
        tuple(_spot(o) for o in private if o.is_front == is_front) for is_front in (True, False)
    )
    lines = [
        Curve(
            name=words.say("frontier: no setting is as accurate for a smaller ε"), spots=front
        ),
        Curve(name=words.say("other private settings"), spots=rest, is_joined=False),
    ]
    if plain is not None:
        lines.append(
            Curve(
                name=words.say("best setting without privacy"),
                spots=(Spot(x=least, y=plain.mean), Spot(x=most, y=plain.mean)),
                is_marked=False,
                is_limit=True,
            )
        )
    best = _best(facts, is_private=True)
    texts = PICTURES["accuracy"].say(
        words,
        "accuracy",
        lowest=private[0].mean,
        least=least,
        highest=private[-1].mean,
        most=most,
    )
    data = Curves(
        **texts,
        is_log_across=most > 4 * least,
        from_zero=False,
        home=None if best is None or best.epsilon is None else (best.epsilon, best.mean),
    )
    curves = [line for line in lines if line.spots]
    return Row(
        id="settings",
        title=data.title,
        panels=panels(words, "settings", [(data, curves)]),
        data=_outcomes(words, facts),
        notes=(words.say("The most accurate private setting is ringed."),),
    )


def _by_choice(words: Words, facts: SweepFacts) -> Row | None:
    """Draw accuracy along each choice that was varied, all others held."""
    pictures, lines = [], []
    for name in CHOICES:
        several = _along(facts, name, is_private=True)
        if len(several) < 2:
            continue
        plain = _along(facts, name, is_private=False)
        first, last = several[0], several[-1]
        texts = PICTURES["setting"].say(
            words,
            f"by-{name}",
            choice=words.say(CHOICES[name].name),
            first=_choice(words, name, first.choices[name]),
            start=first.mean,
            last=_choice(words, name, last.choices[name]),
            end=last.mean,
        )
        values = [outcome.choices[name] for outcome in (*several, *plain)]
        wide = 0 < 8 * min(values) < max(values)  # without privacy the noise may be 0
        data = Curves(**texts, is_log_across=wide, from_zero=False)
        curves = [
            Curve(name=words.say(label), spots=tuple(_spot_at(o, name) for o in some))
            for label, some in (("with privacy", several), ("without", plain))
            if some
        ]
        pictures.append((data, curves))
        lines += [(name, outcome) for outcome in (*several, *plain)]
    if not pictures:
        return None
    title = words.say("Accuracy where one choice varies and all others stay")
    trainings = {True: words.say("with privacy"), False: words.say("without")}
    share = words.numbers.share
    return Row(
        id="choices-tried",
        title=title,
        panels=panels(words, "choices-tried", pictures),
        data=Lines(words, lines)
        .text("Choice", lambda line: words.say(CHOICES[line[0]].name))
        .number("Value", lambda line: _choice(words, line[0], line[1].choices[line[0]]))
        .text("Training", lambda line: trainings[line[1].is_private])
        .number(
            "accuracy", lambda x: with_interval(words, share, x[1].mean, x[1].low, x[1].high)
        )
        .table("choices-tried-data", title, n_heads=2),
    )


def _along(facts: SweepFacts, name: str, *, is_private: bool) -> list[OutcomeFact]:
    """Return the longest row of settings that differ in one choice, of equals the best one."""
    groups: dict[tuple[tuple[str, float], ...], list[OutcomeFact]] = {}
    for outcome in facts.outcomes:
        if outcome.is_private == is_private and name in outcome.choices:
            others = tuple(sorted((n, v) for n, v in outcome.choices.items() if n != name))
            groups.setdefault(others, []).append(outcome)
    longest = max(groups.values(), key=len, default=[])  # the outcomes come best first
    return sorted(longest, key=lambda outcome: outcome.choices[name])


def _spot_at(outcome: OutcomeFact, name: str) -> Spot:
    return Spot(x=outcome.choices[name], y=outcome.mean, low=outcome.low, high=outcome.high)


def _spot(outcome: OutcomeFact) -> Spot:
    return Spot(x=outcome.epsilon or 0.0, y=outcome.mean, low=outcome.low, high=outcome.high)


def _outcomes(words: Words, facts: SweepFacts) -> Table:
    names = [name for name in CHOICES if any(name in o.choices for o in facts.outcomes)]
    trainings = {True: words.say("with privacy"), False: words.say("without")}
    share = words.numbers.share
    lines = (
        Lines(words, facts.outcomes)
        .text("Training", lambda outcome: trainings[outcome.is_private])
        .number("ε of one run", lambda outcome: outcome.epsilon, "amount")
        .number("accuracy", lambda o: with_interval(words, share, o.mean, o.low, o.high))
        .text("Frontier", lambda o: words.say("frontier") if o.is_front else NOTHING)
        .numbers(
            {name: words.say(CHOICES[name].name) for name in names},
            lambda outcome, name: _choice(words, name, outcome.choices.get(name)),
        )
        .number("runs", lambda outcome: outcome.runs, "count")
        .number("standard deviation", lambda outcome: outcome.sd, "ratio")
    )
    if facts.classes is not None:
        lines = lines.number(
            "ratio to random guessing",
            lambda o: None if o.times_chance is None else round(o.times_chance, 1),
        )
    return lines.table("settings-table", words.say("Accuracy of every setting, best first"))


def _choice(words: Words, name: str, value: float | None) -> str:
    return NOTHING if value is None else written(words, value, CHOICES[name].kind)


def _tuning(words: Words, facts: SweepFacts) -> Table:
    holds = _holds(words, facts)
    caption = words.say("Privacy cost of choosing the best run")
    return (
        Lines(words, facts.tuning)
        .text("Rule of choice", lambda fact: words.say(TUNING[fact.name].name))
        .number("runs, or their mean", lambda fact: fact.runs, "count")
        .number("ε", lambda fact: epsilon(words, fact.epsilon))
        .number("δ", lambda fact: delta(words, fact.delta))
        .table("tuning-table", f"{caption} ({holds})" if holds else caption)
    )


def _downloads(facts: SweepFacts) -> list[Download]:
    names = [name for name in CHOICES if any(name in o.choices for o in facts.outcomes)]
    fixed = ("runs", "mean", "sd", "low", "high", "times_chance", "epsilon", "is_front")
    rows = [
        (o.is_private, *(o.choices.get(name) for name in names), *attrgetter(*fixed)(o))
        for o in facts.outcomes
    ]
    costs = [(fact.name, fact.runs, fact.epsilon, fact.delta) for fact in facts.tuning]
    return [
        download("settings.csv", as_csv(("is_private", *names, *fixed), rows)),
        download("tuning.csv", as_csv(("way", "runs", "epsilon", "delta"), costs)),
        facts_file("sweep.json", facts),
    ]
