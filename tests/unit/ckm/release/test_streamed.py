"""A release whose tables are computed part by part."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from ckm.config import read_job
from ckm.engine.engine import Engine
from ckm.errors import ConfigError
from ckm.ledger import Ledger
from ckm.ledger.errors import ThinDifferenceError
from ckm.release.perturbed import release
from ptable import Mechanism, NoiseSpec, solve
from tables import Secret

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
        "income": rng.integers(100, 9_000, 500),
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
    assert figures("streamed") == figures("whole")


def figures(out):
    """Return what both reports say but for when and how they were made."""
    files = sorted(Path(out).glob("*/report*.json"))
    assert len(files) == 2
    return [
        {n: f for n, f in json.loads(file.read_text()).items() if n != "reproduction"}
        for file in files
    ]


AMOUNTS = """
[[table]]
name = "incomes"
dimensions = ["geo", "sex"]
measures = ["count", "sum:income", "mean:income"]
[[magnitude]]
name = "income"
named_cells = [{ commune = "R1C1", sex = "F" }]
"""


def test_streamed_sums_with_a_ledger_have_the_files_report_and_sets_of_whole_ones(
    folder, monkeypatch
):
    parts = Engine.protect_parts
    monkeypatch.setattr(parts, "__kwdefaults__", parts.__kwdefaults__ | {"most": 9})
    for out, stream in (("whole", ""), ("streamed", "stream = true")):
        ledger = f'[ledger]\npath = "{out}.db"\nthreshold = 2\npolicy = "flag"\n'
        release(job(folder, f"{stream}\n{ledger}{AMOUNTS}"), out)
    for path in (folder / "whole" / "public").glob("*.parquet"):
        assert (folder / "streamed" / "public" / path.name).read_bytes() == path.read_bytes()
    assert figures("streamed") == figures("whole")
    manifests = [
        json.loads((folder / out / "internal" / "manifest.json").read_text())["ledger"]
        for out in ("whole", "streamed")
    ]
    assert manifests[0]["entries"] == manifests[1]["entries"]
    assert manifests[0]["counts_of_a_record"] == manifests[1]["counts_of_a_record"]
    secret = Secret.from_file(folder / "secret.key")
    with (
        Ledger.open(folder / "whole.db", secret=secret, threshold=2) as one,
        Ledger.open(folder / "streamed.db", secret=secret, threshold=2) as other,
    ):
        assert one.sets == other.sets > 0


def test_a_streamed_table_is_refused_by_the_ledger_of_one_that_it_is_near(folder):
    ledger = '[ledger]\npath = "ledger.db"\nthreshold = 2\n'
    text = JOB.format(stream=f"stream = true\n{ledger}")
    (folder / "job.toml").write_text(text)
    release(read_job(folder / "job.toml"), "first")
    (folder / "job.toml").write_text(
        text.replace('["age"]', '["age"]\nwhere = "commune <> \'R1C1\'"')
    )
    people = pq.read_table("people.parquet")
    rare = pc.equal(people["commune"], "R1C1")
    places = np.flatnonzero(rare.to_numpy())[1:]  # one person is left there
    keep = np.ones(len(people), bool)
    keep[places] = False
    pq.write_table(people.filter(pa.array(keep)), "people.parquet")
    with pytest.raises(ThinDifferenceError):
        release(read_job(folder / "job.toml"), "second")
    assert not (folder / "second").exists()


def test_one_part_of_a_large_streamed_table_is_assessed(folder, monkeypatch):
    monkeypatch.setattr("ckm.release.noise_review._MOST_ASSESSED", 9)
    release(job(folder, "stream = true"), "out")
    report = (folder / "out" / "internal" / "report-internal.en.html").read_text()
    assert "was streamed" in report


def test_a_streamed_part_counts_cells_as_its_table_does(folder, monkeypatch):
    monkeypatch.setattr("ckm.release.noise_review._MOST_ASSESSED", 1)
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
    ("line", "reason"),
    [("additive = true", "changes the counts"), (MEDIAN, "A quantile is found in the values")],
)
def test_what_needs_whole_tables_is_refused_with_its_reason(folder, line, reason):
    with pytest.raises(ConfigError, match=f"stream = true.* does not go with .*{reason}"):
        release(job(folder, f"stream = true\n{line}"), "out")
    assert not (folder / "out").exists()
