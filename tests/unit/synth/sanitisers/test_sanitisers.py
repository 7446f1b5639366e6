"""The survey of sanitisers on its nine records."""

import numpy as np
import pandas as pd
import pytest

from risk.anonymity.audit import audit_anonymity
from synth import SynthError
from synth.sanitisers import (
    add_noise,
    aggregate,
    answer_in_two_rounds,
    bucketise,
    cross_bucket,
    dispersion,
    estimate_from_two_rounds,
    intervals,
    mdav_groups,
    microaggregate,
    rank_swap,
    recode,
    rotate,
    safe_angle,
    sample_columns,
    sample_rows,
    suppress,
    suppress_rare,
    swap,
)

RNG = np.random.default_rng
_COLUMNS = (
    "age workclass education marital-status occupation race sex capital-gain hours-per-week "
    "native-country"
)
_RECORDS = """
39 State-gov Bachelors Never-married Adm-clerical White Male 2174 40 United-States
50 Self-emp-not-inc Bachelors Married-civ-spouse Exec-managerial White Male 0 13 United-States
38 Private HS-grad Divorced Handlers-cleaners White Male 0 40 United-States
53 Private 11th Married-civ-spouse Handlers-cleaners Black Male 0 40 United-States
28 Private Bachelors Married-civ-spouse Prof-specialty Black Female 0 40 Cuba
37 Private Masters Married-civ-spouse Exec-managerial White Female 0 40 United-States
49 Private 9th Married-spouse-absent Other-service Black Female 0 16 Jamaica
52 Self-emp-not-inc HS-grad Married-civ-spouse Exec-managerial White Male 0 45 United-States
31 Private Masters Never-married Prof-specialty White Female 14084 50 United-States
"""
T31 = pd.DataFrame(
    [line.split() for line in _RECORDS.strip().splitlines()], columns=_COLUMNS.split()
).astype({"age": int, "capital-gain": int, "hours-per-week": int})


def rows(*numbers):
    """Turn the record numbers of the source, from 1, into rows."""
    return [number - 1 for number in numbers]


def test_three_columns_single_out_records():
    found = audit_anonymity(T31, quasi_identifiers=["workclass", "education", "marital-status"])
    assert found.k == 1
    assert found.n_unique >= 5


def test_rows_and_columns_are_sampled():
    kept = sample_rows(T31, share=0.45, rng=RNG(1))
    assert len(kept) == 4
    assert kept.merge(T31).shape[0] == 4
    assert kept.equals(sample_rows(T31, share=0.45, rng=RNG(1)))
    both = sample_columns(kept, columns=["sex", "age"])
    assert list(both) == ["sex", "age"]


def test_singular_values_are_suppressed():
    found = suppress_rare(T31, columns=["capital-gain", "native-country"])
    assert [k + 1 for k, v in enumerate(found["capital-gain"]) if v == "*"] == [1, 9]
    assert [k + 1 for k, v in enumerate(found["native-country"]) if v == "*"] == [5, 7]
    by_hand = suppress(T31, cells={"capital-gain": rows(1, 9), "native-country": rows(5, 7)})
    pd.testing.assert_frame_equal(found, by_hand)
    assert T31["capital-gain"].tolist()[0] == 2174  # what was given stays as it was


def test_values_are_generalised():
    found = recode(
        T31,
        into={
            "capital-gain": intervals((0, 1999), (2000, 49999)),
            "native-country": {"Cuba": "Caribbean", "Jamaica": "Caribbean"},
        },
    )
    high = found.index[found["capital-gain"] == "[2000-49999]"]
    assert (high + 1).tolist() == [1, 9]
    assert found["native-country"].tolist().count("Caribbean") == 2
    assert set(found["capital-gain"]) == {"[0-1999]", "[2000-49999]"}


CLASSES = [rows(5, 6, 9), rows(1, 3, 7), rows(2, 4, 8)]
BUCKETS = [rows(5, 9, 3), rows(1, 7, 4), rows(6, 2, 8)]


def generalised():
    found = recode(
        T31[["age", "sex", "education"]],
        into={"age": intervals((25, 37), (38, 49), (50, 62))},
    )
    return recode(
        found.assign(
            sex=[
                "*" if age == "[38-49]" else s
                for age, s in zip(found["age"], found["sex"], strict=True)
            ]
        ),
        into={},
    )


def test_the_classes_of_the_source_are_3_anonymous():
    found = audit_anonymity(generalised(), quasi_identifiers=["age", "sex"])
    assert found.k == 3
    assert sorted(found.sizes.tolist()) == [3, 3, 3]


