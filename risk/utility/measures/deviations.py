"""How far published counts lie from original ones, cell by cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from footing.messages import Message, Name
from risk.distributions.band import Band
from risk.errors import RiskError
from risk.utility.catalogue import DEFINITIONS, LEVELS, QUANTILES, Measure, defined, undefined
from risk.utility.measures.noise import row_variances

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd
    from numpy.typing import NDArray

    from ptable import PTable
    from risk.utility.pairs import Pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How many cells lie at or below each of several bounds.

    Parameters
    ----------
    name
        ``"d1"`` for |d|, ``"d2"`` for |d|/o over cells with o > 0, ``"d3"`` for |√p - √o|.
    bounds
        The bounds, rising; infinity is written None and comes last.
    cells
        The number of cells at or below each bound.
    base
        The number of cells.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> distributions(Pairs(original=[4, 2, 0], published=[5, 2, 0]))[0].to_frame()
      measure  at_most  cells  share  base
    0      d1      0.0      2  0.667     3
    1      d1      1.0      3  1.000     3
    """

    name: str
    bounds: tuple[float | None, ...]
    cells: tuple[int, ...]
    base: int

    @property
    def unit(self) -> str:
        """What the bounds count.

        Examples
        --------
        >>> Distribution(name="d1", bounds=(0.0,), cells=(3,), base=3).unit
        'counts'
        """
        return DEFINITIONS[self.name][0]

    @property
    def definition(self) -> str:
        """The formula of what the bounds bound.

        Examples
        --------
        >>> Distribution(name="d2", bounds=(0.0,), cells=(3,), base=3).definition
        '|d|/o over cells with o > 0'
        """
        return DEFINITIONS[self.name][1]

    def to_frame(self) -> pd.DataFrame:
        """Give one line per bound; shares are rounded to three digits.

        Examples
        --------
        >>> lines = Distribution(name="d1", bounds=(0.0, 2.0), cells=(3, 4), base=4)
        >>> list(lines.to_frame()["share"])
        [0.75, 1.0]
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "measure": self.name,
                "at_most": self.bounds,
                "cells": self.cells,
                "share": [round(n / self.base, 3) for n in self.cells],
                "base": self.base,
            }
        )


def deviations(pairs: Pairs, *, ptable: PTable | None = None) -> tuple[Measure, ...]:
    """Measure absolute and relative deviations, bias and cells changed.

    Parameters
    ----------
    pairs
        The cells.
    ptable
        The p-table that made the noise; ``bias_z`` needs it.

    Notes
    -----
    The two relative deviations are named apart: ``rad_sum`` is a sum, as the Handbook on
    statistical disclosure control (2nd ed., 4.7) prints it, ``rmad_pct`` a mean in percent, as
    INSEE's ckm computes it. Both leave out cells with ``o = 0``; `zeros` counts these.
    ``bias_z`` takes the noises of different cells for independent.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> found = deviations(Pairs(original=[4, 2, 0], published=[5, 2, 0]))
    >>> {m.name: m.value for m in found if m.name in {"rad_sum", "rmad_pct"}}
    {'rad_sum': 0.25, 'rmad_pct': 12.5}
    """
    n, total, positive = pairs.n_cells, int(pairs.o.sum()), len(pairs.relative)
    if not n:
        return tuple(
            undefined(name, "there are no cells")
            for name in (*_PER_CELL, "bias_share", "bias_z", *_PER_POSITIVE)
        )
    drift = int(pairs.noise.sum())
    n_changes = np.count_nonzero(pairs.noise)
    values = {
        "aad": pairs.size.sum() / n,
        "max_abs": pairs.size.max(),
        "rmse": math.sqrt(float(np.square(pairs.noise, dtype=float).sum()) / n),
        "bias_mean": drift / n,
        "changed_pct": 100 * n_changes / n,
    }
    measures = [defined(name, values[name], base=n) for name in _PER_CELL]
    measures.append(
        defined("bias_share", drift / total, base=n)
        if total
        else undefined("bias_share", "the original counts add up to 0", base=n)
    )
    measures.append(bias(pairs, ptable=ptable))
    if not positive:
        return (*measures, *(undefined(name, "no cell has o > 0") for name in _PER_POSITIVE))
    sum_of_relative = float(pairs.relative.sum())
    values = {
        "rad_sum": sum_of_relative,
        "rmad_pct": 100 * sum_of_relative / positive,
        "changed_nonzero_pct": 100 * np.count_nonzero(pairs.relative) / positive,
    }
    return (*measures, *(defined(name, values[name], base=positive) for name in _PER_POSITIVE))


_PER_CELL = ("aad", "max_abs", "rmse", "bias_mean", "changed_pct")
_PER_POSITIVE = ("rad_sum", "rmad_pct", "changed_nonzero_pct")


def bias(pairs: Pairs, *, ptable: PTable | None) -> Measure:
    """Measure by how many standard errors the sum of the noise is off.

    Parameters
    ----------
    pairs
        The cells; cells with the same records have the same noise and should come once.
    ptable
        The p-table that made the noise; without it there is no number.

    Notes
    -----
    ``Σd / √Σσ²`` with the variance σ² of each cell's row, for independent noises. Cells whose
    noise is one draw, such as a total with a single part, make the root too small.

    Examples
    --------
    >>> from ptable import PTable
    >>> from risk.utility import Pairs
    >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    >>> bias(Pairs(original=[4] * 9, published=[5] * 6 + [3] * 3), ptable=table).value
    1.0
    """
    if not pairs.n_cells:
        return undefined("bias_z", "there are no cells")
    if ptable is None:
        return undefined("bias_z", "no p-table was given", base=pairs.n_cells)
    cells = np.bincount(Band.of(ptable).rows(pairs.o), minlength=ptable.n_rows)
    variance = float((row_variances(ptable) * cells).sum())
    if not variance:
        return undefined("bias_z", "the p-table gives these cells no noise", base=pairs.n_cells)
    drift = int(pairs.noise.sum())
    return defined("bias_z", drift / math.sqrt(variance), base=pairs.n_cells)


def summaries(
    pairs: Pairs,
    *,
    cells: Literal["all", "original", "published"] = "all",
    of: Collection[str] = ("d1", "d2", "d3"),
) -> tuple[Measure, ...]:
    """Summarise D1 = |d|, D2 = |d|/o and D3 = |√p - √o| by mean and quantiles.

    Parameters
    ----------
    pairs
        The cells.
    cells
        Which cells: ``"all"``; ``"original"`` for those with ``o > 0``; ``"published"`` for
        those with ``p > 0``, the filter of cellKey, which hides false zeros.
    of
        Which of ``"d1"``, ``"d2"`` and ``"d3"``.

    Notes
    -----
    Quantiles are of type 7, as in R. Values are not rounded. D2 is over cells with ``o > 0``:
    cellKey takes 0/0 for 0 and keeps infinite values, so its D2 differs where ``o = 0``.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> found = summaries(Pairs(original=[4, 2, 0], published=[5, 2, 0]))
    >>> {m.name: m.value for m in found if m.name.endswith("_max")}["d2_max"]
    0.25
    """
    selection = _chosen(pairs, cells)
    measures: list[Measure] = []
    for name in of:
        values = _deviation_of(selection, name)
        labels = {f"{name}_{label}": q for label, q in QUANTILES.items()}
        if not len(values):
            reason = "no cell has o > 0" if selection.n_cells else "there are no cells"
            measures += [undefined(label, reason) for label in (*labels, f"{name}_mean")]
            continue
        quantiles = _quantiles(values, list(labels.values()))
        measures += [
            defined(label, v, base=len(values))
            for label, v in zip(labels, quantiles, strict=True)
        ]
        measures.append(defined(f"{name}_mean", values.sum() / len(values), base=len(values)))
    return tuple(measures)


def distributions(
    pairs: Pairs, *, cells: Literal["all", "original", "published"] = "all"
) -> tuple[Distribution, ...]:
    """Tabulate D1, D2 and D3 cumulatively; D1 by its own values.

    Parameters
    ----------
    pairs, cells
        As for `summaries`.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> found = distributions(Pairs(original=[4, 2, 0], published=[5, 2, 0]))
    >>> found[1].bounds[:4], found[1].cells
    ((0.0, 0.02, 0.05, 0.1), (1, 1, 1, 1, 1, 2, 2, 2, 2))
    """
    tables = []
    selection = _chosen(pairs, cells)
    for name in ("d1", "d2", "d3"):
        values = _deviation_of(selection, name)
        if not len(values):
            continue
        if name == "d1":
            own, numbers = np.unique(values, return_counts=True)
            bounds: tuple[float | None, ...] = tuple(map(float, own))
            below = np.cumsum(numbers).tolist()
        else:
            bounds = (*LEVELS, None)
            places = np.searchsorted(LEVELS, values, side="left")
            below = np.cumsum(np.bincount(places, minlength=len(bounds))).tolist()
        tables.append(
            Distribution(name=name, bounds=bounds, cells=tuple(below), base=len(values))
        )
    return tuple(tables)


def _chosen(pairs: Pairs, cells: str) -> Pairs:
    if cells == "all":
        return pairs
    if cells not in {"original", "published"}:
        raise RiskError(
            Message(
                "cells must be 'all', 'original' or 'published', not {cells!r}.",
                cells=Name(cells),
            )
        )
    return pairs.take((pairs.o if cells == "original" else pairs.p) > 0)


def _deviation_of(pairs: Pairs, name: str) -> NDArray[np.float64]:
    if name == "d1":
        return pairs.size.astype(np.float64)
    return pairs.relative if name == "d2" else pairs.root_gap


def _quantiles(values: NDArray[np.float64], probabilities: list[float]) -> NDArray[np.float64]:
    """Interpolate order statistics (type 7); unchanged cells need no sorting."""
    positive = np.sort(values[values > 0])
    n, still = len(values), len(values) - len(positive)
    places = np.array(probabilities) * (n - 1)
    low = np.floor(places).astype(np.int64)
    high = np.minimum(low + 1, n - 1)

    def at(order: NDArray[np.int64]) -> NDArray[np.float64]:
        answer = np.zeros(len(order))
        answer[order >= still] = positive[order[order >= still] - still]
        return answer

    answer: NDArray[np.float64] = at(low) + (places - low) * (at(high) - at(low))
    return answer
