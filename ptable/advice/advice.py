"""From a goal in a methodologist's words to the tables that meet it, with their figures."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from footing.messages import Argument, Message, joined, said
from ptable.advice.figures import (
    Figures,
    few_outcomes,
    figures_of,
    last_stay,
    laws,
    smaller_variance,
)
from ptable.advice.infeasibility_cases import can
from ptable.design.goal import Goal
from ptable.design.spec import NoiseSpec
from ptable.errors import InternalError, PTableError
from ptable.solver.feasibility import feasible
from ptable.solver.integer.rounding import exact, inward
from ptable.solver.reach import variance_bounds
from ptable.solver.unimodal import has_one_peak

_MOST = 12
_BISECTIONS = 40
_FARTHEST_NOISE = 6
_PER_ROW = "one variance per row"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A specification that can be met, and how well it serves a goal.

    Parameters
    ----------
    spec
        The specification.
    figures
        What its noise does.
    missed
        The wishes it does not fulfil, in words; empty when it fulfils all.
    idea
        What was tried, in words.
    miss
        How far the probability of staying is from the wish, in the row where it is farthest;
        0 without a wish.

    Examples
    --------
    >>> from ptable import Goal
    >>> best = advise(Goal(max_noise=5, p_stay=0.4))[0]
    >>> best.spec.variance, best.missed, round(best.figures.p_stay, 2)
    (0.995, (), 0.4)
    """

    spec: NoiseSpec
    figures: Figures = field(repr=False)
    missed: tuple[str, ...]
    idea: str
    miss: float

    def __str__(self) -> str:
        misses = f"; but {', '.join(self.missed)}" if self.missed else ""
        return f"{self.idea}{misses}: {self.figures}"


def advise(goal: Goal, *, prior: float = 1.0) -> tuple[Advice, ...]:
    """Find p-tables that meet a goal, or come near it.

    Parameters
    ----------
    goal
        What is wanted.
    prior
        The ratio of the prior over counts in the figures; 1 is flat.

    Returns
    -------
    tuple
        At most twelve, those that fulfil most wishes first, then those whose rows are all
        near to the wished probability of staying. All can be met, and none has a row of two
        outcomes or hardly more where a smaller variance gives it more.

    Notes
    -----
    Among laws of greatest entropy the probability of staying falls as the variance rises, so
    the variance that gives the wish is found by bisection. Where some row cannot have that
    variance, four ways out are tried: the nearest variance, one variance per row, a prescribed
    `p_stay`, and other values of `max_noise` and `small`. `conflicts` says why.

    Examples
    --------
    >>> from ptable import Goal
    >>> for found in advise(Goal(max_noise=5, small=2, p_stay=0.4))[:2]:
    ...     print(found.idea, found.spec.variance, round(found.figures.p_stay, 3), found.missed)
    p_stay 0.4 in all rows that may stay 2.75 0.4 ()
    one variance per row (2.01, 2.01, 0.995, 0.995, 0.995, 0.995, 0.995, 0.995) 0.4 ()
    """
    advice = _serve(goal, prior, free=goal.monotone == "unimodal")
    if not advice:
        advice = _serve(goal, prior, free=False)
    ranked = sorted(advice, key=lambda one: (len(one.missed), round(one.miss, 2)))
    return tuple(ranked[:_MOST])


def _serve(goal: Goal, prior: float, *, free: bool) -> list[Advice]:
    """Try candidates; with `free`, look for a peak in laws of any shape, which is quick."""
    search = replace(goal, monotone="none") if free else goal
    advice: dict[NoiseSpec, Advice] = {}
    for idea, proposed in _candidates(search):
        try:
            candidate = smaller_variance(proposed) if few_outcomes(proposed) else proposed
            spec = None if candidate is None else replace(candidate, monotone=goal.monotone)
            if candidate is None or spec is None or spec in advice:
                continue
            rows = laws(candidate)
        except InternalError:  # too near an end for Newton's method; others are better anyway
            continue
        if free and not all(has_one_peak(tuple(map(exact, r.values()))) for r in rows.values()):
            continue
        risk = figures_of(rows, last_count=spec.last_count, prior=prior)
        advice[spec] = Advice(
            spec=spec,
            figures=risk,
            missed=_missed(goal, spec, risk),
            idea=idea.replace("one variance", _PER_ROW)
            if isinstance(spec.variance, tuple) and _PER_ROW not in idea
            else idea,
            miss=0.0
            if goal.p_stay is None
            else max(abs(p - goal.p_stay) for p in risk.p_stay_range),
        )
    return list(advice.values())