def test_the_buckets_of_the_source_are_3_diverse():
    made = bucketise(
        T31[["age", "sex", "education"]], groups=BUCKETS, sensitive="education", least=3
    )
    assert made.sensitive == (
        ("Bachelors", "HS-grad", "Masters"),
        ("11th", "9th", "Bachelors"),
        ("Bachelors", "HS-grad", "Masters"),
    )
    assert "education" not in made.records
    assert made.records["bucket"].tolist() == [1, 2, 0, 1, 0, 2, 1, 2, 0]


def test_classes_and_buckets_are_crossed_or_refused():
    options = {"quasi_identifiers": ["age", "sex"], "sensitive": "education", "groups": BUCKETS}
    made = cross_bucket(generalised(), k=3, least=3, **options)
    assert made.diversity == 3
    with pytest.raises(SynthError, match="not all of 4"):
        cross_bucket(generalised(), k=4, least=3, **options)
    with pytest.raises(SynthError, match="3 different"):
        cross_bucket(generalised(), k=3, least=4, **options)
    with pytest.raises(SynthError, match="one bucket"):
        bucketise(T31, groups=BUCKETS[:2], sensitive="education")


def test_values_are_swapped():
    found = swap(T31, pairs={"capital-gain": [rows(1, 9)], "native-country": [rows(5, 7)]})
    assert found["capital-gain"].tolist()[0] == 14084
    assert found["capital-gain"].tolist()[8] == 2174
    assert found["native-country"].tolist()[4] == "Jamaica"
    assert found["native-country"].tolist()[6] == "Cuba"
    for name in T31:
        assert sorted(found[name]) == sorted(T31[name])
    with pytest.raises(SynthError, match="twice"):
        swap(T31, pairs={"age": [(0, 1), (1, 2)]})


def test_ranks_are_swapped_within_reach():
    frame = pd.DataFrame({"a": RNG(1).permutation(200), "b": np.arange(200)})
    found = rank_swap(frame, columns=["a"], reach=0.05, rng=RNG(2))
    assert sorted(found["a"]) == list(range(200))
    moved = (found["a"] - frame["a"]).abs()
    assert moved.max() <= 10
    assert (moved > 0).mean() > 0.9
    assert found["b"].equals(frame["b"])
    with pytest.raises(SynthError, match="no order"):
        rank_swap({"a": ["x", 1]}, columns=["a"], reach=0.5)


@pytest.mark.parametrize("many", [2, 3, 5, 6])
def test_a_rotation_keeps_distances_and_changes_every_column(many):
    frame = pd.DataFrame(RNG(1).normal(5, 3, (40, many)), columns=list("abcdef")[:many])
    angle = safe_angle(frame, columns=list(frame), least=0.5)
    before = rotate(frame, columns=list(frame), degrees=0)
    after = rotate(frame, columns=list(frame), degrees=angle)
    for one, other in ((0, 1), (3, 17), (20, 39)):
        gaps = [np.linalg.norm(f.iloc[one] - f.iloc[other]) for f in (before, after)]
        assert gaps[0] == pytest.approx(gaps[1])
    assert (dispersion(before, after, columns=list(frame)) >= 0.5).all()
    np.testing.assert_allclose(before.mean(), 0, atol=1e-9)


def test_the_picture_of_a_rotation():
    """From (35, 35) to about (40, 30)."""
    turned = rotate(
        {"x": [35], "y": [35]}, columns=["x", "y"], degrees=-8.13, is_normalised=False
    )
    assert turned.iloc[0].round().tolist() == [40, 30]
    with pytest.raises(SynthError, match="groups of three or two"):
        rotate(T31, columns=["age"], degrees=1)


def test_the_groups_of_the_source_are_aggregated():
    groups = [rows(3, 5, 6, 9), rows(1, 7), rows(2, 4, 8)]
    found = aggregate(T31, groups=groups, columns=["age", "sex", "hours-per-week"])
    assert found["age"].tolist()[2] == pytest.approx((38 + 28 + 37 + 31) / 4)
    assert found["sex"].tolist()[2] == "Female"
    assert found["age"].tolist()[0] == found["age"].tolist()[6] == 44
    assert audit_anonymity(found, quasi_identifiers=["age", "sex", "hours-per-week"]).k == 2
    assert found["age"].mean() == pytest.approx(T31["age"].mean())


