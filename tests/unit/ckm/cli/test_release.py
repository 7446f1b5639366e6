"""``ckm release`` and ``check`` take whatever file describes a release, by its sections."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.config.read import kind_of
from dp import BudgetLedger

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "id"
[keys]
secret = "secret.key"
{method}
[[table]]
name = "people"
dimensions = ["region", "sex"]
"""
METHODS = {
    "ckm-release": "[ptable]\nmax_noise = 2\nvariance = 1.0\n",
    "ckm-suppression": "[suppression]\nthreshold = 5\n",
    "ckm-rounding": "[rounding]\nbase = 5\n",
}
VERBS = ("release", "suppress")
SWAP = """
schema = 1
[data]
path = "people.parquet"
[keys]
secret = "secret.key"
[swap]
household = "home"
geography = ["region", "town"]
risk = ["age"]
similar = [["sex"], []]
k = 3
rate = 0.05
"""
PLAN = """
schema = 1
[data]
path = "people.parquet"
[privacy]
unit = "id"
epsilon = 1.0
[ledger]
path = "budget.db"
who = "Ada"
[[table]]
name = "by_region"
by = { region = ["0", "1", "2"] }
ask = [{ kind = "units" }]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng, home = np.random.default_rng(4), np.arange(1200) // 2
    people = {
        "id": [f"MARKER-{n}" for n in range(1200)],
        "home": home,
        "region": home % 3,
        "town": home % 30,
        "sex": rng.choice(["F", "M"], 1200),
        "age": rng.integers(0, 12, 1200),
    }
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    (tmp_path / "secret.key").write_text("0123456789abcdef0123456789abcdef")
    (tmp_path / "secret.key").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args):
    return CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke(app, [*map(str, args)])


def put(folder, text):
    (folder / "file.toml").write_text(text)
    return "file.toml"


@pytest.mark.parametrize("kind", METHODS)
def test_a_job_is_released_by_the_method_of_its_section(folder, kind):
    job = put(folder, JOB.format(method=METHODS[kind]))
    assert kind_of(folder / job) == "job"
    done = run("release", job, "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert json.loads((folder / "out/internal/manifest.json").read_text())["kind"] == kind
    assert (folder / "out/public/people.csv").exists()
    assert ("for inside use only" in done.stdout) == (kind == "ckm-suppression")
    again = run("release", job, "-o", "out")
    assert again.exit_code != 0
    assert run("release", job, "-o", "out", "--force", "--dry-run").exit_code == 0


def test_suppress_and_release_write_the_same_tables(folder):
    job = put(folder, JOB.format(method=METHODS["ckm-suppression"]))
    for verb in VERBS:
        assert run(verb, job, "-o", verb).exit_code == 0
    for name in ("people.csv", "manifest.json"):
        files = [(folder / verb / "public" / name).read_bytes() for verb in VERBS]
        assert files[0] == files[1]


def test_a_swap_is_made_as_by_its_own_command(folder):
    swap = put(folder, SWAP)
    assert kind_of(folder / swap) == "swap"
    for verb, out in (("release", "a.parquet"), ("swap", "b.parquet")):
        done = run(verb, swap, "-o", out)
        assert done.exit_code == 0, done.stderr
    assert (folder / "a.parquet").read_bytes() == (folder / "b.parquet").read_bytes()
    refused = run("release", swap, "-o", "c.parquet", "--format", "csv")
    assert refused.exit_code == 2
    assert "a swap has no --format" in refused.stderr
    assert not (folder / "c.parquet").exists()


def test_a_plan_of_private_tables_is_released_and_its_check_charges_nothing(folder):
    plan = put(folder, PLAN)
    assert kind_of(folder / plan) == "plan"
    ledger = BudgetLedger.create(
        folder / "budget.db", adjacency="add-remove", epsilon=3.0, unit="person"
    )
    left = str(ledger.left)
    checked = run("check", plan)
    assert checked.exit_code == 0, checked.stderr
    assert "no data opened, nothing charged" in checked.stderr
    assert str(BudgetLedger.open(folder / "budget.db").left) == left
    done = run("release", plan, "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert (folder / "out/by_region.csv").exists()
    assert str(BudgetLedger.open(folder / "budget.db").left) != left
    for option in (["--force"], ["--full"], ["--format", "csv"]):
        refused = run("release", plan, "-o", "other", *option)
        assert refused.exit_code == 2
        assert f"has no {option[0]}" in refused.stderr


def test_a_file_that_is_none_of_these_is_read_as_a_job(folder):
    for text in ("", "schema = 1\n", "not toml"):
        assert kind_of(folder / put(folder, text)) == "job"
    done = run("release", "nothing.toml", "-o", "out")
    assert done.exit_code != 0
    assert "nothing.toml" in done.stderr
