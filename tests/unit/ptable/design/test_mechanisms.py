from __future__ import annotations

import decimal
import json
import math
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ckm
from ptable import PTable, PTableError, PTableWarning
from ptable.design.design import design_from_dict
from ptable.design.distributions import share, share_even
from ptable.design.mechanisms import Mechanism, verify
from ptable.files import _checksum
from tests.strategies import published

COUNTS = np.arange(3000)
EVERY = [
    Mechanism.rounding(5),
    Mechanism.rounding(10, ties="even"),
    Mechanism.ons_10_5(),
    Mechanism.random_rounding(3),
    Mechanism.small_count_rounding(4),
    Mechanism.discrete_laplace(1.0, max_noise=6),
    Mechanism.discrete_laplace(0.3, max_noise=6, edge="truncate", zeros="keep"),
    Mechanism.discrete_gaussian(4.0, max_noise=8, edge="fold"),
]


def name(mechanism):
    return repr(mechanism).partition(".")[2]


@pytest.mark.parametrize("base", range(2, 13))
@pytest.mark.parametrize("ties", ["up", "down", "even"])
def test_rounding_goes_to_the_nearest_multiple_for_every_count(base, ties):
    half = Fraction(1, 2)
    rules = {
        "up": lambda share: math.floor(share + half),
        "down": lambda share: math.ceil(share - half),
        "even": round,
    }
    noise = Mechanism.rounding(base, ties=ties).build().lookup(COUNTS, COUNTS)
    expected = [base * rules[ties](Fraction(count, base)) for count in COUNTS.tolist()]
    assert (COUNTS + noise).tolist() == expected


def test_rounding_treats_a_huge_count_exactly():
    table = Mechanism.rounding(7).build()
    assert table.lookup(np.array([2**62]), np.array([0]))[0] == -(2**62 % 7) + 7 * (
        2**62 % 7 > 3
    )


def test_counts_below_a_threshold_become_0():
    table = Mechanism.rounding(5, threshold=13).build()
    noise = table.lookup(COUNTS, COUNTS)
    assert not (COUNTS + noise)[:13].any()
    assert (COUNTS + noise)[13:16].tolist() == [15, 15, 15]


@pytest.mark.slow
def test_the_ons_rule_is_the_table_that_ships_with_their_package():
    file = Path(sys.prefix) / "ptable_10_5_rule.csv"
    if not file.exists():
        pytest.skip("the package's p-table is not installed")
    theirs = PTable.from_key_table(pd.read_csv(file), large_counts="cycle:250")
    ours = Mechanism.ons_10_5().build()
    assert theirs.n_rows == 751
    counts, keys = np.meshgrid(np.arange(751), np.arange(256))
    noise = ours.lookup(counts, keys, key_range=256)
    assert (noise == theirs.lookup(counts, keys, key_range=256)).all()
    assert np.unique(noise).tolist() == list(range(-9, 3))
    # Beyond 750 they reuse rows: the same again, for a cycle of 250 is one of 5.
    assert (ours.lookup(COUNTS, COUNTS) == theirs.lookup(COUNTS, COUNTS)).all()


@pytest.mark.parametrize("base", [2, 3, 5, 10])
def test_random_rounding_goes_up_as_often_as_its_remainder_says(base):
    table = Mechanism.random_rounding(base).build()
    for count in range(4 * base):
        noise = table.lookup(np.full(base, count), np.arange(base), key_range=base)
        rest = count % base
        assert sorted(noise.tolist()) == [-rest] * (base - rest) + [base - rest] * rest
        assert noise.sum() == 0


def test_small_count_rounding_leaves_larger_counts_alone():
    table = Mechanism.small_count_rounding(4).build()
    keys = np.arange(4)
    for count, expected in [(0, [0] * 4), (1, [0, 0, 0, 4]), (3, [0, 4, 4, 4]), (4, [4] * 4)]:
        noise = table.lookup(np.full(4, count), keys, key_range=4)
        assert sorted((count + noise).tolist()) == expected
    assert not table.lookup(COUNTS[4:], COUNTS[4:]).any()


