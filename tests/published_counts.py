"""Releases as an intruder sees them, for tests and benchmarks of reconstruction."""

import itertools

import numpy as np

from risk.reconstruction.counts import PublishedCounts


def all_margins(n_dimensions):
    """List the dimensions kept by every margin of a cube, inner cells first, total last."""
    return [
        axes
        for kept in range(n_dimensions, -1, -1)
        for axes in itertools.combinations(range(n_dimensions), kept)
    ]


def counts_from_tables(shape, *, tables, **known):
    """Take the sums from tables over some of the dimensions of a cube of base cells."""
    base = np.arange(int(np.prod(shape))).reshape(tuple(shape))
    sizes, members, numbers = [], [], []
    for axes, counts in tables.items():
        array = np.asarray(counts)
        rest = tuple(a for a in range(base.ndim) if a not in axes)
        groups = base.transpose(*axes, *rest).reshape(array.size, -1)
        assert array.shape == tuple(base.shape[a] for a in axes)
        sizes.append(np.full(array.size, groups.shape[1]))
        members.append(groups.ravel())
        numbers.append(array.ravel())
    cells = np.concatenate(members)
    return PublishedCounts(
        starts=np.concatenate([[0], np.cumsum(np.concatenate(sizes))]),
        cells=cells,
        weights=np.ones(len(cells), dtype=np.int64),
        published=np.concatenate(numbers),
        n_cells=base.size,
        **known,
    )
