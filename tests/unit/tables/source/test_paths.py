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


OTHERS = ["a1", "bx", "cx", "dx", "e", "gy", "s1", "tu", "vx", "t/u", "x"]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_of_any_name_is_read(tmp_path, ending):
    for other in OTHERS:
        write(tmp_path / f"{other}.{ending}", "other")
        write(tmp_path / other / f"p.{ending}", "other")
    files = [write(tmp_path / f"{name}.{ending}", name) for name in HARD]
    inside = [write(tmp_path / name / f"{name}.{ending}", f"in {name}") for name in HARD]
    wanted = [*HARD, *(f"in {name}" for name in HARD)]
    assert sorted(values([*files, *inside])) == sorted(wanted)
    for name in ("a[1]", "c?", "v\\*"):
        assert values(tmp_path / f"{name}.{ending}") == [name]
        assert values(str(tmp_path / name)) == [f"in {name}"]
        assert values(str(tmp_path / name / f"*.{ending}")) == [f"in {name}"]


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("root", ["x [final]", "x\\[final]"])
def test_partitions_below_any_folder_are_columns(tmp_path, ending, root):
    regions = ["[1]", "a?b", "{a,b}", "a\\b", "a\\[1]", "é [1]", "1", "a=b", "'", "#"]
    for region in regions:
        write(tmp_path / root / f"region={region}" / f"p.{ending}")
    write(tmp_path / "x f" / "region=2" / f"p.{ending}", "other")
    assert sorted(values(tmp_path / root, "region")) == sorted(regions)
    glob = str(tmp_path / root / "region=*" / f"*.{ending}")
    assert sorted(values(glob, "region")) == sorted(regions)
    write(tmp_path / root / "region=*" / f"p.{ending}")
    assert values(glob) == ["asked"]  # the folder of that name, not its neighbours


def test_a_folder_that_cannot_be_told_is_named(tmp_path):
    write(tmp_path / "re\\g[1]=A" / "p.parquet")
    with pytest.raises(SourceError, match=r"The name of the folder .* cannot be read"):
        open_source(tmp_path)


@pytest.mark.slow
def test_a_duckdb_file_of_any_name_is_read(tmp_path):
    import duckdb

    write_to = [(f"{name}.duckdb", name) for name in HARD if "\\" not in name]
    for file, value in [*write_to, ("a1.duckdb", "other"), ("gy.duckdb", "other")]:
        with duckdb.connect(str(tmp_path / file)) as connection:
            connection.execute("CREATE TABLE t AS SELECT $1 AS v", [value])
    for file, value in write_to:
        assert values(tmp_path / file) == [value]


def test_a_duckdb_file_of_another_folder_is_not_read(tmp_path):
    import duckdb

    for name in ("p.duckdb", "t/u.duckdb"):
        (tmp_path / "t").mkdir(exist_ok=True)
        with duckdb.connect(str(tmp_path / name)) as connection:
            connection.execute("CREATE TABLE t AS SELECT 1 AS v")
    (tmp_path / "p.duckdb").rename(tmp_path / "t\\u.duckdb")
    with pytest.raises(SourceError, match="holds a backslash"):
        open_source(tmp_path / "t\\u.duckdb")


def test_spill_folders_may_lie_anywhere(tmp_path, monkeypatch):
    import tempfile

    (tmp_path / "t [1]").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "t [1]"))
    assert values(write(tmp_path / "p.arrow")) == ["asked"]
    assert values(pd.DataFrame({"v": ["asked"]})) == ["asked"]


@pytest.mark.parametrize("ending", FORMATS)
def test_relative_paths_are_read_as_absolute_ones(tmp_path, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "region=A [1]" / f"~p.{ending}")
    assert values(f"*/*.{ending}", "region") == ["A [1]"]
    assert values(".", "region") == ["A [1]"]
    write(tmp_path / f"~p.{ending}")
    assert values(f"~p.{ending}") == ["asked"]
    assert values(f"~?.{ending}") == ["asked"]


def test_a_duckdb_file_of_a_tilde_is_read(tmp_path, monkeypatch):
    import duckdb

    monkeypatch.chdir(tmp_path)
    with duckdb.connect(str(tmp_path / "~p.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'asked' AS v")
    assert values("~p.duckdb") == ["asked"]


def test_a_copy_is_written_where_it_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_source(pd.DataFrame({"v": ["asked"]})) as source:
        for name in ("~c.parquet", "c[1].parquet", "c*.parquet"):
            source.copy(f"SELECT * FROM {source.relation}", {}, name)
            assert values(tmp_path / name) == ["asked"]
