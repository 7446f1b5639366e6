"""A measure of utility, and the class of counts it is about, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.catalogues.measures import kind_of
from reports.catalogues.wording import written
from reports.parts import Cell

if TYPE_CHECKING:
    from reports.facts.release import MeasureFact
    from reports.i18n.languages import Words
    from reports.parts import Entry


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
