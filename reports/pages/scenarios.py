"""Designs side by side: the map of risk and utility, and what was refused."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from reports.catalogues.comparison import PICTURES, TRIALS
from reports.catalogues.measures import figure_name, kind_of
from reports.catalogues.wording import Kind, written
from reports.charts.curves import Design, Points, points
from reports.facts.release import DesignFact, ScenarioFacts
from reports.i18n.languages import Words
from reports.i18n.messages import translated
from reports.parts import Cell, Entry, Figure, Lines, Table

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
        .text("Reason", lambda line: translated(line[1], words.language))
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
    selection: Collection[str] = (),
) -> Table:
    """Arrange figures, one design a line, of all or some; its number is that on the map."""
    return (
        Lines(
            words,
            [(n, d) for n, d in enumerate(designs, 1) if not selection or d.name in selection],
        )
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
    places = (
        (words.say("on the frontier"), design.front),
        (words.say("chosen"), design.chosen),
    )
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
    from risk.risk_map.catalogue import FIGURES

    names = (scenarios.risk, scenarios.utility)
    kinds = {figure_name(words, name): kind_of(FIGURES[name].unit) for name in names}
    return points_map(words, spots, kinds, ident="map", head="Design")


def points_map(
    words: Words,
    spots: Sequence[Design],
    kinds: Mapping[str, Kind],
    *,
    ident: str,
    head: str,
    notes: Iterable[str] = (),
) -> list[Figure]:
    """Draw what has two figures, upwards and across, each with its kind; none without any."""
    if not spots:
        return []
    upwards, across = kinds
    texts = PICTURES[ident].say(
        words, ident, designs=len(spots), across=across, upwards=upwards
    )
    data = Points(**texts, across=across, upwards=upwards)
    table = (
        Lines(words, spots)
        .number("No.", lambda spot: spot.number)
        .text(head, lambda spot: spot.name)
        .numbers(
            {name: name for name in kinds},
            lambda spot, name: written(
                words, spot.upwards if name == upwards else spot.across, kinds[name]
            ),
        )
        .table(f"{ident}-data", words.say("Figures of the map"), n_heads=2)
    )
    svg = points(words, data, spots)
    notes = (*_beaten(words, data, spots), *notes)
    return [Figure(id=ident, title=data.title, svg=svg, data=table, notes=notes)]


def _beaten(words: Words, data: Points, spots: Sequence[Design]) -> Iterator[str]:
    """Say of a chosen design which other one is better, and by how much."""
    amount = words.numbers.amount
    for spot in spots:
        better = min(
            (o for o in spots if o.across <= spot.across and o.upwards <= spot.upwards),
            key=lambda other: (other.across, other.upwards),
        )
        if spot.is_chosen and (better.across, better.upwards) != (spot.across, spot.upwards):
            values = {"chosen": spot.name, "upwards": data.upwards, "across": data.across}
            values |= {"better": better.name, "less_up": amount(better.upwards)}
            values |= {"more_up": amount(spot.upwards), "less": amount(better.across)}
            yield TRIALS["beaten"].say(words, values | {"more": amount(spot.across)})
