"""Sums and largest contributions: what columns they take, and what they refuse."""

from __future__ import annotations

import itertools
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from tables import DataError, Request, RequestError, StoredKeys, cube, open_source

KEYS = StoredKeys(column="key", key_range=256)


def keyed(**columns):
    size = len(next(iter(columns.values())))
    key = pa.array([(37 * n + 5) % 256 for n in range(size)], pa.uint8())
    return pa.table({**columns, "key": key})


def add_up(data, *columns, dimensions=(), **options):
    """Return the cells' magnitudes, one for each column."""
    wish = Request(dimensions=dimensions, sums=columns, **options)
    with open_source(data, threads=1) as source:
        (cells,) = cube(source, KEYS, [wish])
    assert list(cells.magnitudes) == list(columns)
    for column, found in cells.magnitudes.items():
        assert found.variable == column
        assert found.key_range == 256
        assert len(found) == len(cells)
    return list(cells.magnitudes.values())


COLUMNS = {
    "whole": pa.array([3, -7, 0], pa.int16()),
    "large": pa.array([3, -7, 0], pa.int64()),
    "unsigned": pa.array([3, 7, 0], pa.uint64()),
    "decimal": pa.array([Decimal("3.10"), Decimal("-7.25"), Decimal(0)], pa.decimal128(9, 2)),
    "single": pa.array([3.1, -7.25, 0], pa.float32()),
    "double": pa.array([3.1, -7.25, -0.0], pa.float64()),
    "thirds": pa.array([1 / 3, -2 / 3, 0], pa.float64()),
    "is_true": pa.array([True, False, True]),
}


def test_columns_of_every_type_of_number_are_added_up():
    found = {m.variable: m for m in add_up(keyed(**COLUMNS), *COLUMNS, top=2)}
    totals = {name: magnitudes.total.tolist()[0] for name, magnitudes in found.items()}
    assert totals == {
        "whole": -4.0,
        "large": -4.0,
        "unsigned": 10.0,
        "decimal": -4.15,
        "single": -4.15,
        "double": -4.15,
        "thirds": pytest.approx(-1 / 3, abs=1e-15),
        "is_true": 2.0,
    }
    assert found["decimal"].top.tolist() == found["single"].top.tolist() == [[-7.25, 3.1]]
    assert found["is_true"].top.tolist() == [[1.0, 1.0]]
    assert found["double"].contributors.tolist() == [2]
    assert found["double"].key.tolist() == [5 + 42]
    assert found["thirds"].top.tolist() == [[-2 / 3, 1 / 3]]
    assert (found["whole"].low.tolist(), found["whole"].high.tolist()) == ([-7], [3])


def test_one_decimal_ten_times_is_one_and_so_is_its_weighted_sum():
    tenths = keyed(x=[0.1] * 10, w=[1.0] * 10)
    assert add_up(tenths, "x")[0].total.tolist() == [1.0]
    assert add_up(tenths, "x", weight="w")[0].total.tolist() == [1.0]
    beside = keyed(x=[0.1] * 10 + [1 / 3], w=[1.0] * 11, g=["a"] * 10 + ["b"])
    assert add_up(beside, "x", weight="w", dimensions=["g"])[0].total.tolist()[0] == 1.0


@pytest.mark.parametrize("name", ["text", "day", "nested"])
def test_a_column_without_numbers_is_refused_by_name(name):
    columns = {
        "text": pa.array(["a", "b"]),
        "day": pa.array([1, 2], pa.date32()),
        "nested": pa.array([[1], [2]]),
    }
    data = keyed(**{name: columns[name]})
    with pytest.raises(
        RequestError, match=f"'{name}' holds .* which (have neither sum|are not read)"
    ):
        add_up(data, name)


def test_an_unknown_column_is_refused_with_the_one_that_was_meant():
    with pytest.raises(RequestError, match="did you mean 'income'"):
        add_up(keyed(income=[1]), "incme")


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_an_infinite_value_is_refused(bad):
    with pytest.raises(DataError, match="'x' are infinite"):
        add_up(keyed(x=[1.0, bad]), "x")


@pytest.mark.slow
@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_value_is_refused_unless_it_is_passed_over(missing):
    data = keyed(x=pa.array([1.5, missing, 0.0]), g=["a", "b", "b"])
    with pytest.raises(DataError, match="Some records have no value in 'x'"):
        add_up(data, "x")
    (found,) = add_up(data, "x", dimensions=["g"], missing_values="skip", top=1)
    assert found.total.tolist() == [1.5, 0.0, 1.5]
    assert found.contributors.tolist() == [1, 0, 1]
    assert found.low.tolist() == [1.5, 0.0, 0.0]
    assert found.records.tolist() == [1, 1, 2]
    assert found.weight.tolist() == [1.0, 1.0, 2.0]
    assert add_up(data, "x", where="g = 'a'")[0].total.tolist() == [1.5]


