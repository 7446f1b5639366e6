"""Networks of columns with few parents: bins, candidates, information, tables, records."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from footing.arrays import AnyIntegers, Floats, Integers
from synth.baselines.coded import CodedColumn

#: A column and its parents.
Family = tuple[int, tuple[int, ...]]

_LARGEST = 1_000_000
_MAX_CANDIDATES = 20_000
_MAX_FAMILIES = 5_000
_RAKINGS = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NetworkTable:
    """The law of a column given its parents.

    Parameters
    ----------
    child, parents
        The columns.
    sizes
        How many codes each parent has.
    cumulative
        A row for each combination of the parents, rising to 1.
    """

    child: int
    parents: tuple[int, ...]
    sizes: tuple[int, ...]
    cumulative: Floats


def information_sensitivity(records: int, *, is_binary: bool) -> float:
    """Return how far the mutual information moves when a record is replaced."""
    n = records
    if n < 2:
        return math.log(2)
    if is_binary:
        return math.log(n) / n + (n - 1) / n * math.log(n / (n - 1))
    return 2 / n * math.log((n + 1) / 2) + (n - 1) / n * math.log((n + 1) / (n - 1))


def information_of(codes: AnyIntegers, family: Family, *, sizes: Sequence[int]) -> float:
    """Return the mutual information of a column and its parents, over its sensitivity.

    One record that is replaced moves the result by 1 at most, whatever the sizes are.
    """
    child, parents = family
    cells = math.prod(sizes[one] for one in parents) * sizes[child]
    cell_numbers = cells_of(codes, (*parents, child), sizes=sizes)
    table = np.bincount(cell_numbers, minlength=cells).reshape(-1, sizes[child])
    information = (
        _entropy(table.sum(axis=0)) + _entropy(table.sum(axis=1)) - _entropy(table.ravel())
    )
    is_binary = sizes[child] <= 2 or cells <= 2 * sizes[child]
    return information / information_sensitivity(len(codes), is_binary=is_binary)


def candidates_of(sizes: Sequence[int], members: Sequence[int], *, degree: int) -> list[Family]:
    """Return the next columns that are possible, with as many parents as possible.

    Those whose table would have more than a million cells are left out, and numbers of parents
    with more than 20,000 candidates. None of it depends on records.
    """
    rest = [one for one in range(len(sizes)) if one not in members]
    for many in range(min(len(members), degree), -1, -1):
        if math.comb(len(members), many) * len(rest) > _MAX_CANDIDATES:
            continue
        families = [
            (child, of)
            for child in rest
            for of in combinations(sorted(members), many)
            if sizes[child] * math.prod(sizes[one] for one in of) <= _LARGEST
        ]
        if families:
            return families
    return [(child, ()) for child in rest]


def useful_families(
    sizes: Sequence[int], members: Sequence[int], *, degree: int, cells: float
) -> list[Family]:
    """Return the next columns that are possible, with parents whose table is not too large.

    All sets of parents that are known already, up to the largest degree with 5,000 families at
    most. None of it depends on records.
    """
    rest = [one for one in range(len(sizes)) if one not in members]
    families: list[Family] = [(child, ()) for child in rest]
    rest, telling = ([one for one in some if sizes[one] > 1] for some in (rest, members))
    for many in range(1, min(degree, len(telling)) + 1):
        sets = [(of, math.prod(sizes[one] for one in of)) for of in combinations(telling, many)]
        more = [(one, of) for one in rest for of, size in sets if sizes[one] * size <= cells]
        if len(families) + len(more) > _MAX_FAMILIES:
            break
        families += more
    return families


def raked(table: Floats, margins: Sequence[Floats]) -> Floats:
    """Return a table whose sums along each axis are closer to given ones."""
    for _ in range(_RAKINGS):
        for axis, margin in enumerate(margins):
            sums = table.sum(axis=tuple({*range(table.ndim)} - {axis}))
            factor = np.divide(margin, sums, out=np.ones(len(sums)), where=sums > 0)
            table = table * factor.reshape(
                [-1 if at == axis else 1 for at in range(table.ndim)]
            )
    return table


def cells_of(codes: AnyIntegers, columns: Sequence[int], *, sizes: Sequence[int]) -> Integers:
    """Return the cell of each record in the table of some columns."""
    places = tuple(codes[:, one] for one in columns)
    return np.ravel_multi_index(places, [sizes[one] for one in columns]).astype(np.int64)


def measured_places(network: Sequence[Family], *, degree: int) -> list[int]:
    """Return the places whose tables are measured: all but those that the first one holds."""
    child, parents = network[degree]
    shared = {child, *parents}
    return [
        place
        for place, (one, of) in enumerate(network)
        if place >= degree or not {one, *of} <= shared
    ]


def tables_of(
    network: Sequence[Family], joints: Mapping[int, tuple[tuple[int, ...], Floats]]
) -> list[NetworkTable]:
    """Return the laws that follow from measured tables."""
    tables = []
    for place, (child, parents) in enumerate(network):
        joint = joints[place] if place in joints else _shared(joints, (*parents, child))
        tables.append(conditional(joint[1], child, parents))
    return tables


def draw_network(
    number: int, tables: Sequence[NetworkTable], *, rng: np.random.Generator
) -> Integers:
    """Draw records, a column after its parents."""
    records = np.zeros((number, len(tables)), dtype=np.int64)
    for table in tables:
        row = np.zeros(number, dtype=np.int64)
        for one, width in zip(table.parents, table.sizes, strict=True):
            row = row * width + records[:, one]
        # rows are sorted, so one search in all of them finds each one's place
        width = table.cumulative.shape[1]
        steps = (table.cumulative + np.arange(len(table.cumulative))[:, None]).ravel()
        place = np.searchsorted(steps, row + rng.random(number), side="right")
        records[:, table.child] = (place - row * width).clip(0, width - 1)
    return records


def _entropy(counts: Integers) -> float:
    positive = counts[counts > 0]
    total = positive.sum()
    return float(math.log(total) - (positive * np.log(positive)).sum() / total)


def _shared(
    joints: Mapping[int, tuple[tuple[int, ...], Floats]], columns: tuple[int, ...]
) -> tuple[tuple[int, ...], Floats]:
    """Return the table of some columns as a margin of one that was measured."""
    order, joint = next(one for one in joints.values() if set(columns) <= set(one[0]))
    others = tuple(axis for axis, one in enumerate(order) if one not in columns)
    axes = [one for one in order if one in columns]
    summed = joint.sum(axis=others) if others else joint
    return columns, np.transpose(summed, [axes.index(one) for one in columns])


def conditional(joint: Floats, child: int, parents: tuple[int, ...]) -> NetworkTable:
    """Return the law of the column of the last axis given those of the others."""
    rows = joint.reshape(-1, joint.shape[-1]).copy()
    rows[rows.sum(axis=1) <= 0] = 1.0
    cumulative = np.cumsum(rows, axis=1)
    return NetworkTable(
        child=child,
        parents=parents,
        sizes=joint.shape[:-1],
        cumulative=cumulative / cumulative[:, -1:],
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Binned:
    """Codes of few bins, and per column the bin of each code."""

    codes: Integers
    members: tuple[Integers, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many bins each column has."""
        return sizes_of(self.members)


