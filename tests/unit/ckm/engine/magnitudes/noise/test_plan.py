"""What the noise of a cell may be: rows, units and p-tables, before any key is looked at."""

from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from ckm.engine.magnitudes import (
    FewContributors,
    Flex,
    MagnitudeError,
    MagnitudeNoise,
    Proportional,
    magnitude_ptable,
    perturb_magnitudes,
    plan_noise,
)
from ckm.engine.magnitudes.noise.plan import Regime, two_sided
from ptable import PTable
from tables import Request, Secret, StoredKeys, cube, open_source
from tables.magnitudes.amounts import Magnitudes
from tests.amounts import amounts

SECRET = Secret(bytes(range(32)))


def changed(magnitudes, **fields):
    given = {n: getattr(magnitudes, n) for n in magnitudes.__dataclass_fields__}
    return Magnitudes(**(given | fields))


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


def test_keys_of_the_largest_contributors_are_not_made_up():
    cells = changed(amounts([[5.0]]), first_sizes=np.zeros((1, 0)))
    with pytest.raises(MagnitudeError, match="none were asked for"):
        perturb_magnitudes(cells, MagnitudeNoise.start(), secret=SECRET)


def test_a_cube_of_amounts_of_either_sign_has_the_contributors_that_its_noise_asks_for():
    records = pa.table(
        {
            "area": [*"ABBBB"],
            "x": [-1.5, 2.0, 3.0, -9.0, 1.0],
            "key": pa.array(range(5), "uint8"),
        }
    )
    noise = MagnitudeNoise.start(spread=0.15, signed=True)

    def published(top):
        request = Request(dimensions=["area"], sums=["x"], top=top)
        with open_source(records) as source:
            (cells,) = cube(source, StoredKeys(column="key"), [request])
        return perturb_magnitudes(cells.magnitudes["x"], noise, secret=SECRET)

    assert published(noise.n_top).shape == (3,)
    with pytest.raises(MagnitudeError, match="none were asked for") as caught:
        published(0)
    assert "n_top" in caught.value.hint


def test_reprs_hold_no_amount():
    cells = amounts([[123457.0, 3.0]])
    plan = plan_noise(cells, MagnitudeNoise.start())
    assert "123457" not in repr(cells) + repr(plan)


SKEWED = PTable(
    noise=[[0], [-1, 0, 2], [-2, -1, 1, 2], [-4, 0, 4]],
    upper=[[24], [12, 18, 24], [4, 12, 20, 24], [4, 20, 24]],
    key_range=24,
    anchors=(0, 1, 2, 4),
)


def means(table, least_noise):
    """Give the exact mean of every row but the first, in units."""
    found = []
    for count in table.counts[1:].tolist():
        total = Fraction(0)
        for v, n in table.units(count).items():
            assert v != 0
            size = Fraction(v, table.step) + least_noise * (1 if v > 0 else -1)
            total += size * n
        found.append(total / table.key_range)
    return found


@pytest.mark.parametrize("least_noise", [Fraction(0), Fraction(1, 2), Fraction(3)])
@pytest.mark.parametrize("table", [SKEWED, magnitude_ptable()], ids=["skewed", "start"])
def test_means_are_zero_to_a_few_keys_and_no_row_holds_no_noise(table, least_noise):
    found = two_sided(table, least_noise=float(least_noise))
    assert found.counts.tolist() == table.counts.tolist()
    assert all(abs(mean) < Fraction(1, 2**55) for mean in means(found, least_noise))


def test_the_rule_of_other_tools_has_a_bias():
    """They add sign(v) (m + |v|) to the law as it is, and take no noise for upward noise."""
    units = magnitude_ptable().units(5)
    biased = sum(Fraction(n, 2**32) * (1 if v >= 0 else -1) for v, n in units.items())
    assert float(biased) == pytest.approx(float(Fraction(units[0], 2**32)), rel=1e-6)
    assert biased > Fraction(14, 100)


def test_given_its_side_noise_keeps_its_law():
    found = two_sided(SKEWED, least_noise=1.0)
    before, after = SKEWED.units(2), found.units(2)
    for first, second in ((-2, -1), (1, 2)):
        ratio = Fraction(before[first], before[second])
        assert float(Fraction(after[first], after[second]) / ratio) == pytest.approx(1, 1e-15)


def test_a_row_without_noise_on_both_sides_is_refused():
    table = PTable(noise=[[0], [0], [-2, 2]], upper=[[8], [8], [4, 8]], key_range=8)
    with pytest.raises(MagnitudeError, match="both sides"):
        two_sided(table, least_noise=1.0)


