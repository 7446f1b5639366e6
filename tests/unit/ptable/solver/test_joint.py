"""The linear program of limits: its unknowns, its lines, the row that serves larger counts."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ptable import Limits, NoiseSpec, PTable
from ptable.solver.joint import Joint, Linear, limits_of

PRIOR = tuple(0.0 if i == 0 else 1 / (i * (i + 1)) for i in range(60))


def joint(**options):
    limits = Limits(**{"priors": (PRIOR,), "variance_floor": 0.5, **options})
    return Joint.of(
        NoiseSpec(max_noise=2, variance=2.0, limits=limits, objective="least-variance")
    )


def line(stated, name):
    (found,) = (one for one in stated.lines() if one.name == name)
    return found


def sums(stated, one, values):
    return np.bincount(one.row, weights=one.weight * values[one.place], minlength=len(one.goal))


def test_there_is_a_row_for_every_origin_of_what_a_sensitive_count_is_published_as():
    stated = joint()
    assert stated.limits.sensitive == (1, 2)
    assert stated.counts.tolist() == [1, 2, 3, 4, 5, 6]  # 2 + 2 * 2
    assert stated.origins[4] == [2, 3, 4, 5, 6]
    assert stated.last == 6


def test_the_count_after_the_last_has_the_last_row_shifted():
    stated = joint()
    assert stated.at(7, 9) == stated.at(6, 8) == stated.place[6, 8]
    assert stated.at(7, 4) is None
    assert (6, 7) in stated.pairs
    assert (7, 6) in stated.pairs


def test_posteriors_are_linear_in_the_probabilities():
    stated = joint(posterior=0.8, posterior_set=0.9)
    rng = np.random.default_rng(1)
    values = rng.random(stated.size)
    for name, limit, some in (
        ("posterior", 0.8, (1,)),
        ("posterior of the set", 0.9, (1, 2)),
    ):
        one = line(stated, name)
        first = sums(stated, one, values)[0]  # of published 0
        shown = {k: PRIOR[k] * values[stated.place[k, 0]] for k in stated.origins[0]}
        inside = sum(shown[k] for k in some)
        scale = max(stated.share(0, k) for k in some) / stated.share(0, 1) * PRIOR[1]
        assert first == pytest.approx((inside - limit * sum(shown.values())) / scale)


def test_zeros_count_in_a_posterior_by_name_alone():
    prior = (1.0, *PRIOR[1:])
    with_zeros = joint(zeros_in_prior=True, priors=(prior,))
    one = line(with_zeros, "posterior")
    assert one.goal[0] == pytest.approx(0.75 * 1.0 / PRIOR[1])  # a true zero is published as 0
    assert not line(joint(priors=(prior,)), "posterior").goal.any()


def test_neighbours_are_held_by_auxiliaries():
    stated = joint(neighbours=(1.0, 0.1))
    one = line(stated, "excess over a neighbour")
    values = np.zeros(stated.size)
    values[stated.place[1, 0]], values[stated.place[2, 0]] = 0.5, 0.1
    first = sums(stated, one, values)[0]
    assert first == pytest.approx(0.5 - math.e * 0.1)
    assert (line(stated, "neighbours").goal == 0.1).all()
    assert not joint(neighbours=None).extras


def test_margins_tighten_what_they_are_for():
    stated, plain = joint(), joint()
    tight = Joint(spec=stated.spec, limits=stated.limits, rows=stated.rows, margin=1e-3)
    for name in ("variance ceiling", "variance floor", "neighbours", "stay"):
        assert (line(tight, name).goal < line(plain, name).goal).all()
    assert line(tight, "posterior").weight.sum() > line(plain, "posterior").weight.sum()


def test_a_row_counts_by_its_cells_and_the_last_by_all_larger_ones():
    weights = joint().weights
    assert sum(weights[i] for i in range(1, 7)) == pytest.approx(1)
    assert weights[6] == pytest.approx(sum(PRIOR[6:]) / sum(PRIOR))


def test_a_row_keeps_to_the_variance_that_it_can_have():
    limits = Limits(priors=(PRIOR,))
    stated = Joint.of(NoiseSpec(max_noise=4, variance=1.0, small=2, limits=limits))
    low, high = stated.variance_limits(stated.rows[0])  # noise of -1, 2, 3, 4
    assert float(high) == pytest.approx(2, rel=2e-3)
    assert low == 1


def test_a_specification_without_limits_has_none():
    spec = NoiseSpec(max_noise=2, variance=1.0)
    assert limits_of(spec) is None
    assert [one.name for one in Joint.of(spec).lines()] == ["distribution", "mean", "variance"]
    assert Joint.of(spec).limits.sensitive == (1,)
    assert Linear.of("nothing", "", "=", []) is None


def near_a_target():
    """Seek a table near one whose counts go up or down in a quarter of the cells each."""
    target = PTable.from_units([{0: 8}, {-1: 2, 0: 4, 1: 2}], key_range=8)
    limits = Limits(priors=(PRIOR,), posterior=None, neighbours=(1.0, 0.1))
    return Joint.of(
        NoiseSpec(
            max_noise=2, variance=2.0, limits=limits, objective="distance-to", target=target
        )
    )


def test_each_probability_has_a_distance_to_the_target_which_alone_is_lost():
    stated = near_a_target()
    assert (stated.target[1, 0], stated.target[5, 5], stated.target.get((1, 3))) == (
        *(0.25, 0.5),
        None,
    )
    assert not stated.costs[: len(stated.entries)].any()
    for (kind, *at), place in stated.extras.items():
        assert stated.costs[place] == (stated.weights[at[0]] / 2 if kind == "D" else 0)
    assert {kind for kind, *_ in stated.extras} == {"T", "D"}
    values = np.random.default_rng(2).random(stated.size)
    above, below = (one for one in stated.lines() if one.name == "distance to the target")
    assert (above.formula, below.formula) == ("P - Q ≤ D[i, j]", "Q - P ≤ D[i, j]")
    off = [values[at] - stated.target.get(ends, 0.0) for ends, at in stated.place.items()]
    distances = [values[stated.extras["D", i, j]] for i, j in stated.entries]
    for one, sign in ((above, 1), (below, -1)):
        slack = sign * np.array(off) - distances
        assert sums(stated, one, values) - one.goal == pytest.approx(slack)


def test_what_the_target_has_on_a_closed_entry_is_lost_for_certain():
    stated = near_a_target()
    tight = replace(stated, closed=frozenset({(1, 0), (4, 6)}), budget=0.5)
    left = 0.5 - stated.weights[1] / 2 * 0.25  # the target has nothing on (4, 6)
    one = line(tight, "loss")
    assert one.goal.tolist() == [1.0]
    assert one.weight == pytest.approx(tight.costs[tight.costs > 0] / left)
    other = replace(joint(), closed=frozenset({(1, 0)}), budget=0.5)
    assert line(other, "loss").weight == pytest.approx(other.costs[other.costs > 0] / 0.5)


def test_a_margin_takes_no_more_than_a_quarter_of_what_is_between_floor_and_ceiling():
    stated = joint(variance_floor=1.9)
    for margin, taken in ((0.5, 0.1 / 4), (1e-3, 0.05 * 1e-3 * 4)):
        tight = replace(stated, margin=margin)
        assert line(tight, "variance ceiling").goal == pytest.approx([2.0 - taken] * 6)
        assert line(tight, "variance floor").goal == pytest.approx([-1.9 - taken] * 6)


def test_the_second_moment_of_a_biased_row_has_the_square_of_its_mean():
    limits = Limits(priors=((1.0, *PRIOR[1:]),), zeros_in_prior=True)
    stated = Joint.of(NoiseSpec(max_noise=2, variance=2.0, zero_bias=0.5, limits=limits))
    assert (stated.rows[0].count, stated.rows[0].mean) == (0, Fraction(1, 2))
    assert stated.variance_limits(stated.rows[0]) == (0, 4)  # zeros have no floor
    assert line(stated, "variance ceiling").goal[:2] == pytest.approx([4 + 0.25, 2])
    assert line(stated, "mean").goal[:2].tolist() == [0.5, 0]


@pytest.mark.parametrize(
    ("rule", "relation", "sign", "room"),
    [("exact", "=", 1, 0.0), ("at-most", "≤", 1, 5e-5), ("at-least", "≤", -1, 5e-5)],
)
def test_staying_is_met_or_bounded_as_its_rule_says(rule, relation, sign, room):
    limits = Limits(priors=(PRIOR,))
    spec = NoiseSpec(max_noise=2, variance=2.0, p_stay=0.4, p_stay_rule=rule, limits=limits)
    one = line(replace(Joint.of(spec), margin=1e-3), "stay")
    assert (one.relation, set(one.weight.tolist())) == (relation, {sign})
    assert one.goal == pytest.approx([sign * 0.4 - room] * 6)


def test_the_best_guess_is_a_share_of_the_sensitive_counts():
    stated = joint(best_guess=0.7)
    values = np.random.default_rng(3).random(stated.size)
    one = line(stated, "best guess of one count")
    total = PRIOR[1] + PRIOR[2]
    below = [
        PRIOR[i] / total * values[stated.place[i, j]] - values[stated.extras["U", (1, 2), 0, j]]
        for i, j in stated.entries
        if i <= 2
    ]
    assert sums(stated, one, values) == pytest.approx(below)
    assert not one.goal.any()
    best = line(replace(stated, margin=1e-3), "best guess")
    assert best.goal == pytest.approx([0.7 - 5e-5])
    guessed = [values[stated.extras["U", (1, 2), 0, j]] for j in range(5)]
    assert sums(stated, best, values) == pytest.approx([sum(guessed)])
