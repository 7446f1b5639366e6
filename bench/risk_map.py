"""CPU seconds of a risk-utility map of 60 designs on the six tables of the demonstration.

With its default size these have about 395,000 distinct cells that hold somebody.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.measure import arguments, best_cpu, in_process, peak_mb, show
from ckm.config import read_job
from ckm.demo.demo import JOB, write_register
from ckm.release.job_inputs import load_ptable, open_engine
from ptable import Mechanism
from risk.risk_map.designs import MapDesign, build_designs, noise_grid
from risk.risk_map.map import risk_utility_map

if TYPE_CHECKING:
    from ckm.engine.cell_histogram import CountHistogram


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


def tables(persons: int) -> CountHistogram:
    """Make up the register and tabulate it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_register(folder, persons=persons)
        (folder / "job.toml").write_text(JOB, encoding="utf-8")
        job = read_job(folder / "job.toml")
        with open_engine(job, load_ptable(job)) as engine:
            return engine.count_histogram(job.tables)


def measured(persons: int, kind: str) -> dict[str, Any]:
    """Measure one part in a process of its own."""
    rng = np.random.default_rng(1)
    found = tables(persons)
    built = build_designs(designs())
    calls = {
        "tables of the job": lambda: tables(persons),
        "solve the designs": lambda: build_designs(designs()),
        "expected figures": lambda: risk_utility_map(
            built.tables, found.tables, together=found.together, rng=rng, n_draws=0
        ),
        "with one draw": lambda: risk_utility_map(
            built.tables, found.tables, together=found.together, rng=rng
        ),
    }
    spent, _ = best_cpu(calls[kind], 1)
    return {
        "cpu": spent,
        "peak": peak_mb(),
        "refused": len(built.refused),
        "cells": found.distinct,
    }


def main() -> None:
    given = arguments(__doc__ or "", persons=400_000)
    rows: list[list[object]] = []
    kinds = ("tables of the job", "solve the designs", "expected figures", "with one draw")
    cells = 0
    for kind in kinds:
        found = in_process(measured, given.persons, kind)
        cells = found["cells"]
        rows.append([kind, len(designs()) - found["refused"], found["cpu"], found["peak"]])
    show(f"{cells:,} cells", ["part", "designs built", "CPU s", "peak MB"], rows)


if __name__ == "__main__":
    main()
