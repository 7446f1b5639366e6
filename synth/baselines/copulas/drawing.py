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
    """Fit a vine to the columns that vary; none where fewer than two do.

    Parameters
    ----------
    u
        Pseudo-observations.
    before
        Left limits, or None.
    settings
        As for `synth.copulas.fit_vine`.

    Returns
    -------
    FittedVine or None
        The vine.
    numpy.ndarray
        The columns it is about.

    Examples
    --------
    >>> fit_active(np.ones((5, 3)))
    (None, array([], dtype=int64))
    """
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
    """Draw codes. Records without a category are drawn again, and in the end given the first.

    Parameters
    ----------
    n
        How many records.
    rng
        A generator.
    layout, margins
        The ordered columns.
    vine, active
        The vine, and the columns it is about; the others are independent.

    Examples
    --------
    >>> from synth.baselines.coded import code_frame
    >>> from synth.baselines.layout import lay_out
    >>> from synth.baselines.margins import exact_margins
    >>> layout = lay_out(code_frame({"sex": ["M", "F"]}))
    >>> found = drawn_frame(
    ...     6,
    ...     np.random.default_rng(1),
    ...     layout=layout,
    ...     margins=exact_margins(layout.bins, layout.sizes),
    ...     vine=None,
    ...     active=np.arange(0),
    ... )
    >>> sorted(set(found[0].tolist()))
    [0, 1]
    """
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
