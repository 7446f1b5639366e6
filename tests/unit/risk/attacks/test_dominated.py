"""Averaging the sums of cells that one firm dominates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckm.engine.magnitudes import MagnitudeNoise, perturb_magnitudes
from risk.attacks.dominated import DominatedCells, average_dominated
from risk.errors import RiskError
from tables import Secret
from tests.amounts import amounts

N_FIRMS = 400
#: What others add to the cells of each firm, as shares of it.
OTHERS = ((), (0.01,), (0.02, 0.03), (0.03, 0.02), (0.05, 0.01), (0.02, 0.02, 0.01))


def firms(*, is_own):
    """Give estimates of firms from six cells each, by noise of their own or a fresh one."""
    rng = np.random.default_rng(22)
    sizes = np.round(rng.lognormal(10, 1, N_FIRMS))
    cells = amounts([[x, *(x * share for share in other)] for x in sizes for other in OTHERS])
    who = np.repeat(rng.integers(1, 2**63, N_FIRMS, np.uint64), len(OTHERS))
    keys = cells.first_keys.copy()
    keys[:, 0] = who if is_own else cells.key
    noise = MagnitudeNoise.start(decimals=None)
    cells = replace(cells, first_keys=keys)
    published = perturb_magnitudes(cells, noise, secret=Secret(bytes(16)))
    return who, cells.key, (published - cells.first_sizes[:, 1]) / cells.largest


def best_share(ratios):
    """Return how many are within 10 % of a guess that multiplies by the best number."""
    found = [np.abs(factor * ratios - 1) <= 0.1 for factor in np.linspace(0.6, 1.4, 81)]
    return max(near.mean() for near in found)


def test_the_mean_of_a_firms_cells_finds_it_no_more_often_than_one_of_them():
    """Shares of 400 firms have standard errors of 0.025 or less; the bound is 4 of them."""
    who, sets, estimates = firms(is_own=True)
    found = average_dominated(who, sets, estimates, percent=10)
    assert (found.contributors, found.cells) == (N_FIRMS, N_FIRMS * len(OTHERS))
    assert found.alone < 0.01
    assert found.together < 0.01
    means = estimates.reshape(N_FIRMS, -1).mean(axis=1)
    assert best_share(means) < best_share(estimates) + 0.1


def test_independent_noise_is_averaged_away():
    who, sets, estimates = firms(is_own=False)
    found = average_dominated(who, sets, estimates, percent=10)
    assert found.alone < 0.01
    assert found.together > 0.5
    means = estimates.reshape(N_FIRMS, -1).mean(axis=1)
    assert best_share(means) > best_share(estimates) + 0.1


def test_cells_of_the_same_set_count_once_and_contributors_of_one_cell_do_not_count():
    found = average_dominated(
        [1, 1, 1, 2, 2], [5, 5, 6, 7, 7], [1.3, 1.3, 0.8, 1, 1], percent=10
    )
    assert found == DominatedCells(contributors=1, cells=2, alone=0.0, together=1.0)
    nobody = average_dominated([1, 2], [5, 6], [1.0, 1.0], percent=10)
    assert nobody == DominatedCells(contributors=0, cells=0)
    with pytest.raises(RiskError, match="one length"):
        average_dominated([1, 2], [5], [1.0, 1.0], percent=10)
