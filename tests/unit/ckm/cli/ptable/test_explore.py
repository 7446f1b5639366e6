"""``ckm ptable explore`` on the command line: which page it writes, and to whom."""

import os
import stat

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ckm.cli import app

JOB = """schema = 1
title = "Small"
data = { path = "people.parquet", record_key = "rkey", key_range = 4294967296 }
keys = { secret = "secret.key" }
ptable = { max_noise = 2, variance = 1.5 }
[[table]]
name = "people"
dimensions = ["area", "kind"]
"""


def run(*args):
    settings = {"CKM_LOG_FORMAT": "text", "COLUMNS": "200", "CKM_LANG": "en"}
    return CliRunner(env=settings).invoke(app, ["ptable", "explore", *map(str, args)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def job(folder):
    rng = np.random.default_rng(1)
    n = 1200
    people = {
        "rkey": rng.integers(2**32, size=n, dtype=np.uint64),
        "area": [f"a{k:03}" for k in rng.integers(150, size=n)],
        "kind": [f"k{k}" for k in np.minimum(rng.geometric(0.5, size=n), 6)],
    }
    pd.DataFrame(people).to_parquet(folder / "people.parquet")
    (folder / "secret.key").write_bytes(b"0123456789abcdef" * 2)
    (folder / "secret.key").chmod(0o600)
    (folder / "job.toml").write_text(JOB)
    return folder / "job.toml"


def test_without_records_the_page_is_an_ordinary_file(folder):
    usual = os.umask(0o022)
    try:
        answer = run("-o", "designs.html", "--no-field", "--max-noise", 8, "--variance", 6.5)
    finally:
        os.umask(usual)
    assert answer.exit_code == 0, answer.output
    page = (folder / "designs.html").read_text(encoding="utf-8")
    assert '"noise":8,"variance":6.5' in page
    assert "Nothing on this page was computed from records" in page
    assert stat.S_IMODE((folder / "designs.html").stat().st_mode) == 0o644


def test_with_a_job_its_prior_and_table_are_inside(job, folder):
    answer = run(job.name, "-o", "designs.html", "--no-field", "--lang", "fr")
    assert answer.exit_code == 0, answer.output
    assert "gardez la sortie" in answer.output
    page = (folder / "designs.html").read_text(encoding="utf-8")
    assert "INTERNE" in page
    assert '"tables":[0' in page
    assert '"name":"p-table du job"' in page
    assert '"noise":2,"variance":1.5,"small":0' in page
    assert stat.S_IMODE((folder / "designs.html").stat().st_mode) == 0o600


def test_a_page_that_exists_is_kept(folder):
    (folder / "designs.html").write_text("mine")
    assert run("-o", "designs.html", "--no-field").exit_code == 2
    assert (folder / "designs.html").read_text() == "mine"
    assert run("-o", "designs.html", "--no-field", "--force").exit_code == 0


def test_a_table_of_magnitudes_is_refused(job, folder):
    text = JOB.replace("variance = 1.5", "variance = 1.5, step = 2, anchors = [10, 100]")
    job.write_text(text)
    answer = run(job.name, "-o", "designs.html", "--no-field")
    assert answer.exit_code != 0
    assert not (folder / "designs.html").exists()


def test_values_that_no_slider_has_are_refused(folder):
    for option, value in (("--max-noise", 16), ("--variance", 0), ("--small", 10)):
        assert run("-o", "designs.html", option, value).exit_code == 2
    assert run("-o", "designs.txt").exit_code == 2
