"""What the internal report says of sums: deviations, and estimates of the largest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ckm
from ckm.assessment.amounts import NEAR, amount_fact, exposed_cells
from ckm.assessment.assessor import Assessor
from ckm.engine.magnitudes import MagnitudeNoise, PPercent, Proportional, perturb_magnitudes
from ckm.engine.magnitudes.noise.alike import CountNoise
from ptable import NoiseSpec, solve
from tables import Secret
from tests.amounts import amounts

SECRET = Secret(bytes(range(16)))


def observed(cells, noise, *, secrets=400):
    """Perturb cells under many secrets; give the facts of all of them together."""
    made = amounts(cells)
    facts = [
        amount_fact("t", made, perturb_magnitudes(made, noise, secret=secret), noise=noise)
        for secret in (Secret(n.to_bytes(16, "big")) for n in range(secrets))
    ]
    return facts[0], np.mean([fact.found for fact in facts])


def test_a_cell_is_exposed_where_the_p_percent_rule_finds_it():
    cells = [[1000.0, 400.0, 99.0], [1000.0, 400.0, 101.0], [5.0], [9.0, 8.0, 7.0], []]
    made = amounts(cells)
    fact = amount_fact("t", made, made.total, noise=MagnitudeNoise.start())
    assert fact.exposed == PPercent(percent=100 * NEAR).holds(made).sum() == 2
    assert fact.found == 1.0, "without noise every estimate is near"
    assert (fact.cells, fact.bias, fact.median, fact.within) == (4, 0.0, 0.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "sensitive"),
    [
        ([[1000.0, 400.0, 30.0]], ()),
        ([[1000.0, 400.0, 90.0], [700.0], [500.0, 1.0]], ()),
        ([[1000.0, 400.0, 90.0], [700.0]], (PPercent(percent=10),)),
    ],
)
def test_the_chance_by_formula_is_how_often_it_happens(cells, sensitive):
    noise = MagnitudeNoise.start(sensitive=sensitive, decimals=None)
    fact, share = observed(cells, noise)
    assert fact.exposed == len(cells)
    assert share == pytest.approx(fact.expected, abs=0.06)
    assert (fact.expected == 0) == (len(sensitive) > 0 and cells[0][2] != 90.0) or fact.expected


@pytest.mark.parametrize("sensitive", [(), (PPercent(percent=10),)])
@pytest.mark.parametrize("values", [[1000.0, 900.0], [700.0], [500.0, 1.0]])
def test_the_chance_of_alike_amounts_counts_the_noise_of_their_number(values, sensitive):
    """Of 2000 cells with keys of their own; the tolerance is more than four standard errors."""
    noise = MagnitudeNoise.start(sensitive=sensitive, decimals=None)
    counts = CountNoise(ptable=solve(NoiseSpec(max_noise=3, variance=1.5)), secret=SECRET)
    many = amounts([values] * 2000)
    squares = np.full(2000, np.square(values).sum())
    many = replace(many, squares=squares, variation=0.2)
    published = perturb_magnitudes(many, noise, secret=SECRET, counts=counts)
    found = np.mean(np.abs(exposed_cells(many, published).estimates - 1) <= NEAR)
    one, is_alike = many.take(np.array([0])), values[-1] > 1
    chance = amount_fact("t", one, one.total, noise=noise, count_noise=counts).expected
    assert chance == pytest.approx(found, abs=0.045)
    without = amount_fact("t", one, one.total, noise=noise).expected
    assert (chance < without) == (is_alike and without > 0)


def test_without_a_formula_or_the_second_largest_nothing_is_made_up():
    made = amounts([[1000.0, 400.0, 30.0]])
    several = MagnitudeNoise.start(factors=(1.0, 0.5))
    assert amount_fact("t", made, made.total * 1.2, noise=several).expected is None
    few = amounts([[1000.0, 400.0, 30.0]], n_top=1)
    plain = MagnitudeNoise(scale=Proportional(share=0.1), ptable=several.ptable)
    assert amount_fact("t", few, few.total * 1.2, noise=plain).exposed is None
    signed = MagnitudeNoise.start(signed=True)
    mixed = amounts([[1000.0, -400.0, 30.0]])
    assert amount_fact("t", mixed, mixed.total * 1.2, noise=signed).exposed is None


def test_a_variable_to_which_nobody_contributes_has_no_figures():
    made = amounts([[0.0, 0.0], []])
    fact = amount_fact("t", made, np.zeros(2), noise=MagnitudeNoise.start())
    assert (fact.cells, fact.bias, fact.exposed) == (0, None, None)


@pytest.mark.slow
def test_amounts_below_zero_are_exposed_like_those_above():
    noise = MagnitudeNoise.start(signed=True, sensitive=(), decimals=None)
    gains = [[1000.0, 400.0, 30.0], [700.0], [500.0, 300.0, 200.0]]
    losses = [[-x for x in cell] for cell in gains]
    above, found_above = observed(gains, noise)
    below, found_below = observed(losses, noise)
    assert above.exposed == below.exposed == 2
    assert below.expected == pytest.approx(above.expected)
    assert found_above == pytest.approx(above.expected, abs=0.06)
    assert found_below == pytest.approx(below.expected, abs=0.06)


@pytest.mark.slow
def test_of_both_signs_only_cells_of_two_are_judged():
    noise = MagnitudeNoise.start(signed=True, sensitive=(), decimals=None)
    fact, share = observed([[1000.0, -400.0], [900.0, -500.0, 20.0], [60.0, 50.0, 40.0]], noise)
    assert fact.exposed == 1
    assert share == pytest.approx(fact.expected, abs=0.06)
    assert 0.2 < fact.expected < 0.8


def test_the_largest_sums_that_there_can_be_have_figures():
    made = amounts([[9e21, 1e20, 5e20], [9e21], []])
    fact = amount_fact("t", made, made.total * 1.5, noise=MagnitudeNoise.start())
    assert (fact.cells, fact.exposed) == (2, 2)
    assert (fact.bias, fact.median) == pytest.approx((0.5, 0.5))
    assert (fact.expected, fact.found) == (pytest.approx(0, abs=0.001), 0.0)


def business(n=150):
    """Make firms of which one makes up nearly all of an area, and of an activity there."""
    rng = np.random.default_rng(1)
    size = np.round(rng.lognormal(10, 1, n))
    parts = [("A", size), ("A", size * 0.02), ("B", size * 0.03)]
    return pd.DataFrame(
        {
            "id": np.arange(3 * n),
            "area": np.tile([f"a{i:03}" for i in range(n)], 3),
            "activity": np.repeat([activity for activity, _ in parts], n),
            "turnover": np.round(np.concatenate([values for _, values in parts]) + 1),
        }
    )


def assessed(**noise):
    made = {"turnover": MagnitudeNoise.start(**noise)}
    table = solve(NoiseSpec(max_noise=5, variance=3.0))
    assessor = Assessor(table, is_mixed=True, noises=made)
    request = ckm.TableRequest(
        dimensions=["area", "activity"], measures=["count", "sum:turnover"], empty_cells="drop"
    )
    secret = Secret(bytes(16))
    with ckm.Engine(
        business(), id="id", secret=secret, ptable=table, magnitudes=made
    ) as engine:
        for protected in engine.protect_tables({"t": request}):
            assessor.add(protected)
    return assessor


def test_firms_that_dominate_several_cells_are_attacked_in_the_tables_themselves():
    """Of 150 firms the mean finds 43 % with independent noises: 0.03 is 10 errors off."""
    (found,) = assessed().dominated()
    assert (found.variable, found.contributors) == ("turnover", 150)
    assert found.cells >= 300
    assert found.alone < 0.03
    assert found.together < 0.03
    (plain,) = assessed(sensitive=(), least_noise=0.0).dominated()
    assert plain.together > plain.alone, "cells that are not sensitive have noises of their own"


def test_cells_of_count_zero_that_a_sum_tells_of_are_counted():
    assessor = assessed()
    (fact,) = assessor.amounts
    seen = assessor.tables["t"].cells
    zero = seen.published == 0
    assert fact.told == zero.sum() > 100
    assert fact.single == pytest.approx((seen.count[zero] == 1).mean())
    assert 0.3 < fact.single < 0.9
    assert assessed(zero_with_count=True).amounts[0].told == 0
    assert assessor.tables["t"].appeared == 0
