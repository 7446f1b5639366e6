"""The frontier of designs by limits: how far from the possible a design is, and what is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reports.catalogues.frontier import (
    AGAINST,
    ATTACK_NAMES,
    ATTACKS,
    DOCUMENTED,
    LIMITS,
    LOSSES,
    PICTURES,
    PRIORS,
    SENTENCES,
)
from reports.catalogues.pages import headings
from reports.charts.curves import Design, Points, points
from reports.facts.frontier import AttackedFact, FiguresFact, FrontierDesignFact, FrontierFacts
from reports.i18n.languages import Words
from reports.parts import NOTHING, Cell, Figure, Lines, Table

#: Designs that lose more than so many times the most of the others stand in the table alone.
_FAR = 2.0
#: A gain below this is none: tables of greatest entropy may lose a hundredth more.
_LEAST_GAIN = 0.015


def frontier_page(words: Words, facts: FrontierFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what a frontier says."""
    without = ["attacks"] * (facts.attacks is None)
    return "frontier.html", {
        "title": words.text(facts.title) or SENTENCES["title"].say(words),
        "headings": headings(words, "frontier", without=without),
        **frontier_parts(words, facts),
    }


def frontier_parts(words: Words, facts: FrontierFacts) -> dict[str, Any]:
    """Arrange the parts that other pages show, too."""
    verdict, *remarks = findings(words, facts)
    return {
        "verdict": verdict,
        "remarks": remarks,
        "picture": frontier_picture(words, facts),
        "points": _points(words, facts),
        "designs": _designs(words, facts),
        "limits": _limits(words, facts),
        "attacks": None if facts.attacks is None else _attacks(words, facts),
        "attacks_said": attacks_said(words, facts),
    }


def findings(words: Words, facts: FrontierFacts) -> Iterator[str]:
    """Say how far the own design is from the possible, and what would better cost."""
    own = next((one for one in facts.designs if one.is_own), None)
    if own is None:
        yield SENTENCES["without-own"].say(words)
    else:
        yield from _of_own(words, facts, own)
    if facts.least_posterior is not None and facts.points:
        values = {"least_posterior": facts.least_posterior, "least": facts.points[0].bound}
        yield SENTENCES["strictest"].say(words, values)
    if len(facts.points) + len(facts.gaps) < facts.planned:
        values = {"points": float(len(facts.points)), "planned": float(facts.planned)}
        yield SENTENCES["stopped"].say(words, values)
    if facts.gaps:
        yield SENTENCES["missed"].say(words, {"n": float(len(facts.gaps))})
    yield SENTENCES["caution"].say(words)
    yield SENTENCES["no-privacy"].say(words)


def _of_own(words: Words, facts: FrontierFacts, own: FrontierDesignFact) -> Iterator[str]:
    loss, posterior = own.figures.loss, _told(facts, own.figures)
    values: dict[str, float | str] = {"loss": loss, "posterior": posterior}
    gain = 0.0 if own.cheaper is None or not loss else 1 - own.cheaper / loss
    if own.cheaper is not None and own.least is not None and gain > _LEAST_GAIN:
        better = {"less": own.cheaper, "least": own.least, "gain": gain}
        yield SENTENCES["cheaper"].say(words, values | better)
    else:
        yield SENTENCES["as-good"].say(words, values)
    if own.safer is not None and own.safer < posterior - _LEAST_GAIN / 10:
        yield SENTENCES["safer"].say(words, values | {"lower": own.safer})
    else:
        yield SENTENCES["not-safer"].say(words)
    if own.exceeds:
        yield SENTENCES["exceeds"].say(words, {"limits": _named(words, own.exceeds)})


def attacks_said(words: Words, facts: FrontierFacts) -> list[str]:
    """Say which design loses least of those with which attacks find no more."""
    attacks = facts.attacks
    if attacks is None:
        return []
    first = attacks.designs[0]
    values: dict[str, float | str] = {"loss": first.loss, "own_audit": first.audit or 0.0}
    if attacks.chosen is None:
        name, stated = "none", attacks.allowed["audit"]
        values["stated"] = stated
    elif attacks.chosen == 0:
        name = "entropy" if attacks.is_entropy else "own"
    else:
        name, best = "chosen", attacks.designs[attacks.chosen]
        values |= {"less": best.loss, "gain": 1 - best.loss / first.loss}
        values |= {"audit": best.audit or 0.0, "floor": best.floor or 0.0}
        values["full_floor"] = best.full_floor or 0.0
    conditions = {"small": float(attacks.small), "secrets": float(attacks.n_secrets)}
    return [ATTACKS[name].say(words, values), ATTACKS["read"].say(words, conditions)]


