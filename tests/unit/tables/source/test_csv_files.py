"""Columns of CSV: categories are the texts of the file, numbers are readings of them."""

import gzip
import io
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ckm
from ptable import NoiseSpec, solve
from tables import (
    DataError,
    DataWarning,
    FilterError,
    HashedKeys,
    ReadOptions,
    Request,
    RequestError,
    Secret,
    SourceError,
    StoredKeys,
    attach_keys,
    cube,
    draw_keys,
    open_source,
)
from tables.filtering.filters import parse_filter
from tables.prepared.prepare import prepare
from tables.profile import profile_columns

KEYS = StoredKeys(column="key", key_range=256)


def write(tmp_path, values, *, name="data.csv", column="v"):
    file = tmp_path / name
    lines = [f"{column},key", *(f"{value},{n % 256}" for n, value in enumerate(values))]
    text = "\n".join(lines) + "\n"
    if name.endswith(".gz"):
        file.write_bytes(gzip.compress(text.encode()))
    else:
        file.write_text(text)
    return file


def counts(data, *, where=None, options=None):
    """Count the records of each text of the column ``v``."""
    with open_source(data, options=options) as source:
        (cells,) = cube(source, KEYS, [Request(dimensions=["v"], where=where, margins="none")])
        labels = cells.axes[0].labels[0][cells.ranks[0]]
        found = dict(zip(labels.tolist(), cells.count.tolist(), strict=True))
    return {label: count for label, count in found.items() if count}


CODES = {
    "age bands": ["0_4", "5_9", "15_24", "15_24"],
    "an underscore and none": ["1_0", "10", "10"],
    "a signed underscore": ["-1_0", "-10"],
    "three parts": ["1_2_3", "12_3", "123"],
    "powers of ten": ["1E1", "1E2", "2E1"],
    "one number in three writings": ["1E2", "10E1", "100"],
    "small letters": ["3e4", "7e1", "7e1"],
    "trailing zeros": ["10.10", "10.20", "10.30"],
    "trailing zeros beside a letter": ["10.10", "10.20", "10.5A"],
    "20 digits": ["73000000000000000001", "73000000000000000002"],
    "one long among short": ["9007199254740993", "9007199254740992", "99999999999999999999"],
    "beyond unsigned": ["18446744073709551616", "18446744073709551615"],
    "both extremes": ["-1", "18446744073709551615", "18446744073709551614"],
    "leading zeros": ["01", "1", "10", "001"],
    "signs and zeros": ["+4", "4", "-0", "0", ".5", "0.5", "5."],
    "hexadecimal": ["0x1F", "31", "0b11"],
    "blanks": [" 5", "5", "5 "],
    "separators": ['"1,000"', "1000", "1 000"],
    "words": ["NA", "null", "true", "inf", "nan", "None"],
    "days": ["2020-01-01", "2020-1-1", "01/02/2020"],
    "days out of range": ["10000-01-01", "0044-03-15 (BC)", "infinity"],
    "days alone": ["infinity", "-infinity"],
    "other digits": ["\u0661", "1", "\uff11"],
    "quotes": ['"1"', '"""1"""', "2"],
}


def text_of_field(field):
    return field[1:-1].replace('""', '"') if field.startswith('"') else field


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
@pytest.mark.parametrize("values", CODES.values(), ids=CODES.keys())
def test_what_is_printed_is_the_text_of_the_file(tmp_path, values, name):
    texts = [text_of_field(value) for value in values]
    wanted = {text: texts.count(text) for text in texts}
    assert counts(write(tmp_path, values, name=name)) == wanted
    options = ReadOptions(text=True, types={"key": "integer"})
    assert counts(tmp_path / name, options=options) == wanted


@pytest.mark.parametrize("late", ["2A", "02", "1_0", "1e2", "", "-0", "18446744073709551616"])
def test_the_last_of_many_records_has_its_text_and_changes_no_other(tmp_path, late):
    found = counts(write(tmp_path, [*["0", "1"] * 15_000, late]))
    assert found == {"0": 15_000, "1": 15_000, late or "(missing)": 1}


