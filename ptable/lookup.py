"""From counts and cell keys to noise, a chunk at a time and in integers only."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from footing.checks import require_integer
from footing.messages import Message, Name, Shape
from ptable.errors import PTableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from ptable.table import PTable

_CHUNK = 1 << 17
_MAX_BUCKETS = 4096
_MAX_CELLS = 1 << 21
_COVERAGE = 0.95 - 1e-12  # sums of probabilities may miss 1 by as much


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyIndex:
    """A p-table's thresholds in the units of one key range, laid out for searching.

    Parameters
    ----------
    key_range
        How many different cell keys there are.
    cycle
        How many last rows serve the larger counts in turn; 1 for the last row alone.
    starts
        Per row the place of its first interval, and the end.
    uppers
        All rows' thresholds but the last of each row, in keys.
    noise
        The noise of every interval.
    shared
        ``row * key_range + threshold``, ascending over all rows; empty when that overflows.
    width
        Keys per bucket.
    buckets
        Per row and bucket the noise, or `unsettled` where a threshold cuts the bucket.
    unsettled
        A number that is no noise.
    anchors
        The counts of the rows; empty where they are 0, 1, 2, ...
    """

    key_range: int
    cycle: int
    starts: NDArray[np.int64]
    uppers: tuple[NDArray[np.uint64], ...]
    noise: NDArray[np.int64]
    shared: NDArray[np.uint64]
    width: int
    buckets: NDArray[np.int32] | NDArray[np.int64]
    unsettled: int
    anchors: NDArray[np.int64]

    @classmethod
    def build(cls, table: PTable, key_range: int) -> KeyIndex:
        """Convert the thresholds of a table to a key range, exactly."""
        keys = require_integer(
            key_range, "key_range", error=PTableError, minimum=2, maximum=2**64
        )
        ends = [
            [-(-upper * keys // table.key_range) for upper in uppers] for uppers in table.upper
        ]
        n_buckets = min(_MAX_BUCKETS, keys, max(1, _MAX_CELLS // table.n_rows))
        width = 1 << (-(-keys // n_buckets) - 1).bit_length()
        n_buckets = -(-keys // width)
        largest = table.max_noise
        kind = np.int32 if largest < 2**31 - 1 else np.int64
        unsettled = int(np.iinfo(kind).min)
        buckets = np.full((table.n_rows, n_buckets), unsettled, dtype=kind)
        for row, (values, uppers) in enumerate(zip(table.noise, ends, strict=True)):
            for v, lower, upper in intervals(values, uppers):
                last = n_buckets if upper == keys else upper // width
                buckets[row, -(-lower // width) : last] = v
        shared = np.zeros(0, dtype=np.uint64)
        if table.n_rows * keys < 2**64:
            flat = [row * keys + upper for row, uppers in enumerate(ends) for upper in uppers]
            shared = np.array(flat, dtype=np.uint64)
        return cls(
            key_range=keys,
            cycle=cycle_length(table.large_counts, n_rows=table.n_rows),
            starts=np.cumsum([0, *map(len, table.noise)], dtype=np.int64),
            uppers=tuple(np.array(uppers[:-1], dtype=np.uint64) for uppers in ends),
            noise=np.array([v for row in table.noise for v in row], dtype=np.int64),
            shared=shared,
            width=width,
            buckets=buckets.ravel(),
            unsettled=unsettled,
            anchors=np.array(table.anchors or (), dtype=np.int64),
        )


def cycle_length(large_counts: str, *, n_rows: int) -> int:
    """Read the rule for counts beyond the last row."""
    if large_counts == "last":
        return 1
    word, _, number = str(large_counts).partition(":")
    is_number = number.isascii() and number.isdigit() and str(int(number)) == number
    if word != "cycle" or not is_number or not 2 <= int(number) <= n_rows:
        raise PTableError(
            Message(
                "large_counts must be 'last' or 'cycle:N' with N from 2 to the number of "
                "rows, {n_rows}, not {large_counts!r}.",
                n_rows=n_rows,
                large_counts=Name(large_counts),
            )
        )
    return int(number)


def intervals(noise: Sequence[int], upper: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Give each noise value of a row with where its interval of keys starts and stops."""
    return zip(noise, (0, *upper[:-1]), upper, strict=True)


def moments(units: Mapping[int, int], total: int) -> tuple[Fraction, Fraction]:
    """Compute the mean and the variance of noise from its keys."""
    mean = Fraction(sum(n * v for v, n in units.items()), total)
    return mean, Fraction(sum(n * v * v for v, n in units.items()), total) - mean**2


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginOfError:
    """How far the noise of a p-table takes published counts from the true ones.

    Parameters
    ----------
    largest
        No noise is larger.
    count
        The least w with P(-w <= noise <= w) >= 95 % for every true count.
    difference
        The same of the noise of one cell less that of another, which has noise of its own.
    """

    largest: int
    count: int
    difference: int


def margin_of_error(table: PTable) -> MarginOfError:
    """Compute the margins of error of the counts that a table protects, from its rows alone."""
    largest = table.max_noise
    distributions = np.zeros((table.n_rows, 2 * largest + 1))
    for row, count in enumerate(table.counts.tolist()):
        for v, n in table.units(count).items():
            distributions[row, v + largest] = n / table.key_range
    distributions = np.unique(distributions, axis=0)
    none = np.eye(1, 2 * largest + 1, largest)
    return MarginOfError(
        largest=largest,
        count=_width(none, distributions),
        difference=_width(distributions, distributions),
    )


def rounding_base(table: PTable) -> int:
    """Find what every count that a table publishes is a multiple of; 1 without rounding."""
    cycle = cycle_length(table.large_counts, n_rows=table.n_rows)
    return math.gcd(cycle, *np.flatnonzero(table.transition.any(axis=0)).tolist())


