"""Single columns and pairs of columns: Kolmogorov-Smirnov, Spearman, Cramér."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from synth.evaluation.measures.bins import Bins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from synth.arrays import Floats, Integers
    from synth.evaluation.measures.bins import Binned
    from synth.evaluation.records import Records


def ks_distances(real: Records, synthetic: Records) -> dict[str, float]:
    """Give the largest difference between the distribution functions of each column.

    sup |F - G| over the values that are there. A column that is missing throughout in one frame
    alone has distance 1, in both 0.
    """
    return {
        name: _ks(real.values[:, place], synthetic.values[:, place])
        for place, name in enumerate(real.names)
    }


def spearman(records: Records) -> Floats:
    """Give rank correlations of all pairs of columns; NaN where one of them is constant."""
    from scipy.stats import rankdata

    ranks = np.column_stack(
        [rankdata(np.where(np.isnan(column), np.inf, column)) for column in records.values.T]
    )
    ranks -= ranks.mean(axis=0)
    sizes = np.sqrt((ranks**2).sum(axis=0))
    scaled = np.divide(ranks, sizes, out=np.full_like(ranks, np.nan), where=sizes > 0)
    found: Floats = np.clip(scaled.T @ scaled, -1.0, 1.0)
    varies = sizes > 0
    found[varies, varies] = 1.0
    return found


def correlation_change(
    real: Records, synthetic: Records, *, diagonal: bool = True
) -> float | None:
    """Give the mean absolute difference between Spearman correlations.

    A constant column correlates with nothing: its correlations count as 0. None where nothing
    varies in the real records.
    """
    first, second = spearman(real), spearman(synthetic)
    if np.isnan(first).all() or (len(first) < 2 and not diagonal):
        return None
    change = np.abs(np.nan_to_num(first) - np.nan_to_num(second))
    np.fill_diagonal(change, 0.0)
    if diagonal:
        return float(change.mean())
    return float(change.sum() / (change.size - len(change)))


def cramer_change(real: Records, synthetic: Records) -> dict[tuple[str, str], float]:
    """Give the absolute difference between Cramér's V of each pair of columns.

    V = √(χ² / (n · min(r - 1, c - 1))) of the table without empty rows and columns; 0 where
    one row or one column is left.
    """
    bins = Bins(real)
    first, second = _cramers(bins.of(real)), _cramers(bins.of(synthetic))
    names = itertools.combinations(real.names, 2)
    return {pair: abs(v - w) for pair, v, w in zip(names, first, second, strict=True)}


def _ks(first: Floats, second: Floats) -> float:
    first, second = np.sort(first[~np.isnan(first)]), np.sort(second[~np.isnan(second)])
    if not len(first) or not len(second):
        return float(len(first) != len(second))
    at = np.concatenate([first, second])
    f = np.searchsorted(first, at, side="right") / len(first)
    g = np.searchsorted(second, at, side="right") / len(second)
    return float(np.abs(f - g).max())


def _cramers(binned: Binned) -> Iterator[float]:
    for one, other in itertools.combinations(range(len(binned.sizes)), 2):
        _, rows = np.unique(binned.codes[:, one], return_inverse=True)
        _, columns = np.unique(binned.codes[:, other], return_inverse=True)
        yield _cramer(rows, columns)


def _cramer(rows: Integers, columns: Integers) -> float:
    """Give V from the cells that occur: χ² = n (Σ o² / (r c) - 1)."""
    n_rows, n_columns = int(rows.max()) + 1, int(columns.max()) + 1
    least = min(n_rows, n_columns) - 1
    if not least:
        return 0.0
    cells, counts = np.unique(rows * n_columns + columns, return_counts=True)
    in_row, in_column = np.bincount(rows), np.bincount(columns)
    expected = in_row[cells // n_columns] * in_column[cells % n_columns].astype(float)
    return float(np.sqrt(max((counts**2 / expected).sum() - 1.0, 0.0) / least))
