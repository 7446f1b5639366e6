"""What a design by limits saves, on cell sizes that it was not given: `bench.limits_saved`."""

from __future__ import annotations

import numpy as np
import pytest

from bench.limits_saved import DESIGNS, acs, demonstration, literature, normalised, scored
from ckm.config.job.limits import TEXTBOOK
from ckm.release.prior_of_tables import smoothed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["ACS", "demonstration"])
def priors(request):
    """Give what the design gets, and what only the score has."""
    if request.param == "ACS":
        request.getfixturevalue("shared")
    cells = acs() if request.param == "ACS" else demonstration(10_000)
    given = smoothed(np.arange(len(cells["given"])), cells["given"].astype(np.int64))
    unseen = {name: normalised(sizes) for name, sizes in cells.items() if name != "given"}
    textbook = normalised(np.array(TEXTBOOK))
    return (tuple(given.tolist()), textbook), unseen | literature()


@pytest.mark.parametrize(("reach", "variance", "small", "goal"), DESIGNS)
def test_at_equal_limits_much_variance_is_saved_on_cells_never_seen(
    priors, reach, variance, small, goal
):
    given, unseen = priors
    score = scored((reach, variance, small), given, unseen)
    assert score.saved["the other half"] >= goal
    assert min(score.saved.values()) >= goal
    assert score.largest[0] <= variance * (1 + 1e-9)
    assert score.is_unimodal
    assert score.excess["the prior given"] <= 0.02
    assert score.excess["the other half"] <= 0.02
    before, after = score.worst["the other half"]
    assert after <= before + 0.005
