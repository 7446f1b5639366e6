"""Tables by differential privacy: one budget, discrete Gaussian noise, sums that agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, combinations, product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ckm.errors import ConfigError
from footing.arrays import along
from footing.messages import Message
from risk.criteria.answers import Answer
from risk.reconstruction.lattice import added

if TYPE_CHECKING:
    from ckm.comparison.bench import Bench
    from ckm.engine.request import TableRequest
    from tables.cells.axes import Axis

Numbers = NDArray[np.float64]
#: Attributes, in order → the numbers of a table of these, without its margins.
Tables = Mapping[tuple[int, ...], Numbers]
Counts = Mapping[tuple[int, ...], NDArray[np.int64]]

_REACH = 12  # standard deviations; what lies beyond has a chance below 1e-30
_LEAST_VARIANCE = 1e-12


class PrivateTrial:
    """Add noise to all planned tables and their margins, and make them agree.

    The noise is drawn from a seed, so that a comparison can be repeated: it is for trying the
    method out, and for no release. Planned tables with a filter are left out.

    Parameters
    ----------
    bench
        The records.
    rho
        The concentrated loss of all of them together; neighbours add or remove a unit.
    delta
        Where its epsilon is told.
    unit
        The column that tells whose a record is; None for each record a unit.
    rows
        The records of a unit that are counted; which ones, chance decides.
    seed
        Where the noise comes from.
    """

    def __init__(
        self,
        bench: Bench,
        *,
        rho: float,
        delta: float,
        seed: int,
        unit: str | None = None,
        rows: int = 1,
    ) -> None:
        if delta * bench.n_records >= 1:
            raise ConfigError(
                Message(
                    "delta must be less than one in the number of records, not {delta:g}.",
                    delta=delta,
                ),
                hint=Message("with more, a method may publish a whole record"),
            )
        if unit is None and rows > 1:
            raise ConfigError(
                Message("rows is more than 1, and each record is a unit of its own."),
                hint=Message("name the column of an identifier with unit"),
            )
        self._names = {name: t for name, t in bench.counted.items() if t.where is None}
        if not self._names:
            raise ConfigError(
                Message(
                    "Every table has a filter, and one budget is for tables of the same "
                    "records."
                ),
                hint=Message("compare on a job with a table without where"),
            )
        self._bench, self._seed = bench, seed
        self._is_by_unit = unit is not None
        self._loss = {"rho": rho, "delta": delta, "rows": rows}
        n = bench.n_records
        self._units = np.arange(n) if unit is None else bench.sample.groups[unit]
        self._present, codes = [], []
        for name in bench.names:
            present, dense = np.unique(
                bench.sample.dimensions[name].codes[0], return_inverse=True
            )
            self._present.append(present)
            codes.append(dense.astype(np.int64))
        self._codes = np.stack(codes, axis=1)
        self._sizes = tuple(len(present) for present in self._present)
        self._axes: dict[int, Axis] = {}
        for name, table in self._names.items():
            axes = zip(table.dimensions, bench.truth(name).axes, strict=True)
            self._axes |= {bench.names.index(dimension): axis for dimension, axis in axes}
        self._together = self._drawn(list(self._names), office=0)

    def planned(self) -> dict[str, Answer]:
        """Publish the tables."""
        return {name: self._answer(name, self._together) for name in self._names}

    again = planned

    def alone(self, office: int) -> dict[str, Answer]:
        """Spend a budget on each table by itself."""
        draws = {name: self._drawn([name], office=office) for name in self._names}
        return {name: self._answer(name, tables) for name, tables in draws.items()}

    def ask(self, questions: Mapping[str, TableRequest]) -> Mapping[str, Answer | None]:
        """Answer from the planned tables, or refuse: the budget is spent."""
        return {name: self._from_planned(name) for name in questions}

    def facts(self) -> Mapping[str, float | None]:
        """Tell what is promised, and what differs from other noise."""
        from dp import epsilon_of_rho

        tables, truth = self._together
        pairs = [(tables[places], counts) for places, counts in truth.items()]
        inner = np.concatenate([published.ravel() for published, _ in pairs])
        empty = inner[np.concatenate([counts.ravel() for _, counts in pairs]) == 0]
        return {
            "epsilon": epsilon_of_rho(self._loss["rho"], delta=self._loss["delta"]),
            "not_counted": self._lost if self._is_by_unit else None,
            "negative": float(np.mean(inner <= -0.5)),
            "filled": float(np.mean(empty >= 0.5)) if empty.size else None,
        }

    def _drawn(self, names: Sequence[str], *, office: int) -> tuple[Tables, Counts]:
        """Spend the budget on some planned tables; return what is published, and the truth."""
        rng = np.random.default_rng([self._seed, office])
        rho, rows = self._loss["rho"], int(self._loss["rows"])
        own_codes = self._codes[_bounded(self._units, rows, rng)]
        self._lost = 1 - len(own_codes) / len(self._codes)
        all_places = sorted({self._places(self._names[name].dimensions) for name in names})
        margins = sorted(set(chain.from_iterable(map(_subsets, all_places))))
        whole = sum(_cells(self._sizes, places) ** 0.5 for places in margins)
        noisy, variances = {}, {}
        for places in margins:
            # Of one budget this gives the cells of all tables the least variance, before sums.
            share = rho * _cells(self._sizes, places) ** 0.5 / whole
            # A unit moves a table by so many records, all of one cell at worst.
            support, mass = _law(rows / (2 * share) ** 0.5)
            counts = self._counts(own_codes, places)
            noisy[places] = counts + rng.choice(support, size=counts.shape, p=mass)
            variances[places] = max(float(support**2 @ mass), _LEAST_VARIANCE)
        truth = {places: self._counts(self._codes, places) for places in all_places}
        return agreeing(noisy, variances, sizes=self._sizes), truth

    def _places(self, dimensions: Sequence[str]) -> tuple[int, ...]:
        return tuple(sorted(self._bench.names.index(name) for name in dimensions))

    def _counts(self, codes: NDArray[np.int64], places: tuple[int, ...]) -> NDArray[np.int64]:
        """Count the cells of a table, without its margins."""
        if not places:
            return np.array(len(codes))
        shape = tuple(self._sizes[place] for place in places)
        at = np.ravel_multi_index(tuple(codes[:, place] for place in places), shape)
        return np.bincount(at, minlength=int(np.prod(shape))).reshape(shape)

    def _answer(self, name: str, draws: tuple[Tables, Counts]) -> Answer:
        """Lay a published table out over the grid of its categories, empty cells too."""
        dimensions = self._names[name].dimensions
        places = self._places(dimensions)
        return self._laid_out(dimensions, draws[0][places], self._counts(self._codes, places))

    def _from_planned(self, name: str) -> Answer | None:
        request = self._bench.questions.requests[name]
        about = self._bench.questions.filters[name]
        filtered = () if about.dimension is None else (about.dimension,)
        needed = self._places(list(dict.fromkeys([*request.dimensions, *filtered])))
        if about.row is not None or about.others or needed not in self._together[0]:
            return None
        published, counts = self._together[0][needed], self._counts(self._codes, needed)
        own_places = self._places(request.dimensions)
        summed = tuple(n for n, place in enumerate(needed) if place not in own_places)
        for place in self._places(filtered):
            is_out = ~np.isin(self._present[place], about.codes)
            flags = along(is_out, needed.index(place), len(needed))
            published, counts = np.where(flags, 0.0, published), np.where(flags, 0, counts)
        return self._laid_out(
            request.dimensions, published.sum(axis=summed), counts.sum(axis=summed)
        )

    def _laid_out(
        self, dimensions: Sequence[str], published: Numbers, counts: NDArray[np.int64]
    ) -> Answer:
        """Add tables of the finest cells up to every level of every dimension."""
        at = [self._bench.names.index(name) for name in dimensions]
        order = np.argsort(np.argsort(at))
        published, counts = published.transpose(order), counts.transpose(order)
        axes = [self._axes[place] for place in at]
        paths = [self._ranks(place, axis) for place, axis in zip(at, axes, strict=True)]
        ranks, numbers, true = [], [], []
        for levels in product(*(range(len(axis.levels)) for axis in axes)):
            table_cells, true_cells, category_lists = published, counts, []
            for number, (level, path) in enumerate(zip(levels, paths, strict=True)):
                categories, code = np.unique(path[level], return_inverse=True)
                table_cells, true_cells = (
                    added(table, code, axis=number) for table in (table_cells, true_cells)
                )
                category_lists.append(categories)
            grid = np.meshgrid(*category_lists, indexing="ij")
            ranks.append(np.stack([axis.ravel() for axis in grid]))
            numbers.append(table_cells.ravel())
            true.append(true_cells.ravel())
        every = np.concatenate(ranks, axis=1)
        _, first = np.unique(every, axis=1, return_index=True)  # a leaf may stand twice
        return Answer(
            axes=tuple(axes),
            ranks=tuple(rank[first].astype(np.int32) for rank in every),
            level_sets=tuple(product(*(range(len(axis.levels)) for axis in axes))),
            count=np.concatenate(true)[first].astype(np.int64),
            published=np.concatenate(numbers)[first].astype(np.float64),
        )

    def _ranks(self, place: int, axis: Axis) -> list[NDArray[np.int64]]:
        """Return the rank at each level of every finest category that records have."""
        labels = self._bench.sample.dimensions[self._bench.names[place]].labels[0]
        rank_of = {label: rank for rank, label in enumerate(zip(*axis.labels, strict=True))}
        code_of = {rank: code for code, rank in enumerate(axis.levels[0].ranks.tolist())}
        code = np.array(
            [code_of[rank_of[labels[present]]] for present in self._present[place].tolist()]
        )
        ranks = []
        for level in axis.levels:
            ranks.append(level.ranks[code].astype(np.int64))
            code = code if level.up is None else level.up[code]
        return ranks


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
        for coarser, numbers in noisy.items():
            if set(places) <= set(coarser):
                rest = tuple(n for n, place in enumerate(coarser) if place not in places)
                n_added = _cells(sizes, coarser) / _cells(sizes, places)
                weight = 1 / (variances[coarser] * n_added)
                total, weights = total + weight * numbers.sum(axis=rest), weights + weight
        part = total / weights
        for axis in range(part.ndim):
            part = part - part.mean(axis=axis, keepdims=True)
        parts[places] = part
    tables = {}
    for places in noisy:
        table = np.zeros([sizes[place] for place in places])
        for fewer in _subsets(places):
            shape = [sizes[place] if place in fewer else 1 for place in places]
            spread = _cells(sizes, places) / _cells(sizes, fewer)
            table = table + parts[fewer].reshape(shape) / spread
        tables[places] = table
    return tables


def _subsets(places: tuple[int, ...]) -> list[tuple[int, ...]]:
    every = range(len(places) + 1)
    return list(chain.from_iterable(combinations(places, n) for n in every))


def _cells(sizes: tuple[int, ...], places: tuple[int, ...]) -> int:
    return int(np.prod([sizes[place] for place in places], dtype=np.int64))


def _bounded(
    units: NDArray[np.int64], rows: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Keep so many records of each unit, drawn at random."""
    order = rng.permutation(len(units))
    order = order[np.argsort(units[order], kind="stable")]
    first = np.searchsorted(units[order], units[order])
    places: NDArray[np.int64] = order[np.arange(len(order)) - first < rows]
    return places


def _law(scale: float) -> tuple[NDArray[np.int64], Numbers]:
    """Give the values of discrete Gaussian noise, and their probabilities."""
    reach = int(np.ceil(_REACH * scale)) + 1
    support = np.arange(-reach, reach + 1)
    mass = np.exp(-((support / scale) ** 2) / 2)
    return support, mass / mass.sum()