def test_a_cell_where_every_value_is_missing_has_none():
    data = keyed(x=pa.array([None, None], pa.float64()))
    (found,) = add_up(data, "x", missing_values="skip", top=3)
    numbers = (found.total, found.low, found.high, found.contributors, found.key)
    numbers += (found.records, found.weight, found.largest)
    assert [n.tolist() for n in numbers] == [[0]] * 8
    assert found.top.tolist() == found.top_weight.tolist() == [[0.0] * 3]


def test_the_largest_weighted_value_need_not_be_that_of_the_largest_value():
    data = keyed(x=[100.0, -90.0, None, 0.0], w=[1.0, 50.0, 7.0, 3.0])
    (found,) = add_up(data, "x", weight="w", top=1, missing_values="skip")
    assert found.top.tolist() == [[100.0]]
    assert found.largest.tolist() == [4500.0]
    assert (found.records.tolist(), found.weight.tolist()) == ([3], [54.0])
    (found,) = add_up(data, "x", missing_values="skip")
    assert (found.largest.tolist(), found.weight.tolist()) == ([100.0], [3.0])


@pytest.mark.parametrize("huge", [1e22, 1e300, 1.7e308])
def test_values_too_large_to_be_exact_are_refused_with_a_way_out(huge):
    with pytest.raises(DataError, match=r"'x' are too large .*\n.*larger unit"):
        add_up(keyed(x=[huge, huge]), "x")


def test_a_weight_that_makes_values_too_large_is_named():
    data = keyed(x=[1e15, 1.0], w=[1e8, 1.0])
    assert add_up(data, "x")[0].total.tolist() == [1e15 + 1]
    with pytest.raises(DataError, match="'x', weighted by 'w', are too large"):
        add_up(data, "x", weight="w")


def test_negative_weights_are_refused():
    with pytest.raises(DataError, match="Some weights"):
        add_up(keyed(x=[1.0, 2.0], w=[1.0, -1.0]), "x", weight="w")


def test_values_near_the_largest_keep_their_sum_to_the_last_digit():
    data = keyed(x=[9e20, 1.0, -9e20, 0.25])
    assert add_up(data, "x")[0].total.tolist() == [1.25]


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1, 0.01, 1 / 3])
def test_ties_go_to_the_heavier_and_of_equal_weights_to_the_positive(scale):
    values, weights = [-5, 5, 5, -5, 4], [2, 1, 3, 3, 9]
    rows = list(zip(values, weights, strict=True))
    wanted = [5 * scale, -5 * scale, -5 * scale]
    for order in itertools.islice(itertools.permutations(rows), 0, 120, 17):
        listed = [x * scale for x, _ in order], [w / 7 if scale < 0.3 else w for _, w in order]
        data = keyed(x=listed[0], w=listed[1])
        (found,) = add_up(data, "x", weight="w", top=3)
        assert found.top.tolist() == [wanted]
        heavy = [w / 7 if scale < 0.3 else w for w in (3, 3, 2)]
        assert found.top_weight.tolist() == [heavy]


def test_a_weight_of_zero_contributes_nothing_to_the_weighted_sum_alone():
    (found,) = add_up(keyed(x=[5.0, 2.0], w=[0, 3]), "x", weight="w", top=2)
    assert (found.total.tolist(), found.raw_total.tolist()) == ([6.0], [7.0])
    assert found.top.tolist() == [[5.0, 2.0]]
    assert found.top_weight.tolist() == [[0.0, 3.0]]
    assert found.weighted_contributors.tolist() == [3.0]


def test_fewer_records_than_wanted_leave_zeros():
    (found,) = add_up(keyed(x=[2.5]), "x", top=6)
    assert found.top.tolist() == [[2.5, 0, 0, 0, 0, 0]]
    assert found.top_weight.tolist() == [[1.0, 0, 0, 0, 0, 0]]


def test_zeros_alone_have_no_contributor_and_no_key():
    (found,) = add_up(keyed(x=[0, 0, 0]), "x", top=2)
    assert (found.contributors.tolist(), found.key.tolist()) == ([0], [0])
    assert found.top.tolist() == [[0.0, 0.0]]


