"""Ways to find the three largest contributions of every cell, with their weights, in DuckDB.

Contributions are ordered by value, then by weight. Only some ways give an answer that does not
depend on the order of records; `bench/magnitudes.md` says which one is used, and why.
"""

from __future__ import annotations

from typing import Any

from bench.magnitudes import write_records
from bench.measure import arguments, best_cpu, in_process, peak_mb, show

_PACKED = "round(spend * 1e2)::BIGINT * 256 + w"
_SORTED = "{'size': spend, 'weight': w}"
_BLOB = "create_sort_key(spend, 'ASC NULLS LAST', w, 'ASC NULLS LAST')"
GROUPED = "SELECT {dims}, {sql} FROM '{path}' GROUP BY {dims}"
RANKED = (
    "SELECT {dims}, spend, w FROM '{path}' QUALIFY row_number() OVER "
    "(PARTITION BY {dims} ORDER BY {sql}) <= 3"
)
PRUNED = (
    "SELECT {dims}, list({{'size': spend, 'weight': w}}) FROM '{path}' NATURAL JOIN (SELECT "
    "{dims}, list_min(max(spend, 3)) AS least FROM '{path}' GROUP BY {dims}) "
    "WHERE spend >= least GROUP BY {dims}"
)
WAYS = {
    "count alone": (GROUPED, "count(*)"),
    "values alone": (GROUPED, "max(spend, 3)"),
    "one packed integer": (GROUPED, f"max({_PACKED}, 3)"),
    "weight by value (ties undecided)": (GROUPED, "arg_max(w, spend, 3)"),
    "weight by packed integer": (GROUPED, f"arg_max(g, {_PACKED}, 3)"),
    "struct": (GROUPED, f"max({_SORTED}, 3)"),
    "struct by struct": (GROUPED, f"arg_max(w, {_SORTED}, 3)"),
    "128-bit packed integer": (GROUPED, f"max(({_PACKED})::HUGEINT, 3)"),
    "sort key": (GROUPED, f"max({_BLOB}, 3)"),
    "sorted list": (GROUPED, f"list_reverse_sort(list({_PACKED}))[1:3]"),
    "threshold, then join": (PRUNED, ""),
    "row numbers": (RANKED, "spend DESC, w DESC"),
}


def run_way(path: str, dimensions: list[str], name: str, repeats: int) -> dict[str, Any]:
    """Time one way on a warm connection."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order=false; SET perfect_ht_threshold=22")
    pattern, sql = WAYS[name]
    text = pattern.format(dims=", ".join(dimensions), sql=sql, path=path)
    seconds, _ = best_cpu(lambda: connection.sql(text).to_arrow_table(), repeats)
    return {"cpu": seconds, "peak": peak_mb()}


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", rows=10_000_000, repeats=2)
    path = write_records(given.rows)
    rows: list[list[object]] = []
    for name in WAYS:
        small = in_process(run_way, path, ["a", "b", "c"], name, given.repeats)
        large = in_process(run_way, path, ["a", "b", "c", "e"], name, given.repeats)
        rows.append([name, small["cpu"], small["peak"], large["cpu"], large["peak"]])
    show(
        f"Three largest of every cell, {given.rows:,} rows (CPU s, MB)",
        ["way", "3 dimensions", "peak", "4 dimensions", "peak"],
        rows,
    )


if __name__ == "__main__":
    main()