def test_records_of_a_folder_agree_on_what_a_column_is(tmp_path):
    write(tmp_path, ["10.10", "7"], name="a.csv")
    write(tmp_path, ["1_0", "007"], name="b.csv")
    assert counts(tmp_path) == {"10.10": 1, "7": 1, "1_0": 1, "007": 1}
    part = tmp_path / "below" / "year=1_0"
    part.mkdir(parents=True)
    write(part, ["1E2", "100"])
    assert counts(tmp_path / "below") == {"1E2": 1, "100": 1}


def test_standard_input_keeps_its_texts(monkeypatch):
    text = b"v,key\n1_0,1\n10,2\n10.10,3\n"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    assert counts("-") == {"1_0": 1, "10": 1, "10.10": 1}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "75", "", "-3"], "BIGINT"),
        (["1", "18446744073709551615"], "UBIGINT"),
        (["2020-01-01", ""], "DATE"),
        (["1.5", "2"], "VARCHAR"),
        (["99999999999999999999", "1"], "VARCHAR"),
        (["", ""], "VARCHAR"),
    ],
)
def test_a_column_has_a_type_where_writing_it_gives_every_text_back(tmp_path, values, kind):
    with open_source(write(tmp_path, values)) as source:
        assert source.columns["v"] == kind


def test_a_key_does_not_depend_on_the_texts_of_other_records(tmp_path):
    secret = Secret(bytes(16))
    numbers = ["17", "5", "1234567890123456", "18446744073709551615"]

    def keys(more):
        lines = "".join(f"{value}\n" for value in [*numbers, *more])
        (tmp_path / "id.csv").write_text("id\n" + lines)
        with open_source(tmp_path / "id.csv") as source:
            hashed = HashedKeys(column="id", secret=secret).sql(source, {})
            rows = source.fetch(f"SELECT id::VARCHAR, {hashed} FROM {source.relation}")
        return {name: key for name, key in rows if name in numbers}

    assert keys([]) == keys(["017"]) == keys(["x"]) == keys(["73000000000000000001"])


# --- numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "total"),
    [
        (["1.5", "2"], 3.5),
        (["1e3", ".5", "+4", "-0", "5.", " 7 "], 1016.5),
        (["10.10", "10.20"], 20.3),
        (["007", "1"], 8.0),
        (["0.1234567890123456", ""], 0.1234567890123456),
    ],
)
def test_what_is_added_up_is_read_as_numbers(tmp_path, values, total):
    with open_source(write(tmp_path, values)) as source:
        wish = Request(dimensions=[], sums=["v"], missing_values="skip")
        (cells,) = cube(source, KEYS, [wish])
        assert cells.magnitudes["v"].total.tolist() == pytest.approx([total], rel=1e-15)


def test_weights_are_read_as_numbers(tmp_path):
    with open_source(write(tmp_path, ["1.50", "2.25"])) as source:
        (cells,) = cube(source, KEYS, [Request(dimensions=[], weight="v")])
        assert cells.weight.tolist() == [3.75]


@pytest.mark.parametrize(
    ("text", "shape", "hint"),
    [
        ("Paris 14e", "Aaaaa 99a", "missing"),
        ('"1,5"', "9,9", 'decimal = ","'),
        ('"9,999.9"', "9,999.9", "thousands"),
        ("1 000", "9 999", "thousands"),
        ("1\u00a0000", "9U+00A0999", "thousands"),
        ("1'000", "9'999", "thousands"),
        ("1_0", "9_9", "missing"),
        ("inf", "aaa", "missing"),
        ("1e400", "9a999", "missing"),
        ("0x1F", "9a9A", "missing"),
    ],
)
def test_a_text_that_is_no_number_is_told_by_line_and_shape(tmp_path, text, shape, hint):
    file = write(tmp_path, ["1", "", "2.5", text])
    with open_source(file) as source:
        for wish in ({"sums": ["v"]}, {"weight": "v"}, {"where": "v > 1"}):
            ((problem, cure),) = Request(dimensions=[], **wish).problems(source)
            assert "line 5 of 'data.csv'" in problem
            assert problem.endswith(f"is of the shape {shape!r}.")
            assert hint in cure
        assert not source.is_number("v")


