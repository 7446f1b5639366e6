"""The linear program of a design by limits: all rows together, and what an intruder learns.

Unknown are ``P[i, j]`` on its support, and auxiliaries of limits that are convex and not
linear: ``T[i, k, j] ≥ P[i, j] - e^ε P[k, j]`` of neighbours, ``U[π, j] ≥ π_i P[i, j]`` of the
best guess and ``D[i, j] ≥ |P[i, j] - Q[i, j]|`` of a target. The last row ``L`` serves all
larger counts: row ``L + 1`` is row ``L`` shifted.

Constraints are held as the plain numbers of a sparse matrix: cvxpy gets them to solve, and who
checks a bound or a table computes with them without any solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from ptable.design.limits import Limits, default_floor
from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.solver.reach import variance_bounds
from ptable.solver.row import RowProblem

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Float: TypeAlias = "NDArray[np.float64]"
_Int: TypeAlias = "NDArray[np.int64]"
_Entry: TypeAlias = "tuple[int, float]"

#: A row that has one distribution at its least variance gets so much more, for its keys.
_ROOM = Fraction(1001, 1000)
#: A count that no prior expects weighs so much.
_LEAST_WEIGHT = 1e-6
#: Moments keep this share of ``max_noise²`` free for rounding, for each unit of the margin.
_MOMENT_MARGIN = 0.05
_STAY_MARGIN = 0.05
_DELTA_MARGIN = 0.05


def limits_of(spec: NoiseSpec | StackedSpec) -> Limits | None:
    """Give the limits of a specification; of a stack, those of its first part."""
    first = spec if isinstance(spec, NoiseSpec) else spec.parts[0][1]
    return first.limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """Sums of unknowns that must equal, or may not exceed, numbers.

    Parameters
    ----------
    name
        What the sums are about; `ptable.solver.statement` has the words.
    formula
        The constraint as a paper prints it.
    relation
        ``"="`` or ``"≤"``.
    row, place, weight
        The matrix: which sum, which unknown, how often.
    goal
        One number for each sum.
    """

    name: str
    formula: str
    relation: Literal["=", "≤"]
    row: _Int
    place: _Int
    weight: _Float
    goal: _Float

    @classmethod
    def of(
        cls,
        name: str,
        formula: str,
        relation: Literal["=", "≤"],
        sums: Iterable[tuple[Sequence[_Entry], float]],
    ) -> Self | None:
        """Collect sums given as their entries and goal; nothing where there are none."""
        rows: list[int] = []
        entries: list[_Entry] = []
        goals: list[float] = []
        for some, goal in sums:
            rows += [len(goals)] * len(some)
            entries += some
            goals.append(goal)
        if not goals:
            return None
        return cls(
            name=name,
            formula=formula,
            relation=relation,
            row=np.array(rows, dtype=np.int64),
            place=np.array([place for place, _ in entries], dtype=np.int64),
            weight=np.array([weight for _, weight in entries], dtype=np.float64),
            goal=np.array(goals, dtype=np.float64),
        )


@dataclass(frozen=True, kw_only=True)
class Joint:
    """A design by limits: its rows, unknowns and constraints.

    Parameters
    ----------
    spec
        The specification.
    limits
        Its limits, settled.
    rows
        The constraints on each row alone.
    margin
        By which part, relative to each column, limits are tightened so that whole keys keep
        them; 0 for the limits themselves.
    closed
        Entries ``(i, j)`` of sensitive rows that are 0.
    budget
        The most that may be lost; None while the least loss is sought.
    """

    spec: NoiseSpec | StackedSpec
    limits: Limits
    rows: tuple[RowProblem, ...]
    margin: float = 0.0
    closed: frozenset[tuple[int, int]] = frozenset()
    budget: float | None = None

    @classmethod
    def of(cls, spec: NoiseSpec | StackedSpec) -> Self:
        """State the limits of a specification."""
        limits = limits_of(spec)
        if limits is None:
            limits = Limits(posterior=None, neighbours=None, p_stay=None, is_peaked=False)
            limits = replace(limits, sensitive=(1,))
        return cls(spec=spec, limits=limits, rows=spec.rows())

    @property
    def objective(self) -> str:
        """What is best: of a stack, as its first part says."""
        spec = self.spec if isinstance(self.spec, NoiseSpec) else self.spec.parts[0][1]
        return spec.objective

    @cached_property
    def counts(self) -> _Int:
        """The original count of each row."""
        return np.array([row.count for row in self.rows], dtype=np.int64)

    @cached_property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """The pairs ``(i, j)`` whose probability may be above 0, row by row."""
        return tuple(
            (row.count, row.count + v)
            for row in self.rows
            for v in row.noise
            if (row.count, row.count + v) not in self.closed
        )

    @cached_property
    def place(self) -> dict[tuple[int, int], int]:
        """Where each of these stands among the unknowns."""
        return {entry: place for place, entry in enumerate(self.entries)}

    @cached_property
    def origins(self) -> dict[int, list[int]]:
        """Of each published count the positive counts it may stem from."""
        origins: dict[int, list[int]] = {}
        for i, j in self.entries:
            if i > 0:
                origins.setdefault(j, []).append(i)
        return origins

    @cached_property
    def extras(self) -> dict[tuple[Any, ...], int]:
        """Where the auxiliaries stand, each in [0, 1], behind the probabilities."""
        names: list[tuple[Any, ...]] = []
        if self._delta is not None:
            names += [("T", i, k, j) for i, k in self.pairs for j in self._published(i)]
        names += [
            ("U", some, one, j)
            for some, _ in self.limits.guesses
            for one in range(len(self.limits.priors))
            for j in self._columns_from(some)
        ]
        if self.objective == "distance-to":
            names += [("D", i, j) for i, j in self.entries if i > 0]
        start = len(self.entries)
        return {name: start + place for place, name in enumerate(names)}

    @property
    def _delta(self) -> float | None:
        """The limit of neighbours; 1 is none."""
        delta = None if self.limits.neighbours is None else self.limits.neighbours[1]
        return None if delta is None or delta >= 1 else delta

    @property
    def size(self) -> int:
        """How many unknowns there are."""
        return len(self.entries) + len(self.extras)

    @property
    def last(self) -> int:
        """The count of the last row, which serves all larger ones."""
        return int(self.counts[-1])

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The counts that differ by one record, both positive, each way."""
        last = self.last
        ways = [(i, i + 1) for i in range(1, last + 1)]
        return (*ways, *((k, i) for i, k in ways))

    def _published(self, count: int) -> list[int]:
        """Give what a count may be published as; the count after the last is a shifted one."""
        if count > self.last:
            return [j + 1 for j in self._published(self.last)]
        return self._columns_of[count]

    @cached_property
    def _columns_of(self) -> dict[int, list[int]]:
        columns: dict[int, list[int]] = {}
        for i, j in self.entries:
            columns.setdefault(i, []).append(j)
        return columns

    def at(self, count: int, published: int) -> int | None:
        """Give where ``P[i, j]`` stands among the unknowns; None where it is 0."""
        if count > self.last:
            count, published = self.last, published - (count - self.last)
        return self.place.get((count, published))

    def share(self, prior: int, count: int) -> float:
        """Give the share of cells of a count; of the last row's count, its own alone."""
        shares = self.limits.priors[prior]
        return float(shares[count]) if count < len(shares) else 0.0

    @property
    def _sensitive(self) -> tuple[int, ...]:
        return self.limits.sensitive or ()

    def _sensitive_columns(self) -> list[int]:
        return self._columns_from(self._sensitive)

    def _columns_from(self, counts: Iterable[int]) -> list[int]:
        """Give what any of these counts may be published as."""
        return sorted({j for i in counts for j in self._columns_of.get(i, ())})

    @cached_property
    def weights(self) -> dict[int, float]:
        """What each row counts for in the loss: the share of its cells in the first prior."""
        if not self.limits.priors:
            return {row.count: 1 / len(self.rows) for row in self.rows}
        shares = {row.count: self.share(0, row.count) for row in self.rows if row.count > 0}
        shares[self.last] += math.fsum(self.limits.priors[0][self.last + 1 :])
        total = math.fsum(shares.values())
        weights = {count: max(share / total, _LEAST_WEIGHT) for count, share in shares.items()}
        return {0: _LEAST_WEIGHT, **weights}

    @cached_property
    def costs(self) -> _Float | None:
        """What a unit of each unknown loses; None where entropy alone is sought."""
        losses: dict[str, Callable[[int, int], float]] = {
            "least-deviation": lambda i, j: abs(j - i),
            "least-variance": lambda i, j: (j - i) ** 2,
            "least-hellinger": lambda i, j: (math.sqrt(j) - math.sqrt(i)) ** 2 / 2,
        }
        if self.objective == "entropy":
            return None
        costs = np.zeros(self.size)
        if self.objective == "distance-to":
            for name, place in self.extras.items():
                if name[0] == "D":
                    costs[place] = self.weights[name[1]] / 2
            return costs
        loss = losses[self.objective]
        for place, (i, j) in enumerate(self.entries):
            costs[place] = self.weights[i] * loss(i, j)
        return costs

    def variance_limits(self, row: RowProblem) -> tuple[Fraction, Fraction]:
        """Give the floor and the ceiling of a row's variance, as far as it can have them."""
        return self._ranges[row.count]

    @cached_property
    def _ranges(self) -> dict[int, tuple[Fraction, Fraction]]:
        ranges: dict[int, tuple[Fraction, Fraction]] = {}
        for row in self.rows:
            low, high = self._wish(row)
            ends = variance_bounds(row)
            if ends is not None:
                least, greatest = (end.value for end in ends)
                high = max(high, least * _ROOM)
                if self.limits.variance_floor is None:
                    low = min(low, greatest / _ROOM, high)
            ranges[row.count] = low, high
        return ranges

    def _wish(self, row: RowProblem) -> tuple[Fraction, Fraction]:
        """Give the floor and ceiling that are asked for."""
        if row.count == 0:
            return Fraction(0), row.variance
        if limits_of(self.spec) is None:  # only somebody's own constraints tie the rows
            return (Fraction(0) if row.at_most else row.variance), row.variance
        floor = self.limits.variance_floor
        if floor is None:
            spec = self.spec if isinstance(self.spec, NoiseSpec) else self.spec.parts[0][1]
            variance = spec.variance
            if isinstance(variance, tuple):
                variance = variance[min(row.count, len(variance)) - 1]
            return Fraction(repr(default_floor(variance))), row.variance
        place = row.count - 1
        low = floor[min(place, len(floor) - 1)] if isinstance(floor, tuple) else floor
        return Fraction(repr(low)), row.variance

    def lines(self) -> Iterator[Linear]:
        """Give the constraints, line by line."""
        for line in (
            *self._row_lines(),
            *self._posterior_lines(),
            *self._guess_lines(),
            *self._ratio_lines(),
            *self._neighbour_lines(),
            *self._target_lines(),
            *self._budget_lines(),
        ):
            if line is not None:
                yield line

    def _sum(self, row: RowProblem, weigh: Callable[[int], float]) -> list[_Entry]:
        """Weigh the probabilities of a row by their noise."""
        i = row.count
        return [
            (place, float(weigh(v)))
            for v in row.noise
            if (place := self.place.get((i, i + v))) is not None
        ]

    def _row_lines(self) -> Iterator[Linear | None]:
        rows = self.rows
        yield Linear.of(
            "distribution",
            "Σ_j P[i, j] = 1",
            "=",
            ((self._sum(row, lambda _: 1), 1.0) for row in rows),
        )
        yield Linear.of(
            "mean",
            "Σ_j (j - i) P[i, j] = m_i",
            "=",
            ((self._sum(row, lambda v: v), float(row.mean)) for row in rows),
        )
        ends = [(row, *self.variance_limits(row)) for row in rows]
        met = [(row, low) for row, low, high in ends if low >= high]
        between = [(row, low, high) for row, low, high in ends if low < high]

        def moment(row: RowProblem, sign: int) -> list[_Entry]:
            return self._sum(row, lambda v: sign * v * v)

        def free(row: RowProblem, low: Fraction, high: Fraction) -> float:
            room = _MOMENT_MARGIN * self.margin * max(map(abs, row.noise)) ** 2
            return min(room, float(high - low) / 4)

        yield Linear.of(
            "variance",
            "Σ_j (j - i)² P[i, j] = V_i",
            "=",
            ((moment(row, 1), float(value + row.mean**2)) for row, value in met),
        )
        yield Linear.of(
            "variance ceiling",
            "Σ_j (j - i)² P[i, j] ≤ V_i",
            "≤",
            (
                (moment(row, 1), float(high + row.mean**2) - free(row, low, high))
                for row, low, high in between
            ),
        )
        yield Linear.of(
            "variance floor",
            "Σ_j (j - i)² P[i, j] ≥ F_i",
            "≤",
            (
                (moment(row, -1), -float(low + row.mean**2) - free(row, low, high))
                for row, low, high in between
                if low > 0
            ),
        )
        yield from self._stay_lines()
        yield Linear.of(
            "shape",
            "P[i, j] ≤ P[i, j ± 1]",
            "≤",
            (
                (self._difference(row, row.noise[low], row.noise[high]), 0.0)
                for row in rows
                for low, high in row.rising_pairs
            ),
        )
        yield Linear.of(
            "symmetry",
            "P[i, j] = P[i, 2 i - j]",
            "=",
            (
                (self._difference(row, v, -v), 0.0)
                for row in rows
                if row.symmetric
                for v in row.noise
                if v < 0
            ),
        )
        yield Linear.of(
            "floor",
            "P[i, j] ≥ p_i",
            "≤",
            (
                ([(self.place[row.count, row.count + v], -1.0)], -float(row.floor))
                for row in rows
                if row.floor
                for v in row.noise
                if (row.count, row.count + v) in self.place
            ),
        )

    def _difference(self, row: RowProblem, low: int, high: int) -> list[_Entry]:
        i = row.count
        return [
            (place, weight)
            for v, weight in ((low, 1.0), (high, -1.0))
            if (place := self.place.get((i, i + v))) is not None
        ]

    def _stay_lines(self) -> Iterator[Linear | None]:
        signs = {"exact": 0, "at-most": 1, "at-least": -1}
        formulas = {0: "P[i, i] = s_i", 1: "P[i, i] ≤ s_i", -1: "P[i, i] ≥ s_i"}
        for sign, formula in formulas.items():
            relation: Literal["=", "≤"] = "≤" if sign else "="
            room = _STAY_MARGIN * self.margin if sign else 0.0
            yield Linear.of(
                "stay",
                formula,
                relation,
                (
                    (
                        [(self.place[row.count, row.count], float(sign or 1))],
                        (sign or 1) * float(row.p_stay) - room,
                    )
                    for row in self.rows
                    if row.p_stay is not None
                    and signs[row.p_stay_rule] == sign
                    and (row.count, row.count) in self.place
                ),
            )

    def _posterior_lines(self) -> Iterator[Linear | None]:
        """State ``Σ_{i in I} π_i P[i, j] ≤ τ Σ_k π_k P[k, j]``, for each published ``j``.

        Both sides are divided by the largest share that a sensitive origin has, so that rare
        counts are held as precisely as others.
        """
        limits = self.limits
        single = [(i,) for i in self._sensitive]
        kinds = (
            ("posterior", limits.posterior, single, "π_i P[i, j] ≤ τ Σ_k π_k P[k, j]"),
            (
                "posterior of the set",
                limits.posterior_set,
                [self._sensitive],
                "Σ_{i in S} π_i P[i, j] ≤ τ Σ_k π_k P[k, j]",
            ),
        )
        for name, limit, sets, formula in kinds:
            if limit is None or limit >= 1:
                continue
            tau = limit * (1 - self.margin)
            yield Linear.of(
                name,
                formula,
                "≤",
                (
                    constraint
                    for one in range(len(limits.priors))
                    for j in self._sensitive_columns()
                    for some in sets
                    if (constraint := self._posterior(one, j, some, tau))[0]
                ),
            )

    def _posterior(
        self, prior: int, published: int, some: Sequence[int], tau: float
    ) -> tuple[list[_Entry], float]:
        origins = self.origins.get(published, [])
        inside = set(some) & set(origins)
        if not inside:
            return [], 0.0
        scale = max(self.share(prior, i) for i in inside)
        entries = [
            (
                self.place[k, published],
                self.share(prior, k) / scale * ((k in inside) - tau),
            )
            for k in origins
        ]
        if not self.limits.zeros_in_prior:
            return entries, 0.0
        zeros = tau * self.share(prior, 0) / scale
        if (place := self.place.get((0, published))) is not None:
            entries.append((place, -zeros))
        return entries, zeros if published == 0 and self.rows[0].count > 0 else 0.0

    def _guess_lines(self) -> Iterator[Linear | None]:
        """State ``Σ_j max_i π_i P[i, j] ≤ b``, among sensitive counts or each class of them."""
        guesses = [
            (some, limit, one, math.fsum(self.share(one, i) for i in some))
            for some, limit in self.limits.guesses
            for one in range(len(self.limits.priors))
        ]
        yield Linear.of(
            "best guess of one count",
            "π_i P[i, j] ≤ U[π, j]",
            "≤",
            (
                (
                    [
                        (self.place[i, j], self.share(one, i) / total),
                        (self.extras["U", some, one, j], -1.0),
                    ],
                    0.0,
                )
                for some, _, one, total in guesses
                for i, j in self.entries
                if i in some
            ),
        )
        yield Linear.of(
            "best guess",
            "Σ_j U[π, j] ≤ b",
            "≤",
            (
                (
                    [(self.extras["U", some, one, j], 1.0) for j in self._columns_from(some)],
                    limit - _DELTA_MARGIN * self.margin,
                )
                for some, limit, one, _ in guesses
            ),
        )

    def _ratio_lines(self) -> Iterator[Linear | None]:
        ratio = self.limits.ratio
        if ratio is None:
            return
        bound = ratio * (1 - self.margin)
        yield Linear.of(
            "ratio",
            "P[i, j] ≤ r P[i + 1, j]",
            "≤",
            (
                (
                    [
                        (self.place[i, j], 1.0),
                        *(
                            [(other, -bound)]
                            if (other := self.at(i + 1, j)) is not None
                            else []
                        ),
                    ],
                    0.0,
                )
                for i, j in self.entries
                if i in self._sensitive
            ),
        )

    def _neighbour_lines(self) -> Iterator[Linear | None]:
        if self.limits.neighbours is None or self._delta is None:
            return
        epsilon, delta = self.limits.neighbours
        factor = math.exp(epsilon)
        yield Linear.of(
            "excess over a neighbour",
            "P[i, j] - e^ε P[k, j] ≤ T[i, k, j], k = i ± 1",
            "≤",
            (
                (
                    [
                        (place, weight)
                        for place, weight in (
                            (self.at(i, j), 1.0),
                            (self.at(k, j), -factor),
                            (self.extras["T", i, k, j], -1.0),
                        )
                        if place is not None
                    ],
                    0.0,
                )
                for i, k in self.pairs
                for j in self._published(i)
            ),
        )
        yield Linear.of(
            "neighbours",
            "Σ_j T[i, k, j] ≤ δ",
            "≤",
            (
                (
                    [(self.extras["T", i, k, j], 1.0) for j in self._published(i)],
                    delta - _DELTA_MARGIN * self.margin,
                )
                for i, k in self.pairs
            ),
        )

    def _target_lines(self) -> Iterator[Linear | None]:
        if self.objective != "distance-to":
            return
        target = self.target
        for sign in (1.0, -1.0):
            yield Linear.of(
                "distance to the target",
                f"{'P - Q' if sign > 0 else 'Q - P'} ≤ D[i, j]",
                "≤",
                (
                    (
                        [(self.place[i, j], sign), (self.extras["D", i, j], -1.0)],
                        sign * target.get((i, j), 0.0),
                    )
                    for i, j in self.entries
                    if i > 0
                ),
            )

    @cached_property
    def target(self) -> dict[tuple[int, int], float]:
        """The probabilities of the target, count by count."""
        spec = self.spec if isinstance(self.spec, NoiseSpec) else self.spec.parts[0][1]
        table = spec.target
        if table is None:
            return {}
        last = int(table.counts[-1])
        return {
            (row.count, row.count + v): n / table.key_range
            for row in self.rows
            for v, n in table.units(min(row.count, last)).items()
        }

    @property
    def _closed_loss(self) -> float:
        """What is lost where a target has something and an entry is closed."""
        if self.objective != "distance-to":
            return 0.0
        return math.fsum(
            self.weights[i] / 2 * self.target.get((i, j), 0.0) for i, j in self.closed if i
        )

    def _budget_lines(self) -> Iterator[Linear | None]:
        if self.budget is None or self.costs is None:
            return
        budget = self.budget - self._closed_loss
        scale = max(abs(budget), _LEAST_WEIGHT)
        scaled = [
            (int(place), float(self.costs[place]) / scale)
            for place in np.flatnonzero(self.costs)
        ]
        yield Linear.of("loss", "loss ≤ 1.01 of the least", "≤", [(scaled, budget / scale)])
