"""Tabulate 100 M rows within 4 GB: DuckDB spills what its memory limit does not hold.

Writes a file of about 1.5 GB and takes minutes. The census shape, 35,000 communes by age and
sex, has 7 million non-empty cells: their grouping does not fit DuckDB's limit and spills.
"""

from __future__ import annotations

import time
from typing import Any

from bench.measure import DATA, arguments, best_cpu, in_process, peak_mb, show

SHAPES = {"regions": ["region", "age", "sex"], "communes": ["commune", "age", "sex"]}
LIMIT = "800MB"
GOAL_MB = 4_000


def write_records(rows: int) -> str:
    """Write records with uniform categories and 64-bit keys."""
    import duckdb

    DATA.mkdir(exist_ok=True)
    path = DATA / f"spill_{rows}.parquet"
    if not path.exists():
        with duckdb.connect() as connection:
            connection.execute("SET memory_limit='2GB'")
            connection.execute(
                "COPY (SELECT (hash(range) % 35000)::INT commune, "
                "(hash(range) % 20)::INT region, "
                "(hash(range + 1000000000) % 101)::INT age, (range % 2)::INT sex, "
                'hash(range + 4000000000) "key" '
                f"FROM range({rows})) TO '{path}' (FORMAT parquet)"
            )
    return str(path)


def run_ours(path: str, dimensions: list[str], limit: str) -> dict[str, Any]:
    """Tabulate once with margins, key checks included."""
    import ckm
    from ptable import NoiseSpec, solve

    table = solve(NoiseSpec(max_noise=5, variance=3.0, small=2))
    started = time.perf_counter()
    engine = ckm.Engine(
        path, record_key="key", secret=ckm.Secret(bytes(32)), ptable=table, memory_limit=limit
    )
    seconds, answer = best_cpu(lambda: engine.tabulate(dimensions), 1)
    return {
        "cpu": seconds,
        "wall": time.perf_counter() - started,
        "cells": answer.n_rows,
        "peak": peak_mb(),
    }


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", rows=100_000_000)
    path = write_records(given.rows)
    rows = []
    for shape, dimensions in SHAPES.items():
        ours = in_process(run_ours, path, dimensions, LIMIT)
        rows.append([shape, ours["cpu"], ours["wall"], ours["cells"], ours["peak"], GOAL_MB])
    show(
        f"{given.rows:,} rows, DuckDB's memory_limit {LIMIT}",
        ["shape", "CPU s", "wall s", "published cells", "peak MB", "goal MB"],
        rows,
    )


if __name__ == "__main__":
    main()
