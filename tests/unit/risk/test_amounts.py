"""What a total tells about its largest contributor, against the noise as it is drawn."""

import numpy as np
import pytest

from ckm.engine.magnitudes import MagnitudeNoise, PPercent, perturb_magnitudes, plan_noise
from risk.amounts import AmountNoise, chance_within
from risk.errors import RiskError
from tables import Secret
from tables.magnitudes.amounts import Magnitudes
from tests.amounts import amounts

SECRET = Secret(bytes(range(32)))
N = 40_000


def drawn(values, **changes):
    """Publish one cell with other people many times, and state the law of its noise."""
    one = amounts([values])
    many = {
        name: np.repeat(getattr(one, name), N, axis=0)
        for name in one.__dataclass_fields__
        if name not in {"variable", "key_range", "key", "first_keys"}
    }
    rng = np.random.default_rng(7)
    keys, own = rng.integers(0, 2**64, N, np.uint64), rng.integers(0, 2**64, (N, 3), np.uint64)
    cells = Magnitudes(variable="x", key_range=2**64, key=keys, first_keys=own, **many)
    noise = MagnitudeNoise.start(decimals=None, **changes)
    plan = plan_noise(one, noise)
    regime = plan.regimes[plan.regime[0]]
    law, chances = regime.law(int(plan.row[0]))
    stated = AmountNoise(
        share=plan.steps[0, 0] / max(values),
        values=tuple(law),
        probabilities=tuple(chances),
        width=regime.width,
    )
    assert stated.variance == pytest.approx(regime.variance(int(plan.row[0])))
    return perturb_magnitudes(cells, noise, secret=SECRET), stated


@pytest.mark.parametrize("percent", [5, 10, 14, 25])
@pytest.mark.parametrize("values", [[1000.0, 400.0], [1000.0, 400.0, 120.0, 30.0]])
def test_the_chance_of_a_near_estimate_is_that_of_the_draws(values, percent):
    published, noise = drawn(values)
    estimates = published - 400.0
    near = np.abs(estimates - 1000.0) <= percent / 100 * 1000.0
    beside = [] if values[2:] else [0.4]  # a sensitive cell
    others = sum(values[2:]) / 1000
    wanted = chance_within(noise, percent=percent, others=others, beside=beside)
    assert wanted == pytest.approx(near.mean(), abs=0.01)
    assert 0 <= wanted <= 1


def test_sensitive_cells_are_never_estimated_within_the_percent_they_were_found_by():
    _, noise = drawn([1000.0])
    assert chance_within(noise, percent=10) == 0
    assert chance_within(noise, percent=10, beside=[0.04]) == 0
    assert 0.25 < chance_within(noise, percent=10, beside=[1.0]) < 0.35
    _, plain = drawn([1000.0, 400.0], sensitive=())
    assert chance_within(plain, percent=10) > 0.4


def test_without_noise_the_chance_is_the_p_percent_rule():
    nothing = AmountNoise(share=1e-9, values=(0.0,), probabilities=(1.0,))
    for rest in (0.0, 0.05, 0.0999, 0.1001, 0.3):
        found = chance_within(nothing, percent=10, others=rest)
        told = PPercent(percent=10).holds(amounts([[1000.0, 400.0, 1000 * rest]]))
        assert found == told[0]


@pytest.mark.parametrize(
    "fields",
    [
        {"share": 0.0},
        {"share": np.nan},
        {"values": ()},
        {"values": (1.0, 2.0, 3.0)},
        {"values": (np.inf, 1.0)},
        {"probabilities": (0.5, 0.6)},
        {"probabilities": (-0.5, 1.5)},
        {"width": -1.0},
    ],
)
def test_laws_are_checked(fields):
    good = {"share": 0.1, "values": (-1.0, 1.0), "probabilities": (0.5, 0.5), "width": 0.5}
    assert AmountNoise(**good).variance > 1
    with pytest.raises(RiskError):
        AmountNoise(**(good | fields))


def test_bad_questions_are_refused():
    sharp = AmountNoise(share=0.1, values=(-1.0, 1.0), probabilities=(0.5, 0.5))
    with pytest.raises(RiskError, match="percent"):
        chance_within(sharp, percent=-1)
