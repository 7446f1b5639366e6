"""Swaps and private tables enter the ledger of the jobs, and are seen there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import JobError, read_job
from ckm.config.dp_plan import read_dp_plan
from ckm.config.swap import read_swap
from ckm.errors import ConfigError
from ckm.ledger import SecondMethodError, list_published
from ckm.ledger.errors import OtherMethodsError
from ckm.release.dp_tables import release_dp
from ckm.release.perturbed import release
from ckm.release.swapped import rehearse_swap, swap
from dp import BudgetLedger

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person"
[keys]
secret = "secret.key"
[rounding]
base = 5
[ledger]
path = "ledger.db"
{more}
[[table]]
name = "t"
dimensions = ["region"]
"""
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
rate = {rate}
[ledger]
path = "ledger.db"
id = "person"
{more}
"""
PLAN = """
schema = 1
[data]
path = "people.parquet"
[privacy]
unit = "person"
epsilon = 1.0
[ledger]
path = "budget.db"
who = "Ada"
[release_ledger]
path = "ledger.db"
secret = "secret.key"
{more}
[[table]]
name = "regions"
by = {{ region = ["0", "1", "2"] }}
ask = [{{ kind = "units" }}]
"""
FLAG = 'second_method = "flag"'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    n = 600
    rng = np.random.default_rng(5)
    home = np.arange(n) // 2
    people = {
        "person": np.arange(n),
        "home": home,
        "region": (home % 3).astype(str),
        "town": (home % 30).astype(str),
        "age": rng.integers(0, 12, n),
    }
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    (tmp_path / "secret.key").write_text("a secret of sixteen bytes or more")
    (tmp_path / "secret.key").chmod(0o600)
    BudgetLedger.create(
        tmp_path / "budget.db", epsilon=4, adjacency="add-remove", unit="person"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKM_SECRET", raising=False)
    return tmp_path


def job(more=""):
    return _read("job.toml", JOB, read_job, more=more)


def swap_job(more="", rate=0.05):
    return _read("swap.toml", SWAP, read_swap, more=more, rate=rate)


def plan(more=""):
    return _read("plan.toml", PLAN, read_dp_plan, more=more)


def _read(name, text, read, **values):
    Path(name).write_text(text.format(**values))
    return read(name)


def methods(folder):
    return [one.definition.method for one in list_published(folder / "ledger.db")]


def test_a_swap_is_an_entry_once_and_no_other_method_follows(folder):
    for _ in range(2):
        swap(swap_job(), "swapped.parquet", force=True)
    assert methods(folder) == ["swapping"]
    with pytest.raises(SecondMethodError, match="swapping"):
        release(job(), "out")
    with pytest.raises(SecondMethodError):
        swap(swap_job(rate=0.1), "other.parquet")
    release(job(FLAG), "out")
    assert methods(folder) == ["swapping", "rounding"]


def test_records_that_were_rounded_are_not_swapped(folder):
    release(job(), "out")
    with pytest.raises(SecondMethodError):
        swap(swap_job(), "swapped.parquet")
    with pytest.raises(SecondMethodError):
        rehearse_swap(swap_job())
    assert not (folder / "swapped.parquet").exists()
    swap(swap_job(FLAG), "swapped.parquet")
    assert methods(folder) == ["rounding", "swapping"]


def test_a_rehearsed_swap_makes_no_entry(folder):
    rehearse_swap(swap_job())
    swap(swap_job(), "swapped.parquet", dry_run=True)
    assert not (folder / "ledger.db").exists()


def test_a_swap_beside_a_ledger_says_by_what_records_are_the_same(folder):
    text = SWAP.format(rate=0.05, more="").replace('id = "person"', "")
    (folder / "swap.toml").write_text(text)
    with pytest.raises(JobError, match="needs id or record_key"):
        read_swap("swap.toml")


def test_private_tables_are_entries_that_other_methods_see(folder):
    for out in ("one", "two"):  # what both cost is for the ledger of the budget
        release_dp(plan(), out)
    assert methods(folder) == ["dp"]
    with pytest.raises(SecondMethodError, match="dp"):
        release(job(), "out")


def test_private_tables_beside_other_methods_are_refused_whatever_the_records(folder):
    release(job(), "out")
    spent = str(BudgetLedger.open("budget.db").left)
    with pytest.raises(OtherMethodsError, match="rounding"):
        release_dp(plan(), "private", dry_run=True)
    with pytest.raises(OtherMethodsError):
        release_dp(plan(), "private")
    assert str(BudgetLedger.open("budget.db").left) == spent
    assert not (folder / "private").exists()
    release_dp(plan('history = "researchers"'), "inside")
    release_dp(plan(FLAG), "private")
    assert methods(folder) == ["rounding", "dp", "dp"]


def test_private_tables_are_published_whether_or_not_their_records_can_be_compared(folder):
    records = pq.read_table("people.parquet").to_pydict()
    records["person"][0] = None
    pq.write_table(pa.table(records), "people.parquet")
    release_dp(plan(), "private")
    assert methods(folder) == []
    certificate = json.loads((folder / "private" / "certificate.json").read_text())
    assert "release_ledger" not in json.dumps(certificate)


def test_the_ledger_of_private_tables_needs_its_secret_before_anything_is_charged(folder):
    text = PLAN.format(more="").replace('secret = "secret.key"', "")
    (folder / "plan.toml").write_text(text)
    spent = str(BudgetLedger.open("budget.db").left)
    with pytest.raises(ConfigError, match="secret"):
        release_dp(read_dp_plan("plan.toml"), "private")
    assert str(BudgetLedger.open("budget.db").left) == spent
