"""From a file of SPSS to cells, beside ReadStat's bare reading of it in one piece.

The file has twenty columns: an identifier, eight questions with labels and a missing code,
amounts, codes as texts. Ours reads it in parts in a process of its own, copies it to Parquet,
and tabulates three dimensions with hashed keys; the CPU seconds and the peak memory are those
of both processes together.
"""

from __future__ import annotations

import resource
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import Line, arguments, in_process, peak_mb, report

SECONDS, MEGABYTES = 15.0, 500.0  # of a million records


def write_file(path: str, rows: int) -> dict[str, Any]:
    """Write the records."""
    import pandas as pd
    import pyreadstat

    rng = np.random.default_rng(1)
    questions = {f"q{k}": rng.integers(1, 6, rows).astype(float) for k in range(8)}
    amounts = {f"x{k}": np.round(rng.lognormal(8, 1, rows), 2) for k in range(5)}
    regions = np.array([f"{n:02}" for n in range(30)])
    classes = np.array([f"{n / 100:.2f}" for n in range(100, 999)])
    frame = pd.DataFrame(
        {
            "id": np.arange(1.0, rows + 1),
            "sex": rng.integers(1, 3, rows).astype(float),
            "age": rng.integers(0, 100, rows).astype(float),
            "region": rng.choice(regions, rows),
            "nace": rng.choice(classes, rows),
            "weight": rng.uniform(0.5, 2, rows),
            "day": np.floor(rng.uniform(0, 1000, rows)),
            **questions,
            **amounts,
        }
    )
    labels = dict(enumerate(["often", "seldom", "never", "no answer", "refused"], 1))
    pyreadstat.write_sav(
        frame,
        path,
        compress=path.endswith(".zsav"),
        variable_value_labels=dict.fromkeys(questions, labels),
        missing_ranges={name: [5] for name in questions},
    )
    return {}


def run_ours(path: str) -> dict[str, Any]:
    """Open the file and tabulate it."""
    from tables import HashedKeys, Request, Secret, cube, open_source

    keys = HashedKeys(column="id", secret=Secret(bytes(32)))
    warnings.simplefilter("ignore")
    started = time.process_time()
    with open_source(path) as source:
        (cells,) = cube(source, keys, [Request(dimensions=["region", "sex", "q0"])])
    child = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "cpu": time.process_time() - started + child.ru_utime + child.ru_stime,
        "peak": peak_mb() + child.ru_maxrss * 1024 / 1e6,
        "cells": cells.count.size,
    }


def run_readstat(path: str) -> dict[str, Any]:
    """Read the file in one piece, into lists."""
    import pyreadstat

    started = time.process_time()
    pyreadstat.read_sav(path, output_format="dict", disable_datetime_conversion=True)
    return {"cpu": time.process_time() - started, "peak": peak_mb()}


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", rows=1_000_000)
    for kind in ("sav", "zsav"):
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / f"people.{kind}")
            in_process(write_file, path, given.rows)
            ours, bare = in_process(run_ours, path), in_process(run_readstat, path)
        report(
            f"SPSS .{kind}, {given.rows:,} records of 20 columns",
            [
                Line("to cells, CPU", ours["cpu"], "s", goal=SECONDS * given.rows / 1e6),
                Line("to cells, peak memory", ours["peak"], "MB", goal=MEGABYTES),
                Line("beside bare reading", ours["cpu"], "s", "ReadStat", bare["cpu"]),
            ],
        )


if __name__ == "__main__":
    main()
