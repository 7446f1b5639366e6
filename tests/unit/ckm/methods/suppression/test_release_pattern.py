"""One pattern of the same records: two releases, side by side, show no more than the first."""

from __future__ import annotations

import json
import logging
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import read_job
from ckm.errors import CheckFailedError
from ckm.release.suppressed import release_true_numbers

JOB = """schema = 1
data = {{ path = "firms.parquet", id = "id" }}
suppression = {{ threshold = {threshold}, limit_s = {limit_s}{rules} }}
{tables}"""
ONE = """[[table]]
name = "one"
dimensions = ["region", "branch"]
measures = ["count", "sum:turnover"]
"""
TWO = """[[table]]
name = "two"
dimensions = ["size", "branch"]
measures = ["count", "sum:turnover"]
"""


def firms(seed=3, n=60):
    rng = np.random.default_rng(seed)
    return {
        "id": [f"MARKER-{i}" for i in range(n)],
        "region": rng.choice([*"NSEW"], n, p=[0.5, 0.3, 0.15, 0.05]).tolist(),
        "branch": rng.choice([*"abcde"], n, p=[0.4, 0.3, 0.15, 0.1, 0.05]).tolist(),
        "size": rng.choice([*"123"], n, p=[0.6, 0.3, 0.1]).tolist(),
        "turnover": np.ceil(rng.lognormal(4, 1.5, n)).tolist(),
    }


@pytest.fixture
def folder(tmp_path):
    pq.write_table(pa.table(firms()), tmp_path / "firms.parquet")
    return tmp_path


def released(folder, out, tables=ONE, *, threshold=3, limit_s=5.0, rules="", **options):
    """Release a job; return what is hidden, by table, and the internal manifest."""
    text = JOB.format(threshold=threshold, limit_s=limit_s, rules=rules, tables=tables)
    (folder / "job.toml").write_text(text)
    release_true_numbers(read_job(folder / "job.toml"), folder / out, **options)
    manifest = json.loads((folder / out / "internal" / "manifest.json").read_text())
    return {
        path.stem: holes(path) for path in (folder / out / "public").glob("*.parquet")
    }, manifest


def holes(path):
    rows = pq.read_table(path).to_pylist()
    names = [column for column in rows[0] if column in {"region", "branch", "size"}]
    return {tuple(row[n] for n in names) for row in rows if row["count"] is None}


def forget_search(monkeypatch):
    """Let every search of now on fail: a pattern is taken, or there is none."""

    def fail(*_args, **_options):
        raise AssertionError

    monkeypatch.setattr("ckm.methods.suppression.cell_selection.suppress", fail)


@pytest.mark.parametrize(
    "changed",
    [{"limit_s": 0.001}, {"tables": TWO + ONE}, {"rules": ', method = "sequential"'}],
    ids=["limit", "order", "method"],
)
def test_the_same_records_and_demands_have_the_pattern_of_the_first_release(
    folder, monkeypatch, changed
):
    first, _ = released(folder, "out1", ONE + TWO)
    forget_search(monkeypatch)
    second, manifest = released(folder, "out2", **{"tables": ONE + TWO, **changed})
    assert first == second
    assert min(len(hidden) for hidden in first.values()) > 3
    assert manifest["earlier"] == ["out1"]


def test_one_of_the_tables_alone_has_the_pattern_that_it_had_beside_others(folder, monkeypatch):
    first, _ = released(folder, "out1", ONE + TWO)
    forget_search(monkeypatch)
    second, _ = released(folder, "out2", TWO)
    assert second["two"] == first["two"]


@pytest.mark.parametrize("where", ["beside", "named", "forced"])
def test_under_another_rule_what_was_hidden_stays_hidden(folder, caplog, where):
    first, _ = released(folder, "out1", threshold=4)
    away = folder / "away"
    away.mkdir()
    free, _ = released(folder, "away/out", threshold=2)
    assert not first["one"] <= free["one"]
    out, options, rules = "out2", {}, ""
    if where == "forced":
        out, options = "out1", {"force": True}
    if where == "named":
        out, rules = "away/third/out", ', previous = "out1"'
        (away / "third").mkdir()
    with caplog.at_level(logging.WARNING):
        second, _ = released(folder, out, threshold=2, rules=rules, **options)
    assert second["one"] >= first["one"]
    assert "What they hid stays hidden" in caplog.text
    assert "MARKER" not in caplog.text


def test_a_new_table_does_not_rest_on_hiding_what_is_published_already(folder):
    """Cells of the first table that were shown are known, whatever the second release hides."""
    first, _ = released(folder, "out1", ONE)
    (away := folder / "away").mkdir()
    free, _ = released(folder, "away/out", ONE + TWO)
    assert free["one"] != first["one"]
    shutil.rmtree(away)
    second, _ = released(folder, "out2", ONE + TWO)
    assert second["one"] == first["one"]


def test_what_is_unsafe_now_and_was_published_stops_new_tables(folder):
    released(folder, "out1", ONE, threshold=2)
    with pytest.raises(CheckFailedError, match="were published of the same records") as caught:
        released(folder, "out2", ONE + TWO, threshold=5)
    assert "out1" in str(caught.value)


def test_other_records_have_a_pattern_of_their_own(folder, caplog):
    released(folder, "out1", threshold=4)
    pq.write_table(pa.table(firms(seed=4, n=91)), folder / "firms.parquet")
    with caplog.at_level(logging.WARNING):
        second, manifest = released(folder, "out2")
    (folder / "away").mkdir()
    free, _ = released(folder, "away/out")
    assert second == free
    assert manifest["earlier"] == []
    assert "stays hidden" not in caplog.text


def test_the_pattern_is_for_its_owner_alone_and_tells_no_number(folder):
    released(folder, "out1")
    path = folder / "out1" / "internal" / "pattern.parquet"
    assert path.stat().st_mode & 0o777 == 0o600
    assert not [p for p in (folder / "out1" / "public").iterdir() if "pattern" in p.name]
    assert b"MARKER" not in path.read_bytes()
    released(folder, "out1", force=True)  # which knows its own files


def test_a_damaged_pattern_is_told_of_and_stops_nothing(folder, caplog):
    released(folder, "out1")
    (folder / "out1" / "internal" / "pattern.parquet").write_bytes(b"not so")
    released(folder, "out2")
    assert "is damaged" in caplog.text
