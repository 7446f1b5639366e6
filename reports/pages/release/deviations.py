"""How far published counts lie from original ones: quantiles, and their picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.catalogues.measures import measure_name
from reports.charts.spread import Spread, SpreadLine, spread
from reports.pages.release.measures import class_words, measure_entry
from reports.parts import Figure, Lines, Table, numbers, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.facts.release import MeasureFact
    from reports.i18n.languages import Words

__all__ = ["quantile_table", "spread_picture"]


def quantile_table(words: Words, overall: Sequence[MeasureFact]) -> Table:
    """Arrange the quantiles of absolute and relative deviations, by class of counts.

    Parameters
    ----------
    words
        The language.
    overall
        The measures of all tables together.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> quantile_table(words_of("en"), ()).id
    'quantiles'
    """
    lines = []
    for kind in ("d1", "d2"):
        for cells in dict.fromkeys(fact.cells for fact in overall):
            some = [
                _renamed(fact, kind)
                for fact in overall
                if fact.cells == cells and fact.name.startswith(f"{kind}_")
            ]
            if some:
                head = (measure_name(words, kind), class_words(words, cells))
                lines.append((head, dict(some).get))
    columns = {
        "min": words.say("least"),
        "q10": "0.1",
        "median": words.say("median"),
        "q90": "0.9",
        "q95": "0.95",
        "q99": "0.99",
        "max": words.say("largest"),
    }
    write = words.numbers.plain
    headings = [
        text if not text.startswith("0.") else write(float(text)) for text in columns.values()
    ]
    rows = []
    for head, find in lines:
        facts = [find(name) for name in columns]
        base = max((fact.base for fact in facts if fact is not None), default=0)
        rows.append(
            (
                *head,
                words.numbers.count(base),
                *(measure_entry(words, fact, base=base) for fact in facts),
            )
        )
    return Table(
        id="quantiles",
        caption=words.say("Quantiles of absolute and relative deviations"),
        columns=(
            *texts(words.say("Deviation"), words.say("Cells")),
            *numbers(words.say("Base"), *headings),
        ),
        rows=tuple(rows),
        n_heads=2,
    )


def _renamed(fact: MeasureFact, kind: str) -> tuple[str, MeasureFact]:
    return fact.name.removeprefix(f"{kind}_"), fact


def spread_picture(words: Words, overall: Sequence[MeasureFact]) -> list[Figure]:
    """Draw the quantiles of absolute deviations, by class of counts.

    Parameters
    ----------
    words
        The language.
    overall
        The measures of all tables together; without quantiles there is no picture.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> spread_picture(words_of("en"), ())
    []
    """
    lines = []
    for cells in dict.fromkeys(fact.cells for fact in overall):
        known = {fact.name: fact.number for fact in overall if fact.cells == cells}
        values = [known.get(f"d1_{q}") for q in ("min", "q10", "median", "q90", "max")]
        numbers_ = [value for value in values if value is not None]
        if len(numbers_) == 5:
            least, q10, median, q90, most = numbers_
            lines.append(
                SpreadLine(
                    name=class_words(words, cells).partition(",")[0],
                    least=least,
                    q10=q10,
                    median=median,
                    q90=q90,
                    most=most,
                )
            )
    if not lines:
        return []
    title = words.say("Absolute deviation of a cell")
    data = Spread(
        id="spread",
        title=title,
        description=words.say(
            "A line per class of original counts: it runs from the least to the largest "
            "deviation, the box holds the middle 80 percent, the bar is the median."
        ),
        across=words.say("counts"),
    )
    table = (
        Lines(words, lines)
        .text("Cells", lambda line: line.name)
        .number("least", lambda line: line.least, "amount")
        .numbers({0.1: words.numbers.plain(0.1)}, lambda line, _: line.q10, "amount")
        .number("median", lambda line: line.median, "amount")
        .numbers({0.9: words.numbers.plain(0.9)}, lambda line, _: line.q90, "amount")
        .number("largest", lambda line: line.most, "amount")
        .table(
            "spread-data",
            words.say("Absolute deviation of a cell, by class of original counts"),
        )
    )
    return [
        Figure(
            id="spread",
            title=title,
            svg=spread(words, data, lines),
            data=table,
            notes=(words.say("Box: the middle 80 percent of the cells; bar: the median."),),
        )
    ]