def conflicts(goal: Goal) -> tuple[str, ...]:
    """Say which wishes exclude each other, with the exact ends of what each allows.

    Parameters
    ----------
    goal
        What is wanted.

    Returns
    -------
    tuple
        One sentence for each pair of wishes; empty when one variance in all rows meets all.

    Examples
    --------
    >>> from ptable import Goal
    >>> for text in conflicts(Goal(max_noise=5, small=4)):
    ...     print(text)
    count 2 needs a variance of at least 6 (no noise strictly between -2 and 3 is allowed), \
count 1 has at most 5 (the noise of a count of 1 cannot go below -1)
    """
    if goal.max_noise <= goal.small:
        least = goal.small + 1
        why = Message("a count of {least} can only go down to 0", least=least)
        return (
            Message(
                "small={small} needs max_noise of at least {least}: {why}",
                small=goal.small,
                least=least,
                why=why,
            ),
        )
    rows = feasible(_probe(goal)).rows
    infeasible = next((row for row in rows if row.variance_min is None), None)
    if infeasible is not None:
        return (
            Message(
                "no noise of mean zero exists for count {count}: {binding}",
                count=infeasible.count,
                binding=said(infeasible.binding),
            ),
        )
    low_row = max(rows, key=lambda row: row.variance_min or 0)
    high_row = min(rows, key=lambda row: row.variance_max or 0)
    low, high = exact(low_row.variance_min or 0), exact(high_row.variance_max or 0)
    needed = Message(
        "a variance of at least {variance_min:.6g} ({limits})",
        variance_min=low_row.variance_min,
        limits=said(low_row.limits[0]),
    )
    allowed = Message(
        "at most {variance_max:.6g} ({limits})",
        variance_max=high_row.variance_max,
        limits=said(high_row.limits[1]),
    )
    needs, allows = (
        Message("count {count} needs {needed}", count=low_row.count, needed=needed),
        Message("count {count} has {allowed}", count=high_row.count, allowed=allowed),
    )
    if low > high:
        return (joined(", ", [needs, allows]),)
    sentences: list[str] = []
    wish_low, wish_high = goal.variance_range
    if wish_high is not None and wish_high < low:
        sentences.append(
            Message(
                "the variance is to be at most {wish_high:g}, {needs}",
                wish_high=float(wish_high),
                needs=needs,
            )
        )
    if wish_low > high:
        sentences.append(
            Message(
                "the variance is to be at least {wish_low:g}, {allows}",
                wish_low=float(wish_low),
                allows=allows,
            )
        )
    if goal.p_stay is not None and not sentences:
        sentences += _stay_conflict(goal, max(low, wish_low), min(high, wish_high or high))
    return tuple(sentences)


def _stay_conflict(goal: Goal, low: Fraction, high: Fraction) -> Iterator[str]:
    """Say which variance the wished probability of staying would take."""
    variance = _variance_for(_probe(goal), goal.p_stay or 0.0)
    if variance is None or low <= variance <= high:
        return
    way = Message("at most") if variance > high else Message("at least")
    end = high if variance > high else low
    yield (
        Message(
            "p_stay {p_stay:g} goes with a variance of {names:.3g} at greatest entropy, "
            "the other requirements need {way} {end:.6g}: prescribe p_stay, or let the "
            "variance differ by row",
            p_stay=goal.p_stay,
            names=float(variance),
            way=way,
            end=float(end),
        )
    )


def _missed(goal: Goal, spec: NoiseSpec, risk: Figures) -> tuple[str, ...]:
    """Name the wishes that a specification does not fulfil."""
    misses = []
    if goal.p_stay is not None and abs(risk.p_stay - goal.p_stay) > goal.tolerance:
        misses.append(
            Message(
                "large counts stay with {p_stay:.1%}, not {goal:.1%}",
                p_stay=risk.p_stay,
                goal=goal.p_stay,
            )
        )
    if spec.max_noise != goal.max_noise:
        misses.append(
            Message(
                "max_noise is {max_noise}, not {goal}",
                max_noise=Argument(spec.max_noise),
                goal=Argument(goal.max_noise),
            )
        )
    if spec.small != goal.small:
        misses.append(
            Message("small is {small}, not {goal}", small=spec.small, goal=Argument(goal.small))
        )
    low, high = goal.variance_range
    variance = spec.variance or 0.0
    values = variance if isinstance(variance, tuple) else (variance,)
    exact_values = [exact(v) for v in values]
    if min(exact_values) < low or (high is not None and max(exact_values) > high):
        misses.append(
            Message("variances reach {low:g} to {high:g}", low=min(values), high=max(values))
        )
    return tuple(misses)


def _probe(goal: Goal) -> NoiseSpec:
    return NoiseSpec(**goal.fields(), variance=0.5)


def _candidates(goal: Goal) -> Iterator[tuple[str, NoiseSpec]]:
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
    variance = None if goal.p_stay is None else _variance_for(spec, goal.p_stay)
    low, high = max(low for low, _ in reach), min(high for _, high in reach)
    for label, wish in _wishes(variance, (wish_low, wish_high), (low, high)):
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
        yield from _prescribed(goal, fields, variance)


def _wishes(
    variance: Fraction | None,
    variance_range: tuple[Fraction, Fraction | None],
    reach: tuple[Fraction, Fraction],
) -> Iterator[tuple[str, Fraction]]:
    """Choose the variance to aim at: for the probability of staying, or across the range."""
    low, high = variance_range
    if variance is not None:
        yield (
            Message("one variance"),
            max(low, variance if high is None else min(variance, high)),
        )
        return
    low, high = max(low, reach[0]), reach[1] if high is None else min(high, reach[1])
    if low > high:
        yield Message("one variance"), low
        return
    for share in (Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)):
        yield Message("one variance"), low + (high - low) * share


def _prescribed(
    goal: Goal, fields: dict[str, Any], variance: Fraction | None
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
        aim = (
            low + (high - low) / 4
            if variance is None or not low < variance < high
            else variance
        )
        one = _checked(fields, variance=_short(aim, low, high), p_stay=goal.p_stay)
        if one is not None:
            yield idea, one
        return
    aim = max(wish_low, variance or wish_low)
    if wish_high is not None:
        aim = min(aim, wish_high)
    values = tuple(_short(aim, low, high) for low, high in reach)
    one = _checked(fields, variance=values, p_stay=goal.p_stay)
    if one is not None:
        yield f"{idea}, one variance per row", one


def _variance_for(spec: NoiseSpec, p_stay: float) -> Fraction | None:
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
    ranges = [(low.value, high.value) for low, high in filter(None, ends)]
    return ranges if len(ranges) == len(ends) else None


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
