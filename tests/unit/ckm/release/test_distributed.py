"""A release whose tables workers write: what it refuses, what it leaves, what it says."""

from __future__ import annotations

import json
import logging
import re

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from lxml import html as parser

from ckm.cli import app
from ckm.config import read_job
from ckm.engine import distributed
from ckm.engine.engine import Engine
from ckm.errors import CheckFailedError, ConfigError, ReleaseError
from ckm.ledger import ThinDifferenceError
from ckm.release.perturbed import release
from ckm.release.run import ReleaseRun
from tables import open_source
from tables.spark import spark
from tests.environments.spark_cluster import people, rows
from tests.strategies import worked_ptable

JOB = """
schema = 1
title = "People"
[data]
path = "people.parquet"
id = "person"
weight = "w"
{engine}
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[hierarchies]
geo = ["region", "area"]
[output]
formats = ["parquet"]
unit = "persons"
{place}
[[table]]
name = "places"
dimensions = ["geo", "sex", "age"]
measures = ["count", "weighted"]
[[table]]
name = "old"
dimensions = ["geo"]
margins = "none"
where = "age > 20"
"""
SPARK = 'engine = "spark"\nmaster = "{}"'
LOCAL = SPARK.format("local[2]")
STORE = "s3://bucket/tables"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    pq.write_table(people(), tmp_path / "people.parquet")
    worked_ptable().write(tmp_path / "pt.parquet")
    (tmp_path / "secret.key").write_text("a secret of sixteen bytes or more")
    (tmp_path / "secret.key").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def store(monkeypatch):
    """Let DuckDB stand in for Spark, and a dictionary of folders for a store."""
    found = {}

    def opened(path, *, master, settings, session):
        assert master == "local[2]"
        assert not settings
        assert session is None
        source = open_source(path)

        def write(sql, parameters, place, *, change, columns, order, progress):
            progress(0.5)
            parts = source.arrow(sql, parameters).to_batches(max_chunksize=100)
            made = [change(pa.Table.from_batches([part])) for part in parts]
            made = pa.concat_tables(made) if made else pa.table({"count": []})
            if place is not None:
                assert place not in found
                found[place] = made
            return made.num_rows

        def listed(place=None):
            states = {
                f"{at}/part-0.parquet": (t.nbytes, "2027", "x") for at, t in found.items()
            }
            return {n: s for n, s in states.items() if place and n.startswith(f"{place}/")}

        def store_rows(made, place):
            assert place not in found
            found[place] = made

        source.write_changed, source.far_files = write, listed
        source.write_rows = store_rows
        return source

    monkeypatch.setattr(spark, "open_spark", opened)
    monkeypatch.setattr(distributed, "SparkSource", object)
    return found


def job(folder, *, place=STORE, engine=LOCAL, add=""):
    text = JOB.format(engine=engine, place=place and f'place = "{place}"')
    (folder / "job.toml").write_text(text + add)
    return read_job(folder / "job.toml")


def manifest(folder, part):
    return json.loads((folder / part / "manifest.json").read_text())


def test_tables_on_the_store_are_those_of_one_machine_and_the_manifest_lists_them(
    folder, store
):
    stages = set()
    done = release(job(folder), "out", progress=lambda stage, *_: stages.add(stage))
    release(job(folder, place="", engine=""), "own")
    assert done.cells == sum(table.num_rows for table in store.values()) > 1000
    assert {"table places", "table old"} <= stages
    for name in ("places", "old"):
        own = pq.read_table(folder / "own" / "public" / f"{name}.parquet")
        assert rows(store[f"{STORE}/out/{name}"]) == rows(own)
    told, public = manifest(folder / "out", "internal"), manifest(folder / "out", "public")
    file = {"file": f"{STORE}/out/old/part-0.parquet", "sha256": "", "modified": "2027"}
    size = store[f"{STORE}/out/old"].nbytes
    assert told["written"][f"{STORE}/out/old"] == [file | {"bytes": size, "etag": "x"}]
    assert [table["cells"] for table in told["tables"]] == [
        store[f"{STORE}/out/{name}"].num_rows for name in ("places", "old")
    ]
    assert {"job", "inputs", "ptable", "versions", "times"} <= set(told)
    assert public["title"] == "People"
    assert public["words"]["old.en"]["unit"] == "persons"
    own = manifest(folder / "own", "public")
    for mine, theirs in zip(public["tables"], own["tables"], strict=True):
        assert mine | {"files": []} == theirs | {"files": []}
    first = folder / "out" / "public" / "index.html"
    for file in (first, first.with_name("manifest.json")):
        assert "bucket" not in file.read_text()
    assert [file["file"] for file in public["report"]] == ["index.html", "index.fr.html"]
    page = parser.document_fromstring(first.read_bytes())
    assert "in a folder of its name" in page.text_content()
    assert len(page.xpath("//table[@id='tables']/tbody/tr")) == len(public["tables"])


