"""One point of a risk-utility map, in the layout of INSEE's ckm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from risk.utility.measures.deviations import deviations
from risk.utility.measures.distances import distances
from risk.wellformed import require_whole

if TYPE_CHECKING:
    import pandas as pd

    from risk.utility.catalogue import Measure
    from risk.utility.pairs import Pairs

_QUANTILES = (0.5, 0.8, 0.9, 0.95, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLine:
    """Utility of the cells of one class of original counts.

    Parameters
    ----------
    cells
        ``"all"``, ``"large"`` or ``"small"``; always with an original count above 0.
    base
        The number of cells.
    mad, rmad_pct, hd
        The measures ``aad``, ``rmad_pct`` and ``hellinger_probability`` of the catalogue.
    quantiles
        Quantiles 50, 80, 90, 95 and 100 % of |d|, type 7; None without cells.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> line = utility_record(Pairs(original=[4, 60], published=[5, 60])).lines[0]
    >>> line.cells, line.mad.value, line.quantiles
    ('all', 0.5, (0.5, 0.8, 0.9, 0.95, 1.0))
    """

    cells: str
    base: int
    mad: Measure
    rmad_pct: Measure
    hd: Measure
    quantiles: tuple[float, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityRecord:
    """Utility on all, on large and on small cells.

    Parameters
    ----------
    lines
        One per class.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> [line.cells for line in utility_record(Pairs(original=[4], published=[5])).lines]
    ['all', 'large', 'small']
    """

    lines: tuple[RecordLine, ...]

    def to_frame(self) -> pd.DataFrame:
        """Give one line per class; numbers that are not defined are missing.

        Examples
        --------
        >>> from risk.utility import Pairs
        >>> utility_record(Pairs(original=[4], published=[5])).to_frame().columns.tolist()
        ['cells', 'base', 'mad', 'rmad_pct', 'hd', 'q50', 'q80', 'q90', 'q95', 'q100']
        """
        import pandas as pd

        columns: dict[str, object] = {
            "cells": [line.cells for line in self.lines],
            "base": [line.base for line in self.lines],
        }
        for name in ("mad", "rmad_pct", "hd"):
            values = [getattr(line, name).value for line in self.lines]
            columns[name] = pd.array(values, dtype="Float64")
        for place, q in enumerate(_QUANTILES):
            values = [line.quantiles and line.quantiles[place] for line in self.lines]
            columns[f"q{q * 100:g}"] = pd.array(values, dtype="Float64")
        return pd.DataFrame(columns)


def utility_record(pairs: Pairs, *, small: int = 20, large: int = 50) -> UtilityRecord:
    """Measure utility on all, on large and on small cells that are not empty.

    Parameters
    ----------
    pairs
        The cells; those with an original count of 0 are left out, as INSEE's ckm never
        produces them.
    small
        The largest count of a small cell.
    large
        Cells with larger counts are large.

    Examples
    --------
    >>> from risk.utility import Pairs
    >>> record = utility_record(Pairs(original=[4, 60, 0], published=[5, 60, 0]))
    >>> [(line.cells, line.base, line.mad.value) for line in record.lines]
    [('all', 2, 0.5), ('large', 1, 0.0), ('small', 1, 1.0)]
    """
    require_whole(small, name="small")
    require_whole(large, name="large")
    classes = {
        "all": pairs.o > 0,
        "large": pairs.o > large,
        "small": (pairs.o > 0) & (pairs.o <= small),
    }
    return UtilityRecord(
        lines=tuple(_line(name, pairs.take(inside)) for name, inside in classes.items())
    )


def _line(name: str, pairs: Pairs) -> RecordLine:
    measures = {m.name: m for m in (*deviations(pairs), *distances(pairs))}
    quantiles = None
    if pairs.n_cells:
        quantiles = tuple(map(float, np.quantile(pairs.size, _QUANTILES)))
    return RecordLine(
        cells=name,
        base=pairs.n_cells,
        mad=measures["aad"],
        rmad_pct=measures["rmad_pct"],
        hd=measures["hellinger_probability"],
        quantiles=quantiles,
    )
