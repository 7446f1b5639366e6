"""Noise designed beside noise drawn, by class of original counts; deviations by size."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckm.assessment.noise.applied import Design
from ckm.assessment.observed import ObservedCells
from reports.facts.release import NoiseClassFact, NoiseShareFact, SizeFact

Numbers = NDArray[np.int64]

_SINGLE = 8
_LARGER = ((9, 20), (21, 50), (51, None))
_MAX_ROWS = 100
#: Where sizes of cells begin.
_SIZES = (1, 5, 10, 20, 50, 100, 200, 500, 1000)
_HALF, _MOST = 0.5, 0.9


def transition(design: Design) -> tuple[tuple[float, ...], ...]:
    """Give the rows of a p-table, if there are few; the last serve larger counts in turn."""
    if design.table.n_rows > _MAX_ROWS:
        return ()
    rows: list[list[float]] = design.table.transition.tolist()
    return tuple(map(tuple, rows))


def noise_classes(cells: ObservedCells, design: Design) -> tuple[NoiseClassFact, ...]:
    """Compare mean, variance and range of the noise with the design, class by class.

    A class of several rows is designed to have the means of these rows, weighted by its
    cells. The variance that was drawn is taken about the designed mean of each cell's row.
    """
    rows = design.rows(cells.count)
    classes = [(count, count) for count in range(1, _SINGLE + 1)]
    facts = []
    for low, high in [*classes, *_LARGER]:
        inside = cells.count >= low
        if high is not None:
            inside &= cells.count <= high
        facts.append(_one_class(low, high, rows[inside], cells.noise[inside], design))
    return tuple(facts)


def _one_class(
    low: int, high: int | None, rows: Numbers, noise: Numbers, design: Design
) -> NoiseClassFact:
    weights = np.bincount(rows, minlength=len(design.mean)).astype(float)
    n = len(noise)
    if not n:  # the design of a class without cells is known where its rows agree
        last = max(low, len(design.mean)) + design.cycle if high is None else high + 1
        served = np.unique(design.rows(np.arange(low, last)))
        distributions = design.probabilities[served]
        if (distributions == distributions[0]).all():
            weights[served] = 1.0
    if not weights.any():
        return NoiseClassFact(low=low, high=high, cells=0, **dict.fromkeys(_FIGURES))
    served = np.flatnonzero(weights)
    away = noise - design.mean[rows]
    return NoiseClassFact(
        low=low,
        high=high,
        cells=n,
        mean_designed=float(np.average(design.mean, weights=weights)),
        mean_drawn=float(noise.mean()) if n else None,
        variance_designed=float(np.average(design.variance, weights=weights)),
        variance_drawn=float((away**2).mean()) if n else None,
        stay_designed=float(np.average(design.p_stay, weights=weights)),
        stay_drawn=float((noise == 0).mean()) if n else None,
        least_designed=int(design.least[served].min()),
        least_drawn=int(noise.min()) if n else None,
        most_designed=int(design.most[served].max()),
        most_drawn=int(noise.max()) if n else None,
    )


_FIGURES = tuple(
    f"{name}_{how}"
    for name in ("mean", "variance", "stay", "least", "most")
    for how in ("designed", "drawn")
)


def noise_shares(cells: ObservedCells, design: Design) -> tuple[NoiseShareFact, ...]:
    """Compare how often each noise was to come and came."""
    n = len(cells)
    if not n:
        return ()
    weights = np.bincount(design.rows(cells.count), minlength=len(design.mean))
    designed = weights @ design.probabilities / n
    values, times = np.unique(cells.noise, return_counts=True)
    shares = dict(zip(values.tolist(), (times / n).tolist(), strict=True))
    by_design = dict(zip(design.noise.tolist(), designed.tolist(), strict=True))
    return tuple(
        NoiseShareFact(noise=v, designed=by_design.get(v, 0.0), drawn=shares.get(v, 0.0))
        for v in sorted({*shares, *(v for v, p in by_design.items() if p)})
    )


def noise_sizes(cells: ObservedCells) -> tuple[SizeFact, ...]:
    """Tell how far published counts lie from original ones, by size of cell.

    A quantile is the deviation of a cell: the least that such a share does not exceed.
    """
    off = np.abs(cells.noise)
    facts = []
    for low, high in zip(_SIZES, [*(n - 1 for n in _SIZES[1:]), None], strict=True):
        inside = (cells.count >= low) & (True if high is None else cells.count <= high)
        if not inside.any():
            continue
        half, most = _quantiles(off[inside])
        half_share, most_share = _quantiles(off[inside] / cells.count[inside])
        facts.append(
            SizeFact(
                low=low,
                high=high,
                cells=int(inside.sum()),
                half=int(half),
                most=int(most),
                half_share=half_share,
                most_share=most_share,
            )
        )
    return tuple(facts)


def _quantiles(off: NDArray[Any]) -> list[float]:
    levels = (_HALF, _MOST)
    quantiles: list[float] = (
        np.quantile(off, levels, method="inverted_cdf").astype(float).tolist()
    )
    return quantiles
