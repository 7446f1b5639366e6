"""The nearest limits that a table can keep, told so that they work."""

import re
from dataclasses import replace

import pytest

from ptable import Limits, NoiseSpec, StackedSpec
from ptable.solver import nearest
from ptable.solver.joint import Joint
from ptable.solver.nearest import _outward, _ranges, _with_limits, nearest_limits

PRIOR = tuple(0.0 if i == 0 else 1 / (i * (i + 1)) for i in range(40))


def told(ways):
    return {
        name: float(value) for way in ways for name, value in re.findall(r"(.+) (\S+)", way)
    }


def test_each_limit_is_told_that_alone_would_be_enough():
    limits = Limits(priors=(PRIOR,), posterior=0.5, neighbours=None)
    spec = NoiseSpec(max_noise=2, variance=1.5, limits=limits, objective="least-variance")
    ways = told(nearest_limits(Joint.of(spec)))
    assert 0.5 < ways["posterior"] < 1
    assert "delta of neighbours" not in ways
    assert "p_stay" not in ways  # staying more often would not help


@pytest.mark.parametrize("own", [lambda p, *_: [p[1, 1] <= 0.2, p[1, 1] >= 0.3]])
def test_nothing_is_told_where_no_single_limit_is_enough(own):
    limits = Limits(priors=(PRIOR,), posterior=0.9)
    assert nearest_limits(Joint.of(NoiseSpec(max_noise=2, limits=limits)), own=own) == ()
    plain = NoiseSpec(max_noise=2, variance=1.0)
    assert nearest_limits(Joint.of(plain), own=own) == ()


def test_a_stack_changes_the_limits_of_its_first_part():
    limits = Limits(priors=(PRIOR,), posterior=0.5, neighbours=None)
    first = NoiseSpec(max_noise=2, variance=1.5, limits=limits)
    stack = StackedSpec(parts=((0, first), (8, NoiseSpec(max_noise=2, variance=1.0))))
    assert "posterior" in told(nearest_limits(Joint.of(stack)))
    changed = _with_limits(Joint.of(stack), replace(first.limits, posterior=0.7))
    assert changed.limits.posterior == 0.7
    assert changed.spec.parts[0][1].limits.posterior == 0.7
    assert changed.spec.parts[1:] == stack.parts[1:]


def ranges(**options):
    limits = Limits(**{"priors": (PRIOR,), "posterior": None, "p_stay": None, **options})
    found = _ranges(Joint.of(NoiseSpec(max_noise=3, variance=2.5, limits=limits)))
    return {name: (tight, loose, change) for name, tight, loose, change in found}


def test_each_limit_gives_way_alone_from_where_it_is_to_where_it_is_none():
    found = ranges(
        posterior=0.8, posterior_set=0.9, p_stay=0.5, best_guess=0.7, neighbours=(1.0, 0.1),
        ratio=5.0, variance_floor=1.5,
    )  # fmt: skip
    assert {name: ends[:2] for name, ends in found.items()} == {
        "posterior": (0.8, 1.0),
        "posterior_set": (0.9, 1.0),
        "p_stay": (0.5, 1.0),
        "best_guess": (0.7, 1.0),
        "delta of neighbours": (0.1, 1.0),
        "variance_floor": (1.5, 0.0),
        "variance_ceiling": (2.5, 9.0),  # no noise varies by more than its square
        "ratio": (5.0, 1e4),
    }
    limits = Joint.of(
        NoiseSpec(max_noise=3, variance=2.0, limits=Limits(priors=(PRIOR,), p_stay=0.5))
    ).limits
    plain = ranges(p_stay=0.5, posterior=limits.posterior, neighbours=limits.neighbours)
    for name, (_, _, change) in plain.items():
        changed = change(0.96)
        value = (1.0, 0.96) if name.startswith("delta") else 0.96
        field = "neighbours" if name.startswith("delta") else name
        assert changed == replace(limits, **{field: value})


def test_limits_that_are_not_set_do_not_give_way():
    assert ranges(neighbours=None, variance_floor=0.0).keys() == {"variance_ceiling"}
    assert ranges(neighbours=None).keys() == {"variance_ceiling", "variance_floor"}
    assert ranges(neighbours=None)["variance_floor"][:2] == (2.0, 0.0)  # the floor by default
    each = ranges(neighbours=None, variance_floor=(1.0,) * 8)
    assert each.keys() == {"variance_ceiling"}
    limits = Limits(priors=(PRIOR,), posterior=None, neighbours=None, p_stay=None)
    widest = _ranges(Joint.of(NoiseSpec(max_noise=3, limits=limits)))
    assert [name for name, *_ in widest] == ["variance_floor"]  # as wide as noise can be


def test_what_is_told_lies_between_what_is_possible_and_none(monkeypatch):
    limits = Limits(priors=(PRIOR,), posterior=0.8, neighbours=None, variance_floor=1.5)
    joint = Joint.of(NoiseSpec(max_noise=3, variance=2.5, limits=limits))

    def ways(is_feasible):
        monkeypatch.setattr(nearest, "_is_feasible", lambda _, one, *__: is_feasible(one))
        return told(nearest_limits(joint))

    only = ways(lambda one: one.posterior == 1.0 or one.variance_floor == 0.0)
    assert only == {"posterior": 1.0, "variance_floor": 0.0}  # no farther than there is
    some = ways(lambda one: one.posterior >= 0.9 or one.variance_floor <= 0.75)
    assert 0.9 < some["posterior"] < 0.901
    assert 0.748 < some["variance_floor"] < 0.75
    assert ways(lambda _: False) == {}


def test_a_class_of_guesses_gives_way_alone():
    found = ranges(
        neighbours=None, variance_floor=0.0, sensitive=range(1, 5),
        best_guess={(1, 2): 0.6, (3, 4): 0.7},
    )  # fmt: skip
    tight, loose, change = found["best_guess of 3-4"]
    assert (tight, loose) == (0.7, 1.0)
    assert change(0.8).best_guess == (((1, 2), 0.6), ((3, 4), 0.8))
    first, *_ = found["best_guess of 1-2"]
    assert first == 0.6


@pytest.mark.parametrize(
    "value", [0.12341, 0.12349, 0.5, 1.0, 1.2341, 4.7, 9.9996, 23.456, 812.34]
)
def test_what_is_told_is_rounded_to_where_it_is_looser(value):
    up, down = _outward(value, True), _outward(value, False)  # noqa: FBT003
    assert down <= value <= up
    assert up - down <= 1.2e-3 * max(value, 0.1)
    assert {f"{up:.4g}", f"{down:.4g}"} == {f"{up:g}", f"{down:g}"}
