"""Joint cells fitted to all published counts of many tables together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Floats, Levels
from risk.reconstruction.blocks import Blocks
from risk.reconstruction.lattice import Lattice, Shown, added

_STEPS = (40, 100)
_PASSES = 3
#: The variance of a number that is not looked at.
_UNSEEN = 1e12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FittedCells:
    """Joint cells fitted to all published counts: independent variables, times a product.

    Parameters
    ----------
    published_cells
        The tables, and what they show.
    blocks, shares, total
        The blocks of variables, how frequent each category is, and all records.
    multipliers
        Of each published cell, table by table: its logarithm multiplies the joint cells.
    """

    published_cells: Mapping[Levels, Shown]
    blocks: Blocks
    shares: list[Floats]
    total: float
    multipliers: Floats

    def sums(self) -> dict[Levels, Floats]:
        """Return the fitted counts of all tables, not rounded."""
        return self._sums(self.multipliers)

    def flat(self) -> Floats:
        """Return the fitted counts of the published cells, table by table."""
        return _flat(self.sums(), self.published_cells)

    def fitted_to(
        self,
        targets: Floats,
        variances: Floats | float,
        *,
        steps: int,
        callback: Callable[[Floats], None] | None = None,
    ) -> FittedCells:
        """Fit again, from here, to a number for each published cell with its own variance.

        Parameters
        ----------
        targets, variances
            Of the published cells, table by table.
        steps
            How many steps at most.
        callback
            Called after each step; a StopIteration ends the fit with what it has.
        """
        from scipy import optimize
        from threadpoolctl import threadpool_limits

        minimize: Any = optimize.minimize  # its stubs know no L-BFGS with arguments
        # A multiplier moves its count by about as much as the count and the noise.
        scale = 1 / np.sqrt(self.flat() + variances)

        def dual(scaled: Floats) -> tuple[float, Floats]:
            y = scaled * scale
            tables = self._sums(y)
            gradient = _flat(tables, self.published_cells) + variances * y - targets
            whole = float(next(iter(tables.values())).sum())
            value = whole - float(targets @ y) + float(y @ (variances * y)) / 2
            return value, gradient * scale

        with threadpool_limits(limits=1):  # its small matrices are slower with several
            solution = minimize(
                dual,
                self.multipliers / scale,
                method="L-BFGS-B",
                jac=True,
                callback=callback,
                options={"maxiter": steps, "maxcor": 30},
            )
        return replace(self, multipliers=scale * solution.x)

    def fitted_to_sums(
        self,
        lattice: Lattice,
        *,
        variance: float,
        is_over: Callable[[], bool] = lambda: False,
    ) -> FittedCells:
        """Fit anew to the tables that are sums of another: what its cells are before it.

        Parameters
        ----------
        lattice, variance, is_over
            See `fitted_cells`.
        """

        def tell(_: Floats) -> None:
            if is_over():
                raise StopIteration  # the solver returns what it has

        details = lattice.without_detail(self.published_cells)
        targets = {table: one.published for table, one in self.published_cells.items()}
        variances = {
            table: np.full(one.published.shape, _UNSEEN if table in details else variance)
            for table, one in self.published_cells.items()
        }
        fit = replace(self, multipliers=np.zeros(len(self.multipliers)))
        return fit.fitted_to(
            _flat(targets, self.published_cells),
            _flat(variances, self.published_cells),
            steps=sum(_STEPS),
            callback=tell,
        )

    def _sums(self, multipliers: Floats) -> dict[Levels, Floats]:
        exponents = _tables(multipliers, self.published_cells)
        return self.blocks.sums(self.shares, self.total, exponents)


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
    lattice, published_cells, variance, progress, is_over
        See `fitted_cells`.
    """
    return fitted_cells(
        lattice, published_cells, variance=variance, progress=progress, is_over=is_over
    ).sums()


def fitted_cells(
    lattice: Lattice,
    published_cells: Mapping[Levels, Shown],
    *,
    variance: float,
    progress: Callable[[int, int], None] | None = None,
    is_over: Callable[[], bool] | None = None,
) -> FittedCells:
    """Fit joint cells to all published counts together.

    Parameters
    ----------
    lattice, published_cells
        The tables, and what they show.
    variance
        The variance of the noise of a count.
    progress
        Called with the steps done and the most there are.
    is_over
        Asked after each step whether to stop with the fit so far.

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
    blocks = Blocks(lattice.groups, list(published_cells))
    total, shares = _independent(lattice, published_cells)
    published = _flat(
        {table: one.published for table, one in published_cells.items()}, published_cells
    )
    fit = FittedCells(
        published_cells=published_cells,
        blocks=blocks,
        shares=[
            np.bincount(merged, share).astype(np.float64)
            for merged, share in zip(blocks.merged, shares, strict=True)
        ],
        total=total,
        multipliers=np.zeros(len(published)),
    )
    done = 0

    def tell(_: Floats) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(min(done, sum(_STEPS)), sum(_STEPS))
        if is_over is not None and is_over():
            raise StopIteration  # the solver returns what it has

    for steps in _STEPS:
        fit = fit.fitted_to(published, variance, steps=steps, callback=tell)
    return fit


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
