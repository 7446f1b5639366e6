"""Means and ratios of published parts, and the names of noises."""

import numpy as np
import pytest

from ckm.engine.magnitudes import (
    published_ratio,
)
from ckm.errors import MagnitudeError


def test_a_ratio_needs_both_parts_alike_and_leaves_out_what_has_no_divisor():
    with pytest.raises(MagnitudeError, match="same shape"):
        published_ratio([1.0, 2.0], [1.0])
    assert np.isnan(published_ratio([0.0], [0]))[0]
    assert published_ratio([-3.0], [2]).tolist() == [-1.5]
