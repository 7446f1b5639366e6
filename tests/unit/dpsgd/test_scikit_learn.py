"""The estimators among those of scikit-learn: tags, pipelines, cross-validation that pays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dp import BudgetLedger
from dpsgd import (
    Category,
    DPClassifier,
    DPRegressor,
    DPSGDError,
    Number,
    Plan,
    PlanError,
    Schema,
    TrainingDataError,
)

base = pytest.importorskip("sklearn.base", reason="scikit-learn is not installed")
from sklearn.model_selection import cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import FunctionTransformer  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

_DECLARED = "classes are declared, not learnt from the labels: others are refused"
_PRIVATE = "a refusal that depends on one record, or on their number, would tell of it"
_WORDS = "refused, in words of ours"
#: Checks of scikit-learn that both estimators fail, each for a reason.
_BOTH = {
    "check_estimators_unfitted": "the error is a DPSGDError: scikit-learn may be absent",
    "check_estimators_empty_data_messages": _PRIVATE,
    "check_estimators_nan_inf": _PRIVATE,
    "check_estimator_sparse_tag": _WORDS,
    "check_estimator_sparse_array": _WORDS,
    "check_estimator_sparse_matrix": _WORDS,
    "check_fit2d_predict1d": _WORDS,
    "check_requires_y_none": _WORDS,
}
#: And those that one of them fails.
_CLASSIFIER = dict.fromkeys(
    (
        "check_dtype_object",
        "check_classifiers_classes",
        "check_classifiers_regression_target",
        "check_supervised_y_2d",
        "check_complex_data",
        "check_classifiers_train",
    ),
    _DECLARED,
)
_REGRESSOR = {
    "check_dtype_object": _WORDS,
    "check_supervised_y_2d": _WORDS,
    "check_complex_data": _WORDS,
    "check_supervised_y_no_nan": "what is missing or infinite is moved into the bounds",
}

SCHEMA = Schema(
    columns=[Number(name="age", low=0, high=100), Category(name="sex", values=["F", "M"])],
    target=Category(name="retired", values=["no", "yes"]),
)


def plan(noise=1.0, *, seed=1, steps=3, **more):
    return Plan(
        dataset_size=60,
        sampling_rate=0.2,
        steps=steps,
        noise_multiplier=noise,
        delta=1e-3,
        seed=seed,
        **more,
    )


@pytest.fixture
def records():
    rng = np.random.Generator(np.random.PCG64(5))
    x = rng.normal(size=(60, 3))
    return x, (x[:, 0] > 0).astype(int)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "steps", "settings", "own"),
    [
        (DPClassifier, 3, {"classes": [0, 1, 2]}, _CLASSIFIER),
        (DPRegressor, 20, {"bounds": (-3, 3), "learning_rate": 0.2}, _REGRESSOR),
    ],
)
def test_scikit_learns_own_checks_pass_but_for_those_that_are_listed_with_a_reason(
    estimator, steps, settings, own
):
    """Without noise: every check is a fit, which a ledger would have to pay for."""
    found = check_estimator(
        estimator(plan(0, steps=steps), **settings),
        expected_failed_checks=_BOTH | own,
        on_skip=None,
        on_fail="raise",
    )
    failed = {one["check_name"] for one in found if one["status"] == "xfail"}
    assert failed == set(_BOTH | own)
    assert sum(one["status"] == "passed" for one in found) > 35


def test_what_an_estimator_is_and_what_it_was_trained_on_is_told(records):
    x, y = records
    model = DPClassifier(plan(), classes=[0, 1])
    assert base.is_classifier(model)
    assert base.is_regressor(DPRegressor(plan()))
    assert not hasattr(model, "n_features_in_")
    assert not hasattr(model.fit(x, y), "feature_names_in_")
    assert model.n_features_in_ == 3
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    model.fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert (model.predict(frame) == model.predict(x)).all()
    with pytest.raises(TrainingDataError, match="feature names should match"):
        model.predict(frame[["b", "a", "c"]])
    with pytest.raises(TrainingDataError, match="X has 2 features, but DPClassifier"):
        model.predict(x[:, :2])


def test_an_array_has_the_columns_of_the_schema_in_order():
    frame = pd.DataFrame(
        {"sex": ["F", "M"] * 30, "age": range(60), "retired": ["no", "yes"] * 30}
    )
    by_name = DPClassifier(plan(schema=SCHEMA)).fit(frame)
    ordered = frame[["age", "sex"]].to_numpy()
    by_place = DPClassifier(plan(schema=SCHEMA)).fit(ordered, frame["retired"])
    assert by_place.feature_names_in_.tolist() == ["age", "sex"]
    assert by_place.n_features_in_ == 2
    assert (by_name.predict_proba(frame) == by_place.predict_proba(ordered)).all()
    with pytest.raises(TrainingDataError, match="X has 3 features"):
        by_place.predict(frame.to_numpy())


def test_a_regressor_of_arrays_keeps_to_the_bounds_it_is_given(records):
    x, y = records
    model = DPRegressor(plan(), bounds=(2, 3)).fit(x, 9 * y)
    assert ((model.predict(x) >= 2) & (model.predict(x) <= 3)).all()
    for bounds in (None, 5, (1, 2, 3), ()):
        with pytest.raises(PlanError, match=r"or bounds=\(low, high\)"):
            DPRegressor(plan(), bounds=bounds).fit(x, y)
    with pytest.raises(PlanError, match="must be finite and rise"):
        DPRegressor(plan(), bounds=(3, 2)).fit(x, y)


def test_a_pipeline_trains_on_what_its_steps_make(records):
    x, y = records
    chain = make_pipeline(FunctionTransformer(np.tanh), DPClassifier(plan(), classes=[0, 1]))
    assert (chain.fit(x, y).predict(x) == chain[-1].predict(np.tanh(x))).all()


def test_every_refit_of_cross_validation_is_refused_or_paid_for(records, tmp_path):
    x, y = records
    model = DPClassifier(plan(seed=None), classes=[0, 1])
    with pytest.raises(PlanError, match="without a charge to a budget") as caught:
        cross_val_score(model, x, y, cv=3, error_score="raise")
    assert "params={'ledger'" in str(caught.value)
    file = tmp_path / "budget.db"
    once = plan().cost().epsilon
    BudgetLedger.create(file, adjacency="add-remove", epsilon=3.5 * once, delta=1e-2)
    ledger = BudgetLedger.open(file)
    paid = {"ledger": ledger, "who": "Ada"}
    scores = cross_val_score(model, x, y, cv=3, params=paid, error_score="raise")
    assert len(scores) == len(ledger.entries()) == 3
    with pytest.raises(ValueError, match="budget"):
        cross_val_score(model, x, y, cv=20, params=paid, error_score="raise")
    cross_val_score(DPClassifier(plan(), classes=[0, 1]), x, y, cv=3, error_score="raise")


def test_a_second_training_is_refused_or_paid_for(records, tmp_path):
    model = DPClassifier(plan(seed=None), classes=[0, 1]).fit(*records)
    for again in (model, model.set_params(learning_rate=0.5)):
        with pytest.raises(PlanError, match="without a charge to a budget"):
            again.fit(*records)
    file = tmp_path / "budget.db"
    BudgetLedger.create(file, adjacency="add-remove", epsilon=1e3, delta=1e-2)
    model.fit(*records, ledger=BudgetLedger.open(file), who="Ada")
    assert len(BudgetLedger.open(file).entries()) == 1


@pytest.mark.parametrize("name", ["legder", "scheduler"])
def test_what_a_training_does_not_know_is_refused(records, name):
    with pytest.raises(PlanError, match=f"no setting '{name}'"):
        DPClassifier(plan(), classes=[0, 1]).fit(*records, **{name: None})


def test_a_model_that_is_not_trained_says_so(records):
    with pytest.raises(DPSGDError, match="not trained"):
        DPClassifier(plan(), classes=[0, 1]).predict(records[0])
