"""CPU seconds and peak memory of the numbers of a release: checks, risk and utility."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.measure import arguments, in_process, peak_mb, show
from ckm.assessment.assessor import Assessor
from ckm.assessment.facts import findings
from ckm.config.job.data import JobData, JobKeys
from ckm.config.job.job import Job
from ckm.config.job.table import JobTable
from ckm.engine.perturbation import perturb
from ckm.engine.protection import Protected
from ckm.engine.published_table import publish
from ckm.engine.request import TableRequest
from ptable import NoiseSpec, solve
from tables import Request, Secret
from tables.cells.axes import build_axis
from tables.cells.blocks import Block, group
from tables.cells.cube import _cells

if TYPE_CHECKING:
    from tables.cells.blocks import Cells

_SIZES = (36_000, 2, 6, 5)
_NAMES = ("commune", "sex", "age", "category")


def made_up(n_cells: int, seed: int) -> Cells:
    """Cells of a table of four dimensions with all margins, about so many of them."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    finest = n_cells * 2 // 5
    sizes = (max(1, finest // 25), *_SIZES[1:])
    codes = [rng.integers(0, size, finest) for size in sizes]
    request = Request(dimensions=_NAMES)
    values = {
        name: pa.chunked_array([pa.array([f"{code:05d}" for code in column.tolist()])])
        for name, column in zip(_NAMES, codes, strict=True)
    }
    pairs = [build_axis(request, name, values) for name in _NAMES]

    block = Block(
        tuple(code for _, code in pairs),
        rng.geometric(0.15, finest).astype(np.int64),
        rng.integers(0, 2**64, finest, dtype=np.uint64),
        (),
    )
    axes = tuple(axis for axis, _ in pairs)
    block = group(block, tuple(axis.levels[0].size for axis in axes), 2**64)
    return _cells(axes, block, request, 2**64)


def measured(n_cells: int, n_tables: int) -> dict[str, Any]:
    """Measure all numbers of a release in a process of its own."""
    ptable = solve(NoiseSpec(max_noise=5, variance=3.0, small=2))
    secret, request = Secret(bytes(16)), TableRequest(dimensions=_NAMES)
    job = Job(
        schema=1,
        data=JobData(path=Path("people.parquet"), id="id"),
        keys=JobKeys(),
        ptable=Path("pt.parquet"),
        table=tuple(JobTable(name=f"t{i}", dimensions=_NAMES) for i in range(n_tables)),
    )
    tables = {}
    for number, name in enumerate(job.tables):
        cells = made_up(n_cells // n_tables, number)
        published = perturb(cells, ptable=ptable, secret=secret)
        table = publish(
            cells, published, measures=["count"], empty_cells="drop", round_weighted=True
        )
        tables[name] = Protected(
            name=name, request=request, cells=cells, table=table, counts=published
        )
    before = peak_mb()
    started = time.process_time()
    assessor = Assessor(ptable, is_mixed=True)
    for protected in tables.values():
        assessor.add(protected)
    middle = time.process_time()
    findings(assessor, job, quality=None)
    return {
        "cells": sum(len(protected.cells) for protected in tables.values()),
        "observe": middle - started,
        "rest": time.process_time() - middle,
        "before": before,
        "peak": peak_mb(),
    }


def main() -> None:
    given = arguments(__doc__ or "", cells=1_000_000)
    rows: list[list[object]] = []
    for n_tables in (1, 6):
        found = in_process(measured, given.cells, n_tables)
        rows.append(
            [
                n_tables,
                found["cells"],
                found["observe"],
                found["rest"],
                found["before"],
                found["peak"],
            ]
        )
    columns = ["tables", "cells", "per table, CPU s", "together, CPU s", "MB before", "peak MB"]
    show("Checks, risk and utility of a release", columns, rows)


if __name__ == "__main__":
    main()