def test_a_check_and_a_dry_run_make_the_tables_and_write_nothing(folder, store):
    steps = []
    run = ReleaseRun(job(folder), is_kept=False)
    run.rehearse(step=lambda _, text: steps.append(text))
    assert not store
    assert "the release can be made: " in steps[-1]
    cells = release(job(folder), "out", dry_run=True).cells
    assert f"{cells:,} cells" in steps[-1]
    assert not store
    assert not (folder / "out").exists()


def test_a_run_that_fails_names_what_it_left_and_the_next_one_finds_it(
    folder, store, monkeypatch, caplog
):
    good = job(folder)
    gone = good.table[1].request.__class__(dimensions=["geo"], where="age > 900")
    monkeypatch.setitem(good.table[1].__dict__, "request", gone)
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(ConfigError, match="'old' has no cells"),
    ):
        release(good, "out")
    ours = f"unless another run writes there, remove {STORE}/out/places, {STORE}/out/old"
    assert ours in caplog.text
    assert not (folder / "out").exists()
    for force in (False, True):
        with pytest.raises(ReleaseError, match=f"files in '{STORE}/out'"):
            release(job(folder), "out", force=force)
    assert list(store) == [f"{STORE}/out/places", f"{STORE}/out/old"]
    release(job(folder), "again")
    assert f"{STORE}/again/old" in store