# --- the plan of every cell, by hand ------------------------------------------------------

SPREAD = PTable(  # half steps, anchors 0, 1, 2, 4
    noise=[[0], [-2, 0, 2], [-4, -1, 1, 4], [-8, 0, 1, 7]],
    upper=[[32], [8, 24, 32], [4, 16, 28, 32], [4, 16, 28, 32]],
    key_range=32,
    step=2,
    anchors=(0, 1, 2, 4),
)
SMALL = PTable(  # quarter steps, one row
    noise=[[0], [-4, 0, 6]], upper=[[8], [3, 6, 8]], key_range=8, step=4, anchors=(0, 1)
)
TINY = Fraction(1, 2**62)


def two_sides(units, step, least):
    """Return the exact law of noise that is never none, as units → probability."""
    up = {v: n for v, n in units.items() if v > 0}
    down = {v: n for v, n in units.items() if v < 0}
    high, low = (
        least + Fraction(sum(abs(v) * n for v, n in s.items()), step * sum(s.values()))
        for s in (up, down)
    )
    law = {v: high / (high + low) * Fraction(n, sum(down.values())) for v, n in down.items()}
    return law | {v: low / (high + low) * Fraction(n, sum(up.values())) for v, n in up.items()}


def planned(values, weights, noise, *, is_named=False):
    """Return units, row, table and variance of one cell, from the description alone."""
    parts = [(v * w, w) for v, w in zip(values, weights, strict=True) if v]
    parts.sort(key=lambda part: -abs(part[0] / part[1]))  # by value, as the aggregation does
    sizes = sorted((abs(part) for part, _ in parts), reverse=True)
    total = sum(part for part, _ in parts)
    n = len(sizes)
    is_sensitive = n > 0 and (is_named or any(n < rule.least for rule in noise.sensitive))
    width = 1 / (noise.ptable or noise.even).step if noise.jitter else 0.0
    if is_sensitive or noise.base == "top":
        bases = sizes[:3]
        if not is_sensitive:  # the largest values, and the very largest amount
            kept = sorted((abs(part) for part, _ in parts[: len(noise.factors)]), reverse=True)
            lacks = kept[:1] != sizes[:1]
            bases = [*sizes[:lacks], *kept][: len(noise.factors)]
    elif noise.base == "mean":
        bases = [abs(total) / sum(w for _, w in parts)] if n else []
    else:
        bases = [abs(total)] if n else []
    factors = (1.0, 1.0, 1.0) if is_sensitive else noise.factors
    units = [
        f * b * float(noise.scale.shares([b])[0]) for f, b in zip(factors, bases, strict=False)
    ]
    table = noise.ptable or (noise.odd if is_sensitive or n % 2 else noise.even)
    if n and bases[0] < noise.separation:
        table, width = noise.small_cells, 0.25 if noise.jitter else 0.0
        units = [1.0] * n if is_sensitive else [1.0]
        units = units[:3]
    margin = (noise.least_noise if is_sensitive else 0.0) + width / 2
    anchors = table.counts.tolist()[1:]
    row = anchors[-1]
    if not noise.signed and n:
        room, taken = (bases[0], units[0]) if is_sensitive else (total, sum(units))
        fitting = [a for a in anchors if (a + margin) * taken <= room]
        row = max(fitting, default=anchors[0])
        if not fitting:
            by = room / ((row + margin) * taken)
            units = [units[0] * by, *units[1:]] if is_sensitive else [u * by for u in units]
        if is_sensitive:
            units = [min(u, b / (row + margin)) for u, b in zip(units, bases, strict=True)]
    law = {v: Fraction(k, table.key_range) for v, k in table.units(row).items()}
    if is_sensitive:
        law = two_sides(table.units(row), table.step, Fraction(noise.least_noise))
    extra = noise.least_noise if is_sensitive else 0.0
    moves = [(v / table.step + extra * np.sign(v), float(p)) for v, p in law.items()]
    mean = sum(v * p for v, p in moves)
    variance = sum(v * v * p for v, p in moves) - mean**2 + width**2 / 12
    return units, row, is_sensitive, variance * sum(u * u for u in units)


