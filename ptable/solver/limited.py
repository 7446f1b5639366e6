"""From limits to whole keys: the least loss, then the greatest entropy near it, then integers.

The least loss is a linear program, solved by HiGHS; its multipliers bound it. Among all tables
that lose at most a hundredth more the one of greatest entropy is taken, by Clarabel, with a
margin to every limit. Sensitive rows are rounded down and others up, column by column within
the limits, and what a row then lacks is given to its likeliest noise. Exact arithmetic decides
whether the keys keep every limit; where they do not, the margin grows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from footing.messages import Message, Name, joined, said
from ptable.errors import InfeasibleError, InternalError
from ptable.proof.limits import allowed_loss, breaches_of, least_loss
from ptable.solver.joint import Joint
from ptable.solver.nearest import nearest_limits
from ptable.solver.reach import variance_bounds
from ptable.solver.statement import JointAnswer, JointStatement, Own
from ptable.solver.thresholds import mean_units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptable.design.spec import NoiseSpec
    from ptable.design.stack import StackedSpec
    from ptable.solver.row import RowProblem

_Float: TypeAlias = "NDArray[np.float64]"
_Units: TypeAlias = dict[int, dict[int, int]]

_KEY_RANGE = 2**32
#: Probabilities of a sensitive count below this become 0: a few keys could make it certain.
_RARE = 2.0**-20
#: A tail that holds less than this gets no key: rows are solved as far as they reach.
_NO_KEY = 1e-11
_MARGINS = (2e-5, 1e-4, 5e-4, 2.5e-3)
#: Of the allowance, what is left for the keys.
_KEPT = 2e-5
_MOST_ROUNDS = 6
#: So many keys a third noise value gets, at most one less, to mend sum and mean of a row.
_MANY = 12
#: How often a column is gone over, and by how much its floats are distrusted.
_ROUNDS = 3
_SURE = 1e-9
_STEP = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedTable:
    """A table by limits, and what proves it.

    Parameters
    ----------
    units
        The keys of each noise value, count by count.
    loss_multipliers, entropy_multipliers
        Per line of the two programs.
    least
        What the solver says is the least loss; None for entropy alone.
    margin
        What the limits were tightened by.
    budget
        The most that was lost; None for entropy alone.
    statuses
        What the solvers said.
    solver_entropy
        The entropy of the probabilities before they became keys.
    closed
        The entries that the second program left out.
    violation
        By how much somebody's own constraints are missed, at most.
    """

    units: _Units
    loss_multipliers: tuple[_Float, ...]
    entropy_multipliers: tuple[_Float, ...]
    least: float | None
    margin: float
    budget: float | None
    statuses: Mapping[str, str]
    solver_entropy: float
    closed: frozenset[tuple[int, int]]
    violation: float = 0.0


def solve_limited(joint: Joint, *, own: Own | None = None) -> LimitedTable:
    """Find the table that loses least within its limits."""
    _refuse_floor(joint)
    statuses: dict[str, str] = {}
    least: float | None = None
    budget: float | None = None
    prices: tuple[_Float, ...] = ()
    start: _Float | None = None
    if joint.costs is not None:
        stated = JointStatement.of(joint, own=own)
        answer = stated.solve()
        statuses["HiGHS" if stated.is_linear else "Clarabel"] = answer.status
        if not answer.is_solved:
            _refuse(joint, answer, own)
        least = float(stated.problem.value)
        prices = tuple(map(_cleaned, joint.lines(), answer.multipliers))
        bound = least if own is not None else float(least_loss(joint, prices) or 0)
        budget = allowed_loss(bound) * (1 - _KEPT) - _KEPT
        start = answer.values
    last: tuple[str, ...] = (Message("the limits leave no room for whole keys"),)
    closed = _beyond(joint, start)
    for margin in _MARGINS:
        tight = replace(joint, margin=margin, budget=budget)
        answer, tight = _spread(tight, closed, own)
        if not answer.is_solved and joint.costs is None and margin == _MARGINS[0]:
            _refuse(joint, answer, own)
        statuses["Clarabel"] = answer.status
        is_spread = answer.is_solved
        if not is_spread:
            tight = replace(joint, margin=margin)
            answer = JointStatement.of(tight, own=own).solve()
        if not answer.is_solved or answer.values is None:
            break
        try:
            units = _in_keys(tight, answer.values)
        except InternalError as error:  # another margin has other keys
            last = (said(error.problem.removesuffix(".")),)
            continue
        last = breaches_of(joint, units, _KEY_RANGE)
        if last:
            continue
        multipliers = tuple(map(_cleaned, tight.lines(), answer.multipliers))
        return LimitedTable(
            units=units,
            loss_multipliers=prices,
            entropy_multipliers=multipliers if is_spread else (),
            least=least,
            margin=margin,
            budget=budget if is_spread else None,
            statuses=statuses,
            solver_entropy=_entropy(answer.values[: len(tight.entries)]),
            closed=tight.closed,
            violation=_violation(joint, own, units),
        )
    raise InfeasibleError(
        Message("No whole keys keep every limit: {problems}.", problems=joined("; ", last[:3])),
        hint=Message("limits that are a little looser work"),
    )


def require_feasible(spec: NoiseSpec | StackedSpec) -> None:
    """Refuse limits that no table keeps, with the nearest ones; no table is built.

    Examples
    --------
    >>> from ptable import Limits, NoiseSpec
    >>> prior = [0.0, *(1 / (i * (i + 1)) for i in range(1, 40))]
    >>> limits = Limits(posterior=0.9, priors=(prior,))
    >>> require_feasible(NoiseSpec(max_noise=4, variance=3.0, limits=limits))
    """
    joint = Joint.of(spec)
    _refuse_floor(joint)
    if not JointStatement.of(joint).is_feasible():
        _refuse(joint, JointAnswer(status="infeasible"), None)


def _refuse_floor(joint: Joint) -> None:
    """Refuse a floor that a row cannot have, whatever the other limits."""
    lost = []
    greatest = Fraction(10**9)
    for row in joint.rows:
        ends = variance_bounds(row)
        if ends is not None and row.count > 0:
            greatest = min(greatest, ends[1].value)
            if joint.variance_limits(row)[0] > ends[1].value:
                lost.append((row.count, float(ends[1].value)))
    if lost and joint.limits.variance_floor is not None:
        count, most = lost[0]
        nearest = math.floor(float(greatest) / 1.001 * 1000) / 1000
        raise InfeasibleError(
            Message(
                "variance_floor is out of reach: the row of count {count} cannot vary by more "
                "than {most:.6g}.",
                count=count,
                most=most,
            ),
            hint=Message(
                "use a variance_floor of at most {nearest:g}, or one per row", nearest=nearest
            ),
        )
    _refuse_floor_above_ceiling(joint)


def _refuse_floor_above_ceiling(joint: Joint) -> None:
    """Refuse a floor that is above the ceiling of a row, where no row could have less."""
    if joint.limits.variance_floor is None:
        return
    for row in joint.rows:
        low, high = joint.variance_limits(row)
        if row.count > 0 and low > high:
            raise InfeasibleError(
                Message(
                    "variance_floor is {low:.6g}, above the ceiling of {high:.6g} of count "
                    "{count}.",
                    low=float(low),
                    high=float(high),
                    count=row.count,
                ),
                hint=Message(
                    "use a variance_floor of at most {high:.6g}, or a variance of at least "
                    "{low:.6g}",
                    high=float(high),
                    low=float(low),
                ),
            )


def _refuse(joint: Joint, answer: JointAnswer, own: Own | None) -> None:
    if "infeasible" not in answer.status and answer.status != "failed":
        raise InternalError(
            Message("The solver gave up: {status}.", status=Name(answer.status)),
            hint=Message("please report it together with the specification"),
        )
    ways = nearest_limits(joint, own=own)
    hint = (
        Message("one of these is enough, all else as it is: {ways}", ways=joined("; ", ways))
        if ways
        else Message(
            "no single limit is in the way: loosen several, or take a larger max_noise"
        )
    )
    raise InfeasibleError(Message("No p-table keeps all of these limits together."), hint=hint)


def _cleaned(line: object, prices: _Float) -> _Float:
    """Take the noise of floating point off: no price of an inequality is negative."""
    del_small = np.where(np.abs(prices) < 1e-13, 0.0, prices)
    return np.maximum(del_small, 0.0) if getattr(line, "relation", "") == "≤" else del_small


def _beyond(joint: Joint, values: _Float | None) -> frozenset[tuple[int, int]]:
    """Close tails that will hardly get a key: solvers stumble over them."""
    closed: set[tuple[int, int]] = set()
    at = {} if values is None else dict(zip(joint.entries, values.tolist(), strict=False))
    for row in joint.rows:
        variance = sum(at.get((row.count, row.count + v), 0.0) * v * v for v in row.noise)
        if values is None:
            variance = float(row.variance)
        reach = 4 + math.ceil(5 * math.sqrt(max(variance, 1.0)))
        closed |= {
            (row.count, row.count + v)
            for v in row.noise
            if abs(v) > reach and at.get((row.count, row.count + v), 0.0) < _NO_KEY
        }
        if row.floor:
            closed -= {(row.count, row.count + v) for v in row.noise}
    return frozenset(closed)


def _spread(
    joint: Joint, closed: frozenset[tuple[int, int]], own: Own | None
) -> tuple[JointAnswer, Joint]:
    """Find the greatest entropy, with tails as long as they have keys, and rare ones closed."""
    sensitive = set(joint.limits.sensitive or ())
    has_limits = bool(joint.limits.priors) or joint.limits.ratio is not None
    rare: set[tuple[int, int]] = set()
    for _ in range(_MOST_ROUNDS):
        trial = replace(joint, closed=closed)
        answer = JointStatement.of(trial, own=own).solve()
        if not answer.is_solved or answer.values is None:
            return answer, trial
        grown = _longer(trial, answer.values)
        rare |= {
            (i, j)
            for (i, j), p in zip(trial.entries, answer.values.tolist(), strict=False)
            if has_limits and i in sensitive and p < _RARE
        } - _floored(trial)
        after = frozenset((closed - grown) | rare)  # what was too rare stays closed
        if after == closed:
            break
        joint = replace(joint, closed=frozenset())
        closed = after
    return answer, trial


def _floored(joint: Joint) -> set[tuple[int, int]]:
    return {(row.count, row.count + v) for row in joint.rows if row.floor for v in row.noise}


def _longer(joint: Joint, values: _Float) -> set[tuple[int, int]]:
    """Name the closed entries next to ends that still have keys."""
    at = dict(zip(joint.entries, values.tolist(), strict=False))
    sensitive = set(joint.limits.sensitive or ())
    grown: set[tuple[int, int]] = set()
    for row in joint.rows:
        i = row.count
        there = [v for v in row.noise if (i, i + v) in at]
        needs = _RARE if i in sensitive else _NO_KEY
        for side in (1, -1):
            end = max((v * side for v in there), default=0)
            if at.get((i, i + end * side), 0.0) > needs:
                grown |= {(i, i + v) for v in row.noise if end < v * side <= end + _STEP}
    return grown & joint.closed


def _entropy(law: _Float) -> float:
    positive = law[law > 0]
    return -float(positive @ np.log(positive))


def _violation(joint: Joint, own: Own | None, units: _Units) -> float:
    if own is None:
        return 0.0
    stated = JointStatement.of(joint, own=own)
    shares = [units[i].get(j - i, 0) / _KEY_RANGE for i, j in joint.entries]
    return stated.violation(np.array(shares))


def _in_keys(joint: Joint, values: _Float) -> _Units:
    """Round sensitive rows down and others up, within the limits of each column."""
    sensitive = set(joint.limits.sensitive or ())
    units: _Units = {row.count: dict.fromkeys(row.noise, 0) for row in joint.rows}
    for (i, j), p in zip(joint.entries, values.tolist(), strict=False):
        share = max(p, 0.0) * _KEY_RANGE
        if i in sensitive:
            units[i][j - i] = math.floor(share)
        else:
            units[i][j - i] = math.ceil(share) if share > 0.01 else 0
    _cap(joint, units)
    _cap_ratio(joint, units)
    for row in reversed(joint.rows):  # what a count may have, the next one has already
        _mend_shape(row, units[row.count])
        _repair(joint, row, units)
    return units


def _cap(joint: Joint, units: _Units) -> None:
    """Lower what a sensitive row has in a column where a limit would be passed."""
    limits = joint.limits
    columns: dict[int, list[int]] = {}
    for i, j in joint.entries:
        if i > 0:
            columns.setdefault(j, []).append(i)
    inside = set(limits.sensitive or ())
    priors = [
        [joint.share(one, count) for count in range(joint.last + 1)]
        for one in range(len(limits.priors))
    ]
    for j, origins in columns.items():
        here = [i for i in origins if i in inside]
        for prior, _ in itertools.product(priors, range(_ROUNDS)):
            if limits.posterior is not None:
                for i in here:
                    _cap_column(joint, units, (j, origins, [i], prior), limits.posterior)
            if limits.posterior_set is not None and here:
                _cap_column(joint, units, (j, origins, here, prior), limits.posterior_set)


def _cap_ratio(joint: Joint, units: _Units) -> None:
    """Lower what a sensitive count has more than the next one allows."""
    ratio = joint.limits.ratio
    for i in sorted(joint.limits.sensitive or (), reverse=True) if ratio is not None else ():
        beside = min(i + 1, joint.last)
        for v in units[i]:
            other = units[beside].get(v - (beside - i), 0)
            units[i][v] = min(units[i][v], math.floor((ratio or 1) * other))


def _cap_column(
    joint: Joint,
    units: _Units,
    column: tuple[int, Sequence[int], Sequence[int], Sequence[float]],
    limit: float,
) -> None:
    """Scale some origins of a published count down to their posterior's limit."""
    j, origins, some, prior = column
    if limit >= 1:
        return
    others = math.fsum(prior[k] * units[k][j - k] for k in origins if k not in some)
    if joint.limits.zeros_in_prior and j == 0:
        others += prior[0] * _KEY_RANGE
    held = math.fsum(prior[i] * units[i][j - i] for i in some)
    most = limit / (1 - limit) * others * (1 - _SURE)
    if held > most:
        for i in some:
            units[i][j - i] = math.floor(units[i][j - i] * most / held)


