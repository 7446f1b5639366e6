"""What a training run costs before it starts, and how that moves with each choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.training import CHOICES, ERRATA, NEIGHBOURS, WAYS, WORTHS
from reports.catalogues.wording import written
from reports.charts.curves import Curve, Curves, Spot, curves
from reports.charts.marked import Marked, MarkedLine, marked_bars
from reports.charts.surface import Surface, surface
from reports.downloads import as_csv, as_json, download
from reports.pages.training.private import (
    account,
    delta,
    epsilon,
    neighbours,
    sampler,
    scheme,
    unit_of,
)
from reports.parts import Cell, Figure, Table, numbers, texts

if TYPE_CHECKING:
    from reports.downloads import Download
    from reports.facts.training import ClaimFact, SeriesFact, StudyFacts
    from reports.i18n.languages import Words

__all__ = ["study_page"]

#: What the curves hold for.
_HOLDS = ("poisson", "add-remove")
#: How far above the least the second picture of the orders goes.
_NEAR = 2.0
_ORDER, _FLOOR = CHOICES["order"].name, WORTHS["floor"]


def study_page(words: Words, facts: StudyFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what is known of a run before it starts.

    Parameters
    ----------
    words
        The language.
    facts
        The facts.

    Examples
    --------
    >>> study_page.__name__  # see `study_report`
    'study_page'
    """
    return "study.html", {
        "title": facts.title or words.say("What private training costs"),
        "id": "",
        "facts": facts,
        "headings": {
            "result": words.say("Result"),
            "schemes": words.say("Other ways to draw batches, other neighbours"),
            "choices": words.say("One choice at a time"),
            "surface": words.say("Batch size and noise together"),
            "formula": words.say("Where the formula comes from"),
            **({"published": words.say("Published runs")} if facts.published else {}),
            "reproduction": words.say("Reproduction"),
        },
        "verdict": _verdict(words, facts),
        "warnings": _warnings(words, facts),
        "scheme": scheme(words, *_HOLDS),
        "claims": _claims(words, facts),
        "schemes": _schemes(words, facts),
        "ways": [(sampler(words, name), words.say(text)) for name, text in WAYS.items()],
        "neighbours": [
            (neighbours(words, name), words.say(text)) for name, text in NEIGHBOURS.items()
        ],
        "series": [
            (_drawn(words, facts, series), words.say(CHOICES[series.name].meaning))
            for series in facts.series
        ],
        "surface": _surface(words, facts),
        "errata": _errata(words),
        "published": _published(words, facts),
        "parameters": _parameters(words, facts),
        "downloads": _downloads(facts),
    }


def _verdict(words: Words, facts: StudyFacts) -> str:
    return words.say(
        "%(epochs)s passes over %(size)s records in batches of %(batch)s with noise %(noise)s "
        "cost ε = %(epsilon)s at δ = %(delta)s (%(scheme)s, classic formula).",
        epochs=words.numbers.count(facts.epochs),
        size=words.numbers.count(facts.dataset_size),
        batch=words.numbers.count(facts.batch_size),
        noise=words.numbers.plain(facts.noise_multiplier),
        epsilon=words.numbers.amount(facts.epsilon),
        delta=delta(words, facts.delta),
        scheme=scheme(words, *_HOLDS),
    )


def _warnings(words: Words, facts: StudyFacts) -> list[str]:
    found = []
    if facts.delta * facts.dataset_size >= 1:
        found.append(
            words.say(
                "δ is not below one over the number of records: that protects nobody. Take "
                "less than %(most)s.",
                most=delta(words, 1 / facts.dataset_size),
            )
        )
    if facts.dataset_size % facts.batch_size:
        found.append(
            words.say(
                "The batch size does not divide the number of records: the last batch of each "
                "pass is counted whole."
            )
        )
    if any(point.is_at_edge for series in facts.series for point in series.points):
        found.append(
            words.say(
                "Some figures come from the first or the last order of the list: a longer list "
                "would give less."
            )
        )
    plan = facts.plan
    if plan is not None:
        found.append(
            words.say(
                "The plan itself takes %(steps)s steps at a rate of %(rate)s and costs ε = "
                "%(epsilon)s at δ = %(delta)s (%(scheme)s, per %(unit)s; %(account)s). The "
                "study counts whole passes by the classic formula.",
                steps=words.numbers.count(plan.steps),
                rate=words.numbers.ratio(plan.sampling_rate),
                epsilon=epsilon(words, plan.epsilon),
                delta=delta(words, plan.delta),
                scheme=scheme(words, plan.sampling, plan.adjacency),
                unit=unit_of(words, plan.unit),
                account=account(words, plan.account),
            )
        )
        if plan.is_demonstration:
            found.append(
                words.say(
                    "The plan has a seed: whoever knows it can take the noise off. Its run is "
                    "a demonstration, not a release."
                )
            )
    return found


