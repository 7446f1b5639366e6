"""What to ask for instead of noise that no p-table has: the nearest requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from ptable.advice.figures import few_outcomes, smaller_variance
from ptable.advice.infeasibility_cases import Alternative, Case, can
from ptable.advice.single_option_repairs import RULE, farthest, single_changes, variance_changes
from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.errors import InfeasibleError, PTableError

_Request: TypeAlias = "NoiseSpec | StackedSpec"
_MAX_TRIED = 8
_FREE: dict[str, Any] = {
    "p_stay": None,
    "monotone": "none",
    "symmetric": False,
    "min_probability": 0.0,
}


def alternatives(request: _Request | Mapping[str, Any]) -> tuple[Alternative, ...]:
    """Find the nearest requests that can be met, one option changed at a time.

    Where changing a single option is never enough, two are changed.

    Parameters
    ----------
    request
        What cannot be met: a specification, or the fields of one that is refused outright.

    Returns
    -------
    tuple
        Nearest first; empty when the request can be met as it is.

    Notes
    -----
    For each option the least change in either direction is looked for. Ends of ranges are exact
    and rounded inward to three digits; an end that is itself that short is kept, and the note
    then names the rows that have only one law, without any freedom left for entropy. Requests
    with a row of two outcomes or hardly more (`figures.few_outcomes`) are not proposed: their
    variance moves to the nearest smaller one where no row is so.

    Examples
    --------
    >>> found = alternatives({"max_noise": 2, "variance": 9.0})
    >>> [(str(one), one.spec.variance) for one in found][0]
    ('variance 1.97 instead of 9', 1.97)
    """
    if isinstance(request, StackedSpec):
        return _of_parts(request)
    if isinstance(request, Mapping):
        return _nearest_first(Case(fields=_constructible(request)))
    return _nearest_first(Case(fields=_fields(request)))


def _fields(spec: NoiseSpec) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in spec.to_dict()}


def _constructible(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse fields that are wrong, not only out of reach."""
    try:
        return _fields(NoiseSpec(**fields))
    except InfeasibleError:
        return dict(fields)


def _nearest_first(case: Case) -> tuple[Alternative, ...]:
    if case.works() is not None:
        return ()
    options = list(single_changes(case))
    if not any(isinstance(pair[1], float) for one in options for pair in one.changes.values()):
        options += _noise_and_variance(case)
    if not options:
        options = list(_double_changes(case))
    if not options:
        options = list(_freed(case))
    return tuple(sorted(_of_many_outcomes(case, options), key=lambda one: one.distance))


def _of_many_outcomes(case: Case, options: list[Alternative]) -> list[Alternative]:
    """Move changes of the variance to where no row is nearly a law on two points; drop others.

    Where nothing would be left, all stay, and say so.
    """
    survivors = []
    for one in options:
        spec = one.spec
        if not isinstance(spec, NoiseSpec) or not few_outcomes(spec):
            survivors.append(one)
        elif "variance" in one.changes and (other := smaller_variance(spec)) is not None:
            change = {**one.changes, "variance": (case.get("variance"), other.variance)}
            survivors.append(replace(one, changes=change, spec=other, note=""))
    if survivors:
        first: dict[_Request, Alternative] = {}
        for one in survivors:
            first.setdefault(one.spec, one)
        return list(first.values())
    return [
        replace(
            one, note="; ".join(filter(None, (one.note, *map(str, few_outcomes(one.spec)))))
        )
        for one in options
    ]


def _noise_and_variance(case: Case) -> Iterator[Alternative]:
    """Raise the largest noise until some single variance suits every row."""
    max_noise = case.get("max_noise")
    if not isinstance(max_noise, int) or isinstance(case.get("variance"), tuple):
        return
    n_tried = 0
    for largest in range(max(max_noise, case.get("small")) + 1, farthest(case)):
        free = _changed(case, **_FREE, max_noise=largest)
        if n_tried >= _MAX_TRIED or not any(variance_changes(free, per_row=False)):
            continue  # what no shape at all allows need not be looked at
        n_tried += 1
        for one in variance_changes(_changed(case, max_noise=largest), per_row=False):
            yield _with(case, one, max_noise=largest)
            return


def _double_changes(case: Case) -> Iterator[Alternative]:
    """Give one option up so that another suffices."""
    small, largest = case.get("small"), case.get("max_noise")
    freed = dict(_FREE)
    if small and isinstance(largest, int):
        freed["small"] = min(small - 1, largest - 1)
    for name, value in freed.items():
        if case.get(name) != value:
            for one in single_changes(_changed(case, **{name: value}), sizes=False):
                if name not in one.changes:
                    yield _with(case, one, **{name: value})


def _freed(case: Case) -> Iterator[Alternative]:
    """Give every rule up but the blocked counts."""
    freed = {name: value for name, value in _FREE.items() if case.get(name) != value}
    free = _changed(case, **freed)
    for one in [*variance_changes(free), *_noise_and_variance(free)]:
        yield _with(case, one, **freed)


def _changed(case: Case, **changes: Any) -> Case:
    return replace(case, fields={**case.fields, **changes}, tough=[])


def _with(case: Case, one: Alternative, **changes: Any) -> Alternative:
    """Tell a change that was made before, and leave out what stays as it was."""
    before = {name: (case.get(name), value) for name, value in changes.items()}
    every = {**before, **one.changes}
    differences = {name: pair for name, pair in every.items() if pair[0] != pair[1]}
    return replace(one, changes=differences, distance=one.distance + RULE)


def _of_parts(spec: StackedSpec) -> tuple[Alternative, ...]:
    """Change the parts that cannot be met, one at a time, the others to their nearest."""
    firsts = [first for first, _ in spec.parts]
    by_part: dict[int, tuple[Alternative, ...]] = {}
    for place, (first, part) in enumerate(spec.parts):
        stop = firsts[place + 1] if place + 1 < len(firsts) else spec.last_count + 10**6

        def wrap(changed: NoiseSpec, place: int = place) -> _Request:
            parts = list(spec.parts)
            parts[place] = (firsts[place], changed)
            return StackedSpec(parts=tuple(parts))

        case = Case(fields=_fields(part), wrap=wrap, counts=range(first, stop))
        if case.works() is None:
            by_part[place] = _nearest_first(case)
    nearest = {place: options[0] for place, options in by_part.items() if options}
    by_spec: dict[_Request, Alternative] = {}
    for place, options in by_part.items():
        for option in options:
            one = _merged(spec, {**nearest, place: option})
            if one is not None:
                by_spec.setdefault(one.spec, one)
    return tuple(sorted(by_spec.values(), key=lambda one: one.distance))


def _merged(spec: StackedSpec, choice: Mapping[int, Alternative]) -> Alternative | None:
    """Put changed parts together; nothing where they do not fit each other."""
    parts = list(spec.parts)
    changes: dict[str, tuple[Any, Any]] = {}
    notes: list[str] = []
    for place, one in sorted(choice.items()):
        if not isinstance(one.spec, StackedSpec):
            return None
        parts[place] = one.spec.parts[place]
        first = parts[place][0]
        changes |= {f"{name} from count {first} on": p for name, p in one.changes.items()}
        notes += [one.note] if one.note else []
    try:
        stack = StackedSpec(parts=tuple(parts))
    except PTableError:
        return None
    if not all(map(can, stack.rows())):
        return None
    return Alternative(
        changes=changes,
        distance=max(one.distance for one in choice.values()),
        note="; ".join(notes),
        spec=stack,
    )