def _mend_shape(row: RowProblem, keys: dict[int, int]) -> None:
    """Lower what rises or falls the wrong way by a few keys of rounding."""
    for low, high in reversed(row.rising_pairs):
        first, second = row.noise[low], row.noise[high]
        keys[first] = min(keys[first], keys[second])
    if row.symmetric:
        for v in row.noise:
            keys[v] = keys[-v] = min(keys[v], keys[-v])


def _repair(joint: Joint, row: RowProblem, units: _Units) -> None:
    """Give a row the keys it lacks, so that their sum and mean are exact."""
    keys = units[row.count]
    lacking = _KEY_RANGE - sum(keys.values())
    tilt = mean_units(row.mean, row.noise, total=_KEY_RANGE) - sum(
        n * v for v, n in keys.items()
    )
    if not lacking and not tilt:
        return
    low, high = joint.variance_limits(row)
    wants = Fraction(0)
    if low >= high:
        wants = (low + row.mean**2) * _KEY_RANGE - sum(n * v * v for v, n in keys.items())
    change = _change(joint, row, units, (lacking, tilt, wants if low >= high else None))
    for v, n in change.items():
        keys[v] += n


def _change(
    joint: Joint,
    row: RowProblem,
    units: _Units,
    lacks: tuple[int, int, Fraction | None],
) -> dict[int, int]:
    """Find few keys on likely noise that add up to what a row lacks."""
    keys = units[row.count]
    lacking, tilt, square = lacks
    if row.symmetric:
        widest = max(keys, key=lambda v: (keys[v], v))
        half = {widest: lacking // 2, -widest: lacking // 2}
        return {0: lacking} if 0 in keys else half
    heavy = _heavy(row, keys)
    best: tuple[float, dict[int, int]] | None = None
    for third, amount in _thirds(joint, row, units, heavy):
        rest = lacking - amount, tilt - amount * third
        for u, w in itertools.combinations(heavy, 2):
            x, left = divmod(rest[1] - u * rest[0], w - u)
            change = {u: rest[0] - x, w: x}
            change[third] = change.get(third, 0) + amount
            if left or any(keys[v] + n < 0 for v, n in change.items()):
                continue
            rank = _rank(row, keys, change, square)
            if best is None or rank < best[0]:
                best = rank, change
        if best is not None and amount == 0 and square is None:
            break
    if best is None:
        raise InternalError(Message("No integer thresholds keep a row's sum and mean."))
    return best[1]


def _heavy(row: RowProblem, keys: Mapping[int, int]) -> list[int]:
    """Choose the likeliest noise, which a few keys hardly change; three values at least."""
    held = row.p_stay is not None and row.p_stay_rule == "exact"
    ranked = [v for v in sorted(keys, key=lambda v: -keys[v]) if keys[v] and (v or not held)]
    heaviest = keys[ranked[0]]
    return sorted(v for k, v in enumerate(ranked) if k < 4 or keys[v] * 64 >= heaviest)


def _rank(
    row: RowProblem, keys: Mapping[int, int], change: Mapping[int, int], square: Fraction | None
) -> float:
    """Say how much a change disturbs: keys in relation, variance where it is met, shape."""
    size = max(abs(n) / max(keys[v], 1) for v, n in change.items())
    if square is not None:
        size += abs(sum(n * v * v for v, n in change.items()) - float(square)) * 1e-6
    return size + _falls(row, keys, change)


def _falls(row: RowProblem, keys: Mapping[int, int], change: Mapping[int, int]) -> int:
    """Count the keys by which a changed row breaks its shape."""
    after = [keys[v] + change.get(v, 0) for v in row.noise]
    return sum(max(after[low] - after[high] - 4, 0) for low, high in row.rising_pairs)


def _thirds(
    joint: Joint, row: RowProblem, units: _Units, heavy: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Offer a third noise value with a few keys, best where other rows have many."""
    yield heavy[0], 0
    crowd = {
        v: sum(
            units[k].get(row.count + v - k, 0)
            for k in range(max(1, row.count - 60), min(joint.last, row.count + 60) + 1)
            if k != row.count and k in units
        )
        for v in row.noise
        if not (row.p_stay is not None and row.p_stay_rule == "exact" and v == 0)
    }
    room = dict.fromkeys(crowd, _MANY)
    if joint.limits.ratio is not None and row.count in (joint.limits.sensitive or ()):
        beside = units.get(row.count + 1, {})
        for v in crowd:  # what the next count allows this one
            most = math.floor(joint.limits.ratio * beside.get(v - 1, 0))
            room[v] = most - units[row.count][v]
        crowd = {v: n for v, n in crowd.items() if room[v] > 0}
    for v in sorted(crowd, key=lambda v: -crowd[v])[:6]:
        for amount in range(1, min(_MANY, room[v] + 1)):
            yield v, amount
            if units[row.count][v] > amount:
                yield v, -amount
