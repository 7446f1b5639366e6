"""What no file may hold is refused before anything is written."""

from __future__ import annotations

import numpy as np
import pytest

from ckm import PublishedTable
from ckm.formats import FORMATS, FormatError, to_bytes

COUNT = np.array([1, 2])
X = (np.array([0, 1], np.int32), ["a", "b"])


@pytest.mark.parametrize(
    ("dimensions", "measures", "problem"),
    [
        ({"x": X}, {}, "at least one measure"),
        ({"x": X}, {"x": COUNT}, "Two columns"),
        ({"x\ud800": X}, {"count": COUNT}, "name of a column"),
        ({"x": (X[0], ["a", "\udfff"])}, {"count": COUNT}, "category of column 'x'"),
        ({"x": (X[0], ["a", 1])}, {"count": COUNT}, "category of column 'x'"),
        ({"x": (X[0], ["a", "a"])}, {"count": COUNT}, "Categories of column 'x' repeat"),
        ({"x": (X[0], ["a"])}, {"count": COUNT}, "without a category"),
        ({"x": (X[0] - 1, ["a", "b"])}, {"count": COUNT}, "without a category"),
        ({"x": (X[0][:1], ["a"])}, {"count": COUNT}, "has 1 rows, the table 2"),
        ({"x": X}, {"count": COUNT, "weighted": np.zeros(3)}, "has 3 rows, the table 2"),
        ({"x": X}, {"count": COUNT.astype(np.int32)}, "holds int32"),
        ({"x": X}, {"count": np.array(["1", "2"])}, "holds <U1"),
        ({"x": X}, {"weighted": np.array([1.0, np.nan])}, "numbers that are none"),
        ({"x": X}, {"weighted": np.array([1.0, np.inf])}, "or infinite"),
    ],
)
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_table_that_is_none_is_refused(name, dimensions, measures, problem):
    with pytest.raises(FormatError, match=problem):
        to_bytes(PublishedTable(dimensions=dimensions, measures=measures), name)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_what_lies_under_a_mask_reaches_no_file(name):
    hidden = np.ma.array([777_123_777, 5], mask=[True, False])
    weighted = np.ma.array([np.nan, 5.5], mask=[True, False])
    table = PublishedTable(
        dimensions={"x": X}, measures={"count": hidden, "weighted": weighted}
    )
    data = to_bytes(table, name)
    assert b"777123777" not in data
    if name != "xlsx":
        assert b"nan" not in data.lower()


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_category_that_no_row_shows_reaches_no_file(name, tmp_path):
    table = PublishedTable(
        dimensions={"x": (np.array([2, 0], np.int32), ["a", "MARKER", "b"])},
        measures={"count": COUNT},
    )
    assert b"MARKER" not in to_bytes(table, name)


def test_frames_hold_no_number_under_a_mask():
    table = PublishedTable(
        dimensions={"x": X}, measures={"count": np.ma.array([777, 5], mask=[True, False])}
    )
    assert table.to_arrow()["count"].to_pylist() == [None, 5]
    assert table.to_pandas()["count"].isna().tolist() == [True, False]
    assert "777" not in repr(table) + table._repr_html_()
