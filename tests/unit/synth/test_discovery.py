"""Bins that are found at a price: what they cost, and that they are good."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dp import Adjacency
from synth import Budget, Certificate, Date, Real, Schema, SimulatedNoise, Synthesizer, Whole
from synth.certificate import _digest
from synth.marginals.measuring import Neighbours, SecureNoise
from synth.schema.coding import encode
from synth.schema.discovery import Discovery, find_bins
from tests.strategies import examples

DAYS = dt.date(1999, 12, 31), dt.date(2020, 12, 31)
MISSING = {"refused": -8, "unknown": None}
ALONE = Schema(
    columns=[
        Whole(name="pay", low=-30, high=99_999, missing={"unknown": None}, outside="clip"),
        Real(name="rate", low=0, high=50, decimals=1, missing=MISSING, outside="clip"),
        Date(name="day", low="1999-12-31", high="2020-12-31", declared_by="code book"),
        Whole(name="hours", low=0, high=99),
    ]
)
RECORD = st.tuples(
    st.sampled_from([None, 0, 999, 40_000, 99_999, 123_456, -40]) | st.integers(-30, 99_999),
    st.sampled_from([None, -8, 0, 0.1, 50, 70]),
    st.dates(*DAYS),
    st.integers(0, 99),
)
NAMES = ALONE.names


class Noting:
    """Noise that notes what it is asked, and answers alike: half of the cells have many."""

    label = "noting, NOT PRIVATE"

    def __init__(self):
        self.asked = []

    def add(self, counts, mechanism):
        self.asked.append((counts, mechanism))
        return np.where(np.arange(counts.size) % 5 == 0, 10**6, 0)


def found(rows, adjacency, noise):
    frame = pd.DataFrame([*rows], columns=NAMES, dtype=object)
    near = Neighbours(adjacency=adjacency, rows=2)
    return find_bins(frame, ALONE, rho=0.1, neighbours=near, noise=noise)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(RECORD, max_size=6),
    st.lists(RECORD, min_size=2, max_size=2),
    st.lists(RECORD, min_size=2, max_size=2),
    st.sampled_from([Adjacency.ADD_REMOVE, Adjacency.REPLACE]),
)
@example([], [(0, 0, DAYS[0], 0)] * 2, [(99_999, 50, DAYS[1], 0)] * 2, Adjacency.REPLACE)
def test_one_unit_moves_no_count_for_bins_farther_than_paid_for(rows, one, other, adjacency):
    other = other if adjacency is Adjacency.REPLACE else []
    notes = [Noting(), Noting()]
    both = zip((one, other), notes, strict=True)
    schemas = [found([*rows, *own], adjacency, note) for own, note in both]
    assert schemas[0] == schemas[1]
    calls = schemas[0][1]
    assert len(calls) == len(notes[0].asked) == len(notes[1].asked) == 5 + 2 + 3
    for call, (a, how), (b, same) in zip(calls, *(note.asked for note in notes), strict=True):
        assert call.scale == how.scale == same.scale
        assert call.price()[0] == pytest.approx(how.guarantee.rho)
        assert np.linalg.norm(a - b) <= call.sensitivity == how.sensitivity.l2
    assert sum(call.rho for call in calls) <= 0.1 * 3 / 4


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(RECORD, max_size=20), st.integers(0, 9))
def test_found_bins_cover_what_is_declared(rows, seed):
    schema, _ = found(rows, Adjacency.ADD_REMOVE, SimulatedNoise(seed=seed))
    assert Schema.from_json(schema.to_json()) == schema
    for before, after in zip(ALONE.columns, schema.columns, strict=True):
        assert after.bounds == before.bounds
        assert (after.grid.starts[0], after.grid.last) == before.bounds
    if rows:
        codes = encode(pd.DataFrame(rows, columns=NAMES, dtype=object), schema)
        assert (codes < [one.size for one in schema.columns]).all()


def heaped(number=8000):
    rng = np.random.default_rng(3)
    shared = rng.choice([0, 999, 40_000, 99_999], number, p=[0.7, 0.1, 0.1, 0.1])
    pay = np.where(rng.random(number) < 0.5, shared, rng.gamma(2, 300, number).astype(int))
    return pd.DataFrame({"pay": np.minimum(pay, 99_999), "kind": (pay > 500).astype(int)})


WIDE = Schema(
    columns=[Whole(name="pay", low=0, high=99_999), Whole(name="kind", low=0, high=1)]
)
BUDGET = Budget(epsilon=1, delta=1e-6)


@pytest.mark.slow
def test_values_that_many_share_have_bins_of_their_own():
    fitted = Synthesizer(schema=WIDE).fit(heaped(), BUDGET, noise=SimulatedNoise(seed=1))
    cells = fitted.schema.column("pay").grid.cells()
    assert {(one, one) for one in (0, 999, 40_000, 99_999)} <= {*cells}
    assert 8 < sum(low < 3000 for low, _ in cells) <= 64  # where the others are
    drawn = fitted.sample(8000, rng=np.random.default_rng(1))
    real, made = (one["pay"].value_counts(normalize=True) for one in (heaped(), drawn))
    for value in (0, 999, 40_000, 99_999):
        assert made[value] == pytest.approx(real[value], abs=0.02)


def test_what_bins_cost_is_on_the_bill_and_cannot_be_taken_off():
    settings_ = {"noise": SecureNoise(), "discovery": Discovery(bins_share=0.2)}
    fitted = Synthesizer(schema=WIDE).fit(heaped(500), BUDGET, **settings_)
    prices = [call.rho for call in fitted.calls if call.what == "bins"]
    assert len(prices) == 4
    assert sum(prices) == pytest.approx(0.1 * fitted.budget["rho"])
    assert sum(call.rho for call in fitted.calls) <= fitted.budget["rho"]
    paper = Certificate.of(fitted)
    assert paper.verify(schema=WIDE) == []
    facts = json.loads(json.dumps(paper.facts))
    facts["calls"].remove(next(call for call in facts["calls"] if call["what"] == "bins"))
    wrong = Certificate({**facts, "digest": _digest(facts)}).verify()
    assert wrong == ["Domains were found, and not paid for: 'pay'."]


def test_bins_that_are_declared_cost_nothing():
    columns = [
        Whole(name="pay", low=0, high=99_999, bins=9, points=(0,)),
        Whole(name="tax", low=0, high=99_999, edges=(0, 10)),
        Whole(name="age", low=0, high=120),
    ]
    declared, near = Schema(columns=columns), Neighbours()
    noise = SimulatedNoise(seed=1)
    same, calls = find_bins(heaped(9), declared, rho=0.1, neighbours=near, noise=noise)
    assert (same, calls) == (declared, [])


def test_points_that_are_declared_stay_beside_bins_that_are_found():
    schema, near = (
        Schema(columns=[Whole(name="pay", low=0, high=999, points=(7,))]),
        Neighbours(),
    )
    noise = SimulatedNoise(seed=1)
    found, calls = find_bins(heaped(9), schema, rho=1e-4, neighbours=near, noise=noise)
    assert found.column("pay").points == (7,)
    assert (7, 7) in found.column("pay").grid.cells()
    assert len(calls) == 2
