"""Tables of which most would be hidden need somebody's word."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import JobError, read_job
from ckm.errors import CheckFailedError
from ckm.methods.suppression import (
    Frequency,
    Grid,
    Problem,
    Relations,
    primary_cells,
    publish_true_numbers,
    suppress,
)
from ckm.methods.suppression.hidden_share import HiddenShare, hidden_share, require_share
from ckm.release.suppressed import release_true_numbers
from tables import Request, StoredKeys, cube, open_source

JOB = """schema = 1
data = {{ path = "firms.parquet", id = "id" }}
suppression = {{ threshold = 3, p_percent = 10.0{rules} }}
[[table]]
name = "few"
dimensions = ["region"]
measures = ["count", "sum:turnover"]
"""


@pytest.fixture
def folder(tmp_path):
    """Two regions of one firm each, with nearly everything, and two of many."""
    regions = [*"AB", *"C" * 9, *"D" * 9]
    firms = {
        "id": list(range(20)),
        "region": regions,
        "turnover": [900.0, 800.0, *[100.0] * 18],
    }
    pq.write_table(pa.table(firms), tmp_path / "firms.parquet")
    return tmp_path


def release(folder, rules="", **options):
    (folder / "job.toml").write_text(JOB.format(rules=rules))
    release_true_numbers(read_job(folder / "job.toml"), folder / "out", **options)


def forget_search(monkeypatch):
    """Let every search of now on fail: a choice is taken, or there is none."""

    def fail(*_args, **_options):
        raise AssertionError

    monkeypatch.setattr("ckm.methods.suppression.cell_selection.suppress", fail)


def test_more_than_a_share_of_a_sum_is_hidden_for_those_alone_who_want_it(folder):
    with pytest.raises(CheckFailedError, match="More than 30%") as caught:
        release(folder, ", largest_hidden_share = 0.3")
    assert "'sum:turnover' of 'few'" in str(caught.value)
    assert "'count'" not in str(caught.value)
    assert "largest_hidden_share" in str(caught.value.hint)
    assert not (folder / "out").exists()
    with (folder / "out.refused.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row == {"table": "few", "cell": "sum:turnover", "what": "share hidden: 0.371"}
    release(folder)
    assert not (folder / "out.refused.csv").exists()


def test_the_share_is_one_of_what_is_there():
    assert hidden_share([10, 6, 4], np.array([False, True, False])) == pytest.approx(0.3)
    assert hidden_share([0, 0], np.array([True, False])) == 0
    require_share([HiddenShare("t", "count", 0.6)], 0.6)
    with pytest.raises(CheckFailedError, match="'count' of 't'"):
        require_share([HiddenShare("t", "count", 0.61)], 0.6)


def test_a_job_says_a_share_above_nothing_and_up_to_all(folder):
    for wrong in ("0.0", "1.5"):
        with pytest.raises(JobError, match="largest_hidden_share"):
            release(folder, f", largest_hidden_share = {wrong}")


def test_in_python_too_whoever_publishes_says_so():
    records = pa.table({"area": [*"ABBC"], "key": pa.array(range(4), pa.uint8())})
    with open_source(records) as source:
        (cells,) = cube(source, StoredKeys(column="key"), [Request(dimensions=["area"])])
    problem = Problem(
        relations=Relations.of_grids([Grid.of(cells)]),
        values=cells.count,
        primary=primary_cells([Frequency(least=3)], counts=cells.count),
    )
    choice = suppress(problem)
    with pytest.raises(CheckFailedError, match="More than 60%"):
        publish_true_numbers(cells, choice)
    shown = publish_true_numbers(cells, choice, largest_hidden_share=1.0)
    assert shown.to_arrow().column("count").null_count >= 3


def test_a_choice_refused_for_its_share_is_not_searched_again(folder, monkeypatch):
    with pytest.raises(CheckFailedError, match="More than 30%") as caught:
        release(folder, ", largest_hidden_share = 0.3")
    assert "OUTPUT.refused.parquet" in str(caught.value.hint)
    kept = folder / "out.refused.parquet"
    assert kept.stat().st_mode & 0o777 == 0o600
    with monkeypatch.context() as patch:
        forget_search(patch)
        with pytest.raises(AssertionError):  # another search is another choice
            release(folder, ", largest_hidden_share = 1.0, method = 'sequential'")
        release(folder, ", largest_hidden_share = 1.0")
    assert not kept.exists()
    assert not (folder / "out.refused.csv").exists()


def test_a_choice_that_was_refused_binds_no_other_release(folder, caplog):
    with pytest.raises(CheckFailedError, match="More than 30%"):
        release(folder, ", largest_hidden_share = 0.3")
    (folder / "out.refused.parquet").write_bytes(b"damaged")
    release(folder, ", largest_hidden_share = 1.0")
    manifest = json.loads((folder / "out" / "internal" / "manifest.json").read_text())
    assert "earlier pattern" not in [getattr(r, "event", "") for r in caplog.records]
    assert manifest["earlier"] == []
    assert (folder / "out.refused.parquet").read_bytes() == b"damaged"


def test_a_dry_run_keeps_no_choice(folder):
    with pytest.raises(CheckFailedError, match="More than 30%"):
        release(folder, ", largest_hidden_share = 0.3", dry_run=True)
    assert not (folder / "out.refused.parquet").exists()
