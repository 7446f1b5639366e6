"""Records and codes: an exact way there and back, and no silent reading of a domain."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth import (
    Category,
    Date,
    DomainError,
    Real,
    Schema,
    SynthError,
    UndeclaredError,
    Unit,
    UnitError,
    Whole,
)
from synth.frames import from_codes, read_records, to_records, write_records
from synth.schema.coding import draw_numbers, encode, encode_column
from synth.schema.columns import Numeric
from synth.schema.units import within_bound

RNG = np.random.default_rng

COLUMNS = [
    Whole(name="age", low=0, high=120, missing={"refused": -8, "unknown": None}),
    Whole(name="income", low=-9000, high=10**6, bins=50, points=(0,), missing={"n/a": "N"}),
    Real(
        name="wage", low=0, high=500, bins=40, decimals=2, points=(0,), missing={"none": None}
    ),
    Date(name="moved", low="1950-01-01", high="2020-12-31", bins=70, missing={"never": None}),
    Category(name="sex", values=["F", "M"], missing={"unknown": None, "n/a": "N"}),
    Category(name="grade", values=[1, 2, 3], is_ordered=True),
    Category(name="flag", values=[False, True], missing={"unknown": None}),
]
SCHEMA = Schema(columns=COLUMNS)


def drawn(number, seed=1):
    rng = RNG(seed)
    codes = np.column_stack([rng.integers(0, c.size, number) for c in COLUMNS]).astype(np.int32)
    numbers = {
        c.name: draw_numbers(codes[:, at], c, rng=rng)
        for at, c in enumerate(COLUMNS)
        if isinstance(c, Numeric)
    }
    return codes, numbers


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("container", ["pandas", "arrow", "polars"])
def test_codes_come_back_from_records_and_files(tmp_path, suffix, container):
    codes, numbers = drawn(3000)
    frame = from_codes(codes, numbers=numbers, schema=SCHEMA)
    if container == "arrow":
        frame = pa.Table.from_pandas(frame, preserve_index=False)
    if container == "polars":
        pl = pytest.importorskip("polars")
        frame = pl.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))
    records, _ = to_records(frame)
    np.testing.assert_array_equal(encode(records, SCHEMA), codes)
    write_records(frame, tmp_path / f"x.{suffix}")
    records, _ = to_records(read_records(tmp_path / f"x.{suffix}"))
    np.testing.assert_array_equal(encode(records, SCHEMA), codes)


@pytest.mark.parametrize("law", ["uniform", "middle", "lowest"])
@given(
    low=st.integers(-(10**9), 10**9),
    width=st.integers(0, 10**9),
    bins=st.integers(1, 200),
    decimals=st.integers(0, 4),
    seed=st.integers(0, 99),
)
def test_a_number_drawn_in_a_cell_is_coded_as_that_cell(
    *, law, low, width, bins, decimals, seed
):
    column = Real(name="x", low=low, high=low + width, bins=bins, decimals=decimals, law=law)
    codes = RNG(seed).integers(0, column.size, 50)
    numbers = draw_numbers(codes, column, rng=RNG(seed))
    values = pd.Series(numbers / column.factor)
    np.testing.assert_array_equal(encode_column(values, column), codes)


@pytest.mark.parametrize("container", ["pandas", "arrow", "polars"])
def test_the_types_of_synthetic_records_follow_from_the_schema_alone(container):
    schema = Schema(
        columns=[
            Whole(name="a", low=0, high=9),
            Whole(name="b", low=0, high=9, missing={"unknown": None}),
            Whole(name="c", low=0, high=9, missing={"refused": "N"}),
            Real(name="d", low=0, high=9, decimals=1, bins=91),
            Date(name="e", low="2020-01-01", high="2020-12-31", missing={"unknown": None}),
            Category(name="f", values=["x", "y"], missing={"unknown": None}),
            Category(name="g", values=[1, 2]),
            Category(name="h", values=[False, True]),
            Category(name="i", values=[False, True], missing={"unknown": None}),
        ]
    )
    wanted = {
        "pandas": "int64 float64 str float64 object str int64 bool object",
        "arrow": "int64 int64 string double date32[day] string int64 bool bool",
        "polars": "Int64 Int64 String Float64 Date String Int64 Boolean Boolean",
    }[container]
    if container == "polars":
        pytest.importorskip("polars")
    for code in (0, -1):  # -1: the last of each column, null where that is declared
        codes = np.array([[column.size + code if code else 0] * 2 for column in schema.columns])
        codes = codes.T
        numbers = {
            c.name: draw_numbers(codes[:, at], c, rng=RNG(1))
            for at, c in enumerate(schema.columns)
            if isinstance(c, Numeric)
        }
        frame = from_codes(codes, numbers=numbers, schema=schema, container=container)
        types = frame.schema.types if container == "arrow" else frame.dtypes
        named = " ".join(map(str, types))
        assert named in (wanted, wanted.replace("str ", "object ")), code


@pytest.mark.parametrize(
    ("values", "column"),
    [
        (["F", "X"], Category(name="c", values=["F", "M"])),
        (["F", None], Category(name="c", values=["F", "M"])),
        (["F", float("nan")], Category(name="c", values=["F", "M"])),
        ([1, 2], Category(name="c", values=["1", "2"])),
        ([True, False], Category(name="c", values=[1, 0])),
        ([1, 0], Category(name="c", values=[True, False])),
        (["f"], Category(name="c", values=["F"])),
        (["F "], Category(name="c", values=["F"])),
        ([["F"]], Category(name="c", values=["F"])),
        ([{"F": 1}], Category(name="c", values=["F"], other="F")),
        ([b"F"], Category(name="c", values=["F"], other="F")),
        ([1, 10], Whole(name="c", low=0, high=9)),
        ([-1], Whole(name="c", low=0, high=9)),
        ([0.5], Whole(name="c", low=0, high=9)),
        ([float("inf")], Whole(name="c", low=0, high=9)),
        ([2**63], Whole(name="c", low=0, high=9)),
        ([True], Whole(name="c", low=0, high=9)),
        (["1_0"], Whole(name="c", low=0, high=99)),
        (["nan"], Whole(name="c", low=0, high=99)),
        (["0x1"], Whole(name="c", low=0, high=99)),
        ([None], Whole(name="c", low=0, high=99)),
        ([1e308], Real(name="c", low=0, high=9)),
        ([1 + 2j], Real(name="c", low=0, high=9)),
        ([1, 2], Category(name="c", values=["1", "2", "else"], other="else")),
        ([True], Category(name="c", values=["True", "else"], other="else")),
        (["2020-02-30"], Date(name="c", low="2020-01-01", high="2020-12-31")),
        ([dt.date(1990, 1, 1)], Date(name="c", low="2020-01-01", high="2020-12-31")),
        (
            [dt.datetime(2020, 1, 1, 5, tzinfo=dt.UTC)],
            Date(name="c", low="2020-01-01", high="2020-12-31"),
        ),
        ([18500], Date(name="c", low="2020-01-01", high="2020-12-31")),
    ],
)
def test_what_is_outside_the_domain_is_refused_and_not_shown(values, column):
    frame = pd.DataFrame({"c": pd.Series(values, dtype=object)})
    with pytest.raises(DomainError, match="Column 'c'") as refused:
        encode(frame, Schema(columns=[column]))
    for value in values:
        if isinstance(value, str) and len(value.strip()) > 1:
            assert value not in str(refused.value)


def test_values_outside_go_where_the_schema_says():
    other = Category(name="c", values=["F", "else"], other="else")
    assert encode_column(pd.Series(["F", "X", "else"]), other).tolist() == [0, 1, 1]
    clipped = Whole(name="c", low=0, high=9, outside="clip")
    assert encode_column(pd.Series([-5.0, 3, 1e30]), clipped).tolist() == [0, 3, 9]


def test_all_problems_are_told_at_once():
    frame = pd.DataFrame({"a": ["x"], "b": [99]})
    schema = Schema(columns=[Category(name="a", values=["y"]), Whole(name="b", low=0, high=9)])
    with pytest.raises(DomainError) as refused:
        encode(frame, schema)
    assert "'a'" in str(refused.value)
    assert "'b'" in str(refused.value)


def test_columns_must_be_those_of_the_schema():
    schema = Schema(columns=[Whole(name="a", low=0, high=9)])
    for frame in (
        pd.DataFrame({"b": [1]}),
        pd.DataFrame({"a": [1], "b": [1]}),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame({0: [1]}),
    ):
        with pytest.raises(DomainError):
            encode(to_records(frame)[0], schema)
    for index in (pd.Index([7], name="id"), pd.Index(["x"]), pd.Index([(1, 2)])):
        with pytest.raises(DomainError, match="index"):
            to_records(pd.DataFrame({"a": [1]}, index=index))
    with pytest.raises(DomainError, match="frame"):
        to_records({"a": [1]})


@given(
    values=st.lists(st.text(max_size=3) | st.integers() | st.none(), min_size=1, max_size=20),
    renamed=st.lists(st.text(max_size=3) | st.integers() | st.none(), min_size=1, max_size=20),
)
def test_an_undeclared_domain_gives_the_same_error_whatever_the_values(values, renamed):
    schema = Schema(columns=[Category(name="c"), Whole(name="n")])
    messages = set()
    for content in (values, renamed, sorted(values, key=str)):
        frame = pd.DataFrame({"c": pd.Series(content, dtype=object), "n": range(len(content))})
        with pytest.raises(UndeclaredError) as refused:
            encode(frame, schema)
        messages.add(str(refused.value))
    assert len(messages) == 1


@given(st.data())
def test_values_outside_a_declared_domain_never_pass_silently(data):
    declared = data.draw(st.lists(st.text(max_size=3), min_size=1, max_size=5, unique=True))
    values = data.draw(st.lists(st.text(max_size=3), min_size=1, max_size=10))
    column = Category(name="c", values=declared)
    series = pd.Series(values, dtype=object)
    if set(values) <= set(declared):
        assert [declared[code] for code in encode_column(series, column)] == values
    else:
        with pytest.raises(DomainError):
            encode_column(series, column)


@pytest.mark.parametrize("values", [[True, False, "z"], [1, 2, "z"]])
def test_a_record_that_turns_truth_values_into_numbers_changes_no_other(values):
    """Whoever makes a frame makes one type of all: then all are refused, not all 'other'."""
    import polars as pl

    column = Category(name="c", values=values, other="z")
    plain = values[:2]
    is_truth = plain[0] is True
    turned = [1.0, 0.0, 0.5] if is_truth else [True, True, True]
    frames = [
        pd.DataFrame({"c": turned}),
        pa.table({"c": turned}),
        pl.DataFrame({"c": turned}),
        pd.DataFrame({"c": pd.Categorical([0.5, *plain] if is_truth else [True, *plain])}),
    ]
    for frame in frames:
        with pytest.raises(DomainError, match="truth values"):
            encode_column(to_records(frame)[0]["c"], column)
    kept = pd.Series([*plain, "else"], dtype=object)
    assert encode_column(kept, column).tolist() == [0, 1, 2]


def test_a_frame_of_a_type_that_cannot_be_read_is_refused_in_our_words():
    made = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["secret", None]))
    with pytest.raises(DomainError, match="cannot be read") as caught:
        to_records(pa.table({"c": made}))
    assert "secret" not in str(caught.value)
    with pytest.raises(DomainError, match="same name"):
        to_records(pa.table([[1], [2]], names=["c", "c"]))


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("kind", ["timedelta64", "datetime64"])
def test_moments_and_durations_are_no_whole_numbers_in_any_unit(kind, unit):
    """In nanoseconds NumPy makes whole numbers of them, and one record may set the unit."""
    values = pd.Series(np.array([1, 2], f"{kind}[{unit}]"))
    for column in (Whole(name="c", low=0, high=9), Category(name="c", values=[1, 2], other=2)):
        with pytest.raises(DomainError, match=r"are no (whole|text)"):
            encode_column(values, column)


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([dt.date(2020, 1, 1), dt.date(9999, 1, 1)], dtype="datetime64[s]"),
        pd.Series([2**40], dtype="datetime64[s, Europe/Paris]"),
        pd.Series(["x"], dtype=pd.ArrowDtype(pa.string_view())),
        pd.Series([Decimal("Infinity")]),
    ],
)
def test_no_error_of_a_library_leaves_the_coding(values):
    columns = [Date(name="c", low="2020-01-01", high="2020-12-31")]
    for column in (*columns, Whole(name="c", low=0, high=9), Category(name="c", values=["a"])):
        with pytest.raises(DomainError, match="'c'"):
            encode_column(values, column)
    with pytest.raises(SynthError, match="'c'"):
        within_bound(pd.DataFrame({"c": values}), Unit(identifier="c"), rng=RNG(1))


def test_a_hundred_thousand_categories_are_coded():
    column = Category(name="c", values=[f"v{i}" for i in range(100_000)])
    values = pd.Series([f"v{i}" for i in range(99_999, -1, -1)])
    assert encode_column(values, column)[:2].tolist() == [99_999, 99_998]


def test_constant_empty_and_all_missing_columns_are_coded():
    column = Whole(name="c", low=7, high=7, missing={"unknown": None})
    assert encode_column(pd.Series([7, 7]), column).tolist() == [0, 0]
    assert encode_column(pd.Series([], dtype=float), column).tolist() == []
    assert encode_column(pd.Series([None, None]), column).tolist() == [1, 1]
    assert encode_column(pd.Series([None, None], dtype="float64"), column).tolist() == [1, 1]


HOMES = pd.DataFrame({"home": [1, 1, 1, 2, 3, 3], "age": [4, 30, 31, 80, 7, 9]})


def test_a_unit_with_too_many_records_is_refused_without_numbers():
    unit = Unit(name="household", identifier="home", most_records=2)
    with pytest.raises(UnitError, match="more than 2") as refused:
        within_bound(HOMES, unit, rng=RNG(1))
    assert "3" not in str(refused.value)


@given(st.integers(0, 1000))
def test_truncation_keeps_the_bound_and_whole_small_units(seed):
    unit = Unit(name="household", identifier="home", most_records=2, excess="truncate")
    kept = within_bound(HOMES, unit, rng=RNG(seed))
    assert kept["home"].tolist() == [1, 1, 2, 3, 3]
    assert kept["age"].tolist()[2:] == [80, 7, 9]


def test_every_record_of_a_large_unit_may_be_kept():
    unit = Unit(name="household", identifier="home", most_records=1, excess="truncate")
    kept = {within_bound(HOMES, unit, rng=RNG(seed))["age"][0] for seed in range(40)}
    assert kept == {4, 30, 31}


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1.0, 2.0]),
        pd.Series([2**53, 0.5]),
        pd.Series([1, 2], dtype="Float64"),
        pd.Series([1, 0.5], dtype=object),
        pd.Series([1, True], dtype=object),
        pd.Series([1.0, 2.0], dtype="category"),
        pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])),
    ],
)
def test_an_identifier_that_may_merge_units_is_refused(values):
    with pytest.raises(UnitError, match="neither text nor whole numbers"):
        within_bound(pd.DataFrame({"home": values}), Unit(identifier="home"), rng=RNG(1))


@pytest.mark.parametrize("form", ["int64", "uint64", "UInt64", "object", "str", "category"])
def test_identifiers_of_sixteen_digits_and_more_stay_apart(form):
    values = pd.Series([2**53, 2**53 + 1, 2**53 + 2, 2**53]).astype(form)
    unit = Unit(identifier="home", most_records=1, excess="truncate")
    kept = within_bound(pd.DataFrame({"home": values}), unit, rng=RNG(1))
    assert sorted(map(int, kept["home"])) == [2**53, 2**53 + 1, 2**53 + 2]


def test_a_record_without_a_unit_is_refused():
    unit = Unit(identifier="home")
    for frame in (pd.DataFrame({"home": [1, None]}), pd.DataFrame({"age": [1]})):
        with pytest.raises(UnitError):
            within_bound(frame, unit, rng=RNG(1))
