"""What the tests of attacks share: p-tables of the literature, and a yardstick."""

from functools import cache

import numpy as np

from ptable import NoiseSpec, PTable, solve

#: Largest noise and variance of the p-tables that the reference figures were computed for.
SETTINGS = ((2, 1), (5, 2), (5, 3), (8, 4))


@cache
def r_table(max_noise, variance):
    """Solve as R's ptable does: greatest entropy, at most this variance."""
    return solve(NoiseSpec.r_ptable(max_noise, float(variance)))


@cache
def small_table(max_noise, variance, small):
    """Solve as R's ptable does, with no published count from 1 to `small`."""
    return solve(NoiseSpec.r_ptable(max_noise, float(variance), small=small))


@cache
def uniform_table(max_noise):
    """Build the table whose large counts get each noise equally often."""
    size = 2 * max_noise + 1
    rows = [{0: size}] * max_noise + [dict.fromkeys(range(-max_noise, max_noise + 1), 1)]
    return PTable.from_units(rows, key_range=size)


def reordered(table, order):
    """Put the intervals of the last row in another order, and drop all other rows."""
    last = table.units(table.n_rows - 1)
    rows = [{0: table.key_range}] * (table.n_rows - 1) + [{v: last[v] for v in order}]
    return PTable.from_units(rows, key_range=table.key_range)


def agrees(rate, p, *, trials):
    """Tell whether a rate lies within three binomial standard errors of its probability.

    A correct program fails one such comparison in 370; the seeds are fixed.
    """
    return abs(rate - p) <= 3 * np.sqrt(p * (1 - p) / trials) + 1e-12
