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
import pytest

from ptable import NoiseSpec, PTable, PTableError, solve
from ptable.design.mechanisms import Mechanism, parameter_schemas, verify

COUNTS = np.arange(3000)


def every():
    return [
        Mechanism.rounding(5),
        Mechanism.rounding(10, ties="even"),
        Mechanism.ons_10_5(),
        Mechanism.random_rounding(3),
        Mechanism.small_count_rounding(4),
        Mechanism.discrete_laplace(1.0, max_noise=6),
        Mechanism.discrete_laplace(0.3, max_noise=6, edge="truncate", zeros="keep"),
        Mechanism.discrete_gaussian(4.0, max_noise=8, edge="fold"),
    ]


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
            lambda: Mechanism.discrete_laplace(0.1, max_noise=30),
            lambda v: (-abs(v) * Decimal("0.1")).exp(),
        ),
        (
            lambda: Mechanism.discrete_laplace(2.5, max_noise=4),
            lambda v: (-abs(v) * Decimal("2.5")).exp(),
        ),
        (lambda: Mechanism.discrete_gaussian(4.0, max_noise=9), lambda v: (-v * v / 8).exp()),
        (
            lambda: Mechanism.discrete_gaussian(100.0, max_noise=15),
            lambda v: (-v * v / 200).exp(),
        ),
    ],
)
def test_noise_is_the_law_within_one_key_and_symmetric(mechanism, weight):
    table = mechanism().build()
    reach = mechanism().max_noise
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


@pytest.mark.parametrize(
    ("epsilon", "largest"), [(5e-324, 3), (1e-12, 3), (1e6, 0), (1.7e308, 0)]
)
def test_extreme_rates_give_the_uniform_law_or_no_noise(epsilon, largest):
    table = Mechanism.discrete_laplace(epsilon, max_noise=3).build()
    units = table.units(3)
    assert max(units) == largest
    assert max(units.values()) - min(units.values()) <= 6


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


def test_a_mechanism_comes_back_from_plain_values():
    for mechanism in every():
        plain = json.loads(json.dumps(mechanism.to_dict()))
        assert Mechanism.from_dict(plain) == mechanism
        assert hash(Mechanism.from_dict(plain)) == hash(mechanism)
    assert Mechanism.random_rounding(3).to_dict() == {
        "kind": "mechanism",
        "name": "random-rounding",
        "base": 3,
    }


def test_unknown_fields_are_told():
    with pytest.raises(PTableError, match="has no parameter 'sigma'"):
        Mechanism.from_dict({"name": "rounding", "base": 5, "zeta": 1, "sigma": 2})
    with pytest.raises(PTableError, match="needs a name"):
        Mechanism.from_dict({"kind": "mechanism", "base": 5})


def test_a_mechanism_is_called_by_what_it_takes():
    assert [repr(mechanism).partition(".")[2] for mechanism in every()] == [
        "rounding(base=5, ties='up', threshold=0)",
        "rounding(base=10, ties='even', threshold=0)",
        "rounding(base=5, ties='up', threshold=10)",
        "random_rounding(base=3)",
        "small_count_rounding(base=4)",
        "discrete_laplace(epsilon=1.0, max_noise=6, edge='clamp', zeros='noise')",
        "discrete_laplace(epsilon=0.3, max_noise=6, edge='truncate', zeros='keep')",
        "discrete_gaussian(variance=4.0, max_noise=8, edge='fold', zeros='noise')",
    ]
    assert [mechanism.build().label for mechanism in every()[2:6]] == [
        "rounding, base 5, ties up, threshold 10",
        "random-rounding, base 3",
        "small-count-rounding, base 4",
        "discrete-laplace, epsilon 1.0, max noise 6, edge clamp, zeros noise",
    ]


def test_a_mechanism_keeps_plain_numbers():
    mechanism = Mechanism(name="discrete-laplace", epsilon=1, max_noise=np.int64(3))
    assert mechanism == Mechanism.discrete_laplace(1.0, max_noise=3)
    assert type(mechanism.epsilon) is float
    assert type(mechanism.max_noise) is int
    with pytest.raises(AttributeError):
        mechanism.epsilon = 2.0


def test_the_ends_of_what_a_mechanism_takes_belong_to_it():
    assert Mechanism.rounding(2, threshold=0).base == 2
    assert Mechanism.rounding(10_000, threshold=10_000).threshold == 10_000
    assert Mechanism.discrete_laplace(5e-324, max_noise=1).max_noise == 1
    assert Mechanism.discrete_laplace(1.0, max_noise=1000).max_noise == 1000
    for parameters in (
        {"base": 10_001},
        {"base": 5, "threshold": 10_001},
    ):
        with pytest.raises(
            PTableError, match=r"must be an integer from [02] to 10000, not 10001"
        ):
            Mechanism(name="rounding", **parameters)


def test_tables_of_mechanisms_have_the_keys_and_the_rule_that_make_them_exact():
    tables = [mechanism.build() for mechanism in every()]
    assert [table.key_range for table in tables] == [*[2**32] * 3, 3, 4, *[2**32] * 3]
    assert [table.large_counts for table in tables] == [
        *("cycle:5", "cycle:20", "cycle:5", "cycle:3"),
        *["last"] * 4,
    ]
    assert [table.n_rows for table in tables] == [5, 20, 15, 3, 5, 7, 7, 9]
    assert [table.spec for table in tables] == every()
    assert {table.certificate for table in tables} == {None}
    odd = Mechanism.rounding(5, ties="even").build()  # an odd base has no ties
    assert (odd.n_rows, odd.large_counts) == (5, "cycle:5")


def test_the_schemas_of_parameters_say_what_is_taken_and_needed():
    noise = {
        "max_noise": {"type": "integer", "minimum": 1, "maximum": 1000},
        "edge": {"enum": ["clamp", "fold", "truncate"]},
        "zeros": {"enum": ["noise", "keep"]},
    }
    base = {"base": {"type": "integer", "minimum": 2, "maximum": 10_000}}
    positive = {"type": "number", "exclusiveMinimum": 0}
    assert parameter_schemas() == {
        "rounding": (
            base
            | {
                "ties": {"enum": ["up", "down", "even"]},
                "threshold": {"type": "integer", "minimum": 0, "maximum": 10_000},
            },
            ("base",),
        ),
        "random-rounding": (base, ("base",)),
        "small-count-rounding": (base, ("base",)),
        "discrete-laplace": ({"epsilon": positive} | noise, ("epsilon", "max_noise")),
        "discrete-gaussian": ({"variance": positive} | noise, ("variance", "max_noise")),
    }


def test_a_table_is_what_its_mechanism_builds_or_refused():
    table = Mechanism.rounding(5).build()
    verify(table)
    other = table.with_proof(Mechanism.rounding(5, threshold=1), None)
    with pytest.raises(
        PTableError, match=r"is not what Mechanism\.rounding\(base=5, .* builds"
    ):
        verify(other)
    certificate = solve(NoiseSpec(max_noise=1, variance=0.5)).certificate
    with pytest.raises(PTableError, match="is not what"):
        verify(table.with_proof(table.spec, certificate))


def test_only_tables_of_mechanisms_can_be_verified():
    with pytest.raises(PTableError, match="without a mechanism"):
        verify(PTable(noise=[[0]], upper=[[8]], key_range=8))


def test_the_identity_of_a_mechanism_never_changes():
    ids = [mechanism.build().id[:16] for mechanism in every()]
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
