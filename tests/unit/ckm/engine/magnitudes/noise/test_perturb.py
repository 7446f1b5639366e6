"""The program's own noise on amounts: unbiased, bounded, keyed by the contributors alone."""

import hashlib
import hmac
import json
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from ckm.engine.magnitudes import (
    FewContributors,
    MagnitudeError,
    MagnitudeNoise,
    Proportional,
    perturb_magnitudes,
    plan_noise,
)
from ckm.engine.magnitudes.noise import perturb as drawing
from ckm.engine.magnitudes.noise.alike import CountNoise
from ckm.engine.magnitudes.noise.perturb import keyed_fractions, keyed_numbers, trace_own
from ckm.engine.magnitudes.other_tools.cellkey import trace_cellkey
from ckm.engine.magnitudes.other_tools.tauargus import trace_tauargus
from ckm.errors import ConfigError
from ptable import NoiseSpec, PTable, solve
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


def test_the_secret_is_needed():
    with pytest.raises(ConfigError, match="secret"):
        perturb_magnitudes(amounts([[5.0]]), MagnitudeNoise.start())


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


# Row 1 has noise -1 and 1, row 2 has -2 and 2: the lower half of the keys goes down.
TABLE = PTable(
    noise=[[0], [-1, 1], [-2, 2]], upper=[[8], [4, 8], [4, 8]], key_range=8, anchors=(0, 1, 2)
)

LOW, HIGH = 2 * 10**17, 9 * 10**17  # 0.2 becomes 0.00000002, 0.9 becomes 0.00000009


def keys(*numbers):
    return np.array(numbers, np.uint64)


def _with_key(cells, key):
    fields = {name: getattr(cells, name) for name in cells.__dataclass_fields__}
    return type(cells)(**(fields | {"key": keys(key), "key_range": 10**18}))


def test_zero_keys_take_the_keys_of_all_records():
    noise = MagnitudeNoise(
        ptable=TABLE, scale=Proportional(share=0.1), rules="cellkey", zero_keys=True
    )
    cells = _with_key(amounts([[50.0, 0.0]]), LOW)
    with pytest.raises(ConfigError, match="zero_keys"):
        perturb_magnitudes(cells, noise)
    assert perturb_magnitudes(cells, noise, cell_keys=keys(HIGH)).tolist() == [60.0]
    assert perturb_magnitudes(cells, noise, cell_keys=keys(LOW)).tolist() == [40.0]


@pytest.mark.parametrize("rules", ["cellkey", "tauargus"])
def test_amounts_that_are_no_numbers_are_refused(rules):
    cells = amounts([[5.0]])
    cells.total[0] = np.nan
    noise = MagnitudeNoise(ptable=TABLE, scale=Proportional(share=0.1), rules=rules)
    with pytest.raises(MagnitudeError, match="infinite or undefined"):
        perturb_magnitudes(cells, noise)


# --- the noise recomputed from its description, in plain Python ---------------------------

MASK = 2**64 - 1
HALVES = PTable(
    noise=[[0], [-1, 0, 1], [-2, 0, 1, 3], [-4, -1, 5]],
    upper=[[24], [6, 18, 24], [6, 12, 18, 24], [8, 20, 24]],
    key_range=24,
    anchors=(0, 1, 2, 4),
)
CELLS = [
    [50.0, 30.0, 20.0, 4.0],
    [7.0],
    [],
    [3.0, 3.0, 3.0],
    [1e6, 999.0],
    [0.0, 12.0],
    [9.0, 8.0, 4.0, 1.0],
    [0.0],
]
NAMED = [False] * 6 + [True] * 2


