"""CPU seconds of a risk-utility map of 60 designs on six tables of 395,000 cells together."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.measure import arguments, best_cpu, in_process, peak_mb, show
from ptable import Mechanism
from risk.designs import MapDesign, build_designs, noise_grid
from risk.map import risk_utility_map

_SHARES = (0.4, 0.25, 0.15, 0.1, 0.07, 0.03)


def designs() -> dict[str, MapDesign]:
    """Sixty designs: a grid of noise, and mechanisms of others."""
    grid = noise_grid(
        max_noise=[8, 10, 12], variance=[3.0, 4.0, 5.0, 6.0, 7.0, 8.0], small=[0, 1, 2]
    )
    others: dict[str, MapDesign] = {
        "random rounding 3": Mechanism.random_rounding(3),
        "random rounding 5": Mechanism.random_rounding(5),
        "rounding 5": Mechanism.rounding(5),
        "rounding 10/5": Mechanism.ons_10_5(),
        "Laplace": Mechanism.discrete_laplace(0.5, max_noise=15),
        "Gaussian": Mechanism.discrete_gaussian(4.0, max_noise=12),
    }
    return grid | others


def measured(n_cells: int, kind: str) -> dict[str, Any]:
    """Measure one part in a process of its own."""
    rng = np.random.default_rng(1)
    tables = {
        f"t{i}": np.where(
            rng.random(n) < 0.3, 0, np.floor(np.exp(rng.normal(2.5, 2, n)))
        ).astype(np.int64)
        for i, n in enumerate(int(share * n_cells) for share in _SHARES)
    }
    built = build_designs(designs())
    calls = {
        "solve the designs": lambda: build_designs(designs()),
        "expected figures": lambda: risk_utility_map(built.tables, tables, rng=rng, n_draws=0),
        "with one draw": lambda: risk_utility_map(built.tables, tables, rng=rng),
    }
    spent, _ = best_cpu(calls[kind], 1)
    return {"cpu": spent, "peak": peak_mb(), "refused": len(built.refused)}


def main() -> None:
    given = arguments(__doc__ or "", cells=395_000)
    rows: list[list[object]] = []
    for kind in ("solve the designs", "expected figures", "with one draw"):
        found = in_process(measured, given.cells, kind)
        rows.append([kind, len(designs()) - found["refused"], found["cpu"], found["peak"]])
    show(f"{given.cells:,} cells", ["part", "designs built", "CPU s", "peak MB"], rows)


if __name__ == "__main__":
    main()
