"""What would protect cells that cannot be protected: less asked for, or other cells hidden."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import CheckFailedError
from ckm.methods.suppression.secondary.search import suppress
from footing.messages import Enumeration, Message, Name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ckm.methods.suppression.primary import Primary
    from ckm.methods.suppression.relations import Relations
    from ckm.methods.suppression.secondary.problem import Problem
    from footing.arrays import Integers

_SHARES, _WIDER = (0.5, 0.2, 0.1, 0.01), (2, 5, 10)
_MOST_TRIED, _LIMIT_S = 20, 20.0
#: Whether there is a choice the first one tells: no better one is looked for.
_AT_ONCE_S = 1e-6


def way_out(
    problem: Problem,
    cells: Integers,
    *,
    primary_of: Callable[[int], Primary] | None,
) -> str | None:
    """Say what would protect cells, the first that does; None where nothing tried does.

    Parameters
    ----------
    problem
        The problem that has no solution.
    cells
        The cells.
    primary_of
        The primary cells of readers who know so many times less beforehand, if they know
        anything.
    """
    deadline = time.monotonic() + _LIMIT_S
    for text, other in _changed(problem, cells, primary_of):
        left_s = deadline - time.monotonic()
        if left_s > 0 and _protects(other, cells[:_MOST_TRIED]):
            return text
    return None


def _changed(
    problem: Problem,
    cells: Integers,
    primary_of: Callable[[int], Primary] | None,
) -> Iterator[tuple[str, Problem]]:
    if problem.kept is not None and np.any(problem.kept):
        visible = _beside(problem.relations, cells, np.flatnonzero(problem.kept))
        text = Message(
            "hide cells that are kept: {number:,} of them stand in a sum with these",
            number=len(visible),
        )
        yield text, replace(problem, kept=None)
    if primary_of is not None:
        for times in _WIDER:
            text = Message(
                "prior {times} times as wide would do: take readers to know less", times=times
            )
            yield text, replace(problem, primary=primary_of(times))
    if problem.coalition:
        outside = replace(problem, coalition=0)
        yield (
            Message(
                "coalition = 0 would do: protection against outsiders, not against contributors"
            ),
            outside,
        )
    for share in _SHARES:
        less = replace(
            problem.primary,
            lower=problem.primary.lower * share,
            upper=problem.primary.upper * share,
        )
        text = Message(
            "{share:.0%} of the protection asked for would do: lower the levels of the rules",
            share=share,
        )
        yield text, replace(problem, primary=less)


def _beside(relations: Relations, cells: Integers, others: Integers) -> Integers:
    """Choose the kept cells that stand in a sum with one of some cells, or else all."""
    rows = np.unique(relations.rows[np.isin(relations.cells, cells)])
    near = np.intersect1d(relations.cells[np.isin(relations.rows, rows)], others)
    return near if near.size else others


def _protects(problem: Problem, cells: Integers) -> bool:
    """Tell whether some cells, and no others, can be protected."""
    is_asked = np.isin(np.arange(problem.relations.n_cells), cells)
    primary = replace(problem.primary, is_primary=problem.primary.is_primary & is_asked)
    try:
        suppress(replace(problem, primary=primary), method="sequential", limit_s=_AT_ONCE_S)
    except CheckFailedError:
        return False
    return True


def subtracted(
    relations: Relations, cells: Integers, tables: Iterable[tuple[str, Integers]]
) -> str | None:
    """Say what is left of cells without those of which other tables."""
    parts: Sequence[Integers] = [cell[1:-1] for cell, _ in relations.left if cell[-1] in cells]
    if len(parts) < len(cells):
        return None
    members = np.concatenate(parts)
    names = [repr(name) for name, number in tables if np.isin(members, number).any()]
    return Message(
        "what is left of them without the cells of table {names} is small: publish "
        "these tables apart, or merge categories",
        names=Enumeration(" and ", Name.each(names)),
    )