def test_a_table_that_stops_in_the_middle_is_named(folder, store, monkeypatch, caplog):
    def stop(*_given, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(Engine, "write_distributed", stop)
    for dry in (False, True):
        caplog.clear()
        with pytest.raises(KeyboardInterrupt):
            release(job(folder), "out", dry_run=dry)
        assert (f"remove {STORE}/out/places" in caplog.text) is not dry
    assert not (folder / "out").exists()


def test_a_run_that_cannot_keep_its_folder_names_what_it_left(
    folder, store, monkeypatch, caplog
):
    def fail(*_given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ckm.release.files.output_folder.flush_files", fail)
    with pytest.raises(ReleaseError, match="disk is full"):
        release(job(folder), "out")
    assert f"remove {STORE}/out/places" in caplog.text


def test_a_failed_dry_run_left_nothing_and_says_nothing_of_it(folder, store, caplog):
    store[f"{STORE}/out/x"] = pa.table({"a": [1]})
    with pytest.raises(ReleaseError, match="files in"):
        release(job(folder), "out", dry_run=True)
    assert "remove" not in caplog.text


LEDGER = '[ledger]\npath = "ledger.db"\n'
SAFE = (
    LEDGER
    + """
[report.limits]
aad = 50.0
[categories]
sex = ["F", "M", "X"]
[[magnitude]]
unit = { en = "years", fr = "ans" }
period = "2027"
[[table]]
name = "sums"
dimensions = ["sex"]
measures = ["count", "sum:age", "mean:age"]
[[table]]
name = "grid"
dimensions = ["sex", "count"]
empty_cells = "grid"
"""
)


def test_with_a_ledger_cells_come_here_and_workers_store_what_becomes_of_them(folder, store):
    done = release(job(folder, add=SAFE), "out")
    (folder / "ledger.db").rename(folder / "first.db")
    release(job(folder, place="", engine="", add=SAFE), "own")
    assert done.cells == sum(table.num_rows for table in store.values())
    for name in ("places", "old", "sums", "grid"):
        own = pq.read_table(folder / "own" / "public" / f"{name}.parquet")
        assert rows(store[f"{STORE}/out/{name}"]) == rows(own)
    files = {path.name for path in (folder / "out" / "public").iterdir()}
    assert {"manifest.json", "report.json"} <= files
    assert not {name for name in files if name.endswith(".parquet")}
    told, public = manifest(folder / "out", "internal"), manifest(folder / "out", "public")
    own = manifest(folder / "own", "internal")
    assert told["ledger"]["entries"] == own["ledger"]["entries"]
    assert set(told["written"]) == set(store)
    assert public["words"]["old.en"]["unit"] == "persons"
    assert "bucket" not in json.dumps(public)


def test_a_thin_difference_is_refused_before_workers_write(folder, store):
    release(job(folder, add=LEDGER), "out")
    count, older = len(store), people().filter(pc.field("age") > 20)
    but_one = f"age > 20 and w < {max(older['w'].to_pylist())}"
    text = (folder / "job.toml").read_text()
    (folder / "job.toml").write_text(text.replace("age > 20", but_one))
    with pytest.raises(ThinDifferenceError):
        release(read_job(folder / "job.toml"), "thin")
    assert len(store) == count
    assert not (folder / "thin").exists()


def test_more_cells_than_this_machine_holds_are_refused_with_what_needs_them(
    folder, store, monkeypatch
):
    monkeypatch.setattr("ckm.release.opening._MOST_CELLS", 100)
    with pytest.raises(ConfigError, match=r"'places' has more than 100 cells.* \[ledger\]"):
        release(job(folder, add=LEDGER), "out")
    assert not store
    release(job(folder), "out")  # without a ledger they stay where they are
    assert len(store) == 2


def test_tables_that_are_rounded_are_stored_too(folder, store):
    job(folder)
    text = (folder / "job.toml").read_text().replace(', "weighted"]', "]")
    text = text.replace('[ptable]\npath = "pt.parquet"', "[rounding]\nbase = 5")
    (folder / "job.toml").write_text(text)
    release(read_job(folder / "job.toml"), "out")
    numbers = store[f"{STORE}/out/old"]["count"].to_pylist()
    assert {n % 5 for n in numbers} == {0}


OWN_NOISE = '[ptable]\npath = "pt.parquet"'
AMOUNTS = """
[[magnitude]]
unit = { en = "years", fr = "ans" }
period = "2027"
[[table]]
name = "more"
dimensions = ["sex", "region"]
measures = ["count", MEASURES]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "add"),
    [
        (
            {
                OWN_NOISE: "[suppression]\nthreshold = 3\np_percent = 10.0",
                'weight = "w"\n': "",
                ', "weighted"': "",
            },
            AMOUNTS.replace("MEASURES", '"sum:age"'),
        ),
        ({OWN_NOISE: "[suppression]\nthreshold = 3"}, LEDGER),
        ({"[output]": "[output]\nadditive = true", ', "weighted"': ""}, ""),
        ({"[output]": "[output]\npublish_noise = true"}, ""),
        ({'geo = ["region", "area"]': 'area = "tree.csv"', '["geo"]': '["area"]'}, ""),
        (
            {'weight = "w"\n': "", ', "weighted"': ""},
            AMOUNTS.replace("MEASURES", '"median:age", "quantile:age:0.9"'),
        ),
    ],
    ids=["largest", "suppression", "additive", "noise", "tree", "quantiles"],
)
def test_methods_that_need_whole_tables_come_here_and_are_stored(
    folder, store, monkeypatch, changes, add
):
    halves = [("", ""), ("low", ""), ("high", "")]
    halves += [(str(area), "low" if area < 5 else "high") for area in range(1, 9)]
    lines = "".join(f"{code},{parent}\n" for code, parent in halves[1:])
    (folder / "tree.csv").write_text("code,parent\n" + lines)

    def job_of(**options):
        job(folder, add=add, **options)
        text = (folder / "job.toml").read_text()
        for old, new in {'"geo", "sex", "age"': '"region", "sex"', **changes}.items():
            assert old in text
            text = text.replace(old, new)
        (folder / "job.toml").write_text(text)
        return read_job(folder / "job.toml")

    done = release(job_of(), "out")
    (folder / "ledger.db").unlink(missing_ok=True)
    release(job_of(place="", engine=""), "own")
    assert done.cells == sum(table.num_rows for table in store.values()) > 0
    for place, stored in store.items():
        own = pq.read_table(folder / "own" / "public" / f"{place.rpartition('/')[2]}.parquet")
        assert stored.column_names == own.column_names
        assert rows(stored) == rows(own)
    assert set(manifest(folder / "out", "internal")["written"]) == set(store)
    monkeypatch.setattr("ckm.release.opening._MOST_CELLS", 4)
    with pytest.raises(ConfigError, match="has more than 4 cells"):
        release(job_of(), "again")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('["parquet"]', '["parquet", "csv"]', "the format 'csv'"),
        ('formats = ["parquet"]', "", "the format 'csv'"),
        ("unit", "stream = true\nunit", "stream = true"),
        (LOCAL, "", "engine = .*duckdb"),
    ],
)
def test_ckm_check_and_ckm_release_refuse_alike(folder, old, new, what):
    job(folder)
    text = (folder / "job.toml").read_text()
    assert old in text
    (folder / "job.toml").write_text(text.replace(old, new))
    said = []
    for words in (["check", "job.toml", "--quick"], ["release", "job.toml", "-o", "out"]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        said.append(re.sub(r"\s+", " ", done.stderr))
        assert re.search(f"place under .* cannot be used.*{what}", said[-1])
    assert said[0][said[0].index("place under") :] == said[1][said[1].index("place under") :]
    assert not (folder / "out").exists()


def test_formats_of_the_command_are_refused_too(folder, store):
    with pytest.raises(ConfigError, match="the format 'px'"):
        release(job(folder), "out", formats=["px"])


@pytest.mark.parametrize(
    "place",
    [
        "tables",
        "ftp://a/b",
        "s3://",
        "s3://b/*",
        "s3://u:geheim@b/c",
        "s3://b/c/",
        "catalog://a.b",
    ],
)
def test_a_place_that_cannot_be_is_refused_and_not_echoed(folder, place):
    with pytest.raises(ConfigError, match=r"\[output\] place names no folder") as caught:
        job(folder, place=place)
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    "place",
    [
        "s3a://b",
        "HDFS://h:8020/a-b",
        "abfss://c@d.dfs.core.windows.net/x",
        "file:///a",
        "dbfs:/a",
    ],
)
def test_places_of_clusters_are_taken_as_they_are(folder, place):
    assert job(folder, place=place).output.place == place


@pytest.mark.parametrize(
    ("place", "data"),
    [
        ("s3://bucket/people", "s3://bucket/people"),
        ("s3a://bucket/people/tables", "s3://bucket/people"),
        ("s3://bucket/tables", "s3://bucket/*/*/*/*.parquet"),
        ("s3://bucket/tables", "s3a://bucket/tables/*/places"),
    ],
)
def test_a_place_among_the_records_is_refused(folder, place, data):
    text = JOB.format(engine=LOCAL, place=f'place = "{place}"')
    (folder / "job.toml").write_text(text.replace("people.parquet", data))
    with pytest.raises(ReleaseError, match="would be read as data"):
        release(read_job(folder / "job.toml"), "out")


@pytest.mark.parametrize("name", ["a*", "a?", "[a]", "{a,b}", "a:b", "a\\b"])
def test_a_name_that_spark_would_read_otherwise_is_refused_before_any_record(
    folder, store, monkeypatch, name
):
    monkeypatch.setattr(spark, "open_spark", None)
    with pytest.raises(ReleaseError, match="signs that stand for others"):
        release(job(folder), name)
    assert not (folder / name).exists()


def test_a_public_manifest_with_the_secret_is_not_published(folder, store):
    said = job(folder)
    words = (
        (folder / "job.toml")
        .read_text()
        .replace("persons", "a secret of sixteen bytes or more")
    )
    (folder / "job.toml").write_text(words)
    with pytest.raises(CheckFailedError, match="the public manifest would hold"):
        release(read_job(said.path), "out")
    assert not (folder / "out").exists()


def test_the_cluster_writes_what_one_machine_releases_and_no_cell_comes_back(
    folder, master, monkeypatch
):
    from pyspark.sql.classic.dataframe import DataFrame

    largest, to_arrow = [], DataFrame.toArrow

    def fetched(frame):
        answer = to_arrow(frame)
        largest.append(answer.num_rows)
        return answer

    monkeypatch.setattr(DataFrame, "toArrow", fetched)
    far = job(folder, place=f"file://{folder}/store", engine=SPARK.format(master))
    done = release(far, "out")
    assert max(largest) <= 256 < done.cells  # of the look at the keys
    release(job(folder, place="", engine=""), "own")
    for name in ("places", "old"):
        own = pq.read_table(folder / "own" / "public" / f"{name}.parquet")
        assert rows(pq.read_table(folder / "store" / "out" / name)) == rows(own)
    told = manifest(folder / "out", "internal")
    assert told["versions"]["pyspark"].startswith("4.")
    assert "pyspark" not in manifest(folder / "own", "internal")["versions"]
    listed = told["written"]
    sizes = {p.name: p.stat().st_size for p in (folder / "store").rglob("*.parquet")}
    files = [file for each in listed.values() for file in each]
    assert {f["file"].rpartition("/")[2]: f["bytes"] for f in files} == sizes
