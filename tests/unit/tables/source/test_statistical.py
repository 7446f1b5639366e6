import datetime as dt
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from tables import DataWarning, SourceError, open_source
from tables.source import statistical
from tables.source.readstat_process import _SpssRecords

pytestmark = pytest.mark.slow  # each file is read by a process of its own
FRAME = pd.DataFrame(
    {
        "id": [1.0, 2.0, 3.0, 4.0, 5.0],
        "code": ["01", "1E2", "", "0_4", "01"],
        "share": [0.1, 2.5, np.nan, 3.0, 1e300],
        "sex": [1.0, 2.0, 9.0, 1.0, np.nan],
    }
)
WRITERS = {
    "sav": pyreadstat.write_sav,
    "zsav": lambda frame, path, **said: pyreadstat.write_sav(
        frame, path, compress=True, **said
    ),
    "dta": pyreadstat.write_dta,
    "xpt": pyreadstat.write_xport,
}


COMPRESSED = {
    "zsav": {"compress": True},
    "sav": {"row_compress": True},
}


def write(path: Path, frame=FRAME, **said) -> Path:
    WRITERS[path.suffix[1:]](frame, str(path), **said)
    return path


def rows_of(path, **options):
    with open_source(str(path), **options) as source:
        source.fetch("SET preserve_insertion_order=true")
        return source.fetch(f"SELECT * FROM {source.records}"), dict(source.columns)


@pytest.mark.parametrize("kind", sorted(WRITERS))
def test_whole_numbers_are_integers_and_codes_stay_texts(tmp_path, kind):
    rows, columns = rows_of(write(tmp_path / f"people.{kind}"))
    assert rows == [
        (1, "01", 0.1, 1),
        (2, "1E2", 2.5, 2),
        (3, None, None, 9),
        (4, "0_4", 3.0, 1),
        (5, "01", 1e300 if kind != "xpt" else rows[4][2], None),
    ]
    assert list(columns.values()) == ["BIGINT", "VARCHAR", "DOUBLE", "BIGINT"]


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_labels_go_by_the_code_as_tables_print_it(tmp_path, kind):
    labels = {"sex": {1: "Men", 2: "Women"}}
    labels |= {"code": {"01": "North"}} if kind == "sav" else {}
    path = write(tmp_path / f"people.{kind}", variable_value_labels=labels)
    with open_source(str(path)) as source:
        assert source.labels["sex"] == {"1": "Men", "2": "Women"}
        assert source.labels.get("code", {"01": "North"}) == {"01": "North"}


def test_codes_declared_as_missing_are_missing_and_named(tmp_path):
    frame = pd.DataFrame(
        {
            "one": [1.0, 9.0, 8.0],
            "wide": [5.0, -3.0, 99.5],
            "text": ["a", "NA", "b"],
            "none": [1.0, 2.0, 3.0],
        }
    )
    ranges = {"one": [8, 9], "wide": [{"lo": 90, "hi": 100}, -3], "text": ["NA"]}
    labels = {"one": {1: "Yes", 9: "Refused"}}
    path = write(tmp_path / "m.sav", frame, missing_ranges=ranges, variable_value_labels=labels)
    with pytest.warns(DataWarning, match="declares codes as missing") as caught:
        rows, columns = rows_of(path)
    (warning,) = caught
    assert "'one' (2 codes)" in str(warning.message)
    assert "'wide' (1 code and a range of codes)" in str(warning.message)
    assert "'none'" not in str(warning.message)
    assert rows == [(1, 5, "a", 1), (None, None, None, 2), (None, None, "b", 3)]
    assert columns["wide"] == "BIGINT"  # what is missing has no say
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with open_source(str(path)) as source:
            assert source.labels == {"one": {"1": "Yes"}}


def test_special_missing_values_of_stata_are_missing_and_named(tmp_path):
    frame = pd.DataFrame({"x": [1, "a", 2], "y": [1.0, 2.0, 3.0]})
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(
        frame,
        str(path),
        missing_user_values={"x": ["a"]},
        variable_value_labels={"x": {1: "Yes", "a": "Refused"}},
    )
    with pytest.warns(DataWarning, match=r"'x' \(1 code\)"):
        rows, _ = rows_of(path)
    assert rows == [(1, 1), (None, 2), (2, 3)]


