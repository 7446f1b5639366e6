"""CPU seconds to build p-tables beside R ptable, and to look cells up."""

from __future__ import annotations

import numpy as np

from bench.measure import Line, arguments, best_cpu, in_r, report
from ptable import NoiseSpec, solve

SIZES = (10, 30, 50)
GOAL = 1.0
N_CELLS = 10_000_000


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", largest=max(SIZES))
    lines = []
    for max_noise in (size for size in SIZES if size <= given.largest):
        for is_left, monotone in enumerate(("none", "left")):
            spec = NoiseSpec(max_noise=max_noise, variance=0.3 * max_noise, monotone=monotone)
            spent, _ = best_cpu(lambda spec=spec: solve(spec), 3)
            peer = in_r("ptable_rows.R", max_noise, 0.3 * max_noise, is_left)
            beside = ("R ptable", peer["cpu"], GOAL) if peer else ("R ptable (not here)",)
            name = f"all rows of a p-table, D = {max_noise}, monotone {monotone}"
            lines.append(Line(name, spent, "CPU s", *beside))
    table, rng = solve(NoiseSpec(max_noise=10, variance=3.0)), np.random.default_rng(1)
    counts = rng.integers(0, 30, N_CELLS)
    keys = rng.integers(0, 2**32, N_CELLS, dtype=np.uint32)
    spent, _ = best_cpu(lambda: table.lookup(counts, keys), 3)
    lines.append(Line(f"look {N_CELLS:,} cells up", spent, "CPU s"))
    report("p-tables", lines)


if __name__ == "__main__":
    main()
