"""No table is published by a column whose values single records have."""

import datetime as dt
import decimal
import warnings

import numpy as np
import pyarrow as pa
import pytest

from tables import (
    CodeTree,
    DataError,
    DataWarning,
    DerivedVariable,
    HashedKeys,
    Hierarchy,
    ReadOptions,
    Request,
    Secret,
    cube,
    open_source,
)
from tables.cells.continuous import ValueFigures, records_by_value, require_discrete
from tables.cells.cube import all_cells, cell_table
from tables.cells.parts import cube_parts
from tables.prepared.prepare import prepare
from tables.recoding.derive import derive_variables
from tests.results import require_fixed

KEYS = HashedKeys(column="id", secret=Secret(bytes(16)))
N = 606
DAY = dt.date(1950, 1, 1)
#: 202 values of three records each.
PLACES = np.arange(N) % 202
COLUMNS = {
    "number": PLACES * 1.5,
    "integer": PLACES,
    "decimal": pa.array([decimal.Decimal(int(n)) / 100 for n in PLACES], pa.decimal128(9, 2)),
    "date": pa.array([DAY + dt.timedelta(int(n)) for n in PLACES]),
    "moment": pa.array(
        [dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=int(n)) for n in PLACES]
    ),
    "clock": pa.array([dt.time(int(n) // 60, int(n) % 60) for n in PLACES]),
}


def records(**columns):
    n = len(next(iter(columns.values())))
    return pa.table({"id": np.arange(n), "sex": np.resize(["F", "M"], n), **columns})


def tabulate(table, request):
    with open_source(table) as source:
        return cube(source, KEYS, [request])[0]


@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_dates_and_times_of_few_records_a_value_are_no_dimension(name):
    with pytest.raises(DataError) as caught:
        tabulate(records(column=COLUMNS[name]), Request(dimensions=["sex", "column"]))
    assert "'column' cannot be a dimension: it has 202 values" in caught.value.problem
    assert "records of a value is 3" in caught.value.problem
    assert "bands" in caught.value.hint
    assert "declare" in caught.value.hint
    assert "larger width" not in caught.value.hint


@pytest.mark.parametrize("kind", ["float32", "int8", "uint64", "dictionary"])
def test_the_rule_holds_for_every_type_of_numbers(kind):
    values = pa.array(np.arange(240) % 120 - (0 if kind == "uint64" else 60), pa.int16())
    values = values.dictionary_encode() if kind == "dictionary" else values.cast(kind)
    with pytest.raises(DataError, match="120 values"):
        tabulate(records(column=values), Request(dimensions=["column"]))


def test_texts_of_several_records_are_a_dimension():
    texts = pa.array([f"c{n}" for n in PLACES])
    assert len(tabulate(records(column=texts), Request(dimensions=["column"]))) == 203


@pytest.mark.parametrize(("alone", "is_refused"), [(51, True), (50, False)])
def test_texts_of_which_more_than_half_have_one_record_are_no_dimension(alone, is_refused):
    texts = [f"one {n}" for n in range(alone)] + [f"two {n}" for n in range(101 - alone)] * 2
    request = Request(dimensions=["column"])
    if is_refused:
        with pytest.raises(DataError, match="101 values; one record alone has 50 %"):
            tabulate(records(column=texts), request)
    else:
        assert len(tabulate(records(column=texts), request)) == 102


@pytest.mark.parametrize(("values", "is_refused"), [(100, False), (101, True)])
def test_one_hundred_values_are_never_too_many(values, is_refused):
    table = records(column=np.arange(values))
    if is_refused:
        with pytest.raises(DataError, match="101 values; one record alone has 100 %"):
            tabulate(table, Request(dimensions=["column"]))
    else:
        assert len(tabulate(table, Request(dimensions=["column"]))) == 101


@pytest.mark.parametrize(
    ("values", "is_refused"),
    [
        (np.arange(11) + 0.5, True),
        (np.arange(10) + 0.5, False),  # few values are categories
        (np.repeat(np.arange(11) + 0.5, [1] * 5 + [2] * 6), False),  # half have two records
        (np.repeat(np.arange(11) + 0.5, [1] * 6 + [2] * 5), True),
        (np.arange(11) * 1.0, False),  # whole numbers may be codes or ages
        (pa.array([decimal.Decimal(n) / 4 for n in range(11)], pa.decimal128(5, 2)), True),
        ([*range(11), float("nan")], False),
    ],
    ids=["eleven", "ten", "half", "more", "whole", "decimal", "nan"],
)
def test_fractions_that_single_records_have_are_no_dimension_of_a_small_extract(
    values, is_refused
):
    table = records(column=values)
    if is_refused:
        with pytest.raises(
            DataError, match=r"'column' cannot be a dimension: it has 11 values"
        ):
            tabulate(table, Request(dimensions=["column"]))
    else:
        assert len(tabulate(table, Request(dimensions=["column"]))) > 1


@pytest.mark.parametrize("decimal_mark", [".", ","])
def test_incomes_of_a_small_csv_are_no_dimension_and_its_codes_are(tmp_path, decimal_mark):
    lines = [f"{n};{1000 + n}{decimal_mark}5;0{n}{decimal_mark}1;{n}" for n in range(30)]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["id;income;code;age", *lines]))
    with open_source(path, options=ReadOptions(decimal=decimal_mark)) as source:
        assert len(cube(source, KEYS, [Request(dimensions=["code"])])[0]) == 31
        assert len(cube(source, KEYS, [Request(dimensions=["age"])])[0]) == 31
        with pytest.raises(DataError, match="'income' cannot be a dimension: it has 30 values"):
            cube(source, KEYS, [Request(dimensions=["income"])])