@pytest.mark.parametrize("kind", ["sav", "dta", "xpt"])
def test_dates_times_and_moments_keep_their_kind(tmp_path, kind):
    frame = pd.DataFrame(
        {
            "day": [dt.date(1850, 2, 28), dt.date(2020, 2, 29)],
            "moment": pd.to_datetime(["1959-12-31 23:59:59", "2020-01-01 12:30:15"]),
            "time": [dt.time(0, 0, 0), dt.time(23, 59, 59)],
        }
    )
    rows, columns = rows_of(write(tmp_path / f"d.{kind}", frame))
    assert rows == [
        (dt.date(1850, 2, 28), pd.Timestamp("1959-12-31 23:59:59"), dt.time(0, 0)),
        (dt.date(2020, 2, 29), pd.Timestamp("2020-01-01 12:30:15"), dt.time(23, 59, 59)),
    ]
    assert columns["day"] == "DATE"
    assert columns["moment"] == "TIMESTAMP"


def test_times_beyond_a_day_are_seconds(tmp_path):
    frame = pd.DataFrame({"t": [90_000.0, 60.0], "half": [0.5, 1e6]})
    formats = {"t": "TIME8", "half": "DTIME20"}
    rows, columns = rows_of(write(tmp_path / "t.sav", frame, variable_format=formats))
    assert rows == [(90_000, 0.5), (60, 1e6)]
    assert columns == {"t": "BIGINT", "half": "DOUBLE"}


def test_periods_of_stata_are_texts(tmp_path):
    frame = pd.DataFrame({"m": [720.0, -1.0], "q": [240.0, np.nan], "y": [2020.0, 2021.0]})
    formats = {"m": "%tm", "q": "%tq", "y": "%ty"}
    rows, _ = rows_of(write(tmp_path / "p.dta", frame, variable_format=formats))
    assert rows == [("2020-01", "2020Q1", 2020), ("1959-12", None, 2021)]


@pytest.mark.parametrize("kind", sorted(WRITERS))
@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_parts_make_the_whole_whatever_their_size(tmp_path, monkeypatch, kind, rows):
    path = write(tmp_path / f"people.{kind}")
    whole = rows_of(path)
    monkeypatch.setattr(statistical, "_CELLS", rows * len(FRAME.columns))
    assert rows_of(path) == whole


@pytest.mark.parametrize("kind", sorted(COMPRESSED))
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_compressed_records_are_those_of_the_plain_file(tmp_path, monkeypatch, kind, rows):
    rng = np.random.default_rng(rows)
    texts = np.array(["", "a", "01", " x", "é" * 5, "y" * 300, "eight888", "z" * 17])
    numbers = np.array([-99, -100, 0, 151, 152, 0.5, 1e300, -1e-300, np.nan])
    columns = {f"x{k}": rng.choice(numbers, 1500) for k in range(5)}
    columns |= {f"t{k}": rng.choice(texts, 1500) for k in range(3)}
    frame = pd.DataFrame({name: columns[name] for name in rng.permutation(list(columns))})
    labels = {"x0": {0: "none", 152: "n" * 100}}
    plain, compressed = tmp_path / "plain.sav", tmp_path / f"compressed.{kind}"
    said = {"variable_value_labels": labels, "missing_ranges": {"x1": [{"lo": 0, "hi": 151}]}}
    pyreadstat.write_sav(frame, str(plain), **said)
    pyreadstat.write_sav(frame, str(compressed), **said, **COMPRESSED[kind])
    monkeypatch.setattr(statistical, "_CELLS", rows * len(frame.columns))
    with pytest.warns(DataWarning, match="'x1' \\(a range of codes\\)"):
        assert rows_of(compressed) == rows_of(plain)


def test_no_part_of_a_compressed_file_is_made_plain_twice(tmp_path):
    """The time to read such files grows with their records, and not with their square."""
    path = tmp_path / "x.zsav"
    pyreadstat.write_sav(pd.DataFrame({"x": np.arange(4000.0)}), str(path), compress=True)
    sizes = {len(part.getvalue()) for part in _SpssRecords(str(path)).parts(1000)}
    header, full = min(sizes), max(sizes)
    assert full - header == 8000


@pytest.mark.parametrize("kind", sorted(COMPRESSED))
def test_compressed_files_of_wrong_length_are_damaged(tmp_path, kind):
    frame = pd.DataFrame({"x": np.arange(500) / 7, "t": ["secret"] * 500})
    path = tmp_path / f"x.{kind}"
    pyreadstat.write_sav(frame, str(path), **COMPRESSED[kind])
    data = path.read_bytes()
    for size in (len(data) - 1, len(data) - 40):
        path.write_bytes(data[:size])
        with pytest.raises(SourceError, match="damaged"):
            rows_of(path)
    longer = bytearray(data)
    longer[80:84] = (501).to_bytes(4, "little")
    path.write_bytes(longer)
    with pytest.raises(SourceError, match="damaged"):
        rows_of(path)