def _claims(words: Words, facts: StudyFacts) -> Table:
    return Table(
        id="claims",
        caption=words.say(
            "Every ε of this run, at δ = %(delta)s", delta=delta(words, facts.delta)
        ),
        columns=(
            *texts(
                words.say("Batches"),
                words.say("Neighbours"),
                words.say("Account"),
                words.say("What it is"),
            ),
            *numbers(words.say("ε"), words.say("Times the classic ε")),
        ),
        rows=tuple(
            (
                sampler(words, claim.sampling),
                neighbours(words, claim.adjacency),
                account(words, claim.account),
                words.say(WORTHS[claim.worth]),
                epsilon(words, claim.epsilon),
                "–" if claim.times is None else words.numbers.plain(round(claim.times, 2)),
            )
            for claim in facts.claims
        ),
        n_heads=2,
    )


def _schemes(words: Words, facts: StudyFacts) -> Figure | None:
    """Draw the least promise for each sampler and its neighbours."""
    least: dict[tuple[str, str], ClaimFact] = {}
    floors: dict[tuple[str, str], float] = {}
    for claim in facts.claims:
        place = (claim.sampling, claim.adjacency)
        if claim.epsilon is None:
            continue
        if claim.worth == "floor":
            floors[place] = claim.epsilon
        known = least.get(place)
        if claim.worth == "promise" and (known is None or claim.epsilon < (known.epsilon or 0)):
            least[place] = claim
    if not least:
        return None
    title = words.say("The least ε that can be promised, by sampler and neighbours")
    lines = [
        MarkedLine(
            name=scheme(words, *place),
            value=claim.epsilon or 0.0,
            marks={"floor": floors[place]} if place in floors else {},
        )
        for place, claim in least.items()
    ]
    data = Marked(
        id="promises",
        title=title,
        description=words.say(
            "A bar per sampler and neighbours; the lowest is %(least)s, the highest %(most)s.",
            least=words.numbers.amount(min(line.value for line in lines)),
            most=words.numbers.amount(max(line.value for line in lines)),
        ),
        across=words.say("ε at δ = %(delta)s", delta=delta(words, facts.delta)),
        bar=words.say("least promise"),
        marks={"floor": words.say(_FLOOR)} if floors else {},
    )
    table = Table(
        id="promises-data",
        caption=title,
        columns=(*texts(words.say("Batches, neighbours")), *numbers(words.say("ε"))),
        rows=tuple((line.name, words.numbers.amount(line.value)) for line in lines),
    )
    return Figure(id="promises", title=title, svg=marked_bars(words, data, lines), data=table)


def _series(words: Words, facts: StudyFacts, series: SeriesFact) -> Figure:
    choice = CHOICES[series.name]
    name = words.say(choice.name)
    home = _home(facts, series)
    title = words.say("ε by %(choice)s", choice=name)
    first, last = series.points[0], series.points[-1]
    data = Curves(
        id=f"by-{series.name}",
        title=title,
        description=words.say(
            "A curve: at %(first)s ε is %(start)s, at %(last)s it is %(end)s. The run itself "
            "is ringed.",
            first=_value(words, series.name, first.value),
            start=words.numbers.amount(first.epsilon),
            last=_value(words, series.name, last.value),
            end=words.numbers.amount(last.epsilon),
        ),
        across=name,
        upwards=words.say("ε (%(scheme)s)", scheme=scheme(words, *_HOLDS)),
        is_log_across=choice.is_log,
        is_log_upwards=series.name == "order",
        home=home,
    )
    spots = tuple(Spot(x=point.value, y=point.epsilon) for point in series.points)
    line = Curve(name="", spots=spots, is_marked=len(spots) < 40)
    return Figure(
        id=data.id,
        title=title,
        svg=curves(words, data, [line]),
        data=Table(
            id=f"{data.id}-data",
            caption=words.say(
                "%(title)s: %(scheme)s, classic formula",
                title=title,
                scheme=scheme(words, *_HOLDS),
            ),
            columns=numbers(name, words.say("ε"), words.say("best order α")),
            rows=tuple(
                (
                    _value(words, series.name, point.value),
                    words.numbers.amount(point.epsilon),
                    Cell(
                        text=words.numbers.plain(point.order),
                        small=words.say("end of the list") if point.is_at_edge else "",
                    ),
                )
                for point in series.points
            ),
        ),
    )


def _value(words: Words, name: str, value: float) -> str:
    return delta(words, value) if name == "delta" else written(words, value, CHOICES[name].kind)


def _drawn(words: Words, facts: StudyFacts, series: SeriesFact) -> list[Figure]:
    """Draw a choice; the order once more, near the least."""
    whole = _series(words, facts, series)
    near = tuple(p for p in series.points if p.epsilon <= _NEAR * facts.epsilon)
    if series.name != "order" or len(near) < 3:
        return [whole]
    title, order = words.say("ε by order α, near the least"), words.say(_ORDER)
    data = Curves(
        id="near-least",
        title=title,
        description=words.say(
            "The lowest part of the curve: the least ε is %(least)s, at order %(order)s.",
            least=words.numbers.amount(facts.epsilon),
            order=words.numbers.plain(facts.order),
        ),
        across=order,
        upwards=words.say("ε (%(scheme)s)", scheme=scheme(words, *_HOLDS)),
        from_zero=False,
        home=_home(facts, series),
    )
    line = Curve(name="", spots=tuple(Spot(x=p.value, y=p.epsilon) for p in near))
    table = Table(
        id="near-least-data",
        caption=title,
        columns=numbers(order, words.say("ε")),
        rows=tuple(
            (words.numbers.plain(p.value), words.numbers.amount(p.epsilon)) for p in near
        ),
    )
    svg = curves(words, data, [line])
    return [whole, Figure(id="near-least", title=title, svg=svg, data=table)]


