"""What is learnt of a column before it is added up."""

from __future__ import annotations

import math
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tables import open_source
from tables.magnitudes.exact import has_few_values, require_addable


def variation(*values):
    """Return how much the non-zero values vary, as a share of their mean."""
    with open_source(pa.table({"x": pa.array(values, pa.float64())}), threads=1) as source:
        require_addable(source, ["x"], weight=None)
        return source.spreads["x"].variation


@pytest.mark.filterwarnings("ignore:All values:ckm_engine.tables.DataWarning")
def test_amounts_whose_squares_are_no_float_are_read():
    # The square of the least normal float is 0, and so is that of a sum of such.
    assert variation(sys.float_info.min) == 0
    assert variation(5e-324, -5e-324) == math.inf


def test_the_variation_is_that_of_the_values_which_are_not_zero():
    assert variation(4, 4, 0, 0) == 0
    assert variation(1, 3, None) == pytest.approx(0.5)
    assert variation(1, -1) == math.inf
    assert variation(0, 0) == math.inf


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.int8()])
@pytest.mark.parametrize(("values", "is_few"), [(1, True), (2, True), (3, False)])
def test_one_value_or_two_are_few_in_every_type_of_numbers(kind, values, is_few):
    numbers = pc.cast(pa.array([1.1, 2.2, 3.3][:values] * 9), kind, safe=False)
    with open_source(pa.table({"x": numbers})) as source:
        assert has_few_values(source, "x", None) is is_few
