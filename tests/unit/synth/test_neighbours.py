"""What a record leaves in a model: nothing but its share of noisy counts.

Every test has two files that differ in one unit, and noise that answers alike for both. What is
written must then be the same to the last byte: whatever differs was read past the ledger.
"""

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dp import Adjacency, Geometric
from synth import (
    Budget,
    Category,
    Certificate,
    Date,
    Discovery,
    DomainError,
    Neighbours,
    Real,
    Schema,
    Synthesizer,
    Unit,
    Whole,
)
from synth.coding import encode_column
from synth.measuring import Clerk
from synth.settings import Settings
from synth.spending import Purse

WEST, EAST = (dt.timezone(dt.timedelta(hours=hours)) for hours in (-12, 12))
ODD = [True, False, 1, 0, 1.0, 2, 2.5, 1.015, -8, "1", "N", "x", "1.015", None, float("nan")]
ODD += [float("inf"), np.True_, np.int64(1), np.float32(1.015), Decimal("1.015"), "2020-01-02"]
ODD += [dt.date(2020, 1, 2), pd.Timestamp("2020-01-02"), pd.Timestamp("2020-01-01")]
ODD += [dt.datetime(2020, 1, 2, tzinfo=EAST), dt.datetime(2020, 1, 1, tzinfo=WEST)]
MISSING = {"none": "N", "refused": -8, "unknown": None}
COLUMNS = [
    Category(name="c", values=[1, 2], other=2, missing={"unknown": None}),
    Category(name="c", values=[True, False, "x"], other="x", missing={"unknown": None}),
    Whole(name="w", low=0, high=3, outside="clip", missing=MISSING),
    Real(name="r", low=0, high=9, decimals=2, edges=[0, 1.02, 9], missing=MISSING),
    Real(name="r", low=0, high=1, decimals=2, outside="clip", missing=MISSING),
    Date(name="d", low="2020-01-01", high="2020-01-03", bins=3, missing={"unknown": None}),
]


def code_or_none(values, column, *, row):
    """Return the code of a record, or nothing if the file is refused."""
    try:
        return int(encode_column(pd.Series(values), column)[row])
    except DomainError:
        return None


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(ODD), min_size=1, max_size=5),
    st.sampled_from(ODD),
    st.sampled_from(COLUMNS),
    st.integers(0, 1),
)
@example([1, 1], ODD[0], COLUMNS[0], 1)
@example([1.015, 1.015], "N", COLUMNS[3], 1)
@example([ODD[-1], ODD[-1]], ODD[-2], COLUMNS[5], 1)
def test_the_code_of_a_record_does_not_depend_on_others(values, other, column, before):
    both = [*[other] * before, *values, other]
    for row in range(len(values)):
        alone = code_or_none([values[row]], column, row=0)
        beside = code_or_none(both, column, row=row + before)
        assert beside is None or beside == alone


class _Deaf:
    """Noise that answers without listening; of domains it hears what many have."""

    label = "deaf, NOT PRIVATE"

    def __init__(self):
        self.asked = 0

    def add(self, counts, mechanism):
        self.asked += 1
        drawn = np.random.default_rng(self.asked).normal(40, 9, counts.shape)
        if isinstance(mechanism, Geometric) or counts.size > 20:
            drawn = np.where(counts > 20, 3000, 0)  # alike on neighbours: see `people`
        return np.rint(drawn).astype(np.int64)

    def choose(self, scores, mechanism):
        assert mechanism.scale > 0
        self.asked += 1
        return self.asked % len(scores)


def people(number=300):
    """Every count of one column is far from 20, on either side."""
    place = np.arange(number)
    return pd.DataFrame(
        {
            "home": place // 2,
            "age": place % 3 * 30,
            "kind": np.array(["a", "b"])[place % 2],
            "rank": pd.Series(place % 3, dtype=object),
            "pay": (place % 2) * 1.015,
        }
    )


