"""Component keys of other tools, by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest

from ckm.engine.magnitudes.other_tools.rotation import (
    decimal_keys,
    printed_rotations,
    require_numbers,
    rotations,
)
from ckm.errors import MagnitudeError


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


def turned_by_hand(key, key_range, decimals, components):
    """Round to decimals, and move the first digit to the end, as texts."""
    number = Fraction(key, key_range) * 10**decimals
    text = str(int(number + Fraction(1, 2)) % 10**decimals).rjust(decimals, "0")
    found = []
    for _ in range(components):
        text = text[1:] + text[0]
        found.append(int(text))
    return found


@pytest.mark.parametrize(
    ("decimals", "key_range"), [(8, 10**18), (4, 2**64), (1, 256), (3, 999)]
)
def test_rotations_move_digits_to_the_end_one_after_the_other(decimals, key_range):
    drawn = np.random.default_rng(1).integers(0, key_range, 60, np.uint64).tolist()
    drawn += [0, key_range - 1, key_range // 2, key_range // 10**decimals]
    found = rotations(keys(*drawn), key_range=key_range, decimals=decimals, components=3)
    assert found.dtype == np.uint64
    assert found.tolist() == [turned_by_hand(k, key_range, decimals, 3) for k in drawn]


def test_half_a_unit_is_rounded_up():
    found = rotations(keys(1, 2, 3), key_range=20, decimals=1, components=1)
    assert found.tolist() == [[1], [1], [2]]  # 0.05, 0.10, 0.15


#: Keys, and those of three components: where the first has the key as it is, and where not.
#: From `tests/golden/README.md`: cellKey 1.0.3, `scramble.csv`.
CELLKEY = [
    (0.12345678, [0.12345678, 0.23456781, 0.34567812], [0.23456781, 0.34567812, 0.45678123]),
    (0.3482, [0.3482, 0.4823, 0.8234], [0.4823, 0.8234, 0.2348]),
    (
        0.34820000000001,
        [0.34820000000001, 0.48200000000013, 0.82000000000134],
        [0.48200000000013, 0.82000000000134, 0.20000000001348],
    ),
    (0.5, [0.5, 0.5, 0.5], [0.05, 0.0, 0.0]),
    (1.234e-05, [1.234e-05, 1.34e-52, 0.0], [1.34e-52, 0.0, 0.0]),
    (0.10000001, [0.10000001, 1.1e-07, 1.1e-06], [1.1e-07, 1.1e-06, 1.1e-05]),
    (0.99999999, [0.99999999, 0.99999999, 0.99999999], [0.99999999, 0.99999999, 0.99999999]),
    (1e-08, [1e-08, math.nan, math.nan], [math.nan, math.nan, 1e-08]),
]
#: The same by hand, from what R prints: ``paste0(substr(x, 1, 2), substr(x, 4), third sign)``.
BY_HAND = [
    (0.123, [0.123, 0.231, 0.312], [0.231, 0.312, 0.123]),
    (0.987654321012345, [0.987654321012345, 0.876543210123459, 0.765432101234598], None),
    (0.1234567890123456, [0.123456789012346, 0.234567890123461, 0.345678901234612], None),
    (0.5, [0.5] * 3, [0.05, 0.0, 0.0]),  # "0.05", then "0.50" less its fives
    (0.00012, [0.00012, 0.0012, 0.012], [0.0012, 0.012, 0.12]),
    (0.0001, [0.0001, math.nan, math.nan], [math.nan, math.nan, 0.0001]),  # "1e-04"
    (3e-05, [3e-05, math.nan, math.nan], [math.nan, math.nan, 3e-05]),
    (1.5e-05, [1.5e-05, 1e-55, math.nan], [1e-55, math.nan, math.nan]),  # "1.e-055"
    (0.000123456, [0.000123456, 0.00123456, 0.0123456], [0.00123456, 0.0123456, 0.123456]),
    (1.0001e-05, [1.0001e-05, 1.001e-50, 0.0], [1.001e-50, 0.0, 0.0]),
    (0.0, [0.0] * 3, [0.0] * 3),
]


@pytest.mark.parametrize(("key", "same", "turned"), CELLKEY + BY_HAND)
def test_printed_digits_are_turned_as_cellkey_turns_them(key, same, turned):
    for wanted, same_key in ((same, True), (turned, False)):
        if wanted is not None:
            found = printed_rotations(np.array([key]), components=3, same_key=same_key)
            assert found.shape == (1, 3)
            np.testing.assert_allclose(found[0], wanted, rtol=1e-14, atol=0)


def test_one_component_with_the_key_as_it_is_turns_nothing():
    found = printed_rotations(np.array([0.25, 0.75]), components=1, same_key=True)
    assert found.tolist() == [[0.25], [0.75]]


def test_keys_without_a_number_are_refused():
    require_numbers(np.array([[0.5, 0.0]]))
    with pytest.raises(MagnitudeError, match="leaves no number"):
        require_numbers(np.array([[0.5, math.nan]]))


def test_a_key_that_prints_as_one_is_one():
    """R prints fifteen digits."""
    found = printed_rotations(np.array([1 - 2**-53]), components=1, same_key=True)
    assert found.tolist() == [[1.0]]
