"""The file that is named is the file that is read, whatever signs its path holds."""

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather

from tables import SourceError, open_source
from tests.unit.footing.test_places import HARD

FORMATS = {
    "parquet": lambda frame, file: frame.to_parquet(file),
    "csv": lambda frame, file: frame.to_csv(file, index=False),
    "csv.gz": lambda frame, file: frame.to_csv(file, index=False),
    "arrow": lambda frame, file: feather.write_feather(
        pa.Table.from_pandas(frame), str(file), compression="uncompressed"
    ),
}


def write(path, value="asked"):
    path.parent.mkdir(parents=True, exist_ok=True)
    ending = path.name.partition(".")[2]
    FORMATS[ending](pd.DataFrame({"v": [value]}), path)
    return path


def values(data, column="v", **options):
    with open_source(data, **options) as source:
        return [row[0] for row in source.fetch(f"SELECT {column} FROM {source.relation}")]


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("name", HARD)
def test_a_file_and_a_folder_of_any_name_are_read(tmp_path, name, ending):
    for other in ["a1", "bx", "cx", "dx", "e", "gy", "s1", "tu", "vx", "t/u", "x"]:
        write(tmp_path / f"{other}.{ending}", "other")
        write(tmp_path / other / f"p.{ending}", "other")
    file = write(tmp_path / f"{name}.{ending}")
    inside = write(tmp_path / name / f"{name}.{ending}")
    assert values(file) == ["asked"]
    assert values(str(inside)) == ["asked"]
    assert values([file, inside]) == ["asked", "asked"]
    assert values(tmp_path / name) == ["asked"]
    assert values(str(tmp_path / name / f"*.{ending}")) == ["asked"]


@pytest.mark.parametrize("value", ["[1]", "*", "a?b", "{a,b}", "a\\b", "a\\[1]", "é [1]"])
@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize("root", ["x [final]", "x\\[final]"])
def test_partitions_below_any_folder_are_columns(tmp_path, value, ending, root):
    write(tmp_path / root / f"region={value}" / f"p.{ending}")
    write(tmp_path / root / "region=1" / f"p.{ending}")
    write(tmp_path / "x f" / "region=2" / f"p.{ending}", "other")
    assert sorted(values(tmp_path / root, "region")) == sorted([value, "1"])
    glob = str(tmp_path / root / "region=*" / f"*.{ending}")
    assert set(values(glob, "region")) == {value, "1"} if value != "*" else {"*"}
    assert values(str(tmp_path / root / "region=1"), "v") == ["asked"]


def test_a_folder_that_cannot_be_told_is_named(tmp_path):
    write(tmp_path / "re\\g[1]=A" / "p.parquet")
    with pytest.raises(SourceError, match=r"The name of the folder .* cannot be read"):
        open_source(tmp_path)


@pytest.mark.parametrize("name", HARD)
def test_a_duckdb_file_of_any_name_is_read(tmp_path, name):
    import duckdb

    for file, value in ((f"{name}.duckdb", "asked"), ("a1.duckdb", "other")):
        with duckdb.connect(str(tmp_path / file)) as connection:
            connection.execute(f"CREATE TABLE t AS SELECT '{value}' AS v")
    assert values(tmp_path / f"{name}.duckdb") == ["asked"]


def test_spill_folders_may_lie_anywhere(tmp_path, monkeypatch):
    import tempfile

    (tmp_path / "t [1]").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "t [1]"))
    assert values(write(tmp_path / "p.arrow")) == ["asked"]
    assert values(pd.DataFrame({"v": ["asked"]})) == ["asked"]
