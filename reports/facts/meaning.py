"""What the page on the meaning of an epsilon says, as plain numbers and sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

#: Belief before, and the least and the most after.
Beliefs: TypeAlias = tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonFact:
    """What can be believed after results with an epsilon.

    Parameters
    ----------
    epsilon
        The epsilon.
    member, value
        Of who is in the data, nothing where nobody can be; of any statement.
    error
        How far a count stays from the truth, 95 times in 100; None where none is published.
    """

    epsilon: float
    member: Beliefs
    value: Beliefs
    error: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeaningFacts:
    """What a guarantee means, and what others would.

    Parameters
    ----------
    version
        Of the engine.
    delta, adjacency, unit
        Of the guarantee.
    sentences
        What it says in words, in the language of the page.
    asked, curve
        By the beliefs before that were asked for, the first foremost; by those from 0 to 1.
    others
        Other epsilons without a delta, and this one, at the first belief before.
    ranges, table
        Epsilons of the picture of several, and of the table of beliefs.
    """

    version: str
    delta: float
    adjacency: str
    unit: str
    sentences: tuple[str, ...]
    asked: EpsilonFact
    curve: EpsilonFact
    others: tuple[EpsilonFact, ...]
    ranges: tuple[EpsilonFact, ...]
    table: tuple[EpsilonFact, ...]
