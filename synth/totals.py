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
    """A model with the laws of its numbers, what totals cost, and what is told of each amount."""

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
    if method not in ("tables", "histogram", "copula"):
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
            one for one in schema.columns
            if isinstance(one, (Whole, Real)) and one.name != schema.weight and one.is_found_wide
        ]  # fmt: skip
        return [Total(column=one, share=WIDE_SHARE) for one in wide]
    totals = []
    for one in schema.amounts:
        column = schema.column(one.column)
        if isinstance(column, Numeric):
            more = {"most": one.most, "least": one.least, "by": one.by}
            totals.append(Total(column=column, share=AMOUNT_SHARE, **more))
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
                plan.notes.append(_told(column, law, counts, None, None))
    return plan


def _expected(engine: CodeModel, records: float) -> Callable[[int], Floats]:
    """Return what gives the counts that a model expects of the codes of a column."""
    from synth.baselines.engines import CopulaModel

    if isinstance(engine, TableModel):
        return lambda place: engine.records * engine.chances(place)
    sizes = engine.sizes
    drawn: list[Any] = []

    def of(place: int) -> Floats:
        if isinstance(engine, CopulaModel):
            shares = np.diff(np.append(0.0, engine.margins[place].cumulative))
            return np.asarray(shares * engine.records)
        if not drawn:
            drawn.append(engine.sample(_DRAWN, rng=np.random.default_rng(0)))
        return np.bincount(drawn[0][:, place], minlength=sizes[place]) * records / _DRAWN

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
    place, base = names.index(column.name), _base(column)
    law = plan.laws.get(column.name) or _plain(column)
    is_fitted = column.law == "fitted"
    law = replace(law, lows=law.lows - base, highs=law.highs - base)
    counts = plan.expected()(place)
    size = law.lows.size
    unit_scale = neighbours.counting(rho).scale
    limits = _limits(total, law, counts[:size], unit_scale, base)
    step = -(-max(limits) // _MOST)
    how = neighbours.counting(rho, most=max(max(limits) // step, 1))
    by = None if total.by is None else names.index(total.by)
    sums = _sums(records, schema, total, limits=limits, step=step, base=base)
    noisy = noise.add(sums, how) * step
    columns = (place,) if by is None else (place, by)
    plan.calls += calls_of([Spend.of("total", how, columns=columns)], names)
    scale = how.scale * step
    measured = noisy if noisy.ndim == 1 else noisy[:, 0] - noisy[:, 1]
    is_signed = noisy.ndim == 2 and noisy.shape[1] == 2
    values = _whole_means(law, counts, limits)
    if is_signed:
        scale *= math.sqrt(2)
    whole = float(measured.sum())
    whole_scale = scale * math.sqrt(len(measured))
    spread = _spread(law, counts[:size], limits, _scale(plan.engine, place) or 0.0)
    goal = _shrunk(whole, float(counts @ values), whole_scale, spread)
    law, engine = _met(plan.engine, place, law, counts, goal, limits, is_fitted=is_fitted)
    if by is not None and isinstance(engine, TableModel):
        engine = _met_by(engine, place, by, law, measured, goal, scale, limits)
    law = replace(law, lows=law.lows + base, highs=law.highs + base)
    plan.engine = engine
    if is_fitted:
        plan.laws[column.name] = law
    counts = plan.expected()(place)
    plan.notes.append(
        _told(column, law, counts, whole, whole_scale, limits=limits, by=total.by, base=base)
    )


def _plain(column: Numeric) -> NumberLaw:
    """Return the law of a column whose numbers are drawn as its declaration says."""
    low, high = np.array(column.grid.cells(), np.int64).T
    if column.law in ("middle", "lowest"):
        low = high = low + (high - low) // 2 if column.law == "middle" else low
    return NumberLaw(lows=low, highs=high, exponents=np.zeros(len(low)))


def _base(column: Numeric) -> int:
    """Return the number nearest to zero within the bounds, from which amounts count."""
    low, high = column.bounds
    return int(min(max(low, 0), high))


def _limits(
    total: Total, law: NumberLaw, counts: Floats, scale: float, base: int
) -> tuple[int, int]:
    """Return where amounts are cut off, above and below the base: as stated, or as noise says."""
    stated = (total.most, total.least)
    limits = []
    for side, limit in zip((1, -1), stated, strict=True):
        reach = max(int(law.highs[-1]) if side > 0 else -int(law.lows[0]), 0)
        if limit is not None:
            number = abs(round(float(limit) * total.column.factor) - base)
            limits.append(min(max(number, 1), reach) if reach else 0)
        else:
            limits.append(_cut_off(law, counts, side, reach, scale))
    return limits[0], limits[1]


def _cut_off(law: NumberLaw, counts: Floats, side: int, reach: int, scale: float) -> int:
    """Return the distance at which noise and what is cut off are least together."""
    if reach <= 0:
        return 0
    limits = np.unique(np.geomspace(1, reach, 60).round())
    is_side = law.sides != -side
    whole = float((side * law.means()[is_side]) @ counts[is_side])
    costs = []
    for limit in limits.tolist():
        most, least = (limit, -np.inf) if side > 0 else (np.inf, -limit)
        part = float((side * law.means(most=most, least=least)[is_side]) @ counts[is_side])
        costs.append(_LOSS * (whole - part) + scale * limit)
    return int(limits[int(np.argmin(costs))])


def _sums(
    records: pd.DataFrame, schema: Schema, total: Total, *,
    limits: tuple[int, int], step: int, base: int,
) -> Integers:  # fmt: skip
    """Return the sums of amounts in whole steps: a row a category, a column a side of the base."""
    numbers, is_number = number_values(records[total.column.name], total.column)
    rows, size = np.zeros(len(numbers), np.int64), 1
    if total.by is not None:
        one = schema.column(total.by)
        rows, size = encode_column(records[total.by], one).astype(np.int64), one.size
    moved = np.where(is_number, numbers - base, 0)
    sides = [s for s, limit in zip((1, -1), limits, strict=True) if limit] or [1]
    sums = np.zeros((size, len(sides)), np.int64)
    for at, side in enumerate(sides):
        limit = limits[0] if side > 0 else limits[1]
        np.add.at(sums[:, at], rows, np.clip(side * moved, 0, limit) // step)
    return sums[:, 0] * (1 if sides == [1] else 1) if len(sides) == 1 else sums


def _whole_means(law: NumberLaw, counts: Floats, limits: tuple[int, int]) -> Floats:
    """Return the mean of each code, cut off, 0 for the kinds of missing."""
    means = law.means(most=limits[0], least=-limits[1])
    only_below = limits[0] == 0 and limits[1] > 0
    means = -means if only_below else means
    return np.append(means, np.zeros(len(counts) - len(means)))


def _spread(law: NumberLaw, counts: Floats, limits: tuple[int, int], scale: float) -> float:
    """Return how far off the total of the cells may be: by their noise, and by their width."""
    most, least = limits[0], -limits[1]
    noise = scale * law.means(most=most, least=least)
    ends = (np.clip(end, least, most) for end in (law.lows, law.highs))
    widths = counts * np.subtract(*ends) * _WITHIN
    return float(math.hypot(np.linalg.norm(noise), np.linalg.norm(widths)))


def _shrunk(measured: float, expected: float, scale: float, spread: float) -> float:
    """Return the mean of a measured total and of that of the model, by their precisions."""
    share = spread**2 / (spread**2 + scale**2) if spread else 1.0
    return share * measured + (1 - share) * expected


def _met(
    engine: CodeModel, place: int, law: NumberLaw, counts: Floats, goal: float,
    limits: tuple[int, int], *, is_fitted: bool,
) -> tuple[NumberLaw, CodeModel]:  # fmt: skip
    """Bring the laws within cells, and then the chances of cells, to a total."""
    expected = float(counts @ _whole_means(law, counts, limits))
    ratio = goal / expected if expected > 0 else 1.0
    is_near = 2 / 3 < ratio < 3 / 2
    if is_fitted and not (is_near and isinstance(engine, TableModel)):
        ends = _NEAR_SHIFTS if is_near else _SHIFTS
        law = replace(law, shift=_shift_for(law, counts, goal, limits, ends))
    if isinstance(engine, TableModel):
        values = _whole_means(law, counts, limits)
        rest = float(counts @ values)
        if expected > 0:  # beyond that noise would have to be met
            goal = min(max(goal, rest / _FARTHEST), rest * _FARTHEST)
        if abs(rest - goal) > 1e-6 * abs(goal) and np.ptp(values) > 0:
            engine = engine.tilted(place, values, mean=goal / engine.records)
    return law, engine


def _shift_for(
    law: NumberLaw,
    counts: Floats,
    goal: float,
    limits: tuple[int, int],
    ends: tuple[float, float],
) -> float:
    """Return the shift of exponents with which the cells come nearest to a total."""
    low, high = ends

    def miss(shift: float) -> float:
        return float(counts @ _whole_means(replace(law, shift=shift), counts, limits)) - goal

    if miss(low) <= 0:
        return low if miss(0.0) != miss(low) else 0.0
    if miss(high) >= 0:
        return high if miss(0.0) != miss(high) else 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if miss(middle) > 0 else (low, middle)
    return (low + high) / 2


def _met_by(
    engine: TableModel, place: int, by: int, law: NumberLaw, measured: Floats,
    goal: float, scale: float, limits: tuple[int, int],
) -> TableModel:  # fmt: skip
    """Bring each category to its total, as far as that stands out of its noise."""
    first, second = sorted((place, by))
    joint = engine.expected(first, second)
    joint = joint if by == first else joint.T  # a row a category
    values = _whole_means(law, joint[0], limits)
    expected = joint @ values
    expected = expected * (goal / expected.sum()) if expected.sum() > 0 else expected
    goals = np.array([
        _shrunk(float(m), float(e), scale, _PRIOR * float(e)) for m, e in zip(measured, expected, strict=True)
    ])  # fmt: skip
    goals = np.maximum(goals, 0.0)
    goals *= goal / goals.sum() if goals.sum() > 0 else 1.0
    return engine.tilted_by(place, by, values, totals=goals)


def _told(
    column: Numeric, law: NumberLaw, counts: Floats, measured: float | None, scale: float | None,
    *, limits: tuple[int, int] = (0, 0), by: str | None = None, base: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Return what is told of an amount: noisy figures and what follows from them alone."""
    means = np.abs(law.means())
    size = len(means)
    whole = max(float(means @ counts[:size]), 1e-9)
    share = part = 0.0
    for tail, cells in zip((law.upper, law.lower), law.beyond, strict=True):
        if tail is not None:
            number = float(counts[:size][cells].sum()) * tail.share_beyond()
            share += number / max(float(counts.sum()), 1e-9)
            part += number * tail.mean_beyond() / whole
    factor = column.factor
    note: dict[str, Any] = {
        "column": column.name, "beyond_records": share, "beyond_total": part,
        "edges": [None if t is None else t.beyond / factor for t in (law.lower, law.upper)],
    }  # fmt: skip
    doubts = [part > _DOUBTFUL]
    sign = -1 if limits[1] and not limits[0] else 1
    if measured is not None and scale is not None:
        note |= {
            "clipped_at": [-limits[1] / factor, limits[0] / factor], "base": base / factor,
            "total": measured * sign / factor, "scale": scale / factor, "by": by,
        }  # fmt: skip
        doubts.append(scale > _DOUBTFUL * abs(measured))
    return note | {"is_doubtful": any(doubts)}


def warning_of(note: Mapping[str, Any]) -> Message | None:
    """Return what is to be said of an amount that is uncertain; None where nothing is."""
    if not note["is_doubtful"]:
        return None
    if note["beyond_total"] <= _DOUBTFUL:
        return Message(
            "{column!r}: the total of synthetic records is uncertain. The noise of the measured "
            "total, of scale {scale:,.0f}, is more than a quarter of it.",
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
                    "Column {column!r}: two values differ in the form of their signs or in spaces "
                    "alone.",
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
                            "The amount {column!r} is cut off at a {name} of the wrong sign: its "
                            "bounds have no number on that side of 0.",
                            column=Name(one.column),
                            name=Name(name),
                        ),
                        hint=Message("leave it out, or correct the bounds"),
                    )
