"""How long a fit takes, estimated before it starts, and how much of it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

#: What takes the seconds of one core that are done, and how many there are in all.
Clock: TypeAlias = Callable[[float, float], None]

# Seconds of one core of a common machine, measured on files of 14 to 300 columns.
_COUNT = 8e-9  # a record of a table, counted
_PAIR = 30e-6  # the table that a model expects of two columns, and its misfit
_LINK = 20e-6  # a step from clique to clique on the way
_CHOICE = 1.0e-6  # a candidate in one choice
_GRAPH = 12e-6  # a column in one look at the graph with a table more
_SET = 100e-6  # a table of the model in one step of a fit
_CELL = 12e-9  # a cell of the model in one step


def _unheard(_done: float, _total: float) -> None:
    """Tell nobody."""


@dataclass(slots=True)
class Pace:
    """The stages of a fit with what each takes, and how much of them is done.

    Stages end early or are left out: what is done then jumps to their end.

    Parameters
    ----------
    clock
        Told after each step.

    Examples
    --------
    >>> told = []
    >>> pace = Pace(lambda done, total: told.append((done, total)))
    >>> pace.plan([1.0, 3.0])
    >>> pace.part(0.5)
    >>> pace.end()
    >>> pace.part(0.5)
    >>> told
    [(0.0, 4.0), (0.5, 4.0), (1.0, 4.0), (2.5, 4.0)]
    """

    clock: Clock = _unheard
    _stages: list[float] = field(default_factory=list)
    _ended: int = 0

    def plan(self, stages: Sequence[float]) -> None:
        """Begin with the stages that there are, in seconds each."""
        self._stages, self._ended = list(stages), 0
        self.clock(0.0, sum(self._stages))

    def part(self, share: float) -> None:
        """Tell which share of the stage is done."""
        if self._ended < len(self._stages):
            done = sum(self._stages[: self._ended])
            done += min(max(share, 0.0), 1.0) * self._stages[self._ended]
            self.clock(done, sum(self._stages))

    def end(self) -> None:
        """Tell that the stage is done."""
        self.part(1.0)
        self._ended += 1


def stages_of(
    *, records: float, columns: int, cells: int, batches: Sequence[int], checks: int, steps: int
) -> list[float]:
    """Return the seconds of each choice and each fit, in turn, from public and noisy sizes.

    Parameters
    ----------
    records
        How many, as noisy counts say.
    columns
        How many have more than one group.
    cells
        How many the model may have.
    batches
        How many tables are chosen in each round.
    checks
        How many candidates are tried in a choice after the first round.
    steps
        Of a fit; three times as many in the last round.

    Examples
    --------
    >>> small, large = (
    ...     sum(
    ...         stages_of(
    ...             records=2e4,
    ...             columns=k,
    ...             cells=10**5,
    ...             batches=[k, k],
    ...             checks=50,
    ...             steps=60,
    ...         )
    ...     )
    ...     for k in (20, 200)
    ... )
    >>> small < large / 10
    True
    """
    pairs = columns * (columns - 1) / 2
    stages, tables = list[float](), columns
    for place, number in enumerate(batches):
        n_scores = pairs if place == 0 else min(pairs, number * checks)
        choices = n_scores * records * _COUNT + pairs * _PAIR
        choices += columns * columns * _LINK
        if place == 0:
            choices += number * pairs * _CHOICE
        else:
            choices += number * (min(checks, pairs) * columns * _GRAPH + pairs * _CHOICE / 4)
        tables += number
        share = (place + 1) / len(batches)  # the model fills up
        step = tables * _SET + cells * share * _CELL
        is_last = place == len(batches) - 1
        stages += [choices, step * steps * (3 if is_last else 1)]
    return stages