def test_a_flipped_bit_of_compressed_blocks_is_seen(tmp_path):
    path = tmp_path / "x.zsav"
    frame = pd.DataFrame({"x": np.random.default_rng(1).integers(0, 9, 4000) / 7})
    pyreadstat.write_sav(frame, str(path), compress=True)
    data = path.read_bytes()
    for place in np.linspace(len(data) // 3, len(data) - 100, 3).astype(int):
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        with pytest.raises(SourceError, match="damaged"):
            rows_of(path)


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_the_last_record_alone_can_make_a_column_one_of_decimals(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(statistical, "_CELLS", 1)
    path = write(tmp_path / f"x.{kind}", pd.DataFrame({"x": [1.0, 2.0, 2.5]}))
    assert rows_of(path) == ([(1.0,), (2.0,), (2.5,)], {"x": "DOUBLE"})


@pytest.mark.parametrize("kind", sorted(WRITERS))
def test_a_file_without_records_has_its_columns(tmp_path, kind):
    rows, columns = rows_of(write(tmp_path / f"none.{kind}", FRAME.head(0)))
    assert rows == []
    assert list(columns) == list(FRAME.columns)


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_a_file_without_columns_is_not_called_damaged(tmp_path, kind):
    file = tmp_path / f"none.{kind}"
    getattr(pyreadstat, f"write_{kind}")(pd.DataFrame(), str(file))
    with pytest.raises(SourceError, match=f"'none.{kind}' has no columns, or two of one name"):
        open_source(file)


def test_texts_in_another_encoding_than_the_declared_one_are_refused(tmp_path):
    path = write(tmp_path / "e.sav", pd.DataFrame({"town": ["cafe", "xyz"]}))
    path.write_bytes(path.read_bytes().replace(b"cafe", b"caf\xe9"))
    with pytest.raises(SourceError, match="not in the encoding") as caught:
        rows_of(path)
    assert "haven::read_sav" in str(caught.value)
    assert "caf" not in str(caught.value)


@pytest.mark.parametrize("kind", sorted(WRITERS))
def test_a_truncated_file_is_refused_without_a_word_of_the_library(tmp_path, kind):
    frame = pd.DataFrame({"x": np.arange(5000.0), "t": ["secret"] * 5000})
    path = write(tmp_path / f"cut.{kind}", frame)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 | 1])
    with pytest.raises(SourceError, match="damaged") as caught:
        rows_of(path)
    assert "secret" not in f"{caught.value}{caught.value.__context__}"


def test_dates_that_no_calendar_has_are_named(tmp_path):
    frame = pd.DataFrame({"d": [1e15, 0.0]})
    path = write(tmp_path / "d.sav", frame, variable_format={"d": "DATE11"})
    with pytest.raises(SourceError, match=r"'d' of 'd\.sav' has dates outside"):
        rows_of(path)


needs_haven = pytest.mark.skipif(
    shutil.which("Rscript") is None
    or subprocess.call(
        ["Rscript", "-e", "suppressMessages(library(haven))"], stderr=subprocess.DEVNULL
    )
    != 0,
    reason="R with haven is not installed",
)
IRIS = Path("/usr/lib/R/site-library/haven/examples/iris.sas7bdat")


@pytest.mark.slow
@needs_haven
@pytest.mark.parametrize("kind", ["sav", "dta", "sas", "xpt"])
def test_files_of_haven_are_read(tmp_path, kind):
    path = tmp_path / f"people.{'sas7bdat' if kind == 'sas' else kind}"
    tag = "a" if kind == "dta" else "A"
    sex = (
        "labelled_spss(c(1, 2, 9), c(Men = 1, Women = 2), na_values = 9)"
        if kind == "sav"
        else f'labelled(c(1, 2, tagged_na("{tag}")), c(Men = 1, Women = 2))'
    )
    script = f"""
        library(haven)
        d <- data.frame(id = 1:3, code = c("01", "1E2", NA), x = c(1.5, NA, 3),
                        day = as.Date("2020-02-28") + 0:2)
        d$sex <- {sex}
        write_{kind}(d, "{path}")
    """
    subprocess.run(["Rscript", "-e", script], check=True, capture_output=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows, columns = rows_of(path)
    assert kind == "xpt" or "'sex' (1 code)" in str(caught[0].message)
    assert rows == [
        (1, "01", 1.5, dt.date(2020, 2, 28), 1),
        (2, "1E2", None, dt.date(2020, 2, 29), 2),
        (3, None, 3.0, dt.date(2020, 3, 1), None),
    ]
    assert columns["sex"] == "BIGINT"


@pytest.mark.slow
@pytest.mark.skipif(not IRIS.exists(), reason="the examples of R's haven are not installed")
def test_a_file_that_sas_wrote_is_read():
    rows, columns = rows_of(IRIS)
    assert len(rows) == 150
    assert rows[0] == (5.1, 3.5, 1.4, 0.2, "setosa")
    assert list(columns.values()) == ["DOUBLE"] * 4 + ["VARCHAR"]
