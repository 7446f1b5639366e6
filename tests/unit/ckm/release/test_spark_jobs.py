"""Jobs on Spark: the same files, and clear words where Spark cannot serve."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pytest

from ckm.config import read_job
from ckm.config.service.service import read_service
from ckm.demo.demo import DESIGNS, JOB, SERVICE, write_register
from ckm.engine.engine import Engine
from ckm.errors import ConfigError
from ckm.release.perturbed import release
from ckm.service.process.server import open_table_service
from ptable import NoiseSpec, solve
from tables import Secret, SourceError


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Make the register of the demonstration, once; its jobs say where they differ."""
    folder = tmp_path_factory.mktemp("demo")
    write_register(folder, persons=1000, seed=5)
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    (folder / "service.toml").write_text(SERVICE, encoding="utf-8")
    (folder / "designs.toml").write_text(DESIGNS, encoding="utf-8")
    return folder


def spark_job(folder, master, *, name="spark.toml"):
    text = (folder / "job.toml").read_text(encoding="utf-8")
    lines = f'[data]\nengine = "spark"\nmaster = "{master}"\n'
    (folder / name).write_text(text.replace("[data]\n", lines, 1), encoding="utf-8")
    return read_job(folder / name)


def files(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_demonstration_is_released_byte_for_byte_alike(demo, master, tmp_path):
    job = read_job(demo / "job.toml")
    other = spark_job(demo, master)
    assert other.data.engine == "spark"
    stages = set()
    release(job, tmp_path / "a")
    release(other, tmp_path / "b", progress=lambda stage, *_: stages.add(stage))
    ours, theirs = files(tmp_path / "a" / "public"), files(tmp_path / "b" / "public")
    assert len(ours) > 10
    assert list(ours) == list(theirs)
    assert {name for name in ours if ours[name] != theirs[name]} == set()
    assert "scan" in stages


def test_an_engine_gives_the_same_published_table(demo, master):
    ptable = solve(NoiseSpec(max_noise=3, variance=1.5))
    options = {"id": "person_id", "secret": Secret(bytes(16)), "ptable": ptable}
    asked = {"dimensions": ["sex", "age_group"]}
    with Engine(demo / "register.parquet", **options) as ours:
        wanted = ours.tabulate(**asked).to_arrow()
    with Engine(demo / "register.parquet", engine="spark", master=master, **options) as theirs:
        assert theirs.tabulate(**asked).to_arrow().equals(wanted)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('master = "local[2]"', 'master goes with engine = "spark" alone'),
        ('engine = "spark"\nmaster = "head:7077"', "'head:7077' is no master of Spark"),
        ('engine = "spark"\ntable = "people"', "Spark cannot read"),
        ('engine = "flink"', "engine"),
    ],
)
def test_what_does_not_go_with_the_engine_is_told(demo, line, problem):
    text = (demo / "job.toml").read_text(encoding="utf-8")
    file = demo / "wrong.toml"
    file.write_text(text.replace("[data]\n", f"[data]\n{line}\n", 1), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_job(file)
    assert problem in str(caught.value)


def test_a_service_on_spark_is_refused_with_a_way_out(demo):
    service = read_service(demo / "service.toml")
    data = service.job.data.changed(engine="spark")
    service = service.changed(job=service.job.changed(data=data))
    with (
        pytest.raises(ConfigError, match="memory of one machine") as caught,
        open_table_service(service),
    ):
        pass
    assert "ckm release" in str(caught.value)


def test_data_in_memory_and_unknown_engines_are_refused():
    options = {
        "id": "id",
        "secret": Secret(bytes(16)),
        "ptable": solve(NoiseSpec(max_noise=2, variance=1.0)),
    }
    with pytest.raises(ConfigError, match="data in memory"):
        Engine(pa.table({"id": [1]}), engine="spark", **options)
    with pytest.raises(ConfigError, match="'duckdb' or 'spark'"):
        Engine("people.parquet", engine="flink", **options)


def test_a_job_without_java_stops_with_a_way_out(demo, monkeypatch, tmp_path):
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(SourceError, match="needs Java 17"):
        release(spark_job(demo, "local[2]", name="java.toml"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
