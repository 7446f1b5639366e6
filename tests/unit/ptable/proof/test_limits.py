"""What a table by limits is held against, without a solver and in fractions."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ptable import Limits, NoiseSpec, PTable, solve
from ptable.proof.limits import (
    LimitsCertificate,
    _closed,
    _dense,
    allowed_loss,
    below_exp,
    breaches_of,
    greatest_entropy,
    kept_of,
    least_loss,
    loss_of,
    reduced_costs,
    sparse,
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


def test_the_row_that_is_nearest_to_a_limit_speaks_for_all(stated):
    def worst(**others):
        units = rows(stated, {-1: 2, 0: 4, 1: 2})
        units |= {int(name[1:]): row for name, row in others.items()}
        return {one.name: (one.value, one.is_met) for one in worst_of(stated, units, 8)}

    one = worst(r3={-1: 4, 0: 0, 1: 4}, r4={-1: 3, 0: 2, 1: 3})
    assert one["variance_ceiling"] == (1, True)
    assert one["variance_floor"] == (Fraction(1, 2), True)
    assert one["p_stay"] == (Fraction(1, 2), True)
    two = worst(r3={-2: 4, 2: 4}, r4={-1: 1, 0: 6, 1: 1})
    assert two["variance_ceiling"] == (4, False)
    assert two["variance_floor"] == (Fraction(1, 4), False)
    assert two["p_stay"] == (Fraction(3, 4), False)


def test_the_ratio_is_the_worst_odds_of_a_count_against_the_next():
    limits = Limits(sensitive=(1,), posterior=None, priors=(PRIOR,), ratio=2.5)
    joint = Joint.of(NoiseSpec(max_noise=2, variance=1.5, limits=limits))

    def ratio(second):
        units = {**rows(joint, {-1: 2, 0: 4, 1: 2}), 2: second}
        (one,) = (one for one in worst_of(joint, units, 8) if one.name == "ratio")
        assert one.limit == Fraction(5, 2)
        return one.value, one.is_met

    # published 0, 1, 2: two keys to one, four to three, two to two
    assert ratio({-2: 1, -1: 3, 0: 2, 1: 2}) == (2, True)
    assert ratio({-2: 1, -1: 1, 0: 2, 1: 4}) == (4, False)
    assert ratio({-1: 4, 0: 2, 1: 2}) == (10**9, False)  # who is published as 0 was a one
    assert ratio({-2: 2, -1: 4, 0: 2, 1: 0}) == (1, True)


def test_what_a_table_loses_is_weighed_row_by_row(stated):
    units = rows(stated, {-1: 2, 0: 4, 1: 2})
    assert float(loss_of(stated, units, 8)) == pytest.approx(0.5)  # the variance of each row
    greatest = Joint.of(replace(stated.spec, objective="entropy"))
    each = 1.5 * math.log(2)
    assert float(loss_of(greatest, units, 8)) == pytest.approx(-each * len(stated.rows))
    table = PTable.from_units([{0: 8}, {-1: 2, 0: 4, 1: 2}], key_range=8)
    near = Joint.of(replace(stated.spec, objective="distance-to", target=table))
    assert loss_of(near, units, 8) == 0
    apart = {row.count: {-1: 4, 0: 0, 1: 4} for row in near.rows}
    assert float(loss_of(near, apart, 8)) == pytest.approx(0.5)


def test_a_table_that_breaks_something_is_told_what(stated):
    units = rows(stated, {-1: 4, 0: 0, 1: 4})
    assert any("posterior is 1, beyond 0.9" in one for one in breaches_of(stated, units, 8))
    biased = rows(stated, {-1: 1, 0: 4, 1: 3})
    assert any("the bias of count 1 is not 0" in one for one in breaches_of(stated, biased, 8))
    wide = rows(stated, {-1: 2, 0: 4, 9: 2})
    assert any("count 1 is out of reach" in one for one in breaches_of(stated, wide, 8))
    few = rows(stated, {-1: 1, 0: 2, 1: 1})
    assert any("count 1 is out of reach" in one for one in breaches_of(stated, few, 8))


def test_a_row_may_leave_its_shape_by_a_few_keys_and_no_more(stated):
    plain = {row.count: {-1: 16, 0: 32, 1: 16} for row in stated.rows}
    said = "the shape of count 3 is not the one asked for"
    for low, is_off in ((24, False), (25, True)):
        units = plain | {3: {-1: low, 0: 64 - 2 * low, 1: low}}
        assert (said in breaches_of(stated, units, 64)) == is_off


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


def test_multipliers_price_each_unknown_and_the_goals_exactly(stated):
    rng = np.random.default_rng(41)
    prices = [np.round(rng.random(len(line.goal)), 3) for line in stated.lines()]
    costs, worth = stated.costs.copy(), 0.0
    for line, price in zip(stated.lines(), prices, strict=True):
        if line.name != "distribution":  # used where the least of a row is taken
            np.add.at(costs, line.place, price[line.row] * line.weight)
            worth += price @ line.goal
    found = reduced_costs(stated, prices)
    assert [float(cost) for cost in found[0]] == pytest.approx(costs.tolist())
    assert float(found[1]) == pytest.approx(worth)


def test_without_multipliers_entropy_is_bounded_by_the_sizes_of_the_rows(stated):
    greatest = Joint.of(replace(stated.spec, objective="entropy"))
    zeros = [np.zeros(len(line.goal)) for line in greatest.lines()]
    costs, worth = reduced_costs(greatest, zeros)
    assert greatest.extras
    assert (set(costs), worth) == ({0}, 0)
    sizes = Counter(count for count, _ in greatest.entries).values()
    bound = math.fsum(map(math.log, sizes))
    assert greatest_entropy(greatest, zeros) == pytest.approx(bound)
    assert greatest_entropy(greatest, zeros[:-1]) == math.inf


def test_what_is_kept_of_the_unknowns_and_multipliers_says_all_of_them(stated):
    closed = frozenset({(1, 1), (4, 2), (4, 3)})
    tight = replace(stated, closed=closed)
    kept = kept_of(tight)
    assert dict(kept)[1] == ((0, 0), (2, 3))
    assert dict(kept)[4] == ((4, 6),)
    assert dict(kept)[3] == ((1, 5),)
    assert _closed(stated, kept) == closed
    prices = [np.zeros(len(line.goal)) for line in stated.lines()]
    prices[1][2] = 0.5
    short = sparse(prices)
    assert (short[0], short[1]) == ((), ((2, 0.5),))
    for one, other in zip(_dense(stated, short), prices, strict=True):
        assert one.tolist() == other.tolist()
    assert _dense(stated, (((-1, 0.5),), *short[1:])) == []
    assert _dense(stated, (((len(prices[0]), 0.5),), *short[1:])) == []


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


def test_what_is_left_out_of_a_certificate_is_not_stored():
    fields = {
        "objective": "entropy", "loss": 0.5, "bound": None, "least": None, "margin": 1e-4,
        "worst": [["posterior", 0.8999, 0.9], ["p_stay", 0.3, 0.5], ["neighbours", 0.0, 0.0]],
        "budget": None, "entropy": 0.5, "entropy_bound": None, "solver_entropy": 0.5,
        "loss_multipliers": [[[0, 0.5]]], "entropy_multipliers": [], "kept": [[1, [[0, 3]]]],
    }  # fmt: skip
    proof = LimitsCertificate.from_dict(fields)
    assert proof.to_dict() == fields
    assert (proof.own, proof.violation) == ("", 0.0)
    assert proof.binding == ("posterior",)
    own = replace(proof, own="a rule", violation=1e-9)
    assert own.to_dict() == fields | {"own": "a rule", "violation": 1e-9}


def test_the_certificate_names_the_limits_that_bind(stated):
    certificate = solve(stated.spec).certificate.limits
    again = type(certificate).from_dict(certificate.to_dict())
    assert again == certificate
    assert "variance_floor" in certificate.binding or "posterior" in certificate.binding
    text = "\n".join(map(str, certificate.lines()))
    assert "no table within these limits loses less than" in text
    assert "keep the file" in text
    assert replace(certificate, own="a rule").lines()[-2].startswith("own constraints: a rule")
