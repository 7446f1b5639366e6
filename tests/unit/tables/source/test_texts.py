"""Texts of columns of files: what is declared, and what a copy of CSV says of itself."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables import DataError, ReadOptions, open_source


def copy(tmp_path, told, **columns):
    table = pa.table(columns).replace_schema_metadata({"ckm_csv": told})
    pq.write_table(table, tmp_path / "copy.parquet")
    return tmp_path / "copy.parquet"


def test_a_copy_says_which_texts_are_of_csv(tmp_path):
    told = json.dumps({"columns": ["v", "n"], "decimal": ","})
    with open_source(copy(tmp_path, told, v=["1,5"], n=[1], w=["2,5"])) as source:
        assert source.fetch(f"SELECT {source.number_sql('v')} FROM {source.relation}") == [
            (1.5,)
        ]
        assert source.is_number("v")
        assert not source.is_number("w")
        assert source.number_problem("w") == ("Column 'w' holds texts, no numbers.", "")


@pytest.mark.parametrize("told", ["", "{}", "[]", '{"columns": 1, "decimal": 2}', "null"])
def test_what_another_program_says_is_passed_over(tmp_path, told):
    with open_source(copy(tmp_path, told, v=["1.5"])) as source:
        assert not source.is_number("v")


def test_a_text_of_a_copy_that_is_no_number_has_a_shape_and_no_line(tmp_path):
    told = json.dumps({"columns": ["v"], "decimal": "."})
    with (
        open_source(copy(tmp_path, told, v=["1.5", "1_0"])) as source,
        pytest.raises(DataError, match="no numbers: one is of the shape '9_9'"),
    ):
        source.number_sql("v")


def test_what_is_declared_cannot_be_changed_afterwards():
    types = {"v": "text"}
    options = ReadOptions(types=types)
    types["v"] = "date"
    assert options.types == {"v": "text"}
    with pytest.raises(TypeError):
        options.types["v"] = "date"