@pytest.mark.parametrize(("most", "is_refused"), [(5, False), (4, True)])
def test_a_median_of_five_records_a_value_is_enough(most, is_refused):
    """60 values of 1 to 4 records would be too many: 50 of 101 have few."""
    times = np.repeat([1, most, 9], [50, 1, 50])
    table = records(column=np.repeat(np.arange(101), times))
    if is_refused:
        with pytest.raises(DataError, match="records of a value is 4"):
            tabulate(table, Request(dimensions=["column"]))
    else:
        assert len(tabulate(table, Request(dimensions=["column"]))) == 102


def test_missing_is_no_value():
    column = pa.array([*range(100), *[None] * 20])
    assert len(tabulate(records(column=column), Request(dimensions=["column"]))) == 102


TREE = CodeTree({"all": None} | {f"c{n}": "all" for n in range(150)})
CODES = records(
    code=[f"c{n}" for n in range(150)], region=np.arange(150) % 5, number=np.arange(150)
)


@pytest.mark.parametrize(
    "request_of",
    [
        {"categories": {"code": [f"c{n}" for n in range(150)]}},
        {"hierarchies": {"code": Hierarchy(columns=("code",), tree=TREE)}},
        {"dimensions": ["geo"], "hierarchies": {"geo": Hierarchy(columns=("region", "code"))}},
        {"dimensions": ["number"], "categories": {"number": list(range(150))}},
        {"dimensions": ["number"], "discrete": ["number"]},
    ],
    ids=[
        "declared",
        "tree",
        "hierarchy",
        "declared numbers",
        "allowed",
    ],
)
def test_declared_and_nested_categories_are_dimensions(request_of):
    assert len(tabulate(CODES, Request(**{"dimensions": ["code"]} | request_of))) >= 151


@pytest.mark.parametrize("name", ["number", "decimal", "date", "moment"])
def test_amounts_and_dates_of_a_hierarchy_are_no_dimension(name):
    table = records(column=COLUMNS[name], region=np.arange(N) % 3)
    nested = {"place": Hierarchy(columns=("region", "column"))}
    with pytest.raises(DataError, match="'column' cannot be a dimension: it has 202 values"):
        tabulate(table, Request(dimensions=["place"], hierarchies=nested))
    request = Request(dimensions=["place"], hierarchies=nested, discrete=["column"])
    assert len(tabulate(table, request)) > 202


