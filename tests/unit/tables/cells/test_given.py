"""Tables of cells as input: what is refused, and that no number is told."""

import pyarrow as pa
import pytest

from tables import (
    CodeTree,
    DataError,
    DataWarning,
    Hierarchy,
    Request,
    RequestError,
    cube,
    open_source,
)
from tables.cells.cube import cell_table
from tables.cells.given import GivenCells
from tests.results import require_fixed
from tests.strategies import decode

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


# --- several dimensions and trees ---------------------------------------------------------

TREE = CodeTree({"all": None, "N": "all", "n1": "N", "n2": "N", "S": "all"})
ZONED = Hierarchy(columns=("zone",), tree=TREE)
#: Zone, sex, records and key: all cells, and all margins of both dimensions but two.
ROWS = [
    ("n1", "F", 4, 10),
    ("n1", "M", 2, 20),
    ("n2", "F", 1, 30),
    ("S", None, 3, 250),
    ("S", "F", 5, 1),
    ("N", "F", 5, 40),
    ("N", "M", 2, 20),
    ("N", "Total", 7, 60),
    ("n1", "Total", 6, 30),
    ("n2", "Total", 1, 30),
    ("S", "Total", 8, 251),
    ("all", "F", 10, 41),
    ("all", None, 3, 250),
    ("all", "Total", 15, 311 % 256),
]


def grid(rows, **labels):
    """Take a table of cells of zones and sexes, and tabulate it."""
    zone, sex, n, key = zip(*rows, strict=True)
    columns = {"zone": zone, "sex": pa.array(sex, pa.string()), "n": n, "key": key}
    given = GivenCells(
        dimensions=("zone", "sex"), count="n", cell_key="key", key_range=256,
        trees={"zone": TREE}, **labels,
    )  # fmt: skip
    with open_source(pa.table(columns)) as source:
        given.take(source)
        request = Request(dimensions=["zone", "sex"], hierarchies={"zone": ZONED}, **labels)
        found = decode(cube(source, given.keys, [request])[0])
    return {name: cell[:2] for name, cell in found.items()}


def test_inner_codes_of_a_tree_and_totals_are_margins_and_the_rest_are_cells():
    wanted = {(zone, sex or "(missing)"): (n, key) for zone, sex, n, key in ROWS}
    assert grid(ROWS) == {**wanted, ("all", "M"): (2, 20)}
    assert grid(ROWS[:5]) == grid(ROWS), "margins may be left out"


def test_totals_and_missing_categories_may_have_other_names():
    rows = [
        (zone, {"Total": "Alle", None: None}.get(sex, sex), n, key)
        for zone, sex, n, key in ROWS
    ]
    found = grid(rows, total_label="Alle", missing_label="k. A.")
    assert found["S", "k. A."] == (3, 250)
    assert found["all", "Alle"] == (15, 55)


@pytest.mark.parametrize(
    ("row", "change", "totals"),
    [
        (7, (0, 1, 0), "totals of 'sex'"),
        (5, (0, 0, 1), "totals of 'zone'"),
        (11, (0, 1, 0), "totals of 'zone'"),
        (13, (0, 0, 1), "totals of 'zone', 'sex'"),
        (12, (0, 1, 0), "totals of 'zone'"),
    ],
)
def test_a_margin_that_is_no_sum_is_told_by_the_dimensions_it_is_a_total_of(
    row, change, totals
):
    rows = [list(each) for each in ROWS]
    rows[row][2] += change[1]
    rows[row][3] = (rows[row][3] + change[2]) % 256
    with pytest.raises(DataError, match=f"1 of 9, {totals}"):
        grid(rows)


def test_a_cell_that_is_missing_is_seen_in_all_margins_that_hold_it():
    with pytest.raises(DataError, match="in 'n': 5 of 9"):
        grid([row for row in ROWS if row[:2] != ("n1", "F")])


def test_margins_of_no_records_may_be_listed():
    """Nothing adds up to them: that is 0 records."""
    assert grid([*ROWS[:5], ("N", None, 0, 0)]) == grid(ROWS)
    with pytest.raises(DataError, match="sums of their cells"):
        grid([*ROWS[:5], ("N", None, 1, 0)])


# --- without keys -------------------------------------------------------------------------


