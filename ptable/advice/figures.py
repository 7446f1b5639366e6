"""What noise does to a count: a handful of figures of protection and of use, row by row."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from footing.messages import Argument, Enumeration, Message, joined
from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.errors import PTableError
from ptable.proof.certificate import Certificate
from ptable.solver.dual import maximise
from ptable.solver.integer.rounding import inward
from ptable.solver.joint import limits_of
from ptable.solver.reach import reaches, variance_bounds
from ptable.solver.row import RowProblem
from ptable.solver.unimodal import best_peak, entropy
from ptable.solver.variance_range import ResolvedRow, resolve, resolve_row

_Law: TypeAlias = "Mapping[int, float]"
_MAX_COUNTS = 10
_MAX_NAMED = 3
_SHOWN = 0.005
_ALMOST = 1 - 1e-6
_BISECTIONS, _FEW_BISECTIONS = 12, 5
#: What share of the outcomes that some smaller variance gives is enough.
_ENOUGH = 0.9
#: A row of no more effective outcomes, to two digits, is near to a law on two points.
_FEWEST_OUTCOMES = 2.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Figures of protection and of use; ``p_ij`` is P(published ``j`` given count ``i``).

    Parameters
    ----------
    variance
        The variance of the noise of large counts, ``Σ_v v² p_v``.
    p_stay
        The probability that a large count is published as it is, ``p_0`` of the last row.
    p_stay_range
        The least and the greatest ``p_ii`` over the rows whose count may be published.
    mean_size
        The mean size of the noise of large counts, ``Σ_v |v| p_v``.
    entropy
        The entropy of the noise of large counts in bits, ``-Σ_v p_v log₂ p_v``.
    p_same_difference
        The probability that the difference of two large cells is published as it is, because
        two independent noises are equal: ``Σ_v p_v²``.
    p_true
        Pairs of a count ``i`` and ``p_ii``, for counts from 1 to two beyond the blocked ones.
    p_source
        Pairs of a published ``j`` and the probability that the count is ``j`` too,
        ``p_jj x_j / Σ_i p_ij x_i`` over counts ``i ≥ 1``, for the two smallest ``j ≥ 1`` that
        may be published; ``x_i`` is the prior.
    prior
        The ratio ``r`` of the prior ``x_i ∝ r^i`` over counts from 1 on; 1 is flat.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> risk = figures(NoiseSpec(max_noise=5, variance=3.0, small=2))
    >>> [(count, round(p, 3)) for count, p in risk.p_true]
    [(1, 0.0), (2, 0.0), (3, 0.394), (4, 0.266)]
    """

    variance: float
    p_stay: float
    p_stay_range: tuple[float, float]
    mean_size: float
    entropy: float
    p_same_difference: float
    p_true: tuple[tuple[int, float], ...]
    p_source: tuple[tuple[int, float], ...]
    prior: float = 1.0

    def __str__(self) -> str:
        low, high = self.p_stay_range
        source = ", ".join(f"{p:.0%} of published {j}" for j, p in self.p_source)
        return (
            f"variance {self.variance:.3g}, stays {self.p_stay:.1%} "
            f"(rows {low:.1%} to {high:.1%}), mean size {self.mean_size:.2f}, "
            f"{self.entropy:.2f} bits, same difference {self.p_same_difference:.1%}, "
            f"true: {source}"
        )


def figures(spec: NoiseSpec | StackedSpec, *, prior: float = 1.0) -> Figures:
    """Compute the figures of the noise of greatest entropy, without building a p-table.

    Parameters
    ----------
    spec
        A specification that can be met, for counts.
    prior
        The ratio of the prior over counts from 1 on, in (0, 1]; 1 is flat.

    Notes
    -----
    The laws are those of `ptable.solve` up to about ten digits: a p-table rounds them to keys.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> risk = figures(NoiseSpec(max_noise=2, variance=1.0))
    >>> round(risk.p_stay, 4), [round(p, 3) for _, p in risk.p_true]
    (0.383, [0.306, 0.383])
    """
    if spec.step != 1 or spec.anchors is not None:
        raise PTableError(
            Message("Figures are for counts, not for magnitudes with steps or anchors."),
            hint=Message("leave step and anchors out"),
        )
    return figures_of(laws(spec), last_count=spec.last_count, prior=prior)


def figures_of(rows: Mapping[int, _Law], *, last_count: int, prior: float = 1.0) -> Figures:
    """Compute the figures of rows of noise."""
    if not 0 < prior <= 1:
        raise PTableError(
            Message("prior must lie in (0, 1], not {prior!r}.", prior=Argument(prior)),
            hint=Message("1 is flat"),
        )
    last = rows[last_count]
    staying = [
        distribution[0] for count, distribution in rows.items() if count and 0 in distribution
    ]
    blocked = max(
        (count for count, distribution in rows.items() if 0 not in distribution), default=0
    )
    small = range(1, min(blocked + 2, _MAX_COUNTS) + 1)
    return Figures(
        variance=math.fsum(v * v * p for v, p in last.items()),
        p_stay=last.get(0, 0.0),
        p_stay_range=(min(staying, default=0.0), max(staying, default=0.0)),
        mean_size=math.fsum(abs(v) * p for v, p in last.items()),
        entropy=-math.fsum(p * math.log2(p) for p in last.values() if p > 0),
        p_same_difference=math.fsum(p * p for p in last.values()),
        p_true=tuple((i, _row(rows, i).get(0, 0.0)) for i in small),
        p_source=tuple((j, _p_source(rows, j, prior)) for j in (blocked + 1, blocked + 2)),
        prior=prior,
    )