@pytest.mark.parametrize(
    ("settings", "is_refused"),
    [
        ({"bands": [0, 50, 100]}, True),
        ({"width": 50}, True),
        ({"recode": {str(n): str(n % 3) for n in range(202)}}, False),  # codes, in broader ones
    ],
)
def test_whole_amounts_below_their_own_bands_are_no_dimension(settings, is_refused):
    nested = {"amount": Hierarchy(columns=("band", "column"))}
    with open_source(records(column=PLACES)) as source:
        derive_variables(source, [DerivedVariable(name="band", of="column", **settings)])
        request = Request(dimensions=["amount"], hierarchies=nested)
        if is_refused:
            with pytest.raises(DataError, match="'column' cannot be a dimension") as caught:
                cube(source, KEYS, [request])
            assert "bands" in caught.value.hint
        else:
            assert len(cube(source, KEYS, [request])[0]) > 202


@pytest.mark.parametrize(("times", "is_warned"), [(1, True), (2, False)])
def test_declared_amounts_of_single_records_are_warned_of_once(times, is_warned):
    values = np.arange(30) + 0.5
    table = records(column=np.repeat(values, times))
    request = Request(dimensions=["column"], categories={"column": values.tolist()})
    with open_source(table) as source, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cube(source, KEYS, [request, request])
        cube(source, KEYS, [request])
    told = [str(w.message) for w in caught if isinstance(w.message, DataWarning)]
    assert len(told) == is_warned
    assert all("categories of 'column' are amounts or dates" in text for text in told)


def test_a_hierarchy_of_one_column_is_none():
    nested = {"geo": Hierarchy(columns=("code",))}
    with pytest.raises(DataError, match="'code' cannot be a dimension"):
        tabulate(CODES, Request(dimensions=["geo"], hierarchies=nested))


def derived(table, **settings):
    """Tabulate by a variable that is made of a column."""
    with open_source(table) as source:
        made = DerivedVariable(name="made", of="column", **settings)
        derive_variables(source, [made])
        return cube(source, KEYS, [Request(dimensions=["made"])])[0]


@pytest.mark.parametrize(
    ("settings", "values", "median"),
    [({"width": 1}, 202, "3"), ({"width": 2}, 101, "6"), ({"width": 100}, 3, "300")],
)
def test_bands_of_one_width_are_judged_by_their_own_figures(settings, values, median):
    table = records(column=PLACES)
    if median != "3":
        assert len(derived(table, **settings)) == values + 1
        return
    with pytest.raises(DataError) as caught:
        derived(table, **settings)
    problem = "bands of 'made' are too fine for a dimension: it has 202 values; one record"
    assert problem in caught.value.problem
    assert "records of a value is 3" in caught.value.problem
    assert "larger width" in caught.value.hint


def test_a_larger_width_cures_bands_alone():
    table = records(column=PLACES, other=PLACES / 7)
    with open_source(table) as source:
        derive_variables(source, [DerivedVariable(name="made", of="column", width=1)])
        with pytest.raises(DataError, match="2 problems") as caught:
            require_discrete(source, [Request(dimensions=["made", "other"])])
    assert "larger width" not in caught.value.hint


@pytest.mark.parametrize(("largest", "is_refused"), [(99, False), (100, True)])
def test_columns_known_to_span_few_values_are_not_looked_at(largest, is_refused):
    with open_source(records(column=np.arange(101))) as source:
        source.spans["column"] = (0, largest, False)
        request = Request(dimensions=["column"])
        if is_refused:
            with pytest.raises(DataError, match="101 values"):
                require_discrete(source, [request])
        else:
            require_discrete(source, [request])


