import subprocess
import sys
from fractions import Fraction

import pytest

from ptable import NoiseSpec, feasible, solve
from ptable.advice.advice import advise, conflicts
from ptable.advice.figures import few_outcomes, figures
from ptable.design.goal import Goal
from ptable.solver.integer.rounding import inward
from ptable.solver.reach import stay_bounds, variance_bounds
from ptable.solver.unimodal import has_one_peak


@pytest.mark.parametrize(
    ("wish", "low", "high", "strict", "answer"),
    [
        ("5", "1", "10", False, 5.0),
        ("12", "0", "31/3", False, 10.3),
        ("0", "31/3", "20", False, 10.4),
        ("1", "6", "10", True, 6.01),
        ("20", "6", "10", True, 9.9),
        ("1", "6", "6", True, 6.0),
        ("0", "1/3", "1001/3000", False, 0.3334),
    ],
)
def test_numbers_are_shortened_inward(wish, low, high, strict, answer):
    assert inward(Fraction(wish), Fraction(low), Fraction(high), strict=strict) == answer


GOALS = [
    Goal(max_noise=5, p_stay=0.4),
    Goal(max_noise=5, small=2, p_stay=0.4),
    Goal(max_noise=5, small=4, p_stay=0.4),
    Goal(max_noise=8, p_stay=0.9, monotone="both"),
    Goal(max_noise=6, small=2, p_stay=0.2, monotone="unimodal"),
    Goal(max_noise=6, p_stay=0.2, monotone="left", min_probability=0.001),
    Goal(max_noise=5, variance=(1.0, 2.0)),
    Goal(max_noise=2, small=2),
    Goal(max_noise=1, p_stay=0.01, symmetric=True),
]


@pytest.mark.slow
@pytest.mark.parametrize("goal", GOALS, ids=str)
def test_every_proposal_for_a_goal_can_be_met_and_built(goal):
    found = advise(goal)
    assert 1 <= len(found) <= 12
    assert len({one.spec for one in found}) == len(found)
    for one in found:
        assert feasible(one.spec).ok
        assert one.spec.monotone == goal.monotone
    table = solve(found[0].spec)
    table.certificate.check(table)


@pytest.mark.slow
@pytest.mark.parametrize("goal", GOALS[:6], ids=str)
def test_the_first_proposal_keeps_a_count_as_often_as_wished(goal):
    best = advise(goal)[0]
    assert best.missed == ()
    table = solve(best.spec)
    stays = table.units(table.n_rows - 1)[0] / table.key_range
    assert abs(stays - goal.p_stay) <= goal.tolerance
    assert stays == pytest.approx(best.figures.p_stay, abs=1e-8)


def test_no_larger_variance_keeps_counts_as_often():
    best = next(one for one in advise(GOALS[0]) if one.spec.p_stay is None)
    stays = [figures(NoiseSpec(max_noise=5, variance=v)).p_stay for v in (0.9, 0.995, 1.1)]
    assert stays[0] > stays[1] > stays[2]
    assert best.figures.p_stay == pytest.approx(stays[1])


@pytest.mark.slow
def test_wishes_that_are_not_fulfilled_are_named():
    found = advise(GOALS[2])
    assert any("small is" in " ".join(one.missed) for one in found)
    for one in found:
        assert (one.spec.small != 4) == any("small is" in text for text in one.missed)
        assert (one.spec.max_noise != 5) == any("max_noise is" in text for text in one.missed)


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (Goal(max_noise=5, small=4), ("count 2 needs", "at least 6", "count 1 has at most 5")),
        (Goal(max_noise=2, small=2), ("needs max_noise of at least 3",)),
        (Goal(max_noise=5, small=2, p_stay=0.4), ("p_stay 0.4", "0.995", "at least 2")),
        (Goal(max_noise=5, variance=30.0), ("at least 30", "at most 5")),
        (Goal(max_noise=5, small=2, variance=1.0), ("at most 1", "at least 2")),
    ],
)
def test_conflicting_wishes_are_named_with_their_ends(goal, words):
    (text,) = conflicts(goal)
    assert all(word in text for word in words)


def test_wishes_that_go_together_do_not_conflict():
    assert conflicts(Goal(max_noise=5, p_stay=0.4)) == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p_stay", "rule", "floor"),
    [(None, "exact", 0), (0.2, "exact", 0), (0.3, "at-least", 0), (0.2, "at-most", 0.01)],
)
def test_one_peaked_rows_reach_what_the_best_peak_reaches(p_stay, rule, floor):
    spec = NoiseSpec(
        max_noise=4,
        variance=1.0,
        small=1,
        monotone="unimodal",
        p_stay=p_stay,
        p_stay_rule=rule,
        min_probability=floor,
    )
    for row in spec.rows()[spec.small :]:  # a blocked count has no shape
        for bounds in (variance_bounds, stay_bounds):
            places = [bounds(row.with_peak(place)) for place in range(len(row.noise))]
            ends = [pair for pair in places if pair is not None]
            found = bounds(row)
            if found is None:
                assert not ends
                continue
            assert found[0].value == min(low.value for low, _ in ends)
            assert found[1].value == max(high.value for _, high in ends)
            assert all(has_one_peak(end.law) for end in found)


@pytest.mark.slow
def test_advice_loads_no_solver():
    code = (
        "import sys; from ptable import Goal, advise, alternatives\n"
        "advise(Goal(max_noise=3, p_stay=0.4))\n"
        "alternatives({'max_noise': 2, 'variance': 3.0})\n"
        "sys.exit(', '.join({'highspy', 'scipy', 'pandas', 'pyarrow'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    "goal", [Goal(max_noise=10, variance=15.0, small=4), Goal(max_noise=10, variance=10.0)]
)
def test_nobody_is_advised_a_row_on_nearly_two_points_unasked(goal):
    found = advise(goal)
    assert found
    assert [one.spec for one in found if few_outcomes(one.spec)] == []
