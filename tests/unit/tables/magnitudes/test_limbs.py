"""Sums of integers wider than a machine word, as limbs."""

import numpy as np
import pyarrow as pa
import pytest

from tables.magnitudes.limbs import exact_floats, lean_limbs, limbs_of, sum_at


def limbs_of_numbers(numbers):
    return limbs_of(pa.chunked_array([pa.array(numbers, pa.decimal128(38, 0))]))


@pytest.mark.parametrize("decimals", [0, 5, 15])
def test_sums_of_two_limbs_are_those_of_three(decimals):
    numbers = [0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1, *[2**64 - 7] * 50]
    whole = limbs_of_numbers(numbers)
    lean = lean_limbs(whole)
    assert (len(whole), len(lean)) == (3, 2)
    place = np.arange(len(numbers)) % 3  # the sums are beyond 64 bits
    sums = [tuple(sum_at(place, limb, 3) for limb in limbs) for limbs in (whole, lean)]
    floats = [exact_floats(limbs, decimals=decimals) for limbs in sums]
    assert floats[0].tolist() == floats[1].tolist()
    expected = [sum(numbers[n::3]) / 10**decimals for n in range(3)]
    assert floats[1] == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("numbers", [[2**64, 1], [-1, 5]])
def test_a_highest_limb_that_is_needed_stays(numbers):
    assert len(lean_limbs(limbs_of_numbers(numbers))) == 3
