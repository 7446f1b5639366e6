"""Tables by differential privacy: one budget, discrete Gaussian noise, sums that agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from ckm.comparison.testbed import Testbed
from ckm.errors import ConfigError
from risk.criteria.coded import CodedRecords, CubeRequest

Numbers = NDArray[np.float64]
#: Attributes, in order → the numbers of a table of these, without its margins.
Tables = Mapping[tuple[int, ...], Numbers]

_REACH = 12  # standard deviations; what lies beyond has a chance below 1e-30
_LEAST_VARIANCE = 1e-12


class PrivateMethod:
    """Add noise to all planned tables and their margins, and make them agree.

    The noise is drawn from a seed, so that a comparison can be repeated: it is for trying the
    method out, and for no release.

    Parameters
    ----------
    testbed
        The records.
    planned
        The tables that the budget is spent on; others are refused unless these tell them.
    rho
        The concentrated loss of all of them together; neighbours add or remove a unit.
    delta
        Where its epsilon is told.
    unit
        The column that tells whose a record is; None for each record a unit.
    rows
        The records of a unit that are counted; which ones, chance decides.
    rng
        Where the noise comes from.
    """

    def __init__(
        self,
        testbed: Testbed,
        planned: Sequence[CubeRequest],
        *,
        rho: float,
        delta: float,
        rng: np.random.Generator,
        unit: str | None = None,
        rows: int = 1,
    ) -> None:
        records = testbed.records
        if delta * len(records) >= 1:
            raise ConfigError(
                f"delta must be less than one in the number of records, not {delta:g}.",
                hint="with more, a method may publish a whole record",
            )
        if unit is None and rows > 1:
            raise ConfigError(
                "rows is more than 1, and each record is a unit of its own.",
                hint="name the column of an identifier with unit",
            )
        units = np.arange(len(records)) if unit is None else testbed.households[unit]
        kept = CodedRecords(
            records.codes[_bounded(units, rows, rng)],
            sizes=records.sizes,
        )
        self._sizes, self._delta, self._rho = records.sizes, delta, rho
        self._lost = None if unit is None else 1 - len(kept) / len(records)
        self._truth = {
            places: _inner(records, places)
            for places in sorted({tuple(sorted(r.dimensions)) for r in planned})
        }
        margins = sorted(set(chain.from_iterable(map(_subsets, self._truth))))
        whole = sum(_cells(self._sizes, places) ** 0.5 for places in margins)
        noisy, variances = {}, {}
        for places in margins:
            # Of one budget this gives the cells of all tables the least variance, before sums.
            share = rho * _cells(self._sizes, places) ** 0.5 / whole
            # A unit moves a table by so many records, all of one cell at worst.
            support, mass = _law(rows / (2 * share) ** 0.5)
            counts = _inner(kept, places)
            noisy[places] = counts + rng.choice(support, size=counts.shape, p=mass)
            variances[places] = max(float(support**2 @ mass), _LEAST_VARIANCE)
        self._tables = agreeing(noisy, variances, sizes=self._sizes)

    def publish(self, request: CubeRequest, /) -> Numbers | None:
        """Answer from the planned tables, or refuse: the budget is spent."""
        needed = tuple(sorted({*request.dimensions, *request.within}))
        if request.without or needed not in self._tables:
            return None
        table = self._tables[needed]
        for place, categories in request.within.items():
            is_out = ~np.isin(np.arange(self._sizes[place]), categories)
            table = np.where(_along(is_out, needed.index(place), table.ndim), 0.0, table)
        summed = tuple(n for n, place in enumerate(needed) if place not in request.dimensions)
        table = table.sum(axis=summed)
        rest = [place for place in needed if place in request.dimensions]
        table = table.transpose([rest.index(place) for place in request.dimensions])
        for axis in range(table.ndim):
            table = np.concatenate([table, table.sum(axis=axis, keepdims=True)], axis=axis)
        return table

    def facts(self) -> Mapping[str, float | None]:
        """Tell what is promised, and what differs from other noise."""
        from dp import epsilon_of_rho

        pairs = [(self._tables[places], truth) for places, truth in self._truth.items()]
        inner = np.concatenate([published.ravel() for published, _ in pairs])
        empty = inner[np.concatenate([truth.ravel() for _, truth in pairs]) == 0]
        return {
            "epsilon": epsilon_of_rho(self._rho, delta=self._delta),
            "not_counted": self._lost,
            "negative": float(np.mean(inner <= -0.5)),
            "filled": float(np.mean(empty >= 0.5)) if empty.size else None,
        }


def agreeing(
    noisy: Tables, variances: Mapping[tuple[int, ...], float], *, sizes: tuple[int, ...]
) -> dict[tuple[int, ...], Numbers]:
    """Find the tables that agree with each other and are nearest to noisy ones.

    Notes
    -----
    Least squares, weighted by variance, in closed form. Tables split into parts that are
    orthogonal, one for each set of attributes: what these tell together and fewer do not. All
    tables that hold the attributes estimate the part, each by its sums; the weighted mean of
    these is the answer. With a table all its margins must be there.

    References
    ----------
    Xiao, He, Zhang, Kifer (2023), An optimal and scalable matrix mechanism for noisy marginals
    under convex loss functions.
    """
    parts = {}
    for places, table in noisy.items():
        total, weights = np.zeros(table.shape), 0.0
        for wider, numbers in noisy.items():
            if set(places) <= set(wider):
                rest = tuple(n for n, place in enumerate(wider) if place not in places)
                n_added = _cells(sizes, wider) / _cells(sizes, places)
                weight = 1 / (variances[wider] * n_added)
                total, weights = total + weight * numbers.sum(axis=rest), weights + weight
        part = total / weights
        for axis in range(part.ndim):
            part = part - part.mean(axis=axis, keepdims=True)
        parts[places] = part
    found = {}
    for places in noisy:
        table = np.zeros([sizes[place] for place in places])
        for fewer in _subsets(places):
            shape = [sizes[place] if place in fewer else 1 for place in places]
            spread = _cells(sizes, places) / _cells(sizes, fewer)
            table = table + parts[fewer].reshape(shape) / spread
        found[places] = table
    return found


def _subsets(places: tuple[int, ...]) -> list[tuple[int, ...]]:
    every = range(len(places) + 1)
    return list(chain.from_iterable(combinations(places, n) for n in every))


def _cells(sizes: tuple[int, ...], places: tuple[int, ...]) -> int:
    return int(np.prod([sizes[place] for place in places], dtype=np.int64))


def _along(flags: NDArray[np.bool_], axis: int, n_axes: int) -> NDArray[np.bool_]:
    return flags.reshape([-1 if n == axis else 1 for n in range(n_axes)])


def _inner(records: CodedRecords, places: tuple[int, ...]) -> NDArray[np.int64]:
    """Count the cells of a table, without its margins."""
    counts = records.counts(CubeRequest(dimensions=places))
    return counts[(slice(-1),) * counts.ndim]


def _bounded(
    units: NDArray[np.int64], rows: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Keep so many records of each unit, drawn at random."""
    order = rng.permutation(len(units))
    order = order[np.argsort(units[order], kind="stable")]
    first = np.searchsorted(units[order], units[order])
    kept: NDArray[np.int64] = order[np.arange(len(order)) - first < rows]
    return kept


def _law(scale: float) -> tuple[NDArray[np.int64], Numbers]:
    """Give the values of discrete Gaussian noise, and their probabilities."""
    reach = int(np.ceil(_REACH * scale)) + 1
    support = np.arange(-reach, reach + 1)
    mass = np.exp(-((support / scale) ** 2) / 2)
    return support, mass / mass.sum()
