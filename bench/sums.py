"""Two published sums of a four-way table with all margins, beside DuckDB's bare ones.

DuckDB's cube adds two columns up and keeps the three largest values of each. The engine does
so exactly, makes the noise of every count and of both sums, and lays out the published table;
record keys are checked, and the p-tables solved, before the clock starts. Both read the same
Parquet file.
"""

from __future__ import annotations

from typing import Any

from bench.magnitudes import GOAL, WEIGHTS, run_duckdb, write_records
from bench.measure import arguments, best_cpu, in_process, peak_mb, show

DIMENSIONS = ["a", "b", "c", "e"]
SUMS = ["income", "spend"]


def run_published(
    path: str, weight: str | None, sums: list[str], repeats: int
) -> dict[str, Any]:
    """Time published tables of a warm engine."""
    from ckm import Engine, Secret
    from ckm.engine.magnitudes import Dominance, FewContributors, MagnitudeNoise, PPercent
    from ptable import NoiseSpec, solve

    noise = MagnitudeNoise.start(  # three of the largest are looked at, as DuckDB does
        sensitive=(FewContributors(least=3), PPercent(percent=10), Dominance(n=3, percent=90))
    )
    engine = Engine(
        path,
        record_key="key",
        secret=Secret(bytes(16)),
        ptable=solve(NoiseSpec(max_noise=5, variance=2.0)),
        weight=weight,
        magnitudes=dict.fromkeys(sums, noise),
    )
    measures = ["count", *(f"sum:{name}" for name in sums)]
    with engine:
        engine.tabulate([], measures=measures)
        seconds, table = best_cpu(
            lambda: engine.tabulate(DIMENSIONS, measures=measures), repeats
        )
    return {"cpu": seconds, "cells": table.n_rows, "peak": peak_mb()}


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", rows=10_000_000, repeats=1)
    path = write_records(given.rows)
    bare = in_process(run_duckdb, path, DIMENSIONS, given.repeats)
    rows = []
    counts = in_process(run_published, path, None, [], given.repeats)
    ways = [("counts alone", counts)]
    for name, weight in WEIGHTS.items():
        ways.append((name, in_process(run_published, path, weight, SUMS, given.repeats)))
    for name, ours in ways:
        rows.append(
            [
                *(name, bare["cells"], ours["cells"], bare["cpu"], ours["cpu"]),
                *(ours["cpu"] / bare["cpu"], GOAL, bare["peak"], ours["peak"]),
            ]
        )
    columns = ["what", "cells", "published", "DuckDB", "ours", "ratio", "goal"]
    columns += ["DuckDB peak", "our peak"]
    show(
        f"Two published sums, {given.rows:,} rows (CPU s, MB)",
        columns,
        rows,
        ours="ours",
        theirs="DuckDB",
        goal="goal",
    )


if __name__ == "__main__":
    main()