def test_an_empty_table_has_magnitudes_without_cells():
    data = keyed(g=pa.array([], pa.string()), x=pa.array([], pa.float64()))
    for top in (0, 3):
        (found,) = add_up(data, "x", dimensions=["g"], top=top)
        assert found.top.shape == (0, top)
        assert found.total.shape == (0,)


def test_without_sums_there_are_no_magnitudes():
    with open_source(keyed(x=[1])) as source:
        (cells,) = cube(source, KEYS, [Request(dimensions=["x"])])
    assert cells.magnitudes is None


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"sums": "x"}, "sums is a list"),
        ({"sums": ["x", "x"]}, "asked for twice"),
        ({"sums": ["x"], "top": 7}, "from 0 to 6"),
        ({"sums": ["x"], "top": -1}, "from 0 to 6"),
        ({"sums": ["x"], "top": True}, "from 0 to 6"),
        ({"sums": ["x"], "missing_values": "drop"}, "'stop' or 'skip'"),
    ],
)
def test_a_request_that_contradicts_itself_says_so(options, problem):
    with pytest.raises(RequestError, match=problem):
        Request(dimensions=[], **options)


def test_neither_magnitudes_nor_their_parts_show_a_number():
    (found,) = add_up(keyed(x=[987654321]), "x", top=1)
    assert "987654321" not in repr(found)
    assert repr(found) == "Magnitudes('x', 1 largest)"


def test_a_column_with_an_awkward_name_is_added_up():
    name = 'in"come; DROP TABLE x --'
    assert add_up(keyed(**{name: [1, 2]}), name, top=1)[0].total.tolist() == [3.0]


def test_sketches_and_sums_come_from_one_scan():
    key = pa.array([2**40 + n * 2**34 for n in range(6)], pa.uint64())
    data = pa.table({"g": ["a", "b"] * 3, "x": [1, 2, 3, 4, 5, 6], "key": key})
    wish = Request(dimensions=["g"], sums=["x"], top=2)
    with open_source(data) as source:
        (cells,) = cube(source, StoredKeys(column="key"), [wish], sketch=2)
    assert cells.magnitudes["x"].total.tolist() == [9.0, 12.0, 21.0]
    assert len(cells.sketch) == 3


def test_a_request_without_sums_looks_through_no_column_of_amounts():
    statements = []
    with open_source(keyed(x=[1.5, 2.5], w=[1, 2], g=["a", "b"])) as source:
        ask, scan = source.fetch, source.arrow
        source.fetch = lambda sql, *given: statements.append(sql) or ask(sql, *given)
        source.arrow = lambda sql, *given, **more: (
            statements.append(sql) or scan(sql, *given, **more)
        )
        cube(source, KEYS, [Request(dimensions=["g"], weight="w")])
        assert source.spreads == {}
    assert len(statements) >= 3
    assert not any('"x"' in sql or "FILTER (v" in sql for sql in statements)


def test_one_look_through_a_column_serves_every_request():
    with open_source(keyed(x=[1.5, 2.5], g=["a", "b"])) as source:
        cube(source, KEYS, [Request(dimensions=["g"], sums=["x"])])
        known = source.spreads["x"]
        cube(source, KEYS, [Request(dimensions=[], sums=["x"], top=2)])
        assert source.spreads["x"] is known


def test_a_variable_may_be_weight_and_dimension_as_well():
    (found,) = add_up(keyed(x=[1, 2, 2]), "x", dimensions=["x"], weight="x", top=2)
    assert found.total.tolist() == [1.0, 8.0, 9.0]
    assert found.top.tolist() == [[1.0, 0.0], [2.0, 2.0], [2.0, 2.0]]


def test_amounts_read_as_numbers_by_few_cells_at_a_time_are_the_same(monkeypatch):
    rng = np.random.default_rng(8)
    records = pa.table(
        {
            "key": pa.array(rng.integers(0, 2**60, 60), pa.uint64()),
            "a": rng.integers(0, 9, 60),
            "b": rng.integers(0, 5, 60),
            "w": rng.uniform(1, 3, 60),
            "income": rng.uniform(-9, 90, 60),
        }
    )
    request = Request(dimensions=["a", "b"], sums=["income"], weight="w", top=3)
    found = []
    for chunk in (7, 10**6):
        monkeypatch.setattr("tables.magnitudes.amounts._CHUNK", chunk)
        with open_source(records) as source:
            (cells,) = cube(source, StoredKeys(column="key"), [request])
        found.append(cells.magnitudes["income"])
    assert len(found[0]) == len(found[1]) > 7
    for name in ("total", "raw_total", "records", "weight", "key", "top", "first_sizes", "low"):
        assert np.array_equal(getattr(found[0], name), getattr(found[1], name)), name