def test_the_line_is_that_of_the_file_whatever_stands_before(tmp_path):
    text = 'v,"a\r\nb"\r\n1,"x\ny"\r\n\r\n"2",z\r\nlate,z\r\n'
    (tmp_path / "data.csv").write_bytes(text.encode())
    with open_source(tmp_path / "data.csv") as source:
        assert list(source.columns) == ["v", "a\r\nb"]
        assert "line 7 of" in source.number_problem("v")[0]


def test_a_column_of_names_is_no_number(tmp_path):
    with (
        open_source(write(tmp_path, ["F", "M"])) as source,
        pytest.raises(RequestError, match="no numbers: the first, in line 2"),
    ):
        cube(source, KEYS, [Request(dimensions=[], sums=["v"])])


# --- filters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("v = '10.10'", {"10.10"}),
        ("v = 10.10", {"10.10"}),
        ("v = 10.1", {"10.1"}),
        ("v = 10.1 or v = 10.10", {"10.1", "10.10"}),
        ("v in (10.10, 7)", {"10.10"}),
        ("v <> 10.10", {"10.1", "1e1", "007"}),
        ("v = 007", {"007"}),
        ("v = 7", set()),
        ("v = 1e1", {"1e1"}),
        ("v = 10", set()),
        ("v >= 10", {"10.10", "10.1", "1e1"}),
        ("v between 7 and 10", {"007", "1e1"}),
        ("v < 10.1", {"007", "1e1"}),
        ("v <= 10.1", {"007", "1e1", "10.1", "10.10"}),
        ("v is missing", {"(missing)"}),
        ("v >= '10'", {"10.10", "10.1", "1e1"}),
    ],
)
def test_equality_is_of_texts_and_order_of_numbers(tmp_path, where, kept):
    file = write(tmp_path, ["10.10", "10.1", "1e1", "007", ""])
    assert set(counts(file, where=where)) == kept


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("v = 10", {"10"}),
        ("v = '10'", {"10"}),
        ("v in ('10', '07', 7)", {"10", "7"}),
        ("v = '07'", set()),
        ("v = 10.0", set()),
        ("v <> '10'", {"7"}),
        ("v not in ('x')", {"10", "7"}),
        ("v > 7.5", {"10"}),
    ],
)
@pytest.mark.parametrize("other", ["", "x"])
def test_a_filter_means_the_same_whatever_the_other_records_hold(tmp_path, where, kept, other):
    file = write(tmp_path, ["10", "7", other])
    if other and "v >" in where:
        with pytest.raises(RequestError, match="of the shape 'a'"):
            counts(file, where=where)
        return
    found = set(counts(file, where=where)) - {"x"}
    assert found == kept


@pytest.mark.parametrize("options", [None, ReadOptions(text=True, types={"key": "integer"})])
def test_prepared_records_are_filtered_alike(tmp_path, options):
    file = write(tmp_path, ["10.10", "10.1", "1e1", "007", ""])
    with open_source(file, options=options) as source:
        kept = prepare(source, KEYS, requests={"v": Request(dimensions=["v"])})
        for where, number in {
            "v = 10.10": 1,
            "v >= 10": 3,
            "v < 10.1": 2,
            "not v >= 10": 1,
            "v in ('1e1', 007)": 2,
            "v is missing": 1,
        }.items():
            (condition,) = kept.conditions(where)
            wanted = sum(counts(file, where=where).values())
            assert wanted == number
            every = np.arange(kept.axes["v"].levels[0].size)
            assert condition.holds(lambda *_, every=every: every).sum() == number


def test_numbers_of_many_digits_are_compared_exactly(tmp_path):
    long = ["9007199254740993.5", "9007199254740992.5", "99999999999999999999"]
    file = write(tmp_path, long)
    assert set(counts(file, where="v > 9007199254740993")) == {long[0], long[2]}
    assert set(counts(file, where="v <= 9007199254740992.5")) == {long[1]}