RULE = (FewContributors(least=3),)
SETTINGS = {
    "plain": {},
    "jittered": {"jitter": True},
    "wide": {"scale": Proportional(share=0.9)},
    "flex": {"scale": Flex(point=30.0, small=0.4, large=0.1)},
    "factors": {"factors": (1.0, 0.5, 0.25, 0.25)},
    "sensitive": {"sensitive": RULE, "least_noise": 0.5},
    "sensitive, wide": {"sensitive": RULE, "scale": Proportional(share=1.0), "jitter": True},
    "sensitive, flex": {
        "sensitive": RULE,
        "scale": Flex(point=30.0, small=0.9, large=0.1),
        "least_noise": 1.0,
    },
    "several, sensitive": {"factors": (1.0, 0.5, 0.2, 0.1), "sensitive": RULE},
    "mean": {"base": "mean", "sensitive": RULE, "least_noise": 0.25},
    "sum": {"base": "sum", "scale": Proportional(share=0.05)},
    "parity": {"ptable": None, "even": SPREAD, "odd": SKEWED, "sensitive": RULE},
    "small cells": {"small_cells": SMALL, "scale": Proportional(share=0.1)},
    "small, parity": {
        "ptable": None,
        "even": SPREAD,
        "odd": SPREAD,
        "small_cells": SMALL,
        "sensitive": RULE,
        "least_noise": 0.5,
        "scale": Proportional(share=0.1),
        "jitter": True,
    },
    "small, factors": {
        "small_cells": SMALL,
        "factors": (1.0, 0.5),
        "sensitive": RULE,
        "scale": Proportional(share=0.1),
        "jitter": True,
    },
    "signed": {"signed": True, "sensitive": RULE, "scale": Proportional(share=0.9)},
    "small, signed": {
        "small_cells": SMALL,
        "factors": (1.0, 0.5),
        "signed": True,
        "sensitive": RULE,
        "scale": Proportional(share=0.1),
    },
}


def draws(*, signed):
    """Draw cells of 0 to 6 contributors, some of them named, with weights."""
    rng = np.random.default_rng(5)
    cells, weights = [], []
    for place, n in enumerate(list(range(7)) * 12):
        values = np.round(rng.lognormal(3 if place % 2 else 0, 1.5, n), 2)
        if signed:
            values *= rng.choice([-1, 1], n)
        cells.append([*values.tolist(), *[0.0] * int(rng.integers(2))])
        weights.append(rng.integers(1, 4, len(cells[-1])).astype(float).tolist())
    return cells, weights, np.arange(len(cells)) % 5 == 0


