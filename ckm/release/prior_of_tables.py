"""How frequent small counts are in a job's own tables, smoothed: a prior for limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import ConfigError
from footing.messages import Message

if TYPE_CHECKING:
    from pathlib import Path

    from footing.arrays import Floats, Integers

#: So many cells make a class of counts whose share is told.
_CELLS_OF_A_CLASS = 50
_LENGTH = 1_001
#: By how much the share falls from count to count beyond the largest class.
_DECAY = 0.8


def prior_of_tables(path: Path) -> Floats:
    """Tabulate a job's tables and smooth how frequent each count is.

    Empty cells are left out. A file of limits holds the result: it must not tell a single cell.
    """
    from ckm.config.read import read_job_for_its_tables
    from ckm.release.job_inputs import open_engine
    from ptable import NoiseSpec, solve

    job = read_job_for_its_tables(path)
    with open_engine(job, solve(NoiseSpec(max_noise=2, variance=1.0)), noises={}) as engine:
        together = engine.count_histogram(job.tables).together
    return smoothed(together.counts, together.cells)


def smoothed(counts: Integers, cells: Integers) -> Floats:
    """Give one share for each class of neighbouring counts, of fifty cells at least."""
    positive = counts > 0
    counts, cells = counts[positive], cells[positive]
    if int(cells.sum()) < 2 * _CELLS_OF_A_CLASS:
        raise ConfigError(
            Message("The tables have too few cells for a prior of their own."),
            hint=Message('priors = ["textbook"]'),
        )
    shares = np.zeros(_LENGTH)
    frequency = np.bincount(np.minimum(counts, _LENGTH - 1), weights=cells, minlength=_LENGTH)
    first, n_cells = 1, 0.0
    classes: list[tuple[int, int, float]] = []
    for count in range(1, _LENGTH):
        n_cells += float(frequency[count])
        if n_cells >= _CELLS_OF_A_CLASS:
            classes.append((first, count, n_cells))
            first, n_cells = count + 1, 0.0
    if n_cells:
        start, _, before = classes.pop()
        classes.append((start, int(np.flatnonzero(frequency).max()), before + n_cells))
    for start, stop, number in classes:
        shares[start : stop + 1] = number / (stop + 1 - start)
    last = classes[-1][1]
    beyond = np.arange(1, _LENGTH - last)
    shares[last + 1 :] = shares[last] * _DECAY**beyond
    tiny = shares[1:].sum() * 1e-12
    shares[1:] = np.maximum(shares[1:], tiny)
    total: float = shares.sum()
    return np.asarray(shares / total, dtype=np.float64)
