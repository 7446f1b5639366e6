"""Original means beside noisy counts. Error rates: one in 370; seeds are fixed."""

import numpy as np
import pytest

from risk.attacks import MeansBesideCounts, SimulatedOracle, candidate_counts
from risk.errors import RiskError
from tests.unit.risk.attacks.support import r_table


def lines_of_ages(n, seed):
    """Draw lines of two parts of 5 to 50 persons, and the sums of their ages of 0 to 60."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(5, 51, (n, 2))
    sums = np.array([[rng.integers(0, 61, size).sum() for size in line] for line in counts])
    return counts, sums


def test_the_worked_example_of_the_handbook_has_six_candidates_of_which_one_is_exact():
    published, means = [9, 14, 19], [11.25, 95 / 12, 9.25]
    candidates = candidate_counts(published, max_noise=2)
    assert sorted(map(tuple, candidates.tolist())) == [
        (7, 12, 19),
        (7, 13, 20),
        (7, 14, 21),
        (8, 12, 20),
        (8, 13, 21),
        (9, 12, 21),
    ]
    for attack in (
        MeansBesideCounts(max_noise=2),
        MeansBesideCounts(max_noise=2, decimals=4),
        MeansBesideCounts(max_noise=2, decimals=4, has_whole_sums=True),
    ):
        digits = 12 if attack.decimals is None else attack.decimals
        rounded = np.round(means, digits)
        assert attack.solve(published, means=rounded).tolist() == [[8, 12, 20]]


# Reference: 6, 85 and 100 %, and 1, 74 and 100 %; its counts and amounts are not said. Counts
# of 5 to 50 and whole ages give them; sums that may be any number do not reach 100 %. The
# error of a share near 0 or 1 is taken as that of 0.4 %.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "decimals", "reference"),
    [
        ((2, 1), 1, 0.06),
        ((2, 1), 2, 0.85),
        ((2, 1), 4, 1.0),
        ((5, 3), 1, 0.01),
        ((5, 3), 2, 0.74),
        ((5, 3), 4, 1.0),
    ],
)
def test_as_many_lines_are_solved_as_in_the_reference(setting, decimals, reference):
    n = 700
    counts, sums = lines_of_ages(n, seed=91)
    oracle = SimulatedOracle(r_table(*setting), counts, rng=np.random.default_rng(92))
    attack = MeansBesideCounts(max_noise=setting[0], decimals=decimals, has_whole_sums=True)
    result = attack.run(oracle, truth=counts, sums=sums)
    error = np.sqrt(max(reference * (1 - reference), 0.004) / n)
    assert abs(result.rate - reference) <= 3 * error + 0.005


@pytest.mark.slow
def test_the_truth_is_never_ruled_out():
    counts, sums = lines_of_ages(200, seed=93)
    rng = np.random.default_rng(94)
    for decimals in (None, 0, 1, 3):
        for has_whole_sums in (False, True):
            attack = MeansBesideCounts(
                max_noise=3, decimals=decimals, has_whole_sums=has_whole_sums
            )
            for line, amounts in zip(counts, sums, strict=True):
                original = [*line, line.sum()]
                means = np.array([*amounts, amounts.sum()]) / original
                if decimals is not None:
                    means = np.round(means, decimals)
                published = original + rng.integers(-3, 4, 3)
                assert original in attack.solve(published.tolist(), means=means).tolist()


def test_equal_means_tell_nothing_and_the_defence_leaves_all_candidates_wrong():
    attack = MeansBesideCounts(max_noise=2)
    assert len(attack.solve([9, 14, 19], means=[5, 5, 5])) == 6
    # Sums divided by published counts, as the Handbook advises.
    left = attack.solve([9, 14, 19], means=[90 / 9, 95 / 14, 185 / 19]).tolist()
    assert [8, 12, 20] not in left


def test_refusals_count_and_wrong_input_is_named():
    attack = MeansBesideCounts(max_noise=2)
    result = attack.run(lambda _: [9, None, 19], truth=[[8, 12]], sums=[[90, 95]])
    assert (result.successes, result.queries, result.refused) == (0, 3, 1)
    with pytest.raises(RiskError, match="means must be finite"):
        attack.solve([9, 14, 19], means=[1.0, float("nan"), 2.0])
    with pytest.raises(RiskError, match="two parts and their total, not 2"):
        attack.solve([9, 14], means=[1.0, 2.0, 3.0])
    with pytest.raises(RiskError, match="counts 1 or more"):
        attack.run(lambda _: None, truth=[[0, 4]], sums=[[0, 4]])
    with pytest.raises(RiskError, match="decimals must be an integer from 0 to 15"):
        MeansBesideCounts(max_noise=2, decimals=16)
