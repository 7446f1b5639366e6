"""The program's own noise on amounts: unbiased, bounded, keyed by the contributors alone."""

from itertools import product

import numpy as np
import pytest

from ckm.engine.magnitudes import (
    Flex,
    MagnitudeError,
    MagnitudeNoise,
    Proportional,
    magnitude_ptable,
    perturb_magnitudes,
    plan_noise,
)
from ckm.engine.magnitudes.noise import perturb as drawing
from ckm.engine.magnitudes.noise.perturb import keyed_fractions, keyed_numbers
from ckm.errors import ConfigError, InternalError
from ptable import PTable
from tables import Secret
from tables.magnitudes.amounts import Magnitudes
from tests.amounts import amounts

SECRET = Secret(bytes(range(32)))
SKEWED = PTable(
    noise=[[0], [-1, 0, 2], [-2, -1, 1, 2], [-4, 0, 4]],
    upper=[[24], [12, 18, 24], [4, 12, 20, 24], [4, 20, 24]],
    key_range=24,
    anchors=(0, 1, 2, 4),
)


def changed(magnitudes, **fields):
    given = {n: getattr(magnitudes, n) for n in magnitudes.__dataclass_fields__}
    return Magnitudes(**(given | fields))


def repeated(values, n, *, seed=1, **fields):
    """Make one cell many times, with other people each time."""
    one = amounts([values])
    many = {
        name: np.repeat(getattr(one, name), n, axis=0)
        for name in one.__dataclass_fields__
        if name not in {"variable", "key_range", "key", "first_keys"}
    }
    rng = np.random.default_rng(seed)
    keys, own = rng.integers(0, 2**64, n, np.uint64), rng.integers(0, 2**64, (n, 3), np.uint64)
    given = {"variable": "x", "key_range": 2**64, "key": keys, "first_keys": own}
    return Magnitudes(**(given | many | fields))


