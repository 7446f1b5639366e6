"""How likely each report is under each value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rappor.decoding.candidates import Candidates
    from rappor.encoded import Reports

#: A bit is never taken to be more certain than this.
_SURE = 1e-9


def likelihoods(
    reports: Reports, candidates: Candidates
) -> tuple[tuple[str | None, ...], NDArray[np.float64]]:
    """Give the likelihood of reports, relative to that of a value without bits."""
    shape = candidates.parameters
    groups = candidates.groups
    k = shape.n_bits
    p, q = (min(max(x, _SURE), 1 - _SURE) for x in (shape.p_star, shape.q_star))
    logs = np.full((len(reports), k), np.log((1 - q) / (1 - p)))
    logs[reports.bits()] = np.log(q / p)
    design = candidates.design[:, [group[0] for group in groups]].tocsr()
    others = _others(logs, candidates)
    table = np.zeros((len(reports), len(groups) + (others is not None)))
    for cohort in range(shape.n_cohorts):
        own = np.flatnonzero(reports.cohorts == cohort)
        if own.size:
            columns = design[cohort * k : (cohort + 1) * k]
            table[own, : len(groups)] = (columns.T @ logs[own].T).T
    names: tuple[str | None, ...] = tuple(candidates.names[group[0]] for group in groups)
    if others is not None:
        table[:, -1] = others
        names = (*names, None)
    table -= table.max(axis=1, keepdims=True)
    return names, np.exp(table)


def _others(logs: NDArray[np.float64], candidates: Candidates) -> NDArray[np.float64] | None:
    """Give the log-likelihood under a value nobody named."""
    shape = candidates.parameters
    if shape.is_boolean:
        return np.zeros(len(logs))  # the other answer sets no bit
    if shape.hash == "index":
        free = np.setdiff1d(np.arange(shape.n_bits), candidates.bits)
        return np.log(np.exp(logs[:, free]).mean(axis=1)) if free.size else None
    height = 1.0 - (1.0 - 1.0 / shape.n_bits) ** shape.n_hashes
    mixed: NDArray[np.float64] = np.log1p(height * np.expm1(logs)).sum(axis=1)
    return mixed
