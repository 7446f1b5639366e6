"""What a training run costs before it starts, and how that moves with each choice."""

from operator import itemgetter
from typing import Any

from footing.messages import mark
from reports.catalogues.pages import headings
from reports.catalogues.training import (
    CHOICES,
    ERRATA,
    NEIGHBOURS,
    PICTURES,
    STUDY,
    WAYS,
    WORTHS,
)
from reports.catalogues.wording import written
from reports.charts.curves import Curve, Curves, Spot, panels
from reports.facts.quantity import Quantity
from reports.facts.training import (
    PlanFact,
    PointFact,
    PublishedRunFact,
    SeriesFact,
    StudyFacts,
)
from reports.i18n.languages import Words
from reports.pages.common import quantities
from reports.pages.training.private import (
    account,
    delta,
    epsilon,
    neighbours,
    sampler,
    scheme,
    unit_of,
)
from reports.parts import NOTHING, Cell, Entry, Lines, Row, Table
from reports.report import Download, as_csv, download, facts_file

#: What the curves hold for.
_HOLDS = ("poisson", "add-remove")


def study_page(words: Words, facts: StudyFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what is known of a run before it starts."""
    return "study.html", {
        "title": facts.title or words.say("Privacy cost of the training"),
        "headings": headings(words, "study", without=() if facts.published else ("published",)),
        "verdict": _classic(words, facts)
        if facts.plan is None
        else _planned(words, facts.plan),
        "warnings": _warnings(words, facts),
        "scheme": scheme(words, *_HOLDS),
        "claims": _claims(words, facts),
        "ways": [(sampler(words, name), words.say(text)) for name, text in WAYS.items()],
        "neighbours": [
            (neighbours(words, name), words.say(text)) for name, text in NEIGHBOURS.items()
        ],
        "series": _series(words, facts),
        "meanings": [
            (words.say(CHOICES[one.name].name), words.say(CHOICES[one.name].meaning))
            for one in facts.series
        ],
        "surface": _surface(words, facts),
        "errata": _errata(words),
        "published": _published(words, facts),
        "parameters": _parameters(words, facts),
        "downloads": _downloads(facts),
    }


def _classic(words: Words, facts: StudyFacts) -> str:
    """Say what a run of whole passes costs by the classic formula."""
    return STUDY["verdict"].say(
        words,
        {
            "epochs": facts.epochs,
            "size": facts.dataset_size,
            "batch": facts.batch_size,
            "noise": facts.noise_multiplier,
            "epsilon": facts.epsilon,
            "delta": delta(words, facts.delta),
            "scheme": scheme(words, *_HOLDS),
        },
    )


def _warnings(words: Words, facts: StudyFacts) -> list[str]:
    sentences = []
    if facts.delta * facts.dataset_size >= 1:
        most = delta(words, 1 / facts.dataset_size)
        sentences.append(STUDY["delta"].say(words, {"most": most}))
    if facts.dataset_size % facts.batch_size:
        sentences.append(STUDY["last-batch"].say(words))
    if any(point.is_at_edge for series in facts.series for point in series.points):
        sentences.append(STUDY["edge"].say(words))
    if facts.plan is not None:
        sentences.append(_classic(words, facts))
        if facts.plan.is_demonstration:
            sentences.append(STUDY["seed"].say(words))
    return sentences


def _planned(words: Words, plan: PlanFact) -> str:
    """Say what the plan itself costs."""
    return STUDY["plan"].say(
        words,
        {
            "steps": plan.steps,
            "rate": plan.sampling_rate,
            "epsilon": epsilon(words, plan.epsilon),
            "delta": delta(words, plan.delta),
            "scheme": scheme(words, plan.sampling, plan.adjacency),
            "unit": unit_of(words, plan.unit),
            "account": account(words, plan.account),
        },
    )


def _claims(words: Words, facts: StudyFacts) -> Table:
    return (
        Lines(words, facts.claims)
        .text("Batches", lambda claim: sampler(words, claim.sampling))
        .text("Neighbours", lambda claim: neighbours(words, claim.adjacency))
        .text("Account", lambda claim: account(words, claim.account))
        .text("What it is", lambda claim: words.say(WORTHS[claim.worth]))
        .number("ε", lambda claim: epsilon(words, claim.epsilon))
        .number(
            "Ratio to the classic ε",
            lambda claim: None if claim.times is None else round(claim.times, 2),
        )
        .table(
            "claims",
            words.say("Every ε of this run, at δ = %(delta)s", delta=delta(words, facts.delta)),
            n_heads=2,
        )
    )


def _series(words: Words, facts: StudyFacts) -> Row:
    """Draw epsilon along each choice, beside each other."""
    pictures = []
    for series in facts.series:
        choice, (first, *_, last) = CHOICES[series.name], series.points
        texts = PICTURES["series"].say(
            words,
            f"by-{series.name}",
            choice=words.say(choice.name),
            first=_value(words, series.name, first.value),
            start=first.epsilon,
            last=_value(words, series.name, last.value),
            end=last.epsilon,
        )
        data = Curves(
            **texts,
            is_log_across=choice.is_log,
            is_log_upwards=series.name == "order",
            home=_home(facts, series),
        )
        spots = tuple(Spot(x=point.value, y=point.epsilon) for point in series.points)
        pictures.append((data, [Curve(name="", spots=spots, is_marked=len(spots) < 20)]))
    lines = [(series.name, point) for series in facts.series for point in series.points]
    title = words.say("ε where one choice varies and all others stay; the run is ringed")
    return Row(
        id="choices-drawn",
        title=title,
        panels=panels(words, "choices-drawn", pictures),
        data=Lines(words, lines)
        .text("Choice", lambda line: words.say(CHOICES[line[0]].name))
        .number("Value", lambda line: _value(words, line[0], line[1].value))
        .number("ε", lambda line: line[1].epsilon, "amount")
        .number("best order α", lambda line: _order(words, line[1]))
        .table("choices-data", _held(words, title), n_heads=2),
    )


def _order(words: Words, point: PointFact) -> Cell:
    return Cell(
        text=words.numbers.plain(point.order),
        small=words.say("end of the list") if point.is_at_edge else "",
    )


def _held(words: Words, title: str) -> str:
    """Say what the figures of a table hold for."""
    return words.say(
        "%(title)s: %(scheme)s, classic formula", title=title, scheme=scheme(words, *_HOLDS)
    )


def _value(words: Words, name: str, value: float) -> str:
    return delta(words, value) if name == "delta" else written(words, value, CHOICES[name].kind)


def _home(facts: StudyFacts, series: SeriesFact) -> tuple[float, float]:
    if series.name == "order":
        return facts.order, facts.epsilon
    return float(getattr(facts, series.name)), facts.epsilon


def _surface(words: Words, facts: StudyFacts) -> Table:
    noises = {place: f"σ = {words.numbers.plain(n)}" for place, n in enumerate(facts.noises)}
    return (
        Lines(words, list(zip(facts.batches, facts.surface, strict=True)))
        .number("batch size", itemgetter(0), "count")
        .numbers(noises, lambda line, place: line[1][place], "amount")
        .table("surface-data", _held(words, words.say("ε by batch size and noise")))
    )


def _errata(words: Words) -> Table:
    return (
        Lines(words, ERRATA.values())
        .text("Place", lambda erratum: words.say(erratum.place))
        .text("Printed", lambda erratum: words.say(erratum.printed))
        .text("Correct", lambda erratum: words.say(erratum.right))
        .table("errata", words.say("Statements of the source of this study, and corrections"))
    )


def _published(words: Words, facts: StudyFacts) -> Table:
    return (
        Lines(words, facts.published)
        .number("batch size", lambda run: run.batch_size, "count")
        .number("noise multiplier σ", lambda run: run.noise_multiplier)
        .number("passes over the data", lambda run: run.epochs, "count")
        .number("ε printed", lambda run: run.printed)
        .number("ε recomputed", lambda run: run.epsilon, "amount")
        .number("ε corrected", lambda run: _corrected(words, run))
        .number("accuracy printed", lambda run: run.accuracy, "share")
        .table(
            "published-runs",
            words.say(
                "Runs on 6,552 images of flowers, at δ = 10⁻⁴: ε as printed and counted again "
                "(%(scheme)s, classic formula)",
                scheme=scheme(words, *_HOLDS),
            ),
            n_heads=3,
        )
    )


def _corrected(words: Words, run: PublishedRunFact) -> Entry:
    if run.corrected is None or run.corrected_noise is None:
        return NOTHING
    return Cell(
        text=words.numbers.amount(run.corrected),
        small=words.say("with σ = %(noise)s", noise=words.numbers.plain(run.corrected_noise)),
    )


def _parameters(words: Words, facts: StudyFacts) -> Table:
    figures = (
        Quantity(mark("number of records"), facts.dataset_size, "count"),
        Quantity(mark("batch size"), facts.batch_size, "count"),
        Quantity(mark("sampling rate q"), round(facts.sampling_rate, 6)),
        Quantity(mark("noise multiplier σ"), facts.noise_multiplier),
        Quantity(mark("passes over the data"), facts.epochs, "count"),
        Quantity(mark("steps"), facts.steps, "count"),
        Quantity(mark("δ"), delta(words, facts.delta)),
        Quantity(mark("ε, classic formula"), facts.epsilon, "amount"),
        Quantity(mark("best order α"), facts.order),
    )
    return quantities(words, figures).table("parameters", words.say("The run"))


def _downloads(facts: StudyFacts) -> list[Download]:
    rows: list[tuple[object, ...]] = [
        (series.name, point.value, None, point.epsilon, point.order)
        for series in facts.series
        for point in series.points
    ]
    rows += [
        ("surface", batch, noise, epsilon, None)
        for batch, line in zip(facts.batches, facts.surface, strict=True)
        for noise, epsilon in zip(facts.noises, line, strict=True)
    ]
    claims = [
        (c.sampling, c.adjacency, c.account, c.worth, c.epsilon, c.times) for c in facts.claims
    ]
    return [
        download(
            "sensitivity.csv",
            as_csv(("series", "value", "noise_multiplier", "epsilon", "order"), rows),
        ),
        download(
            "claims.csv",
            as_csv(
                ("sampling", "adjacency", "account", "worth", "epsilon", "times_classic"),
                claims,
            ),
        ),
        facts_file("study.json", facts),
    ]
