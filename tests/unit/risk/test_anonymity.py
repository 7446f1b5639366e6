"""k-anonymity and its relatives, and generalisation."""

import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from risk.anonymity.audit import audit_anonymity
from risk.anonymity.generalise import bins, generalise
from risk.errors import RiskError

HOSPITAL = pd.DataFrame(
    {
        "age": [19, 27, 35, 43, 61, 73],
        "postcode": ["25000", "25480", "25120", "25200", "25000", "25170"],
        "district": ["B", "B", "M", "M", "B", "B"],
        "treatment": ["asthma", "HIV", "HIV", "cancer", "leukaemia", "leukaemia"],
    }
)
AGES = {19: "18-30", 27: "18-30", 35: "35-45", 43: "35-45", 61: "60+", 73: "60+"}


def test_the_hospital_example_has_its_expected_audit():
    classes = HOSPITAL.assign(age=HOSPITAL["age"].map(AGES))
    found = audit_anonymity(
        classes, quasi_identifiers=["age", "district"], sensitive="treatment"
    )
    assert found.k == 2
    assert found.diversity.l_distinct == 1
    assert found.diversity.n_homogeneous == 1
    frame = found.to_frame().set_index("age")
    assert frame["disclosed"].to_dict() == {"18-30": "", "35-45": "", "60+": "leukaemia"}
    # asthma and leukaemia are impossible at 35-45
    assert frame["excluded"].to_dict() == {"18-30": 2, "35-45": 2, "60+": 3}


def test_the_hospital_example_is_found_by_the_search():
    codes = HOSPITAL["postcode"].tolist()
    found = generalise(
        HOSPITAL,
        hierarchies={
            "age": [AGES, dict.fromkeys(AGES, "*")],
            "postcode": [
                dict(zip(codes, HOSPITAL["district"], strict=True)) | {"25000": "B"},
                dict.fromkeys(codes, "*"),
            ],
        },
        k=2,
    )
    assert found.levels == {"age": 1, "postcode": 1}
    assert (found.k, len(found.frame)) == (2, len(HOSPITAL))


def test_the_salaries_of_the_literature_are_as_far_apart_as_there():
    """Li, Li, Venkatasubramanian: 3-5 thousand against 3-11 is 0.375; 6, 8, 11 is 0.167."""
    pay = [3, 4, 5, 6, 8, 11, 7, 9, 10]
    records = {"group": [1, 1, 1, 2, 2, 2, 3, 3, 3], "pay": pay}
    found = audit_anonymity(
        records, quasi_identifiers=["group"], sensitive="pay", distance="ordered"
    )
    assert found.diversity.distance[:2].round(3).tolist() == [0.375, 0.167]


def test_two_moves_of_eight_balls_are_a_twelfth_on_four_ordered_bins():
    """1, 1, 4, 2 against 2, 1, 3, 2: two unit moves, 2 / 8 balls / 3 steps."""
    from risk.anonymity.diversity import ordered_distances

    found = ordered_distances(
        np.zeros(4, dtype=np.int64),
        np.arange(4),
        counts=np.array([1, 1, 4, 2]),
        whole=np.array([2, 1, 3, 2]) / 8,
    )
    assert found[0] == pytest.approx(2 / 8 / 3)


def test_diversities_follow_their_definitions():
    ill = ["x"] * 4 + ["y"] * 2 + ["z"] * 2 + ["x", "y", "z", "z"]
    found = audit_anonymity(
        {"g": [1] * 8 + [2] * 4, "ill": ill}, quasi_identifiers=["g"], sensitive="ill"
    ).diversity
    assert found.l_entropy == pytest.approx(2**1.5)


@pytest.mark.parametrize(
    "names",
    [
        {"quasi_identifiers": ["a"], "sensitive": ["t"]},
        {"quasi_identifiers": "at"},
        {"quasi_identifiers": [["a"]]},
        {"quasi_identifiers": ["a"], "sensitive": {"t"}},
    ],
)
def test_columns_are_given_by_name(names):
    with pytest.raises(RiskError, match="by name") as caught:
        audit_anonymity({"a": [1, 2], "t": [3, 4]}, **names)
    assert "sensitive='income'" in caught.value.hint


def test_every_kind_of_missing_is_one_category():
    records = pd.DataFrame({"a": [None, float("nan"), pd.NA, "x"], "b": [1.0, 1.0, 1.0, None]})
    found = audit_anonymity(records, quasi_identifiers=["a", "b"])
    assert sorted(found.sizes.tolist()) == [1, 3]


