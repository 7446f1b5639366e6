"""Component keys of other tools, by hand."""

import numpy as np
import pytest

from ckm.engine.magnitudes.other_tools.rotation import (
    decimal_keys,
    rotations,
)


def keys(*numbers):
    return np.array(numbers, np.uint64)


def test_rotated_keys_are_not_independent():
    draws = np.random.default_rng(1).integers(0, 10**8, 200_000).astype(np.uint64)
    found = rotations(draws, key_range=10**8, decimals=8, components=2).astype(float)
    assert np.corrcoef(found[:, 0], found[:, 1])[0, 1] == pytest.approx(0.1, abs=0.01)


def test_integer_keys_become_the_nearest_decimals():
    found = decimal_keys(keys(4 * 10**17, 2**63), key_range=10**18)
    assert found.tolist() == [0.4, 2**63 / 10**18]
    assert decimal_keys(keys(2**63), key_range=2**64).tolist() == [0.5]
