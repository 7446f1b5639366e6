"""Margins as steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth import SynthError
from synth.copulas import Margin, pseudo_observations
from tests.strategies import examples

numbers = st.lists(st.integers(-5, 5), min_size=1, max_size=30)
counts = st.lists(st.floats(-50, 50), min_size=1, max_size=20)


@given(numbers)
@settings(max_examples=examples(40), deadline=None)
def test_data_come_back_from_their_heights(data):
    margin = Margin.empirical(data)
    assert margin.inverse(margin.pit(data)).tolist() == data
    assert (margin.pit_before(data) < margin.pit(data)).all()


@given(counts)
@settings(max_examples=examples(40), deadline=None)
def test_noisy_counts_make_heights_that_never_fall_and_end_at_one(found):
    margin = Margin.of_counts(np.arange(len(found)), counts=found)
    assert (np.diff(margin.cumulative) >= 0).all()
    assert 0 <= margin.cumulative[0] <= margin.cumulative[-1] == 1
    if max(found) > 1e-300:
        drawn = margin.inverse(np.linspace(0, 1, 101)).astype(int)
        assert (np.array(found)[drawn] > 0).all()  # what is not there is not drawn


def test_heights_have_no_value_too_many():
    margin = Margin.empirical([1, 2, 3, 4])
    assert margin.cumulative.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert margin.inverse([0.0, 0.25, 0.2500001, 1.0]).tolist() == [1, 1, 2, 4]
    assert margin.pit([0, 9]).tolist() == [0, 1]


def test_a_histogram_that_noise_has_emptied_is_flat():
    assert Margin.of_counts([1, 2], counts=[-1, -2]).cumulative.tolist() == [0.5, 1.0]


def test_pseudo_observations_are_ranks_over_records():
    found = pseudo_observations([[3, 1], [1, 1], [2, 5]])
    np.testing.assert_allclose(found, [[1, 2 / 3], [1 / 3, 2 / 3], [2 / 3, 1]])
    assert pseudo_observations([[3], [1]], is_open=True).max() == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Margin.empirical([]),
        lambda: Margin.empirical([1, np.nan]),
        lambda: Margin.of_counts([], counts=[]),
        lambda: Margin.of_counts([1, 2], counts=[np.inf, 1]),
        lambda: Margin.of_counts([2, 1], counts=[1, 1]),
        lambda: Margin.empirical([1]).inverse([1.5]),
        lambda: Margin.empirical([1]).inverse([np.nan]),
        lambda: pseudo_observations([1, 2]),
    ],
)
def test_what_is_no_margin_is_refused(make):
    with pytest.raises(SynthError):
        make()
