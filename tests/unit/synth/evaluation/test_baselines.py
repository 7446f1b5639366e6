"""The control rows of the reference measurements, within the noise of their seeds."""

import csv
import json
from pathlib import Path

import pytest

from synth.evaluation import read_kinds
from synth.evaluation.evaluate import bootstrap, independent
from synth.evaluation.measures import margins
from synth.evaluation.measures.learning import classification
from synth.evaluation.measures.margins import table_distances
from synth.evaluation.records import encode

SHARED = next(
    (folder / "shared" for folder in Path(__file__).parents if (folder / "shared").is_dir()),
    Path("shared"),
)
REFERENCE = SHARED / "reference" / "synth"
pytestmark = pytest.mark.skipif(
    not (REFERENCE / "baselines.csv").is_file() or not (SHARED / "data").is_dir(),
    reason="the reference data are not here",
)


def row(name, data):
    with (REFERENCE / "baselines.csv").open(encoding="utf-8") as file:
        found = [r for r in csv.DictReader(file) if (r["peer"], r["dataset"]) == (name, data)]
    assert len(found) == 1
    return {key: float(text) for key, text in found[0].items() if key in KEYS and text}


KEYS = (
    "tvd1",
    "tvd2",
    "tvd2_max",
    "tvd3",
    "corr_mean",
    "cramer_mean",
    "gb_auc",
    "gb_mcc",
    "gb_acc",
)


def frames(data):
    import pandas as pd

    declared = json.loads((REFERENCE / f"{data}_schema.json").read_text(encoding="utf-8"))
    columns = [*declared["categories"], *declared["integer_bounds"]]
    if data == "adult":
        some = [
            pd.read_parquet(SHARED / "data" / f"adult_{k}.parquet") for k in ("train", "test")
        ]
        some = [frame[[c for c in frame.columns if c in columns]] for frame in some]
    else:
        whole = pd.read_parquet(SHARED / "data" / "compas.parquet")[columns]
        train = whole.sample(frac=0.8, random_state=0)
        some = [train, whole.drop(train.index)]
    return encode(*some, kinds=read_kinds(declared))


def measured(real, made):
    two = table_distances(real, made, ways=2)
    return {
        "tvd1": table_distances(real, made, ways=1).mean,
        "tvd2": two.mean,
        "tvd2_max": two.largest,
        "tvd3": table_distances(real, made, ways=3, most_tables=100).mean,
        "corr_mean": margins.correlation_change(real, made, diagonal=False),
        "cramer_mean": _mean(margins.cramer_change(real, made).values()),
    }


def _mean(values):
    values = list(values)
    return sum(values) / len(values)


# Tolerances: the noise of one draw; triples of columns are another sample of them; and the
# split of COMPAS is another one than that of the reference.
@pytest.mark.slow
@pytest.mark.parametrize("data", ["adult", "compas"])
def test_independent_columns_are_as_far_off_as_in_the_reference(data):
    train, _ = frames(data)
    found, known = (
        measured(train, independent(train, seed=1)),
        row("INDEP_true_marginals", data),
    )
    assert found["tvd1"] == 0.0
    assert found["tvd2"] == pytest.approx(known["tvd2"], rel=0.02)
    assert found["tvd2_max"] == pytest.approx(known["tvd2_max"], rel=0.03)
    assert found["tvd3"] == pytest.approx(known["tvd3"], rel=0.15 if data == "adult" else 0.3)
    assert found["corr_mean"] == pytest.approx(known["corr_mean"], rel=0.06)
    assert found["cramer_mean"] == pytest.approx(known["cramer_mean"], rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("data", ["adult", "compas"])
def test_a_bootstrap_is_as_far_off_as_in_the_reference(data):
    train, _ = frames(data)
    found, known = measured(train, bootstrap(train, seed=1)), row("REAL_bootstrap", data)
    for name in ("tvd1", "tvd2", "tvd3", "corr_mean", "cramer_mean"):
        assert found[name] == pytest.approx(known[name], rel=0.35), name
    assert found["tvd2"] == pytest.approx(known["tvd2"], rel=0.08)


def test_the_training_records_are_no_distance_from_themselves():
    train, _ = frames("compas")
    found = measured(train, train)
    assert set(found.values()) == {0.0}


@pytest.mark.slow
def test_learning_from_the_training_records_of_adult_is_the_reference():
    train, test = frames("adult")
    found, known = classification(train, test, target="income"), row("REAL_train", "adult")
    assert found["class_auc"] == pytest.approx(known["gb_auc"], abs=0.001)
    assert found["class_mcc"] == pytest.approx(known["gb_mcc"], abs=0.004)
    assert found["class_accuracy"] == pytest.approx(known["gb_acc"], abs=0.002)
