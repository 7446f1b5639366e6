"""CPU seconds and peak memory to measure the utility of a large table."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.measure import arguments, best_cpu, in_process, peak_mb, show
from ptable import NoiseSpec, solve
from risk.utility import assess_utility, utility_record
from risk.utility.pairs import Pairs


def measured(n_cells: int, kind: str) -> dict[str, Any]:
    """Measure one kind of call in a process of its own."""
    rng = np.random.default_rng(1)
    original = rng.geometric(0.02, n_cells) - 1
    table = solve(NoiseSpec(max_noise=5, variance=3.0, small=2))
    keys = rng.integers(0, 2**32, n_cells, dtype=np.uint32)
    published = original + table.lookup(original, keys)
    del keys
    before = peak_mb()
    calls = {
        "no p-table": lambda: assess_utility(original, published),
        "p-table": lambda: assess_utility(original, published, ptable=table),
        "record": lambda: utility_record(Pairs(original=original, published=published)),
    }
    spent, _ = best_cpu(calls[kind], 3)
    return {"cpu": spent, "before": before, "peak": peak_mb()}


def main() -> None:
    given = arguments(__doc__ or "", cells=1_000_000)
    rows: list[list[object]] = []
    for kind in ("no p-table", "p-table", "record"):
        found = in_process(measured, given.cells, kind)
        rows.append([kind, found["cpu"], found["before"], found["peak"]])
    show(f"{given.cells:,} cells", ["call", "CPU s", "MB before", "peak MB"], rows)


if __name__ == "__main__":
    main()
