"""What a page says of trips: what places and times give away of persons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShareFact:
    """How many of how many, and the interval of the share; None where all were counted."""

    n: int
    base: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrainFact:
    """What was found at one width of cells.

    Parameters
    ----------
    metres
        The width; 0 for named places.
    alone
        Hours → points known → sampled persons whom they tell from everybody else.
    home, work, both
        Persons who are alone with their home, their work, and both together.
    usual_crowd
        How many have the home and work of a person in the middle; None without any.
    foretold, usual
        Last moves that moves before foretell, and the place that a person came to most.
    met, met_by_chance
        Sampled persons who shared one place with one other, two, three …, each within an
        hour; the same with others moved in time.
    """

    metres: float
    alone: Mapping[float, Mapping[int, ShareFact]]
    home: ShareFact
    work: ShareFact
    both: ShareFact
    usual_crowd: int | None
    foretold: ShareFact
    usual: ShareFact
    met: tuple[ShareFact, ...]
    met_by_chance: tuple[ShareFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MobilityFacts:
    """What trips give away.

    Parameters
    ----------
    title
        Of the page.
    version
        Of the program.
    rows, without, outside, repeated, points, persons, persons_once, days
        All rows; those without a person, time or place, with coordinates that are none, and
        that repeat others; the points left, their persons, those with one point, and the days
        from the first to the last.
    sampled, seed, confidence
        Persons in the sample, how it was drawn, and the confidence of intervals.
    grains
        From fine to coarse.
    """

    title: str
    version: str
    rows: int
    without: int
    outside: int
    repeated: int
    points: int
    persons: int
    persons_once: int
    days: int
    sampled: int
    seed: int
    confidence: float
    grains: tuple[GrainFact, ...]
