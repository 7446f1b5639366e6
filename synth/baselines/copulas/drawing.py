"""Vines on the columns that vary, and records from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from synth.copulas.vine import fit_vine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from synth.baselines.layout import Layout
    from synth.copulas.margins import Margin
    from synth.copulas.vine import FittedVine

_ROUNDS = 50


def fit_active(
    u: NDArray[np.float64], *, before: NDArray[np.float64] | None = None, **settings: Any
) -> tuple[FittedVine | None, NDArray[np.int64]]:
    """Fit a vine to the columns that vary; none where fewer than two do."""
    active = np.flatnonzero(np.ptp(u, axis=0) > 0).astype(np.int64)
    if len(active) < 2:
        return None, active[:0]
    lower = None if before is None else before[:, active]
    return fit_vine(u[:, active], before=lower, **settings), active


def drawn_frame(
    n: int,
    rng: np.random.Generator,
    *,
    layout: Layout,
    margins: Sequence[Margin],
    vine: FittedVine | None,
    active: NDArray[np.int64],
) -> list[NDArray[np.int64]]:
    """Draw codes. Records without a category are drawn again, at last given the first."""
    parts: list[list[NDArray[np.int64]]] = []
    found = 0
    for turn in range(_ROUNDS):
        u = rng.random((n, len(margins)))
        if vine is not None:
            u[:, active] = vine.sample(n, rng)
        bins = [m.inverse(u[:, k]).astype(np.int64) for k, m in enumerate(margins)]
        codes, is_whole = layout.codes(bins)
        if turn == _ROUNDS - 1:
            is_whole[:] = True
        parts.append([one[is_whole] for one in codes])
        found += int(is_whole.sum())
        if found >= n:
            break
    return [np.concatenate(column)[:n] for column in zip(*parts, strict=True)]
