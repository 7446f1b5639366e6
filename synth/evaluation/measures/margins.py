"""How far tables, columns and pairs of columns are from those of real records."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from footing.arrays import Floats, Integers
from footing.messages import Argument, Message
from synth.errors import EvaluationError
from synth.evaluation.measures.bins import Binned, Bins
from synth.evaluation.records import Records

_MAX_TABLES = 1000
#: Tables with more cells than this are counted by the cells that occur.
_DENSE = 1_000_000
#: From how many real records on cells are judged together.
CELL_SIZES = (10, 100, 1000)
#: The share of the records that are in a wrong cell of a table that can be trusted, at most.
TRUSTED = 0.05
_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDistances:
    """Total variation distances between tables of real and synthetic records.

    Parameters
    ----------
    columns
        The columns of each table.
    distances
        One per table, from 0 to 1.
    """

    columns: tuple[tuple[str, ...], ...]
    distances: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Their mean."""
        return math.fsum(self.distances) / len(self.distances)

    @property
    def largest(self) -> float:
        """The largest of them."""
        return max(self.distances)

    @property
    def trusted(self) -> float:
        """The share of tables that are near enough."""
        return sum(one <= TRUSTED for one in self.distances) / len(self.distances)

    @property
    def not_trusted(self) -> list[tuple[str, ...]]:
        """The columns of the others, the farthest table first."""
        pairs = sorted(zip(self.distances, self.columns, strict=True), reverse=True)
        return [columns for distance, columns in pairs if distance > TRUSTED]

    @property
    def worst(self) -> tuple[str, ...]:
        """The columns of the table that is farthest."""
        return self.columns[int(np.argmax(self.distances))]


def table_distances(
    real: Records,
    synthetic: Records,
    *,
    ways: int,
    most_tables: int = _MAX_TABLES,
    seed: int = 0,
) -> TableDistances:
    """Give the total variation distance of every table of so many columns.

    ½ Σ |p - q| over the cells of a table, with p and q the shares of the records.
    """
    if not 1 <= ways <= len(real.names):
        raise EvaluationError(
            Message(
                "A table has from 1 to {number} columns here, not {ways}.",
                number=len(real.names),
                ways=Argument(ways),
            )
        )
    bins = Bins(real)
    one, other = bins.of(real), bins.of(synthetic)
    tables = _tables(len(real.names), ways, most_tables, seed)
    return TableDistances(
        columns=tuple(tuple(real.names[place] for place in table) for table in tables),
        distances=tuple(_distance(one, other, table) for table in tables),
    )


def cell_errors(real: Records, synthetic: Records, *, seed: int = 0) -> dict[int, float]:
    """Give by how much nine in ten cells of tables of two columns are off at most.

    Of cells with 10, 100 and 1,000 real records or more, each up to ten times as many: the
    difference of the counts over the real one. Sizes that no cell has are left out.
    """
    bins = Bins(real)
    one, other = bins.of(real), bins.of(synthetic)
    by_size: dict[int, list[Floats]] = {size: [] for size in CELL_SIZES}
    for table in _tables(len(real.names), 2, _MAX_TABLES, seed):
        p, q = _shares(one, other, table)
        counts, estimates = p * len(real), q * len(real)
        for size, errors in by_size.items():
            top = math.inf if size == CELL_SIZES[-1] else 10 * size - 0.5
            cells = (counts > size - 0.5) & (counts < top)
            errors.append(np.abs(estimates[cells] - counts[cells]) / counts[cells])
    all_errors = {size: np.concatenate(errors) for size, errors in by_size.items() if errors}
    return {size: float(np.quantile(e, 0.9)) for size, e in all_errors.items() if len(e)}


def subsample_equivalent(
    real: Records, distance: float, *, ways: int = 2, seed: int, draws: int = 3
) -> float:
    """Give the share of the real records whose random sample is as far from them all.

    Samples without replacement of 1 to 100 %, interpolated on the logarithm of the share. What
    lies below 1 % is given as 0.01.
    """
    rng = np.random.default_rng(seed)
    binned = Bins(real).of(real)
    tables = _tables(len(real.names), min(ways, len(real.names)), _MAX_TABLES, seed)
    distances: list[float] = []
    for share in _SHARES:
        size = max(1, round(share * len(real)))
        some = [_sampled(binned, tables, size, rng) for _ in range(draws if share < 1 else 1)]
        distances.append(math.fsum(some) / len(some))
    falling = np.minimum.accumulate(distances)
    return float(np.exp(np.interp(-distance, -falling, np.log(_SHARES))))


def _sampled(
    binned: Binned, tables: Sequence[tuple[int, ...]], size: int, rng: np.random.Generator
) -> float:
    rows = rng.choice(len(binned.codes), size=size, replace=False)
    part = Binned(codes=binned.codes[rows], sizes=binned.sizes)
    return math.fsum(_distance(binned, part, table) for table in tables) / len(tables)


def _tables(n_columns: int, ways: int, most: int, seed: int) -> list[tuple[int, ...]]:
    """List all tables, or a sample of them in a fixed order."""
    if math.comb(n_columns, ways) <= most:
        return list(itertools.combinations(range(n_columns), ways))
    rng = np.random.default_rng(seed)
    tables: set[tuple[int, ...]] = set()
    while len(tables) < most:
        some = rng.choice(n_columns, size=ways, replace=False)
        tables.add(tuple(sorted(some.tolist())))
    return sorted(tables)


def _distance(one: Binned, other: Binned, table: tuple[int, ...]) -> float:
    """Give ½ Σ |p - q| over the cells of a table."""
    p, q = _shares(one, other, table)
    return float(np.abs(p - q).sum()) / 2


def _shares(one: Binned, other: Binned, table: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Give the shares of the records in each cell of a table."""
    first, second = one.cells(table), other.cells(table)
    size = math.prod(one.sizes[column] for column in table)
    if size > _DENSE:
        occurring, where = np.unique(np.concatenate([first, second]), return_inverse=True)
        first, second, size = where[: len(first)], where[len(first) :], len(occurring)
    p = np.bincount(first, minlength=size) / len(first)
    q = np.bincount(second, minlength=size) / len(second)
    return p, q


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
    correlations: Floats = np.clip(scaled.T @ scaled, -1.0, 1.0)
    varies = sizes > 0
    correlations[varies, varies] = 1.0
    return correlations


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