def _width(distributions: NDArray[np.float64], others: NDArray[np.float64]) -> int:
    """Return the least w that differences of any two laws stay within, with 95 %."""
    size = distributions.shape[1]
    below = np.pad(others.cumsum(axis=1), ((0, 0), (1, 0)))
    place = np.arange(size)

    def least_share(width: int) -> float:
        inside = below[:, np.minimum(place + width + 1, size)]
        inside = inside - below[:, np.maximum(place - width, 0)]
        return float((distributions @ inside.T).min())

    return bisect_left(range(size), _COVERAGE, key=least_share)


def row_of(table: PTable, count: int) -> int:
    """Find the row that serves a count, in a table without anchors."""
    cycle = cycle_length(table.large_counts, n_rows=table.n_rows)
    return serving_row(count, n_rows=table.n_rows, cycle=cycle)


def serving_row(count: int, *, n_rows: int, cycle: int) -> int:
    """Give the row that serves a count."""
    return count if count < n_rows else n_rows - cycle + (count - n_rows) % cycle


def look_up(index: KeyIndex, counts: ArrayLike, cell_keys: ArrayLike) -> NDArray[np.int64]:
    """Find the noise of each cell."""
    ours = _integers(counts, "counts")
    keys = _integers(cell_keys, "cell_keys")
    if ours.shape != keys.shape:
        raise PTableError(
            Message(
                "counts and cell_keys must have the same shape, not {shape} and {keys_shape}.",
                shape=Shape(ours.shape),
                keys_shape=Shape(keys.shape),
            )
        )
    answer = np.empty(ours.shape, dtype=np.int64)
    flat_counts, flat_keys, flat = ours.ravel(), keys.ravel(), answer.reshape(-1)
    for start in range(0, len(flat), _CHUNK):
        part = slice(start, start + _CHUNK)
        flat[part] = _look_up_chunk(index, flat_counts[part], flat_keys[part])
    return answer


def _look_up_chunk(
    index: KeyIndex, counts: NDArray[np.integer], keys: NDArray[np.integer]
) -> NDArray[np.int64]:
    if counts.dtype.kind == "i" and counts.min() < 0:
        raise PTableError(Message("counts must not be negative; some are."))
    if (keys.dtype.kind == "i" and keys.min() < 0) or int(keys.max()) >= index.key_range:
        raise PTableError(
            Message(
                "cell_keys must lie in 0..{key_range}; some do not.",
                key_range=index.key_range - 1,
            ),
            hint=Message("pass the key_range your keys were made for"),
        )
    rows = _rows(index, counts)
    unsigned: NDArray[np.uint64] = keys.astype(np.uint64, copy=False)
    n_buckets = len(index.buckets) // len(index.uppers)
    shift = np.uint64(index.width.bit_length() - 1)
    places = (unsigned >> shift).astype(np.int64)
    places += rows * n_buckets
    noise: NDArray[np.int64] = index.buckets[places].astype(np.int64, copy=False)
    open_cells = np.flatnonzero(noise == index.unsettled)
    if open_cells.size:
        noise[open_cells] = _search(index, rows[open_cells], unsigned[open_cells])
    return noise


def _rows(index: KeyIndex, counts: NDArray[np.integer]) -> NDArray[np.int64]:
    last = len(index.uppers) - 1
    if index.anchors.size:
        return _anchor_rows(index.anchors, counts)
    if index.cycle == 1:
        nearest: NDArray[np.int64] = np.minimum(counts, _like(counts, last)).astype(
            np.int64, copy=False
        )
        return nearest
    rows = counts.astype(np.uint64)
    large = rows > last
    first = last + 1 - index.cycle
    rows[large] = (rows[large] - np.uint64(last + 1)) % np.uint64(index.cycle) + np.uint64(
        first
    )
    return rows.astype(np.int64)


def _anchor_rows(anchors: NDArray[np.int64], counts: NDArray[np.integer]) -> NDArray[np.int64]:
    values: NDArray[np.int64] = np.minimum(counts, _like(counts, int(anchors[-1]))).astype(
        np.int64
    )
    rows: NDArray[np.int64] = np.searchsorted(anchors, values).astype(np.int64)
    if (anchors[rows] != values).any():
        raise PTableError(
            Message(
                "counts must be anchors of the p-table, or larger than its last; some are not."
            ),
            hint=Message("a magnitude between two anchors takes a mixture of their noise"),
        )
    return rows


def _like(counts: NDArray[np.integer], number: int) -> np.integer:
    largest = int(np.iinfo(counts.dtype).max)
    return counts.dtype.type(min(number, largest))


def _search(
    index: KeyIndex, rows: NDArray[np.int64], keys: NDArray[np.uint64]
) -> NDArray[np.int64]:
    if index.shared.size:
        targets = rows.astype(np.uint64) * np.uint64(index.key_range) + keys
        return index.noise[np.searchsorted(index.shared, targets, side="right")]
    noise = np.empty(len(rows), dtype=np.int64)
    for row in np.unique(rows).tolist():
        here = rows == row
        place = np.searchsorted(index.uppers[row], keys[here], side="right")
        noise[here] = index.noise[index.starts[row] + place]
    return noise


def _integers(numbers: ArrayLike, name: str) -> NDArray[np.integer]:
    array = np.asarray(numbers)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise PTableError(
            Message(
                "{name} must be integers, not {dtype}.",
                name=Name(name),
                dtype=Shape(array.dtype),
            ),
            hint=Message("convert them exactly; floats cannot hold every key"),
        )
    return array
