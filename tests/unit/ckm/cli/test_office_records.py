"""Every command that reads records reads those of SPSS, Stata and Excel, too."""

import csv
import json

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from click.testing import CliRunner

from ckm.cli import app
from rappor import Parameters
from synth import Category, Schema, Unit, Whole

pytestmark = pytest.mark.slow  # a process reads each file
KINDS = ("sav", "zsav", "dta", "xlsx")
LABELS = {"sex": {1: "Men", 2: "Women"}}
JOB = """
schema = 1
data = {{ path = "{data}", {keys} }}
{method}
[output]
formats = ["csv-labels"]
[[table]]
name = "t"
dimensions = ["sex", "region"]
"""
NOISE = 'ptable = { max_noise = 2, variance = 1.0 }\nkeys = { secret = "secret.key" }'
SWAP = """
schema = 1
[data]
path = "people.{kind}"
[keys]
secret = "secret.key"
[swap]
household = "id"
geography = ["region"]
risk = ["sex", "age"]
"""
PLAN = """
schema = 1
[data]
path = "people.{kind}"
[privacy]
unit = "id"
epsilon = 1.0
[ledger]
path = "budget.db"
who = "Ada"
[[table]]
name = "t"
by = {{ region = ["01", "02", "1E2"] }}
ask = [{{ kind = "units" }}]
"""


@pytest.fixture(scope="module", params=KINDS)
def office(request, tmp_path_factory):
    folder, kind = tmp_path_factory.mktemp("office"), request.param
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "id": np.arange(1.0, 301),
            "sex": rng.integers(1, 3, 300).astype(float),
            "region": rng.choice(["01", "02", "1E2"], 300),
            "age": rng.integers(15, 90, 300).astype(float),
        }
    )
    path = folder / f"people.{kind}"
    if kind == "dta":
        pyreadstat.write_dta(frame, str(path), variable_value_labels=LABELS)
    elif kind == "xlsx":
        whole = {"id": int, "sex": int, "age": int}
        frame.astype(whole).to_excel(path, index=False, engine="openpyxl")
    else:
        pyreadstat.write_sav(
            frame, str(path), compress=kind == "zsav", variable_value_labels=LABELS
        )
    (folder / "secret.key").write_text("0123456789abcdef0123456789abcdef")
    (folder / "secret.key").chmod(0o600)
    return folder, kind, frame


def ckm(*words):
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output
    return done


def labels_of(folder):
    with (folder / "public" / "t.labels.csv").open(encoding="utf-8-sig") as file:
        return {row["sex"] for row in csv.DictReader(file)}


def test_a_job_on_a_file_and_on_its_copy_with_keys_prints_the_same_labels(office, monkeypatch):
    folder, kind, _ = office
    monkeypatch.chdir(folder)
    job = JOB.format(data=f"people.{kind}", keys='id = "id"', method=NOISE)
    (folder / "a.toml").write_text(job)
    ckm("release", "a.toml", "-o", "a")
    keys = ("--id", "id", "--secret", "secret.key")
    ckm("keys", "attach", f"people.{kind}", *keys, "-o", "keyed.parquet")
    job = JOB.format(data="keyed.parquet", keys='record_key = "record_key"', method=NOISE)
    (folder / "b.toml").write_text(job)
    ckm("release", "b.toml", "-o", "b")
    one, two = ((folder / name / "public" / "t.labels.csv").read_text() for name in "ab")
    assert one == two
    if kind != "xlsx":
        assert labels_of(folder / "a") == {"Total", "Men", "Women"}


def test_true_numbers_have_labels(office, monkeypatch):
    folder, kind, frame = office
    monkeypatch.chdir(folder)
    method = "suppression = { threshold = 3 }"
    (folder / "s.toml").write_text(
        JOB.format(data=f"people.{kind}", keys='id = "id"', method=method)
    )
    ckm("suppress", "s.toml", "-o", "s")
    text = (folder / "s" / "public" / "t.labels.csv").read_text()
    assert ("Women" in text) == (kind != "xlsx")
    assert f",{len(frame)}" in text


def test_swapped_records_keep_labels(office, monkeypatch):
    folder, kind, frame = office
    monkeypatch.chdir(folder)
    (folder / "swap.toml").write_text(SWAP.format(kind=kind))
    ckm("swap", "swap.toml", "-o", "swapped.parquet")
    from tables import open_source

    with open_source(folder / "swapped.parquet") as source:
        assert source.labels == ({} if kind == "xlsx" else {"sex": {"1": "Men", "2": "Women"}})
        assert source.fetch(f"FROM {source.records} SELECT count(*)") == [(len(frame),)]


def test_tables_with_a_budget_are_made(office, monkeypatch):
    folder, kind, _ = office
    monkeypatch.chdir(folder)
    ckm("dp", "ledger", "create", "budget.db", "--epsilon", 1, "--unit", "person")
    (folder / "plan.toml").write_text(PLAN.format(kind=kind))
    ckm("dp", "release", "plan.toml", "-o", "dp")
    assert any((folder / "dp").rglob("*t*"))


def test_a_job_is_drafted(office, monkeypatch):
    folder, kind, _ = office
    monkeypatch.chdir(folder)
    ckm("job", "init", f"people.{kind}", "-o", "draft.toml")
    drafted = (folder / "draft.toml").read_text()
    assert 'region = ["01", "02", "1E2"]' in drafted
    assert "sex = [1, 2]" in drafted


def test_a_model_is_fitted_and_judged(office, monkeypatch):
    folder, kind, _ = office
    monkeypatch.chdir(folder)
    schema = Schema(
        columns=[
            Whole(name="age", low=15, high=90, bins=5, declared_by="code book"),
            Category(name="region", values=["01", "02", "1E2"], declared_by="code book"),
        ],
        unit=Unit(name="person", identifier="id"),
        ignored=["sex"],
    )
    schema.write("schema.json")
    ckm("synth", "check", "schema.json", "--data", f"people.{kind}")
    with_it = ("--schema", "schema.json")
    spent = ("--epsilon", 2, "--delta", "1e-6", "--adjacency", "add-remove")
    ckm("synth", "fit", f"people.{kind}", *with_it, *spent, "-o", "model.json")
    ckm("synth", "sample", "model.json", "-n", 100, "-o", "drawn.csv", "--seed", 1)
    assert {*pd.read_csv("drawn.csv", dtype=str)["region"]} <= {"01", "02", "1E2"}
    ckm("synth", "evaluate", f"people.{kind}", "drawn.csv", *with_it, "-o", "judged.json")
    assert json.loads((folder / "judged.json").read_text())


def test_reports_are_made_of_codes(office, monkeypatch):
    folder, kind, frame = office
    monkeypatch.chdir(folder)
    Parameters(n_bits=16, n_hashes=1, n_cohorts=4, f=0.25, p=0.25, q=0.75).write("params.json")
    asked = ("--value", "region", "--client", "id", "--metric", "m", "--params", "params.json")
    secret = ("--secret", "secret.key")
    ckm("rappor", "encode", f"people.{kind}", *asked, *secret, "-o", "reports.rappor")
    ckm("rappor", "sum", "reports.rappor", "-o", "counts.json")
    counts = json.loads((folder / "counts.json").read_text())["counts"]
    assert sum(row[0] for row in counts) == len(frame)
    frame[["id", "region"]].astype({"id": int}).to_csv("people.csv", index=False)
    ckm("rappor", "encode", "people.csv", *asked, *secret, "--force", "--cap", 99,
        "-o", "again.rappor")  # fmt: skip
