"""What the page on the meaning of an epsilon says, as plain numbers and sentences."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefFact:
    """A belief before, and the least and the most after: in membership, in any statement."""

    prior: float
    member: tuple[float, float] | None
    value: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonFact:
    """What another epsilon, without a delta, would say.

    Parameters
    ----------
    epsilon
        The epsilon.
    beliefs
        By belief before.
    error
        How far a count stays from the truth, 95 times in 100; None where none is published.
    """

    epsilon: float
    beliefs: tuple[BeliefFact, ...]
    error: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeaningFacts:
    """What a guarantee means, and what others would.

    Parameters
    ----------
    title, version
        Of the page, of the engine.
    epsilon, delta, adjacency, unit
        The guarantee.
    sentences
        What it says in words, in the language of the page.
    beliefs
        By the beliefs before that were asked for, the first foremost.
    curve
        By beliefs before from 0 to 1.
    others
        Other epsilons, and this one, at the first belief before.
    ranges
        Epsilons of the picture of several.
    table
        Epsilons of the table of beliefs.
    """

    title: str
    version: str
    epsilon: float
    delta: float
    adjacency: str
    unit: str
    sentences: tuple[str, ...]
    beliefs: tuple[BeliefFact, ...]
    curve: tuple[BeliefFact, ...]
    others: tuple[EpsilonFact, ...]
    ranges: tuple[EpsilonFact, ...]
    table: tuple[EpsilonFact, ...]