def test_cells_without_keys_have_keys_of_nought():
    given = GivenCells(dimensions=("sex",))
    assert (given.keys.column, given.keys.key_range) == ("ckm_no_key", None)
    columns = {"sex": ["F", "M", "Total"], "count": [4, 2, 6]}
    with open_source(pa.table(columns)) as source:
        given.take(source)
        (cells,) = cube(source, given.keys, [Request(dimensions=["sex"])])
    assert cells.count.tolist() == [4, 2, 6]
    assert cells.cell_key.tolist() == [0, 0, 0]
    with open_source(pa.table(columns | {"count": [4, 2, 7]})) as source:
        given.take(source)
        with pytest.raises(DataError, match="sums of their cells in 'count'"):
            cube(source, given.keys, [Request(dimensions=["sex"])])


def test_cells_cannot_be_changed_on_the_way():
    given = GivenCells(dimensions=("sex",), cell_key="key", key_range=2**40)
    require_fixed(given)
    assert (given.keys.column, given.keys.key_range) == ("key", 2**40)
    assert given.count == "count"
    assert (given.total_label, given.missing_label) == ("Total", "(missing)")


# --- numbers at their limits --------------------------------------------------------------


@pytest.mark.parametrize(("count", "is_refused"), [(2**53, False), (2**53 + 2, True)])
def test_numbers_of_records_are_whole_numbers_that_a_float_holds(count, is_refused):
    columns = {"sex": ["F", "M"], "n": [count, 1], "key": [3, 4]}
    if is_refused:
        with pytest.raises(DataError, match="'n' that is no whole number of 0 or more"):
            tabulate(columns)
    else:
        assert tabulate(columns).count[0] == count


def test_empty_cells_are_no_cells():
    found = tabulate({"sex": ["F", "M", "X"], "n": [3, 0, 1], "key": [7, 0, 9]})
    assert found.axes[0].labels[0].tolist() == ["Total", "F", "X"]
    found = tabulate({"sex": ["F", "M"], "n": [3, 0], "key": [7, None]})
    assert found.count.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        (255, None),
        (256, r"'key' outside \[0, 256\)"),
        (-1, r"'key' outside \[0, 256\)"),
    ],
)
def test_keys_lie_below_their_range(key, problem):
    columns = {"sex": ["F", "M"], "n": [3, 2], "key": [key, 4]}
    if problem is None:
        assert tabulate(columns).cell_key.tolist() == [255, 4, 3]
    else:
        with pytest.raises(DataError, match=problem) as caught:
            tabulate(columns)
        assert caught.value.inside == "1 of 2 rows"


def test_weights_come_with_the_number_of_records_that_have_one():
    found = tabulate(GOOD, weight="w")
    assert found.weight.tolist() == [2.5, 1.5, 4.0]
    assert found.weighted_count.tolist() == [2, 1, 3]
    for changes, problem in (
        ({"w": [2.5, 1.5, 4.1]}, "sums of their cells in 'w'"),
        ({"w_n": [2, 1, 4]}, "sums of their cells in 'w_n'"),
        ({"w_n": [2.5, 1, 3.5]}, "'w_n' that is no number of records"),
        ({"w_n": [-1, 1, 0]}, "'w_n' that is no number of records"),
        ({"w_n": [None, 1, 1]}, "'w_n' that is no number of records"),
        ({"w_n": [5172, 1, 5173]}, "'w_n' that is no number of records"),
    ):
        with pytest.raises(DataError, match=problem):
            tabulate(GOOD | changes, weight="w")
    tabulate(GOOD | {"w": [0.0, 1.5, 1.5], "w_n": [0, 1, 1]}, weight="w")


@pytest.mark.parametrize(("off", "is_refused"), [(4e-10, False), (4e-9, True)])
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_sums_of_others_may_be_off_by_a_billionth(off, is_refused, scale):
    columns = GOOD | {"w": [2.5 * scale, 1.5 * scale, 4.0 * scale * (1 + off)]}
    if is_refused:
        with pytest.raises(DataError, match="sums of their cells in 'w'"):
            tabulate(columns, weight="w")
    else:
        tabulate(columns, weight="w")


