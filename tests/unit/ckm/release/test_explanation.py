"""``ckm explain``: the number that the file holds, by steps that give it."""

import csv
import json
import sqlite3
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import ckm.engine.protection
from ckm.cli import app
from ckm.cli.terminal.exit_codes import INTERNAL, WRONG_REQUEST
from ckm.config import read_job
from ckm.release import explanation
from ckm.release.explanation import explain
from ckm.release.perturbed import release
from tables import DataError
from tests.strategies import worked_ptable

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
weight = "weight"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[report]
languages = ["en"]
[ledger]
path = "ledger.db"
policy = "flag"
[hierarchies]
geo = ["region", "commune"]
[categories]
geo = "places.csv"
sex = ["F", "M", "X"]
[[table]]
name = "places"
dimensions = ["geo", "sex"]
measures = ["count", "weighted", "sum:income", "mean:income"]
[[table]]
name = "ages"
dimensions = ["age"]
where = "sex = 'F'"
"""

LATER = """
[[table]]
name = "known"
dimensions = ["sex"]
where = "sex = 'F'"
[[table]]
name = "mixed"
dimensions = ["sex"]
where = "sex = 'F' or age > 4"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("explain")
    rng = np.random.default_rng(7)
    place = rng.permutation([0] * 20 + [1] * 14 + [2] * 4 + [3] * 2)
    people = {
        "person_id": [f"person-{i}" for i in range(40)],
        "region": np.array(["R1", "R1", "R2", "R2"])[place].tolist(),
        "commune": np.array(["C1", "C2", "C3", "C4"])[place].tolist(),
        "sex": rng.choice(["F", "M"], 40).tolist(),
        "age": rng.integers(1, 9, 40).tolist(),
        "weight": rng.integers(1, 50, 40).tolist(),
        "income": rng.integers(0, 3, 40) * rng.integers(100, 9999, 40),
    }
    pq.write_table(pa.table(people), path / "people.parquet")
    worked_ptable().write(path / "pt.parquet")
    (path / "secret.key").write_text("a secret of sixteen bytes or more")
    (path / "secret.key").chmod(0o600)
    (path / "places.csv").write_text("region,commune\nR1,C1\nR1,C2\nR2,C3\nR2,C4\n")
    (path / "job.toml").write_text(JOB)
    release(read_job(path / "job.toml"), path / "out")
    (path / "later.toml").write_text(JOB[: JOB.index("[[table]]")] + LATER)
    release(read_job(path / "later.toml"), path / "later")
    return path


def run(folder, *words):
    args = ["explain", str(folder / "job.toml"), *words]
    return CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke(app, args)


