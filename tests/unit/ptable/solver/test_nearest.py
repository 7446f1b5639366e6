"""The nearest limits that a table can keep, told so that they work."""

import re

import pytest

from ptable import Limits, NoiseSpec, StackedSpec
from ptable.solver.joint import Joint
from ptable.solver.nearest import nearest_limits

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