def exact(weight, max_noise):
    """Normalise weights with other digits and another order than the package."""
    with decimal.localcontext() as context:
        context.prec = 90
        weights = {v: weight(Decimal(v)) for v in range(max_noise, -max_noise - 1, -1)}
        total = sum(weights.values())
        return {v: weight / total for v, weight in weights.items()}


@pytest.mark.parametrize(
    ("mechanism", "weight"),
    [
        (
            Mechanism.discrete_laplace(0.1, max_noise=30),
            lambda v: (-abs(v) * Decimal("0.1")).exp(),
        ),
        (
            Mechanism.discrete_laplace(2.5, max_noise=4),
            lambda v: (-abs(v) * Decimal("2.5")).exp(),
        ),
        (Mechanism.discrete_gaussian(4.0, max_noise=9), lambda v: (-v * v / 8).exp()),
        (Mechanism.discrete_gaussian(100.0, max_noise=15), lambda v: (-v * v / 200).exp()),
    ],
    ids=lambda case: name(case) if isinstance(case, Mechanism) else "",
)
def test_noise_is_the_law_within_one_key_and_symmetric(mechanism, weight):
    table = mechanism.build()
    reach = mechanism.max_noise
    law = exact(weight, reach)
    units = table.units(reach)
    assert sum(units.values()) == 2**32
    for v in range(-reach, reach + 1):
        assert units[v] == units[-v]
        assert abs(units[v] - law[v] * 2**32) <= 1


def test_each_edge_does_what_it_says():
    full = Mechanism.discrete_laplace(0.5, max_noise=4).build().units(4)
    clamp, fold, truncate = (
        Mechanism.discrete_laplace(0.5, max_noise=4, edge=edge).build()
        for edge in ("clamp", "fold", "truncate")
    )
    assert clamp.units(1) == {-1: full[-4] + full[-3] + full[-2] + full[-1]} | {
        v: full[v] for v in range(5)
    }
    folded = {v: full[v] for v in range(-1, 5)}
    for v in (-4, -3, -2):
        folded[-(1 + v) - 1] += full[v]
    assert fold.units(1) == folded
    kept = sum(full[v] for v in range(-1, 5))
    for v, n in truncate.units(1).items():
        assert abs(n - Fraction(full[v] * 2**32, kept)) < 8
    assert set(truncate.units(1)) == set(range(-1, 5))
    assert clamp.units(4) == fold.units(4) == truncate.units(4) == full


def test_zeros_are_kept_on_demand():
    table = Mechanism.discrete_gaussian(2.0, max_noise=5, zeros="keep").build()
    assert table.units(0) == {0: 2**32}
    assert len(table.units(1)) > 1


def test_laws_do_not_depend_on_the_callers_decimal_context():
    expected = Mechanism.discrete_laplace(0.7, max_noise=9, edge="truncate").build()
    with decimal.localcontext() as context:
        context.prec = 2
        context.rounding = decimal.ROUND_UP
        context.traps[decimal.Inexact] = True
        context.traps[decimal.FloatOperation] = True
        again = Mechanism.discrete_laplace(0.7, max_noise=9, edge="truncate").build()
    assert again == expected


@pytest.mark.parametrize(
    ("epsilon", "largest"), [(5e-324, 3), (1e-12, 3), (1e6, 0), (1.7e308, 0)]
)
def test_extreme_rates_give_the_uniform_law_or_no_noise(epsilon, largest):
    table = Mechanism.discrete_laplace(epsilon, max_noise=3).build()
    units = table.units(3)
    assert max(units) == largest
    assert max(units.values()) - min(units.values()) <= 6


