"""How the sums of a table were changed, and what they tell of the largest contributor."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.engine.magnitudes import MagnitudeError, plan_noise
from ckm.engine.magnitudes.noise.scale import bases
from ptable.lookup import moments
from reports.facts.release import AmountFact, AmountNoiseFact
from risk.amount_deviations import amount_deviations
from risk.amounts import AmountNoise
from risk.errors import RiskError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ckm.engine.magnitudes import MagnitudeNoise
    from tables import Magnitudes

#: How near an estimate is that finds the largest contributor, as a share of its amount.
NEAR = 0.1
_WITHIN = 0.05


def amount_fact(
    table: str,
    magnitudes: Magnitudes,
    published: NDArray[np.float64],
    *,
    noise: MagnitudeNoise,
) -> AmountFact:
    """Measure what the noise did to the sums of a variable.

    A cell is exposed where the second largest contributor, who knows the own amount and
    subtracts it, would come within a tenth of the largest without noise: what the rest adds is
    no more than that. The chance with noise is that of the p-table, jitter included. Where
    three or more contributors have amounts of both signs, the rest may cancel out, and nobody
    knows how near the estimate is: these cells are not judged.
    """
    fact = deviation_fact(table, magnitudes.variable, magnitudes.total, published)
    if not fact.cells:
        return fact
    exposed, expected, found = _exposure(magnitudes, published, noise)
    return replace(fact, exposed=exposed, expected=expected, found=found)


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
        AmountNoiseFact(variable=name, base=noise.base, **_law(noise))
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


def _exposure(
    magnitudes: Magnitudes, published: NDArray[np.float64], noise: MagnitudeNoise
) -> tuple[int | None, float | None, float | None]:
    """Count exposed cells; give the chance of a near estimate, by formula and as it came."""
    try:
        largest, second = bases(magnitudes, base="top", components=2).T
    except MagnitudeError:  # the noise asked for fewer of the largest contributors
        return None, None, None
    is_small = magnitudes.contributors <= 2
    is_judged = is_small | (magnitudes.low >= 0) | (magnitudes.high <= 0)
    is_judged &= magnitudes.contributors > 0
    if not is_judged.any():
        return None, None, None
    side = np.where(magnitudes.low >= 0, 1.0, -1.0)
    others = np.maximum(np.abs(magnitudes.total) - largest - second, 0.0)
    rest = np.where(is_small, 0.0, side * others)
    here = np.flatnonzero(is_judged & (others * ~is_small <= NEAR * largest))
    if not here.size:
        return 0, None, None
    off = np.abs(published - magnitudes.total + rest)[here]
    expected = None
    if noise.rules == "ckm" and noise.n_components == 1:
        shares = rest[here] / largest[here]
        expected = float(_chances(magnitudes, noise, here, shares).mean())
    return len(here), expected, float((off <= NEAR * largest[here]).mean())


def _chances(
    magnitudes: Magnitudes,
    noise: MagnitudeNoise,
    here: NDArray[np.int64],
    rest: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Give the probability of a near estimate in every exposed cell."""
    plan = plan_noise(magnitudes, noise)
    units = plan.steps[here, 0] / magnitudes.largest[here]
    kinds = np.stack([plan.regime[here], plan.row[here]])
    found = np.ones(len(here))
    for regime, row in np.unique(kinds, axis=1).T.tolist():
        same = np.flatnonzero((kinds[0] == regime) & (kinds[1] == row) & (units > 0))
        values, chances = plan.regimes[regime].law(row)
        law = AmountNoise(
            share=1.0,
            values=tuple(values),
            probabilities=tuple(chances),
            width=plan.regimes[regime].width,
        )
        upper = law.below((NEAR - rest[same]) / units[same])
        lower = law.below(np.nextafter((-NEAR - rest[same]) / units[same], -np.inf))
        found[same] = upper - lower
    return found
