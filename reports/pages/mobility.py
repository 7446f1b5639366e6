"""Trips: how many points tell who somebody is, and what else places give away."""

from collections.abc import Iterator
from typing import Any

from footing.messages import mark
from reports.catalogues.pages import headings
from reports.catalogues.wording import WordLists
from reports.charts.curves import Curve, Curves, Spot, panels
from reports.facts.mobility import GrainFact, MobilityFacts, ShareFact
from reports.facts.quantity import Quantity
from reports.i18n.languages import Words
from reports.pages.common import quantities
from reports.parts import NOTHING, Cell, Lines, Row, Table

_WORDS = WordLists("mobility")
_FINDINGS = _WORDS.sentences("findings")
_HOMES, _MOVES, _MET, _READ = map(_WORDS.texts, ("homes", "moves", "met", "read"))
#: Points, and shared places, that the first sentences speak of; metres of a kilometre.
_POINTS, _PLACES, _FAR = 4, 3, 1000


def mobility_page(words: Words, facts: MobilityFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what trips give away."""
    verdict, *remarks = findings(words, facts)
    return "mobility.html", {
        "title": facts.title or words.say("Audit of trips"),
        "headings": headings(words, "mobility"),
        "verdict": verdict,
        "remarks": remarks,
        "picture": _picture(words, facts),
        "homes": _homes(words, facts),
        "moves": _moves(words, facts),
        "met": _met(words, facts),
        "read": quantities(
            words,
            [Quantity(text, getattr(facts, name), "count") for name, text in _READ.items()],
            name=mark("Quantity"),
            value=mark("Number"),
        ).table("read", words.say("What was read")),
        "confidence": words.numbers.share(facts.confidence),
    }


def findings(words: Words, facts: MobilityFacts) -> Iterator[str]:
    """Say what the finest grain gives away."""
    finest = facts.grains[0]
    hours = min(finest.alone)
    grain = {"grain": _width(words, finest), "hours": words.numbers.plain(hours)}
    shares: dict[str, tuple[ShareFact, ShareFact | None]] = {
        "alone": (finest.alone[hours][_POINTS], None),
        "both": (finest.both, finest.home),
        "foretold": (finest.foretold, finest.usual),
        "met": (finest.met[_PLACES - 1], None),
    }
    if finest.met_by_chance:
        shares["met_by_chance"] = finest.met_by_chance[_PLACES - 1], None
    for name, (fact, other) in shares.items():
        values = {"share": _said(words, fact), "base": words.numbers.count(fact.base)}
        values["other"] = "" if other is None else _said(words, other)
        if fact.base:
            yield _FINDINGS[name].say(words, grain | values)
        elif name == "alone":
            yield _FINDINGS["none"].say(words)


def _said(words: Words, fact: ShareFact) -> str:
    """Write a share with its interval."""
    cell = _cell(words, fact)
    return f"{cell.text} ({cell.small})" if cell.small else cell.text


def _cell(words: Words, fact: ShareFact) -> Cell:
    if not fact.base:
        return Cell(text=NOTHING)
    share, small = words.numbers.share, ""
    if fact.low is not None and fact.high is not None:
        small = words.say("%(low)s to %(high)s", low=share(fact.low), high=share(fact.high))
    return Cell(text=share(fact.n / fact.base), small=small.replace(" ", "\N{NO-BREAK SPACE}"))


def _width(words: Words, grain: GrainFact) -> str:
    if not grain.metres:
        return words.say("places as named")
    is_far = grain.metres >= _FAR
    number = words.numbers.plain(grain.metres / (_FAR if is_far else 1))
    return f"{number}\N{NO-BREAK SPACE}{'k' * is_far}m"


def _homes(words: Words, facts: MobilityFacts) -> Table:
    return (
        Lines(words, facts.grains)
        .text("Cells", lambda grain: _width(words, grain))
        .number("Persons", lambda grain: grain.both.base, "count")
        .numbers(
            _said_in(words, _HOMES), lambda grain, name: _cell(words, getattr(grain, name))
        )
        .number("Same home and work, median", lambda grain: grain.usual_crowd, "count")
        .table("homes", words.say("Home and work, where both show"))
    )


def _moves(words: Words, facts: MobilityFacts) -> Table:
    return (
        Lines(words, facts.grains)
        .text("Cells", lambda grain: _width(words, grain))
        .number("Persons", lambda grain: grain.foretold.base, "count")
        .numbers(
            _said_in(words, _MOVES), lambda grain, name: _cell(words, getattr(grain, name))
        )
        .table("moves", words.say("The last move of a person"))
    )


def _said_in(words: Words, texts: Any) -> dict[str, str]:
    return {name: words.say(text) for name, text in texts.items()}


def _met(words: Words, facts: MobilityFacts) -> Table:
    cases = [
        (f"{_width(words, grain)}, {words.say(heading)}", getattr(grain, name))
        for grain in facts.grains
        for name, heading in _MET.items()
        if getattr(grain, name)
    ]
    many = range(len(facts.grains[0].met))
    return (
        Lines(words, cases)
        .text("Cells, others", lambda case: case[0])
        .numbers(
            {n: words.say("%(n)s or more", n=words.numbers.count(n + 1)) for n in many},
            lambda case, n: _cell(words, case[1][n]),
        )
        .table("met", words.say("Persons who shared so many cells with one other"))
    )


def _picture(words: Words, facts: MobilityFacts) -> Row:
    """Draw for each width of cells the share of persons told apart, by points known."""
    say, plain, pictures = words.say, words.numbers.plain, []
    for place, grain in enumerate(facts.grains):
        data = Curves(
            id=f"alone-{place}",
            title=_width(words, grain),
            description=say(
                "The share of persons who are unique in the file, by number of known points."
            ),
            across=say("points known"),
            upwards=say("share (%)"),
        )
        curves = [
            Curve(
                name=say("times of %(hours)s h", hours=plain(hours)),
                spots=tuple(
                    Spot(x=n, y=100 * fact.n / fact.base)
                    for n, fact in by_number.items()
                    if fact.base
                ),
            )
            for hours, by_number in grain.alone.items()
        ]
        pictures.append((data, [curve for curve in curves if curve.spots]))
    cases = [(grain, hours) for grain in facts.grains for hours in grain.alone]
    table = (
        Lines(words, cases)
        .text(
            "Cells and times",
            lambda case: f"{_width(words, case[0])}, {plain(case[1])}\N{NO-BREAK SPACE}h",
        )
        .numbers(
            {
                n: say("%(n)s points", n=words.numbers.count(n))
                for n in cases[0][0].alone[cases[0][1]]
            },
            lambda case, n: _cell(words, case[0].alone[case[1]][n]),
        )
        .table("alone", say("Persons who are unique in the file, by number of known points"))
    )
    return Row(
        id="points-known",
        title=say("Persons who are unique in the file, by number of known points of them"),
        panels=panels(words, "points-known", [one for one in pictures if one[1]]),
        data=table,
    )