def _told(facts: FrontierFacts, figures: FiguresFact) -> float:
    return float(getattr(figures, facts.against))


def _named(words: Words, names: tuple[str, ...]) -> str:
    return words.listed(words.say(LIMITS[name]) for name in names)


def _name(words: Words, design: FrontierDesignFact) -> str:
    if design.name in DOCUMENTED:
        return words.say(DOCUMENTED[design.name])
    return design.name or SENTENCES["own"].say(words)


def _numbered(facts: FrontierFacts) -> Mapping[int, FrontierDesignFact]:
    """Give the designs numbers, after those of the points."""
    return dict(enumerate(facts.designs, start=len(facts.points) + 1))


def frontier_picture(words: Words, facts: FrontierFacts) -> Figure:
    """Draw points and designs; designs far off are named below."""
    usual = [one.figures.loss for one in facts.points]
    usual += [one.figures.loss for one in facts.designs if one.is_own]
    most = _FAR * max(usual)
    spots = [
        Design(
            number=str(number),
            name="",
            across=point.figures.loss,
            upwards=_told(facts, point.figures),
            is_front=True,
            is_chosen=False,
        )
        for number, point in enumerate(facts.points, start=1)
    ]
    far = [one for one in facts.designs if one.figures.loss > most]
    spots += [
        Design(
            number=str(number),
            name=_name(words, one),
            across=one.figures.loss,
            upwards=_told(facts, one.figures),
            is_front=False,
            is_chosen=one.is_own,
        )
        for number, one in _numbered(facts).items()
        if one not in far
    ]
    axes = {
        "across": words.say(LOSSES[facts.objective]),
        "upwards": words.say(AGAINST[facts.against]),
    }
    texts = PICTURES["frontier"].say(words, "frontier-map", points=len(facts.points))
    data = Points(**texts, **axes)
    lines: list[tuple[int, str, FiguresFact]] = [
        (number, data.front, point.figures) for number, point in enumerate(facts.points, 1)
    ]
    lines += [(n, _name(words, one), one.figures) for n, one in _numbered(facts).items()]
    table = (
        Lines(words, lines)
        .number("No.", lambda line: line[0], "count")
        .text("Table", lambda line: line[1])
        .numbers({0: axes["upwards"]}, lambda line, _: _told(facts, line[2]), "probability")
        .numbers({0: axes["across"]}, lambda line, _: line[2].loss, "amount")
        .table("frontier-map-data", data.title, n_heads=2)
    )
    names = words.listed(_name(words, one) for one in far)
    notes = (SENTENCES["unmapped"].say(words, {"names": names}),) if far else ()
    svg = points(words, data, spots)
    return Figure(id="frontier-map", title=data.title, svg=svg, data=table, notes=notes)


def _points(words: Words, facts: FrontierFacts) -> Table:
    own = next((one.figures.loss for one in facts.designs if one.is_own), None)
    lines = (
        Lines(words, list(enumerate(facts.points, start=1)))
        .number("No.", lambda line: line[0], "count")
        .number("Limit", lambda line: line[1].limit, "probability")
        .number("Posterior of one count", lambda line: line[1].figures.posterior, "probability")
        .number(
            "Posterior of the set", lambda line: line[1].figures.posterior_set, "probability"
        )
        .number("Loss", lambda line: line[1].figures.loss, "amount")
        .number("Lower bound of the loss", lambda line: line[1].bound, "amount")
    )
    if own:
        lines = lines.number(
            "Compared with your design, %",
            lambda line: 100 * (line[1].figures.loss / own - 1),
            "signed",
        )
    return (
        lines.number("Least variance", lambda line: line[1].figures.least_variance, "amount")
        .number("Greatest variance", lambda line: line[1].figures.largest_variance, "amount")
        .number("δ", lambda line: line[1].figures.neighbours, "probability")
        .number("Unchanged, at most", lambda line: line[1].figures.p_stay, "probability")
        .table("frontier-points", words.say("Certified tables of the frontier"))
    )


