"""Limits as they are asked for: what they take, what they settle, what they refuse."""

import pytest

from ptable import Limits, NoiseSpec, PTableError, StackedSpec
from ptable.design.limits import _shares, default_floor


def textbook(n=60):
    return [0.0, *(1 / (i * (i + 1)) for i in range(1, n))]


class ByCounts:
    def at(self, counts):
        return [0.0 if i == 0 else 0.5**i for i in counts]


PRIOR = textbook()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"posterior": 0.0}, "posterior must be"),
        ({"posterior": 1.5}, "posterior must be"),
        ({"sensitive": ()}, "sensitive must be counts from 1 on in a row"),
        ({"sensitive": (0, 1)}, "sensitive must be counts from 1 on in a row"),
        ({"sensitive": (1, 3)}, "sensitive must be counts from 1 on in a row"),
        ({"ratio": 0.5}, "ratio must be"),
        ({"neighbours": (1.0,)}, "neighbours must be a pair"),
        ({"neighbours": (-1.0, 0.1)}, "epsilon of neighbours must be"),
        ({"neighbours": (1.0, 2.0)}, "delta of neighbours must be"),
        ({"variance_floor": -1.0}, "variance_floor must be"),
        ({"variance_ceiling": (1.0, float("inf"))}, "variance_ceiling must be"),
        ({"is_peaked": 1}, "is_peaked must be True or False"),
        ({"best_guess": {(1,): 0.5}}, "one for each class of two or more"),
        ({"best_guess": {(1, 3): 0.5}}, "one for each class of two or more"),
        ({"best_guess": {(1, 2): 0.0}}, "best_guess must be"),
        ({"best_guess": "much"}, "best_guess must be"),
        ({"best_guess": 0.0}, "best_guess must be"),
        ({"priors": PRIOR}, "a sequence of priors, not one prior"),
        ({"priors": 5}, "priors must be a sequence"),
    ],
)
def test_what_no_limit_can_be_is_refused(options, problem):
    with pytest.raises(PTableError, match=problem):
        Limits(**{"priors": (PRIOR,), **options})


@pytest.mark.parametrize("name", ["posterior", "posterior_set", "best_guess"])
def test_a_limit_on_what_is_believed_needs_a_prior(name):
    with pytest.raises(PTableError, match=f"{name} needs priors"):
        Limits(**{"posterior": None, name: 0.8})
    assert Limits(posterior=None, ratio=3.0).priors == ()


@pytest.mark.parametrize(
    ("prior", "problem"),
    [
        ([0.0, 0.5, -0.1, 0.6], "shares of 0 or more"),
        ([0.0, 0.5, float("nan"), 0.5], "without a missing one"),
        ([0.0, 0.5, 0.5], "ends at a count of 2: its shares must go to 12"),
        ([0.0, 0.5, 0.0, *PRIOR[3:]], "has no share for a count of 2"),
        ("tables", "shares of 0 or more"),
        (7, "shares by count, or have at"),
    ],
)
def test_a_prior_with_gaps_is_refused(prior, problem):
    with pytest.raises(PTableError, match=rf"priors\[1\] .*{problem}"):
        NoiseSpec(max_noise=5, limits=Limits(priors=(PRIOR, prior)))


def test_a_guess_is_limited_for_all_sensitive_counts_or_class_by_class():
    one = Limits(priors=(PRIOR,), sensitive=(1, 2), best_guess=0.9)
    assert one.guesses == (((1, 2), 0.9),)
    assert Limits(priors=(PRIOR,), best_guess=0.9).guesses == (((), 0.9),)
    assert Limits(priors=(PRIOR,)).guesses == ()
    each = Limits(priors=(PRIOR,), best_guess={(1, 2): 0.9, (3, 4): 0.8})
    assert each.guesses == (((1, 2), 0.9), ((3, 4), 0.8))


def test_shares_that_sum_to_one_but_for_rounding_stay_as_they_are():
    nearly = (0.0, 0.5, 0.5 + 5e-10)
    assert _shares(nearly, last=2, needed=2) == (nearly, None)
    assert _shares((0.0, 3.0, 1.0), last=2, needed=2) == ((0.0, 0.75, 0.25), None)
    assert _shares((0.0, 0.5, 0.4), last=2, needed=2)[0] == pytest.approx((0, 5 / 9, 4 / 9))