def changed(frame, rows, **values):
    other = frame.astype(dict.fromkeys(values, object))
    for name, value in values.items():
        for row in rows:
            other.loc[row, name] = value
    return other


DECLARED = Schema(
    columns=[
        Whole(name="age", low=0, high=99, bins=4, missing={"unknown": None}, outside="clip"),
        Category(name="kind", values=["a", "b", "c"], other="c", missing={"unknown": None}),
        Category(name="rank", values=[0, 1, 2], other=2),
        Real(name="pay", low=0, high=9, decimals=2, edges=[0, 1.02, 9], missing=MISSING),
    ],
    rules=["if kind == 'a' then age < 90"],
    unit=Unit(name="household", identifier="home", most_records=2),
)
OPEN = Schema(
    columns=[
        Whole(name="age", missing={"unknown": None}),
        Category(name="kind", missing={"unknown": None}),
        Category(name="rank"),
        Real(name="pay", low=0, high=9, decimals=2, edges=[0, 1.02, 9], missing=MISSING),
    ],
    unit=Unit(name="household", identifier="home", most_records=2),
)
STRANGE = [
    {"age": None, "kind": None},
    {"age": float("inf"), "rank": True},
    {"kind": "never seen before", "rank": "two", "pay": "N"},
    {"age": 99, "pay": 8.99},
]


def written(frame, schema, *, adjacency, method="tables", discovery=None):
    """Return all that a fit writes: model, certificate and report."""
    noise = _Deaf()
    engine = {"settings": Settings(steps=2, rounds=2)} if method == "tables" else {}
    model = Synthesizer(schema=schema, method=method, **engine).fit(
        frame,
        Budget(epsilon=1, delta=1e-6, adjacency=adjacency),
        noise=noise,
        discovery=discovery,
    )
    facts = Certificate.of(model).facts
    kept = {name: one for name, one in facts.items() if name not in ("made", "digest")}
    drawn = model.sample(20, rng=np.random.default_rng(1))
    return json.dumps([model._record(), kept, model.report()]), str(drawn.dtypes), noise.asked


@pytest.mark.parametrize(
    ("schema", "method", "adjacency"),
    [
        (DECLARED, "tables", "add-remove"),
        (DECLARED, "tables", "replace"),
        (DECLARED, "histogram", "add-remove"),
        (DECLARED, "copula", "replace"),
        (OPEN, "tables", "add-remove"),
        (OPEN, "histogram", "replace"),
    ],
)
def test_all_that_is_written_follows_from_noisy_answers(schema, method, adjacency):
    discovery = None if schema is DECLARED else Discovery(share=0.9)
    frame = people()
    plain = frame if adjacency == "replace" else frame.iloc[:298]
    found = [
        written(one, schema, adjacency=adjacency, method=method, discovery=discovery)
        for one in (plain, *(changed(frame, [298, 299], **odd) for odd in STRANGE))
    ]
    assert all(one == found[0] for one in found)
    assert found[0][2] >= 4


def test_a_tiny_budget_does_not_round_scores():
    """Handicaps that exceed what doubles hold exactly would widen the sensitivity."""
    codes = np.zeros((3, 2), np.int64)
    scores = []

    class Noting(_Deaf):
        def choose(self, scores_, mechanism):  # noqa: ARG002
            scores.append(scores_)
            return 0

    for records in (codes, codes[:2]):
        clerk = Clerk(
            records, (1, 1), Neighbours(adjacency=Adjacency.ADD_REMOVE), Purse(1.0), Noting()
        )
        for handicap in (1e18, -1e18, 3.4):
            clerk.choose(
                {(0, 1): np.zeros((1, 1)), (0,): np.full(1, 1e17)},
                weights={(0, 1): 1.0, (0,): 1 / 3},
                handicaps={(0, 1): handicap, (0,): 0.0},
                rho=0.1,
            )
    for one, other in zip(scores[:3], scores[3:], strict=True):
        assert np.abs(one - other).max() <= 1
        assert np.abs(one - other)[0] == 1
