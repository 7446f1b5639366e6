"""Numbers written a column at a time are what Python writes one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckm.formats.cubes.number_texts import NumberTexts, joined_texts, runs_of

DECIMALS = st.integers(-(10**14), 10**14).map(lambda n: n / 10**6)
COUNTS = st.integers(-(10**9) + 1, 10**9 - 1)


def one_by_one(columns, rows=slice(None)):
    texts = [
        ["null" if is_hidden else repr(number) for number, is_hidden in zip(*pair, strict=True)]
        for pair in ((np.ma.filled(c, 0).tolist(), np.ma.getmaskarray(c)) for c in columns)
    ]
    return ",".join(
        text for row in list(zip(*texts, strict=True))[rows] for text in row
    ).encode()


@given(st.lists(st.tuples(COUNTS, DECIMALS, st.booleans()), min_size=1, max_size=30))
def test_texts_are_those_of_single_numbers(rows):
    counts, decimals, hidden = (np.array(column) for column in zip(*rows, strict=True))
    decimals = np.where(np.abs(decimals) < 1e-4, 0.0, decimals)
    decimals = np.where(np.abs(decimals) < 1e9, decimals, 1.5)
    columns = [counts, decimals, np.ma.array(decimals, mask=hidden)]
    for texts in (runs_of(columns), [NumberTexts.of([column]) for column in columns]):
        assert joined_texts(texts, slice(0, len(rows))) == one_by_one(columns)
    assert joined_texts(texts, slice(0, 1)) == one_by_one(columns, slice(0, 1))


@pytest.mark.parametrize(
    "numbers",
    [
        *([10**9], [-(2**63)], [1e9], [0.1 + 0.2], [1e-5], [1.2345678], [1e300]),
        np.array([], np.int64),
    ],
)
def test_numbers_of_more_digits_are_left_to_python(numbers):
    assert NumberTexts.of([np.asarray(numbers)]) is None
    assert runs_of([np.array([1] * len(numbers)), np.asarray(numbers)]) is None


def test_decimals_are_those_that_the_longest_number_has():
    assert NumberTexts.of([np.array([3, 40])]).decimals == [0]
    columns = [
        np.array([3.0, 40.0]),
        np.array([3.25, 0.1]),
        np.ma.array([3.25, 0.1], mask=[True, False]),
        np.ma.array([3.25, 7.125], mask=[True, True]),
    ]
    assert NumberTexts.of(columns).decimals == [0, 2, 1, 1]


def test_negative_zeros_and_signs_stand():
    columns = [np.array([-0.0, -1.5, 2.0]), np.array([-7, 0, 1234])]
    assert joined_texts(runs_of(columns), slice(0, 3)) == b"-0.0,-7,-1.5,0,2.0,1234"
