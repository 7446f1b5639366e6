"""What noise does to a count: a handful of figures of protection and of use, row by row."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from ptable.dual import maximise
from ptable.errors import PTableError
from ptable.faces import resolve
from ptable.peaks import best_peak

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ptable.faces import ResolvedRow
    from ptable.row import RowProblem
    from ptable.spec import NoiseSpec
    from ptable.stack import StackedSpec

__all__ = ["Figures", "figures", "figures_of", "last_stay", "laws"]

_Law: TypeAlias = "Mapping[int, float]"
_MOST_COUNTS = 10


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

    @property
    def p_changed(self) -> float:
        """The share of large cells that are changed: one less the probability of staying.

        Examples
        --------
        >>> from ptable import NoiseSpec
        >>> round(figures(NoiseSpec(max_noise=2, variance=1.0)).p_changed, 4)
        0.617
        """
        return 1 - self.p_stay

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
            "Figures are for counts, not for magnitudes with steps or anchors.",
            hint="leave step and anchors out",
        )
    return figures_of(laws(spec), last_count=spec.last_count, prior=prior)


def figures_of(rows: Mapping[int, _Law], *, last_count: int, prior: float = 1.0) -> Figures:
    """Compute the figures of rows of noise.

    Parameters
    ----------
    rows
        The probabilities of every row, by count and noise; a count that may not be published
        has no noise 0.
    last_count
        The count of the row that serves all larger counts.
    prior
        The ratio of the prior over counts from 1 on, in (0, 1]; 1 is flat.

    Examples
    --------
    >>> third = 1 / 3
    >>> figures_of({1: {-1: third, 0: third, 1: third}}, last_count=1).p_source
    ((1, 0.5), (2, 0.3333333333333333))
    """
    if not 0 < prior <= 1:
        raise PTableError(f"prior must lie in (0, 1], not {prior!r}.", hint="1 is flat")
    last = rows[last_count]
    staying = [law[0] for count, law in rows.items() if count and 0 in law]
    blocked = max((count for count, law in rows.items() if 0 not in law), default=0)
    small = range(1, min(blocked + 2, _MOST_COUNTS) + 1)
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
    """Give the noise of greatest entropy of every row, by count and noise, in floats.

    Parameters
    ----------
    spec
        A specification that can be met.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> {v: round(p, 4) for v, p in laws(NoiseSpec(max_noise=2, variance=1.0))[1].items()}
    {-1: 0.3981, 0: 0.3058, 1: 0.1942, 2: 0.1019}
    """
    return {row.problem.count: _law(row) for row in resolve(spec)}


def last_stay(row: RowProblem, variance: float) -> float:
    """Give the probability that a count far from zero stays, at another variance.

    Parameters
    ----------
    row
        A row whose noise values are symmetric about zero.
    variance
        The variance, inside the reach of the row, in squared steps.

    Examples
    --------
    >>> from ptable import NoiseSpec
    >>> row = NoiseSpec(max_noise=2, variance=1.0).row(2)
    >>> round(last_stay(row, 0.5), 4)
    0.563
    """
    problem = replace(row, variance=Fraction(variance))
    if row.unimodal:  # the middle is the best peak where both sides are alike
        problem = problem.with_peak(row.noise.index(0))
    law = maximise(problem, polish=False).law
    return float(law[row.noise.index(0)])


def _law(row: ResolvedRow) -> dict[int, float]:
    law = row.law
    if law is None and row.problem.unimodal:
        law = best_peak(row.problem)[1]
    elif law is None:
        law = maximise(row.problem, polish=False).law
    return dict(zip(row.problem.noise, map(float, law), strict=True))


def _row(rows: Mapping[int, _Law], count: int) -> _Law:
    return rows[min(count, max(rows))]


def _p_source(rows: Mapping[int, _Law], published: int, prior: float) -> float:
    """Weigh a published count by Bayes' rule: how likely it is the true one."""
    reach = max(-min(law) for law in rows.values())
    weights = {
        i: _row(rows, i).get(published - i, 0.0) * prior ** (i - published)
        for i in range(1, published + reach + 1)
    }
    total = math.fsum(weights.values())
    return weights.get(published, 0.0) / total if total else 0.0
