"""The largest contributions of every cell, found among records that DuckDB hands over once.

DuckDB keeps several of the largest records in an object for each cell, after it made a sort key
of every record; arrays take a third of the time. What is found is the same, in the same form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from footing.arrays import Flags, Integers

_CHUNK = (
    2**19
)  # records that are looked at together: what is worked on stays near the processor


def largest_lists(
    columns: Sequence[Mapping[str, NDArray[Any]]],
    numbers: Sequence[int],
    *,
    contributes: Flags,
    row: Integers,
    rows: int,
) -> list[pa.Array]:
    """Return for each set of columns the largest records of every cell, as lists of structs.

    Parameters
    ----------
    columns
        Each set of columns of the records, none below 0, by which they are compared, the first
        one before the others.
    numbers
        How many records are kept of each cell, by set.
    contributes
        Which records have a part in it.
    row
        The cell of every record.
    rows
        The number of cells.

    Returns
    -------
    list of pyarrow.Array
        For each set a list of structs of its columns for every cell, the greatest first.
    """
    order = np.argsort(row).astype(np.uint32)  # half as large
    sizes = np.bincount(row, minlength=rows)
    ends = np.cumsum(sizes)
    found: list[list[Integers]] = [[] for _ in columns]
    lengths = [np.zeros(rows, np.int64) for _ in columns]
    for first, last in _batches(ends):
        start = int(ends[first - 1]) if first else 0
        mine = order[start : int(ends[last - 1])]
        own_sizes = sizes[first:last]
        filled = np.flatnonzero(own_sizes)
        starts = (np.cumsum(own_sizes) - own_sizes)[filled]
        cell = np.repeat(np.arange(len(filled)), own_sizes[filled])
        for place, (names, number) in enumerate(zip(columns, numbers, strict=True)):
            keys = [values[mine] for values in names.values()]
            chosen = _largest(keys, contributes[mine], cell, starts, number)
            lengths[place][first + filled] = (chosen >= 0).sum(axis=1)
            found[place].append(mine[chosen[chosen >= 0]].astype(np.int64))
    return [
        _as_lists(names, np.concatenate([np.zeros(0, np.int64), *places]), length)
        for names, places, length in zip(columns, found, lengths, strict=True)
    ]


def _batches(ends: Integers) -> Iterator[tuple[int, int]]:
    """Give runs of cells with about so many records that are looked at together."""
    first, total = 0, len(ends)
    while first < total:
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + _CHUNK, "right")), first + 1)
        yield first, last
        first = last


def _largest(
    keys: Sequence[NDArray[Any]],
    contributes: Flags,
    cell: Integers,
    starts: Integers,
    number: int,
) -> Integers:
    """Return the places of the largest records of every cell, -1 where there are fewer."""
    chosen = np.full((len(starts), number), -1)
    if not len(starts):
        return chosen
    is_left = contributes.copy()
    for turn in range(number):
        candidates = is_left
        for key in keys:
            # No key is below 0, so that 0 stands for those which are out.
            masked = np.where(candidates, key, key.dtype.type(0))
            greatest = np.maximum.reduceat(masked, starts)
            candidates = candidates & (key == greatest[cell])
        places = np.flatnonzero(candidates)  # alike ones follow each other: the first is taken
        if not len(places):
            break
        of = cell[places]
        places = places[np.append(True, of[1:] != of[:-1])]
        chosen[cell[places], turn] = places
        is_left[places] = False
    return chosen


def _as_lists(
    columns: Mapping[str, NDArray[Any]], places: Integers, lengths: Integers
) -> pa.Array:
    """Lay records out as a list for every cell."""
    structs = pa.StructArray.from_arrays(
        [pa.array(values[places]) for values in columns.values()], list(columns)
    )
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), structs)
