"""Changes of one option that bring a request into reach: the nearest in each direction."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from ptable.advice.infeasibility_cases import Alternative, Case, name_counts
from ptable.solver.integer.rounding import exact, inward
from ptable.solver.reach import at_bound, stay_bounds, variance_bounds
from ptable.solver.row import RowProblem

_WEAKER = {"both": ("left", "unimodal", "none"), "left": ("none",), "unimodal": ("none",)}
#: How far giving a rule up counts, beside changes of numbers relative to what they were.
RULE = 1.0
_MAX_NOISE = 1000
_MAX_STEPS = 12


def single_changes(case: Case, *, sizes: bool = True) -> Iterator[Alternative]:
    """Find the nearest requests in reach that change one option."""
    if sizes:
        yield from _small(case)
    yield from variance_changes(case)
    if sizes:
        yield from _max_noise(case)
    for search in (_p_stay, _zero, _rules, _floor):
        yield from search(case)


def variance_changes(case: Case, *, per_row: bool = True) -> Iterator[Alternative]:
    """Move the variance into the reach of all rows, or of each row by itself."""
    probe = case.design(variance=0.5)
    if probe is None:
        return
    rows = [row for row in case.rows(probe) if row.count]
    ends = {row.count: variance_bounds(row) for row in rows}
    reach = {
        row.count: (pair[0].value / row.step**2, pair[1].value / row.step**2)
        for row in rows
        if (pair := ends[row.count]) is not None
    }
    if len(reach) < len(rows):
        return
    open_ended = {row.count for row in rows if row.at_most}
    variance = case.get("variance")
    low = max(low for low, _ in reach.values())
    closed = [high for count, (_, high) in reach.items() if count not in open_ended]
    high = min(closed) if closed else None
    is_single = not isinstance(variance, tuple)
    if is_single and (high is None or low <= high):
        value = inward(exact(variance), low, high)
        note = _single_laws(count for count, ends in reach.items() if _is_end(value, ends))
        yield from case.offer(_relative(variance, value), note=note, variance=value)
    if not per_row or case.counts is not None:
        return  # a part of a stack has more rows than it answers for
    wishes = (variance,) * len(rows) if is_single else variance
    if len(wishes) != len(rows):
        return
    values = tuple(
        inward(exact(wish), low, None if count in open_ended else high)
        for wish, (count, (low, high)) in zip(wishes, reach.items(), strict=True)
    )
    changes = [count for count, w, v in zip(reach, wishes, values, strict=True) if w != v]
    note = _single_laws(
        count
        for (count, ends), value in zip(reach.items(), values, strict=True)
        if count in changes and _is_end(value, ends)
    )
    if changes or not is_single:  # else the one variance suits every row
        distance = max(map(_relative, wishes, values), default=0.0)
        yield from case.offer(distance, note=note, variance=values)


def _max_noise(case: Case) -> Iterator[Alternative]:
    """Search the nearest largest noise above and, where less noise can help, below."""
    max_noise = case.get("max_noise")
    if not isinstance(max_noise, int):
        return
    floor = any(_values(case.get("min_probability")))
    limit = farthest(case)
    above: int | None
    if floor:  # more values each with a least probability: reach need not grow
        limit = min(limit, max_noise + _MAX_STEPS)
        above = next((n for n in range(max_noise + 1, limit) if case.works(max_noise=n)), None)
    else:
        above = _least_working(case, max_noise, limit)
    if above is not None:
        yield from case.offer(_relative(max_noise, above), max_noise=above)
    if floor:
        below = next((n for n in range(max_noise - 1, 0, -1) if case.works(max_noise=n)), None)
        if below is not None:
            yield from case.offer(_relative(max_noise, below), max_noise=below)


def farthest(case: Case) -> int:
    """Say how far larger noise is worth looking for."""
    return min(_MAX_NOISE, 2 * int(case.get("max_noise")) + 2 * int(case.get("small")) + 10)


def _least_working(case: Case, failing: int, limit: int) -> int | None:
    """Find the least value above a failing one: what is in reach stays so with more noise."""
    step, working = 1, None
    while failing < limit:
        trial = min(failing + step, limit)
        if case.works(max_noise=trial):
            working = trial
            break
        failing, step = trial, 2 * step
    if working is None:
        return None
    between = range(failing + 1, working)
    return failing + 1 + bisect_left(between, 1, key=lambda n: bool(case.works(max_noise=n)))


def _small(case: Case) -> Iterator[Alternative]:
    small, largest = case.get("small"), max(_values(case.get("max_noise")))
    below = next((n for n in range(small - 1, -1, -1) if case.works(small=n)), None)
    if below is not None:
        yield from case.offer(_relative(small, below), small=below)
    if any(value is not None for value in _values(case.get("p_stay"))):
        # rows whose count is not published are free of p_stay
        above = next((n for n in range(small + 1, largest) if case.works(small=n)), None)
        if above is not None:
            yield from case.offer(_relative(small, above), small=above)


def _p_stay(case: Case) -> Iterator[Alternative]:
    """Move the probability of staying into reach, make it a bound, or leave it free."""
    p_stay = case.get("p_stay")
    if all(value is None for value in _values(p_stay)):
        return
    design = case.design()
    if design is not None:
        yield from _nearest_p_stay(case, p_stay, case.rows(design))
    if case.get("p_stay_rule") == "exact":
        for rule in ("at-least", "at-most"):
            yield from case.offer(RULE, p_stay_rule=rule)
    yield from case.offer(RULE, p_stay=None)


def _nearest_p_stay(
    case: Case, p_stay: Any, rows: Iterable[RowProblem]
) -> Iterator[Alternative]:
    reach: dict[int, tuple[Fraction, Fraction] | None] = {}
    wishes: dict[int, Fraction] = {}
    for row in rows:
        reach[row.count] = None
        if row.p_stay is not None:
            ends = stay_bounds(row)
            if ends is None:
                return
            low = Fraction(0) if row.p_stay_rule == "at-least" else ends[0].value
            high = Fraction(1) if row.p_stay_rule == "at-most" else ends[1].value
            reach[row.count] = low, high
            wishes[row.count] = row.p_stay
    intervals = [ends for ends in reach.values() if ends is not None]
    if not intervals:
        return
    low, high = max(low for low, _ in intervals), min(high for _, high in intervals)
    if not isinstance(p_stay, tuple) and low <= high:
        value = inward(exact(p_stay), low, high, strict=True)
        yield from case.offer(_relative(p_stay, value), p_stay=value)
    if case.counts is None and (isinstance(p_stay, tuple) or low > high):
        values = tuple(
            None if ends is None else inward(wishes[count], *ends, strict=True)
            for count, ends in reach.items()
            if count
        )
        distance = max(
            _relative(float(wishes[count]), value)
            for count, value in zip((c for c in reach if c), values, strict=True)
            if value is not None
        )
        yield from case.offer(distance, p_stay=values)


def _rules(case: Case) -> Iterator[Alternative]:
    monotone = case.get("monotone")
    weaker = ("none",) if isinstance(monotone, tuple) else _WEAKER.get(monotone, ())
    for word in weaker:
        options = list(case.offer(RULE, monotone=word))
        yield from options
        if options:
            break
    if case.get("symmetric") is not False:
        yield from case.offer(RULE, symmetric=False)
    if case.get("variance_rule") != "at-most":
        yield from case.offer(RULE, variance_rule="at-most")
    if case.get("variance_rule") == "exact":
        note = "rows out of reach take their nearest variance"
        yield from case.offer(RULE, note=note, variance_rule="nearest")


def _floor(case: Case) -> Iterator[Alternative]:
    """Lower the least probability as little as two digits allow."""
    floor = case.get("min_probability")
    if not any(_values(floor)):
        return
    if isinstance(floor, tuple):
        yield from case.offer(RULE, min_probability=0.0)
        return
    low, high = 0.0, floor
    if case.works(min_probability=low) is None:
        return
    while high - low > floor / 200:
        middle = float(f"{(low + high) / 2:.2g}")
        if middle in {low, high}:
            break
        if case.works(min_probability=middle) is None:
            high = middle
        else:
            low = middle
    yield from case.offer(_relative(floor, low), min_probability=low)


def _zero(case: Case) -> Iterator[Alternative]:
    """Move the variance of a count of 0 into reach, or leave it free."""
    variance = case.get("zero_variance")
    design = None if variance is None else case.design()
    if design is None:
        return
    ends = variance_bounds(next(row for row in case.rows(design) if not row.count))
    if ends is not None:
        scale = design.step**2
        value = inward(exact(variance), ends[0].value / scale, ends[1].value / scale)
        yield from case.offer(_relative(variance, value), zero_variance=value)
    yield from case.offer(RULE, zero_variance=None)


def _is_end(value: float, ends: tuple[Fraction, Fraction]) -> bool:
    return any(at_bound(exact(value), end) for end in ends)


def _single_laws(counts: Iterable[int]) -> str:
    numbers = list(counts)
    if not numbers:
        return ""
    return f"{name_counts(numbers)} {'has' if len(numbers) == 1 else 'have'} only one law there"


def _values(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _relative(before: float, after: float) -> float:
    return abs(after - before) / (abs(before) or 1)
