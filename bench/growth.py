"""How a first protected table grows with its records and its cells.

Each size runs in a process of its own: it opens a Parquet file of narrow columns with stored
keys, checks these, tabulates with all margins and protects. The largest tables are grids that
are computed part by part. `--remove` deletes each file once it was measured. What was measured
is drawn by `docs/pictures/growth.py`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from bench.measure import arguments, drawn_records, in_process, peak_mb, show

MOST_DIMENSIONS = 8
CATEGORIES = 10


def write_records(rows: int) -> str:
    """Write records with eight uniform categories and 64-bit keys."""
    drawn = ", ".join(
        f"floor(random()*{CATEGORIES})::UTINYINT d{place}" for place in range(MOST_DIMENSIONS)
    )
    return drawn_records("growth", f'{drawn}, hash(range) "key"', rows=rows)


def run_table(path: str, dimensions: int, way: str) -> dict[str, Any]:
    """Tabulate once, from the file on; of a streamed table every cell of its grid."""
    import time

    import duckdb

    import ckm
    from ptable import NoiseSpec, solve

    ptable = solve(NoiseSpec(max_noise=5, variance=3.0))
    names = [f"d{place}" for place in range(dimensions)]

    def opened(data: object) -> ckm.Engine:
        return ckm.Engine(
            data, record_key="key", secret=ckm.Secret(bytes(range(32))), ptable=ptable
        )

    few = duckdb.connect().sql(f"SELECT * FROM '{path}' LIMIT 100").to_arrow_table()
    with opened(few) as engine:  # so that what is imported meanwhile is not measured
        engine.tabulate(names[:1])
    started = time.process_time()
    with opened(path) as engine:
        if way == "streamed":
            request = ckm.TableRequest(dimensions=names, empty_cells="grid")
            with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
                cells = engine.stream(request, Path(folder)).n_rows
        else:
            cells = engine.tabulate(names).n_rows
    return {"cells": cells, "cpu": time.process_time() - started, "peak": peak_mb()}


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", rows=10_000_000, least=3, most=7, streamed=0, remove=0)
    path = write_records(given.rows)
    sizes = [(number, "in memory") for number in range(given.least, given.most + 1)]
    sizes += [(given.streamed, "streamed")] if given.streamed else []
    rows: list[list[object]] = []
    for number, way in sizes:
        ours = in_process(run_table, path, number, way)
        rows.append([way, number, ours["cells"], ours["cpu"], ours["peak"]])
    if given.remove:
        Path(path).unlink()
    show(
        f"Growth of a first table, {given.rows:,} rows",
        ["how", "dimensions", "cells", "CPU s", "peak MB"],
        rows,
    )


if __name__ == "__main__":
    main()
