"""Measures of utility in words; how far published counts lie from original ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.catalogues.measures import kind_of, measure_name
from reports.catalogues.release import NOTES, PICTURES
from reports.catalogues.wording import written
from reports.charts.bars import SpreadLine, spread
from reports.charts.drawing import Labels
from reports.parts import Cell, Figure, Lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reports.facts.release import MeasureFact
    from reports.i18n.languages import Words
    from reports.parts import Entry, Table


def class_words(words: Words, name: str) -> str:
    """Say a class of original counts."""
    known = {
        "all": words.say("all cells"),
        "small": words.say("small counts, 1–20"),
        "medium": words.say("medium counts, 21–50"),
        "large": words.say("large counts, 51 or more"),
    }
    return known.get(name, name)


def measure_entry(words: Words, fact: MeasureFact | None, *, base: int | None = None) -> Entry:
    """Write a measure; where there is none, the reason stands below."""
    if fact is None:
        return words.say("not computed")
    if fact.number is None:
        return Cell(text=words.say("not defined"), small=words.say(fact.reason))
    from risk.utility import DEFINITIONS

    text = written(words, fact.number, kind_of(DEFINITIONS[fact.name][0]))
    if base is None or fact.base == base:
        return text
    return Cell(text=text, small=words.say("of %(n)s", n=words.numbers.count(fact.base)))


def quantile_table(words: Words, overall: Sequence[MeasureFact]) -> Table:
    """Arrange the quantiles of absolute and relative deviations, by class of counts."""
    lines = []
    for kind in ("d1", "d2"):
        for cells in dict.fromkeys(fact.cells for fact in overall):
            known = {
                fact.name.removeprefix(f"{kind}_"): fact
                for fact in overall
                if fact.cells == cells and fact.name.startswith(f"{kind}_")
            }
            if known:
                lines.append((kind, cells, known))
    write = words.numbers.plain
    columns = {
        "min": words.say("least"),
        "q10": write(0.1),
        "median": words.say("median"),
        "q90": write(0.9),
        "q95": write(0.95),
        "q99": write(0.99),
        "max": words.say("largest"),
    }
    return (
        Lines(words, lines)
        .text("Deviation", lambda line: measure_name(words, line[0]))
        .text("Cells", lambda line: class_words(words, line[1]))
        .number("Base", lambda line: _base(line[2], columns), "count")
        .numbers(
            columns,
            lambda line, name: measure_entry(
                words, line[2].get(name), base=_base(line[2], columns)
            ),
        )
        .table(
            "quantiles",
            words.say("Quantiles of absolute and relative deviations"),
            n_heads=2,
        )
    )


def _base(known: Mapping[str, MeasureFact], names: Iterable[str]) -> int:
    """Give the number of cells that a line is about."""
    return max((known[name].base for name in names if name in known), default=0)


def spread_picture(words: Words, overall: Sequence[MeasureFact]) -> list[Figure]:
    """Draw the quantiles of absolute deviations, by class of counts."""
    lines = []
    for cells in dict.fromkeys(fact.cells for fact in overall):
        known = {fact.name: fact.number for fact in overall if fact.cells == cells}
        values = [known.get(f"d1_{q}") for q in ("min", "q10", "median", "q90", "max")]
        numbers_ = [value for value in values if value is not None]
        if len(numbers_) == 5:
            lines.append(SpreadLine(class_words(words, cells).partition(",")[0], *numbers_))
    if not lines:
        return []
    data = Labels(**PICTURES["spread"].say(words, "spread"))
    figure = (
        Lines(words, lines)
        .text("Cells", lambda line: line.name)
        .number("least", lambda line: line.least, "amount")
        .numbers({0.1: words.numbers.plain(0.1)}, lambda line, _: line.q10, "amount")
        .number("median", lambda line: line.median, "amount")
        .numbers({0.9: words.numbers.plain(0.9)}, lambda line, _: line.q90, "amount")
        .number("largest", lambda line: line.most, "amount")
        .figure(
            data,
            spread(words, data, lines),
            caption=words.say("Absolute deviation of a cell, by class of original counts"),
            notes=[NOTES["box"].say(words)],
        )
    )
    return [figure]
