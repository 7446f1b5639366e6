"""The ledger: what sketches add to a tabulation, and a history of a million cells.

Records have a stored 64-bit key. CPU seconds of all threads, best of several calls.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.measure import arguments, best_cpu, in_process, peak_mb, show

if TYPE_CHECKING:
    from tables.source.source import Source

SECRET = bytes(32)
SHAPES = {
    "dense: 3 variables, 13,000 cells": ["region", "age", "sex"],
    "large: 3 variables, 240,000 cells": ["town", "age", "sex"],
    "sparse: 4 variables, 1,400,000 cells": ["town", "age", "sex", "job"],
}


def open_records(rows: int) -> Source:
    """Make records in memory: uneven categories, keys as of a hash."""
    import duckdb

    from tables import open_source

    with duckdb.connect() as connection:
        connection.execute("SET threads=1; SELECT setseed(0.5)").fetchall()
        table = connection.sql(
            "SELECT (60 * random() ** 2)::INT region, (1100 * random() ** 2)::INT town, "
            "(99 * random())::INT age, (random() < 0.5)::INT sex, "
            "(12 * random() ** 3)::INT job, (random() * 1000000)::INT number, "
            "hash(range * 7 + 1) key "
            f"FROM range({rows})"
        ).to_arrow_table()
    return open_source(table)


def run_scan(rows: int, repeats: int, dimensions: list[str], width: int) -> dict[str, Any]:
    """Time a tabulation with all margins, with or without sketches."""
    from tables import Request, StoredKeys, cube

    with open_records(rows) as source:
        wish, keys = [Request(dimensions=dimensions)], StoredKeys(column="key")
        cube(source, keys, [Request(dimensions=[])])
        seconds, (cells,) = best_cpu(lambda: cube(source, keys, wish, sketch=width), repeats)
        small = 0 if cells.sketch is None else int(cells.sketch.is_small.sum())
        return {"cpu": seconds, "cells": len(cells), "small": small, "peak": peak_mb()}


def run_history(rows: int, wanted: int, with_complements: int) -> dict[str, Any]:
    """Fill a ledger to `wanted` cells, and time what comes after."""
    from ckm.ledger import Definition, Ledger
    from tables import Request, Secret, StoredKeys, cube

    keys, secret = StoredKeys(column="key"), Secret(SECRET)
    path = Path(tempfile.mkdtemp()) / "ledger.db"
    answer: dict[str, Any] = {"complements": bool(with_complements)}
    with open_records(rows) as source:

        def make(ledger: Ledger, dimensions: list[str], where: str | None) -> Any:
            wish = Request(dimensions=dimensions, where=where)
            (cells,) = cube(source, keys, [wish], sketch=ledger.width)
            return len(cells), cells, Definition.of(wish, name="t", where=where)

        options = {"with_complements": bool(with_complements), "smallest": 10}
        with Ledger.open(path, secret=secret, **options) as ledger:
            total, number, filling = 0, 0, 0.0
            while total < wanted:
                where = f"number >= {number * 3000}"
                size, cells, definition = make(ledger, ["town", "age", "sex"], where)
                started = time.process_time()
                ledger.publish([ledger.entry(cells, definition)], policy="flag")
                filling += time.process_time() - started
                total, number = total + size, number + 1
            answer |= {
                "cells": total,
                "tables": number,
                "fill_us_per_cell": 1e6 * filling / total,
                "sets": len(ledger._histories.index("public")),
                "file_mb": path.stat().st_size / 1e6,
            }
        started = time.process_time()
        with Ledger.open(path, secret=secret, **options) as ledger:
            ledger._writer.refresh()
            answer["open_s"] = time.process_time() - started
            for name, dimensions in (
                ("1k", ["region", "job"]),
                ("13k", ["region", "age", "sex"]),
            ):
                size, cells, definition = make(ledger, dimensions, "number >= 777777")
                entry = ledger.entry(cells, definition)
                answer[f"entry_{name}_ms"] = (
                    1e3 * best_cpu(lambda c=cells, d=definition: ledger.entry(c, d), 5)[0]
                )
                answer[f"check_{name}_ms"] = (
                    1e3 * best_cpu(lambda e=entry: ledger.check([e]), 5)[0]
                )
                answer |= candidates(ledger, entry, name)
            started = time.perf_counter()
            ledger.publish([entry], policy="flag")
            answer["publish_13k_wall_ms"] = 1e3 * (time.perf_counter() - started)
            known = best_cpu(lambda: ledger.is_known(entry.definition), 20)[0]
            answer["known_us"] = 1e6 * known
            answer["peak_mb"] = peak_mb()
    return answer


def candidates(ledger: Any, entry: Any, name: str) -> dict[str, int]:
    """Count how many pairs meet in the index, and how many of them are thin."""
    import numpy as np

    record = ledger._histories.draft(entry, "public")
    query, other = ledger._histories.index("public")._near.find(record.words)
    met = len(np.unique(record.owners[query].astype(np.uint64) << np.uint64(32) | other))
    return {f"met_{name}": met, f"thin_{name}": len(ledger.check([entry]))}


def main() -> None:
    """Print both tables."""
    given = arguments(__doc__ or "", rows=5_000_000, repeats=3, cells=1_000_000)
    lines = []
    for name, dimensions in SHAPES.items():
        plain = in_process(run_scan, given.rows, given.repeats, dimensions, 0)
        for width in (1, 2):
            run = in_process(run_scan, given.rows, given.repeats, dimensions, width)
            lines.append(
                [
                    f"{name}, width {width}",
                    plain["cpu"],
                    run["cpu"],
                    run["cpu"] / plain["cpu"],
                    f"{run['small'] / run['cells']:.1%}",
                    run["peak"],
                ]
            )
    show(
        f"Tabulation of {given.rows:,} records with all margins, and with sketches (CPU s, MB)",
        ["table", "plain", "sketched", "ratio", "cells with an empty partition", "peak"],
        lines,
    )
    runs = [in_process(run_history, given.rows, given.cells, n) for n in (0, 1)]
    show(
        f"A history of {given.cells:,} cells (CPU unless it says wall)",
        ["", "without complements", "with complements"],
        [[key, runs[0][key], runs[1][key]] for key in runs[0]],
    )


if __name__ == "__main__":
    main()