def laws(spec: NoiseSpec | StackedSpec) -> dict[int, dict[int, float]]:
    """Give the noise of greatest entropy of every row, by count and noise, in floats."""
    if limits_of(spec) is not None:
        raise PTableError(
            Message(
                "Rows of a design by limits are tied together: alone they have no figures."
            ),
            hint=Message("solve it: ckm ptable build, and ckm ptable show --guarantee"),
        )
    return {
        row.problem.count: dict(zip(row.problem.noise, _priced(row)[0], strict=True))
        for row in resolve(spec)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class FewOutcomes:
    """A row that is nearly a law on two points because its variance is large for its reach.

    Parameters
    ----------
    count
        The original count of the row.
    outcomes
        Pairs of a published count and its probability, the two most likely.
    effective
        The effective number of outcomes, ``exp(entropy)``: 2 for two equally likely ones.
    """

    count: int
    outcomes: tuple[tuple[int, float], ...]
    effective: float

    def __str__(self) -> str:
        return _said(self)


def _said(row: FewOutcomes) -> Message:
    outcomes = [
        Message("{published} ({p:.0%})", published=published, p=p)
        for published, p in row.outcomes
    ]
    return Message(
        "count {count} becomes {outcomes}, {effective:.1f} effective outcomes",
        count=row.count,
        outcomes=Enumeration(" or ", outcomes),
        effective=row.effective,
    )


def few_outcomes(
    spec: NoiseSpec | StackedSpec, *, proof: Certificate | None = None
) -> tuple[FewOutcomes, ...]:
    """Find the rows that have two effective outcomes or fewer, and more at less variance.

    With less variance, the entropy of these rows rises, by a tenth of the outcomes at least.
    Rows of little noise, and those where blocked counts leave no more, are not meant.
    """
    if spec.step != 1 or spec.anchors is not None or limits_of(spec) is not None:
        return ()
    rows = []
    suspects = spec.rows()
    if proof is not None:
        few = {row.count for row in proof.rows if math.exp(row.entropy) < _FEWEST_OUTCOMES}
        suspects = tuple(row for row in suspects if row.count in few)
    for row in map(resolve_row, suspects):
        distribution, price = _priced(row)
        effective = math.exp(entropy(distribution))
        is_few = row.problem.count and price > 0 and effective < _FEWEST_OUTCOMES
        if is_few and effective < _wanted(row.problem):
            likely = sorted(zip(distribution, row.problem.noise, strict=True), reverse=True)[:2]
            outcomes = tuple((row.problem.count + v, p) for p, v in likely if p >= _SHOWN)
            rows.append(
                FewOutcomes(count=row.problem.count, outcomes=outcomes, effective=effective)
            )
    return tuple(rows)


def smaller_variance(spec: NoiseSpec) -> NoiseSpec | None:
    """Find the nearest smaller variance at which no row has few outcomes; None without one.

    One variance for all rows is tried first, then one for each row that has few.
    """
    counts = [row.count for row in few_outcomes(spec)]
    if not counts:
        return spec
    rows = {row.problem.count: row for row in resolve(spec)}
    limits = {count: _most_variance(rows[count].problem) for count in counts}
    trials: list[float | tuple[float, ...]] = []
    if not isinstance(spec.variance, tuple):
        trials.append(min(limits.values()))
    variance = spec.variance or 0.0
    variances = variance if isinstance(variance, tuple) else (variance,) * len(rows)
    places = [row.count for row in spec.rows() if row.count]
    if len(variances) == len(places):
        trials.append(tuple(limits.get(c, v) for c, v in zip(places, variances, strict=True)))
    for variance in trials:
        other = replace(spec, variance=variance)
        if all(map(reaches, other.rows())) and not few_outcomes(other):
            return other
    return None


def name_few_outcomes(
    spec: NoiseSpec | StackedSpec, *, proof: Certificate | None = None
) -> str:
    """Warn of rows with few outcomes, with a way out; empty where there is none."""
    rows = few_outcomes(spec, proof=proof)
    if not rows:
        return ""
    names = joined("; ", [_said(row) for row in rows[:_MAX_NAMED]])
    more = (
        Message("; and {number} more rows", number=len(rows) - _MAX_NAMED)
        if len(rows) > _MAX_NAMED
        else Message()
    )
    way = Message("Take a smaller variance in these rows.")
    other = None if isinstance(spec, StackedSpec) else smaller_variance(spec)
    smaller = None if other is None else other.variance
    if smaller is not None and not isinstance(smaller, tuple):
        way = Message(
            "A variance of {smaller:g} is the nearest smaller one where no row is so, "
            "and barely: less variance spreads small counts over more outcomes.",
            smaller=smaller,
        )
    elif other is not None and isinstance(smaller, tuple):
        counts = {row.count for row in rows}
        values = zip((row.count for row in other.rows() if row.count), smaller, strict=True)
        each = [
            Message("{variance:g} for count {count}", variance=variance, count=count)
            for count, variance in values
            if count in counts
        ]
        way = Message(
            "With one variance per row, {each} is the nearest smaller one that is not so.",
            each=each,
        )
    return Message(
        "The noise has two outcomes or hardly more: {named}{more}. {way}",
        named=names,
        more=more,
        way=way,
    )


def cautions(
    spec: NoiseSpec | StackedSpec, *, proof: Certificate | None = None
) -> tuple[str, ...]:
    """Warn of rows with few outcomes, of those short of variance, and of declared bias."""
    texts = (name_few_outcomes(spec, proof=proof), _name_short(proof), _name_bias(spec))
    return tuple(text for text in texts if text)


def _name_short(proof: Certificate | None) -> str:
    rows = () if proof is None or proof.limits is not None else proof.rows
    each = [
        Message("{variance:.3g} for count {count}", variance=row.variance, count=row.count)
        for row in rows
        if row.count and not row.note and row.variance < row.requested_variance * _ALMOST
    ]
    return (
        Message(
            "The rule 'at-most' leaves rows less variance than asked for: {each}.", each=each
        )
        if each
        else ""
    )


def _name_bias(spec: NoiseSpec | StackedSpec) -> str:
    if not isinstance(spec, NoiseSpec) or not spec.positive_bias:
        return ""
    means = {count: float(spec.row(count).mean) for count in range(1, spec.small + 2)}
    each = [
        Message("{mean:+g} for count {count}", mean=mean, count=count)
        for count, mean in means.items()
    ]
    return Message(
        "No positive count is published as 0. The mean noise is {each}, and a "
        "published 0 is a true one: empty cells are not protected.",
        each=each,
    )


def variance_of(problem: RowProblem) -> float:
    """Return the variance that a row gets, less than asked for where that is a bound."""
    distribution, _ = _priced(resolve_row(problem))
    mean = float(problem.mean)
    return sum(p * (v - mean) ** 2 for p, v in zip(distribution, problem.noise, strict=True))


def _most_variance(problem: RowProblem) -> float:
    """Bisect for the largest variance at which a row has more outcomes, or as many as any."""
    ends = variance_bounds(problem)
    low, high = (ends[0].value, problem.variance) if ends else (problem.variance,) * 2
    least = _wanted(problem)
    for _ in range(_FEW_BISECTIONS if problem.unimodal else _BISECTIONS):
        middle = (low + high) / 2
        distribution, price = _priced(resolve_row(replace(problem, variance=middle)))
        if price > 0 and math.exp(entropy(distribution)) < least:
            high = middle
        else:
            low = middle
    return inward(problem.variance, Fraction(0), low)


def _wanted(problem: RowProblem) -> float:
    """Say how many effective outcomes are not few, given what any smaller variance allows."""
    row = resolve_row(replace(problem, at_most=True, nearest=False))
    return min(_FEWEST_OUTCOMES, _ENOUGH * math.exp(entropy(_priced(row)[0])))


def _priced(row: ResolvedRow) -> tuple[tuple[float, ...], float]:
    """Give the law of a row, and the price of its variance: above 0 where less gives more."""
    distribution, price = row.law, {"greatest": 1.0}.get(row.place, 0.0)
    if distribution is None and row.problem.unimodal:
        _, distribution, multipliers = best_peak(row.problem)
        price = 0.0 if multipliers is None else multipliers[1]
    elif distribution is None:
        best = maximise(row.problem, polish=False)
        distribution, price = best.law, best.multipliers[1]
    return tuple(map(float, distribution)), price


def last_stay(row: RowProblem, variance: float) -> float:
    """Give the probability that a count far from zero stays, at another variance."""
    problem = replace(row, variance=Fraction(variance))
    if row.unimodal:  # the middle is the best peak where both sides are alike
        problem = problem.with_peak(row.noise.index(0))
    distribution = maximise(problem, polish=False).law
    return float(distribution[row.noise.index(0)])


def _row(rows: Mapping[int, _Law], count: int) -> _Law:
    return rows[min(count, max(rows))]


def _p_source(rows: Mapping[int, _Law], published: int, prior: float) -> float:
    """Weigh a published count by Bayes' rule: how likely it is the true one."""
    reach = max(-min(distribution) for distribution in rows.values())
    weights = {
        i: _row(rows, i).get(published - i, 0.0) * prior ** (i - published)
        for i in range(1, published + reach + 1)
    }
    total = math.fsum(weights.values())
    return weights.get(published, 0.0) / total if total else 0.0
