"""The keys of a row beside every other way to spread them, and closed forms of its goal."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ptable import NoiseSpec, PTable, PTableError, solve
from ptable.quantisation.row_keys import RowGoal, goal_of_row, keys_of_row
from ptable.solver.row import RowProblem
from tests.every_way import allowed, divergence, entropy, every_way, least_drift

NODES = 10_000


def goal_for(spec, count, units, *, total):
    """Say what a row with these units should become, under a specification or without."""
    last = count if spec is None else spec.last_count
    other = {0: sum(units.values())}
    rows = [units if n == count else other for n in range(last + 1)]
    table = PTable.from_units(rows, key_range=sum(units.values())).with_proof(spec, None)
    return goal_of_row(table, count, total=total)


def drawn_goals(seed, n):
    """Draw rows with any of the constraints there are, and a law that need not keep them."""
    rng = np.random.default_rng(seed)
    while n:
        largest = int(rng.integers(1, 4))
        spec = NoiseSpec(
            max_noise=largest,
            variance=float(rng.choice([0.1, 0.5, 0.75, 1.0])) * float(largest),
            small=int(rng.integers(0, largest)),
            monotone=str(rng.choice(["none", "left", "both", "unimodal"])),
            symmetric=bool(rng.integers(0, 2)),
            variance_rule=str(rng.choice(["exact", "at-most", "nearest"])),
            p_stay=[None, 0.25, 0.3, 0.5, 0.9][rng.integers(0, 5)],
            p_stay_rule=str(rng.choice(["exact", "at-least", "at-most"])),
            min_probability=float(rng.choice([0.0, 1e-8, 0.05, 0.1])),
        )
        count = int(rng.integers(1, spec.last_count + 1))
        noise = spec.row(count).noise
        weights = rng.integers(0, 9, len(noise)).tolist()
        total = int(rng.integers(3, 11))
        if len(noise) > 5 or sum(weights) < 2:
            continue
        n -= 1
        yield goal_for(spec, count, dict(zip(noise, weights, strict=True)), total=total)


@pytest.mark.parametrize("seed", range(6))
def test_no_other_keys_drift_less_or_have_more_entropy(seed):
    for goal in drawn_goals(seed, 8):
        ways = allowed(goal.problem, goal.total)
        if not len(ways):
            with pytest.raises(PTableError, match="too few for the constraints"):
                keys_of_row(goal, keep_symmetry=False, most_nodes=NODES)
            continue
        least, best = least_drift(goal, ways)
        keys = keys_of_row(goal, keep_symmetry=False, most_nodes=NODES)
        assert (keys.drift, keys.is_least, keys.gap) == (least, True, 0), goal
        assert (best == keys.units).all(axis=1).any()
        assert entropy(keys.units) >= max(map(entropy, best.tolist())) - 1e-7
        mirrored = keys_of_row(goal, keep_symmetry=True, most_nodes=NODES)
        alike = best[(best == best[:, ::-1]).all(axis=1)]
        assert mirrored.drift == least
        if goal.is_mirrored and len(alike):
            assert mirrored.units == mirrored.units[::-1]
            assert entropy(mirrored.units) >= max(map(entropy, alike.tolist())) - 1e-7
        else:
            assert mirrored.units == keys.units


@pytest.mark.parametrize(
    ("units", "total"),
    [
        ({-2: 1, 0: 5, 3: 4}, 9),
        ({-3: 1, 3: 1}, 3),
        ({-1: 30, 0: 2, 1: 7, 4: 1}, 11),
        ({0: 3, 2: 5}, 7),
        ({1: 9, 2: 4, 3: 1}, 10),
    ],
)
def test_no_other_keys_are_nearer_to_a_table_from_elsewhere(units, total):
    goal = goal_for(None, 3, units, total=total)
    least, best = least_drift(goal, every_way(len(units), total))
    keys = keys_of_row(goal, keep_symmetry=False, most_nodes=NODES)
    assert (keys.drift, keys.is_least) == (least, True)
    nearest = min(divergence(way, goal.law) for way in best.tolist())
    assert divergence(keys.units, goal.law) <= nearest + 1e-7


def test_a_single_noise_value_takes_all_keys():
    goal = goal_for(None, 2, {1: 8}, total=5)
    keys = keys_of_row(goal, keep_symmetry=True, most_nodes=0)
    assert (keys.units, keys.drift, keys.is_least, keys.gap) == ((5,), (0, 0), True, 0)


def test_the_goal_of_a_row_from_elsewhere_is_what_it_is():
    goal = goal_for(None, 3, {-2: 1, 0: 5, 3: 4}, total=100)
    assert goal.problem.noise == (-2, 0, 3)
    assert goal.law == (0.1, 0.5, 0.4)
    assert (goal.problem.mean, goal.problem.variance) == (1, 3)
    assert goal.tilt == pytest.approx([math.log(10), math.log(50), math.log(40)])
    assert goal.curvature is None
    assert goal.drift((10, 50, 40)) == (0, 0)
    assert goal.drift((20, 50, 30)) == (Fraction(1, 2), Fraction(1, 4))


def test_a_count_beyond_the_specification_is_a_row_from_elsewhere():
    spec = NoiseSpec(max_noise=1, variance=0.5)
    table = PTable.from_units([{0: 4}, {-1: 1, 0: 2, 1: 1}, {-2: 1, 0: 2, 2: 1}], key_range=4)
    goal = goal_of_row(table.with_proof(spec, None), 2, total=8)
    assert (goal.problem.noise, goal.problem.variance) == ((-2, 0, 2), 2)


def test_the_cost_of_a_law_of_greatest_entropy_is_straightened_to_nothing():
    spec = NoiseSpec(max_noise=4, variance=2.0)
    table = solve(spec)
    for count in (2, 4):
        goal = goal_of_row(table, count, total=1000)
        keys = [1000 * p for p in goal.law]
        assert goal.tilt == pytest.approx([math.log(n) for n in keys], abs=1e-6)
        slope = table.certificate.rows[count - 1].multipliers[1]
        assert goal.curvature == pytest.approx(slope, abs=1e-6)


def test_noise_that_a_law_leaves_out_does_not_bend_its_goal():
    spec = NoiseSpec(max_noise=3, variance=1.0)
    goal = goal_for(spec, 3, {-1: 1, 0: 2, 1: 1}, total=16)
    curve = [math.log(8) - v * v * math.log(2) for v in range(-3, 4)]
    assert goal.tilt == pytest.approx(curve)
    assert goal.curvature == pytest.approx(-math.log(2))


def test_an_upper_bound_never_rewards_a_larger_variance():
    spec = NoiseSpec(max_noise=2, variance=3.0, variance_rule="at-most")
    goal = goal_for(spec, 2, {-2: 4, -1: 1, 0: 1, 1: 1, 2: 4}, total=16)
    assert goal.curvature == 0
    exact = goal_for(replace(spec, variance_rule="exact"), 2, {-2: 4, 0: 1, 2: 4}, total=16)
    assert exact.curvature > 0
    assert goal.drift((1, 0, 14, 0, 1)) == (0, 0)
    assert goal.drift((8, 0, 0, 0, 8)) == (0, 1)


def test_an_upper_bound_that_does_not_bind_leaves_the_law_its_own_variance():
    spec = NoiseSpec(max_noise=2, variance=3.0, variance_rule="at-most")
    goal = goal_for(spec, 2, dict.fromkeys(range(-2, 3), 51), total=255)
    keys = keys_of_row(goal, keep_symmetry=False, most_nodes=NODES)
    assert keys.units == (51,) * 5


@pytest.mark.parametrize(
    ("units", "variance"),
    [
        ({-2: 250, 0: 500, 2: 250}, Fraction(2)),  # it took another variance than 1
        ({-1: 499_996, 0: 8, 1: 499_996}, Fraction(1)),  # rounding alone
        ({-1: 499_994, 0: 12, 1: 499_994}, Fraction(999_988, 10**6)),
    ],
)
def test_a_row_that_took_the_nearest_variance_keeps_it(units, variance):
    spec = NoiseSpec(max_noise=2, variance=1.0, variance_rule="nearest")
    assert goal_for(spec, 2, units, total=16).problem.variance == variance
    exact = replace(spec, variance_rule="exact")
    assert goal_for(exact, 2, units, total=16).problem.variance == 1


def test_what_counts_as_another_variance_grows_with_the_variance():
    spec = NoiseSpec(max_noise=5, variance=10.0, variance_rule="nearest")
    half = 10**6 // 5  # ±5 in two fifths of the keys: a variance of 10
    for moved, variance in ((1, 10), (3, 10 - Fraction(150, 10**6))):
        units = {-5: half - moved, 0: 10**6 - 2 * (half - moved), 5: half - moved}
        assert goal_for(spec, 5, units, total=16).problem.variance == variance


def test_noise_beyond_the_specification_is_refused():
    with pytest.raises(PTableError, match="noise of count 1 goes beyond the table's spec"):
        goal_for(NoiseSpec(max_noise=1, variance=0.5), 1, {-1: 4, 2: 4}, total=16)


def test_which_laws_are_best_when_they_mirror_themselves():
    def goal(noise, law, *, mean=0, curvature=None, **shape):
        problem = RowProblem(
            count=3, noise=noise, variance=Fraction(1), mean=Fraction(mean), **shape
        )
        return RowGoal(problem=problem, law=law, tilt=law, curvature=curvature, total=8)

    even, odd = (0.25, 0.5, 0.25), (0.5, 0.25, 0.25)
    assert goal((-1, 0, 1), even).is_mirrored
    assert not goal((-1, 0, 1), odd).is_mirrored
    assert not goal((-1, 0, 2), even).is_mirrored
    assert not goal((-1, 0, 1), even, mean=1).is_mirrored
    # under a specification the best law follows from the constraints, whatever it is now
    assert goal((-1, 0, 1), odd, curvature=-0.1).is_mirrored
    assert goal((-1, 0, 1), odd, curvature=-0.1, n_left=2, n_right=2).is_mirrored
    assert not goal((-1, 0, 1), even, curvature=-0.1, n_left=2).is_mirrored


def test_symmetry_is_given_up_only_where_it_costs_a_moment():
    # with an odd number of keys at 0 the mirror image leaves the variance at 2/5
    goal = goal_for(None, 3, {-2: 1, -1: 2, 0: 4, 1: 2, 2: 1}, total=9)
    keys = keys_of_row(goal, keep_symmetry=True, most_nodes=NODES)
    single = keys_of_row(goal, keep_symmetry=False, most_nodes=NODES)
    assert keys.drift == single.drift
    even = keys_of_row(replace(goal, total=10), keep_symmetry=True, most_nodes=NODES)
    assert even.units == (1, 2, 4, 2, 1)


def test_too_few_keys_for_the_constraints_are_refused():
    spec = NoiseSpec(max_noise=5, variance=3.0, min_probability=0.09)
    units = dict.fromkeys(spec.row(1).noise, 1)
    with pytest.raises(PTableError, match="12 keys are too few for the constraints of count 1"):
        keys_of_row(goal_for(spec, 1, units, total=12), keep_symmetry=True, most_nodes=NODES)
    # a least probability below a single key is not kept
    few = keys_of_row(goal_for(spec, 1, units, total=11), keep_symmetry=True, most_nodes=NODES)
    assert 0 in few.units


def test_every_constraint_of_the_row_is_kept():
    start = dict.fromkeys(range(-4, 6), 90) | {0: 190}
    for asked in (
        {"monotone": "both"},
        {"monotone": "left"},
        {"monotone": "unimodal"},
        {"monotone": "both", "p_stay": 0.25},
        {"min_probability": 0.01},
        {"symmetric": True},
    ):
        fields = {"max_noise": 5, "variance": 2.5, **asked}
        support = NoiseSpec(**fields).row(4).noise
        units = {v: start[v] for v in support}
        units[0] += 1000 - sum(units.values())
        goal = goal_for(NoiseSpec(**fields), 4, units, total=256)
        found = keys_of_row(goal, keep_symmetry=True, most_nodes=10_000)
        ours = dict(zip(goal.problem.noise, found.units, strict=True))
        assert found.drift == (0, 0), fields
        left = [ours[v] for v in sorted(ours) if v <= 0]
        right = [ours[v] for v in sorted(ours) if v >= 0]
        if fields.get("monotone") in {"left", "both"}:
            assert left == sorted(left)
        if fields.get("monotone") == "both":
            assert right == sorted(right, reverse=True)
        if "p_stay" in fields:
            assert ours[0] == 64
        if "min_probability" in fields:
            assert min(ours.values()) >= 3
        if "symmetric" in fields:
            assert ours == {-v: n for v, n in ours.items()}


def test_a_search_that_is_cut_short_says_so():
    goal = goal_of_row(solve(NoiseSpec(max_noise=20, variance=6.0)), 19, total=256)
    with pytest.raises(PTableError, match="were found") as refusal:
        keys_of_row(goal, keep_symmetry=False, most_nodes=0)
    assert "more nodes" in str(refusal.value)


@pytest.mark.parametrize("total", range(5, 12))
def test_without_symmetry_the_nearest_keys_of_all_are_taken(total):
    goal = goal_for(None, 3, {-2: 1, -1: 2, 0: 4, 1: 2, 2: 1}, total=total)
    least, best = least_drift(goal, every_way(5, total))
    keys = keys_of_row(goal, keep_symmetry=False, most_nodes=NODES)
    assert keys.drift == least
    nearest = min(divergence(way, goal.law) for way in best.tolist())
    assert divergence(keys.units, goal.law) <= nearest + 1e-7
