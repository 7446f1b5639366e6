"""Designs side by side: the map of risk and utility, and what was refused."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from reports.catalogues.comparison import PICTURES, TRIALS
from reports.catalogues.measures import figure_name, kind_of
from reports.catalogues.wording import written
from reports.charts.curves import Design, Points, points
from reports.parts import Cell, Figure, Lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from reports.facts.release import DesignFact, ScenarioFacts
    from reports.i18n.languages import Words
    from reports.parts import Entry, Table

_MAIN = (
    "q_worst_set", "differencing", "aad", "changed_pct",
    "false_zeros_pct", "hellinger_raw",
)  # fmt: skip


def scenario_parts(
    words: Words, scenarios: ScenarioFacts, figures: Sequence[str] = _MAIN
) -> dict[str, Any]:
    """Arrange the designs that were compared, by their main figures."""
    main = tuple(dict.fromkeys((scenarios.risk, scenarios.utility, *figures)))
    every = tuple(dict.fromkeys(n for design in scenarios.designs for n in design.figures))
    return {
        "chosen": [design.name for design in scenarios.designs if design.chosen],
        "front": [design.name for design in scenarios.designs if design.front],
        "pictures": designs_map(words, scenarios),
        "main": figure_table(
            words,
            scenarios.designs,
            names=[name for name in main if name in every],
            ident="designs",
            caption=words.say("Designs compared, on all tables together"),
            notes=(TRIALS["cells"].say(words),),
        ),
        "all": figure_table(
            words,
            scenarios.designs,
            names=every,
            ident="all-figures",
            caption=words.say("All figures of the designs"),
        ),
        "refused": Lines(words, scenarios.refused.items())
        .text("Design", itemgetter(0))
        .text("Reason", itemgetter(1))
        .table("refused", words.say("Designs refused")),
    }


def figure_entry(words: Words, name: str, number: float | None) -> Entry:
    """Write a figure of a design."""
    if number is None:
        return words.say("not defined")
    from risk.risk_map.catalogue import FIGURES

    return written(words, number, kind_of(FIGURES[name].unit))


def figure_table(
    words: Words,
    designs: Sequence[DesignFact],
    *,
    names: Sequence[str],
    ident: str,
    caption: str,
    notes: tuple[str, ...] = (),
    shown: Collection[str] = (),
) -> Table:
    """Arrange figures, one design a line, of all or some; its number is that on the map."""
    return (
        Lines(words, [(n, d) for n, d in enumerate(designs, 1) if not shown or d.name in shown])
        .number("No.", lambda line: line[0], "count")
        .text("Design", lambda line: _named(words, line[1]))
        .numbers(
            {name: figure_name(words, name) for name in names},
            lambda line, name: (
                figure_entry(words, name, line[1].figures[name])
                if name in line[1].figures
                else words.say("not computed")
            ),
        )
        .table(ident, caption, n_heads=2, notes=notes)
    )


def _named(words: Words, design: DesignFact) -> Cell:
    places = ((words.say("on the front"), design.front), (words.say("chosen"), design.chosen))
    return Cell(text=design.name, small=words.listed(text for text, holds in places if holds))


def designs_map(words: Words, scenarios: ScenarioFacts) -> list[Figure]:
    """Draw the designs that have both figures, by number; none without any."""
    spots = []
    for place, design in enumerate(scenarios.designs, start=1):
        risk = design.figures.get(scenarios.risk)
        loss = design.figures.get(scenarios.utility)
        if risk is not None and loss is not None:
            spots.append(
                Design(
                    number=str(place),
                    name=design.name,
                    across=loss,
                    upwards=risk,
                    is_front=design.front,
                    is_chosen=design.chosen,
                )
            )
    if not spots:
        return []
    across = figure_name(words, scenarios.utility)
    upwards = figure_name(words, scenarios.risk)
    data = Points(
        **PICTURES["map"].say(words, "map", designs=len(spots), across=across, upwards=upwards),
        across=across,
        upwards=upwards,
    )
    shown = [scenarios.designs[int(spot.number) - 1] for spot in spots]
    names = (scenarios.risk, scenarios.utility)
    table = (
        Lines(words, list(zip(spots, shown, strict=True)))
        .number("No.", lambda line: line[0].number)
        .text("Design", lambda line: line[1].name)
        .numbers(
            {name: figure_name(words, name) for name in names},
            lambda line, name: figure_entry(words, name, line[1].figures[name]),
        )
        .table("map-data", words.say("The two figures of the map"), n_heads=2)
    )
    svg = points(words, data, spots)
    notes = tuple(_beaten(words, data, spots))
    return [Figure(id="map", title=data.title, svg=svg, data=table, notes=notes)]


def _beaten(words: Words, data: Points, spots: Sequence[Design]) -> Iterator[str]:
    """Say of a chosen design which other one is better, and by how much."""
    amount = words.numbers.amount
    for spot in spots:
        better = min(
            (o for o in spots if o.across <= spot.across and o.upwards <= spot.upwards),
            key=lambda other: (other.across, other.upwards),
        )
        if spot.is_chosen and (better.across, better.upwards) != (spot.across, spot.upwards):
            said = {"chosen": spot.name, "upwards": data.upwards, "across": data.across}
            said |= {"better": better.name, "less_up": amount(better.upwards)}
            said |= {"more_up": amount(spot.upwards), "less": amount(better.across)}
            yield TRIALS["beaten"].say(words, said | {"more": amount(spot.across)})