def test_months_of_few_records_are_no_dimension_and_years_of_them_are():
    days = pa.array([DAY + dt.timedelta(30 * int(n)) for n in PLACES])
    with pytest.raises(DataError, match="bands of 'made' are too fine"):
        derived(records(column=days), width="month")
    assert len(derived(records(column=days), width="year")) > 10


def test_bands_and_codes_that_somebody_listed_are_categories():
    table = records(column=PLACES)
    assert len(derived(table, bands=list(range(202)))) == 203
    assert len(derived(table, recode={str(n): f"c{n}" for n in range(202)})) == 203


def test_codes_that_a_recode_keeps_are_those_of_its_column():
    with pytest.raises(DataError, match="'made' cannot be a dimension: it has 202 values"):
        derived(records(column=PLACES), recode={"0": "none"}, keep=True)
    texts = pa.array([f"c{n}" for n in PLACES])
    assert len(derived(records(column=texts), recode={"c0": "none"}, keep=True)) == 203


def test_bands_of_which_one_record_has_most_are_no_dimension_however_they_were_made():
    with pytest.raises(DataError, match="150 values; one record alone has 100 %"):
        derived(records(column=np.arange(150)), bands=list(range(150)))


@pytest.mark.parametrize("where", ["column < 50", "sex = 'F'", "column >= 0"])
def test_the_rule_is_asked_of_all_records_whatever_the_filter(where):
    """Else a refusal would tell what a filter keeps."""
    with pytest.raises(DataError, match="202 values"):
        tabulate(records(column=PLACES), Request(dimensions=["column"], where=where))
    enough = records(column=np.arange(1200) % 120)
    few = Request(dimensions=["column"], where="id < 200")
    assert len(tabulate(enough, few)) == 121


def test_all_columns_are_told_at_once_and_beside_other_tables():
    table = records(one=PLACES, two=PLACES / 7)
    requests = [
        Request(dimensions=["sex"]),
        Request(dimensions=["one"]),
        Request(dimensions=["two"]),
    ]
    with open_source(table) as source, pytest.raises(DataError) as caught:
        cube(source, KEYS, requests)
    assert "2 problems" in caught.value.problem
    assert "'one'" in caught.value.problem
    assert "'two'" in caught.value.problem


def test_the_last_record_decides(tmp_path):
    """100 values of which the last record adds one, in a CSV file."""
    path = tmp_path / "people.csv"
    for more, is_refused in (([], False), ([100], True)):
        lines = [f"{n},{v}" for n, v in enumerate([*range(100), *more])]
        path.write_text("\n".join(["id,income", *lines]))
        with open_source(path) as source:
            if is_refused:
                with pytest.raises(DataError, match="101 values"):
                    cube(source, KEYS, [Request(dimensions=["income"])])
            else:
                cube(source, KEYS, [Request(dimensions=["income"])])


def test_every_way_to_cells_asks_the_rule():
    request = Request(dimensions=["sex", "number"])
    alone = {"number": Request(dimensions=["number"])}
    table = records(number=PLACES)
    with open_source(table) as source:
        for work in (
            lambda: cell_table(source, KEYS, [request]),
            lambda: all_cells(source, KEYS, request, {}),
            lambda: list(cube_parts(source, KEYS, request, most=1000)),
            lambda: prepare(source, KEYS, requests=alone),
        ):
            source.sound.clear()
            with pytest.raises(DataError, match="202 values; one record alone has 0 %"):
                work()


def test_known_counts_and_a_look_at_the_records_agree():
    table = records(a=PLACES, b=np.arange(N) % 77, c=pa.array([None, *range(N - 1)]))
    requests = [Request(dimensions=["a", "b"]), Request(dimensions=["c"])]
    with_ones = table.append_column("n", pa.array(np.ones(N, np.int64)))
    found = []
    for counts in (lambda column: records_by_value(with_ones, column, "n"), None):
        with open_source(table) as source:
            with pytest.raises(DataError) as caught:
                require_discrete(source, requests, counts)
            found.append((str(caught.value), dict(source.sound)))
    assert found[0] == found[1]