def test_shares_add_up_and_ties_go_to_the_smaller_noise():
    one = Decimal(1)
    assert share({-1: one, 0: one, 1: one}, total=4) == {-1: 1, 0: 2, 1: 1}
    assert share({0: one, 1: Decimal(0)}, total=5) == {0: 5, 1: 0}
    assert share_even([one], total=7) == {0: 7}
    for total in range(2, 60):
        units = share_even([Decimal(3), Decimal(2), one], total=total)
        assert sum(units.values()) == total
        assert [units[v] for v in (1, 2)] == [units[v] for v in (-1, -2)]
        assert all(
            abs(Fraction(9 * n, total) - (3 - abs(v))) <= Fraction(9, total)
            for v, n in units.items()
        )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": "swapping"}, "name must be one of rounding, random-rounding"),
        ({"name": ["rounding"]}, "name must be one of"),
        ({"name": None}, "name must be one of"),
        ({"name": "rounding"}, "base is missing"),
        ({"name": "rounding", "base": 1}, "base must be an integer from 2 to 10000, not 1"),
        ({"name": "rounding", "base": 5.0}, "base must be an integer"),
        ({"name": "rounding", "base": True}, "base must be an integer"),
        ({"name": "rounding", "base": 10**30}, "base must be an integer"),
        ({"name": "rounding", "base": 4, "ties": "odd"}, "ties must be one of up, down, even"),
        ({"name": "rounding", "base": 4, "threshold": -1}, "threshold must be an integer"),
        ({"name": "random-rounding", "base": 3, "epsilon": 1.0}, "epsilon is none of its"),
        ({"name": "discrete-laplace", "max_noise": 3}, "epsilon is missing"),
        ({"name": "discrete-laplace", "epsilon": 1.0}, "max_noise is missing"),
        ({"name": "discrete-laplace", "epsilon": 1.0, "max_noise": 1001}, "from 1 to 1000"),
        ({"name": "discrete-laplace", "epsilon": 0.0, "max_noise": 3}, "epsilon must be a fi"),
        ({"name": "discrete-laplace", "epsilon": -1, "max_noise": 3}, "epsilon must be a fin"),
        ({"name": "discrete-laplace", "epsilon": math.nan, "max_noise": 3}, "finite number"),
        ({"name": "discrete-laplace", "epsilon": math.inf, "max_noise": 3}, "finite number"),
        ({"name": "discrete-laplace", "epsilon": 10**400, "max_noise": 3}, "finite number"),
        (
            {"name": "discrete-laplace", "epsilon": Fraction(1, 10**400), "max_noise": 3},
            "finite number",
        ),
        ({"name": "discrete-laplace", "epsilon": "1", "max_noise": 3}, "finite number"),
        ({"name": "discrete-laplace", "epsilon": True, "max_noise": 3}, "finite number"),
        ({"name": "discrete-laplace", "epsilon": [1.0], "max_noise": 3}, "finite number"),
        (
            {"name": "discrete-laplace", "epsilon": 1.0, "max_noise": 3, "edge": "reflect"},
            "edge must be one of clamp, fold, truncate",
        ),
        (
            {"name": "discrete-gaussian", "variance": 1.0, "max_noise": 3, "zeros": "no"},
            "zeros must be one of noise, keep",
        ),
    ],
)
def test_what_is_no_mechanism_is_refused(fields, words):
    with pytest.raises(PTableError, match=words):
        Mechanism(**fields)


def test_all_problems_of_a_mechanism_are_told_together():
    with pytest.raises(PTableError) as caught:
        Mechanism(name="discrete-laplace", epsilon=-1.0, base=3)
    for words in ("base is none", "epsilon must be", "max_noise is missing"):
        assert words in caught.value.problem


@pytest.mark.parametrize("mechanism", EVERY, ids=name)
def test_a_mechanism_comes_back_from_plain_values(mechanism):
    plain = json.loads(json.dumps(mechanism.to_dict()))
    assert design_from_dict(plain) == mechanism
    assert hash(design_from_dict(plain)) == hash(mechanism)


def test_unknown_fields_are_told():
    with pytest.raises(PTableError, match="has no parameter 'sigma'"):
        design_from_dict({"kind": "mechanism", "name": "rounding", "base": 5, "sigma": 2})
    with pytest.raises(PTableError, match="needs a name"):
        design_from_dict({"kind": "mechanism", "base": 5})
    for kind in ("magic", ["mechanism"]):
        with pytest.raises(PTableError, match="this program knows"):
            design_from_dict({"kind": kind})