def test_a_filter_that_cannot_be_answered_says_so_in_words_of_its_own(tmp_path):
    with open_source(write(tmp_path, ["10", "x"])) as source:
        (error,) = parse_filter("v >= 10").errors(source.types)
    assert isinstance(error, FilterError)
    assert error.facts == {"column": "v", "kind": "text", "given": "number"}


# --- declared types ------------------------------------------------------------------------


def test_declared_types_come_first(tmp_path):
    file = write(tmp_path, ["1", "20"])
    with open_source(file, options=ReadOptions(types={"v": "text"})) as source:
        assert source.columns["v"] == "VARCHAR"
        problem, _ = source.number_problem("v")
        assert problem == "Column 'v' is declared as texts, and is used as numbers."
    with open_source(file, options=ReadOptions(types={"v": "decimal"})) as source:
        assert source.columns["v"] == "VARCHAR"
        assert source.is_number("v")
    with open_source(file, options=ReadOptions(types={"v": "integer"}, text=True)) as source:
        assert source.columns == {"v": "BIGINT", "key": "VARCHAR"}
        assert source.is_number("key")


@pytest.mark.parametrize(
    ("word", "late", "shape"),
    [
        ("integer", "07", "99"),
        ("integer", "1.0", "9.9"),
        ("decimal", "1_0", "9_9"),
        ("date", "2020-02-30", "9999-99-99"),
        ("date", "1/2/2020", "9/9/9999"),
    ],
)
def test_a_declared_type_that_does_not_fit_is_told_by_line_and_shape(
    tmp_path, word, late, shape
):
    first = "2020-01-01" if word == "date" else "1"
    file = write(tmp_path, [*[first] * 3000, late])
    with pytest.raises(
        DataError, match=rf"line 3,002 of 'data.csv', is of the shape '{shape}'"
    ):
        open_source(file, options=ReadOptions(types={"v": word}))


def test_an_empty_column_can_be_declared(tmp_path):
    file = write(tmp_path, ["", ""])
    with open_source(file, options=ReadOptions(types={"v": "date"})) as source:
        assert source.columns["v"] == "DATE"


def test_integers_beyond_64_bits_can_be_declared(tmp_path):
    file = write(tmp_path, ["73000000000000000001", "1"])
    with open_source(file, options=ReadOptions(types={"v": "integer"})) as source:
        assert source.kinds["v"] == "integer"
    assert set(counts(file, options=ReadOptions(types={"v": "integer"}))) == {
        "73000000000000000001",
        "1",
    }