def test_figures_are_those_of_numpy():
    generator = np.random.default_rng(1)
    for size in (1, 2, 7, 100):
        records_of = generator.integers(1, 9, size)
        found = ValueFigures.of(*np.unique(records_of, return_counts=True))
        assert found == ValueFigures.of(records_of)
        assert found.values == size
        assert found.median == np.median(records_of)
        assert found.alone == np.mean(records_of == 1)
    assert ValueFigures.of(np.zeros(0, np.int64)).values == 0


@pytest.mark.parametrize(
    ("values", "median", "alone", "is_refused"),
    [
        (100, 1.0, 1.0, (False, False)),
        (101, 5.0, 0.0, (False, False)),
        (101, 4.5, 0.0, (True, False)),
        (102, 5.0, 0.5, (False, False)),
        (102, 1.5, 0.5, (True, False)),
        (101, 5.0, 51 / 101, (True, True)),
    ],
)
def test_the_limits_belong_to_what_is_allowed(values, median, alone, is_refused):
    figures = ValueFigures(values=values, median=median, alone=alone)
    assert (figures.forbids(is_ordered=True), figures.forbids(is_ordered=False)) == is_refused
    require_fixed(figures)


def test_figures_need_no_order():
    assert ValueFigures.of(np.array([4, 1, 9, 1, 3])) == ValueFigures(
        values=5, median=3.0, alone=0.4
    )
    assert ValueFigures.of(np.array([7, 1, 2]), np.array([1, 2, 3])) == ValueFigures(
        values=6, median=2.0, alone=1 / 3
    )
    assert ValueFigures.of(np.array([2, 3])) == ValueFigures(values=2, median=2.5, alone=0.0)


@pytest.mark.parametrize("is_coded", [False, True])
def test_records_are_added_up_by_value_and_missing_is_none(is_coded):
    values = pa.chunked_array([pa.array(["b", None, "a"]), pa.array(["b", "c", None])])
    values = values.dictionary_encode() if is_coded else values
    rows = pa.table({"v": values, "n": pa.array([1, 20, 3, 4, 5, 6], pa.int32())})
    found = records_by_value(rows, "v", "n")
    assert found.dtype == np.int64
    assert sorted(found.tolist()) == [3, 5, 5]


def test_cells_that_were_given_count_by_their_records():
    from tables.cells.given import GivenCells

    for each, is_refused in ((4, True), (5, False)):
        file = pa.table({"age": np.arange(120), "count": np.full(120, each)})
        given = GivenCells(dimensions=("age",))
        with open_source(file) as source:
            given.take(source)
            if is_refused:
                with pytest.raises(DataError, match="120 values"):
                    cube(source, given.keys, [Request(dimensions=["age"])])
            else:
                assert len(cube(source, given.keys, [Request(dimensions=["age"])])[0]) == 121


@pytest.mark.parametrize(
    ("written", "is_refused"),
    [
        (lambda n: f"{n / 4}", True),  # 0.25, 0.5: texts, since no one scale writes them back
        (lambda n: f"{n}.50", True),
        (lambda n: f"{n}", True),
        (lambda n: f"{n:05}", False),  # codes
        (lambda n: f"A{n}", False),
    ],
)
def test_numbers_of_csv_are_numbers_even_where_they_stay_texts(tmp_path, written, is_refused):
    """Two records a value: texts of two are categories, numbers are not."""
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["id,pay", *(f"{n},{written(n // 2)}" for n in range(300))]))
    with open_source(path) as source:
        if is_refused:
            with pytest.raises(DataError, match="150 values; one record alone has 0 %"):
                cube(source, KEYS, [Request(dimensions=["pay"])])
        else:
            assert len(cube(source, KEYS, [Request(dimensions=["pay"])])[0]) == 151