def _home(facts: StudyFacts, series: SeriesFact) -> tuple[float, float]:
    if series.name == "order":
        return facts.order, facts.epsilon
    return float(getattr(facts, series.name)), facts.epsilon


def _surface(words: Words, facts: StudyFacts) -> Figure:
    title = words.say("ε by batch size and noise")
    rows = [words.numbers.count(batch) for batch in facts.batches]
    columns = [words.numbers.plain(noise) for noise in facts.noises]
    heights = [epsilon for line in facts.surface for epsilon in line]
    is_there = facts.batch_size in facts.batches and facts.noise_multiplier in facts.noises
    data = Surface(
        id="batch-noise",
        title=title,
        description=words.say(
            "A shade per batch size and noise, from ε = %(least)s to ε = %(most)s.",
            least=words.numbers.amount(min(heights)),
            most=words.numbers.amount(max(heights)),
        ),
        across=words.say("noise multiplier σ"),
        down=words.say("batch size"),
        columns=columns,
        rows=rows,
        ends=(words.say("low ε"), words.say("high ε")),
        home=(
            facts.batches.index(facts.batch_size),
            facts.noises.index(facts.noise_multiplier),
        )
        if is_there
        else None,
    )
    return Figure(
        id=data.id,
        title=title,
        svg=surface(words, data, facts.surface),
        data=Table(
            id="surface-data",
            caption=words.say(
                "%(title)s: %(scheme)s, classic formula",
                title=title,
                scheme=scheme(words, *_HOLDS),
            ),
            columns=(
                *numbers(words.say("batch size")),
                *numbers(*(f"σ = {noise}" for noise in columns)),
            ),
            rows=tuple(
                (name, *(words.numbers.amount(epsilon) for epsilon in line))
                for name, line in zip(rows, facts.surface, strict=True)
            ),
        ),
    )


def _errata(words: Words) -> Table:
    return Table(
        id="errata",
        caption=words.say("What the source of this study prints, and what is right"),
        columns=texts(words.say("Place"), words.say("Printed"), words.say("Right")),
        rows=tuple(tuple(words.say(text) for text in line) for line in ERRATA.values()),
    )


def _published(words: Words, facts: StudyFacts) -> Table:
    def corrected(value: float | None, noise: float | None) -> Cell | str:
        if value is None or noise is None:
            return "–"
        return Cell(
            text=words.numbers.amount(value),
            small=words.say("with σ = %(noise)s", noise=words.numbers.plain(noise)),
        )

    return Table(
        id="published-runs",
        caption=words.say(
            "Runs on 6,552 images of flowers, at δ = 10⁻⁴: ε as printed and counted again "
            "(%(scheme)s, classic formula)",
            scheme=scheme(words, *_HOLDS),
        ),
        columns=numbers(
            words.say("batch size"),
            words.say("noise multiplier σ"),
            words.say("passes over the data"),
            words.say("ε printed"),
            words.say("ε counted again"),
            words.say("ε corrected"),
            words.say("accuracy printed"),
        ),
        rows=tuple(
            (
                words.numbers.count(run.batch_size),
                words.numbers.plain(run.noise_multiplier),
                words.numbers.count(run.epochs),
                words.numbers.plain(run.printed),
                words.numbers.amount(run.epsilon),
                corrected(run.corrected, run.corrected_noise),
                words.numbers.share(run.accuracy),
            )
            for run in facts.published
        ),
        n_heads=3,
    )


def _parameters(words: Words, facts: StudyFacts) -> Table:
    lines = (
        (words.say("number of records"), words.numbers.count(facts.dataset_size)),
        (words.say("batch size"), words.numbers.count(facts.batch_size)),
        (words.say("sampling rate q"), words.numbers.plain(round(facts.sampling_rate, 6))),
        (words.say("noise multiplier σ"), words.numbers.plain(facts.noise_multiplier)),
        (words.say("passes over the data"), words.numbers.count(facts.epochs)),
        (words.say("steps"), words.numbers.count(facts.steps)),
        (words.say("δ"), delta(words, facts.delta)),
        (words.say("ε, classic formula"), words.numbers.amount(facts.epsilon)),
        (words.say("best order α"), words.numbers.plain(facts.order)),
    )
    return Table(
        id="parameters",
        caption=words.say("The run"),
        columns=(*texts(words.say("Name")), *numbers(words.say("Value"))),
        rows=lines,
    )


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
        download("study.json", as_json(facts)),
    ]