@pytest.mark.parametrize("k", [1, 2, 3, 4, 9])
def test_mdav_groups_have_at_least_k_records_and_leave_them_k_anonymous(k):
    names = ["age", "hours-per-week"]
    groups = mdav_groups(T31[names].to_numpy(float), k=k)
    assert sorted(row for group in groups for row in group) == list(range(9))
    assert all(k <= len(group) <= max(2 * k - 1, k) for group in groups)
    found = microaggregate(T31, columns=names, k=k)
    assert audit_anonymity(found, quasi_identifiers=names).k >= k
    np.testing.assert_allclose(found[names].mean(), T31[names].mean())


def test_univariate_aggregation_keeps_the_order_of_every_column():
    found = microaggregate(T31, columns=["age", "hours-per-week"], k=3, method="univariate")
    for name in ("age", "hours-per-week"):
        order = T31[name].argsort(kind="stable")
        assert found[name].iloc[order].is_monotonic_increasing
        assert found[name].value_counts().min() >= 3
    together = audit_anonymity(found, quasi_identifiers=["age", "hours-per-week"]).k
    assert together < 3  # columns by themselves do not make records alike


def test_records_with_one_value_are_aggregated_and_terminate():
    assert len(mdav_groups(np.zeros((50, 2)), k=3)) == 50 // 3
    for k in (0, 51, 2.5, True):
        with pytest.raises(SynthError, match="k must be"):
            mdav_groups(np.zeros((50, 2)), k=k)


def test_the_noise_of_the_source_gives_its_table():
    found = add_noise(
        T31,
        noises={
            "age": [-1, 2, -18, -4, -13, -1, -5, 25, 0],
            "hours-per-week": [8, -14, 5, 1, 0, -5, -2, 0, 0],
        },
        lower=0,
    )
    assert found["age"].tolist() == [38, 52, 20, 49, 15, 36, 44, 77, 31]
    assert found["hours-per-week"].tolist() == [48, 0, 45, 41, 40, 35, 14, 45, 50]


def test_laplace_noise_has_its_scale_and_stays_within_limits():
    frame = {"x": np.full(20_000, 50.0)}
    found = add_noise(frame, scales={"x": 10}, rng=RNG(1))["x"]
    assert found.std() == pytest.approx(10 * 2**0.5, rel=0.05)
    clamped = add_noise(frame, scales={"x": 10}, lower=40, upper=60, rng=RNG(1))["x"]
    assert (clamped.min(), clamped.max()) == (40, 60)
    with pytest.raises(SynthError, match="either"):
        add_noise(frame)


@pytest.mark.parametrize("share", [0.1, 0.45, 0.8])
def test_randomised_response_in_two_rounds_estimates_the_share(share):
    truths = (RNG(1).random(40_000) < share).astype(int)
    first, second = answer_in_two_rounds(truths, forced=0.45, rng=RNG(3))
    found = estimate_from_two_rounds(first, second, forced=0.45)
    assert found == pytest.approx(truths.mean(), abs=0.02)
    # who is drawn says 0 in the first round and 1 in the second
    assert first.mean() == pytest.approx(0.55 * truths.mean(), abs=0.02)
    assert second.mean() == pytest.approx(0.45 + 0.55 * truths.mean(), abs=0.02)


@pytest.mark.parametrize(
    "make",
    [
        lambda: sample_rows(T31, share=1.5),
        lambda: sample_columns(T31, columns=["nobody"]),
        lambda: suppress(T31, cells={"age": [99]}),
        lambda: suppress_rare(T31, columns=["age"], least=0),
        lambda: recode(T31, into={"age": intervals((0, 20))}),
        lambda: intervals((5, 1)),
        lambda: intervals((1, 5), (4, 9)),
        lambda: rank_swap(T31, columns=["age"], reach=0),
        lambda: aggregate(T31, groups=[[0, 0]], columns=["age"]),
        lambda: microaggregate(T31, columns=["sex"], k=2),
        lambda: microaggregate({"a": [1.0, np.nan]}, columns=["a"], k=1),
        lambda: microaggregate(T31, columns=["age"], k=2, method="other"),
        lambda: safe_angle(T31, columns=["age", "hours-per-week"], least=99),
        lambda: add_noise(T31, scales={"age": -1}),
        lambda: add_noise(T31, noises={"age": [1]}),
        lambda: add_noise(T31, scales={"age": 1}, lower=2, upper=1),
        lambda: answer_in_two_rounds([0, 2], forced=0.5),
        lambda: answer_in_two_rounds([], forced=0.5),
        lambda: answer_in_two_rounds([0, 1], forced=1),
        lambda: sample_rows([1, 2], share=0.5),
    ],
)
def test_what_makes_no_sense_is_refused(make):
    with pytest.raises(SynthError):
        make()