def _designs(words: Words, facts: FrontierFacts) -> Table:
    return (
        Lines(words, [*_numbered(facts).items()])
        .number("No.", lambda line: line[0], "count")
        .text("Design", lambda line: _name(words, line[1]))
        .number("Posterior of one count", lambda line: line[1].figures.posterior, "probability")
        .number(
            "Posterior of the set", lambda line: line[1].figures.posterior_set, "probability"
        )
        .number("Loss", lambda line: line[1].figures.loss, "amount")
        .number("Least loss at this posterior", lambda line: line[1].least, "amount")
        .number("Least loss with the same limits", lambda line: line[1].alike, "amount")
        .number("Least variance", lambda line: line[1].figures.least_variance, "amount")
        .number("δ", lambda line: line[1].figures.neighbours, "probability")
        .text(
            "Limits not kept",
            lambda line: _named(words, line[1].exceeds) if line[1].exceeds else NOTHING,
        )
        .table(
            "frontier-designs",
            words.say("Designs in use, beside the frontier"),
            n_heads=2,
            notes=(
                words.say(
                    "Least loss at this posterior: the lower bound of the loss of all "
                    "p-tables that keep the limits of the frontier and whose posterior is "
                    "no higher. Least loss with the same limits: the lower bound of the "
                    "loss of all p-tables with the same largest noise and the same "
                    "forbidden counts that exceed this design in no limit, the posterior "
                    "of the set among them; designs with bias have none."
                ),
            ),
        )
    )


def _limits(words: Words, facts: FrontierFacts) -> Table:
    number = words.numbers.plain
    lines = [
        (words.say("Largest noise"), number(facts.max_noise)),
        (words.say("Counts never published"), f"1–{facts.small}" if facts.small else NOTHING),
        (words.say("Sensitive counts"), words.numbers.ranges(facts.sensitive)),
    ]
    lines += [
        (
            words.say(LIMITS[name]),
            words.say("by row") if value is None else words.numbers.plain(value),
        )
        for name, value in facts.limits.items()
    ]
    lines.append((words.say("Loss"), words.say(LOSSES[facts.objective])))
    names = [words.say(PRIORS[name]) for name in dict.fromkeys(facts.priors)]
    lines.append((words.say("Priors, the first weighs the loss"), words.listed(names)))
    return (
        Lines(words, lines)
        .text("Quantity", lambda line: line[0])
        .text("Value", lambda line: line[1])
        .table("frontier-limits", words.say("What all points have in common"))
    )


def _attacks(words: Words, facts: FrontierFacts) -> Table:
    attacks = facts.attacks
    designs = () if attacks is None else attacks.designs
    share = words.numbers.share

    def variance(value: float | None) -> str:
        return SENTENCES["own"].say(words) if value is None else words.numbers.amount(value)

    def audit(one: AttackedFact) -> Cell:
        error = "" if one.error is None else f"± {share(one.error)}"
        return Cell(text=NOTHING if one.audit is None else share(one.audit), small=error)

    def verdict(one: AttackedFact) -> str:
        if one.is_as_safe is None:
            return words.say("not tried")
        return words.say("yes") if one.is_as_safe else words.say("no")

    return (
        Lines(words, designs)
        .text("Variance of small counts, at least", lambda one: variance(one.floor))
        .text("Of full rows, at least", lambda one: variance(one.full_floor))
        .number("Loss", lambda one: one.loss, "amount")
        .numbers(_headed(words, "audit"), lambda one, _: audit(one))
        .numbers(
            _headed(words, "together", "alone", "differencing", "averaging"),
            getattr,
            "share",
        )
        .text("Attacks no more successful", verdict)
        .table("frontier-attacks", words.say("Success of attacks, by design"))
    )


def _headed(words: Words, *names: str) -> dict[str, str]:
    return {name: words.say(ATTACK_NAMES[name]) for name in names}