def test_decimal_commas_are_numbers_where_they_are_declared(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text("v;key\n1,5;1\n2;2\n-0,25;3\n")
    options = ReadOptions(decimal=",")
    assert counts(file, options=options) == {"1,5": 1, "2": 1, "-0,25": 1}
    assert set(counts(file, options=options, where="v >= 1.5")) == {"1,5", "2"}
    with open_source(file, options=options) as source:
        (cells,) = cube(source, KEYS, [Request(dimensions=[], sums=["v"])])
        assert cells.magnitudes["v"].total.tolist() == [3.25]
    file.write_text("v;key\n1.234,5;1\n")
    with open_source(file, options=options) as source:
        problem, hint = source.number_problem("v")
        assert "9.999,9" in problem
        assert "thousands" in hint


def test_what_is_declared_must_make_sense(tmp_path):
    file = write(tmp_path, ["1"])
    with pytest.raises(RequestError, match="is one of text, integer, decimal, date, not 'int'"):
        ReadOptions(types={"v": "int"})
    with pytest.raises(RequestError, match="a point or a comma"):
        ReadOptions(decimal=";")
    with pytest.raises(RequestError, match="Column 'V' is not in the data"):
        open_source(file, options=ReadOptions(types={"V": "text"}))
    pq.write_table(pa.table({"v": [1]}), tmp_path / "v.parquet")
    for data in (tmp_path / "v.parquet", pa.table({"v": [1]})):
        with pytest.raises(RequestError, match="are declared for CSV files"):
            open_source(data, options=ReadOptions(types={"v": "text"}))


def test_lenient_numbers_are_missing_where_a_text_is_none(tmp_path):
    options = ReadOptions(text=True, is_lenient=True)
    with open_source(write(tmp_path, ["1.5", "x", "1_0", "inf"]), options=options) as source:
        number = source.number_sql("v")
        assert source.fetch(f"SELECT sum({number}) FROM {source.relation}") == [(1.5,)]


def test_an_engine_takes_what_is_declared(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text("id;v;w\n" + "".join(f"{n};{n % 2}0;1,5\n" for n in range(40)))
    ptable = solve(NoiseSpec(max_noise=1, variance=1e-9))
    with ckm.Engine(
        file,
        id="id",
        secret=Secret(bytes(16)),
        ptable=ptable,
        types={"v": "text"},
        decimal=",",
        weight="w",
        round_weighted=False,
    ) as engine:
        table = engine.tabulate(["v"], measures=["count", "weighted"]).to_pandas()
    assert table["v"].tolist() == ["Total", "00", "10"]
    assert table["weighted"].tolist() == [60.0, 30.0, 30.0]


# --- copies --------------------------------------------------------------------------------


def test_a_copy_with_keys_keeps_texts_and_reads_the_same_numbers(tmp_path):
    file, copy = tmp_path / "data.csv", tmp_path / "keyed.parquet"
    file.write_text("id,v,w\na,0_4,10.10\nb,1E2,2.5\n")
    with open_source(file) as source:
        attach_keys(source, id="id", secret=Secret(bytes(16)), path=copy)
    table = pq.read_table(copy)
    assert table["v"].to_pylist() == ["0_4", "1E2"]
    assert table["w"].to_pylist() == ["10.10", "2.5"]
    draw_keys_of(copy, tmp_path / "again.parquet")
    for data in (copy, tmp_path / "again.parquet"):
        with open_source(data) as source:
            wish = Request(dimensions=["w"], sums=["w"], where="w >= 2.5 and w <> 2.5")
            keys = StoredKeys(column="record_key", key_range=2**64)
            (cells,) = cube(source, keys, [wish])
            assert cells.axes[0].labels[0].tolist()[1:] == ["10.10"]
            assert cells.magnitudes["w"].total.tolist()[-1] == 10.1
            assert source.number_problem("v")[0].endswith("is of the shape '9_9'.")


def draw_keys_of(data, path):
    with open_source(data) as source:
        draw_keys(source, path=path, column="key")


def test_a_draft_tells_amounts_from_codes(tmp_path):
    rows = [f"{n:04},{n % 9},{n / 7:.2f},{'ab'[n % 2]}" for n in range(300)]
    (tmp_path / "d.csv").write_text("\n".join(["code,size,income,sex", *rows]) + "\n")
    with open_source(tmp_path / "d.csv") as source:
        kinds = {column.name: column.kind for column in profile_columns(source)[1]}
    assert kinds == {"code": "text", "size": "integer", "income": "number", "sex": "text"}


# --- several files -------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("a.csv", "b.csv"), ("a[1].csv", "b*?.csv.gz")])
@pytest.mark.parametrize("is_partitioned", [False, True])
def test_columns_of_files_in_another_order_are_read_by_name(tmp_path, names, is_partitioned):
    texts = ['v, x,"a""b"\n1,5,01\n2,6,1_0\n', '"a""b",v, x\n1E2,3,7\n"1\n0",4,8\n']
    for name, text in zip(names, texts, strict=True):
        folder = tmp_path / ("year=2020" if is_partitioned else "")
        folder.mkdir(exist_ok=True)
        data = text.encode()
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with open_source(tmp_path) as source:
        assert list(source.columns)[:3] == ["v", " x", 'a"b']
        assert source.columns["v"] == source.columns[" x"] == "BIGINT"
        source.fetch("SET preserve_insertion_order=true")
        rows = source.fetch(f'SELECT v, " x", "a""b" FROM {source.relation}')
    assert rows == [(1, 5, "01"), (2, 6, "1_0"), (3, 7, "1E2"), (4, 8, "1\n0")]


def test_keys_are_put_beside_the_records_of_files_in_any_order(tmp_path):
    tables = []
    for place, orders in enumerate(((0, 0, 0), (0, 1, 0))):
        folder = tmp_path / str(place)
        folder.mkdir()
        for number, order in enumerate(orders):
            names = ("id", "v")[:: -1 if order else 1]
            rows = ({"id": f"i{number}-{n}", "v": f"v{number}-{n}"} for n in range(50_000))
            lines = (",".join(row[name] for name in names) for row in rows)
            (folder / f"{number}.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
        with open_source(folder) as source:
            copy = folder / "keyed.parquet"
            attach_keys(source, id="id", secret=Secret(bytes(16)), path=copy)
        tables.append(pq.read_table(copy).sort_by("id"))
    one_order, other = tables
    assert one_order.num_rows == 150_000
    assert other.equals(one_order)
    texts = (other[name].to_pylist() for name in ("id", "v"))
    assert all(name[1:] == text[1:] for name, text in zip(*texts, strict=True))


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("key,w", "'b.csv' has no 'v', which 'a.csv' has"),
        ("key,v,w", "'a.csv' has no 'w', which 'b.csv' has"),
        ("key,V", "'b.csv' has no 'v', which 'a.csv' has"),
        ("key;v", "delimiter; it is ',' in 'a.csv', and ';' in 'b.csv'"),
    ],
)
def test_files_of_other_columns_are_named_with_the_column(tmp_path, header, problem):
    (tmp_path / "a.csv").write_text("v,key\n1,2\n")
    (tmp_path / "b.csv").write_text(header + "\n")
    with pytest.raises(SourceError, match=problem) as caught:
        open_source(tmp_path)
    assert "hint:" in str(caught.value)


@pytest.mark.parametrize("line", ["1", "1,2,3"])
def test_a_short_or_long_record_is_refused_in_files_of_any_order(tmp_path, line):
    (tmp_path / "a.csv").write_text(f"v,key\n{line}\n")
    (tmp_path / "b.csv").write_text("key,v\n2,1\n")
    with pytest.raises(SourceError):
        open_source(tmp_path)


def test_a_text_that_is_no_number_is_found_in_a_file_of_another_order(tmp_path):
    (tmp_path / "a.csv").write_text("v,w\n1.5,a\n")
    (tmp_path / "b.csv").write_text("w,v\nb,2.5\nc,1_0\n")
    with open_source(tmp_path) as source:
        assert "line 3 of 'b.csv', is of the shape '9_9'" in source.number_problem("v")[0]


# --- names and shapes of files -------------------------------------------------------------


def test_a_column_may_be_called_like_ours(tmp_path):
    part = tmp_path / "year=2020"
    part.mkdir()
    (part / "data.csv").write_text("v,key,ckm_file,CKM_FILE_\na,1,x,y\n")
    for data in (part / "data.csv", tmp_path):
        assert counts(data) == {"a": 1}
    with open_source(tmp_path) as source:
        assert list(source.columns) == ["v", "key", "ckm_file", "CKM_FILE_", "year"]
        assert source.fetch(f"SELECT year FROM {source.relation}") == [("2020",)]


def test_many_columns_are_read(tmp_path):
    names = [f"c{n}" for n in range(1000)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * 1000) + "\n")
    with open_source(tmp_path / "wide.csv") as source:
        assert set(source.columns.values()) == {"BIGINT"}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("v,key\n1,2\n".encode("utf-16"), "may be UTF-16"),
        ("v,key\n1,2\n".encode("utf-16-le"), "may be UTF-16"),
        ("é,key\n1,2\n".encode("windows-1252"), "may be WINDOWS-1252"),
        ("v,key\né,2\n".encode("windows-1252"), r"UTF-8 \(line 2\); it may be WINDOWS-1252"),
        (b"v,key,\n1,2,\n", "must name every column"),
        (b"v,key\na,1\r\nb,2\n", "do not all end in the same way"),
        (b'"v\nw",key\r\na,1\r\n', "holds a line break"),
        (b"v,key\n1,2\n3\n", r"\(line 3\)"),
        (b"v" * 200_000 + b",key\n1,2\n", "a name of more than 10,000 characters"),
        (b"v," + b"x" * 200_000 + b"\n1,2\n", "a name of more than 10,000 characters"),
    ],
)
def test_files_of_office_programs_are_refused_with_a_way_out(tmp_path, content, problem):
    (tmp_path / "data.csv").write_bytes(content)
    with pytest.raises(SourceError, match=problem) as caught:
        open_source(tmp_path / "data.csv")
    assert "hint:" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfv,key\r\n1_0,1\r\n10,2\r\n",
        b"v;key\n1_0;1\n10;2\n",
        b"v\tkey\n1_0\t1\n10\t2\n",
        b"v,key\r1_0,1\r10,2\r",
        b"v,key\n\n1_0,1\n\n10,2\n\n",
        b'"v","key"\n"1_0","1"\n"10","2"\n',
        b"v,key\n1_0,1\n10,2",
        b"v,key\n1_0,1,\n10,2,\n",
    ],
    ids=["mark", "semicolon", "tab", "CR", "blank lines", "quoted", "no end", "comma"],
)
def test_files_of_office_programs_are_read(tmp_path, content):
    (tmp_path / "data.csv").write_bytes(content)
    assert counts(tmp_path / "data.csv") == {"1_0": 1, "10": 1}


