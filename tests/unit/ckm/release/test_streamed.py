"""A release whose tables are computed part by part."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import read_job
from ckm.engine.engine import Engine
from ckm.errors import ConfigError
from ckm.release.perturbed import release
from ptable import Mechanism, NoiseSpec, solve

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[output]
formats = ["csv", "parquet"]
csv_formulas = "escape"
{stream}
[hierarchies]
geo = ["region", "commune"]
[[table]]
name = "places"
dimensions = ["geo", "sex"]
[[table]]
name = "ages"
dimensions = ["age"]
empty_cells = "grid"
"""

MEDIAN = '[[table]]\nname = "m"\ndimensions = ["sex"]\nmeasures = ["median:age"]'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    region = rng.integers(1, 4, 500)
    people = {
        "person_id": range(500),
        "region": [f"={r}" for r in region],
        "commune": [f"R{r}C{c}" for r, c in zip(region, rng.integers(1, 9, 500), strict=True)],
        "sex": rng.choice(["F", "M"], 500).tolist(),
        "age": rng.integers(0, 9, 500),
    }
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    solve(NoiseSpec(max_noise=4, variance=3.0, small=1)).write(tmp_path / "pt.parquet")
    (tmp_path / "secret.key").write_text("a secret of sixteen bytes or more")
    (tmp_path / "secret.key").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def job(folder, stream):
    (folder / "job.toml").write_text(JOB.format(stream=stream))
    return read_job(folder / "job.toml")


def test_streamed_files_are_those_of_tables_in_memory(folder, monkeypatch):
    parts = Engine.protect_parts
    monkeypatch.setattr(parts, "__kwdefaults__", parts.__kwdefaults__ | {"most": 9})
    release(job(folder, ""), "whole")
    done = release(job(folder, "stream = true"), "streamed")
    files = [
        path for path in (folder / "whole" / "public").iterdir() if path.stem != "manifest"
    ]
    tables = [path for path in files if path.suffix in {".csv", ".parquet"}]
    assert len(tables) > 3
    for path in tables:
        assert (folder / "streamed" / "public" / path.name).read_bytes() == path.read_bytes()
    assert done.cells == sum(
        pq.read_metadata(path).num_rows for path in tables if path.suffix == ".parquet"
    )
    report = (folder / "streamed" / "internal" / "report-internal.en.html").read_text()
    assert "was streamed" in report


def test_a_streamed_part_counts_cells_as_its_table_does(folder):
    Mechanism.rounding(20).build().write("pt.parquet", overwrite=True)  # many zeros, not listed
    release(job(folder, "stream = true"), "out")  # one part beside the totals
    report = " ".join((folder / "out/internal/report-internal.en.html").read_text().split())
    table = pq.read_table(folder / "out/public/places.parquet").to_pandas()
    part = (table["region"] != "Total").sum()
    assert f"one part of it, {part:,} of {len(table):,} cells" in report


def test_rows_on_disk_are_gone_at_once_where_a_streamed_table_cannot_be_written(
    folder, monkeypatch
):
    (folder / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder / "temporary"))

    def refuse(*_given, **_more):
        assert list((folder / "temporary").glob("ckm-spill-*/rows/*"))
        raise ConfigError("No room.")

    monkeypatch.setattr("ckm.release.files.table_files.TableFiles.write", refuse)
    with pytest.raises(ConfigError, match="No room") as caught:
        release(job(folder, "stream = true"), "out")
    assert caught.value is not None  # its traceback holds what was under way
    assert not list((folder / "temporary").glob("ckm-spill-*/rows"))


def test_a_streamed_release_that_stops_leaves_nothing(folder, monkeypatch):
    def stop(*_given, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr("ckm.engine.streamed_table.TableSpool.table", stop)
    before = {path.name for path in folder.iterdir()} | {"job.toml"}
    with pytest.raises(KeyboardInterrupt):
        release(job(folder, "stream = true"), "out")
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    "line", ["additive = true", MEDIAN, '[ledger]\npath = "ledger.db"\nthreshold = 2']
)
def test_what_needs_whole_tables_is_refused(folder, line):
    with pytest.raises(ConfigError, match=r"stream = true.* does not go with"):
        release(job(folder, f"stream = true\n{line}"), "out")
    assert not (folder / "out").exists()
