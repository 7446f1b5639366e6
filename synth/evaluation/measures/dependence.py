"""What columns have to do with each other: ranks, tails, and what follows from what."""

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from footing.arrays import Floats, Integers
from synth.evaluation.measures.margins import spearman
from synth.evaluation.records import Records

_HIGH = 0.95  # the share of the records below the upper tail of a column
_FOLLOWS = 0.995  # the share of the records that have the value of their group
_PLAIN = 0.9  # the most that one value may have by itself
_PER_VALUE = 5  # records of a value, so that others can follow from it
_ROWS, _COLUMNS, _FIRST = 20_000, 40, 2_000
_NAMED = 20


def rank_change(real: Records, synthetic: Records, names: Sequence[str]) -> float | None:
    """Give the mean absolute difference of Spearman correlations between numbers."""
    if len(names) < 2:
        return None
    places = [real.place(name) for name in names]
    pairs = np.triu_indices(len(places), 1)
    first, second = (
        np.nan_to_num(spearman(_some(one, places))[pairs]) for one in (real, synthetic)
    )
    return float(np.abs(first - second).mean())


def tail_change(real: Records, synthetic: Records, names: Sequence[str]) -> float | None:
    """Give the mean absolute difference of upper tail dependence between numbers.

    Of two columns it is the share of the records with one among its largest 5 per cent that
    have the other there as well.
    """
    if len(names) < 2:
        return None
    places = [real.place(name) for name in names]
    first, second = (_tails(_some(one, places)) for one in (real, synthetic))
    return float(np.abs(first - second).mean())


def _some(records: Records, places: Sequence[int]) -> Records:
    return Records(
        names=tuple(records.names[place] for place in places),
        kinds=tuple(records.kinds[place] for place in places),
        values=records.values[:, list(places)],
    )


def _tails(records: Records) -> Floats:
    from scipy.stats import rankdata

    high = np.column_stack(
        [rankdata(np.where(np.isnan(c), -np.inf, c)) > _HIGH * len(c) for c in records.values.T]
    ).astype(float)
    both, each = high.T @ high, high.sum(axis=0)
    least = np.minimum.outer(each, each)
    shares = np.divide(both, least, out=np.zeros_like(both), where=least > 0)
    return np.asarray(shares[np.triu_indices(len(each), 1)])


def broken_rules(real: Records, synthetic: Records) -> Iterator[tuple[str, str, float]]:
    """Yield what follows from what in the real records, and how often it does not in others.

    Both columns, and the share of the synthetic records whose value is not that of their group;
    those whose group no real record has do not count. The farthest come first.
    """
    violations = []
    for first, second in _rules(real):
        keys, values = _modes(real, first, second)
        codes = synthetic.values[:, first]
        places = np.clip(np.searchsorted(keys, codes), 0, len(keys) - 1)
        is_known = keys[places] == codes
        if is_known.any():
            misses = _filled(synthetic.values[is_known, second]) != values[places[is_known]]
            violations.append((float(misses.mean()), real.names[second], real.names[first]))
    for share, name, source in sorted(violations, reverse=True)[:_NAMED]:
        yield name, source, share


@lru_cache(maxsize=4)
def _rules(records: Records) -> tuple[tuple[int, int], ...]:
    """Return pairs of columns of which the second follows from the first, in most records."""
    rng = np.random.default_rng(0)
    some = records.some(_ROWS, rng)
    codes: dict[int, Integers] = {}
    for place in range(len(some.names)):
        values, numbers = np.unique(_filled(some.values[:, place]), return_inverse=True)
        if 2 <= len(values) <= len(some) / _PER_VALUE and len(codes) < _COLUMNS:
            codes[place] = numbers.astype(np.int64)
    rules = []
    for first, second in itertools.permutations(codes, 2):
        ranges = codes[first].max(), codes[second].max()
        if ranges[0] >= ranges[1] and _follows(codes[first], codes[second]):
            rules.append((first, second))
    return tuple(rules)


def _follows(first: Integers, second: Integers) -> bool:
    """Tell whether most records have the most frequent value of their group."""
    if np.bincount(second).max() > _PLAIN * len(second):
        return False
    for rows in (slice(_FIRST), slice(None)):
        if _share_of_modes(first[rows], second[rows]) < _FOLLOWS:
            return False
    return True


def _share_of_modes(first: Integers, second: Integers) -> float:
    width = int(second.max()) + 1
    cells, counts = np.unique(first * width + second, return_counts=True)
    modes = np.zeros(int(first.max()) + 1, np.int64)
    np.maximum.at(modes, cells // width, counts)
    return float(modes.sum() / len(first))


def _modes(records: Records, first: int, second: int) -> tuple[Floats, Floats]:
    """Return the values of a column, and the most frequent value of another with each."""
    keys, rows = np.unique(_filled(records.values[:, first]), return_inverse=True)
    values, columns = np.unique(_filled(records.values[:, second]), return_inverse=True)
    cells, counts = np.unique(rows * len(values) + columns, return_counts=True)
    order = np.argsort(counts, kind="stable")  # the most frequent is written last
    modes = np.zeros(len(keys))
    modes[cells[order] // len(values)] = values[cells[order] % len(values)]
    return keys, modes


def _filled(values: Floats) -> Floats:
    return np.where(np.isnan(values), -1e301, values)
