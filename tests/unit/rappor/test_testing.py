"""Tests of many candidates: known corrections on known numbers."""

import numpy as np
import pytest
from scipy.stats import binom, false_discovery_control, norm, t

from rappor.decoding.testing import adjusted, binomial_tail, upper_tail
from rappor.errors import RapporError

P = np.array([0.001, 0.3, 0.04, 0.012, 0.012, 0.9, 0.0])


@pytest.mark.parametrize(
    ("correction", "method"), [("benjamini-hochberg", "bh"), ("benjamini-yekutieli", "by")]
)
def test_discovery_rates_are_those_of_scipy(correction, method):
    assert np.allclose(
        adjusted(P, correction=correction), false_discovery_control(P, method=method)
    )


def test_holm_lies_between_none_and_bonferroni():
    holm = adjusted(P, correction="holm")
    assert (adjusted(P, correction="none") <= holm).all()
    assert (holm <= adjusted(P, correction="bonferroni")).all()
    assert adjusted([0.01, 0.02, 0.03], correction="holm").tolist() == pytest.approx(
        [0.03, 0.04, 0.04]
    )


def test_a_p_value_equal_to_the_step_is_a_discovery():
    assert (adjusted([0.025, 0.05], correction="benjamini-hochberg") <= 0.05).all()


def test_tails_are_those_of_scipy():
    assert np.allclose(upper_tail([2.0, -1.0], [4.0, 1.0], 0), norm.sf([1.0, -1.0]))
    assert np.allclose(upper_tail([2.0], [1.0], 7), t.sf(2.0, 7))
    assert np.allclose(
        binomial_tail([3, 0, 9], [9, 9, 9], [0.2, 0.2, 0.2]), binom.sf([2, -1, 8], 9, 0.2)
    )


def test_what_the_bits_cannot_tell_is_never_significant():
    assert upper_tail([np.nan, 5.0, 0.0], [np.inf, np.inf, 0.0], 3).tolist() == [1.0, 1.0, 0.5]


def test_an_unknown_correction_is_refused():
    with pytest.raises(RapporError, match="no correction"):
        adjusted(P, correction="fdr")


def test_no_test_needs_no_correction():
    assert adjusted([], correction="holm").size == 0
