import importlib.util

import numpy as np
import openpyxl
import pyarrow as pa
import pytest

from tables import SourceError, open_source
from tables.source.office import ColumnFacts, r_line


def finished(kind, *parts):
    facts = ColumnFacts(kind)
    for part in parts:
        facts.see(np.array(part, dtype=float))
    return facts.finish(pa.array([v for part in parts for v in part], pa.float64()))


def test_a_column_is_one_of_integers_where_all_its_numbers_are_whole():
    assert finished("number", [1, 2], [-0.0]).equals(pa.array([1, 2, 0]))
    assert finished("number", [1, 2], [2.5]).equals(pa.array([1.0, 2.0, 2.5]))
    assert finished("number", [2.0**53], [1]).type == pa.int64()
    assert finished("number", [2.0**53 + 2], [1]).type == pa.float64()


def test_floats_of_32_bits_stay_floats_of_32_bits():
    assert finished("single", [float(np.float32(0.1))]).equals(pa.array([0.1], pa.float32()))
    assert finished("single", [3.0]).equals(pa.array([3]))


def test_times_are_times_while_all_are_of_one_day():
    assert finished("time", [0, 86_399.5]).type == pa.time64("us")
    assert finished("time", [0, 86_400]).equals(pa.array([0, 86_400]))
    assert finished("time", [-1.5]).equals(pa.array([-1.5]))


def test_columns_of_several_files_have_one_type():
    whole, parted = ColumnFacts("number"), ColumnFacts("number")
    whole.see(np.array([1.0]))
    parted.see(np.array([1.5]))
    both = whole.merge(parted)
    assert both.finish(pa.array([1.0])).type == pa.float64()
    assert whole.merge(ColumnFacts("number")).finish(pa.array([1.0])).type == pa.int64()


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("x.sas7bdat", 'arrow::write_parquet(haven::read_sas("x.sas7bdat"), "x.parquet")'),
        ("x.RDS", 'arrow::write_parquet(readRDS("x.RDS"), "x.parquet")'),
        ("a b.RData", 'arrow::write_parquet(get(load("a b.RData")), "a b.parquet")'),
        ("x.rda", 'arrow::write_parquet(get(load("x.rda")), "x.parquet")'),
        ('x".sav', 'arrow::write_parquet(haven::read_sav("x\\".sav"), "x\\".parquet")'),
        ("x.por", 'arrow::write_parquet(haven::read_por("x.por"), "x.parquet")'),
    ],
)
def test_one_line_of_r_converts(name, line):
    assert r_line(name) == line


@pytest.mark.parametrize("name", ["x.rds", "x.RData", "x.rda", "x.por"])
def test_files_of_r_are_refused_with_the_line_that_converts(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x1f\x8b\x08 whatever")
    with pytest.raises(SourceError) as caught:
        open_source(str(tmp_path / name))
    assert str(r_line(name)) in str(caught.value)


def test_without_the_extra_two_ways_out_are_told(tmp_path, monkeypatch):
    openpyxl.Workbook().save(tmp_path / "x.xlsx")
    (tmp_path / "x.sav").write_bytes(b"$FL2" + bytes(200))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    for name, reader in {"x.xlsx": "readxl::read_excel", "x.sav": "haven::read_sav"}.items():
        with pytest.raises(SourceError, match=r"extra \[office\]") as caught:
            open_source(str(tmp_path / name))
        assert "pip install 'ckm-engine[office]'" in str(caught.value)
        assert reader in str(caught.value)


@pytest.mark.parametrize("name", ["x.sav", "x.dta", "x.sas7bdat", "x.xpt", "x.zsav"])
def test_what_is_only_called_an_office_file_is_damaged(tmp_path, name):
    (tmp_path / name).write_bytes(b"no such thing" * 20)
    with pytest.raises(SourceError, match="damaged, incomplete or not of its format"):
        open_source(str(tmp_path / name))


def test_files_of_several_formats_are_refused_together(tmp_path):
    openpyxl.Workbook().save(tmp_path / "x.xlsx")
    (tmp_path / "y.csv").write_text("id\n1\n")
    with pytest.raises(SourceError, match="one format"):
        open_source(str(tmp_path))


@pytest.mark.filterwarnings("ignore::tables.DataWarning")
def test_workbooks_of_a_folder_are_one_source_of_one_type(tmp_path):
    for year, numbers in {"2023": [1, 2], "2024": [1.5]}.items():
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        workbook = openpyxl.Workbook()
        for row in [["x"], *([n] for n in numbers)]:
            workbook.active.append(row)
        workbook.save(folder / "people.xlsx")
    with open_source(str(tmp_path)) as source:
        rows = source.fetch(f"SELECT year, x FROM {source.records} ORDER BY ALL")
        assert source.columns == {"x": "DOUBLE", "year": "VARCHAR"}
    assert rows == [("2023", 1.0), ("2023", 2.0), ("2024", 1.5)]
