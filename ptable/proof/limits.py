"""What a table by limits is held against: the limits themselves, in fractions, and two bounds.

Nothing here asks a solver. Whole numbers of keys are exact probabilities, and priors are taken
as the binary fractions that they are. The least loss is bounded from below by weak duality: any
multipliers do, those of inequalities not negative, since every row sums to one and every
auxiliary lies in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from footing.messages import Message, Name
from footing.serialisation import set_fields, tuples
from ptable.solver.integer.rounding import exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptable.solver.joint import Joint

Units: TypeAlias = "Mapping[int, Mapping[int, int]]"
#: Per line the places and sizes of the multipliers that are not 0.
Sparse: TypeAlias = "tuple[tuple[tuple[int, float], ...], ...]"
_Multipliers: TypeAlias = "Sequence[NDArray[np.float64]]"

#: Where floor and ceiling of a variance are one, keys meet it to this share of ``max_noise²``.
MET = Fraction(1, 10**6)
#: How far a shape may be off, in keys, as for tables by rows.
_MAX_UNITS = 8
#: What a table may lose, of the least there is; where that is little, so much more.
_ALLOWANCE = 1.01
_SMALL_LOSS = 1e-3
_GAP = 1e-6
#: What whole keys may change in the entropy of all rows.
_KEYS_COST = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """The worst that a table has of one limit.

    Parameters
    ----------
    name
        The limit, as `Limits` calls it.
    value, limit
        What is reached, and what is allowed, exactly.
    is_met
        Whether the limit holds.
    """

    name: str
    value: Fraction
    limit: Fraction
    is_met: bool


def worst_of(joint: Joint, units: Units, total: int) -> tuple[Worst, ...]:
    """Compute what a table reaches of each limit, from its whole numbers of keys."""
    return tuple(_worst(joint, units, total))


def _worst(joint: Joint, units: Units, total: int) -> Iterator[Worst]:
    limits = joint.limits
    columns = _columns(joint, units)
    counts = range(joint.last + 1)
    priors = [
        [Fraction(joint.share(one, count)) for count in counts]
        for one in range(len(limits.priors))
    ]
    sensitive = limits.sensitive or ()
    sets = [(i,) for i in sensitive]
    for name, some in (("posterior", sets), ("posterior_set", [sensitive])):
        limit = getattr(limits, name)
        if limit is not None:
            value = max(
                (
                    _posterior(prior, column, one, zeros=limits.zeros_in_prior)
                    for prior in priors
                    for column in columns.values()
                    for one in some
                ),
                default=Fraction(0),
            )
            yield _at_most(name, value, exact(limit))
    for group, most in limits.guesses:
        value = max(_guess(prior, columns, group, total) for prior in priors)
        span = "" if group == sensitive else f" {group[0]}-{group[-1]}"
        yield _at_most(f"best_guess{span}", value, exact(most))
    if limits.ratio is not None:
        yield _at_most("ratio", _ratio(joint, units, sensitive), exact(limits.ratio))
    if limits.neighbours is not None:
        epsilon, delta = limits.neighbours
        value = Fraction(0)
        factor = below_exp(epsilon)
        for i, k in joint.pairs:
            here, there = _law(joint, units, i), _law(joint, units, k)
            excess = (n - factor * there.get(j, 0) for j, n in here.items())
            value = max(value, sum((x for x in excess if x > 0), Fraction(0)) / total)
        yield _at_most("neighbours", value, exact(delta))
    yield from _row_limits(joint, units, total)


def _at_most(name: str, value: Fraction, limit: Fraction) -> Worst:
    return Worst(name=name, value=value, limit=limit, is_met=value <= limit)


def _columns(joint: Joint, units: Units) -> dict[int, dict[int, int]]:
    """Give the keys of each published count by the count they stem from, zeros included."""
    columns: dict[int, dict[int, int]] = {}
    for i, row in units.items():
        for v, n in row.items():
            if n:
                columns.setdefault(i + v, {})[i] = n
    furthest = max(joint.limits.sensitive or (0,)) + max(
        max(map(abs, row.noise)) for row in joint.rows
    )
    return {j: column for j, column in columns.items() if j <= furthest}


def _posterior(
    prior: Sequence[Fraction], column: Mapping[int, int], some: Sequence[int], *, zeros: bool
) -> Fraction:
    """Give the probability of some counts given a published one; 0 where nobody has it."""
    inside = sum((prior[i] * column[i] for i in some if i in column), Fraction(0))
    total = sum((prior[k] * n for k, n in column.items() if k > 0 or zeros), Fraction(0))
    return inside / total if total else Fraction(0)


def _guess(
    prior: Sequence[Fraction],
    columns: Mapping[int, Mapping[int, int]],
    sensitive: Sequence[int],
    total: int,
) -> Fraction:
    hits = (
        max((prior[i] * column[i] for i in sensitive if i in column), default=Fraction(0))
        for column in columns.values()
    )
    return sum(hits, Fraction(0)) / total / sum((prior[i] for i in sensitive), Fraction(0))


def _law(joint: Joint, units: Units, count: int) -> dict[int, int]:
    """Give the keys of a count by published count; the one after the last is a shifted row."""
    beyond = max(count - joint.last, 0)
    return {count + v: n for v, n in units[count - beyond].items()}


def _ratio(joint: Joint, units: Units, sensitive: Sequence[int]) -> Fraction:
    worst = Fraction(0)
    for i in sensitive:
        there = _law(joint, units, i + 1)
        for j, n in _law(joint, units, i).items():
            if n:
                beside = there.get(j, 0)
                worst = max(worst, Fraction(n, beside) if beside else Fraction(10**9))
    return worst


def _row_limits(joint: Joint, units: Units, total: int) -> Iterator[Worst]:
    """Judge each row alone; of each limit the row that is nearest to it speaks for all."""
    found: dict[str, list[tuple[Fraction, Worst]]] = {}
    for row in joint.rows:
        keys = units[row.count]
        low, high = joint.variance_limits(row)
        room = MET * max(map(abs, row.noise)) ** 2 if low >= high else Fraction(0)
        mean = Fraction(sum(n * v for v, n in keys.items()), total)
        variance = Fraction(sum(n * v * v for v, n in keys.items()), total) - mean**2
        stay = Fraction(keys.get(0, 0), total)
        if row.count == 0:
            continue
        found.setdefault("variance_floor", []).append(
            (
                variance - low,
                Worst(
                    name="variance_floor",
                    value=variance,
                    limit=low,
                    is_met=variance >= low - room,
                ),
            )
        )
        found.setdefault("variance_ceiling", []).append(
            (
                high - variance,
                Worst(
                    name="variance_ceiling",
                    value=variance,
                    limit=high,
                    is_met=variance <= high + room,
                ),
            )
        )
        if row.p_stay is not None:
            rule = row.p_stay_rule
            gap = stay - row.p_stay if rule == "at-least" else row.p_stay - stay
            close = abs(gap) * total <= 1
            is_met = gap >= 0 if rule != "exact" else close
            found.setdefault("p_stay", []).append(
                (gap, Worst(name="p_stay", value=stay, limit=row.p_stay, is_met=is_met))
            )
    for ranked in found.values():
        broken = [one for one in ranked if not one[1].is_met]
        yield min(broken or ranked, key=lambda one: one[0])[1]


def breaches_of(joint: Joint, units: Units, total: int) -> tuple[str, ...]:
    """Name the limits that a table breaks, and what it does against its rows."""
    problems: list[str] = [
        Message(
            "{name} is {value:.9g}, beyond {limit:.9g}",
            name=Name(one.name),
            value=float(one.value),
            limit=float(one.limit),
        )
        for one in worst_of(joint, units, total)
        if not one.is_met
    ]
    for row in joint.rows:
        keys = units[row.count]
        if not set(keys) <= set(row.noise) or sum(keys.values()) != total:
            problems.append(
                Message("the noise of count {count} is out of reach", count=row.count)
            )
        goal = Fraction(row.mean) * total
        if abs(sum(n * v for v, n in keys.items()) - goal) > (1 if row.mean else 0):
            problems.append(Message("the bias of count {count} is not 0", count=row.count))
        ordered = [keys.get(v, 0) for v in row.noise]
        if any(ordered[low] - ordered[high] > _MAX_UNITS for low, high in row.rising_pairs):
            problems.append(
                Message("the shape of count {count} is not the one asked for", count=row.count)
            )
    return tuple(problems)


def loss_of(joint: Joint, units: Units, total: int) -> Fraction:
    """Compute what a table loses, of entropy its negative."""
    if joint.costs is None:
        return Fraction(-entropy_of(units, total))
    if joint.objective == "distance-to":
        sums: list[Fraction] = []
        for row in joint.rows:
            if row.count:
                keys = units[row.count]
                distance = sum(
                    (
                        abs(
                            Fraction(keys.get(v, 0), total)
                            - Fraction(joint.target.get((row.count, row.count + v), 0.0))
                        )
                        for v in row.noise
                    ),
                    Fraction(0),
                )
                sums.append(Fraction(joint.weights[row.count]) / 2 * distance)
        return sum(sums, Fraction(0))
    costs = joint.costs
    return (
        sum(
            (
                Fraction(float(costs[place])) * units[i].get(j - i, 0)
                for (i, j), place in joint.place.items()
            ),
            Fraction(0),
        )
        / total
    )


def entropy_of(units: Units, total: int) -> float:
    """Sum the entropies of all rows, in nats."""
    return -math.fsum(
        n / total * math.log(n / total) for row in units.values() for n in row.values() if n
    )


def reduced_costs(
    joint: Joint, multipliers: _Multipliers
) -> tuple[list[Fraction], Fraction] | None:
    """Give what each unknown costs at the multipliers, and the goals' worth, exactly.

    That a row sums to one is left out: it is used by whoever takes the least of a row. None
    where the multipliers do not fit, or one of an inequality is negative.
    """
    lines = list(joint.lines())
    if len(lines) != len(multipliers):
        return None
    # Multipliers are taken in units of 2**-60, weights and costs so that products are exact.
    scale = 2**200
    costs = [0] * joint.size if joint.costs is None else [_whole(c, 200) for c in joint.costs]
    worth = 0
    for line, prices in zip(lines, multipliers, strict=True):
        if len(prices) != len(line.goal) or not np.isfinite(prices).all():
            return None
        if line.relation == "≤" and (prices < 0).any():
            return None
        if line.name == "distribution":
            continue
        whole = [_whole(price, 60) for price in prices]
        for row, place, weight in zip(
            line.row.tolist(), line.place.tolist(), line.weight.tolist(), strict=True
        ):
            if whole[row]:
                costs[place] += whole[row] * _whole(weight, 140)
        worth += sum(
            price * _whole(goal, 140)
            for price, goal in zip(whole, line.goal.tolist(), strict=True)
            if price
        )
    return [Fraction(cost, scale) for cost in costs], Fraction(worth, scale)


def _whole(number: float, bits: int) -> int:
    """Give a float in units of ``2**-bits``: exactly, but below 2**-140 nothing is told."""
    return math.floor(math.ldexp(number, bits)) if math.isfinite(number) else 0


def least_loss(joint: Joint, multipliers: _Multipliers) -> Fraction | None:
    """Bound from below what every table within the limits loses, by weak duality."""
    priced = reduced_costs(joint, multipliers)
    if priced is None:
        return None
    costs, worth = priced
    least: dict[int, Fraction] = {}
    for (i, _), cost in zip(joint.entries, costs, strict=False):
        least[i] = min(cost, least.get(i, cost))
    auxiliaries = costs[len(joint.entries) :]
    bound = sum(least.values(), -worth)
    return bound + sum((cost for cost in auxiliaries if cost < 0), Fraction(0))


def greatest_entropy(joint: Joint, multipliers: _Multipliers) -> float:
    """Bound from above the entropy of every table within the limits, by weak duality."""
    without = _Free(joint)
    priced = reduced_costs(without, multipliers)  # type: ignore[arg-type]
    if priced is None:
        return math.inf
    costs, worth = [float(cost) for cost in priced[0]], float(priced[1])
    rows: dict[int, list[float]] = {}
    for (i, _), cost in zip(joint.entries, costs, strict=False):
        rows.setdefault(i, []).append(-cost)
    sums = [
        (top := max(scores)) + math.log(math.fsum(math.exp(score - top) for score in scores))
        for scores in rows.values()
    ]
    auxiliaries = (max(0.0, -cost) for cost in costs[len(joint.entries) :])
    return worth + math.fsum(sums) + math.fsum(auxiliaries)


class _Free:
    """A design whose unknowns cost nothing by themselves."""

    def __init__(self, joint: Joint) -> None:
        self.joint, self.costs = joint, None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.joint, name)


def below_exp(epsilon: float) -> Fraction:
    """Give a fraction that is not above ``e^ε``, by less than a part in 10**30."""
    with localcontext() as context:
        context.prec, context.rounding = 40, ROUND_FLOOR
        value = Decimal(repr(epsilon)).exp() * (1 - Decimal("1e-35"))
    return Fraction(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsCertificate:
    """What proves that a table keeps its limits and that none within them loses much less.

    Parameters
    ----------
    objective
        What was sought.
    loss
        What the keys lose, weighted by the first prior; of entropy its negative.
    bound
        What every table within the limits loses at least, recomputed from `loss_multipliers`;
        None where entropy alone is sought, or somebody's own constraints play a part.
    least
        The least loss as the solver said.
    worst
        Of each limit its name, what the keys reach and what is allowed.
    margin
        By which part limits were tightened, so that whole keys keep them.
    budget
        The most that the table of greatest entropy was allowed to lose.
    entropy, entropy_bound, solver_entropy
        Of the keys; the most of any table with these margins, budget and tails, recomputed
        from `entropy_multipliers`, None where a table of least loss was taken as it is; and of
        the probabilities before they became keys.
    loss_multipliers, entropy_multipliers
        Per line of the two programs the places and sizes of its multipliers.
    kept
        Per count the runs of published counts that the second program had.
    own
        What somebody said of constraints of his own; nothing where there are none. They are
        not recomputed from a file.
    violation
        By how much keys missed these when the table was built.
    """

    objective: str
    loss: float
    bound: float | None
    least: float | None
    worst: tuple[tuple[str, float, float], ...]
    margin: float
    budget: float | None
    entropy: float
    entropy_bound: float | None
    solver_entropy: float
    loss_multipliers: Sparse
    entropy_multipliers: Sparse
    kept: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    own: str = ""
    violation: float = 0.0

    @property
    def binding(self) -> tuple[str, ...]:
        """The limits that the table reaches to within a thousandth."""
        return tuple(
            name for name, value, limit in self.worst if limit and abs(value / limit - 1) < 1e-3
        )

    def lines(self) -> tuple[Message, ...]:
        """Say in words what is proved."""
        told = [
            Message(
                "{name}: {value:.6g}, limit {limit:.6g}",
                name=Name(name),
                value=value,
                limit=limit,
            )
            for name, value, limit in self.worst
        ]
        if self.bound is not None:
            told.append(
                Message(
                    "loses {loss:.6g}; no table within these limits loses less than "
                    "{bound:.6g} (weak duality)",
                    loss=self.loss,
                    bound=self.bound,
                )
            )
        if self.own:
            told.append(
                Message(
                    "own constraints: {words}; kept to within {violation:.1e} when it was made",
                    words=Name(self.own),
                    violation=self.violation,
                )
            )
        told.append(
            Message("another solver may find another table: keep the file, it is the design")
        )
        return tuple(told)

    def to_dict(self) -> dict[str, Any]:
        """Give the fields as plain values."""
        return set_fields(self)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> LimitsCertificate:
        """Build it from plain values."""
        deep = {
            name: tuples(given[name])
            for name in ("worst", "loss_multipliers", "entropy_multipliers", "kept")
        }
        return cls(**{**given, **deep})

    def again(self, joint: Joint, units: Units, total: int) -> LimitsCertificate:
        """Compute every figure anew from the keys and the multipliers."""
        bound: float | None = None
        if joint.costs is not None and not self.own:
            exactly = least_loss(joint, _dense(joint, self.loss_multipliers))
            bound = -math.inf if exactly is None else float(exactly)
        second = replace(
            joint,
            margin=self.margin,
            budget=self.budget,
            closed=_closed(joint, self.kept),
        )
        return replace(
            self,
            objective=joint.objective,
            loss=float(loss_of(joint, units, total)),
            bound=bound,
            worst=tuple(
                (one.name, float(one.value), float(one.limit))
                for one in worst_of(joint, units, total)
            ),
            entropy=entropy_of(units, total),
            entropy_bound=self._entropy_bound(second),
        )

    def _entropy_bound(self, joint: Joint) -> float | None:
        if not self.entropy_multipliers:
            return None
        return greatest_entropy(joint, _dense(joint, self.entropy_multipliers))

    def failures(self, joint: Joint, units: Units, total: int) -> list[str]:
        """Name what does not hold: a limit, or a bound that is too far away."""
        problems = list(breaches_of(joint, units, total))
        if self.bound is not None and self.least is not None:
            if not self.least - self.bound <= _GAP * max(1.0, abs(self.least)):
                problems.append(Message("the bound of the least loss is too far from it"))
            if not self.loss <= allowed_loss(self.bound):
                problems.append(Message("the loss is more than a hundredth above its bound"))
        most = _GAP * max(1.0, abs(self.solver_entropy))
        bound = self.entropy_bound
        if not (self.own or bound is None) and not bound - self.solver_entropy <= most:
            problems.append(Message("the bound of the entropy is too far from it"))
        if not abs(self.entropy - self.solver_entropy) <= _KEYS_COST:
            problems.append(Message("the keys are not those of the greatest entropy"))
        return problems


def allowed_loss(least: float) -> float:
    """Give the most that a table of greatest entropy may lose: a hundredth more."""
    return max(_ALLOWANCE * least, least + _SMALL_LOSS)


def sparse(multipliers: _Multipliers) -> Sparse:
    """Keep the multipliers that are not 0, with their places."""
    return tuple(
        tuple((int(place), float(prices[place])) for place in np.flatnonzero(prices))
        for prices in multipliers
    )


def kept_of(joint: Joint) -> tuple[tuple[int, tuple[tuple[int, int], ...]], ...]:
    """Give per count the runs of published counts among the unknowns."""
    runs: dict[int, list[tuple[int, int]]] = {}
    for i, j in joint.entries:
        row = runs.setdefault(i, [])
        if row and row[-1][1] == j - 1:
            row[-1] = row[-1][0], j
        else:
            row.append((j, j))
    return tuple((i, tuple(row)) for i, row in runs.items())


def _closed(
    joint: Joint, kept: Sequence[tuple[int, Sequence[tuple[int, int]]]]
) -> frozenset[tuple[int, int]]:
    known = {(i, j) for i, runs in kept for low, high in runs for j in range(low, high + 1)}
    return frozenset(entry for entry in joint.entries if entry not in known)


def _dense(joint: Joint, multipliers: Sparse) -> list[NDArray[np.float64]]:
    dense = []
    for line, entries in zip(joint.lines(), multipliers, strict=False):
        prices = np.zeros(len(line.goal))
        for place, price in entries:
            if not 0 <= place < len(prices):
                return []
            prices[place] = price
        dense.append(prices)
    return dense