def swept(monkeypatch, components, table=SKEWED):
    """Let the keyed numbers run through all combinations of keys and jitters once."""
    keys = [(2 * k + 1) * 2**63 // table.key_range for k in range(table.key_range)]
    jitters = [2**62, 3 * 2**62]
    grid = np.array(list(product(product(keys, jitters), repeat=components)), np.uint64)

    def numbers(keys, *, purpose, component, **_):
        if purpose == "rounding":
            raise AssertionError
        return grid[:, component - 1, 0 if purpose == "noise" else 1]

    monkeypatch.setattr(drawing, "keyed_numbers", numbers)
    return len(grid)


@pytest.mark.parametrize("share", [0.2, 0.3, 0.45, 1.0])
@pytest.mark.parametrize("values", [[10.0], [10.0, 8.0], [10.0, 8.0, 30.0]])
@pytest.mark.parametrize("factors", [(1.0,), (1.0, 0.5)])
def test_noise_is_unbiased_with_the_stated_variance_over_all_keys(
    monkeypatch, values, factors, share
):
    noise = MagnitudeNoise(
        ptable=SKEWED, scale=Proportional(share=share), factors=factors, decimals=None
    )
    n = swept(monkeypatch, len(factors))
    totals = drawing.own_totals(repeated(values, n), noise, secret=SECRET)
    moved = totals - sum(values)
    assert abs(moved.mean()) < 1e-12 * sum(values)
    assert totals.min() >= 0
    plan = plan_noise(repeated(values, 1), noise)
    # The sweep has two jitters, a quarter of the width away: 1/16 of the width², not 1/12.
    jitter = (1 / 12 - 1 / 16) * (plan.steps**2).sum()
    assert moved.var() == pytest.approx(plan.variances()[0] - jitter, rel=1e-9)


def test_simulated_noise_has_mean_zero_and_the_stated_variance():
    cells = repeated([40.0, 30.0, 20.0, 10.0], 40_000)
    for changes in ({}, {"factors": (1.0, 0.5, 0.2)}, {"jitter": False}, {"decimals": -1}):
        noise = MagnitudeNoise.start(spread=0.15, **changes)
        moved = perturb_magnitudes(cells, noise, secret=SECRET) - 100.0
        rounding = 0.0 if noise.decimals is None else (10.0**-noise.decimals) ** 2 / 6
        variance = plan_noise(cells, noise).variances()[0]
        assert abs(moved.mean()) < 5 * moved.std() / 200
        if noise.decimals == 0:
            assert moved.var() == pytest.approx(variance + rounding, rel=0.03)
    start = MagnitudeNoise.start(spread=0.15, decimals=None)
    moved = perturb_magnitudes(cells, start, secret=SECRET) - 100.0
    assert moved.std() == pytest.approx(0.15 * 40, rel=0.02)


def test_sensitive_cells_move_by_their_least_noise_and_stay_unbiased():
    noise = MagnitudeNoise.start(spread=0.15, decimals=None)
    cells = repeated([1000.0], 40_000)
    plan = plan_noise(cells, noise)
    assert plan.sensitive.all()
    moved = perturb_magnitudes(cells, noise, secret=SECRET) - 1000.0
    least = plan.steps[0, 0] * (1.0 + 1 / 4)
    assert np.abs(moved).min() >= least * (1 - 1e-12)
    assert np.abs(moved).min() < least * 1.01
    assert abs(moved.mean()) < 5 * moved.std() / 200
    assert moved.var() == pytest.approx(plan.variances()[0], rel=0.03)


def moved_alike(values, other, noise, *, same, n=4_000):
    """Perturb two cells, of which some contributors are the same; give both moves."""
    one, two = repeated(values, n), repeated(other, n, seed=2)
    keys = two.first_keys.copy()
    for theirs, ours in same:
        keys[:, theirs] = one.first_keys[:, ours]
    found = (one, changed(two, first_keys=keys))
    return [
        perturb_magnitudes(c, noise, secret=SECRET) - sum(v)
        for c, v in zip(found, (values, other), strict=True)
    ]


def test_a_contributor_is_multiplied_alike_in_every_sensitive_cell():
    noise = MagnitudeNoise.start(decimals=None)
    alone, many = moved_alike([1000.0], [1000.0, 20.0], noise, same=[(0, 0)])
    assert np.abs(many - alone).max() <= 0.7 * 20
    assert (many != alone).all(), "or a difference would give the other contributor away"
    second, first = moved_alike([1000.0, 300.0], [300.0], noise, same=[(0, 1)])
    assert np.corrcoef(second, first)[0, 1] > 0.2
    fresh, other = moved_alike([1000.0], [1000.0], noise, same=[])
    assert abs(np.corrcoef(fresh, other)[0, 1]) < 0.08


def test_a_sum_of_two_is_the_sum_of_their_sums_and_tells_nothing_more():
    noise = MagnitudeNoise.start(decimals=None)
    both, first = moved_alike([1000.0, 300.0], [1000.0], noise, same=[(0, 0)])
    _, second = moved_alike([1000.0, 300.0], [300.0], noise, same=[(0, 1)])
    np.testing.assert_allclose(both, first + second, rtol=0, atol=1e-9)


def test_what_others_add_to_a_sensitive_cell_has_noise_of_its_own():
    """The difference of two cells of one dominating contributor is no exact amount."""
    noise = MagnitudeNoise.start(decimals=None)
    for values, least in (([1000.0, 50.0], 0.13), ([1000.0, 50.0, 40.0], None)):
        cell, alone = moved_alike(values, [1000.0], noise, same=[(0, 0)])
        gap = np.abs(cell - alone) / values[-1]
        assert least is None or gap.min() > least
        assert np.mean(gap < 0.1) < 0.3


def test_sensitive_cells_have_the_three_largest_as_base_whatever_the_others_have():
    values = [[5.0, 4.0], [5.0, 4.0, 3.0, 2.0]]
    scale = Proportional(share=0.1)
    for changes in ({"factors": (1.0, 1.0)}, {"base": "mean"}, {"base": "sum"}):
        noise = MagnitudeNoise.start(scale=scale, **changes)
        plan = plan_noise(amounts(values), noise)
        assert plan.sensitive.tolist() == [True, False]
        assert plan.steps[0].tolist() == pytest.approx([0.5, 0.4, 0.0])
        assert plan.row[0] == noise.ptable.counts[-1]
    both = magnitude_ptable(), magnitude_ptable(max_noise=4, variance=1.0)
    noise = MagnitudeNoise.start(even=both[0], odd=both[1], scale=scale)
    plan = plan_noise(amounts([[5.0], [5.0, 4.0], [9.0, 8.0, 7.0, 6.0]]), noise)
    assert plan.regime[0] == plan.regime[1], "or a contributor would have two noises"


@pytest.mark.parametrize("share", [0.01, 0.1, 0.3, 0.7, 1.0])
def test_no_total_becomes_negative_however_large_the_share(share):
    noise = MagnitudeNoise.start(scale=Proportional(share=share), decimals=None)
    for values in ([7.0], [7.0, 7.0], [7.0, 6.0, 5.0, 0.0]):
        totals = perturb_magnitudes(repeated(values, 5_000), noise, secret=SECRET)
        assert totals.min() >= 0
        assert len(np.unique(totals)) > 4_000


def test_people_who_contribute_zero_change_nothing():
    noise = MagnitudeNoise.start(decimals=None)
    without = amounts([[40.0, 30.0, 20.0]])
    one = amounts([[40.0, 30.0, 20.0, 0.0, 0.0]])
    assert one.records[0] == 5
    assert without.key == one.key
    for base in ("top", "mean", "range", "sum"):
        settings = MagnitudeNoise.start(decimals=None, base=base)
        first = perturb_magnitudes(without, settings, secret=SECRET)
        assert first == perturb_magnitudes(one, settings, secret=SECRET)
    assert first != perturb_magnitudes(amounts([[40.0, 30.0, 21.0]]), noise, secret=SECRET)


def test_variables_periods_components_and_purposes_have_numbers_of_their_own():
    keys = np.arange(1000, dtype=np.uint64)
    common = {"secret": SECRET, "variable": "x", "purpose": "noise"}
    found = [
        keyed_numbers(keys, **(common | changes))
        for changes in (
            {},
            {"variable": "y"},
            {"purpose": "jitter"},
            {"purpose": "rounding"},
            {"component": 2},
            {"period": "2027"},
            {"settings": "2027"},
            {"secret": Secret(bytes(32))},
            {"variable": 'x","","noise'},
        )
    ]
    for place, numbers in enumerate(found):
        for other in found[:place]:
            assert not (numbers == other).any()
            ours, theirs = keyed_fractions(numbers), keyed_fractions(other)
            assert abs(np.corrcoef(ours, theirs)[0, 1]) < 0.15


@pytest.mark.parametrize("change", [{"spread": 0.3}, {"least_noise": 2.0}, {"jitter": False}])
def test_two_settings_of_one_variable_do_not_give_the_amount_away(change):
    """From the same numbers v, P1 = X + s v and P2 = X + t v would be two equations for X."""
    cells = repeated([1000.0, 900.0, 800.0, 700.0], 5_000)
    one = MagnitudeNoise.start(decimals=None)
    other = MagnitudeNoise.start(decimals=None, **change)
    first, second = (perturb_magnitudes(cells, noise, secret=SECRET) for noise in (one, other))
    solved = (other.scale.share * first - one.scale.share * second) / (
        other.scale.share - one.scale.share or 1.0
    )
    assert np.mean(np.abs(solved - 3400.0) < 1.0) < 0.02
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.06
    coarse = perturb_magnitudes(cells, MagnitudeNoise.start(decimals=-1), secret=SECRET)
    assert (np.abs(coarse - first) <= 10).all(), "rounding alone is the same noise"


def test_a_persons_two_amounts_do_not_share_their_relative_noise():
    noise = MagnitudeNoise.start(decimals=None)
    income = repeated([1000.0], 5_000, variable="income")
    tax = repeated([250.0], 5_000, variable="tax")
    assert (income.key == tax.key).all()
    ours = perturb_magnitudes(income, noise, secret=SECRET) / 1000
    theirs = perturb_magnitudes(tax, noise, secret=SECRET) / 250
    assert abs(np.corrcoef(ours, theirs)[0, 1]) < 0.06
    assert np.abs(ours / theirs - 1).min() > 0


def test_another_period_hides_exact_growth():
    noise = MagnitudeNoise.start(decimals=None, period="2026")
    later = MagnitudeNoise.start(decimals=None, period="2027")
    first = repeated([1000.0], 100)
    second = repeated([1100.0], 100)
    same = perturb_magnitudes(second, noise, secret=SECRET)
    assert np.allclose(same / perturb_magnitudes(first, noise, secret=SECRET), 1.1)
    other = perturb_magnitudes(second, later, secret=SECRET)
    assert not np.isclose(other / perturb_magnitudes(first, noise, secret=SECRET), 1.1).any()


def test_the_order_and_the_number_of_cells_do_not_matter():
    noise = MagnitudeNoise.start(factors=(1.0, 0.5))
    values = [[40.0, 30.0, 20.0, 10.0], [5.0], [], [8.0, 1.0], [100.0] * 30]
    cells = amounts(values)
    whole = perturb_magnitudes(cells, noise, secret=SECRET)
    order = np.random.default_rng(1).permutation(len(values))
    fields = {
        name: getattr(cells, name)[order]
        for name in cells.__dataclass_fields__
        if name not in {"variable", "key_range", "variation"}
    }
    assert perturb_magnitudes(changed(cells, **fields), noise, secret=SECRET).tolist() == (
        whole[order].tolist()
    )
    for place in range(len(values)):
        fields = {
            name: getattr(cells, name)[place : place + 1]
            for name in cells.__dataclass_fields__
            if name not in {"variable", "key_range", "variation"}
        }
        single = perturb_magnitudes(changed(cells, **fields), noise, secret=SECRET)
        assert single.tolist() == [whole[place]]


def test_cells_without_contributors_are_published_as_zero():
    noise = MagnitudeNoise.start()
    cells = amounts([[], [0.0, 0.0]])
    assert perturb_magnitudes(cells, noise, secret=SECRET).tolist() == [0.0, 0.0]


def test_a_table_without_cells_is_no_problem():
    cells = amounts([[5.0]])
    fields = {
        name: getattr(cells, name)[:0]
        for name in cells.__dataclass_fields__
        if name not in {"variable", "key_range", "variation"}
    }
    totals = perturb_magnitudes(changed(cells, **fields), MagnitudeNoise.start(), secret=SECRET)
    assert totals.shape == (0,)


def test_signed_amounts_get_noise_that_does_not_depend_on_their_total():
    noise = MagnitudeNoise.start(signed=True, decimals=None, sensitive=())
    for values in ([500.0, -500.0], [500.0, 500.0], [-500.0, -500.0], [-500.0, 0.0, 499.0]):
        cells = repeated(values, 20_000)
        moved = perturb_magnitudes(cells, noise, secret=SECRET) - sum(values)
        assert moved.std() == pytest.approx(0.15 * 500, rel=0.03)
        assert abs(moved.mean()) < 5 * moved.std() / np.sqrt(20_000)
        plan = plan_noise(repeated(values, 1), noise)
        assert plan.row.tolist() == [5]


def test_small_cells_have_noise_of_an_absolute_size_from_the_separation_point_down():
    small = magnitude_ptable(max_noise=3, variance=1.0)
    noise = MagnitudeNoise.start(small_cells=small, sensitive=(), decimals=None)
    point = noise.separation
    assert point == pytest.approx(1 / noise.scale.small)
    below = plan_noise(amounts([[point * 0.9, point * 0.5]]), noise)
    above = plan_noise(amounts([[point * 1.0001, point * 0.5]]), noise)
    assert below.steps.tolist() == [[1.0]]
    jitter = 1 / 48
    assert below.variances()[0] == pytest.approx(1.0 + jitter)
    assert above.variances()[0] == pytest.approx(2 + jitter, rel=0.001)
    tiny = plan_noise(amounts([[0.5]]), noise)  # its unit shrinks, or it could go below zero
    assert tiny.steps[0, 0] * (1 + 1 / 4) == pytest.approx(0.5)


def test_parity_chooses_the_ptable_by_contributors():
    even, odd = magnitude_ptable(), magnitude_ptable(max_noise=4, variance=1.0)
    noise = MagnitudeNoise(even=even, odd=odd, scale=Proportional(share=0.1), decimals=None)
    plan = plan_noise(amounts([[5.0, 5.0, 0.0], [5.0, 5.0, 5.0]]), noise)
    chosen = [plan.regimes[place].table for place in plan.regime.tolist()]
    assert chosen == [even, odd]


def test_noise_is_made_for_the_largest_weighted_amount():
    values, weights = [[100.0, 90.0, 1.0]], [[1.0, 50.0, 2.0]]
    scale = Proportional(share=0.1)
    for n_top in (1, 2, 6):
        cells = amounts(values, weights=weights, n_top=n_top)
        noise = MagnitudeNoise(ptable=magnitude_ptable(), scale=scale)
        assert plan_noise(cells, noise).steps.tolist() == [[450.0]]
    several = MagnitudeNoise(ptable=magnitude_ptable(), scale=scale, factors=(1.0, 0.5))
    assert plan_noise(cells, several).steps.tolist() == [[450.0, 5.0]]
    hidden = amounts([[100.0, 90.0, 1.0, 1.0]], weights=[[1.0, 2.0, 999.0, 1.0]], n_top=2)
    assert plan_noise(hidden, several).steps.tolist() == [pytest.approx([99.9, 9.0])]
    by_range = MagnitudeNoise(ptable=magnitude_ptable(), scale=scale, base="range")
    assert plan_noise(cells, by_range).steps.tolist() == [[450.0]]


def test_flex_steps_fall_and_factors_always_count():
    flex = Flex(point=100.0, small=0.2, large=0.02, power=3)
    noise = MagnitudeNoise(
        ptable=magnitude_ptable(), scale=flex, factors=(1.0, 0.5), decimals=None
    )
    plan = plan_noise(amounts([[50.0, 40.0], [1e9, 1e9]]), noise)
    assert plan.steps[0].tolist() == pytest.approx([10.0, 4.0])
    assert plan.steps[1].tolist() == pytest.approx([0.02e9, 0.01e9], rel=1e-3)


@pytest.mark.parametrize("field", ["total", "raw_total", "top", "largest", "low", "high"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_amounts_that_are_no_numbers_are_refused_without_showing_them(field, value):
    cells = amounts([[123457.0, 3.0], [5.0]])
    broken = getattr(cells, field).copy()
    broken.flat[0] = value
    with pytest.raises(MagnitudeError, match="infinite or undefined") as caught:
        perturb_magnitudes(
            changed(cells, **{field: broken}), MagnitudeNoise.start(), secret=SECRET
        )
    assert "123457" not in str(caught.value)


def test_negative_amounts_and_weights_are_refused_unless_declared():
    cells = amounts([[5.0, -3.0]])
    with pytest.raises(MagnitudeError, match="negative values"):
        perturb_magnitudes(cells, MagnitudeNoise.start(), secret=SECRET)
    assert perturb_magnitudes(cells, MagnitudeNoise.start(signed=True), secret=SECRET).size
    weighted = amounts([[5.0, 3.0]], weights=[[-1.0, 2.0]])
    with pytest.raises(MagnitudeError, match="weights"):
        perturb_magnitudes(weighted, MagnitudeNoise.start(), secret=SECRET)


def test_too_few_largest_contributors_are_noticed():
    cells = amounts([[5.0, 4.0, 3.0]], n_top=1)
    with pytest.raises(MagnitudeError, match="2 largest"):
        perturb_magnitudes(cells, MagnitudeNoise.start(), secret=SECRET)
    noise = MagnitudeNoise.start(sensitive=(), factors=(1.0, 1.0, 1.0))
    with pytest.raises(MagnitudeError, match="3 largest"):
        perturb_magnitudes(cells, noise, secret=SECRET)


def test_keys_of_the_largest_contributors_are_not_made_up():
    cells = changed(amounts([[5.0]]), first_sizes=np.zeros((1, 0)))
    with pytest.raises(InternalError, match="were not found"):
        perturb_magnitudes(cells, MagnitudeNoise.start(), secret=SECRET)


def test_the_secret_is_needed():
    with pytest.raises(ConfigError, match="secret"):
        perturb_magnitudes(amounts([[5.0]]), MagnitudeNoise.start())


def test_reprs_hold_no_amount():
    cells = amounts([[123457.0, 3.0]])
    plan = plan_noise(cells, MagnitudeNoise.start())
    assert "123457" not in repr(cells) + repr(plan)


def test_huge_and_tiny_amounts_stay_finite():
    noise = MagnitudeNoise.start()
    cells = amounts([[1e300, 1e299, 1e298, 1e298], [1e-300], [5e-324], [2.0**60]])
    totals = perturb_magnitudes(cells, noise, secret=SECRET)
    assert np.isfinite(totals).all()
    assert (totals >= 0).all()
    assert totals[0] > 1e299
    for decimals in (15, -15):
        fine = MagnitudeNoise.start(decimals=decimals)
        assert np.isfinite(perturb_magnitudes(cells, fine, secret=SECRET)).all()
