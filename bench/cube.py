"""A protected cube of 10 M rows beside DuckDB's own cube of bare counts.

Ours sums a stored 64-bit key beside every count, mixes keys and looks the noise up. Both
read the same Parquet file with the same DuckDB and return Arrow.
"""

from __future__ import annotations

from typing import Any

from bench.measure import DATA, arguments, best_cpu, in_process, peak_mb, show

SHAPES = {
    "3 dimensions, 66,862 cells": ["a", "b", "c"],
    "4 dimensions, 700,000 cells": ["a", "b", "c", "e"],
    "texts, 20,000 cells": ["region", "town", "c"],
}
GOAL = 1.5


def write_records(rows: int) -> str:
    """Write records with uniform categories and 64-bit keys."""
    import duckdb

    DATA.mkdir(exist_ok=True)
    path = DATA / f"cube_{rows}.parquet"
    if not path.exists():
        with duckdb.connect() as connection:
            connection.execute("SET threads=1; SELECT setseed(0.5)")
            connection.execute(
                "COPY (SELECT floor(random()*331)::INT a, floor(random()*101)::INT b, "
                "floor(random()*2)::INT c, floor(random()*11)::INT e, "
                "'R' || lpad(floor(random()*20)::INT::VARCHAR, 2, '0') region, "
                "'town ' || floor(random()*500)::INT town, hash(range * 7 + 1) \"key\" "
                f"FROM range({rows})) TO '{path}' (FORMAT parquet)"
            )
    return str(path)


def run_duckdb(path: str, dimensions: list[str], repeats: int) -> dict[str, Any]:
    """Time DuckDB's cube of counts on a warm connection with default settings."""
    import duckdb

    connection = duckdb.connect()
    listed = ", ".join(dimensions)
    sql = f"SELECT {listed}, count(*) n FROM '{path}' GROUP BY CUBE ({listed})"
    seconds, answer = best_cpu(lambda: connection.sql(sql).to_arrow_table(), repeats)
    return {"cpu": seconds, "cells": answer.num_rows, "peak": peak_mb()}


def run_ours(path: str, dimensions: list[str], repeats: int) -> dict[str, Any]:
    """Time the protected cube on a warm engine."""
    import ckm
    from ptable import NoiseSpec, solve

    table = solve(NoiseSpec(max_noise=5, variance=3.0, small=2))
    engine = ckm.Engine(path, record_key="key", secret=ckm.Secret(bytes(32)), ptable=table)
    engine.check_keys()
    seconds, answer = best_cpu(lambda: engine.tabulate(dimensions).to_arrow(), repeats)
    return {"cpu": seconds, "cells": answer.num_rows, "peak": peak_mb()}


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", rows=10_000_000, repeats=7)
    path = write_records(given.rows)
    rows = []
    for shape, dimensions in SHAPES.items():
        bare = in_process(run_duckdb, path, dimensions, given.repeats)
        ours = in_process(run_ours, path, dimensions, given.repeats)
        ratio = ours["cpu"] / bare["cpu"]
        rows.append([shape, bare["cpu"], ours["cpu"], ratio, GOAL, bare["peak"], ours["peak"]])
    show(
        f"Protected cube of {given.rows:,} rows beside DuckDB's bare cube (CPU s, MB)",
        ["shape", "DuckDB bare", "ours protected", "ratio", "goal", "DuckDB peak", "our peak"],
        rows,
    )


if __name__ == "__main__":
    main()
