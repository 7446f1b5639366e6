"""Specifications that may serve a goal; every one of them can be met."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ptable.advice.figures import last_stay
from ptable.advice.infeasibility_cases import can
from ptable.design.spec import NoiseSpec
from ptable.errors import PTableError
from ptable.solver.integer.rounding import exact, inward
from ptable.solver.reach import variance_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptable.design.goal import Goal

_BISECTIONS = 40
_FARTHEST_NOISE = 6


def candidates(goal: Goal) -> Iterator[tuple[str, NoiseSpec]]:
    """Try the goal as it is, then with other largest noise, then with fewer blocked counts."""
    yield from _for_shape(goal, goal.fields())
    others = [
        {"max_noise": goal.max_noise + extra}
        for extra in (1, -1, *range(2, _FARTHEST_NOISE))
        if goal.max_noise + extra > goal.small
    ]
    others += [{"small": small} for small in range(goal.small - 1, -1, -1)]
    n_found = {"max_noise": 0, "small": 0}
    for change in others:
        name = next(iter(change))
        if n_found[name] >= 2:
            continue
        options = list(_for_shape(goal, {**goal.fields(), **change}))
        n_found[name] += bool(options)
        yield from options[:2]


def _for_shape(goal: Goal, fields: dict[str, Any]) -> Iterator[tuple[str, NoiseSpec]]:
    """Choose variances and probabilities of staying for a given reach of the noise."""
    spec = _spec(fields, variance=0.5)
    if spec is None:
        return
    reach = _reach(spec)
    if reach is None:
        return
    wish_low, wish_high = goal.variance_range
    wanted = None if goal.p_stay is None else variance_for(spec, goal.p_stay)
    low, high = max(low for low, _ in reach), min(high for _, high in reach)
    for label, wish in _wishes(wanted, (wish_low, wish_high), (low, high)):
        if low <= high:
            value = inward(wish, low, high, strict=True)
            short = value if wish != exact(value) else float(f"{float(wish):.3g}")
            one = _checked(fields, variance=short) or _checked(fields, variance=value)
            if one is not None:
                yield label, one
        if any(not low <= wish <= high for low, high in reach):
            values = tuple(_short(wish, low, high) for low, high in reach)
            one = _checked(fields, variance=values)
            if one is not None:
                yield "one variance per row", one
    if goal.p_stay is not None:
        yield from _prescribed(goal, fields, wanted)


def _wishes(
    wanted: Fraction | None,
    asked: tuple[Fraction, Fraction | None],
    reach: tuple[Fraction, Fraction],
) -> Iterator[tuple[str, Fraction]]:
    """Choose the variance to aim at: for the probability of staying, or across the range."""
    low, high = asked
    if wanted is not None:
        yield "one variance", max(low, wanted if high is None else min(wanted, high))
        return
    low, high = max(low, reach[0]), reach[1] if high is None else min(high, reach[1])
    if low > high:
        yield "one variance", low
        return
    for share in (Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)):
        yield "one variance", low + (high - low) * share


def _prescribed(
    goal: Goal, fields: dict[str, Any], wanted: Fraction | None
) -> Iterator[tuple[str, NoiseSpec]]:
    """Prescribe the probability of staying, with a variance that then suits every row."""
    idea = f"p_stay {goal.p_stay:g} in all rows that may stay"
    spec = _spec(fields, variance=0.5, p_stay=goal.p_stay)
    reach = None if spec is None else _reach(spec)
    if reach is None:
        return
    wish_low, wish_high = goal.variance_range
    low = max(wish_low, *(low for low, _ in reach))
    high = min(wish_high or Fraction(goal.max_noise**2), *(high for _, high in reach))
    if low <= high:
        aim = low + (high - low) / 4 if wanted is None or not low < wanted < high else wanted
        one = _checked(fields, variance=_short(aim, low, high), p_stay=goal.p_stay)
        if one is not None:
            yield idea, one
        return
    aim = max(wish_low, wanted or wish_low)
    if wish_high is not None:
        aim = min(aim, wish_high)
    values = tuple(_short(aim, low, high) for low, high in reach)
    one = _checked(fields, variance=values, p_stay=goal.p_stay)
    if one is not None:
        yield f"{idea}, one variance per row", one


def variance_for(spec: NoiseSpec, p_stay: float) -> Fraction | None:
    """Find the variance at which the last row stays this often, or the nearest to it."""
    row = spec.row(spec.last_count)
    ends = variance_bounds(row)
    if ends is None or 0 not in row.noise:
        return None
    # noise of at least one step varies by its probability at least
    low = max(float(ends[0].value) * 1.001, 1 - p_stay)
    high = float(ends[1].value) * 0.999
    if low >= high:
        return None
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if high - low < 1e-6 * high:
            break
        if last_stay(row, middle) > p_stay:
            low = middle
        else:
            high = middle
    return exact(float(f"{low:.3g}"))


def _reach(spec: NoiseSpec) -> list[tuple[Fraction, Fraction]] | None:
    """Give the exact reach of every row; None when a row has no law."""
    ends = [variance_bounds(row) for row in spec.rows()]
    known = [(low.value, high.value) for low, high in filter(None, ends)]
    return known if len(known) == len(ends) else None


def _short(wish: Fraction, low: Fraction, high: Fraction) -> float:
    """Give a short number in a range near a wish, inside the range where it has an inside."""
    value = inward(wish, low, high, strict=True)
    short = exact(float(f"{value:.3g}"))
    return float(short) if low < short < high else value


def _checked(fields: dict[str, Any], **changes: Any) -> NoiseSpec | None:
    """Build a specification; None when it is refused or some row cannot be met."""
    spec = _spec(fields, **changes)
    return spec if spec is not None and all(map(can, spec.rows())) else None


def _spec(fields: dict[str, Any], **changes: Any) -> NoiseSpec | None:
    try:
        return NoiseSpec(**{**fields, **changes})
    except PTableError:
        return None
