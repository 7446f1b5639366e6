"""Files of categories: their codes are texts, blank lines are no codes, and they are named."""

import warnings

import pandas as pd
import pytest

from tables import (
    DataWarning,
    Request,
    RequestError,
    SourceError,
    StoredKeys,
    cube,
    open_source,
)
from tables.source.source import read_categories
from tests.strategies import decode

BLANK = "The file 'v.csv' of categories has blank lines, which are left out."


def listed(folder, text, columns=("v",), name="v.csv"):
    (folder / name).write_text(text, newline="")
    return read_categories(folder / name, columns)


@pytest.mark.parametrize(
    "text",
    [
        "v\nx\n\ny\n",
        "v\nx\ny\n\n\n",
        "v\n\nx\ny",
        "v\nx\n  \ny\n",
        'v\nx\n""\ny\n',
        "v\r\nx\r\n\r\ny\r\n",
    ],
)
def test_a_blank_line_is_no_category_and_is_told(tmp_path, text):
    with pytest.warns(DataWarning, match=BLANK):
        assert listed(tmp_path, text) == ["x", "y"]


def test_a_row_of_nothing_is_a_blank_line_in_several_columns_too(tmp_path):
    with pytest.warns(DataWarning, match=BLANK):
        assert listed(tmp_path, "r,v\n1,x\n,\n\n1,y\n", ("r", "v")) == [("1", "x"), ("1", "y")]
    with pytest.raises(SourceError, match=r"'v.csv' has rows without a category in 'r' or 'v'"):
        listed(tmp_path, "r,v\n1,x\n1,\n", ("r", "v"))


def test_a_file_of_blank_lines_lists_nothing(tmp_path):
    with pytest.raises(SourceError, match=r"'v.csv' lists no category"):
        listed(tmp_path, "v\n\n\n")


def test_a_missing_value_of_parquet_is_refused_by_name(tmp_path):
    pd.DataFrame({"v": ["x", None]}).to_parquet(tmp_path / "v.parquet")
    with pytest.raises(SourceError, match=r"'v.parquet' has rows without a category in 'v'"):
        read_categories(tmp_path / "v.parquet", ["v"])
    pd.DataFrame({"v": ["x", " "]}).to_parquet(tmp_path / "v.parquet")
    assert read_categories(tmp_path / "v.parquet", ["v"]) == ["x", " "]


def test_codes_are_texts_whatever_they_look_like(tmp_path):
    codes = ["01", "1", "1.0", "1e2", "100", "+1", "10.10", "2020-01-01", "0_4", "true"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert listed(tmp_path, "v\n" + "\n".join(codes)) == codes
        assert listed(tmp_path, "v\n1\n2\n10\n") == ["1", "2", "10"]


@pytest.mark.parametrize("values", [[1, 10], [1.0, 10.0], ["1", "10"]])
def test_codes_of_a_file_match_the_data_by_their_text(tmp_path, values):
    keys = StoredKeys(column="key", key_range=256)
    frame = pd.DataFrame({"v": values, "key": [1, 2]})
    (tmp_path / "v.csv").write_text("v\n1\n2\n10\n")
    declared = read_categories(tmp_path / "v.csv", ["v"])
    with open_source(frame) as source:
        request = Request(dimensions=["v"], categories={"v": declared}, margins="none")
        cells = decode(cube(source, keys, [request])[0])
    assert {name: cell[0] for name, cell in cells.items()} == {("1",): 1, ("10",): 1}


def test_a_column_that_is_not_there_names_the_file_of_categories(tmp_path):
    with pytest.raises(
        RequestError, match=r"'v.csv' has no column 'zone'; it has 'zones'."
    ) as e:
        listed(tmp_path, "zones\nx\n", ("zone",))
    assert e.value.hint == "did you mean 'zones'?"
