"""The nearest limits that a table can keep, one limit at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from footing.messages import Message, Name
from ptable.design.limits import Limits
from ptable.solver.joint import Joint, limits_of
from ptable.solver.statement import JointStatement, Own

_STEPS = 10
#: What is told keeps this much from the edge, so that it works.
_INWARD = 2e-4


def nearest_limits(joint: Joint, *, own: Own | None = None) -> tuple[Message, ...]:
    """Say of each limit how far it alone would have to give way; nothing where it cannot."""
    ways: list[Message] = []
    for name, tight, loose, change in _ranges(joint):
        if not _is_feasible(joint, change(loose), own):
            continue
        low, high = tight, loose
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if _is_feasible(joint, change(middle), own):
                high = middle
            else:
                low = middle
        value = high + (loose - tight) * _INWARD
        value = min(value, loose) if loose > tight else max(value, loose)
        ways.append(
            Message("{name} {value:.4g}", name=Name(name), value=_outward(value, loose > tight))
        )
    return tuple(ways)


def _outward(value: float, is_rising: bool) -> float:  # noqa: FBT001
    """Shorten to four digits, away from what is infeasible."""
    short = float(f"{value:.4g}")
    if (short < value) == is_rising and short != value:
        digit = 10.0 ** (len(f"{int(abs(value))}") - 4 if abs(value) >= 1 else -4)
        short = float(f"{value + (digit if is_rising else -digit):.4g}")
    return short


_Range = tuple[str, float, float, Callable[[float], Limits]]


def _ranges(joint: Joint) -> list[_Range]:
    """List each limit that is set: its name, value, the loosest there is, and how to set it."""
    limits = joint.limits
    if limits_of(joint.spec) is None:
        return []

    def field(name: str) -> Callable[[float], Limits]:
        def change(value: float) -> Limits:
            changed: dict[str, Any] = {name: value}
            return replace(limits, **changed)

        return change

    ranges: list[_Range] = [
        (name, value, 1.0, field(name))
        for name in ("posterior", "posterior_set", "p_stay")
        if (value := getattr(limits, name)) is not None
    ]
    ranges += map(partial(_guess_range, limits), range(len(limits.guesses)))
    if limits.neighbours is not None:
        epsilon, delta = limits.neighbours
        ranges.append(
            (
                "delta of neighbours",
                delta,
                1.0,
                lambda value: replace(limits, neighbours=(epsilon, value)),
            )
        )
    floor = limits.variance_floor
    if floor is None:
        floor = max(float(joint.variance_limits(row)[0]) for row in joint.rows)
    if isinstance(floor, float) and floor > 0:
        ranges.append(("variance_floor", floor, 0.0, field("variance_floor")))
    ceilings = [float(row.variance) for row in joint.rows]
    largest = float(max(max(map(abs, row.noise)) for row in joint.rows) ** 2)
    if len(set(ceilings[1:])) <= 1 and max(ceilings) < largest:
        ranges.append(("variance_ceiling", max(ceilings), largest, field("variance_ceiling")))
    if limits.ratio is not None:
        ranges.append(("ratio", limits.ratio, 1e4, field("ratio")))
    return ranges


def _guess_range(limits: Limits, place: int) -> _Range:
    some, value = limits.guesses[place]
    if not isinstance(limits.best_guess, tuple):
        return "best_guess", value, 1.0, lambda new: replace(limits, best_guess=new)

    def change(new: float) -> Limits:
        guesses = [*limits.guesses[:place], (some, new), *limits.guesses[place + 1 :]]
        return replace(limits, best_guess=tuple(guesses))

    return f"best_guess of {some[0]}-{some[-1]}", value, 1.0, change


def _is_feasible(joint: Joint, limits: Limits, own: Own | None) -> bool:
    trial = _with_limits(joint, limits)
    return JointStatement.of(trial, own=own).is_feasible()


def _with_limits(joint: Joint, limits: Limits) -> Joint:
    """Change the limits, and the rows that follow from them."""
    from ptable.design.spec import NoiseSpec

    if isinstance(joint.spec, NoiseSpec):
        spec: Any = replace(joint.spec, limits=limits)
    else:
        first, part = joint.spec.parts[0]
        changed = replace(part, limits=limits)
        spec = replace(joint.spec, parts=((first, changed), *joint.spec.parts[1:]))
    return Joint.of(spec)
