"""Deviations of totals against pandas and against what the noise states."""

import numpy as np
import pandas as pd
import pytest

from ckm.engine.magnitudes import MagnitudeNoise, perturb_magnitudes, plan_noise
from risk.amount_deviations import amount_deviations
from risk.errors import RiskError
from tables import Secret
from tests.amounts import amounts


def test_figures_are_those_of_pandas():
    rng = np.random.default_rng(5)
    before = rng.normal(0, 100, 501)
    after = before * (1 + rng.normal(0, 0.1, 501))
    before[:20] = after[:20] = 0.0
    found = amount_deviations(before, after)
    frame = pd.DataFrame({"x": before, "d": after - before})[20:]
    ratio = (frame["d"] / frame["x"]).abs()
    assert found.cells == 481
    assert found.bias == pytest.approx(frame["d"].sum() / frame["x"].abs().sum())
    assert found.mean_absolute == pytest.approx(frame["d"].abs().mean())
    assert found.root_mean_square == pytest.approx((frame["d"] ** 2).mean() ** 0.5)
    for level, value in found.relative.items():
        assert (ratio <= value).mean() >= level > (ratio < value).mean()
    for bound, share in found.within.items():
        assert share == (ratio <= bound).mean()
    assert len(found.to_frame()) == 14


def test_noise_deviates_as_much_as_it_states():
    rng = np.random.default_rng(6)
    cells = amounts(rng.lognormal(8, 1, (3000, 5)).tolist())
    noise = MagnitudeNoise.start(sensitive=())
    published = perturb_magnitudes(cells, noise, secret=Secret(bytes(32)))
    found = amount_deviations(cells.total, published)
    stated = np.sqrt(plan_noise(cells, noise).variances().mean())
    assert found.root_mean_square == pytest.approx(stated, rel=0.1)
    assert abs(found.bias) < 0.005
    assert found.relative[1.0] < 0.56


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(RiskError, match="aligned"):
        amount_deviations([1.0], [1.0, 2.0])
    with pytest.raises(RiskError, match="no original total"):
        amount_deviations([0.0, 0.0], [0.0, 1.0])
    with pytest.raises(RiskError, match="no original total"):
        amount_deviations([], [])
    with pytest.raises(RiskError, match="finite"):
        amount_deviations([np.inf], [1.0])
    assert amount_deviations([0.0, 10.0], [5.0, 10.0]).mean_absolute == 2.5
