"""Secondary suppression of random tables of counts with hierarchies: cost, proof, CPU seconds.

One core, some minutes. Counts below 3 are primary. The gap is what the cheapest choice
may still save; where nothing is proven it is 1. ``--seconds`` is when the exact method stops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.measure import arguments, best_cpu, in_process, show

#: name → branches of the tree of each axis, mean count, contributors guarded, methods
TABLES: dict[str, tuple[list[list[int]], float, bool, tuple[str, ...]]] = {
    "2 axes, 1,689 cells": (
        [[5, 8], [3, 12]],
        15.0,
        False,
        ("sequential", "exact"),
    ),
    "3 axes, some 2,000 cells": (
        [[4, 6], [6], [9]],
        15.0,
        False,
        ("sequential", "exact"),
    ),
    "3 axes, 7,977 cells": ([[5, 5], [4, 5], [10]], 15.0, False, ("sequential",)),
    "3 axes, 88,212 cells": ([[5, 5, 6], [4, 5], [20]], 15.0, False, ("sequential",)),
    "3 axes, sparse": ([[5, 5, 6], [4, 5], [20]], 4.0, False, ("sequential",)),
    "3 axes, sparse, contributors": ([[5, 5, 6], [4, 5], [20]], 4.0, True, ("sequential",)),
}


def tree(branches: list[int]) -> list[int]:
    """Branch so often on each level: the parent of every category."""
    parents, level = [-1], [0]
    for width in branches:
        below = []
        for node in level:
            below += range(len(parents), len(parents) + width)
            parents += [node] * width
        level = below
    return parents


def problem_of(name: str) -> Any:
    """Draw a table."""
    from ckm.suppression import Frequency, Grid, Problem, Relations, primary_cells

    branches, mean, guards, _ = TABLES[name]
    rng = np.random.default_rng(0)
    trees = [tree(widths) for widths in branches]
    leaves = [[c for c in range(len(t)) if c not in set(t)] for t in trees]
    values = rng.poisson(rng.gamma(0.7, mean / 0.7, [len(found) for found in leaves]))
    for axis, parents in enumerate(trees):
        above = np.zeros((len(parents), len(leaves[axis])), np.int64)
        for place, leaf in enumerate(leaves[axis]):
            at = leaf
            while at >= 0:
                above[at, place] = 1
                at = parents[at]
        values = np.moveaxis(np.tensordot(above, values, axes=(1, axis)), 0, axis)
    values = values.ravel()
    grid, there = Grid.full(trees), values > 0
    grid = Grid(parents=grid.parents, ranks=tuple(rank[there] for rank in grid.ranks))
    counts = values[there]
    return Problem(
        relations=Relations.of_grids([grid], values=counts),
        values=counts,
        primary=primary_cells([Frequency(least=3)], counts=counts),
        coalition=int(guards),
    )


def suppressed(name: str, method: str, seconds: int) -> dict[str, Any]:
    """Time one method on one table."""
    from ckm.suppression.secondary.search import suppress

    problem = problem_of(name)
    limit_s = float(seconds) if method == "exact" else 3600.0
    cpu, found = best_cpu(lambda: suppress(problem, method=method, limit_s=limit_s), 1)
    return {
        "cells": problem.relations.n_cells,
        "primary": int(problem.primary.is_primary.sum()),
        "secondary": int((found.status == 2).sum()),
        "cost": found.cost,
        "gap": found.gap,
        "cpu": cpu,
        "unproven": int(found.unproven().size),
    }


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", seconds=30)
    columns = ["cells", "primary", "secondary", "cost", "gap", "cpu", "unproven"]
    rows = []
    for name, (*_, methods) in TABLES.items():
        for method in methods:
            answer = in_process(suppressed, name, method, given.seconds)
            rows.append([name, method, *(answer[column] for column in columns)])
    show("Secondary suppression", ["table", "method", *columns], rows)


if __name__ == "__main__":
    main()
