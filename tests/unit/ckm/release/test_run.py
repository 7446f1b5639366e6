"""What a release says of its inputs: hashes, or sizes and times."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3

import pandas as pd
import pytest

from ckm.config import read_job
from ckm.errors import ReleaseError
from ckm.release.perturbed import release as release_noise
from ckm.release.run import InputFiles
from ckm.release.suppressed import release_true_numbers
from reports.facts.release import StatedFile


def test_large_and_far_files_are_stated_and_not_hashed(tmp_path):
    (tmp_path / "small").write_bytes(b"abc")
    (tmp_path / "large").write_bytes(b"abcd")
    far = {"s3a://b/x.parquet": (7, "2027-01-01T00:00:00+00:00", "e1")}
    inputs = InputFiles({tmp_path / n: n for n in ("large", "small")}, most=3)
    inputs.include(lambda: dict(far))
    small, large, other = inputs.record(lambda *_: None)
    assert small.sha256 == hashlib.sha256(b"abc").hexdigest()
    assert isinstance(large, StatedFile)
    assert (large.file, large.bytes, large.sha256) == ("large", 4, "")
    assert (large.etag, large.modified[:2]) == ("", "20")
    assert other.file == "s3a://b/x.parquet"
    assert (other.bytes, other.modified, other.etag) == far[other.file]
    inputs.require_rest()
    for state in ((7, "2027-01-02T00:00:00+00:00", "e1"), (7, other.modified, "e2")):
        far["s3a://b/x.parquet"] = state
        with pytest.raises(ReleaseError, match="changed while it was being read"):
            inputs.require_rest()


# --- the file that is named is the file that is hashed and read ---------------------------


JOB = """
schema = 1
data = {{ {data}, id = "id" }}
keys = {{ secret = "secret.key" }}
{method}
[[table]]
name = "all"
dimensions = ["v"]
"""
NOISE = "ptable = { max_noise = 2, variance = 1.0 }"


def people(value, first=0):
    return pd.DataFrame({"id": range(first, first + 300), "v": value})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.key").write_text("0123456789abcdef0123456789abcdef")
    (tmp_path / "secret.key").chmod(0o600)
    return tmp_path


def job(folder, data, method=NOISE):
    (folder / "job.toml").write_text(JOB.format(data=data, method=method))
    return read_job(folder / "job.toml")


def released(folder, data, method=NOISE, name="out"):
    """Release; return the categories, and each input with its digest."""
    make = release_true_numbers if "suppression" in method else release_noise
    make(job(folder, data, method), folder / name)
    table = pd.read_csv(folder / name / "public" / "all.csv", dtype=str)
    manifest = json.loads((folder / name / "internal" / "manifest.json").read_bytes())
    return {*table["v"]} - {"Total"}, {f["file"]: f["sha256"] for f in manifest["inputs"]}


@pytest.mark.parametrize(
    "method", [NOISE, "rounding = { base = 5 }", "suppression = { threshold = 3 }"]
)
@pytest.mark.parametrize(
    ("named", "beside"),
    [
        ("a[1].parquet", "a1.parquet"),
        ("d [v1]", "d v"),
        ("d [v1]/p.parquet", "d v/p.parquet"),
        ("d [v1]/*.parquet", "d v/p.parquet"),
    ],
)
def test_the_digest_is_of_the_file_that_is_named_and_read(folder, named, beside, method):
    for path, value in ((named, "asked"), (beside, "other")):
        file = folder / (path.replace("*", "p") if "." in path else f"{path}/p.parquet")
        file.parent.mkdir(exist_ok=True)
        people(value).to_parquet(file)
    read = folder / (named.replace("*", "p") if "." in named else f"{named}/p.parquet")
    found, digests = released(folder, f'path = "{named}"', method)
    assert found == {"asked"}
    name = str(read.relative_to(folder))
    assert digests == {name: hashlib.sha256(read.read_bytes()).hexdigest()}


def exchange(file, way):
    """Let another file of the same size and time take the name."""
    at = file.stat()
    other = people("other", 300) if way == "added" else people("anted")
    new = file.with_name("new.parquet" if way == "added" else "new")
    other.to_parquet(new)
    if way == "added":
        return
    assert new.stat().st_size == at.st_size
    if way == "renamed":
        os.utime(new, ns=(at.st_atime_ns, at.st_mtime_ns))
        new.replace(file)
    else:
        file.write_bytes(new.read_bytes())
        os.utime(file, ns=(at.st_atime_ns, at.st_mtime_ns))


@pytest.mark.parametrize(
    "method", [NOISE, "rounding = { base = 5 }", "suppression = { threshold = 3 }"]
)
@pytest.mark.parametrize(
    ("way", "when"),
    [
        ("added", "__init__"),
        ("renamed", "record"),
        ("renamed", "require_all"),
        ("rewritten", "record"),
    ],
)
def test_a_file_exchanged_on_the_way_is_noticed(folder, monkeypatch, method, way, when):
    (folder / "p [1]").mkdir()
    file = folder / "p [1]" / "p.parquet"
    people("asked").to_parquet(file)
    done = getattr(InputFiles, when)

    def and_exchange(*given, **options):
        told = done(*given, **options)
        exchange(file, way)
        return told

    monkeypatch.setattr(InputFiles, when, and_exchange)
    with pytest.raises(ReleaseError, match="changed while it was being read"):
        released(folder, 'path = "p [1]"', method)
    assert not (folder / "out").exists()


def test_an_output_is_judged_by_the_names_that_exist(folder):
    (folder / "d [v1]").mkdir()
    people("asked").to_parquet(folder / "d [v1]" / "p.parquet")
    assert released(folder, 'path = "d [v1]"', name="d v")[0] == {"asked"}
    with pytest.raises(ReleaseError, match="would be read as data by the next release"):
        released(folder, 'path = "d [v1]"', name="d [v1]/out")


@pytest.mark.parametrize("slashes", ["//", "///"])
def test_an_sqlite_file_starts_at_the_folder_of_the_job(folder, monkeypatch, slashes):
    with contextlib.closing(sqlite3.connect(folder / "s [1].sqlite")) as base, base:
        people("asked").to_sql("t", base, index=False)
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    found, digests = released(folder, f'database = "sqlite:{slashes}s [1].sqlite", table = "t"')
    assert found == {"asked"}
    assert [name.endswith(": table t") for name in digests] == [True]
