"""What an intruder believes before."""

from __future__ import annotations

import numpy as np
import pytest

from ptable import NoiseSpec, solve
from risk.distributions.distribution import Law
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.inference.inverse import Inverse


def test_a_prior_shares_cells_out_and_takes_zeros_from_the_grid():
    prior = Prior.from_counts([1, 1, 2, 5], grid_size=10)
    assert prior.probabilities.tolist() == [0.6, 0.2, 0.1, 0.0, 0.0, 0.1]


def test_zeros_may_be_listed_or_left_to_the_grid():
    assert Prior.from_counts([0, 0, 3, 1]) == Prior.from_counts([3, 1], grid_size=4)
    assert hash(Prior.from_counts([0, 1])) == hash(Prior.from_counts([1], grid_size=2))
    assert Prior.from_counts([1]) != Prior.from_counts([1], beyond="last")
    assert Prior.from_counts([1]) != "a prior"


def test_added_cells_follow_their_formula():
    prior = Prior.from_counts([1, 1, 3], grid_size=5, added=0.5)
    assert prior.probabilities == pytest.approx(np.array([2.5, 2.5, 0.5, 1.5]) / 7, abs=1e-15)


def test_a_kernel_follows_its_formula():
    prior = Prior.from_counts([1, 9], grid_size=4, reach=2 / 3)
    # 1 reaches 1, 2 (0 belongs to empty cells); 9 reaches 7..11.
    wanted = np.zeros(12)
    wanted[0] = 2
    wanted[1:3] = [2 / 3, 1 / 3]
    wanted[7:12] = np.array([1, 2, 3, 2, 1]) / 9
    assert prior.probabilities == pytest.approx(wanted / 4, abs=1e-15)


def test_smoothing_keeps_the_share_of_empty_cells_and_fills_gaps():
    counts = np.random.default_rng(3).geometric(0.02, size=300)
    prior = Prior.from_counts(counts, grid_size=900, reach=1.0)
    assert prior.probabilities[0] == pytest.approx(2 / 3, abs=1e-15)
    raw = Prior.from_counts(counts, grid_size=900)
    assert (raw.probabilities[: counts.max() // 2] == 0).any()
    assert (prior.probabilities[: counts.max() // 2] > 0).all()


def test_only_zeros_make_a_prior():
    assert Prior.from_counts([], grid_size=7).probabilities.tolist() == [1.0]


def test_beyond_says_what_holds_above_the_last_count():
    assert Prior.supplied([1, 1]).at([1, 2]).tolist() == [0.5, 0.0]
    assert Prior.supplied([1, 1], beyond="last").at([1, 2]).tolist() == [0.5, 0.5]


def test_a_prior_keeps_its_own_numbers():
    weights = np.array([1.0, 1.0])
    prior = Prior(probabilities=weights / 2)
    with pytest.raises(ValueError, match="read-only"):
        prior.probabilities[0] = 1
    weights[0] = 9
    assert prior.probabilities.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("probabilities", "words"),
    [
        ([0.5, 0.4], "sum to 1 within 1e-9, not to 0.9"),
        ([1.5, -0.5], "0 or more; the smallest is -0.5"),
        ([np.nan, 1.0], "finite"),
        ([np.inf], "finite"),
        ([], "one number per count"),
        ([[1.0]], "one number per count"),
    ],
)
def test_numbers_that_are_no_probabilities_are_refused(probabilities, words):
    with pytest.raises(RiskError, match=words):
        Prior(probabilities=probabilities)


def test_all_problems_are_told_together():
    with pytest.raises(RiskError, match=r"smallest is -1.*sum to 1.*beyond must be"):
        Prior(probabilities=[1, 1, -1, 1], beyond="more")


@pytest.mark.parametrize("weights", [[], [0, 0], [-1, 2], [np.nan], [1e308, 1e308], [[1]]])
def test_weights_that_make_no_prior_are_refused(weights):
    with pytest.raises(RiskError, match="weights must be"):
        Prior.supplied(weights)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Prior.from_counts([1, 2, 3], grid_size=2),
        lambda: Prior.from_counts([]),
        lambda: Prior.from_counts([1.5]),
        lambda: Prior.from_counts([-1]),
        lambda: Prior.from_counts([10**9]),
        lambda: Prior.from_counts([2**60]),
        lambda: Prior.from_counts([1], added=-1),
        lambda: Prior.from_counts([1], reach=np.nan),
        lambda: Prior.from_counts([1], grid_size=True),
        lambda: Prior.two_points(1, 1),
        lambda: Prior.two_points(1, 2, odds=0),
        lambda: Prior.two_points(1, 10**9),
        lambda: Prior.flat().tilted([1], odds=0.5),
        lambda: Prior.flat().tilted([10**9], odds=2),
    ],
)
def test_bad_arguments_are_typed_errors(build):
    with pytest.raises(RiskError):
        build()


def test_a_tilted_prior_multiplies_the_posterior_odds():
    table = solve(NoiseSpec(max_noise=3, variance=2.0))
    prior = Prior.supplied([5, 3, 2, 1, 1], beyond="last")
    suspects = [1, 2, 7]
    before = Inverse(table=table, prior=prior).of_sets(suspects, [1, 2])
    after = Inverse(table=table, prior=prior.tilted(suspects, odds=4)).of_sets(suspects, [1, 2])
    assert after / (1 - after) == pytest.approx(4 * before / (1 - before), rel=1e-12)
    assert prior.tilted(suspects, odds=4).at([100]) / prior.tilted(suspects, odds=4).at(
        [0]
    ) == pytest.approx(0.2)


def test_no_prior_in_the_class_beats_the_tilted_one():
    """Deterministic: 500 priors drawn from the class with a fixed seed, none better."""
    table = solve(NoiseSpec(max_noise=3, variance=2.0))
    rng = np.random.default_rng(11)
    base = rng.dirichlet(np.ones(12))
    prior = Prior.supplied(base)
    worst = Inverse(table=table, prior=prior.tilted([1, 2], odds=3)).of_sets([1, 2], [0, 2])
    for _ in range(500):
        other = Prior.supplied(base * 3 ** rng.choice([0, 1, rng.random()], size=12))
        assert Inverse(table=table, prior=other).of_sets([1, 2], [0, 2]) <= worst + 1e-12


def test_a_frame_lists_counts():
    assert Prior.supplied([1, 3]).to_frame()["probability"].tolist() == [0.25, 0.75]


def test_nothing_of_a_prior_shows_in_its_text():
    assert repr(Prior.from_counts([1, 2])) == "Prior(beyond='none')"


@pytest.mark.parametrize("off", [2e-9, -2e-9, 5e-4])
def test_laws_and_priors_must_sum_to_one(off):
    near, wrong = [0.5, 0.5 + 5e-10], [0.5, 0.5 + off]
    assert Law(lowest=0, probabilities=near).support.tolist() == [0, 1]
    assert Prior(probabilities=near).at([1]) == near[1]
    with pytest.raises(RiskError, match="sum to 1 within 1e-9"):
        Law(lowest=0, probabilities=wrong)
    with pytest.raises(RiskError, match="sum to 1 within 1e-9"):
        Prior(probabilities=wrong)
