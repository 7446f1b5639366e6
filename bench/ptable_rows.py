"""CPU seconds to build p-tables, beside R ptable 1.0.0, and cells looked up per second."""

import time
from collections.abc import Callable

import numpy as np

from ptable import NoiseSpec, solve

#: CPU seconds of R ptable 1.0.0 for all rows; a range where its settings differ.
R_PTABLE = {10: (0.7, 0.7), 30: (7.0, 7.0), 50: (24.0, 50.0)}
N_CELLS = 10_000_000


def best_cpu(action: Callable[[], object], *, repeat: int = 3) -> float:
    times = []
    for _ in range(repeat):
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    return min(times)


def main() -> None:
    for max_noise, (low, high) in R_PTABLE.items():
        for monotone in ("none", "left"):
            spec = NoiseSpec(max_noise=max_noise, variance=0.3 * max_noise, monotone=monotone)
            spent = best_cpu(lambda spec=spec: solve(spec))
            ratio = f"{low / spent:.0f}"
            if low != high:
                ratio += f"-{high / spent:.0f}"
            print(f"D={max_noise} {monotone:>4}: {spent:.3f} s; R ptable {ratio} times that")
    table = solve(NoiseSpec(max_noise=10, variance=3.0))
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 30, N_CELLS)
    keys = rng.integers(0, 2**32, N_CELLS, dtype=np.uint32)
    table.lookup(counts[:1], keys[:1])
    spent = best_cpu(lambda: table.lookup(counts, keys))
    print(f"lookup: {N_CELLS / spent / 1e6:.0f} million cells per CPU second")


if __name__ == "__main__":
    main()