def rows(folder, table):
    text = (folder / f"out/public/{table}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@pytest.mark.slow
def test_every_number_of_a_file_is_explained(folder):
    job = read_job(folder / "job.toml")
    seen = set()
    for row in rows(folder, "places"):
        cell = {name: row[name] for name in ("region", "commune", "sex")}
        found = explain(job, "places", cell, measure="weighted")
        assert found["published"] == float(row["weighted"])
        assert found["count with noise"] == int(row["count"])
        noisy = found["weight with noise"] * found["original count"]
        assert noisy == pytest.approx(found["original weight"] * found["count with noise"])
        seen.add((found["original count"] > 0, found["count with noise"] > 0))
    assert seen == {(True, True), (True, False), (False, False)}
    counts = {row["age"]: int(row["count"]) for row in rows(folder, "ages")}
    people = pq.read_table(folder / "people.parquet").to_pandas()
    for age, count in people[people["sex"] == "F"].groupby("age").size().items():
        found = explain(job, "ages", {"age": str(age)})
        assert found["original count"] == count
        assert counts.get(str(age), explanation._LEFT_OUT) == found["published"]
    assert len(counts) < 1 + len(set(people["age"]))  # a noisy 0 is left out of the file


@pytest.mark.slow
def test_every_sum_and_mean_of_a_file_is_explained(folder):
    job = read_job(folder / "job.toml")
    people = pq.read_table(folder / "people.parquet").to_pandas()
    for row in rows(folder, "places"):
        cell = {name: row[name] for name in ("region", "commune", "sex")}
        here = np.all([(people[n] == v) | (v == "Total") for n, v in cell.items()], axis=0)
        amounts = (people["income"] * people["weight"])[here]
        found = explain(job, "places", cell, measure="sum:income")
        assert found["published"] == float(row["sum_income"])
        if not here.any():
            assert "original sum" not in found
            continue
        assert found["original sum"] == amounts.sum()
        assert found["contributors"] == (amounts > 0).sum()
        before = found.get("sum of so many", found["original sum"])
        noisy = max(before + sum(found["noises"]), 0)
        assert found["sum with noise"] == pytest.approx(noisy, abs=1)  # decimals = 0
        assert found["published"] == found["sum with noise"]
        mean, in_file = explain(job, "places", cell, measure="mean:income"), row["mean_income"]
        assert mean["published"] == (float(in_file) if in_file else None)
        assert bool(in_file) == (found["count with noise"] >= 3)  # of fewer there is no mean


def test_columns_left_out_are_totals_and_a_code_needs_not_those_above(folder):
    job = read_job(folder / "job.toml")
    full = {"region": "R1", "commune": "C2", "sex": "Total"}
    assert explain(job, "places", full) == explain(job, "places", {"commune": "C2"})
    assert explain(job, "places", {})["original count"] == 40
    assert "R1, commune=Total, sex=Total" in explain(job, "places", {"region": "R1"})["number"]


def test_keys_that_are_not_mixed_are_looked_up_as_they_are(folder):
    text = JOB.replace('[ledger]\npath = "ledger.db"\npolicy = "flag"', "")
    (folder / "plain.toml").write_text(text.replace("[keys]", "[keys]\nmix = false"))
    found = explain(read_job(folder / "plain.toml"), "ages", {})
    assert found["published"] == found["original count"] + found["noise"]
    assert not {"mixed key", "in the ledger"} & set(found)


def test_a_wrong_category_is_told_the_nearest_one_on_the_terminal_alone(folder):
    with pytest.raises(DataError) as caught:
        explain(read_job(folder / "job.toml"), "places", {"commune": "C22"})
    assert caught.value.inside == "did you mean 'C2'? there are: C1, C2, C3, C4"
    assert "The column 'commune' has no category 'C22'." in str(caught.value)
    assert "'C2'" not in str(caught.value)


def test_steps_that_do_not_give_the_number_are_no_explanation(folder, monkeypatch):
    perturb = ckm.engine.protection.perturb
    monkeypatch.setattr(
        ckm.engine.protection, "perturb", lambda *args, **named: perturb(*args, **named) + 1
    )
    result = run(folder, "places", "sex=F")
    assert result.exit_code == INTERNAL
    assert "do not give the number" in result.stderr


def test_same_records_are_told_of_the_job_and_of_the_ledger_which_stays_as_it_is(folder):
    with closing(sqlite3.connect(folder / "ledger.db")) as ledger:
        before = list(ledger.iterdump())
        result = run(folder, "places", "region=Total", "sex=F")
        assert list(ledger.iterdump()) == before
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("INTERNAL: original counts")
    assert "  age=Total where sex = 'F' in 'ages'" in lines
    start = lines.index("the same records in the ledger:")
    assert lines[start + 1 : start + 5] == [
        "  entry 1, history 'public': region=Total, commune=Total, sex=F in 'places'",
        "  entry 2, history 'public': age=Total where sex = 'F' in 'ages'",
        "  entry 3, history 'public': perhaps in 'known': all its sets were recorded before",
        "  entry 4, history 'public': in 'mixed', in a cell that the ledger does not name",
    ]
    lines = run(folder, "places", "--measure", "sum:income").stdout.splitlines()
    assert sum(line.startswith("the same records in ") for line in lines) == 2
    assert "the same records noises:" not in lines
    told = json.loads(run(folder, "places", "sex=X", "--json").stdout)
    assert next(iter(told)) == "notice"
    assert (told["original count"], told["published"]) == (0, 0)
    assert told["in this job, by count and cell key"] == []
    assert "not looked up" in told["in the ledger"][0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["place"], "did you mean 'places'"),
        (["places", "sexe=F"], "did you mean 'sex'"),
        (["places", "sex=Q"], "write codes as the file does"),
        (["places", "sex"], "COLUMN=CATEGORY"),
        (["places", "--measure", "sum:age"], "There is no measure 'sum:age'"),
    ],
)
def test_a_number_that_there_is_not_comes_with_a_way_out(folder, words, told):
    result = run(folder, *words)
    assert result.exit_code not in {0, INTERNAL}
    assert told in result.stderr


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[report]", "[output]\nadditive = true\n[report]", "covers noise only"),
        ('name = "ages"', 'name = "ages"\nmargins = "none"', "does not publish this margin"),
    ],
)
def test_jobs_and_margins_that_are_not_explained_say_so(folder, old, new, told):
    text = JOB.replace('[ledger]\npath = "ledger.db"\npolicy = "flag"', "")
    text = text.replace(', "weighted", "sum:income", "mean:income"', "").replace(old, new)
    (folder / "other.toml").write_text(text)
    args = ["explain", str(folder / "other.toml"), "ages"]
    result = CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke(app, args)
    assert result.exit_code == WRONG_REQUEST
    assert told in result.stderr