@pytest.mark.parametrize(
    ("largest", "is_refused"),
    [
        ([6.0, 4.0], False),
        ([6.0 + 5e-9, 4.0], False),
        ([6.0 - 5e-9, 4.0], False),
        ([6.0 + 5e-8, 4.0], True),
        ([6.0 - 5e-8, 4.0], True),
        ([5.0, 5.0], False),
        ([6.0, 0.0], True),
    ],
)
def test_the_largest_of_as_many_as_contribute_are_the_sum(largest, is_refused):
    """Of a sum of 10 by 2 contributors: rounded in the tenth digit, in order, and both."""
    columns = GOOD | {"pay_1": [largest[0], 20.0, None], "pay_2": [largest[1], 8.0, None]}
    if is_refused:
        with pytest.raises(DataError, match="largest contributions to 'pay'"):
            tabulate(columns, sums=["pay"], top=2)
    else:
        tabulate(columns, sums=["pay"], top=2)


def test_what_was_found_sound_is_not_looked_at_again():
    given = GivenCells(dimensions=("sex",), count="n", cell_key="key", key_range=256)
    with open_source(pa.table(GOOD)) as source:
        given.take(source)
        cube(source, given.keys, [Request(dimensions=["sex"], sums=["pay"])])
        assert {mark for mark in source.sound if mark[0] == "given"} == {
            ("given", None),
            ("given", ("sums", "pay")),
        }
        cube(source, given.keys, [Request(dimensions=["sex"], weight="w")])
        assert ("given", ("weight", "w")) in source.sound


def test_a_total_of_another_name_is_seen_by_counts_and_keys_in_any_dimension():
    columns = {
        "sex": ["F", "M", "F", "M"],
        "zone": ["a", "a", "b", "whole"],
        "n": [1, 2, 3, 6],
        "key": [9, 4, 1, 14],
    }
    given = GivenCells(
        dimensions=("sex", "zone"), count="n", cell_key="key", key_range=2**33,
        total_label="Alle",
    )  # fmt: skip
    with open_source(pa.table(columns)) as source:
        given.take(source)
        with pytest.raises(DataError, match="category of 'zone' is all others") as caught:
            cube(source, given.keys, [Request(dimensions=["sex"])])
    assert "'Alle'" in str(caught.value)
    assert "whole" not in str(caught.value)
    with open_source(pa.table(columns | {"key": [9, 4, 1, 15]})) as source:
        given.take(source)
        cube(source, given.keys, [Request(dimensions=["sex"])])


SHARED = {
    "sex": ["F", "M", "Total"],
    "n": [5171, 6283, 11454],
    "pay": [10.0, 30.0, 40.0],
    "pay_n": [2, 3, 4],  # who gives to both is one of them
    "pay_1": [6.0, 20.0, 26.0],
    "pay_2": [4.0, 8.0, 8.0],
}


def contributors_of(columns):
    given = GivenCells(dimensions=("sex",), count="n", shared=("pay",))
    with open_source(pa.table(columns)) as source:
        given.take(source)
        (cells,) = cube(source, given.keys, [Request(dimensions=["sex"], sums=["pay"], top=2)])
        number, largest = given.contributors(source, cells, "pay", top=2)
        labels = cells.axes[0].labels[0][cells.ranks[0]].tolist()
        return {
            c: (n, *own) for c, n, own in zip(labels, number, largest.tolist(), strict=True)
        }


def test_contributors_who_give_to_several_cells_are_those_of_the_rows_of_totals():
    assert contributors_of(SHARED) == {"F": (2, 6, 4), "M": (3, 20, 8), "Total": (4, 26, 8)}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"pay_n": [2, 3, 6]}, "more contributors, or smaller ones, than their cells"),
        ({"pay_1": [6.0, 20.0, 19.0]}, "more contributors, or smaller ones, than their cells"),
        ({"pay_2": [4.0, 8.0, 27.0]}, "largest contributions to 'pay' that are not those"),
        ({k: v[:2] for k, v in SHARED.items()}, "totals of 'pay' have no row of their own"),
        ({"pay": [10.0, 30.0, 41.0]}, "not the sums of their cells in 'pay'"),
    ],
)
def test_rows_of_totals_that_no_holdings_have_are_refused(changes, problem):
    with pytest.raises(DataError, match=problem):
        contributors_of(SHARED | changes)