@pytest.mark.parametrize("changes", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("named", [False, True])
def test_units_rows_and_variances_are_those_of_the_description(changes, named):
    fields = {"ptable": SPREAD, "scale": Proportional(share=0.3), "jitter": False} | changes
    noise = MagnitudeNoise(**fields)
    values, weights, is_named = draws(signed=noise.signed)
    cells = amounts(values, weights=weights)
    if named:
        cells = replace(cells, named=is_named)
    plan = plan_noise(cells, noise)
    variances = plan.variances()
    kinds = set()
    for place, parts in enumerate(zip(values, weights, strict=True)):
        mark = named and bool(is_named[place])
        units, row, is_sensitive, variance = planned(*parts, noise, is_named=mark)
        made = plan.steps[place]
        assert made[: len(units)].tolist() == pytest.approx(units, rel=1e-12)
        assert not made[len(units) :].any()
        assert plan.sensitive[place] == is_sensitive
        if units:
            assert plan.row[place] == row
        assert variances[place] == pytest.approx(variance, rel=1e-9)
        kinds.add(row)
    assert len(kinds) > 1 or noise.signed or noise.base == "sum"


def test_which_cells_are_sensitive_can_be_given():
    cells = amounts([[5.0, 4.0, 3.0], [5.0]])
    noise = MagnitudeNoise.start()
    assert plan_noise(cells, noise).sensitive.tolist() == [False, True]
    given = plan_noise(cells, noise, sensitive=np.array([True, False]))
    assert given.sensitive.tolist() == [True, False]
    assert given.steps[0].tolist() == pytest.approx([0.5276, 0.4221, 0.3166], abs=1e-4)


def test_a_total_that_holds_a_row_exactly_has_this_row():
    noise = MagnitudeNoise(ptable=SKEWED, scale=Proportional(share=0.5), jitter=False)
    assert plan_noise(amounts([[8.0]]), noise).row.tolist() == [2]
    quarter = MagnitudeNoise(ptable=SKEWED, scale=Proportional(share=0.25), jitter=False)
    assert plan_noise(amounts([[8.0]]), quarter).row.tolist() == [4]
    whole = MagnitudeNoise(ptable=SKEWED, scale=Proportional(share=1.0), jitter=False)
    plan = plan_noise(amounts([[8.0]]), whole)
    assert (plan.row.tolist(), plan.steps.tolist()) == ([1], [[8.0]])


def test_a_base_at_the_separation_point_has_the_noise_of_large_ones():
    noise = MagnitudeNoise(
        ptable=SPREAD, small_cells=SMALL, scale=Proportional(share=0.5), jitter=False
    )
    point = noise.separation
    variance = (3 * 16 + 2 * 36) / 8 / 16  # of the last row of SMALL, whose mean is 0
    assert point == pytest.approx(np.sqrt(variance) / 0.5)
    plan = plan_noise(amounts([[point], [np.nextafter(point, 0)]]), noise)
    assert plan.steps.ravel().tolist() == pytest.approx([point / 2, 1.0])
    assert [plan.regimes[n].table for n in plan.regime] == [SPREAD, SMALL]


@pytest.mark.parametrize("least_noise", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("table", [SKEWED, SPREAD], ids=["skewed", "half steps"])
def test_a_row_on_two_sides_has_the_probabilities_of_its_formula_to_a_key(table, least_noise):
    found = two_sided(table, least_noise=least_noise)
    assert (found.key_range, found.step) == (2**64, table.step)
    assert found.units(0) == {0: 2**64}
    for anchor in table.counts[1:].tolist():
        law = two_sides(table.units(anchor), table.step, Fraction(least_noise))
        units = found.units(anchor)
        assert sum(units.values()) == 2**64
        assert set(units) == set(law)
        assert all(abs(Fraction(units[v], 2**64) - p) < TINY for v, p in law.items())


def test_noise_on_either_side_alone_is_refused_for_sensitive_cells():
    for side in (-1, 1):
        table = PTable(
            noise=[[0], [-1, 1], sorted([0, side])], upper=[[8], [4, 8], [4, 8]], key_range=8
        )
        with pytest.raises(MagnitudeError, match="both sides"):
            two_sided(table, least_noise=1.0)


def test_the_law_of_a_row_has_the_least_noise_on_either_side_and_none_at_zero():
    regime = Regime(table=SPREAD, least_noise=0.25, width=0.5)
    values, chances = regime.law(4)
    assert dict(zip(values, chances, strict=True)) == {
        -4.25: 0.125,
        0.0: 0.375,
        0.75: 0.375,
        3.75: 0.125,
    }
    assert regime.margin == 0.5
    mean = -4.25 / 8 + 0.75 * 3 / 8 + 3.75 / 8
    square = 4.25**2 / 8 + 0.75**2 * 3 / 8 + 3.75**2 / 8
    assert regime.variance(4) == pytest.approx(square - mean**2 + 0.25 / 12)


@pytest.mark.parametrize("field", ["weighted_contributors", "top_weight"])
def test_weights_that_are_no_numbers_are_refused(field):
    cells = amounts([[5.0, 4.0]])
    broken = getattr(cells, field).copy()
    broken.flat[0] = np.inf
    with pytest.raises(MagnitudeError, match="infinite or undefined"):
        plan_noise(changed(cells, **{field: broken}), MagnitudeNoise.start())


def test_a_negative_total_is_refused_even_without_a_negative_value():
    """Negative weights make one, and no weight below zero need be among the largest."""
    cells = amounts([[5.0, 4.0, 3.0]])
    broken = changed(cells, total=np.array([-1.0]))
    with pytest.raises(MagnitudeError, match="negative values"):
        plan_noise(broken, MagnitudeNoise.start())
    assert plan_noise(broken, MagnitudeNoise.start(signed=True)).row.tolist() == [5]
    with pytest.raises(MagnitudeError, match="weights"):
        plan_noise(
            changed(cells, top_weight=-cells.top_weight), MagnitudeNoise.start(signed=True)
        )


def test_plans_and_regimes_are_given_by_name_and_show_no_number():
    regime = Regime(table=SPREAD, least_noise=0.5, width=0.5)
    assert regime == Regime(table=SPREAD, least_noise=0.5, width=0.5)
    assert not hasattr(regime, "__dict__")
    with pytest.raises(TypeError):
        Regime(SPREAD, 0.5, 0.5)
    with pytest.raises(FrozenInstanceError):
        regime.width = 0.0
    plan, again = (plan_noise(amounts([[7.0]]), MagnitudeNoise.start()) for _ in range(2))
    assert plan != again, "plans are no values, whose numbers would be compared"
    assert not hasattr(plan, "__dict__")
    with pytest.raises(FrozenInstanceError):
        plan.row = plan.row
