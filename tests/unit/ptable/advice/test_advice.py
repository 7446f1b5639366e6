import subprocess
import sys
from fractions import Fraction

import pytest

from ptable import NoiseSpec, feasible, solve
from ptable.advice.advice import advise, conflicts
from ptable.advice.figures import few_outcomes, figures, laws
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
    {"max_noise": 5, "p_stay": 0.4},
    {"max_noise": 5, "small": 2, "p_stay": 0.4},
    {"max_noise": 5, "small": 4, "p_stay": 0.4},
    {"max_noise": 8, "p_stay": 0.9, "monotone": "both"},
    {"max_noise": 6, "small": 2, "p_stay": 0.2, "monotone": "unimodal"},
    {"max_noise": 6, "p_stay": 0.2, "monotone": "left", "min_probability": 0.001},
    {"max_noise": 5, "variance": (1.0, 2.0)},
    {"max_noise": 2, "small": 2},
    {"max_noise": 1, "p_stay": 0.01, "symmetric": True},
]


@pytest.mark.slow
@pytest.mark.parametrize("wishes", GOALS, ids=str)
def test_every_proposal_for_a_goal_can_be_met_and_built(wishes):
    goal = Goal(**wishes)
    found = advise(goal)
    assert 1 <= len(found) <= 12
    assert len({one.spec for one in found}) == len(found)
    for one in found:
        assert feasible(one.spec).ok
        assert one.spec.monotone == goal.monotone
    table = solve(found[0].spec)
    table.certificate.check(table)


@pytest.mark.slow
@pytest.mark.parametrize("wishes", GOALS[:6], ids=str)
def test_the_first_proposal_keeps_a_count_as_often_as_wished(wishes):
    goal = Goal(**wishes)
    best = advise(goal)[0]
    assert best.missed == ()
    table = solve(best.spec)
    stays = table.units(table.n_rows - 1)[0] / table.key_range
    assert abs(stays - goal.p_stay) <= goal.tolerance
    assert stays == pytest.approx(best.figures.p_stay, abs=1e-8)


def test_no_larger_variance_keeps_counts_as_often():
    best = next(one for one in advise(Goal(**GOALS[0])) if one.spec.p_stay is None)
    stays = [figures(NoiseSpec(max_noise=5, variance=v)).p_stay for v in (0.9, 0.995, 1.1)]
    assert stays[0] > stays[1] > stays[2]
    assert best.figures.p_stay == pytest.approx(stays[1])


@pytest.mark.slow
def test_wishes_that_are_not_fulfilled_are_named():
    found = advise(Goal(**GOALS[2]))
    assert any("small is" in " ".join(one.missed) for one in found)
    for one in found:
        assert (one.spec.small != 4) == any("small is" in text for text in one.missed)
        assert (one.spec.max_noise != 5) == any("max_noise is" in text for text in one.missed)


def proposals(**wishes):
    """Give the idea of each proposal, how it differs from the goal, and its variance."""
    names = ("max_noise", "small")
    return [
        (
            one.idea,
            {
                n: getattr(one.spec, n)
                for n in names
                if getattr(one.spec, n) != wishes.get(n, 0)
            },
            one.spec.variance,
        )
        for one in advise(Goal(**wishes))
    ]


STAYS = "p_stay 0.4 in all rows that may stay"


def test_the_variance_is_that_at_which_large_counts_stay_as_often_as_wished():
    # 0.991, 0.995 and 0.934 are where the last row of noise up to 3, 4 and 2 stays with 40 %
    assert proposals(max_noise=3, p_stay=0.4) == [
        (STAYS, {}, 0.991),
        ("one variance", {}, 0.991),
        (STAYS, {"max_noise": 4}, 0.995),
        (STAYS, {"max_noise": 2}, 0.934),
        ("one variance", {"max_noise": 4}, 0.995),
        ("one variance", {"max_noise": 2}, 0.934),
    ]
    for noise, variance in ((2, 0.934), (3, 0.991), (4, 0.995)):
        stays = [
            figures(NoiseSpec(max_noise=noise, variance=v)).p_stay
            for v in (variance - 0.001, variance, variance + 0.001)
        ]
        assert stays[0] > 0.4 > stays[2]
        assert stays[1] == pytest.approx(0.4, abs=5e-4)


