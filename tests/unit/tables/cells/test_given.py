"""Tables of cells as input: what is refused, and that no number is told."""

import pyarrow as pa
import pytest

from tables import (
    DataError,
    DataWarning,
    GivenCells,
    Request,
    RequestError,
    cell_table,
    cube,
    open_source,
)

GOOD = {
    "sex": ["F", "M", "Total"],
    "n": [5171, 6283, 11454],
    "key": [200, 100, 44],
    "pay": [10.0, 30.0, 40.0],
    "pay_n": [2, 3, 5],
    "pay_1": [6.0, 20.0, None],
    "pay_2": [4.0, 8.0, None],
    "w": [2.5, 1.5, 4.0],
    "w_n": [2, 1, 3],
}


def tabulate(columns, **request):
    given = GivenCells(dimensions=("sex",), count="n", cell_key="key", key_range=256)
    with open_source(pa.table(columns)) as source:
        given.take(source)
        return cube(source, given.keys, [Request(dimensions=["sex"], **request)])[0]


def test_amounts_come_with_contributors_and_the_largest_of_each_margin():
    found = tabulate(GOOD, sums=["pay"], top=3).magnitudes["pay"]
    assert found.total.tolist() == [10.0, 30.0, 40.0]
    assert found.contributors.tolist() == [2, 3, 5]
    assert found.top.tolist() == [[6, 4, 0], [20, 8, 0], [20, 8, 6]]
    assert found.low.tolist() == [10.0, 30.0, 10.0]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"n": [-1, 6283, 6282]}, "'n' that is no whole number"),
        ({"n": [5171.5, 6283, 11454]}, "'n' that is no whole number"),
        ({"n": [None, 6283, 6283]}, "have no 'n'"),
        ({"n": [0, 6283, 6283]}, "have no records and a 'key'"),
        ({"key": [None, 100, 44]}, "have records and no 'key'"),
        ({"key": [256, 100, 44]}, r"'key' outside \[0, 256\)"),
        ({"key": [200, 100, 300]}, r"'key' outside \[0, 256\)"),
        ({"sex": ["F", "F", "Total"]}, "more than once"),
        ({"n": [5171, 6283, 11455]}, "sums of their cells in 'n': 1 of 1"),
        ({"key": [200, 100, 45]}, "sums of their cells in 'key': 1 of 1, totals of 'sex'"),
        ({"pay": [10.0, 30.0, 41.0]}, "sums of their cells in 'pay'"),
        ({"pay_n": [2, 3, 6]}, "sums of their cells in 'pay_n'"),
        ({"pay_n": [2, 7000, 7002]}, "'pay_n' that is no number of records"),
        ({"pay_n": [0, 3, 3]}, "'pay_n' that is no number of records"),
        ({"pay_1": [4.0, 20.0, None]}, "largest contributions to 'pay'"),
        ({"pay_1": [4.0, 20.0, None], "pay_2": [6.0, 8.0, None]}, "largest contributions"),
        ({"pay_2": [None, 8.0, None]}, "largest contributions"),
        ({"pay_1": [6.0, 25.0, None]}, "largest contributions"),
    ],
)
def test_numbers_that_no_records_have_are_refused_without_telling_them(changes, problem):
    columns = {name: pa.array(values) for name, values in (GOOD | changes).items()}
    with pytest.raises(DataError, match=problem) as caught:
        tabulate(columns, sums=["pay"], top=2)
    assert not {"5171", "6283", "11454", "F"} & set(str(caught.value).replace(",", "").split())


def test_what_was_refused_once_is_refused_again():
    given = GivenCells(dimensions=("sex",), count="n", cell_key="key", key_range=256)
    with open_source(pa.table(GOOD | {"n": [5171, 6283, 11455]})) as source:
        given.take(source)
        for _ in range(2):
            with pytest.raises(DataError, match="sums of their cells"):
                cube(source, given.keys, [Request(dimensions=["sex"])])


def test_margins_need_no_keys_and_a_sum_may_be_rounded_in_its_last_digit():
    rounded = {"key": pa.array([200, 100, None]), "pay": [0.1, 0.2, 0.3]}
    largest = {"pay_1": [0.07, 0.1, None], "pay_2": [0.03, 0.05, None]}
    cells = tabulate(GOOD | rounded | largest, sums=["pay"], top=2)
    assert cells.cell_key.tolist() == [200, 100, 44]


@pytest.mark.parametrize(
    ("columns", "request_", "problem"),
    [
        ({"n": ["5", "6", "11"]}, {}, "must be numbers, not texts"),
        ({"key": ["a", "b", "c"]}, {}, "must be integers"),
        ({}, {"where": "w > 1"}, "'w' is no dimension"),
        ({"u": [1, 2, 3]}, {"weight": "u"}, "needs a column 'u_n'"),
        ({"u": [1, 2, 3]}, {"sums": ["u"]}, "needs a column 'u_n'"),
        ({}, {"sums": ["pay"], "weight": "w"}, "cannot be weighted"),
        ({}, {"ordered": ["pay"]}, "Quantiles need records"),
    ],
)
def test_what_the_columns_do_not_hold_is_refused(columns, request_, problem):
    with pytest.raises(RequestError, match=problem):
        tabulate(GOOD | columns, **request_)


def test_a_total_of_another_name_is_no_category():
    """Its numbers would be in every sum twice; by counts or short keys it may be chance."""
    columns = {"sex": ["F", "M", "Ensemble"], "n": [1, 2, 3], "key": [200, 100, 44]}
    with pytest.warns(DataWarning, match="category of 'sex' is all others together"):
        tabulate(columns)
    tabulate(columns | {"key": [200, 100, 45]})
    tabulate({"sex": ["F", "M"], "n": [3, 3], "key": [7, 7]})
    wide = GivenCells(dimensions=("sex",), count="n", cell_key="key", key_range=2**32)
    columns |= {"key": [2**32 - 1, 2, 1]}
    with open_source(pa.table(columns)) as source:
        wide.take(source)
        with pytest.raises(DataError, match="see total_label"):
            cube(source, wide.keys, [Request(dimensions=["sex"])])


def test_a_file_without_rows_is_refused():
    with pytest.raises(DataError, match="no row"):
        tabulate(pa.table(GOOD).slice(0, 0))


def test_a_column_that_is_not_there_is_named():
    with open_source(pa.table({"sex": ["F"], "n": [1]})) as source:
        with pytest.raises(RequestError, match="'age'"):
            GivenCells(dimensions=("age",), count="n").take(source)
        with pytest.raises(RequestError, match="one dimension"):
            GivenCells(dimensions=())


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({"dimensions": ["count"]}, "called like a column"),
        ({"dimensions": ["sex"], "sums": ["pay"], "weight": "w"}, "not weighted"),
    ],
)
def test_cells_that_could_not_be_read_again_are_not_made(request_, problem):
    records = pa.table({"sex": ["F"], "count": [1], "key": [1], "pay": [2.0], "w": [1]})
    keys = GivenCells(dimensions=("sex",), cell_key="key", key_range=256).keys
    with open_source(records) as source, pytest.raises(RequestError, match=problem):
        cell_table(source, keys, [Request(**request_)])
