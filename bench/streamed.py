"""Release a table that does not fit into memory: a grid, streamed into one Parquet file.

Every published cell of areas by age, sex and activity is written, the empty ones, too.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.measure import DATA, arguments, in_process, peak_mb, show

GOAL_MB = 2_000
_PER_AREA = 102 * 3 * 12  # with totals
_JOB = """
schema = 1
[data]
path = "{path}"
record_key = "key"
[keys]
secret = "secret.key"
[ptable]
max_noise = 5
variance = 3.0
[output]
formats = ["parquet"]
stream = true
[[table]]
name = "areas"
dimensions = ["area", "age", "sex", "activity"]
empty_cells = "grid"
"""


def write_records(rows: int, areas: int) -> str:
    """Write records with uniform categories and 64-bit keys."""
    import duckdb

    DATA.mkdir(exist_ok=True)
    path = DATA / f"streamed_{rows}_{areas}.parquet"
    if not path.exists():
        with duckdb.connect() as connection:
            connection.execute(
                f"COPY (SELECT (hash(range) % {areas})::INT area, (hash(range + 1000000000) "
                "% 101)::INT age, (range % 2)::INT sex, (hash(range + 2000000000) % 11)::INT "
                f'activity, hash(range + 4000000000) "key" FROM range({rows})) '
                f"TO '{path}' (FORMAT parquet)"
            )
    return str(path)


def run_release(path: str) -> dict[str, Any]:
    """Release once, key checks, files and reports included."""
    from ckm.config import read_job
    from ckm.release.perturbed import release

    folder = Path(tempfile.mkdtemp(dir=DATA))
    try:
        (folder / "secret.key").write_bytes(bytes(range(32)))
        (folder / "secret.key").chmod(0o600)
        (folder / "job.toml").write_text(_JOB.format(path=path))
        started, cpu = time.perf_counter(), time.process_time()
        done = release(read_job(folder / "job.toml"), folder / "out", memory_limit="600MB")
        return {
            "cells": done.cells,
            "cpu": time.process_time() - cpu,
            "wall": time.perf_counter() - started,
            "peak": peak_mb(),
        }
    finally:
        shutil.rmtree(folder)


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", rows=10_000_000, cells=200_000_000)
    path = write_records(given.rows, given.cells // _PER_AREA)
    ours = in_process(run_release, path)
    show(
        f"A streamed release of {given.rows:,} records",
        ["published cells", "CPU s", "wall s", "peak MB", "goal MB"],
        [[ours["cells"], ours["cpu"], ours["wall"], ours["peak"], GOAL_MB]],
    )


if __name__ == "__main__":
    main()
