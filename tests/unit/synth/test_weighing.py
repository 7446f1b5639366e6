"""The total of weights: its cost, how far one unit moves it, and that the model comes to it."""

import math

import numpy as np
import pandas as pd
import pytest

from dp import Adjacency
from synth import (
    Budget,
    Category,
    Certificate,
    Real,
    Schema,
    SimulatedNoise,
    Synthesizer,
    Unit,
    Whole,
)
from synth.marginals.spending import TableSettings, gaussian_price
from synth.weighing import SHARE

QUICK = TableSettings(steps=5, rounds=2)
SCHEMA = Schema(
    columns=[
        Whole(name="w", low=1, high=2000, bins=20, outside="clip", missing={"none": None}),
        Category(name="k", values=["a", "b"]),
    ],
    unit=Unit(name="household", identifier="home", most_records=2),
    weight="w",
)


def people(number=1000, *, seed=1):
    rng = np.random.default_rng(seed)
    weights = np.rint(np.minimum(rng.lognormal(3.5, 0.8, number) + 1, 2000))
    kinds = np.where(weights + rng.normal(0, 30, number) > 50, "a", "b")
    return pd.DataFrame({"home": np.arange(number) // 2, "w": weights, "k": kinds})


class Listening(SimulatedNoise):
    """Noise that is the same for all files, and remembers what was asked."""

    def __init__(self):
        super().__init__(seed=1)
        self.totals = []

    def add(self, counts, mechanism):
        if counts.shape == (1,):
            self.totals.append((int(counts[0]), mechanism))
            return counts * 0 + 1
        return np.full(counts.shape, 300)

    def choose(self, scores, mechanism):  # noqa: ARG002
        return 0


def asked(frame, adjacency=Adjacency.ADD_REMOVE, schema=SCHEMA):
    noise = Listening()
    budget = Budget(epsilon=1, delta=1e-6, adjacency=adjacency)
    model = Synthesizer(schema=schema, settings=QUICK).fit(frame, budget, noise=noise)
    (found,) = noise.totals
    return *found, model


@pytest.mark.parametrize("adjacency", [Adjacency.ADD_REMOVE, Adjacency.REPLACE])
def test_a_unit_moves_the_total_by_its_sensitivity_at_most(adjacency):
    frame = people(40)
    totals = []
    for weight in (1, 7, 2000, 10**9, -5, None):
        other = frame.copy()
        other.loc[[38, 39], "w"] = weight
        total, how, _ = asked(other, adjacency)
        totals.append(total)
    if adjacency is Adjacency.ADD_REMOVE:
        totals.append(asked(frame.iloc[:38])[0])
    assert max(totals) - min(totals) <= how.sensitivity.l2
    assert max(totals) - min(totals) >= how.sensitivity.l2 / math.sqrt(2) * (1 - 1e-9)
    assert (
        gaussian_price(how.sensitivity.l2, how.scale)
        <= SHARE * Budget(epsilon=1, delta=1e-6).concentrated()
    )


def test_the_total_is_on_the_bill_and_the_certificate_reckons_it():
    model = Synthesizer(schema=SCHEMA, settings=QUICK).fit(
        people(60), Budget(epsilon=1, delta=1e-6)
    )
    (call,) = [call for call in model.calls if call.what == "total"]
    assert call.columns == ("w",)
    assert call.rho == pytest.approx(SHARE * model.budget["rho"])
    assert sum(call.rho for call in model.calls) <= model.budget["rho"]
    paper = Certificate.of(model)
    assert paper.verify() == []
    for one in paper.facts["calls"]:
        if one["what"] == "total":
            one["scale"] /= 2
    assert any("(total) costs more" in wrong for wrong in paper.verify())


@pytest.mark.parametrize("kind", [Whole, Real])
def test_weights_come_to_their_total_where_bins_alone_do_not(kind):
    frame = people(20_000)
    decimals = {"decimals": 1} if kind is Real else {}
    edges = [0, 10, 20, 50, 100, 200, 800]
    coarse = kind(name="w", low=0, high=2000, edges=edges, outside="clip", **decimals)
    misses = {}
    for weight in ("w", None):
        schema = Schema(columns=[coarse, SCHEMA.columns[1]], ignored=["home"], weight=weight)
        model = Synthesizer(schema=schema, settings=QUICK).fit(
            frame, Budget(rho=1.0), noise=SimulatedNoise(seed=2)
        )
        drawn = model.sample(20_000, rng=np.random.default_rng(1))
        misses[weight] = abs(drawn["w"].sum() / frame["w"].sum() - 1)
    assert misses["w"] < 0.03
    assert misses[None] > 0.1


@pytest.mark.parametrize(
    "frame", [people(1), people(2).assign(w=1.0), people(2).assign(w=None), people(4)]
)
def test_few_records_or_none_with_a_weight_make_no_error(frame):
    model = Synthesizer(schema=SCHEMA, settings=QUICK).fit(frame, Budget(rho=0.001))
    assert len(model.sample(5, rng=np.random.default_rng(1))) == 5


def test_weights_that_follow_from_others_have_no_total():
    parts = [Whole(name=name, low=0, high=9) for name in "ab"]
    total = Whole(name="w", low=0, high=18)
    schema = Schema(columns=[*parts, total], weight="w", rules=["w == a + b"])
    frame = pd.DataFrame({"a": [1, 2] * 50, "b": 3, "w": [4, 5] * 50})
    model = Synthesizer(schema=schema, settings=QUICK).fit(frame, Budget(rho=1.0))
    assert "w" not in {name for call in model.calls for name in call.columns}
    assert sum(call.rho for call in model.calls) <= model.budget["rho"]
    assert Certificate.of(model).verify() == []
