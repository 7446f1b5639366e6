"""Trips: how many points tell who somebody is, and what else places give away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.pages import headings
from reports.charts.curves import Curve, Curves, Spot, panels
from reports.parts import NOTHING, Cell, Lines, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.facts.mobility import GrainFact, MobilityFacts, ShareFact
    from reports.i18n.languages import Words
    from reports.parts import Table

#: Points, and shared places, that the first sentences speak of.
_POINTS, _PLACES = 4, 3


def mobility_page(words: Words, facts: MobilityFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what trips give away."""
    verdict, *remarks = findings(words, facts)
    return "mobility.html", {
        "title": facts.title or words.say("Audit of trips"),
        "headings": headings(words, "mobility"),
        "verdict": verdict,
        "remarks": remarks,
        "picture": _picture(words, facts),
        "alone": _alone(words, facts),
        "homes": _homes(words, facts),
        "moves": _moves(words, facts),
        "met": _met(words, facts),
        "read": _read(words, facts),
        "confidence": words.numbers.share(facts.confidence),
    }


def findings(words: Words, facts: MobilityFacts) -> Iterator[str]:
    """Say what the finest grain gives away."""
    finest = facts.grains[0]
    hours = min(finest.alone)
    alone = finest.alone[hours][_POINTS]
    named = {"grain": _width(words, finest), "hours": words.numbers.plain(hours)}
    if not alone.base:
        yield words.say("No person in the sample has four points that differ: nothing to find.")
    else:
        yield words.say(
            "Four points, each a cell (%(grain)s) and a time of %(hours)s h, tell %(share)s of "
            "%(base)s sampled persons from everybody else in the file.",
            **named,
            share=_said(words, alone),
            base=words.numbers.count(alone.base),
        )
    if finest.both.base:
        yield words.say(
            "Of %(base)s persons whose home and work show, %(both)s are alone with this pair "
            "of cells (%(grain)s), and %(home)s with the home.",
            **named,
            base=words.numbers.count(finest.both.base),
            both=_said(words, finest.both),
            home=_said(words, finest.home),
        )
    if finest.foretold.base:
        yield words.say(
            "The last move of %(share)s of %(base)s persons was foretold by their moves "
            "before, and of %(usual)s by the cell that they came to most.",
            share=_said(words, finest.foretold),
            base=words.numbers.count(finest.foretold.base),
            usual=_said(words, finest.usual),
        )
    met = finest.met[_PLACES - 1]
    told = words.say(
        "Three cells or more, each in the same hour, were shared with one other by %(share)s "
        "of %(base)s sampled persons.",
        share=_said(words, met),
        base=words.numbers.count(met.base),
    )
    if finest.met_by_chance:
        told += " " + words.say(
            "Were all others moved by whole weeks or days, it would be %(share)s: what is "
            "beyond that hints at company rather than habit.",
            share=_said(words, finest.met_by_chance[_PLACES - 1]),
        )
    yield told


def _said(words: Words, fact: ShareFact) -> str:
    """Write a share with its interval."""
    cell = _cell(words, fact)
    return f"{cell.text} ({cell.small})" if cell.small else cell.text


def _cell(words: Words, fact: ShareFact) -> Cell:
    if not fact.base:
        return Cell(text=NOTHING)
    share = words.numbers.share
    small = ""
    if fact.low is not None and fact.high is not None:
        small = words.say("%(low)s to %(high)s", low=share(fact.low), high=share(fact.high))
    return Cell(text=share(fact.n / fact.base), small=small.replace(" ", "\N{NO-BREAK SPACE}"))


def _width(words: Words, grain: GrainFact) -> str:
    if not grain.metres:
        return words.say("places as named")
    is_far = grain.metres >= 1000
    number = words.numbers.plain(grain.metres / (1000 if is_far else 1))
    return f"{number}\N{NO-BREAK SPACE}{'km' if is_far else 'm'}"


def _lines(words: Words, facts: MobilityFacts) -> Lines[GrainFact]:
    return Lines(words, facts.grains).text("Cells", lambda grain: _width(words, grain))


