"""The sources' methods by name: what they reach, what they cost, what a record moves."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp import Adjacency
from synth import Budget, Category, Certificate, Model, Schema, Synthesizer, Unit, Whole
from synth.baselines.networks.network import useful_families
from synth.baselines.networks.network_engines import _NetworkMeasurer, fit_priv_bayes
from synth.claims import Claim
from synth.marginals.measuring import Neighbours, SimulatedNoise
from synth.marginals.spending import PrivacyAccountant
from synth.methods import settings_of
from tests.strategies import examples

PUBLIC = Neighbours(adjacency=Adjacency.REPLACE)


def measurer(codes, sizes):
    accountant = PrivacyAccountant(1.0)
    return _NetworkMeasurer(codes, sizes, PUBLIC, accountant, SimulatedNoise(seed=1))


@given(st.data())
@settings(max_examples=examples(60), deadline=None)
def test_a_replaced_record_moves_the_score_of_parents_by_three_at_most(data):
    sizes = data.draw(st.lists(st.integers(2, 4), min_size=2, max_size=3))
    record = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    records = data.draw(st.lists(record, min_size=2, max_size=30))
    other = [data.draw(record), *records[1:]]
    family = (0, tuple(range(1, len(sizes))))
    one, two = (measurer(np.array(some), sizes)._apart(family) for some in (records, other))
    assert abs(one - two) <= 3 + 1e-9


def test_the_score_of_parents_comes_close_to_what_it_is_said_to_move():
    # Everybody alike, then one record that differs in both columns.
    codes = np.zeros((40, 2), np.int64)
    moved = 0.0
    for place in range(40):
        other = codes.copy()
        other[place] = 1, 1
        found = [measurer(some, [2, 2])._apart((0, (1,))) for some in (codes, other)]
        moved = max(moved, abs(found[0] - found[1]))
        codes = other
    assert moved > 1.5


def test_parents_are_as_many_as_the_budget_tells_from_noise():
    assert useful_families([3, 2, 5], [0, 1], degree=3, cells=9.0) == [(2, ())]
    found = useful_families([3, 2, 5], [0, 1], degree=3, cells=30.0)
    assert found == [(2, ()), (2, (0,)), (2, (1,)), (2, (0, 1))]
    rng = np.random.default_rng(1)
    one = rng.integers(0, 8, 3000)
    codes = np.column_stack([one, one, (one + rng.integers(0, 2, 3000)) % 8, one // 4])
    degrees = []
    for rho in (1e-6, 1e-3, 10.0):
        model = fit_priv_bayes(
            codes, sizes=[8, 8, 8, 2], rho=rho, ordered=[True] * 4,
            noise=SimulatedNoise(seed=1), neighbours=PUBLIC,
        )  # fmt: skip
        degrees.append(sum(len(table.parents) for table in model.tables))
        assert sum(spend.rho for spend in model.spends) <= rho
    assert degrees == sorted(degrees)
    assert degrees[0] == 0 < degrees[-1]


def people(number=1500):
    rng = np.random.default_rng(2)
    age = rng.integers(18, 60, number)
    rich = (rng.random(number) < (age - 18) / 42).astype(int)
    job = np.where(rich == 1, rng.choice(list("adq"), number), rng.choice(list("bcz"), number))
    return pd.DataFrame({"age": age, "job": job, "rich": rich, "home": np.arange(number) // 2})


COLUMNS = [
    Whole(name="age", low=0, high=99, bins=3),
    Category(name="job", values=sorted("adqbcz")),
    Category(name="rich", values=[0, 1]),
]
SCHEMA = Schema(columns=COLUMNS, ignored=["home"])


def test_the_published_method_by_name_has_values_as_bins_and_weights_of_evidence():
    model = Synthesizer(
        schema=SCHEMA,
        method="copula-shirley",
        label="rich",
        settings=settings_of("copula-shirley", {"families": ["gaussian"]}),
    ).fit(people(), Claim(epsilon=8), noise=SimulatedNoise(seed=1))
    drawn = model.sample(3000, rng=np.random.default_rng(1))
    assert set(drawn["age"]) <= set(people()["age"])
    ages = [np.sort(frame["age"].to_numpy()) for frame in (people(), drawn)]
    at = np.arange(18, 60)
    first, second = (np.searchsorted(one, at, side="right") / len(one) for one in ages)
    assert np.abs(first - second).max() < 0.05
    assert (drawn["job"].isin(list("adq")) == (drawn["rich"] == 1)).mean() > 0.6
    assert model.account["parts"]["bins"] is None
    assert model.account["parts"]["encoders"] is None


def test_copula_shirley_within_its_budget_is_certified(tmp_path):
    unit = Unit(name="home", identifier="home", most_records=2)
    budget = Budget(epsilon=4, delta=1e-6, adjacency="replace")
    model = Synthesizer(
        schema=Schema(columns=COLUMNS, unit=unit),
        method="copula-shirley-strict",
        settings=settings_of("copula-shirley-strict", {"truncation": 1}),
    ).fit(people(), budget)
    model.save(tmp_path / "model.json")
    read = Model.load(tmp_path / "model.json")
    assert Certificate.of(read).verify() == []
    assert {call.what for call in read.calls} == {"margin", "ranks"}
    assert sum(call.rho for call in read.calls) <= budget.concentrated()
    drawn = read.sample(3000, rng=np.random.default_rng(1))
    assert drawn["age"].corr(drawn["rich"]) > 0.1  # in cells of 33 years


@pytest.mark.parametrize(("high", "points"), [(99_999, ()), (10**9, (0,))])
def test_a_number_that_many_share_has_a_bin_of_its_own_in_a_wide_range(high, points):
    rng = np.random.default_rng(3)
    pay = np.where(rng.random(500) < 0.9, 0, rng.integers(1000, high, 500))
    schema = Schema(columns=[Whole(name="pay", low=0, high=high, bins=4, points=points)])
    frame = pd.DataFrame({"pay": pay})
    model = Synthesizer(schema=schema, method="vine-without-privacy").fit(frame, Claim())
    drawn = model.sample(2000, rng=np.random.default_rng(1))
    assert (drawn["pay"] == 0).mean() == pytest.approx((pay == 0).mean(), abs=0.04)