def test_rows_that_cannot_have_that_variance_get_the_nearest_or_one_of_their_own():
    # blocking a count of 1 needs a variance of 1: more than the 0.934 that stays with 40 %
    assert proposals(max_noise=2, small=1, p_stay=0.4)[:5] == [
        (STAYS, {}, 1.2),
        ("one variance", {}, 1.01),
        ("one variance per row", {}, (1.01, 0.934, 0.934, 0.934)),
        (STAYS, {"small": 0}, 0.934),
        ("one variance", {"small": 0}, 0.934),
    ]
    per_row = [one for one in advise(Goal(max_noise=2, small=1, p_stay=0.4)) if not one.missed][
        2
    ]
    assert per_row.figures.p_stay == pytest.approx(0.4, abs=5e-4)


def test_a_range_of_variances_is_tried_in_its_middle_and_at_its_quarters():
    found = proposals(max_noise=3, variance=(0.5, 1.0))
    assert found[:3] == [("one variance", {}, v) for v in (0.75, 0.625, 0.875)]
    assert {tuple(changes.items()) for _, changes, _ in found[3:]} == {
        *((("max_noise", 4),), (("max_noise", 2),)),
    }
    assert [one.miss for one in advise(Goal(max_noise=3, variance=(0.5, 1.0)))] == [0.0] * 7


def test_variances_across_a_range_have_three_digits():
    found = proposals(max_noise=3, variance=(0.123, 0.777))
    # its quarters are .2865 and .6135
    assert [variance for _, changes, variance in found if not changes] == [0.45, 0.286, 0.614]


def test_a_goal_without_wishes_gets_variances_across_what_all_rows_reach():
    # noise up to 2 that skips a count of 1: rows reach from 1 to 2 together
    assert [
        variance for _, changes, variance in proposals(max_noise=2, small=1) if not changes
    ] == [
        *(1.5, 1.25, 1.75),
    ]


def test_wishes_that_no_noise_meets_give_more_noise_or_fewer_blocked_counts():
    assert proposals(max_noise=2, small=2) == [
        *(("one variance", {"max_noise": 3}, v) for v in (2.5, 2.25)),
        *(("one variance", {"max_noise": 4}, v) for v in (3.0, 2.5)),
        *(("one variance", {"small": 1}, v) for v in (1.5, 1.25)),
        *(("one variance", {"small": 0}, v) for v in (1.0, 0.5)),
    ]


def test_a_variance_wished_for_is_kept_where_it_can_be():
    fixed = proposals(max_noise=3, variance=1.3)
    assert [variance for _, changes, variance in fixed if not changes] == [1.3]
    assert [one.missed for one in advise(Goal(max_noise=3, variance=1.3))] == [
        *((), ("max_noise is 4, not 3",), ("max_noise is 2, not 3",)),
    ]
    # 2 is more than count 1 has: its own is less, as at 2 it would be 0 or 3
    narrow = [v for _, changes, v in proposals(max_noise=2, variance=(2.5, 3.5)) if not changes]
    assert narrow
    for variance in narrow:
        values = variance if isinstance(variance, tuple) else (variance,)
        assert max(values) <= 3.5
        assert values[0] < 2


def test_up_to_two_shapes_with_fewer_blocked_counts_are_tried():
    found = [changes for _, changes, _ in proposals(max_noise=3, small=2, variance=2.5)]
    assert {} in found
    assert {"small": 1} in found
    assert {"small": 0} in found
    fewer = [changes for _, changes, _ in proposals(max_noise=4, small=3, variance=4.0)]
    assert {changes["small"] for changes in fewer if "small" in changes} == {2, 1}


def test_the_wishes_that_are_missed_are_told_with_what_is_had_instead():
    wishes = {"max_noise": 1, "p_stay": 0.01, "symmetric": True}
    found = advise(Goal(**wishes))
    assert found[0].missed == ()
    assert [one.idea for one in found[:2]] == [
        *("one variance", "p_stay 0.01 in all rows that may stay"),
    ]
    told = {text for one in found for text in one.missed}
    assert "max_noise is 2, not 1" in told
    assert "large counts stay with 38.5%, not 1.0%" in told
    assert [len(one.missed) for one in found] == sorted(len(one.missed) for one in found)
    assert {one.spec.symmetric for one in found} == {True}
    blocked = advise(Goal(max_noise=2, small=1, variance=(0.2, 0.5)))
    assert {text for one in blocked for text in one.missed} >= {"small is 0, not 1"}
    assert any("variances reach 1" in text for one in blocked for text in one.missed)


def test_the_miss_is_that_of_the_row_where_it_is_farthest():
    for one in advise(Goal(max_noise=3, p_stay=0.4)):
        low, high = one.figures.p_stay_range
        assert one.miss == max(abs(low - 0.4), abs(high - 0.4))
    assert [round(one.miss, 2) for one in advise(Goal(max_noise=3, p_stay=0.4))] == [
        *(0, 0.06, 0, 0, 0.05, 0.07),
    ]