def test_texts_for_missing_values_are_missing_wherever_a_column_is_used(tmp_path):
    path = tmp_path / "people.csv"
    lines = ['1,F,NA,"NA",2027-01-01', "2,NULL,1.5,3,NA", "3,NA,2.5,4,2027-01-02"]
    path.write_text("\n".join(["id,sex,income,age,day", *lines]))
    options = ReadOptions(missing=["NA", "NULL", "NA"], types={"age": "integer"})
    with open_source(path, options=options) as source:
        assert source.kinds["age"] == "integer"
        assert source.kinds["day"] == "date"
        assert source.is_number("income")
        rows = source.fetch(f"SELECT sex, age FROM {source.relation} ORDER BY id")
        assert rows == [("F", None), (None, 3), (None, 4)]


def test_a_number_that_is_a_text_for_missing_values_has_its_own_way_out(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("income\n1.5\nNA\nx\n")
    for missing, shape, hint in ([], "'AA'", "--missing NA"), (["NA"], "'a'", "repair it"):
        with (
            open_source(path, options=ReadOptions(missing=missing)) as source,
            pytest.raises(DataError) as caught,
        ):
            source.number_sql("income")
        assert shape in caught.value.problem
        assert hint in caught.value.hint


@pytest.mark.parametrize("missing", ["NA", [""], ["NA", ""]])
def test_texts_for_missing_values_are_a_list_of_texts(missing):
    with pytest.raises(RequestError, match="missing is a list of texts"):
        ReadOptions(missing=missing)


def test_texts_for_missing_values_are_of_csv():
    with pytest.raises(RequestError, match="are declared for CSV files"):
        open_source(pa.table({"a": ["NA"]}), options=ReadOptions(missing=["NA"]))


@pytest.mark.parametrize("text", ["NA", "NULL", "nan", "."])
def test_a_category_like_a_missing_value_is_warned_of_once_unless_it_is_declared(
    tmp_path, text
):
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["id,zone", *[f"{n},{text}" for n in range(3)], "4,Z"]))
    keys = HashedKeys(column="id", secret=Secret(bytes(16)))
    with open_source(path) as source, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cube(source, keys, [Request(dimensions=["zone"])] * 2)
    (warning,) = (w.message for w in caught if isinstance(w.message, DataWarning))
    assert "A category of column 'zone' is written as programs write" in str(warning)
    assert warning.inside == text
    declared = Request(dimensions=["zone"], categories={"zone": [text, "Z"]})
    with open_source(path) as source, warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        cube(source, keys, [declared])