def test_ordered_distance_needs_an_order_and_takes_a_given_one():
    records = {"g": [1, 1, 2], "s": ["low", "high", "mid"]}
    with pytest.raises(RiskError, match="no order"):
        audit_anonymity(records, quasi_identifiers=["g"], sensitive="s", distance="ordered")
    given = audit_anonymity(
        records,
        quasi_identifiers=["g"],
        sensitive="s",
        distance="ordered",
        order=["low", "mid", "high"],
    )
    coded = pd.DataFrame(records)
    coded["s"] = pd.Categorical(coded["s"], ["low", "mid", "high", "never"], ordered=True)
    own = audit_anonymity(coded, quasi_identifiers=["g"], sensitive="s", distance="ordered")
    assert given.diversity.distance.tolist() == own.diversity.distance.tolist()
    assert given.diversity.distance.round(6).tolist() == [0.166667, 0.333333]


@pytest.mark.parametrize("kind", [pa.Table.from_pandas, pl.from_pandas, lambda f: f])
def test_frames_of_every_kind_are_read_and_given_back(kind):
    frame = kind(HOSPITAL)
    assert audit_anonymity(frame, quasi_identifiers=["district"]).k == 2
    found = generalise(frame, hierarchies={"age": [AGES]}, k=2)
    assert type(found.frame) is type(frame)
    assert len(found.frame) == 6


def test_no_record_shows_in_a_repr_or_an_error():
    records = {"age": [4711, 4712], "ill": ["plague", "plague"]}
    found = audit_anonymity(records, quasi_identifiers=["age"], sensitive="ill")
    shown = [repr(found), repr(found.diversity)]
    for wrong in ({4711: "a"}, {4711: "a", 4712: "b"}):
        with pytest.raises(RiskError) as caught:
            generalise(records, hierarchies={"age": [wrong]}, k=2)
        shown.append(str(caught.value))
    done = generalise(records, hierarchies={"age": [dict.fromkeys([4711, 4712], "old")]}, k=2)
    shown.append(repr(done))
    for text in shown:
        assert "4711" not in text
        assert "4712" not in text
        assert "plague" not in text


def test_classes_that_split_again_are_refused():
    with pytest.raises(RiskError, match="splits"):
        generalise(
            {"a": [1, 2, 3]},
            hierarchies={"a": [{1: "x", 2: "x", 3: "y"}, {1: "p", 2: "q", 3: "q"}]},
            k=1,
        )


def test_missing_stays_missing_unless_a_level_names_it():
    records = pd.DataFrame({"a": ["x", "y", None, None]})
    apart = generalise(records, hierarchies={"a": [{"x": "*", "y": "*"}]}, k=2)
    assert apart.frame["a"].tolist()[:2] == ["*", "*"]
    assert apart.frame["a"].isna().tolist() == [False, False, True, True]
    together = generalise(records, hierarchies={"a": [{"x": "*", "y": "*", None: "*"}]}, k=4)
    assert together.frame["a"].tolist() == ["*"] * 4


def test_what_cannot_be_reached_is_said():
    with pytest.raises(RiskError, match="fewer than 3"):
        generalise({"a": [1, 2]}, hierarchies={"a": [{1: "*", 2: "*"}]}, k=3)
    with pytest.raises(RiskError, match=r"at least one column.*k must"):
        generalise({"a": [1]}, hierarchies={}, k=0)
    with pytest.raises(RiskError, match="not in the data"):
        audit_anonymity({"a": [1]}, quasi_identifiers=["b"])


@pytest.mark.slow
def test_a_million_records_take_seconds():
    rng = np.random.default_rng(32)
    n = 1_000_000
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 100, n),
            "sex": pd.Categorical.from_codes(rng.integers(0, 2, n), ["F", "M"]),
            "area": rng.integers(0, 2_000, n),
            "pay": rng.integers(0, 5_000, n),
        }
    )
    started = time.process_time()
    found = audit_anonymity(
        frame, quasi_identifiers=["age", "sex", "area"], sensitive="pay", distance="ordered"
    )
    ages = [bins(range(100), width=10), bins(range(100), width=50)]
    generalise(frame, hierarchies={"age": ages}, k=1_000)
    assert time.process_time() - started < 10
    assert found.sizes.sum() == n


def test_bands_are_named_by_their_ends():
    assert bins([19, 27, 35], width=10) == {19: "10-20", 27: "20-30", 35: "30-40"}
    assert bins([19], width=10, start=5) == {19: "15-25"}
