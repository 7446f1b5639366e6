"""What Spark reads where this machine cannot is what it would be here, or is refused by name.

A folder of this machine stands for a store: Spark is asked as if it alone could read it.
"""

import warnings

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from footing.places import place_of
from tables import Request, RequestError, SourceError, StoredKeys, cube
from tables.source.labels import MissingCodes, labels_mark
from tables.spark.session import open_session
from tables.spark.spark import _open_far, open_spark

pytestmark = pytest.mark.slow
KEYS = StoredKeys(column="key", key_range=256)


def people(**more):
    return pa.table({"key": pa.array([1, 2, 3], pa.int64()), "sex": ["F", "M", "F"], **more})


def opened(place, master):
    url = f"file://{place}"
    return _open_far(place_of(url), url, open_session(master))


@pytest.mark.parametrize("freq", ["M", "Q", "D"])
def test_periods_are_refused_by_name_and_the_rest_is_read(tmp_path, master, freq):
    days = pd.to_datetime(["2020-01-01", "2020-02-01", "2021-01-01"])
    pq.write_table(people(month=pa.array(days.to_period(freq))), tmp_path / "p.parquet")
    with opened(tmp_path, master) as source:
        assert "month" not in source.columns
        with pytest.raises(RequestError, match=r"'month' holds periods \(") as caught:
            cube(source, KEYS, [Request(dimensions=["month"])])
        assert "write them as text" in str(caught.value)
        (cells,) = cube(source, KEYS, [Request(dimensions=["sex"])])
        assert sorted(cells.count.tolist()) == [1, 2, 3]


def test_labels_are_those_of_the_copy(tmp_path, master):
    labels, missing = {"sex": {"F": "Women"}}, {"sex": MissingCodes((("9", "9"),))}
    table = people().replace_schema_metadata(labels_mark(labels, missing, ["sex"]))
    pq.write_table(table, tmp_path / "p.parquet")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with opened(tmp_path, master) as source:
            assert source.labels == labels
            assert source.missing_codes == missing
    assert any("declares codes as missing" in str(one.message) for one in caught)


def test_a_name_behind_a_wildcard_that_is_also_a_pattern_is_refused(tmp_path, master):
    for name in ("d [v1]", "d v"):
        (tmp_path / "a" / name).mkdir(parents=True)
        pq.write_table(people(), tmp_path / "a" / name / "p.parquet")
    with pytest.raises(SourceError, match=r"'d \[v1\]' is a name there"):
        opened(tmp_path / "*" / "d [v1]", master)
    with opened(tmp_path / "*" / "d [uv]", master) as source:
        (cells,) = cube(source, KEYS, [Request(dimensions=["sex"])])
    assert sorted(cells.count.tolist()) == [1, 2, 3]


def test_a_table_of_the_catalog_is_read_by_its_name(tmp_path, master):
    pq.write_table(people(), tmp_path / "p.parquet")
    session = open_session(master)
    session.sql(f"CREATE TABLE ckm_people USING parquet LOCATION 'file://{tmp_path}'")
    try:
        with open_spark("catalog://default.ckm_people", session=session) as source:
            (cells,) = cube(source, KEYS, [Request(dimensions=["sex"])])
            ((name, state),) = source.far_files().items()
        assert sorted(cells.count.tolist()) == [1, 2, 3]
        assert name.endswith("p.parquet")
        assert state[0] == (tmp_path / "p.parquet").stat().st_size
        with pytest.raises(SourceError, match=r"no table 'catalog://default\.nobody'"):
            open_spark("catalog://default.nobody", session=session)
    finally:
        session.sql("DROP TABLE ckm_people")