@pytest.mark.parametrize("mechanism", EVERY, ids=name)
@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_a_file_keeps_what_built_the_table(mechanism, suffix, tmp_path):
    table = mechanism.build()
    table.write(tmp_path / f"pt{suffix}")
    again = PTable.read(tmp_path / f"pt{suffix}")
    assert again == table
    assert again.spec == mechanism
    assert again.certificate is None


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"kind": "mechanism", "name": "random-rounding", "base": 3}},
        {"spec": {"kind": "mechanism", "name": "rounding", "base": 5, "threshold": 1}},
        {
            "certificate": {
                "rows": [],
                "variance_rule": "exact",
                "solver": {},
            }
        },
    ],
)
def test_a_file_whose_mechanism_builds_another_table_is_refused(change, tmp_path):
    file = tmp_path / "pt.json"
    Mechanism.rounding(5).build().write(file)
    content = json.loads(file.read_text())
    rows = content.pop("rows")
    content |= change
    content["checksum"] = _checksum(content)
    file.write_text(json.dumps({**content, "rows": rows}))
    with pytest.raises(PTableError, match=r"The p-table is not what .* builds"):
        PTable.read(file)


def test_only_tables_of_mechanisms_can_be_verified():
    with pytest.raises(PTableError, match="without a mechanism"):
        verify(PTable(noise=[[0]], upper=[[8]], key_range=8))


def test_the_identity_of_a_mechanism_never_changes():
    ids = [mechanism.build().id[:16] for mechanism in EVERY]
    assert ids == [
        "866c917a5fc1827e",
        "3c5e0844e69c4c22",
        "079b06086b143eeb",
        "7745865578e4e072",
        "1279f5adc4d54b82",
        "01b584f9325ee113",
        "a2a0cce08dccac69",
        "6546ece88bfdaf57",
    ]


# --- through the engine ---------------------------------------------------------------------


def release(mechanism, **options):
    rng = np.random.default_rng(5)
    n = 4000
    people = pa.table(
        {
            "id": np.arange(n),
            "area": np.minimum(rng.geometric(0.08, n), 60).astype(str),
            "sex": rng.choice(["F", "M"], n),
        }
    )
    with ckm.Engine(
        people, id="id", secret=ckm.Secret(bytes(16)), ptable=mechanism.build(), **options
    ) as engine:
        protected = published(engine.tabulate(["area", "sex"]))
    frame = people.to_pandas().assign(n=1)
    truth = {}
    for by in (["area", "sex"], ["area"], ["sex"], []):
        groups = frame.groupby(by).size() if by else {(): n}
        for key, count in groups.items():
            labels = dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True))
            cell = tuple(labels.get(column, "Total") for column in ("area", "sex"))
            truth[cell] = int(count)
    return protected, truth


def test_rounding_through_the_engine_publishes_the_nearest_multiples():
    protected, truth = release(Mechanism.rounding(5))
    assert len(truth) > 100
    for cell, count in truth.items():
        assert protected.get(cell, 0) == (count + 2) // 5 * 5


def test_the_ons_rule_through_the_engine_publishes_nothing_below_10():
    protected, truth = release(Mechanism.ons_10_5())
    assert any(0 < count < 10 for count in truth.values())
    for cell, count in truth.items():
        assert protected.get(cell, 0) == (0 if count < 10 else (count + 2) // 5 * 5)


def test_random_rounding_through_the_engine_goes_both_ways():
    protected, truth = release(Mechanism.random_rounding(3))
    ways = {count % 3: set() for count in truth.values()}
    for cell, count in truth.items():
        ways[count % 3].add(protected.get(cell, 0) - count)
    assert ways == {0: {0}, 1: {-1, 2}, 2: {-2, 1}}


def test_empty_cells_stay_empty_in_the_engine_whatever_the_row_of_0_says():
    mechanism = Mechanism.discrete_laplace(0.2, max_noise=20)
    areas = [str(n) for n in range(200)]
    with pytest.warns(PTableWarning, match="noise for counts of 0"):
        protected, truth = release(mechanism, categories={"area": areas, "sex": ["F", "M"]})
    empty = [cell for cell in protected if cell not in truth]
    assert len(empty) > 100
    assert not any(protected[cell] for cell in empty)
    assert any(protected[cell] != count for cell, count in truth.items())
