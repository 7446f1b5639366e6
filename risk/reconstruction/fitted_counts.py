"""Joint cells fitted to all published counts of many tables together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Floats, Levels
from risk.reconstruction.blocks import Blocks
from risk.reconstruction.lattice import Lattice, Shown, added

_STEPS = (40, 100)
_PASSES = 3


def most_probable_counts(
    lattice: Lattice,
    published_cells: Mapping[Levels, Shown],
    *,
    variance: float,
    progress: Callable[[int, int], None] | None = None,
    is_over: Callable[[], bool] | None = None,
) -> dict[Levels, Floats]:
    """Fit joint cells to all published counts together, and return what they add up to.

    Parameters
    ----------
    lattice, shown
        The tables, and what they show.
    variance
        The variance of the noise of a count.
    progress
        Called with the steps done and the most there are.
    is_over
        Asked after each step whether to stop with the fit so far.

    Returns
    -------
    dict
        For every table the fitted counts, not rounded.

    Notes
    -----
    The joint cells ``x`` that maximise the likelihood of all published counts ``p`` under
    normal noise of variance ``s``, times a Poisson prior whose means ``m`` are those of
    independent variables: they make ``|Ax - p|^2 / 2s + sum(x log(x / m) - x)`` least. The dual
    has a price ``y`` for each published count, ``x = m exp(A'y)``, and is smooth with the
    gradient ``Ax + s y - p``. Without the prior, least squares fit the noise where the tables
    say little, and find fewer counts.

    References
    ----------
    Csiszár 1975, I-divergence geometry of probability distributions and minimization problems;
    Liu, Nocedal 1989, On the limited memory BFGS method.
    """
    from scipy import optimize
    from threadpoolctl import threadpool_limits

    minimize: Any = optimize.minimize  # its stubs know no L-BFGS with arguments

    blocks = Blocks(lattice.groups, list(published_cells))
    total, shares = _independent(lattice, published_cells)
    shares = [
        np.bincount(merged, share).astype(np.float64)
        for merged, share in zip(blocks.merged, shares, strict=True)
    ]
    published = _flat(
        {table: one.published for table, one in published_cells.items()}, published_cells
    )
    multipliers = np.zeros(len(published))
    done = 0

    def sums(all_multipliers: Floats) -> dict[Levels, Floats]:
        return blocks.sums(shares, total, _tables(all_multipliers, published_cells))

    def dual(scaled: Floats, scale: Floats) -> tuple[float, Floats]:
        y = scaled * scale
        tables = sums(y)
        gradient = _flat(tables, published_cells) + variance * y - published
        whole = float(next(iter(tables.values())).sum())
        return whole - float(published @ y) + variance / 2 * float(y @ y), gradient * scale

    def tell(_: Floats) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(min(done, sum(_STEPS)), sum(_STEPS))
        if is_over is not None and is_over():
            raise StopIteration  # the solver returns what it has

    for steps in _STEPS:  # a price moves its count by about as much as the count and the noise
        scale = 1 / np.sqrt(_flat(sums(multipliers), published_cells) + variance)
        with threadpool_limits(limits=1):  # its small matrices are slower with several
            solution = minimize(
                dual,
                multipliers / scale,
                (scale,),
                method="L-BFGS-B",
                jac=True,
                callback=tell,
                options={"maxiter": steps, "maxcor": 30},
            )
        multipliers = scale * solution.x
    return sums(multipliers)


def _flat(
    tables: Mapping[Levels, NDArray[Any]], published_cells: Mapping[Levels, Shown]
) -> Floats:
    """Put the published cells of all tables behind each other."""
    return np.concatenate(
        [tables[table][one.is_shown] for table, one in published_cells.items()]
    ).astype(np.float64)


def _tables(values: Floats, published_cells: Mapping[Levels, Shown]) -> dict[Levels, Floats]:
    """Put values of published cells into their tables, 0 elsewhere."""
    tables, start = {}, 0
    for table, one in published_cells.items():
        tables[table] = np.zeros(one.is_shown.shape)
        stop = start + int(one.is_shown.sum())
        tables[table][one.is_shown] = values[start:stop]
        start = stop
    return tables


def _independent(
    lattice: Lattice, published_cells: Mapping[Levels, Shown]
) -> tuple[float, list[Floats]]:
    """Return the total, and the shares of each variable's finest categories.

    From the tables of one variable each: those of independent variables.
    """
    top_level = tuple(len(one) - 1 for one in lattice.groups)
    of_one = [
        [
            (published_cells[table], groups[level])
            for level in reversed(range(top))
            if (table := (*top_level[:axis], level, *top_level[axis + 1 :])) in published_cells
        ]
        for axis, (top, groups) in enumerate(zip(top_level, lattice.groups, strict=True))
    ]
    sums = [int(s.published[s.is_shown].sum()) for some in of_one for s, _ in some]
    total = (
        float(
            published_cells[top_level].published.sum()
            if top_level in published_cells
            else max(sums, default=1)
        )
        or 1.0
    )
    shares = []
    for axis, size in enumerate(lattice.shape):
        part = np.full(size, total / size)
        for one, codes in of_one[axis] * _PASSES:  # levels that do not nest are fitted in turn
            part *= (_wanted(one, added(part, codes, axis=0), total))[codes]
        shares.append(part / part.sum())
    return total, shares


def _wanted(cells: Shown, sums: Floats, total: float) -> Floats:
    """Return by what to multiply sums; what is not shown has the rest of the total."""
    is_shown = cells.is_shown.ravel()
    targets = np.maximum(cells.published.ravel(), 0.5)
    rest = max(total - float(targets[is_shown].sum()), 0.5 * int((~is_shown).sum()))
    share = rest / max(float(sums[~is_shown].sum()), 1e-9)
    return np.where(is_shown, targets / np.maximum(sums, 1e-9), share)
