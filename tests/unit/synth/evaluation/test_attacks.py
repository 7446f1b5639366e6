"""Attacks: nothing to find in null data, everything in copies."""

import numpy as np
import pandas as pd
import pytest

from synth.evaluation import EvaluationError, encode
from synth.evaluation.measures.disclosure import (
    attribute_inference,
    closeness,
    exact_matches,
    replicated_uniques,
)
from synth.evaluation.measures.membership import density_ratio, monte_carlo
from synth.evaluation.measures.nearest import Space, nearest_two, pairwise


def numbers(n, seed, d=6):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, d)), columns=[f"c{k}" for k in range(d)])


def codes(n, seed, d=13):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.integers(4, size=(n, d)).astype(str)).set_axis(
        [f"c{k}" for k in range(d)], axis=1
    )


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["hamming", "euclidean"])
@pytest.mark.parametrize("made_of", [numbers, codes])
def test_null_data_leave_the_attack_at_one_half(metric, made_of):
    scores = []
    for seed in range(12):
        frames = [made_of(n, 10 * seed + k) for k, n in enumerate((500, 500, 300))]
        members, controls, made = encode(*frames)
        scores += monte_carlo(
            members, controls, made, seed=seed, metric=metric, repetitions=1
        ).scores
    assert np.mean(scores) == pytest.approx(0.5, abs=0.02)
    assert len(set(scores)) > 3


@pytest.mark.slow
def test_ties_are_broken_at_random_and_not_by_the_order_of_the_records():
    frame = pd.DataFrame({"a": [0] * 1000})
    members, controls, made = encode(frame, frame, frame)
    scores = monte_carlo(members, controls, made, seed=3, repetitions=30).scores
    assert np.mean(scores) == pytest.approx(0.5, abs=0.01)
    assert np.std(scores) > 0


@pytest.mark.parametrize("metric", ["hamming", "euclidean", "gower"])
def test_copies_give_all_members_away(metric):
    members, controls = encode(numbers(300, 1), numbers(300, 2))
    found = monte_carlo(members, controls, members, seed=1, metric=metric, repetitions=1)
    assert found.worst > 0.99


def test_the_score_is_the_formula_with_its_minus_sign():
    members, controls, made = encode(
        pd.DataFrame({"a": [0.0, 10.0]}), pd.DataFrame({"a": [4.0, 6.0]}),
        pd.DataFrame({"a": [0.5, 9.0]}),
    )  # fmt: skip
    # nearest: 0.05, 0.1, 0.35, 0.3 of the range; both members are nearest and score highest
    assert (
        monte_carlo(members, controls, made, seed=1, metric="euclidean").scores == (1.0,) * 50
    )
    away = monte_carlo(controls, members, made, seed=1, metric="euclidean", repetitions=1)
    assert away.mean == 0.0


def test_density_ratio_finds_copies_and_nothing_in_null_data():
    members, controls, reference, fresh = encode(*(numbers(400, k) for k in range(4)))
    copied = density_ratio(members, controls, members, reference=reference, seed=1)
    assert copied > 0.85
    null = density_ratio(members, controls, fresh, reference=reference, seed=1)
    assert abs(null - 0.5) < 0.04


def test_distances_are_the_definitions():
    real = pd.DataFrame({"a": [0.0, 5.0, 10.0], "b": ["x", "y", None]})
    (records,) = encode(real)
    gower = pairwise(Space(records, metric="gower"), records, records)
    assert gower[0].tolist() == pytest.approx([0.0, 0.75, 1.0])
    hamming = pairwise(Space(records, metric="hamming"), records, records)
    assert hamming[0].tolist() == [0.0, 1.0, 1.0]
    euclid = pairwise(Space(records, metric="euclidean"), records, records)
    assert euclid[0].tolist() == pytest.approx([0.0, np.sqrt(1.25), np.sqrt(2)])
    assert np.diag(gower).tolist() == [0, 0, 0]


def test_blocks_of_distances_are_the_whole(monkeypatch):
    one, other = encode(numbers(57, 1), numbers(31, 2))
    space = Space(one, metric="gower")
    whole = nearest_two(space, one, other)
    monkeypatch.setattr("synth.evaluation.measures.nearest._CELLS", 100)
    assert (nearest_two(space, one, other) == whole).all()


def test_exact_matches_need_equal_missing_values_too():
    real = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": ["x", "y", None]})
    made = pd.DataFrame({"a": [1.0, np.nan, np.nan], "b": ["x", "y", "x"]})
    assert exact_matches(*encode(real, made)) == pytest.approx(2 / 3)
    assert exact_matches(*encode(real, real)) == 1.0


def test_uniques_that_are_twice_in_the_synthetic_records_are_not_replicated():
    real = pd.DataFrame({"a": [1, 2, 3, 3]})
    assert replicated_uniques(*encode(real, pd.DataFrame({"a": [1, 2, 2]}))) == 0.5
    assert replicated_uniques(*encode(real, pd.DataFrame({"a": [7]}))) == 0.0


def test_copies_lie_nearer_to_the_training_records_and_fresh_records_do_not():
    train, holdout, fresh = encode(*(numbers(500, k) for k in range(3)))
    assert closeness(train, holdout, train, seed=1)["nearer_train"] == 1.0
    null = closeness(train, holdout, fresh, seed=1)
    assert null["nearer_train"] == pytest.approx(0.5, abs=0.07)
    assert 0 < null["nndr_train"] <= 1
    assert null["dcr_train"] == pytest.approx(null["dcr_holdout"], rel=0.1)


def test_keys_that_tell_the_value_are_counted_against_the_most_frequent_value():
    real = pd.DataFrame({"key": list("aaabbb"), "ill": list("xxxxyy")})
    one, same = encode(real, real)
    found = attribute_inference(one, same, keys=["key"], target="ill")
    # the intruder is sure about key a alone, whose three records are x, as most are
    assert [*found.values()] == [1.0, 1.0, 0.5]
    wide = attribute_inference(one, same, keys=["key"], target="ill", least=0.6)
    assert wide["inferred"] == pytest.approx(5 / 6)
    assert wide["inferred_baseline"] == pytest.approx(4 / 6)
    assert wide["inferred_reach"] == 1.0


def test_keys_of_which_no_synthetic_record_is_sure_give_no_guess():
    real = pd.DataFrame({"key": ["a", "a"], "ill": ["x", "y"]})
    found = attribute_inference(*encode(real, real), keys=["key"], target="ill")
    assert found["inferred"] is None
    assert found["inferred_reach"] == 0.0


@pytest.mark.parametrize("wrong", [{"n": 0}, {"repetitions": 0}, {"most": 0}])
def test_an_attack_without_records_or_repetitions_is_refused(wrong):
    (records,) = encode(numbers(5, 1))
    with pytest.raises(EvaluationError, match="at least one"):
        monte_carlo(records, records, records, seed=1, **wrong)