def test_rows_vary_by_two_or_by_as_much_as_they_may():
    assert [default_floor(variance) for variance in (None, 0.5, 2.0, 3.0)] == [
        2.0,
        0.5,
        2.0,
        2.0,
    ]


def test_a_class_of_guesses_is_one_of_sensitive_counts():
    limits = Limits(priors=(PRIOR,), best_guess={(2, 3): 0.7})
    with pytest.raises(PTableError, match="best_guess is for sensitive counts, 1 to 2"):
        NoiseSpec(max_noise=3, limits=limits)


def test_a_specification_settles_what_follows_from_its_noise():
    spec = NoiseSpec(max_noise=5, small=4, limits=Limits(priors=(PRIOR, ByCounts())))
    assert spec.limits.sensitive == (1, 2, 3, 4)
    assert spec.last_count == 14  # 4 + 2 * 5
    assert sum(spec.limits.priors[0]) == pytest.approx(1)
    assert spec.limits.priors[1][2] == 0.25
    assert NoiseSpec(max_noise=5, limits=Limits(priors=(PRIOR,))).limits.sensitive == (1, 2)


def test_no_share_of_a_prior_is_shown():
    limits = Limits(posterior=0.9, priors=(PRIOR,))
    assert repr(limits) == "Limits(posterior=0.9, priors: 1)"
    assert "0.16" not in repr(NoiseSpec(max_noise=3, limits=limits))


def test_limits_go_to_plain_values_and_back():
    spec = NoiseSpec(
        max_noise=3,
        limits=Limits(sensitive=range(1, 4), priors=(PRIOR,), neighbours=None),
        objective="least-variance",
    )
    again = NoiseSpec.from_dict(spec.to_dict())
    assert again == spec
    assert hash(again) == hash(spec)
    assert again.limits.neighbours is None


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "variance must be given"),
        ({"variance": 1.0, "objective": "least-variance"}, "need limits"),
        ({"limits": 3, "variance": 1.0}, "limits must be Limits, not a int"),
        ({"limits": Limits(priors=(PRIOR,)), "objective": "best"}, "objective must be one of"),
        ({"limits": Limits(posterior=None), "objective": "least-variance"}, "needs a prior"),
        ({"limits": Limits(priors=(PRIOR,)), "objective": "distance-to"}, "go together"),
        ({"limits": Limits(priors=(PRIOR,)), "step": 2}, "limits are for counts"),
        ({"limits": Limits(priors=(PRIOR,)), "anchors": (3,)}, "limits are for counts"),
        (
            {"limits": Limits(priors=(PRIOR,), variance_floor=(1.0, 2.0))},
            "variance_floor must be one value or 8 values",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(options, problem):
    with pytest.raises(PTableError, match=problem):
        NoiseSpec(max_noise=3, **options)


def test_a_maximum_noise_per_row_reaches_every_origin():
    with pytest.raises(PTableError, match="max_noise must have at least 8 values"):
        NoiseSpec(max_noise=(3,) * 5, limits=Limits(priors=(PRIOR,)))
    assert NoiseSpec(max_noise=(3,) * 8, limits=Limits(priors=(PRIOR,))).last_count == 8


def test_the_variance_is_a_ceiling_and_full_rows_have_their_peak():
    spec = NoiseSpec(max_noise=3, variance=2.0, limits=Limits(priors=(PRIOR,)))
    first, full = spec.row(1), spec.row(5)
    assert (first.at_most, float(first.variance), float(first.p_stay)) == (True, 2.0, 0.5)
    assert (first.n_left, full.n_left, full.n_right) == (0, 4, 4)
    free = NoiseSpec(max_noise=3, limits=Limits(priors=(PRIOR,), is_peaked=False, p_stay=None))
    assert (free.row(5).n_left, free.row(5).p_stay, free.row(5).variance) == (0, None, 9)


def test_the_limits_of_a_stack_are_those_of_its_first_part():
    first = NoiseSpec(max_noise=3, limits=Limits(priors=(PRIOR,)))
    stack = StackedSpec(parts=((0, first), (20, NoiseSpec(max_noise=3, variance=2.0))))
    assert StackedSpec.from_dict(stack.to_dict()) == stack
    with pytest.raises(PTableError, match="limits belong to the first part"):
        StackedSpec(parts=((0, NoiseSpec(max_noise=3, variance=2.0)), (20, first)))