def test_a_tolerance_says_what_is_no_miss():
    def missed(tolerance):
        goal = Goal(max_noise=1, p_stay=0.01, symmetric=True, tolerance=tolerance)
        return sum("stay with" in text for one in advise(goal) for text in one.missed)

    assert missed(0.05) > missed(0.5) == 0


def test_figures_have_the_prior_that_is_asked_for():
    best = advise(Goal(max_noise=2, p_stay=0.4), prior=0.5)[0]
    assert best.figures.prior == 0.5
    assert advise(Goal(max_noise=2, p_stay=0.4))[0].figures.prior == 1


def test_a_proposal_is_read_in_one_line():
    best, other = advise(Goal(max_noise=3, p_stay=0.4))[:3:2]
    assert str(best) == f"{STAYS}: {best.figures}"
    assert str(other) == f"{STAYS}; but max_noise is 4, not 3: {other.figures}"


def test_proposals_of_one_peak_have_one():
    for one in advise(Goal(max_noise=2, p_stay=0.4, monotone="unimodal")):
        assert one.spec.monotone == "unimodal"
        assert feasible(one.spec).ok
        for law in laws(one.spec).values():
            if 0 in law:
                shares = list(law.values())
                peak = shares.index(max(shares))
                assert shares[: peak + 1] == sorted(shares[: peak + 1])
                assert shares[peak:] == sorted(shares[peak:], reverse=True)


@pytest.mark.parametrize(
    ("wishes", "sentence"),
    [
        (
            {"max_noise": 5, "small": 4},
            (
                "count 2 needs a variance of at least 6 (no noise strictly between -2 and 3 is "
                "allowed), count 1 has at most 5 (the noise of a count of 1 cannot go below -1)"
            ),
        ),
        (
            {"max_noise": 2, "small": 2},
            "small=2 needs max_noise of at least 3: a count of 3 can only go down to 0",
        ),
        (
            {"max_noise": 5, "small": 2, "p_stay": 0.4},
            (
                "p_stay 0.4 goes with a variance of 0.995 at greatest entropy, the other "
                "requirements need at least 2: prescribe p_stay, or let the variance differ "
                "by row"
            ),
        ),
        (
            {"max_noise": 2, "p_stay": 0.01},
            (
                "p_stay 0.01 goes with a variance of 3.8 at greatest entropy, the other "
                "requirements need at most 2: prescribe p_stay, or let the variance differ "
                "by row"
            ),
        ),
        (
            {"max_noise": 5, "variance": 30.0},
            (
                "the variance is to be at least 30, count 1 has at most 5 (the noise of a "
                "count of 1 cannot go below -1)"
            ),
        ),
        (
            {"max_noise": 5, "small": 2, "variance": 1.0, "p_stay": 0.9},
            (
                "the variance is to be at most 1, count 1 needs a variance of at least 2 (no "
                "noise strictly between -1 and 2 is allowed)"
            ),
        ),
    ],
)
def test_conflicting_wishes_are_named_with_their_ends(wishes, sentence):
    assert conflicts(Goal(**wishes)) == (sentence,)


def test_rows_without_any_law_are_named():
    goal = Goal(max_noise=2, small=1, monotone="both", min_probability=0.19)
    (text,) = conflicts(goal)
    rows = feasible(NoiseSpec(**goal.fields(), variance=0.5)).rows
    lost = next(row for row in rows if row.variance_min is None)
    assert text == f"no noise of mean zero exists for count {lost.count}: {lost.binding}"


@pytest.mark.parametrize(
    "wishes",
    [
        {"max_noise": 5, "p_stay": 0.4},
        {"max_noise": 5},
        {"max_noise": 5, "variance": (0.5, 6.0), "p_stay": 0.4},
        {"max_noise": 5, "small": 2, "variance": (1.0, 2.0)},
        {"max_noise": 3, "variance": (3.0, 9.0)},
        {"max_noise": 4, "small": 3},  # 4 is the one variance that all rows can have
    ],
)
def test_wishes_that_go_together_do_not_conflict(wishes):
    assert conflicts(Goal(**wishes)) == ()


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
        "heavy = {'cvxpy', 'highspy', 'scipy', 'pandas', 'pyarrow'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    "wishes",
    [{"max_noise": 10, "variance": 15.0, "small": 4}, {"max_noise": 10, "variance": 10.0}],
)
def test_nobody_is_advised_a_row_on_nearly_two_points_unasked(wishes):
    found = advise(Goal(**wishes))
    assert found
    assert [one.spec for one in found if few_outcomes(one.spec)] == []