def _alone(words: Words, facts: MobilityFacts) -> Table:
    cases = [(grain, hours) for grain in facts.grains for hours in grain.alone]
    known = next(iter(facts.grains[0].alone.values()))
    return (
        Lines(words, cases)
        .text(
            "Cells and times",
            lambda case: (
                f"{_width(words, case[0])}, {words.numbers.plain(case[1])}\N{NO-BREAK SPACE}h"
            ),
        )
        .numbers(
            {n: words.say("%(n)s points", n=words.numbers.count(n)) for n in known},
            lambda case, n: _cell(words, case[0].alone[case[1]][n]),
        )
        .table("alone", words.say("Persons told from everybody else, by points known"))
    )


def _homes(words: Words, facts: MobilityFacts) -> Table:
    return (
        _lines(words, facts)
        .number("Persons", lambda grain: grain.both.base, "count")
        .number("Alone with home", lambda grain: _cell(words, grain.home))
        .number("Alone with work", lambda grain: _cell(words, grain.work))
        .number("Alone with both", lambda grain: _cell(words, grain.both))
        .number("Same home and work, median", lambda grain: grain.usual_crowd, "count")
        .table("homes", words.say("Home and work, where both show"))
    )


def _moves(words: Words, facts: MobilityFacts) -> Table:
    return (
        _lines(words, facts)
        .number("Persons", lambda grain: grain.foretold.base, "count")
        .number("Foretold by moves before", lambda grain: _cell(words, grain.foretold))
        .number("By the most frequent cell", lambda grain: _cell(words, grain.usual))
        .table("moves", words.say("The last move of a person"))
    )


def _met(words: Words, facts: MobilityFacts) -> Table:
    cases = [
        (grain, shares, words.say("moved in time") if is_moved else words.say("as they are"))
        for grain in facts.grains
        for is_moved, shares in enumerate((grain.met, grain.met_by_chance))
        if shares
    ]
    many = range(len(facts.grains[0].met))
    return (
        Lines(words, cases)
        .text("Cells, others", lambda case: f"{_width(words, case[0])}, {case[2]}")
        .numbers(
            {n: words.say("%(n)s or more", n=words.numbers.count(n + 1)) for n in many},
            lambda case, n: _cell(words, case[1][n]),
        )
        .table("met", words.say("Persons who shared so many cells with one other"))
    )


def _read(words: Words, facts: MobilityFacts) -> Table:
    say = words.say
    lines = [
        (say("Rows"), facts.rows),
        (say("Without a person, a time or a place, left out"), facts.without),
        (say("With coordinates that are none, left out"), facts.outside),
        (say("Repeated, counted once"), facts.repeated),
        (say("Points"), facts.points),
        (say("Persons"), facts.persons),
        (say("Persons with one point"), facts.persons_once),
        (say("Days from the first to the last"), facts.days),
        (say("Persons in the sample"), facts.sampled),
        (say("Seed of what was drawn"), facts.seed),
    ]
    return (
        Lines(words, lines)
        .text("What", lambda line: line[0])
        .number("Number", lambda line: line[1], "count")
        .table("read", say("What was read"))
    )


def _picture(words: Words, facts: MobilityFacts) -> Row:
    """Draw for each width of cells the share of persons told apart, by points known."""
    say, drawn = words.say, []
    for place, grain in enumerate(facts.grains):
        data = Curves(
            id=f"alone-{place}",
            title=_width(words, grain),
            description=say("The share of persons told from everybody else, by points known."),
            across=say("points known"),
            upwards=say("share (%)"),
        )
        curves = [
            Curve(
                name=say("times of %(hours)s h", hours=words.numbers.plain(hours)),
                spots=tuple(
                    Spot(x=n, y=100 * fact.n / fact.base)
                    for n, fact in known.items()
                    if fact.base
                ),
            )
            for hours, known in grain.alone.items()
        ]
        drawn.append((data, [curve for curve in curves if curve.spots]))
    return Row(
        id="points-known",
        title=say("Persons told from everybody else, by the points known of them"),
        panels=panels(words, "points-known", [one for one in drawn if one[1]]),
        data=_alone(words, facts),
    )
