"""Bins of the real records, in which tables are counted."""

from dataclasses import dataclass

import numpy as np

from footing.arrays import Floats, Integers
from synth.evaluation.records import Kind, Records

#: Numbers with no more possible values than this are their own bins.
_AS_THEY_ARE = 50
_QUANTILES = 20
#: A share of zeros above this gives zero a bin of its own.
_MANY_ZEROS = 0.3


@dataclass(frozen=True, kw_only=True, eq=False)
class Binned:
    """Records as bins: a code per record and column, and how many codes there are."""

    codes: Integers
    sizes: tuple[int, ...]

    def cells(self, columns: tuple[int, ...]) -> Integers:
        """Give the cell of each record in the table of some columns."""
        cell = np.zeros(len(self.codes), dtype=np.int64)
        for column in columns:
            cell = cell * self.sizes[column] + self.codes[:, column]
        return cell


class Bins:
    """Cut columns into bins, as the real records suggest.

    Parameters
    ----------
    real
        Whose quantiles are taken.

    Notes
    -----
    Categories stay as they are. So do whole numbers with at most 50 possible values. Other
    numbers fall into at most 20 quantile bins; where more than 30 % are zero, zero has a bin of
    its own, and the quantiles are those of the other numbers. Missing is one more bin.
    """

    def __init__(self, real: Records) -> None:
        self._rules = [
            _rule(kind, real.values[:, place]) for place, kind in enumerate(real.kinds)
        ]
        self._kinds = real.kinds

    def of(self, records: Records) -> Binned:
        """Give the bins of records."""
        codes = np.empty(records.values.shape, dtype=np.int64)
        sizes = []
        for place, rule in enumerate(self._rules):
            column = records.values[:, place]
            is_there = ~np.isnan(column)
            codes[~is_there, place] = rule.size
            codes[is_there, place] = rule.bins(column[is_there])
            sizes.append(rule.size + 1)
        return Binned(codes=codes, sizes=tuple(sizes))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """Bins between edges, or one per listed value; what lies outside goes to the ends."""

    size: int
    edges: Floats
    has_zero: bool = False

    def bins(self, numbers: Floats) -> Integers:
        places = np.searchsorted(self.edges, numbers, side="right").astype(np.int64)
        if self.has_zero:
            places[numbers == 0] = self.size - 1
        return places


def _rule(kind: Kind, column: Floats) -> _Rule:
    if kind.categories is not None:
        size = max(len(kind.categories), 1)
        return _Rule(size=size, edges=np.arange(1, size, dtype=np.float64))
    numbers = column[~np.isnan(column)]
    low, high = _bounds(kind, numbers)
    if kind.is_whole and high - low + 1 <= _AS_THEY_ARE:
        edges = np.arange(low + 1, high + 1)
        return _Rule(size=len(edges) + 1, edges=edges)
    has_zero = bool(np.mean(numbers == 0) > _MANY_ZEROS) if len(numbers) else False
    inside = numbers[numbers != 0] if has_zero else numbers
    edges = np.array([])
    if len(inside):
        edges = np.unique(np.quantile(inside, np.linspace(0, 1, _QUANTILES + 1)))[1:-1]
    return _Rule(size=len(edges) + 1 + has_zero, edges=edges, has_zero=has_zero)


def _bounds(kind: Kind, numbers: Floats) -> tuple[float, float]:
    """Give declared bounds, and those of the numbers where none is declared."""
    if not len(numbers):
        return kind.low or 0.0, kind.high or 0.0
    low = float(numbers.min()) if kind.low is None else kind.low
    return low, float(numbers.max()) if kind.high is None else kind.high
