"""The same cells of 5 M rows from DuckDB and from Spark on one machine.

Spark's seconds are those of its Java machine, on two cores, and of Python. The first answer
holds the start of Spark and the compilation of its plans, the best of the others does not.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.cube import write_records
from bench.measure import arguments, in_process, show

if TYPE_CHECKING:
    from tables.source.source import Source

SHAPES: dict[str, tuple[list[str], str, list[str]]] = {
    "stored keys, 66,862 cells": (["a", "b", "c"], "stored", []),
    "hashed identifiers, 66,862 cells": (["a", "b", "c"], "hashed", []),
    "hashed identifiers, 40 cells by text": (["region", "c"], "hashed", []),
    "the same, two sums and the 3 largest": (["region", "c"], "hashed", ["a", "e"]),
}


def _clock(source: Source) -> float:
    """Return the CPU seconds of this process and of Spark's."""
    seconds = time.process_time()
    context = getattr(source, "_context", None)
    if context is None:
        return seconds
    stat = Path(f"/proc/{context._gateway.proc.pid}/stat").read_text()
    ticks = sum(map(int, stat.rpartition(")")[2].split()[11:13]))
    return seconds + ticks / os.sysconf("SC_CLK_TCK")


def run(path: str, shape: str, engine: str, repeats: int) -> dict[str, Any]:
    """Time an engine, the check of the keys included in the first answer."""
    from tables import HashedKeys, Request, Secret, StoredKeys, check_keys, cube, open_source
    from tables.spark.spark import open_spark

    begun = time.process_time()
    dimensions, keys, sums = SHAPES[shape]
    of_keys = HashedKeys(column="key", secret=Secret(bytes(32)))
    by = StoredKeys(column="key") if keys == "stored" else of_keys
    opened = open_source(path) if engine == "duckdb" else open_spark(path, master="local[2]")
    wish = Request(dimensions=dimensions, sums=sums, top=3 if sums else 0)
    spent, digest = [], 0
    with opened as source:
        for number in range(repeats + 1):
            started, wall = _clock(source) if number else begun, time.perf_counter()
            if number == 0:
                started = begun
                check_keys(source, by, action="warn" if keys == "hashed" else "stop")
            (cells,) = cube(source, by, [wish])
            spent.append((_clock(source) - started, time.perf_counter() - wall))
            digest = int(cells.cell_key.sum()) ^ int(cells.count.sum())
            for amounts in (cells.magnitudes or {}).values():
                digest ^= int(amounts.total.sum()) ^ int(amounts.key.sum())
    best = min(spent[1:])
    return {"first": spent[0][0], "best": best[0], "wall": best[1], "digest": digest}


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", rows=5_000_000, repeats=3)
    path = write_records(given.rows)
    rows: list[list[object]] = []
    for shape in SHAPES:
        ours, theirs = (
            in_process(run, path, shape, engine, given.repeats)
            for engine in ("duckdb", "spark")
        )
        if ours["digest"] != theirs["digest"]:
            raise SystemExit(f"{shape}: the engines differ")
        ratio = theirs["best"] / ours["best"]
        rows.append(
            [shape, ours["best"], theirs["best"], ratio, theirs["first"], theirs["wall"]]
        )
    show(
        f"Cells of {given.rows:,} rows by DuckDB and by Spark on two cores (CPU s)",
        ["shape", "DuckDB", "Spark", "ratio", "Spark's first", "Spark's wall"],
        rows,
    )


if __name__ == "__main__":
    main()