def sizes_of(members: Sequence[Integers]) -> tuple[int, ...]:
    """Return how many bins each column has."""
    return tuple(int(bin_of.max()) + 1 for bin_of in members)


def spread_bins(
    bins: Integers, members: Sequence[Integers], rng: np.random.Generator
) -> list[Integers]:
    """Turn bins into codes, each code of a bin alike."""
    columns = []
    for k, bin_of in enumerate(members):
        order = np.argsort(bin_of, kind="stable")
        many = np.bincount(bin_of)
        start = np.cumsum(many) - many
        within = (rng.random(len(bins)) * many[bins[:, k]]).astype(np.int64)
        columns.append(order[start[bins[:, k]] + within])
    return columns


def bin_columns(columns: Sequence[CodedColumn], *, most: int = 20) -> Binned:
    """Put numbers of many values into bins of equal width."""
    members = []
    for column in columns:
        bin_of = np.arange(column.size)
        if column.is_numeric and column.size > most:
            values = [value for value in column.domain if value is not None]
            numbers = np.array(values, dtype=np.float64)
            edges = np.linspace(numbers[0], numbers[-1], most + 1)[1:-1]
            raw = np.searchsorted(edges, numbers, side="left")
            if len(values) < column.size:
                raw = np.append(raw, most)
            _, bin_of = np.unique(raw, return_inverse=True)  # bins without values are left out
        members.append(np.asarray(bin_of, dtype=np.int64))
    return Binned(
        codes=np.column_stack(
            [bin_of[one.codes] for bin_of, one in zip(members, columns, strict=True)]
        ),
        members=tuple(members),
    )
