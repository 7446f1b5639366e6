"""Sums and the three largest contributions of two variables, beside DuckDB's own.

DuckDB's cube adds two columns up and keeps the three largest values of each. Ours adds both
up exactly, unweighted and weighted, keeps the three largest with their weights, smallest and
largest value, number and summed keys of contributors, and the keys of all records. Both read
the same Parquet file and return every margin.
"""

from __future__ import annotations

from typing import Any

from bench.measure import arguments, best_cpu, drawn_records, in_process, peak_mb, show

SHAPES = {
    "3 dimensions": ["a", "b", "c"],
    "4 dimensions": ["a", "b", "c", "e"],
}
WEIGHTS = {"no weight": None, "whole weights": "w", "calibrated weights": "g"}
GOAL = 3.0


def write_records(rows: int) -> str:
    """Write records with whole and two-decimal amounts, a third of the latter zero."""
    normal = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
    return drawn_records(
        "magnitudes",
        "floor(random()*331)::INT a, floor(random()*101)::INT b, "
        "floor(random()*2)::INT c, floor(random()*11)::INT e, "
        'hash(range * 7 + 1) "key", '
        f"floor(exp(8 + 1.2 * {normal}))::INT income, "
        f"CASE WHEN random() < 0.3 THEN 0 ELSE round(exp(6 + 1.5 * {normal}), 2) END "
        "spend, 1 + floor(random()*200)::INT w, 1 + 200 * random() g",
        rows=rows,
    )


def run_duckdb(path: str, dimensions: list[str], repeats: int) -> dict[str, Any]:
    """Time DuckDB's cube of sums and largest values on a warm connection."""
    import duckdb

    connection = duckdb.connect()
    listed = ", ".join(dimensions)
    sql = (
        f"SELECT {listed}, count(*) n, sum(income), max(income, 3), sum(spend), max(spend, 3) "
        f"FROM '{path}' GROUP BY CUBE ({listed})"
    )
    seconds, answer = best_cpu(lambda: connection.sql(sql).to_arrow_table(), repeats)
    return {"cpu": seconds, "cells": answer.num_rows, "peak": peak_mb()}


def run_ours(
    path: str, dimensions: list[str], weight: str | None, sums: list[str], repeats: int
) -> dict[str, Any]:
    """Time our cells on a warm source."""
    from tables import Request, StoredKeys, cube, open_source

    request = Request(dimensions=dimensions, weight=weight, sums=sums, top=3 if sums else 0)
    keys = StoredKeys(column="key")
    with open_source(path) as source:
        cube(source, keys, [Request(dimensions=[], weight=weight, sums=sums)])
        seconds, cells = best_cpu(lambda: cube(source, keys, [request])[0], repeats)
    return {"cpu": seconds, "cells": len(cells), "peak": peak_mb()}


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", rows=10_000_000, repeats=2)
    path = write_records(given.rows)
    rows = []
    for shape, dimensions in SHAPES.items():
        bare = in_process(run_duckdb, path, dimensions, given.repeats)
        counts = in_process(run_ours, path, dimensions, None, [], given.repeats)
        for name, weight in WEIGHTS.items():
            ours = in_process(
                run_ours, path, dimensions, weight, ["income", "spend"], given.repeats
            )
            if ours["cells"] != bare["cells"]:
                raise SystemExit("the two ways find different cells")
            ratio = ours["cpu"] / bare["cpu"]
            numbers = [bare["cpu"], ours["cpu"], ratio, GOAL, counts["cpu"]]
            rows.append(
                [f"{shape}, {name}", ours["cells"], *numbers, bare["peak"], ours["peak"]]
            )
    show(
        f"Two sums with the three largest contributions, {given.rows:,} rows (CPU s, MB)",
        [
            "shape",
            "cells",
            "DuckDB",
            "ours",
            "ratio",
            "goal",
            "ours, counts only",
            "DuckDB peak",
            "our peak",
        ],
        rows,
        ours="ours",
        theirs="DuckDB",
        goal="goal",
    )


if __name__ == "__main__":
    main()
