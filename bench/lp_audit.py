"""Feasibility intervals of a three-way table of 2,000 inner cells and its margins.

One core. The naive way solves two cold programs per cell; it is timed on a few and scaled up.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bench.measure import arguments, best_cpu, in_process, show

SHAPE = (10, 10, 20)
RELEASES = {"inner and all margins": 3, "margins only": 2}


def released(n_kept: int, max_noise: int, mean: float) -> Any:
    """Publish a random cube with independent noise on every cell that is not 0."""
    from ptable import NoiseSpec, solve
    from tests.published_counts import counts_from_tables

    rng = np.random.default_rng(7)
    cube = rng.poisson(rng.gamma(0.7, mean / 0.7, SHAPE))
    table = solve(NoiseSpec(max_noise=max_noise, variance=float(max_noise) / 2))
    published = {}
    for kept in itertools.chain.from_iterable(
        itertools.combinations(range(3), n) for n in range(n_kept + 1)
    ):
        counts = cube.sum(axis=tuple(a for a in range(3) if a not in kept))
        keys = rng.integers(0, 2**32, counts.size, dtype=np.uint64)
        noise = table.lookup(counts.ravel(), keys).reshape(counts.shape)
        published[kept] = counts + noise
    return cube, counts_from_tables(SHAPE, tables=published, max_noise=max_noise)


def audit(n_kept: int, max_noise: int, mean: float) -> dict[str, Any]:
    """Time the audit of one release."""
    from risk.reconstruction.intervals import intervals

    cube, counts = released(n_kept, max_noise, mean)
    seconds, found = best_cpu(lambda: intervals(counts), 1)
    flat = cube.ravel()
    holds = bool(((found.lower <= flat) & (flat <= found.upper)).all())
    return {
        "cpu": seconds,
        "programs": found.n_programs,
        "width": float(found.width.mean()),
        "unique": found.n_unique,
        "holds": holds,
    }


def naive(n_kept: int, max_noise: int, mean: float, cells: int) -> float:
    """Time cold programs for a few cells, scaled to all."""
    from risk.reconstruction.intervals import _rows
    from risk.reconstruction.program import Program

    _, counts = released(n_kept, max_noise, mean)
    bounds = {"lower": np.zeros(counts.n_cells), "upper": np.full(counts.n_cells, np.inf)}

    def cold() -> None:
        for cell in range(cells):
            for sign in (1.0, -1.0):
                Program(_rows(counts), **bounds).least([cell], [sign])

    return best_cpu(cold, 1)[0] * counts.n_cells / cells


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", cells=5)
    rows = []
    for (name, n_kept), noise, mean in itertools.product(RELEASES.items(), (2, 5), (0.5, 5.0)):
        answer = in_process(audit, n_kept, noise, mean)
        slow = naive(n_kept, noise, mean, given.cells)
        rows.append(
            [
                f"{name}, D={noise}, mean {mean:g}",
                answer["cpu"],
                slow,
                answer["programs"],
                answer["width"],
                answer["unique"],
                "yes" if answer["holds"] else "NO",
            ]
        )
    show(
        "Feasibility intervals of 2,000 base cells (CPU s)",
        ["release", "ours", "cold programs, scaled", "programs", "width", "unique", "holds"],
        rows,
    )


if __name__ == "__main__":
    main()
