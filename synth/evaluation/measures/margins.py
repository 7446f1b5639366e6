"""How far tables of synthetic records are from those of real ones."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synth.errors import EvaluationError
from synth.evaluation.measures.bins import Bins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from synth.evaluation.measures.bins import Binned
    from synth.evaluation.records import Records

_MAX_TABLES = 1000
#: Tables with more cells than this are counted by the cells that occur.
_DENSE = 1_000_000
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
            f"A table has from 1 to {len(real.names)} columns here, not {ways}."
        )
    bins = Bins(real)
    one, other = bins.of(real), bins.of(synthetic)
    tables = _tables(len(real.names), ways, most_tables, seed)
    return TableDistances(
        columns=tuple(tuple(real.names[place] for place in table) for table in tables),
        distances=tuple(_distance(one, other, table) for table in tables),
    )


def k_marginal(
    real: Records, synthetic: Records, *, ways: int = 2, groups: str | None = None
) -> float:
    """Give the k-marginal score of NIST: 1000 for equal tables, 0 for disjoint ones.

    Notes
    -----
    1000 · (1 - mean total variation distance). With groups, the distance inside a group is that
    of the shares of all records, and cannot exceed what the real records of the group hold.

    References
    ----------
    .. [1] NIST, *SDNist*, k-marginal metric.
    """
    ways = min(ways, len(real.names))
    if groups is None:
        return 1000.0 * (1.0 - table_distances(real, synthetic, ways=ways).mean)
    place = real.place(groups)
    bins = Bins(real)
    one, other = bins.of(real), bins.of(synthetic)
    tables = [
        table for table in _tables(len(real.names), ways, _MAX_TABLES, 0) if place not in table
    ]
    lost = [
        min(_group_distance(one, other, tables, place, code), share)
        for code, share in _shares(one.codes[:, place])
    ]
    return 1000.0 * (1.0 - math.fsum(lost))


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
    reached: list[float] = []
    for share in _SHARES:
        size = max(1, round(share * len(real)))
        some = [_sampled(binned, tables, size, rng) for _ in range(draws if share < 1 else 1)]
        reached.append(math.fsum(some) / len(some))
    falling = np.minimum.accumulate(reached)
    return float(np.exp(np.interp(-distance, -falling, np.log(_SHARES))))


def _sampled(
    binned: Binned, tables: Sequence[tuple[int, ...]], size: int, rng: np.random.Generator
) -> float:
    from synth.evaluation.measures.bins import Binned as Some

    rows = rng.choice(len(binned.codes), size=size, replace=False)
    part = Some(codes=binned.codes[rows], sizes=binned.sizes)
    return math.fsum(_distance(binned, part, table) for table in tables) / len(tables)


def _tables(n_columns: int, ways: int, most: int, seed: int) -> list[tuple[int, ...]]:
    """List all tables, or a sample of them in a fixed order."""
    if math.comb(n_columns, ways) <= most:
        return list(itertools.combinations(range(n_columns), ways))
    rng = np.random.default_rng(seed)
    chosen: set[tuple[int, ...]] = set()
    while len(chosen) < most:
        some = rng.choice(n_columns, size=ways, replace=False)
        chosen.add(tuple(sorted(some.tolist())))
    return sorted(chosen)


def _distance(one: Binned, other: Binned, table: tuple[int, ...]) -> float:
    """Give ½ Σ |p - q| over the cells of a table."""
    first, second = one.cells(table), other.cells(table)
    size = math.prod(one.sizes[column] for column in table)
    if size > _DENSE:
        occurring, where = np.unique(np.concatenate([first, second]), return_inverse=True)
        first, second, size = where[: len(first)], where[len(first) :], len(occurring)
    p = np.bincount(first, minlength=size) / len(first)
    q = np.bincount(second, minlength=size) / len(second)
    return float(np.abs(p - q).sum()) / 2


def _shares(codes: NDArray[np.int64]) -> list[tuple[int, float]]:
    found, counts = np.unique(codes, return_counts=True)
    return list(zip(found.tolist(), (counts / len(codes)).tolist(), strict=True))


def _group_distance(
    one: Binned, other: Binned, tables: Sequence[tuple[int, ...]], place: int, code: int
) -> float:
    """Give the mean ½ Σ |p - q| inside a group, with p and q shares of all records."""
    first, second = one.codes[:, place] == code, other.codes[:, place] == code
    found = []
    for table in tables:
        cells = np.concatenate([one.cells(table)[first], other.cells(table)[second]])
        _, where = np.unique(cells, return_inverse=True)
        n_first, size = int(first.sum()), int(where.max(initial=-1)) + 1
        p = np.bincount(where[:n_first], minlength=size) / len(first)
        q = np.bincount(where[n_first:], minlength=size) / len(second)
        found.append(float(np.abs(p - q).sum()) / 2)
    return math.fsum(found) / max(len(found), 1)
