"""Totals of amounts and of survey weights: measured apart, and a model that comes to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from footing.messages import Message, Name
from synth.errors import SchemaError
from synth.marginals.model import TableModel
from synth.marginals.spending import Spend, calls_of
from synth.methods import METHODS, SINGLE, is_unprotected
from synth.schema.coding import encode_column, number_values
from synth.schema.columns import Numeric, Real, Whole, colliding
from synth.schema.rules.constraints import identities_of
from synth.tails import NumberLaw, law_of

if TYPE_CHECKING:
    import pandas as pd

    from footing.arrays import Floats, Integers
    from synth.marginals.measuring import Neighbours, NoiseSource
    from synth.marginals.spending import Call
    from synth.methods import CodeModel
    from synth.schema.schema import Schema

#: Methods whose cells are the numbers themselves, or that tell no number of records.
_WITHOUT = (*SINGLE, "copula-shirley-strict")
#: The share of the budget for the total of the weights, and for each declared amount.
WEIGHT_SHARE, AMOUNT_SHARE = 0.01, 0.08
#: For each wide column without bins, which nobody declared an amount.
WIDE_SHARE = 0.03
#: For all amounts together.
MOST_SHARE = 0.2
_MOST = 2**20  # a record counts as this at most: sums stay exact on the lattice of the noise
_PRIOR = 0.3  # how far, as a share, the model may be from the total of a category
_LOSS = 0.5  # what is cut off is fitted, and half of it may be wrong
_WITHIN = 0.1  # how far off, in widths of a cell, the mean of its numbers may be
_SHIFTS, _NEAR_SHIFTS = (-3.0, 6.0), (-0.5, 0.5)
_FARTHEST = 3.0  # how many times the total of the cells, once these are drawn as suits it
_DRAWN = 2**15  # records that tell what a method without margins expects
_DOUBTFUL = 0.25  # of a total: what noise or a fitted tail makes of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """What is measured of one column, at which share of the budget.

    Parameters
    ----------
    column
        The column of numbers.
    share
        The share of the budget.
    most, least
        Where the amount is cut off, if that is declared.
    by
        The column of categories of which each has a total, if there is one.
    """

    column: Numeric
    share: float
    most: float | None = None
    least: float | None = None
    by: str | None = None


@dataclass(slots=True)
class DrawingPlan:
    """A model, the laws of its numbers, what totals cost, and what is told of each amount."""

    engine: CodeModel
    records: float
    laws: dict[str, NumberLaw] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)

    def expected(self) -> Callable[[int], Floats]:
        """Return what gives the counts that the model expects of the codes of a column."""
        return _expected(self.engine, self.records)


def totals_of(schema: Schema, *, method: str = "tables") -> list[Total]:
    """Return which totals are measured, the weight first.

    Declared amounts, or, where nothing is declared of amounts, whole and real columns with a
    wide range and no bins. A column that follows from others, or has one code, has none.
    """
    if method not in METHODS or method in _WITHOUT or is_unprotected(method):
        return []
    derived, totals = identities_of(schema), list[Total]()
    if schema.weight is not None and method == "tables":
        column = schema.column(schema.weight)
        if (
            isinstance(column, Numeric)
            and column.domain_size > 1
            and column.name not in derived
        ):
            totals.append(Total(column=column, share=WEIGHT_SHARE))
    amounts = _amounts(schema)
    free = MOST_SHARE / max(sum(one.share for one in amounts), MOST_SHARE)
    for one in amounts:
        if one.column.name in derived or one.column.domain_size < 2:
            continue
        if one.column.name != schema.weight or one.by is not None:
            totals.append(replace(one, share=one.share * free))
    return totals


def _amounts(schema: Schema) -> list[Total]:
    if schema.amounts is None:
        wide = [
            one
            for one in schema.columns
            if isinstance(one, (Whole, Real))
            and one.is_found_wide
            and one.name != schema.weight
        ]
        return [Total(column=one, share=WIDE_SHARE) for one in wide]
    totals = []
    for one in schema.amounts:
        column = schema.column(one.column)
        if isinstance(column, Numeric):
            limits = {"most": one.most, "least": one.least}
            totals.append(Total(column=column, share=AMOUNT_SHARE, by=one.by, **limits))
    return totals


def drawn_by_law(
    engine: CodeModel,
    records: pd.DataFrame,
    schema: Schema,
    *,
    prices: Sequence[tuple[Total, float]],
    neighbours: Neighbours,
    noise: NoiseSource,
    public_records: int | None = None,
) -> DrawingPlan:
    """Return how numbers are drawn, after the totals are measured, and what these cost.

    Parameters
    ----------
    engine
        The model, which was paid for.
    records, schema
        The records, within the bound on records of a unit, and their declaration.
    prices
        The totals, each with its rho.
    neighbours, noise
        Which data sets must look alike, and where the noise comes from.
    public_records
        The number of records, where neighbours have as many.

    Notes
    -----
    A record counts as its number less a public base, cut off at public or paid-for limits, in
    whole steps: from 0 to ``m``, above the base or below it, in one category. So each record is
    in one cell of a table of sums, with ``m`` at most; the noise is that of ``m`` tables.
    """
    plan = DrawingPlan(engine=engine, records=float(engine.records or public_records or 0))
    if not plan.records:
        return plan
    derived = identities_of(schema)
    expected = plan.expected()
    for place, column in enumerate(schema.columns):
        if (
            isinstance(column, Numeric)
            and column.name not in derived
            and column.domain_size > 1
        ):
            scale = _scale(engine, place)
            if scale is not None and (law := law_of(column, expected(place), scale=scale)):
                plan.laws[column.name] = law
    for total, rho in prices:
        _measure(plan, total, records, schema, rho=rho, neighbours=neighbours, noise=noise)
    priced = {total.column.name for total, _ in prices}
    for name, law in plan.laws.items():
        if name not in priced and (law.upper or law.lower):
            place = schema.names.index(name)
            column = schema.column(name)
            if isinstance(column, Numeric):
                counts = plan.expected()(place)
                plan.notes.append(_told(column, law, counts))
    return plan


def _expected(engine: CodeModel, records: float) -> Callable[[int], Floats]:
    """Return what gives the counts that a model expects of the codes of a column."""
    drawn: list[Any] = []

    def of(place: int) -> Floats:
        if (chances := engine.chances(place)) is not None:
            return np.asarray(chances * records)
        if not drawn:
            drawn.append(engine.sample(_DRAWN, rng=np.random.default_rng(0)))
        codes = drawn[0][:, place]
        return np.bincount(codes, minlength=engine.sizes[place]) * records / _DRAWN

    return of


def _scale(engine: CodeModel, place: int) -> float | None:
    """Return the scale of the noise of a count of a column; None where nothing tells."""
    looks = [one for one in engine.spends if place in one.columns]
    margins = [one.scale for one in looks if one.what == "margin"]
    # The count of a code is a sum over all others of a table.
    tables = [
        one.scale * math.sqrt(math.prod(engine.sizes[c] for c in one.columns if c != place))
        for one in looks
        if one.what == "table"
    ]
    return min(margins or tables, default=None)


def _measure(
    plan: DrawingPlan,
    total: Total,
    records: pd.DataFrame,
    schema: Schema,
    *,
    rho: float,
    neighbours: Neighbours,
    noise: NoiseSource,
) -> None:
    """Measure one total, and bring the plan to it."""
    column, names = total.column, schema.names
    place = names.index(column.name)
    by = None if total.by is None else names.index(total.by)
    base = int(min(max(column.bounds[0], 0), column.bounds[1]))
    law, counts = plan.laws.get(column.name) or _plain(column), plan.expected()(place)
    limits = _limits(total, law, counts, neighbours.counting(rho).scale, base)
    step = -(-max(limits) // _MOST)
    how = neighbours.counting(rho, most=max(max(limits) // step, 1))
    noisy = noise.add(_sums(records, schema, total, limits, step=step, base=base), how) * step
    columns = (place,) if by is None else (place, by)
    plan.calls += calls_of([Spend.of("total", how, columns=columns)], names)
    meeting = _Meeting(
        law=law,
        limits=limits,
        base=base,
        sums=np.asarray(noisy @ [1, -1] if noisy.ndim == 2 else noisy, np.float64),
        scale=how.scale * step * math.sqrt(noisy.ndim),
        cell_scale=_scale(plan.engine, place) or 0.0,
        is_fitted=column.law == "fitted",
    )
    goal = meeting.goal(counts)
    law, plan.engine = meeting.met(plan.engine, place, counts, goal)
    if by is not None and isinstance(plan.engine, TableModel):
        plan.engine = replace(meeting, law=law).met_by(plan.engine, place, by, goal)
    if meeting.is_fitted:
        plan.laws[column.name] = law
    counts = plan.expected()(place)
    plan.notes.append(_told(column, law, counts) | meeting.told(column, counts, total.by))


def _plain(column: Numeric) -> NumberLaw:
    """Return the law of a column whose numbers are drawn as its declaration says."""
    low, high = np.array(column.grid.cells(), np.int64).T
    if column.law in ("middle", "lowest"):
        low = high = low + (high - low) // 2 if column.law == "middle" else low
    return NumberLaw(lows=low, highs=high, exponents=np.zeros(len(low)))


def _limits(
    total: Total, law: NumberLaw, counts: Floats, scale: float, base: int
) -> tuple[int, int]:
    """Return where amounts are cut off, above and below the base: stated, or as noise says."""
    limits = []
    for side, stated in ((1, total.most), (-1, total.least)):
        reach = max(int(law.highs[-1]) - base if side > 0 else base - int(law.lows[0]), 0)
        if stated is None:
            limits.append(_cut_off(law, counts, (side, reach), scale, base))
        else:
            number = abs(round(float(stated) * total.column.factor) - base)
            limits.append(min(max(number, 1), reach))
    return limits[0], limits[1]


def _cut_off(
    law: NumberLaw, counts: Floats, side: tuple[int, int], scale: float, base: int
) -> int:
    """Return the distance at which noise and what is cut off are least together."""
    sign, reach = side
    if reach <= 0:
        return 0

    def part(limit: float) -> float:
        ends = (limit, 0.0) if sign > 0 else (0.0, limit)
        return sign * float(counts @ _values(law, len(counts), ends, base))

    limits = np.unique(np.geomspace(1, reach, 60).round())
    whole = part(np.inf)
    costs = [_LOSS * (whole - part(limit)) + scale * limit for limit in limits.tolist()]
    return int(limits[int(np.argmin(costs))])


def _values(law: NumberLaw, size: int, limits: tuple[float, float], base: int) -> Floats:
    """Return the mean of each code less the base, cut off, and 0 for the kinds of missing."""
    means = law.means(most=base + limits[0], least=base - limits[1]) - base
    return np.append(means, np.zeros(size - len(means)))


def _sums(
    records: pd.DataFrame,
    schema: Schema,
    total: Total,
    limits: tuple[int, int],
    *,
    step: int,
    base: int,
) -> Integers:
    """Return sums in whole steps: a row a category, a column a side where there are two."""
    numbers, is_number = number_values(records[total.column.name], total.column)
    rows, size = np.zeros(len(numbers), np.int64), 1
    if total.by is not None:
        one = schema.column(total.by)
        rows, size = encode_column(records[total.by], one).astype(np.int64), one.size
    moved = np.where(is_number, numbers - base, 0)
    sums = np.zeros((size, 2), np.int64)
    for at, (side, limit) in enumerate(zip((1, -1), limits, strict=True)):
        np.add.at(sums[:, at], rows, np.clip(side * moved, 0, limit) // step)
    if all(limits):
        return sums
    return sums[:, 0] if limits[0] else -sums[:, 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Meeting:
    """A measured total, and what brings a model to it. No record is seen here."""

    law: NumberLaw
    limits: tuple[int, int]
    base: int
    sums: Floats
    scale: float
    cell_scale: float
    is_fitted: bool

    @property
    def whole_scale(self) -> float:
        """The scale of the noise of the sum over all categories."""
        return self.scale * math.sqrt(len(self.sums))

    def expected(self, counts: Floats, *, shift: float | None = None) -> float:
        """Return the total that a model expects."""
        return float(counts @ self.values(len(counts), shift=shift))

    def values(self, size: int, *, shift: float | None = None) -> Floats:
        """Return what a record of each code counts as on average."""
        law = self.law if shift is None else replace(self.law, shift=shift)
        return _values(law, size, self.limits, self.base)

    def goal(self, counts: Floats) -> float:
        """Return the mean of the measured total and of that of the cells, by their precisions.

        Cells may be off by their noise, and by where in a wide one the numbers lie.
        """
        law = self.law
        noise = self.cell_scale * self.values(len(counts))
        ends = np.clip(
            [law.lows, law.highs], self.base - self.limits[1], self.base + self.limits[0]
        )
        widths = counts[: len(law.lows)] * (ends[1] - ends[0]) * _WITHIN
        spread = math.hypot(float(np.linalg.norm(noise)), float(np.linalg.norm(widths)))
        total = float(self.sums.sum())
        return _shrunk(total, self.expected(counts), self.whole_scale, spread)

    def met(
        self, engine: CodeModel, place: int, counts: Floats, goal: float
    ) -> tuple[NumberLaw, CodeModel]:
        """Bring the laws within cells, and then the chances of cells, to a total."""
        expected = self.expected(counts)
        ratio = goal / expected if expected else 1.0
        is_near = 2 / 3 < ratio < 3 / 2
        law = self.law
        if self.is_fitted and not (is_near and isinstance(engine, TableModel)):
            law = replace(law, shift=self._shift(counts, goal, is_near=is_near))
        if isinstance(engine, TableModel):
            values = self.values(len(counts), shift=law.shift)
            rest = float(counts @ values)
            ends = sorted((rest / _FARTHEST, rest * _FARTHEST))
            goal = goal if all(self.limits) else min(max(goal, ends[0]), ends[1])
            if abs(rest - goal) > 1e-6 * abs(goal) and np.ptp(values) > 0:
                engine = engine.tilted(place, values, mean=goal / engine.records)
        return law, engine

    def _shift(self, counts: Floats, goal: float, *, is_near: bool) -> float:
        """Return the shift of exponents with which the cells come nearest to a total."""
        low, high = _NEAR_SHIFTS if is_near else _SHIFTS
        # Of amounts below the base a steeper law makes the total larger.
        sign = 1 if self.limits[0] else -1

        def miss(shift: float) -> float:
            return sign * (self.expected(counts, shift=shift) - goal)

        for end, is_beyond in ((low, miss(low) <= 0), (high, miss(high) >= 0)):
            if is_beyond:
                return end if miss(0.0) != miss(end) else 0.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if miss(middle) > 0 else (low, middle)
        return (low + high) / 2

    def met_by(self, engine: TableModel, place: int, by: int, goal: float) -> TableModel:
        """Bring each category to its total, as far as that stands out of its noise."""
        first, second = sorted((place, by))
        joint = engine.expected(first, second)
        joint = joint if by == first else joint.T  # a row a category
        values = self.values(joint.shape[1])
        expected = joint @ values
        if expected.sum():
            expected = expected * (goal / expected.sum())
        pairs = zip(self.sums.tolist(), expected.tolist(), strict=True)
        goals = np.array([_shrunk(m, e, self.scale, _PRIOR * abs(e)) for m, e in pairs])
        goals = goals if all(self.limits) else np.maximum(goals, 0.0)
        if goals.sum():
            goals = goals * (goal / goals.sum())
        return engine.tilted_by(place, by, values, totals=goals)

    def told(self, column: Numeric, counts: Floats, by: str | None) -> dict[str, Any]:
        """Return what is told of the measured total, in the unit of the column."""
        factor, low, high = (
            column.factor,
            self.base - self.limits[1],
            self.base + self.limits[0],
        )
        records = float(counts[: len(self.law.lows)].sum())
        total = float(self.sums.sum()) + self.base * records
        part = float(_beyond(self.law, counts)[1])
        is_noisy = self.whole_scale > _DOUBTFUL * abs(total)
        return {
            "total": total / factor,
            "scale": self.whole_scale / factor,
            "clipped_at": [low / factor, high / factor],
            "by": by,
            "is_doubtful": is_noisy or part > _DOUBTFUL,
        }


def _shrunk(measured: float, expected: float, scale: float, spread: float) -> float:
    """Return the mean of a measured total and of that of the model, by their precisions."""
    share = spread**2 / (spread**2 + scale**2) if spread else 1.0
    return share * measured + (1 - share) * expected


def _beyond(law: NumberLaw, counts: Floats) -> tuple[float, float]:
    """Return which share of the records and of the total lies beyond the last cells."""
    means = np.abs(law.means())
    some = counts[: len(means)]
    whole, share, part = max(float(means @ some), 1e-9), 0.0, 0.0
    for tail, cells in zip((law.upper, law.lower), law.beyond, strict=True):
        if tail is not None:
            number = float(some[cells].sum()) * tail.share_beyond()
            share += number / max(float(counts.sum()), 1e-9)
            part += number * tail.mean_beyond() / whole
    return share, min(part, 1.0)


def _told(column: Numeric, law: NumberLaw, counts: Floats) -> dict[str, Any]:
    """Return what is told of an amount: noisy figures and what follows from them alone."""
    share, part = _beyond(law, counts)
    edges = [None if t is None else t.beyond / column.factor for t in (law.lower, law.upper)]
    return {
        "column": column.name,
        "beyond_records": share,
        "beyond_total": part,
        "edges": edges,
        "is_doubtful": part > _DOUBTFUL,
    }


def warning_of(note: Mapping[str, Any]) -> Message | None:
    """Return what is to be said of an amount that is uncertain; None where nothing is."""
    if not note["is_doubtful"]:
        return None
    if note["beyond_total"] <= _DOUBTFUL:
        return Message(
            "{column!r}: the total of synthetic records is uncertain. The noise of the "
            "measured total, of scale {scale:,.0f}, is more than a quarter of it.",
            column=Name(note["column"]),
            scale=float(note["scale"]),
        )
    return Message(
        "{column!r}: the total of synthetic records is uncertain. {part:.0%} of it lies beyond "
        "the last cell that stands out of its noise, with {share:.2%} of the records.",
        column=Name(note["column"]),
        part=float(note["beyond_total"]),
        share=float(note["beyond_records"]),
    )


def require_sound(schema: Schema) -> None:
    """Refuse what contradicts itself in a schema, before any payment."""
    for column in schema.columns:
        if colliding(column):
            raise SchemaError(
                Message(
                    "Column {column!r}: two values differ in the form of their signs or in "
                    "spaces alone.",
                    column=Name(column.name),
                ),
                hint=Message("write them alike in the records, and declare one"),
            )
    for one in schema.amounts or ():
        column = schema.column(one.column)
        if isinstance(column, Numeric) and column.is_declared:
            low, high = column.bounds
            wrong = [("most", one.most)] * (high <= 0) + [("least", one.least)] * (low >= 0)
            for name, limit in wrong:
                if limit is not None:
                    raise SchemaError(
                        Message(
                            "The amount {column!r} is cut off at a {name} of the wrong sign: "
                            "its bounds have no number on that side of 0.",
                            column=Name(one.column),
                            name=Name(name),
                        ),
                        hint=Message("leave it out, or correct the bounds"),
                    )