def siphash(message, key):
    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D]
    v += [k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def turn(x, bits):
        return (x << bits | x >> (64 - bits)) & MASK

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & MASK
            v[2] = (v[2] + v[3]) & MASK
            v[1] = turn(v[1], 13) ^ v[0]
            v[3] = turn(v[3], 16) ^ v[2]
            v[0] = turn(v[0], 32)
            v[2] = (v[2] + v[1]) & MASK
            v[0] = (v[0] + v[3]) & MASK
            v[1] = turn(v[1], 17) ^ v[2]
            v[3] = turn(v[3], 21) ^ v[0]
            v[2] = turn(v[2], 32)

    for block in (message, 8 << 56):
        v[3] ^= block
        rounds(2)
        v[0] ^= block
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def number(key, period, settings, purpose, component):
    text = json.dumps(
        ["ckm magnitude v1", "income", period, settings, purpose, component],
        separators=(",", ":"),
    )
    return siphash(key, hmac.digest(bytes(range(32)), text.encode(), hashlib.sha256)[:16])


def even(drawn):
    return Fraction((drawn >> 12) * 2 + 1, 2**53)


def looked_up(row, drawn, least):
    units = {v: Fraction(n, HALVES.key_range) for v, n in HALVES.units(row).items()}
    if least is not None:
        up = {v: p for v, p in units.items() if v > 0}
        down = {v: p for v, p in units.items() if v < 0}
        high, low = (
            least + sum(abs(v) * p for v, p in side.items()) / sum(side.values())
            for side in (up, down)
        )
        units = {v: p / sum(down.values()) * high / (high + low) for v, p in down.items()}
        units |= {v: p / sum(up.values()) * low / (high + low) for v, p in up.items()}
    running = Fraction(0)
    for v in sorted(units):
        running += units[v]
        if Fraction(drawn, 2**64) < running:
            return v
    raise AssertionError


def published(values, key, own, is_named, *, share, factors, least, decimals, period, settings):
    kept = sorted((Fraction(v) for v in values if v), reverse=True)
    if not kept:
        return Fraction(0)
    total, is_sensitive = sum(kept), is_named or len(kept) < 3
    word = "sensitive " if is_sensitive else ""
    factors = (Fraction(1),) * 3 if is_sensitive else factors
    units = [x * f * share for x, f in zip(kept, factors, strict=False)]
    margin = Fraction(1, 2) + (least if is_sensitive else 0)
    room = kept[0] / units[0] if is_sensitive else total / sum(units)
    row = max((a for a in (1, 2, 4) if a + margin <= room), default=None)
    if row is None:
        units, row = [s * room / (1 + margin) for s in units], 1
    for component, unit in enumerate(units, 1):
        is_own = is_sensitive and component <= 2  # others have noise of the whole cell
        of = (own[component - 1], 1) if is_own else (key, component)
        drawn = number(of[0], period, settings, f"{word}noise", of[1])
        v = looked_up(row, drawn, least if is_sensitive else None)
        jitter = number(of[0], period, settings, f"{word}jitter", of[1])
        jitter = even(jitter) - Fraction(1, 2)
        extra = least * ((v > 0) - (v < 0)) if is_sensitive else 0
        total += unit * (v + extra + jitter)
    scaled = total * Fraction(10) ** decimals
    whole = scaled.numerator // scaled.denominator
    whole += even(number(key, period, settings, "rounding", 1)) < scaled - whole
    return whole / Fraction(10) ** decimals


@pytest.mark.parametrize("share", [Fraction(1, 8), Fraction(3, 8), Fraction(1)])
@pytest.mark.parametrize(("decimals", "period"), [(0, ""), (2, "2027"), (-1, 'é "2027"')])
def test_published_totals_are_those_of_the_description(share, decimals, period):
    noise = MagnitudeNoise(
        ptable=HALVES,
        scale=Proportional(share=float(share)),
        factors=(1.0, 0.5),
        sensitive=(FewContributors(least=3),),
        least_noise=0.5,
        decimals=decimals,
        period=period,
    )
    cells = replace(amounts(CELLS), named=np.array(NAMED))
    made = [HALVES.id, None, None, None, ["Proportional", float(share)], "top", [1.0, 0.5], 0.5]
    made += [[["FewContributors", 3]], False, True]
    text = json.dumps(made, separators=(",", ":"))
    settings = hashlib.sha256(text.encode()).hexdigest()
    found = perturb_magnitudes(cells, noise, secret=SECRET).tolist()
    wanted = [
        published(
            values,
            key,
            own,
            is_named,
            share=share,
            factors=(Fraction(1), Fraction(1, 2)),
            least=Fraction(1, 2),
            decimals=decimals,
            period=period,
            settings=settings,
        )
        for values, key, own, is_named in zip(
            CELLS, cells.key.tolist(), cells.first_keys.tolist(), NAMED, strict=True
        )
    ]
    assert found == [float(total) for total in wanted]
    assert found != [sum(values) for values in CELLS]


# --- rounding, and the other tools --------------------------------------------------------


def chances(totals, decimals, *, fraction_bits=5):
    """Give how often a total is rounded to what, over evenly spread fractions."""
    n = 2**fraction_bits
    fractions = (np.arange(n) + 0.5) / n
    found = drawing._rounded(np.repeat(totals, n), decimals, np.tile(fractions, len(totals)))
    return found.reshape(len(totals), n)


def test_rounding_keeps_the_mean_and_reaches_the_two_neighbours_alone():
    totals = np.array([0.0, 10.25, 17.5, 1000.0, 0.125, 1999.75])
    for decimals, unit in ((0, 1.0), (1, 0.1), (-1, 10.0), (-3, 1000.0)):
        found = chances(totals, decimals, fraction_bits=10)
        assert np.abs(found.mean(axis=1) - totals).max() <= unit / 1024
        assert (np.abs(found - totals[:, np.newaxis]) < unit).all()
        assert np.abs(found / unit - np.rint(found / unit)).max() < 1e-9
    assert chances(np.array([-0.25]), 0).mean() == -0.25


def test_a_multiple_of_the_unit_stays_what_it_is():
    assert (chances(np.array([30.0]), -1) == 30.0).all()
    assert (chances(np.array([0.5]), 1) == 0.5).all()


def test_amounts_beyond_the_digits_of_a_float_are_not_rounded():
    large = np.array([2.0**60 + 2**8, 123456789012345.675])
    assert (chances(large, 2) == large[:, np.newaxis]).all()
    assert (chances(large[:1], 0) == large[0]).all()
    thousands = chances(np.array([2.0**54 + 4]), -3)
    assert (thousands % 1000 == 0).all(), "whole thousands are still told apart"
    beyond = np.array([2.0**70])
    assert (chances(beyond, -3) == beyond).all()


def test_fractions_are_middles_and_their_mirror_images_are_fractions_too():
    numbers = np.array([0, 2**12 - 1, 2**12, 2**63, 2**64 - 1], np.uint64)
    found = keyed_fractions(numbers)
    assert found.tolist() == [0.5 / 2**52, 0.5 / 2**52, 1.5 / 2**52, 0.5 + 2**-53, 1 - 2**-53]
    assert (1 - keyed_fractions(~numbers)).tolist() == found.tolist()


@pytest.mark.parametrize("rules", ["cellkey", "tauargus"])
@pytest.mark.parametrize("zero_keys", [False, True])
def test_other_rules_give_the_totals_of_their_trace(rules, zero_keys):
    cells = replace(
        amounts([[50.0, 30.0], [20.0, 0.0], [7.0]]),
        key=np.array([10**17, 4 * 10**17, 9 * 10**17 + 3 * 10**9], np.uint64),
        key_range=10**18,
    )
    every = np.array([3 * 10**17, 6 * 10**17, 10**16], np.uint64)
    noise = MagnitudeNoise(
        ptable=TABLE, scale=Proportional(share=0.1), rules=rules, zero_keys=zero_keys
    )
    keys = every if zero_keys else cells.key
    if rules == "cellkey":
        wanted = trace_cellkey(cells, noise, keys=keys / 1e18)
    else:
        wanted = trace_tauargus(cells, noise, keys=keys, key_range=10**18)
    found = perturb_magnitudes(cells, noise, cell_keys=every)
    assert found.tolist() == wanted.totals.tolist()
    assert (found != cells.total).all()


# --- the steps of a single cell -----------------------------------------------------------


@pytest.mark.parametrize("values", [[40.0, 30.0, 20.0, 10.0], [1000.0, 50.0]])
def test_the_steps_of_a_cell_add_up_to_its_published_total(values):
    cells = amounts([values])
    noise = MagnitudeNoise.start(decimals=None, factors=(1.0, 0.5))
    trace = trace_own(cells, noise, secret=SECRET)
    plan = plan_noise(cells, noise)
    assert trace["original sum"] == sum(values)
    assert trace["contributors"] == len(values)
    assert trace["their key"] == int(cells.key[0])
    assert trace["is sensitive"] is (len(values) == 2)
    assert trace["row of its p-table"] == plan.row[0]
    assert trace["units of noise"] == plan.steps[0].tolist()
    assert len(trace["noises"]) == 2
    found = perturb_magnitudes(cells, noise, secret=SECRET)[0]
    assert trace["sum with noise"] == found
    assert sum(values) + sum(trace["noises"]) == pytest.approx(found, rel=1e-12)
    assert not {"contributors as counted", "sum of so many"} & set(trace)


def test_the_steps_of_a_cell_of_amounts_that_are_alike_name_its_published_count():
    counts = CountNoise(ptable=solve(NoiseSpec(max_noise=5, variance=3.0)), secret=SECRET)
    noise = MagnitudeNoise.start(decimals=None)
    named = 0
    for seed in range(8):
        one = changed(repeated([7.0] * 20, 1, seed=seed), squares=np.array([20 * 49.0]))
        trace = trace_own(one, noise, secret=SECRET, counts=counts)
        (count,) = counts.published(one).tolist()
        assert trace["contributors"] == 20
        assert trace["original sum"] == 140.0
        if count == 20:
            assert "sum of so many" not in trace
            continue
        named += 1
        assert trace["contributors as counted"] == count
        assert trace["sum of so many"] == pytest.approx(7.0 * count)
        total = trace["sum of so many"] + sum(trace["noises"])
        assert trace["sum with noise"] == pytest.approx(total, rel=1e-12)
        published = perturb_magnitudes(one, noise, secret=SECRET, counts=counts)
        assert trace["sum with noise"] == published[0]
    assert named > 2


def test_without_jitter_noise_is_whole_steps():
    noise = MagnitudeNoise.start(decimals=None, jitter=False, scale=Proportional(share=0.5))
    cells = repeated([64.0, 60.0, 60.0, 60.0], 500)
    steps = (perturb_magnitudes(cells, noise, secret=SECRET) - 244.0) / 16.0  # half of 32
    assert (steps == np.rint(steps)).all()
    assert len(np.unique(steps)) > 5


def test_p_tables_by_parity_are_each_read_at_the_keys_of_their_own_cells():
    """Two cells of one key and one largest amount: the even one has other noise."""
    common = {"scale": Proportional(share=0.25), "jitter": False, "decimals": None}
    both = MagnitudeNoise(even=SKEWED, odd=HALVES, **common)
    cells = amounts([[8.0, 8.0], [8.0, 8.0, 8.0]] * 40)
    found = perturb_magnitudes(cells, both, secret=SECRET)
    rows = plan_noise(cells, both).row
    for place, table in ((0, SKEWED), (1, HALVES)):
        moves = ((found - cells.total) / 2.0)[place::2]
        (row,) = set(rows[place::2].tolist())
        assert set(moves.tolist()) == {v / table.step for v in table.units(row)}


def test_a_variable_with_negative_values_is_told_how_they_are_let_in():
    """Before the rules for sensitive cells, which would refuse them with less to do."""
    with pytest.raises(MagnitudeError, match="its noise is for amounts that are not negative"):
        perturb_magnitudes(amounts([[5.0, -3.0, 4.0]]), MagnitudeNoise.start(), secret=SECRET)
