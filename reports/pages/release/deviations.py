"""Measures of utility in words; how far published counts lie from original ones."""

from collections.abc import Sequence

from reports.catalogues.measures import kind_of
from reports.catalogues.release import PICTURES
from reports.catalogues.wording import written
from reports.charts.bars import Bar, Bars, rows
from reports.facts.release import MeasureFact, SizeFact
from reports.i18n.languages import Words
from reports.parts import Cell, Entry, Figure, Lines


def class_words(words: Words, name: str) -> str:
    """Say a class of original counts."""
    names = {
        "all": words.say("all cells"),
        "small": words.say("small counts, 1–20"),
        "medium": words.say("medium counts, 21–50"),
        "large": words.say("large counts, 51 or more"),
    }
    return names.get(name, name)


def measure_entry(words: Words, fact: MeasureFact | None, *, base: int | None = None) -> Entry:
    """Write a measure; where there is none, the reason stands below."""
    if fact is None:
        return words.say("not computed")
    if fact.number is None:
        return Cell(text=words.say("not defined"), small=words.say(fact.reason))
    from risk.utility import DEFINITIONS

    kind = kind_of(DEFINITIONS[fact.name][0])
    is_whole = kind == "amount" and fact.number == round(fact.number)
    text = written(words, fact.number, "count" if is_whole else kind)
    if base is None or fact.base == base:
        return text
    return Cell(text=text, small=words.say("of %(n)s", n=words.numbers.count(fact.base)))


def size_picture(words: Words, sizes: Sequence[SizeFact]) -> list[Figure]:
    """Draw how far counts lie off as a share of them, by size of cell."""
    if not sizes:
        return []
    texts = PICTURES["sizes"].say(
        words, "by-size", first=sizes[0].most_share, last=sizes[-1].most_share
    )
    bars, write = Bars(**texts), words.numbers
    lines = [
        Bar(
            name=class_name(words, fact.low, fact.high),
            number=fact.most_share,
            text=words.say(
                "± %(count)s: %(share)s",
                count=write.count(fact.most),
                share=write.share(fact.most_share),
            ),
        )
        for fact in sizes
    ]
    return [
        Lines(words, sizes)
        .text("Original count", lambda fact: class_name(words, fact.low, fact.high))
        .number("Cells", lambda fact: fact.cells, "count")
        .number("Half of the cells, ±", lambda fact: fact.half, "count")
        .number("as a share", lambda fact: fact.half_share, "share")
        .number("Nine tenths, ±", lambda fact: fact.most, "count")
        .number("as a share", lambda fact: fact.most_share, "share")
        .figure(bars, rows(words, bars, lines, are_shares=True, write=write.percent))
    ]


def class_name(words: Words, low: int, high: int | None) -> str:
    """Name a class of original counts."""
    count = words.numbers.count
    if high is None:
        return words.say("%(low)s or more", low=count(low))
    return count(low) if low == high else f"{count(low)}–{count(high)}"
