"""What a table by limits is held against, without a solver and in fractions."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ptable import Limits, NoiseSpec, solve
from ptable.proof.limits import (
    allowed_loss,
    below_exp,
    breaches_of,
    least_loss,
    reduced_costs,
    worst_of,
)
from ptable.solver.joint import Joint
from ptable.solver.statement import JointStatement

PRIOR = tuple(0.0 if i == 0 else 1 / (i * (i + 1)) for i in range(60))
LIMITS = Limits(
    priors=(PRIOR,), posterior=0.9, posterior_set=1.0, variance_floor=0.5, best_guess=0.95,
    neighbours=(1.0, 0.3),
)  # fmt: skip


@pytest.fixture(scope="module")
def stated():
    return Joint.of(
        NoiseSpec(max_noise=2, variance=1.5, limits=LIMITS, objective="least-variance")
    )


def rows(joint, first):
    """Give every count the same symmetric noise in eighths, but for the first."""
    units = {row.count: {-1: 2, 0: 4, 1: 2} for row in joint.rows}
    return units | {1: first}


def test_what_is_reached_is_computed_in_fractions(stated):
    units = rows(stated, {-1: 2, 0: 4, 1: 2})
    worst = {one.name: one.value for one in worst_of(stated, units, 8)}
    assert worst["posterior"] == 1  # who is published as 0 was a one
    assert worst["posterior_set"] == 1
    assert worst["p_stay"] == Fraction(1, 2)
    assert worst["variance_floor"] == worst["variance_ceiling"] == Fraction(1, 2)
    one, two = (Fraction(stated.share(0, i)) for i in (1, 2))
    # 0 tells a one; 1 a one; 2 a two rather than a one; 3 a two
    hits = [2 * one, 4 * one, max(2 * one, 4 * two), 2 * two]
    assert worst["best_guess"] == sum(hits) / 8 / (one + two)
    excess = Fraction(2, 8) + max(Fraction(4, 8) - below_exp(1.0) * Fraction(2, 8), 0)
    assert worst["neighbours"] == excess


def test_a_table_that_breaks_something_is_told_what(stated):
    units = rows(stated, {-1: 4, 0: 0, 1: 4})
    assert any("posterior is 1, beyond 0.9" in one for one in breaches_of(stated, units, 8))
    biased = rows(stated, {-1: 1, 0: 4, 1: 3})
    assert any("the bias of count 1 is not 0" in one for one in breaches_of(stated, biased, 8))
    wide = rows(stated, {-1: 2, 0: 4, 9: 2})
    assert any("count 1 is out of reach" in one for one in breaches_of(stated, wide, 8))


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.5])
def test_e_to_a_power_is_bounded_from_below(epsilon):
    assert 0 <= math.exp(epsilon) - float(below_exp(epsilon)) < 1e-14
    assert below_exp(0.0) < 1


def test_any_multipliers_bound_the_least_loss_and_none_bounds_it_from_above(stated):
    answer = JointStatement.of(stated).solve()
    best = [np.maximum(x, 0) if line.relation == "≤" else x
            for line, x in zip(stated.lines(), answer.multipliers, strict=True)]  # fmt: skip
    optimum = float(least_loss(stated, best))
    rng = np.random.default_rng(40)
    for _ in range(5):
        other = [x * rng.uniform(0.5, 1.5, size=len(x)) for x in best]
        assert float(least_loss(stated, other)) <= optimum + 1e-12
    assert least_loss(stated, [np.zeros(len(x)) for x in best]) == pytest.approx(0.0)


def test_multipliers_that_prove_nothing_are_not_taken(stated):
    right = [np.zeros(len(line.goal)) for line in stated.lines()]
    assert reduced_costs(stated, right) is not None
    assert reduced_costs(stated, right[:-1]) is None
    for wrong in (-1.0, math.inf, math.nan):
        bad = [x.copy() for x in right]
        bad[-1][0] = wrong
        assert reduced_costs(stated, bad) is None


def test_a_hundredth_more_may_be_lost_or_a_thousandth():
    assert allowed_loss(2.0) == pytest.approx(2.02)
    assert allowed_loss(0.0) == 0.001


def test_the_certificate_names_the_limits_that_bind(stated):
    certificate = solve(stated.spec).certificate.limits
    again = type(certificate).from_dict(certificate.to_dict())
    assert again == certificate
    assert "variance_floor" in certificate.binding or "posterior" in certificate.binding
    text = "\n".join(map(str, certificate.lines()))
    assert "no table within these limits loses less than" in text
    assert "keep the file" in text
    assert replace(certificate, own="a rule").lines()[-2].startswith("own constraints: a rule")
