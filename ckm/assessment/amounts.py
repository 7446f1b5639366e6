"""How the sums of a table were changed, and what they tell of the largest contributor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.engine.magnitudes import MagnitudeError, plan_noise
from ckm.engine.magnitudes.noise.alike import alike_cells, as_counted
from ckm.engine.magnitudes.noise.scale import bases
from ckm.engine.magnitudes.sensitive.conditions import sensitive_cells
from ptable.lookup import moments
from reports.facts.copying import fact_of
from reports.facts.release import AmountFact, AmountNoiseFact
from risk.amount_deviations import amount_deviations
from risk.amounts import AmountNoise, chance_within
from risk.errors import RiskError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from ckm.engine.magnitudes import MagnitudeNoise
    from ckm.engine.magnitudes.noise.alike import CountNoise
    from ckm.engine.magnitudes.noise.plan import NoisePlan
    from tables.magnitudes.amounts import Magnitudes

#: How near an estimate is that finds the largest contributor, as a share of its amount.
NEAR = 0.1
_WITHIN = 0.05
_NONE = 1e-300  # a share that is no noise
_JUDGED = 1000  # exposed cells of a table whose chance is computed, evenly spread


def amount_fact(
    table: str,
    magnitudes: Magnitudes,
    published: NDArray[np.float64],
    *,
    noise: MagnitudeNoise,
    counts: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    count_noise: CountNoise | None = None,
) -> AmountFact:
    """Measure what the noise did to the sums of a variable; `counts` before and after noise.

    Sums of amounts that are alike have the noise of a count, too, where it is given.

    A cell is exposed where the second largest contributor, who knows the own amount and
    subtracts it, would come within a tenth of the largest without noise: what the rest adds is
    no more than that. The chance with noise is that of the p-table, jitter included. Where
    three or more contributors have amounts of both signs, the rest may cancel out, and nobody
    knows how near the estimate is: these cells are not judged.
    """
    fact = deviation_fact(table, magnitudes.variable, magnitudes.total, published)
    if not fact.cells:
        return fact
    if counts is not None:
        true_counts = counts[0][(counts[1] == 0) & (published != 0)]
        single = float((true_counts == 1).mean()) if len(true_counts) else None
        fact = replace(fact, told=len(true_counts), single=single)
    exposed = exposed_cells(magnitudes, published)
    if exposed is None:
        return fact
    fact = replace(fact, exposed=len(exposed.places))
    if not len(exposed.places):
        return fact
    share = float((np.abs(exposed.estimates - 1) <= NEAR).mean())
    return replace(
        fact, expected=_expected(magnitudes, exposed, noise, count_noise), found=share
    )


def deviation_fact(table: str, variable: str, original: Any, published: Any) -> AmountFact:
    """Measure how far published sums, or weighted counts, lie from the original ones."""
    fact = AmountFact(table=table, variable=variable, cells=0)
    try:
        deviations = amount_deviations(original, published)
    except RiskError:  # nobody contributes
        return fact
    return replace(
        fact,
        cells=deviations.cells,
        bias=deviations.bias,
        median=deviations.relative[0.5],
        most=deviations.relative[0.9],
        within=deviations.within[_WITHIN],
    )


def amount_noises(noises: Mapping[str, MagnitudeNoise]) -> tuple[AmountNoiseFact, ...]:
    """Say how the sums of each variable are perturbed."""
    return tuple(
        fact_of(AmountNoiseFact, noise, variable=name, **_law(noise))
        for name, noise in noises.items()
    )


def _law(noise: MagnitudeNoise) -> dict[str, float]:
    table = noise.ptable
    if table is None:
        return {}
    unit = noise.scale.small / table.step
    rows = [moments(table.units(count), table.key_range) for count in table.counts.tolist()]
    variance = float(max(variance for _, variance in rows))
    return {"deviation": unit * variance**0.5, "largest": unit * table.max_noise}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Exposed:
    """Cells whose original sum would give the largest contributor away. Disclosive.

    Attributes
    ----------
    places
        Where they are.
    rest
        What others than the two largest contribute, as a share of the largest.
    estimates
        What the second largest takes for the largest, as a share of it.
    """

    places: NDArray[np.int64]
    rest: NDArray[np.float64]
    estimates: NDArray[np.float64]


def exposed_cells(magnitudes: Magnitudes, published: NDArray[np.float64]) -> Exposed | None:
    """Find the exposed cells of a variable; None where nothing is known of any cell."""
    try:
        largest, second = bases(magnitudes, base="top", components=2).T
    except MagnitudeError:  # the noise asked for fewer of the largest contributors
        return None
    is_small = magnitudes.contributors <= 2
    is_judged = is_small | (magnitudes.low >= 0) | (magnitudes.high <= 0)
    is_judged &= magnitudes.contributors > 0
    if not is_judged.any():
        return None
    side = np.where(magnitudes.low >= 0, 1.0, -1.0)
    others = np.maximum(np.abs(magnitudes.total) - largest - second, 0.0)
    rest = np.where(is_small, 0.0, side * others)
    here = np.flatnonzero(is_judged & (others * ~is_small <= NEAR * largest))
    off = (side * (published - magnitudes.total + rest))[here]
    return Exposed(here, rest[here] / largest[here], 1 + off / largest[here])


def _expected(
    magnitudes: Magnitudes, exposed: Exposed, noise: MagnitudeNoise, counts: CountNoise | None
) -> float | None:
    """Give the probability of a near estimate in exposed cells, by formula.

    Amounts that are alike are those of as many contributors as a count with noise says: the
    probability is the mean over its noise, whose law is known.
    """
    if noise.rules != "ckm" or noise.n_components > 1:
        return None
    turn = slice(None, None, -(-len(exposed.places) // _JUDGED))
    own, rest = magnitudes.take(exposed.places[turn]), exposed.rest[turn]
    chances = np.zeros(len(own))
    for weights, changed, sensitive in _outcomes(own, noise, counts):
        plan = plan_noise(changed, noise, sensitive=sensitive)
        unknown = rest + (changed.total - own.total) / own.largest
        for cell in np.flatnonzero(weights).tolist():
            near = _chance(plan, cell, largest=float(own.largest[cell]), others=unknown[cell])
            chances[cell] += weights[cell] * near
    return float(chances.mean())


def _outcomes(
    own: Magnitudes, noise: MagnitudeNoise, counts: CountNoise | None
) -> Iterator[tuple[NDArray[np.float64], Magnitudes, NDArray[np.bool_]]]:
    """Give, with its probability in each cell, what the amounts are before their noise."""
    is_counted = np.zeros(len(own), bool)
    if counts is not None and counts.variance:
        is_counted = alike_cells(own)
    yield np.where(is_counted, 0.0, 1.0), own, sensitive_cells(own, noise.sensitive)
    if counts is None or not is_counted.any():
        return
    distributions = [
        counts.law(n) if is_one else {}
        for n, is_one in zip(own.contributors.tolist(), is_counted.tolist(), strict=True)
    ]
    for off in sorted(
        {noise_of_count for distribution in distributions for noise_of_count in distribution}
    ):
        weights = np.array([distribution.get(off, 0.0) for distribution in distributions])
        published = np.maximum(own.contributors + off, 0)
        yield weights, *as_counted(own, noise, counts, published=published)


def _chance(plan: NoisePlan, cell: int, *, largest: float, others: float) -> float:
    """Give the probability that the noise of a cell leaves its estimate near."""
    regime = plan.regimes[int(plan.regime[cell])]
    values, shares = map(tuple, regime.law(int(plan.row[cell])))
    units = (plan.steps[cell] / largest).tolist()
    distribution = AmountNoise(
        share=units[0] or _NONE, values=values, probabilities=shares, width=regime.width
    )
    beside = [size / distribution.share for size in units[1:] if size]
    return float(chance_within(distribution, percent=100 * NEAR, others=others, beside=beside))
