"""Additivity restored in four-way tables with all margins, and what small ones give away.

Counts are skewed, with many zeros; noise is that of the cell key method, a fresh key per cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.measure import arguments, best_cpu, in_process, peak_mb, show

SHAPES = ((10, 10, 10, 5), (40, 20, 15, 8), (120, 20, 15, 20))


def published(shape: tuple[int, ...], max_noise: int, mean: float, seed: int) -> Any:
    """Publish a random cube with its margins; return the table and its counts."""
    from ckm.engine.published_table import PublishedTable
    from ptable import NoiseSpec, solve

    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.5, mean / 0.5, shape))
    for axis in range(len(shape)):
        counts = np.concatenate([counts.sum(axis=axis, keepdims=True), counts], axis=axis)
    table = solve(NoiseSpec(max_noise=max_noise, variance=float(max_noise) / 2))
    keys = rng.integers(0, 2**32, counts.size, dtype=np.uint64)
    numbers = counts.ravel() + table.lookup(counts.ravel(), keys)
    places = np.indices(counts.shape).reshape(counts.ndim, -1)
    dimensions = {
        f"d{axis}": (places[axis].astype(np.int32), ["Total", *map(str, range(size))])
        for axis, size in enumerate(shape)
    }
    return PublishedTable(dimensions=dimensions, measures={"count": numbers}), counts.ravel()


def restore(shape: list[int], base: int | None) -> dict[str, Any]:
    """Time one table."""
    from ckm.methods.additivity.restore import restore_additivity

    table, counts = published(tuple(shape), 5, 5.0, 3)
    seconds, restored = best_cpu(lambda: restore_additivity(table, base=base), 1)
    numbers, is_large = restored.measures["count"], counts >= 50
    square = [
        float(((x - counts)[is_large] ** 2).mean()) for x in (table.measures["count"], numbers)
    ]
    return {"cells": table.n_rows, "cpu": seconds, "square": square, "mb": peak_mb()}


def effects(shape: list[int], max_noise: int, mean: float) -> list[list[float]]:
    """Average the effect over ten small tables."""
    from ckm.methods.additivity.effect import measure_restoration

    found = []
    for seed in range(10):
        table, counts = published(tuple(shape), max_noise, mean, seed)
        effect = measure_restoration(table, counts, max_noise=max_noise)
        names = ("deviation", "read_right", "width", "pinned")
        found.append([getattr(effect, name) for name in names])
    averages: list[list[float]] = np.array(found).mean(axis=0).tolist()
    return averages


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", largest=len(SHAPES))
    rows = []
    for shape in SHAPES[: given.largest]:
        for base in (None, 1):
            a = in_process(restore, list(shape), base)
            kind = "fractions" if base is None else "whole"
            rows.append([a["cells"], kind, a["cpu"], *a["square"], a["mb"]])
    columns = ["cells", "numbers", "CPU s", "noise² of 50+", "restored", "peak MB"]
    show("Additivity restored in tables of four dimensions", columns, rows)
    rows = []
    for shape, noise, mean in (((6, 5), 2, 4.0), ((6, 5), 5, 20.0), ((4, 3, 3), 2, 4.0)):
        answer = in_process(effects, list(shape), noise, mean)
        text = " by ".join(map(str, shape))
        rows.append([f"{text}, D={noise}", *(x for pair in answer for x in pair)])
    names = ("deviation", "read right", "width", "pinned")
    columns = ["table", *(f"{n} {w}" for n in names for w in ("before", "after"))]
    show("What small tables give away, before and after", columns, rows)


if __name__ == "__main__":
    main()
