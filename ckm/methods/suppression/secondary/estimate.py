"""What a search and an audit will cost, told before they start: roughly, by sizes alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ckm.methods.suppression.secondary.work import IMPROVED, IMPROVED_INSIDE, PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckm.methods.suppression.secondary.problem import Problem

#: What costs so many seconds is told before it starts.
MUCH_S = 30.0
#: Units of work for each unsafe cell, as measured: 4,000 to 25,000 in tables of 1,257 to 20,761
#: cells; against contributors, demands are so many times as many.
_UNITS, _CONTRIBUTORS = 8_000.0, 3.0
#: Seconds of an audit for each pair of hidden cells that are linked, and for each unsafe cell.
_PAIR_S, _CELL_S = 2e-6, 2e-3
#: Memory of the program, and of each cell, which is more where contributors attack.
_BASE_MB, _CELL_MB = 150.0, 0.008


class Estimate(NamedTuple):
    """CPU seconds on one core, and memory; either may be a third or three times of it."""

    seconds: float
    megabytes: float


def search_estimate(problem: Problem, *, method: str, limit_s: float) -> Estimate:
    """Estimate a search: a first choice, and what is spent on a better one.

    Examples
    --------
    >>> import numpy as np
    >>> from ckm.methods.suppression import Frequency, Grid, Problem, Relations, primary_cells
    >>> counts = np.array([9, 1, 8])
    >>> problem = Problem(
    ...     relations=Relations.of_grids([Grid.full([[-1, 0, 0]])]),
    ...     values=counts,
    ...     primary=primary_cells([Frequency(least=3)], counts=counts),
    ... )
    >>> search_estimate(problem, method="auto", limit_s=600.0).seconds < 30
    True
    """
    n_unsafe = int(problem.primary.is_primary.sum())
    times = _CONTRIBUTORS if problem.coalition else 1.0
    first = n_unsafe * times * _UNITS / PER_SECOND
    share, least_s = IMPROVED_INSIDE if problem.coalition else IMPROVED
    better = max(share * first, least_s) if method == "auto" else limit_s
    return Estimate(first + min(better, limit_s), _memory(problem))


def audit_estimate(problem: Problem, sizes: Iterable[int], *, limit_s: float) -> Estimate:
    """Estimate an audit of hidden cells, of which so many are linked in each part."""
    pairs = sum(size**2 for size in sizes)
    demands = _CELL_S * int(problem.primary.is_primary.sum())
    return Estimate(min(_PAIR_S * pairs, limit_s) + demands, _memory(problem))


def _memory(problem: Problem) -> float:
    times = 2.0 if problem.coalition else 1.0
    return _BASE_MB + times * _CELL_MB * len(problem.value)
