"""Figures against closed forms, null data, copies and odd input."""

import itertools
import json
import sys
import types

import numpy as np
import pandas as pd
import pytest

from reports.catalogues.synthesis import FIGURES
from synth import Category, Date, Real, Schema, Whole
from synth.evaluation import EvaluationError, Kind, encode, evaluate, kinds_of, read_kinds
from synth.evaluation.conclusions import conclusions
from synth.evaluation.evaluate import EvaluationPlan, bootstrap, independent
from synth.evaluation.measures import margins
from synth.evaluation.measures.bins import Bins
from synth.evaluation.measures.learning import classification, classifier, detection, regression
from synth.evaluation.measures.margins import (
    correlation_change,
    cramer_change,
    ks_distances,
    spearman,
    subsample_equivalent,
    table_distances,
)
from synth.evaluation.measures.scores import auc, auc_interval, mcc, rmse
from synth.evaluation.result import Evaluation, Figure


def mixed(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(16, 95, n)
    sex = rng.choice(["F", "M"], n)
    pay = np.where(rng.random(n) < 0.4, 0.0, rng.lognormal(7, 1, n) + 10 * age)
    ill = np.where(rng.random(n) < age / 120, "yes", "no")
    return pd.DataFrame({"age": age, "sex": sex, "pay": pay.round(2), "ill": ill})


def test_total_variation_is_half_the_sum_of_differences():
    real = pd.DataFrame({"a": list("xxyy"), "b": list("uvuv")})
    made = pd.DataFrame({"a": list("xxxy"), "b": list("uuvv")})
    one, other = encode(real, made)
    assert table_distances(one, other, ways=1).distances == pytest.approx((0.25, 0.0))
    # cells: real xu xv yu yv each 1/4; made xu 2/4, xv 1/4, yv 1/4
    assert table_distances(one, other, ways=2).mean == pytest.approx(0.25)


def test_disjoint_categories_are_as_far_as_tables_can_be():
    one, other = encode(pd.DataFrame({"a": ["x"] * 5}), pd.DataFrame({"a": ["y"] * 9}))
    assert table_distances(one, other, ways=1).mean == 1.0


def test_a_table_too_large_to_hold_is_counted_by_the_cells_that_occur():
    rng = np.random.default_rng(3)
    names = np.array([f"c{k}" for k in range(2000)])
    frame = pd.DataFrame({c: rng.choice(names, 3000) for c in "ab"})
    one, other = encode(frame, frame.sample(frac=1.0, random_state=1))
    assert table_distances(one, other, ways=2).mean == 0.0


def test_bins_are_those_of_the_reference_evaluator():
    frame = pd.DataFrame(
        {
            "few": np.arange(1000) % 50,
            "many": np.arange(1000),
            "zeros": np.where(np.arange(1000) < 301, 0, np.arange(1000)),
            "some": np.where(np.arange(1000) < 300, 0, np.arange(1000)),
            "sex": ["F", "M"] * 500,
        }
    )
    (real,) = encode(frame)
    # every column has one more for missing
    assert Bins(real).of(real).sizes == (51, 21, 22, Bins(real).of(real).sizes[3], 3)
    binned = Bins(real).of(real)
    assert np.bincount(binned.codes[:, 1]).tolist() == [50] * 20
    zero = binned.codes[frame["zeros"] == 0, 2]
    assert len(set(zero)) == 1
    assert not np.isin(binned.codes[frame["zeros"] != 0, 2], zero).any()
    low = binned.codes[(frame["some"] < 300) & (frame["some"] > 0), 3]
    assert not len(low)


def test_declared_bounds_decide_whether_values_stay_as_they_are():
    frame = pd.DataFrame({"a": [0, 1, 2, 60]})
    (wide,) = encode(frame, kinds={"a": Kind(low=0, high=49, is_whole=True)})
    assert Bins(wide).of(wide).codes.ravel().tolist() == [0, 1, 2, 49]


def test_the_equivalent_sample_of_a_sample_is_that_sample():
    (real,) = encode(mixed(4000, 1))
    part = real.take(np.random.default_rng(9).choice(4000, 400, replace=False))
    found = subsample_equivalent(real, table_distances(real, part, ways=2).mean, seed=2)
    assert 0.08 < found < 0.125
    assert subsample_equivalent(real, 0.9, seed=2) == pytest.approx(0.01)


def test_ks_is_that_of_scipy_and_missing_does_not_count():
    from scipy.stats import ks_2samp

    rng = np.random.default_rng(4)
    a, b = rng.normal(size=300).round(1), rng.normal(0.3, size=200).round(1)
    one, other = encode(pd.DataFrame({"a": np.append(a, [np.nan] * 5)}), pd.DataFrame({"a": b}))
    assert ks_distances(one, other)["a"] == pytest.approx(ks_2samp(a, b).statistic)


def test_ks_of_a_column_that_is_missing_throughout():
    nothing, something = pd.DataFrame({"a": [np.nan] * 3}), pd.DataFrame({"a": [1.0, 2.0]})
    assert ks_distances(*encode(nothing, nothing)) == {"a": 0.0}
    assert ks_distances(*encode(nothing, something)) == {"a": 1.0}


def test_spearman_is_that_of_scipy():
    from scipy.stats import spearmanr

    (real,) = encode(mixed(500, 5))
    assert spearman(real) == pytest.approx(spearmanr(real.values).statistic)


def test_the_diagonal_takes_part_in_the_mean_as_in_the_source():
    one, other = encode(mixed(500, 6), mixed(500, 7))
    change = np.abs(spearman(one) - spearman(other))
    assert correlation_change(one, other) == pytest.approx(change.sum() / 16)
    assert correlation_change(one, other, diagonal=False) == pytest.approx(change.sum() / 12)


def test_a_constant_column_has_no_correlation_and_stops_nothing():
    one, other = encode(mixed(50, 6), mixed(50, 7).assign(age=3))
    found = correlation_change(one, other, diagonal=False)
    expected = np.abs(np.nan_to_num(spearman(one)) - np.nan_to_num(spearman(other)))
    np.fill_diagonal(expected, 0)
    assert found == pytest.approx(expected.sum() / 12)
    same = pd.DataFrame({"a": [1, 1], "b": [2, 2]})
    assert correlation_change(*encode(same, same)) is None


def test_cramer_is_the_formula_over_the_whole_table():
    from scipy.stats.contingency import association

    frame, other = mixed(400, 8), mixed(400, 9)
    kinds = {"age": Kind(categories=()), "pay": Kind(categories=())}
    one, two = encode(frame, other, kinds=kinds)
    tables = [pd.crosstab(some["sex"], some["ill"]).to_numpy() for some in (frame, other)]
    v, w = (association(table, method="cramer") for table in tables)
    assert cramer_change(one, two)["sex", "ill"] == pytest.approx(abs(v - w))


@pytest.mark.parametrize("seed", range(5))
def test_both_formulas_of_matthews_agree_on_two_classes(seed):
    from sklearn.metrics import matthews_corrcoef

    rng = np.random.default_rng(seed)
    truth = rng.random(200) < 0.3
    said = np.where(rng.random(200) < 0.7, truth, rng.random(200) < 0.5)
    expected = matthews_corrcoef(truth, said)
    assert mcc(truth.astype(int), said.astype(int)) == pytest.approx(expected)


def test_matthews_of_several_classes_is_that_of_scikit_learn():
    from sklearn.metrics import matthews_corrcoef

    rng = np.random.default_rng(1)
    truth = rng.integers(5, size=300)
    said = np.where(rng.random(300) < 0.5, truth, rng.integers(5, size=300))
    assert mcc(truth, said) == pytest.approx(matthews_corrcoef(truth, said))
    assert mcc(np.zeros(3, int), np.zeros(3, int)) == 0.0


def test_auc_counts_ties_half():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(2)
    truth, score = rng.random(300) < 0.4, rng.integers(5, size=300).astype(float)
    assert auc(truth, score) == pytest.approx(roc_auc_score(truth, score))
    assert auc(np.array([True]), np.array([1.0])) is None


def test_the_interval_of_a_null_auc_covers_one_half():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(400):
        score = rng.random(120)
        low, high = auc_interval(auc(np.arange(120) < 50, score), 50, 70)
        covered += low <= 0.5 <= high
    assert 0.92 < covered / 400 < 0.98


def test_least_squares_find_what_scikit_learn_finds():
    from sklearn.linear_model import LinearRegression

    train, test = encode(mixed(500, 10), mixed(300, 11))
    others = [0, 1, 3]
    model = LinearRegression().fit(train.values[:, others], train.values[:, 2])
    expected = rmse(test.values[:, 2], model.predict(test.values[:, others]))
    assert regression(train, test, target="pay") == pytest.approx(expected)


def test_xgboost_has_the_trees_of_the_source_where_it_is_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(EvaluationError, match="not installed"):
        classifier("xgboost", seed=1)
    there = types.SimpleNamespace(XGBClassifier=dict)
    monkeypatch.setitem(sys.modules, "xgboost", there)
    assert classifier("xgboost", seed=1) == {
        "n_estimators": 512,
        "max_depth": 64,
        "random_state": 1,
    }


def test_a_column_that_never_varies_in_training_has_no_weight():
    """The mean of many 0.1 is not 0.1: what rounding left must not be blown up."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=700)
    frame = pd.DataFrame({"a": a, "b": 2 * a + rng.normal(size=700), "c": 0.1})
    train, test = frame[:500], frame[500:].assign(c=rng.normal(size=200))
    with_it = regression(*encode(train, test), target="b")
    without = regression(*encode(train[["a", "b"]], test[["a", "b"]]), target="b")
    assert with_it == pytest.approx(without)


def test_classes_that_synthetic_records_never_show_do_not_stop_the_score():
    rng = np.random.default_rng(5)
    a = rng.integers(3, size=600)
    real = pd.DataFrame({"a": a, "b": np.array(["x", "y", "z"])[a]})
    made, test = encode(real[real["b"] != "z"], real)
    found = classification(made, test, target="b")
    assert found["class_accuracy"] == pytest.approx(np.mean(a < 2), abs=1e-9)
    assert 0.3 < found["class_mcc"] < 1
    one_class, test = encode(real[real["b"] == "z"], real)
    assert classification(one_class, test, target="b")["class_mcc"] == 0.0


def test_a_class_of_the_synthetic_records_that_real_ones_lack_is_only_a_wrong_answer():
    real = pd.DataFrame({"a": [0, 1] * 200, "b": ["x", "y"] * 200})
    made, test = encode(real.assign(b=["x", "w"] * 200), real)
    assert classification(made, test, target="b")["class_accuracy"] == pytest.approx(0.5)


@pytest.mark.slow
def test_detection_tells_nothing_of_null_data_and_everything_of_shifted_data():
    one, other = encode(mixed(1500, 12), mixed(1500, 13))
    null = detection(one, other, seed=1)
    assert 0.45 < null["detection_auc"] < 0.55
    shifted = detection(one, other.with_values(other.values + 100.0), seed=1)
    assert shifted["detection_auc"] > 0.999
    assert shifted["pmse"] == pytest.approx(0.25, abs=0.01)
    assert null["pmse"] < 0.05


def test_controls_keep_what_they_promise():
    (real,) = encode(mixed(1000, 14))
    apart = independent(real, seed=1)
    assert (np.sort(apart.values, axis=0) == np.sort(real.values, axis=0)).all()
    off = ~np.eye(4, dtype=bool)
    assert np.abs(spearman(apart)[off]).max() < 0.1 < np.abs(spearman(real)[off]).max()
    drawn = bootstrap(real, seed=1)
    assert {tuple(row) for row in drawn.values} < {tuple(row) for row in real.values}


def test_categories_are_the_same_whatever_type_they_come_in():
    frames = [
        pd.DataFrame({"a": pd.Series(["1", "2", None], dtype="object")}),
        pd.DataFrame({"a": pd.Series([1.0, 2.0, np.nan])}),
        pd.DataFrame({"a": pd.Series([1, 2, None], dtype="Int64")}),
    ]
    for records in encode(*frames, kinds={"a": Kind(categories=("1", "2"))}):
        assert records.values.ravel()[:2].tolist() == [0, 1]
        assert np.isnan(records.values[2, 0])


def test_dates_booleans_and_infinite_numbers_have_their_places():
    frame = pd.DataFrame(
        {
            "day": pd.to_datetime(["1970-01-02", None]),
            "is_old": [True, False],
            "pay": [np.inf, 1.0],
        }
    )
    (records,) = encode(frame)
    assert records.is_category.tolist() == [False, True, False]
    assert records.values[0, 0] == 1.0
    assert np.isnan(records.values[1, 0])
    assert np.isnan(records.values[0, 2])


def test_kinds_are_read_from_a_schema_of_either_form():
    kinds = read_kinds({"categories": {"sex": ["F", "M"]}, "integer_bounds": {"age": [0, 120]}})
    assert kinds["sex"].categories == ("F", "M")
    assert kinds["age"].high == 120
    with pytest.raises(EvaluationError, match="must list columns"):
        read_kinds({"integer_bounds": {"age": 3}})


def test_kinds_are_read_from_a_schema_that_was_written(tmp_path):
    missing = {"refused": -8, "not asked": "N", "unknown": None}
    Schema(
        columns=[
            Whole(name="age", low=0, high=99, missing=missing),
            Category(name="sex", values=["F", "M"], missing={"not asked": "N"}),
            Category(name="size", values=[3, 1, 2], is_ordered=True),
            Date(name="moved", low="1970-01-01", high="2027-01-31", missing={"unknown": None}),
            Real(name="pay", low=0, high=9),
        ]
    ).write(tmp_path / "schema.json")
    kinds = read_kinds(json.loads((tmp_path / "schema.json").read_text(encoding="utf-8")))
    assert kinds["age"].high == 99
    assert kinds["sex"].categories == ("F", "M", "N")
    assert kinds["size"].categories == (3, 1, 2)
    frame = pd.DataFrame(
        {
            "age": ["-8", "N", "17"],
            "sex": ["M", "N", None],
            "size": [3.0, 2.0, 1.0],
            "moved": ["1970-01-02", None, "1970-01-03"],
            "pay": [0.5, 1.0, 9.0],
        }
    )
    (records,) = encode(frame, kinds=kinds)
    nan = np.nan
    expected = [[nan, 1, 0, 1, 0.5], [nan, 2, 2, nan, 1.0], [17, nan, 1, 2, 9.0]]
    np.testing.assert_array_equal(records.values, expected)
    typed = frame.assign(moved=pd.to_datetime(frame["moved"]), age=[-8.0, nan, 17.0])
    np.testing.assert_array_equal(encode(typed, kinds=kinds)[0].values, expected)
    with pytest.raises(EvaluationError, match="days"):
        encode(frame.assign(moved="soon"), kinds=kinds)


@pytest.mark.parametrize(
    ("frames", "match"),
    [
        ([pd.DataFrame()], "no columns"),
        ([pd.DataFrame({"a": []})], "at least one record"),
        ([pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})], "'a' is missing"),
        ([pd.DataFrame({"a": [1]}), pd.DataFrame({"a": ["x"]})], "must hold numbers"),
        ([pd.DataFrame([[1, 2]], columns=["a", "a"])], "stands twice"),
    ],
)
def test_frames_that_do_not_fit_are_refused_without_a_word_of_their_records(frames, match):
    with pytest.raises(EvaluationError, match=match) as caught:
        encode(*frames)
    assert "'x'" not in str(caught.value)


HOSTILE = {
    "one row": mixed(1, 1),
    "constant": mixed(40, 1).assign(age=5, sex="F", pay=0.0, ill="no"),
    "missing": pd.DataFrame(
        {"age": [np.nan] * 9, "sex": [None] * 9, "pay": [np.nan] * 9, "ill": [None] * 9}
    ),
    "disjoint": mixed(40, 2).assign(sex="X", ill="other", age=-7),
    "huge": mixed(40, 3).assign(pay=1e300),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("side", ["train", "synthetic", "holdout"])
def test_hostile_frames_give_figures_or_reasons_and_never_nan(name, side):
    frames = {
        "train": mixed(60, 1),
        "synthetic": mixed(50, 2),
        "holdout": mixed(40, 3),
        side: HOSTILE[name],
    }
    plan = EvaluationPlan(
        classes=("ill",),
        numbers=("pay",),
        keys=("sex", "age"),
        sensitive=("ill",),
        repetitions=2,
        controls=("bootstrap", "holdout", "independent"),
    )
    kinds = {"sex": Kind(categories=("F", "M")), "ill": Kind(categories=())}
    found = evaluate(
        frames["train"],
        frames["synthetic"],
        holdout=frames["holdout"],
        kinds=kinds,
        plan=plan,
    )
    # Not every file has an amount with a total, or a column that follows from another one.
    where_there_are = {name for name in FIGURES if name.startswith(("amount_", "follows"))}
    names = {figure.name for figure in found.figures}
    assert set(FIGURES) - where_there_are <= names <= set(FIGURES)
    for figure in found.figures:
        numbers = [figure.value, *figure.controls.values()]
        assert all(number is None or np.isfinite(number) for number in numbers), figure
        assert (figure.value is None) == bool(figure.reason), figure
    found.to_json()
    assert len(found.to_frame()) == len(found.figures)


def test_figures_do_not_depend_on_the_order_of_columns_in_other_frames():
    real, made = mixed(200, 1), mixed(200, 2)
    plan = EvaluationPlan(groups=("tables", "columns", "nearness"), controls=())
    one = evaluate(real, made, plan=plan)
    other = evaluate(real, made[made.columns[::-1]], plan=plan)
    assert [f.value for f in one.figures] == [f.value for f in other.figures]


@pytest.mark.slow
def test_an_unknown_group_or_column_is_refused():
    with pytest.raises(EvaluationError, match="no 'table'"):
        EvaluationPlan(groups=("table",))
    real = mixed(50, 1)
    for plan in (
        EvaluationPlan(classes=("il",)),
        EvaluationPlan(sensitive=("ill",), keys=("sx",)),
    ):
        with pytest.raises(EvaluationError, match="is not in the data"):
            evaluate(real, real, holdout=real, plan=plan)


def test_every_kind_of_a_frame_has_a_name():
    assert list(kinds_of(mixed(3, 1))) == ["age", "sex", "pay", "ill"]


def test_a_sample_of_tables_is_the_same_for_one_seed():
    (real,) = encode(pd.DataFrame(np.zeros((3, 20)), columns=[f"c{k}" for k in range(20)]))
    found = [table_distances(real, real, ways=3, most_tables=50, seed=s) for s in (1, 1, 2)]
    assert found[0].columns == found[1].columns != found[2].columns
    assert len(set(found[0].columns)) == 50
    every = itertools.combinations(real.names, 3)
    assert set(found[0].columns) < set(every)


def test_cells_are_judged_by_their_size_and_tables_by_the_records_in_a_wrong_cell():
    rng = np.random.default_rng(1)
    real = pd.DataFrame({"a": [0] * 2000 + [1] * 200 + [2] * 20, "b": 0, "c": 0})
    made = pd.DataFrame({"a": [0] * 2100 + [1] * 100 + [2] * 20, "b": 0, "c": 0})
    real["c"], made["c"] = rng.integers(0, 2, 2220), 0
    one, other = encode(real, made)
    found = margins.table_distances(one, other, ways=2)
    assert found.trusted == pytest.approx(1 / 3)  # a by b: 100 of 2,220 records
    assert {("a", "c"), ("b", "c")} == set(found.not_trusted)
    one, other = encode(real[["a", "b"]], made[["a", "b"]])
    errors = margins.cell_errors(one, other)
    assert errors == pytest.approx({10: 0.0, 100: 0.5, 1000: 0.05})
    assert margins.cell_errors(*encode(real[:5], made[:5])) == {}


@pytest.mark.parametrize(
    ("columns", "name"), [(0.2, "columns-off"), (0.01, "tables-no-better")]
)
def test_columns_that_are_off_by_themselves_are_not_taken_for_lost_dependence(columns, name):
    figures = [Figure(name="tvd1", value=columns)]
    figures += [
        Figure(name="tvd2", value=0.3, controls={"independent": 0.1, "bootstrap": 0.02})
    ]
    settings = {"train": 100, "synthetic": 100, "holdout": 0}
    said = [
        one.name for one in conclusions(Evaluation(figures=tuple(figures), settings=settings))
    ]
    assert name in said
    assert len({"columns-off", "tables-no-better"} & {*said}) == 1
