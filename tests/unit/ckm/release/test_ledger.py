"""Batch releases through the ledger: refused, flagged, repeated, and when it cannot be had."""

from __future__ import annotations

import contextlib
import json
import sqlite3

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import ckm.ledger.release_check
from ckm.cli import app
from ckm.cli.terminal.exit_codes import CHECK_FAILED
from ckm.config import JobError, read_job
from ckm.errors import ReleaseError
from ckm.ledger import LedgerError, ThinDifferenceError, list_published
from ckm.release.perturbed import release
from tables import RequestError
from tests.strategies import worked_ptable

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[report]
languages = ["en"]
[ledger]
path = "ledger.db"
{ledger}
[[table]]
name = "{name}"
dimensions = ["sex"]
{where}
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(7)
    people = {
        "person_id": [f"person-{i}" for i in range(300)],
        "sex": rng.choice(["F", "M"], 300).tolist(),
        "number": list(range(300)),
    }
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    worked_ptable().write(tmp_path / "pt.parquet")
    secret = tmp_path / "secret.key"
    secret.write_text("a secret of sixteen bytes or more")
    secret.chmod(0o600)
    return tmp_path


def job(folder, name, where="", ledger=""):
    where = f'where = "{where}"' if where else ""
    path = folder / f"{name}.toml"
    path.write_text(JOB.format(name=name, where=where, ledger=ledger))
    return read_job(path)


def recorded(folder):
    return [entry.definition.name for entry in list_published(folder / "ledger.db")]


def test_a_release_enters_the_ledger(folder):
    release(job(folder, "all"), folder / "out")
    assert recorded(folder) == ["all"]


def test_a_table_with_files_in_two_languages_enters_the_ledger_once(folder):
    both = '[output]\nlanguage = ["en", "fr"]\nformats = ["px"]'
    release(job(folder, "all", ledger=both), folder / "out")
    assert (folder / "out" / "public" / "all.px").exists()
    assert recorded(folder) == ["all"]


def test_a_release_that_differs_by_one_person_is_refused_and_leaves_nothing(folder):
    release(job(folder, "all"), folder / "out")
    with pytest.raises(ThinDifferenceError) as refusal:
        release(job(folder, "older", "number > 0"), folder / "second")
    assert "Nothing was published" in str(refusal.value)
    assert "in 1 table." in str(refusal.value)
    assert "OUTPUT.refused.csv" in str(refusal.value)
    assert ",older,number > 0,," in (folder / "second.refused.csv").read_text()
    assert not (folder / "second").exists()
    assert not [path for path in folder.iterdir() if path.name.startswith(".second")]
    assert recorded(folder) == ["all"]


def test_the_same_release_of_the_same_data_passes_again(folder):
    for out in ("one", "two"):
        release(job(folder, "all"), folder / out)
    tables = [(folder / out / "public" / "all.csv").read_bytes() for out in ("one", "two")]
    assert tables[0] == tables[1]
    assert recorded(folder) == ["all"]


@pytest.mark.slow
def test_a_flag_publishes_and_says_so_inside_alone(folder, caplog):
    release(job(folder, "all"), folder / "out")
    release(job(folder, "older", "number > 0", 'policy = "flag"'), folder / "second")
    assert recorded(folder) == ["all", "older"]
    words = "differ by too few records"
    assert words in caplog.text
    shown = {path: path.read_text() for path in (folder / "second").rglob("*.html")}
    told = {path.name for path, text in shown.items() if words in text}
    assert told == {"report-internal.en.html"}
    public = json.loads((folder / "second" / "public" / "report.json").read_text())
    assert words not in json.dumps(public)


@pytest.mark.slow
def test_another_history_or_a_coarser_look_lets_a_table_pass(folder):
    release(job(folder, "all"), folder / "out")
    release(job(folder, "a", "number > 0", 'history = "researchers"'), folder / "a")
    release(job(folder, "b", "number > 1", "smallest = 1000"), folder / "b")
    assert recorded(folder) == ["all", "a", "b"]


@pytest.mark.slow
def test_the_threshold_is_that_of_the_job(folder):
    release(job(folder, "all"), folder / "out")
    release(job(folder, "none", "number > 200"), folder / "far")
    with pytest.raises(ThinDifferenceError):
        release(job(folder, "two", "number > 1"), folder / "two")
    release(job(folder, "two", "number not in (0, 1)", "threshold = 1"), folder / "two")
    with pytest.raises(LedgerError, match="thresholds up to 2"):
        release(job(folder, "all", ledger="threshold = 3"), folder / "three")


def test_what_is_published_meanwhile_refuses_a_release_at_the_last_moment(folder, monkeypatch):
    compare = ckm.ledger.release_check.ReleaseCheck.compare

    def compare_and_be_late(release_check):
        found = compare(release_check)
        monkeypatch.undo()
        release(job(folder, "all"), folder / "out")
        return found

    monkeypatch.setattr(ckm.ledger.release_check.ReleaseCheck, "compare", compare_and_be_late)
    with pytest.raises(ThinDifferenceError):
        release(job(folder, "older", "number > 0", 'policy = "flag"'), folder / "second")
    assert recorded(folder) == ["all"]
    assert not (folder / "second").exists()


def test_a_ledger_that_cannot_be_written_publishes_nothing(folder, monkeypatch):
    release(job(folder, "all"), folder / "out")
    monkeypatch.setattr("ckm.ledger.storage.store._Sqlite.insert", _full)
    with pytest.raises(LedgerError):
        release(job(folder, "few", "number < 100"), folder / "second")
    assert not (folder / "second").exists()
    monkeypatch.undo()
    assert recorded(folder) == ["all"]


def _full(*_):
    raise LedgerError("The ledger cannot be written: the disk is full.")


@pytest.mark.slow
def test_a_dry_run_makes_no_ledger_and_records_nothing(folder):
    release(job(folder, "all"), folder / "out", dry_run=True)
    assert not (folder / "ledger.db").exists()
    release(job(folder, "all"), folder / "out")
    with pytest.raises(ThinDifferenceError):
        release(job(folder, "older", "number > 0"), folder / "second", dry_run=True)
    release(job(folder, "half", "number > 500"), folder / "second", dry_run=True)
    assert recorded(folder) == ["all"]


def test_a_ledger_in_the_output_or_with_keys_of_few_bits_is_refused(folder):
    (folder / "out").mkdir()
    path = folder / "all.toml"
    job(folder, "all")
    text = path.read_text()
    path.write_text(text.replace('"ledger.db"', '"out/ledger.db"'))
    with pytest.raises(ReleaseError, match="which the job reads"):
        release(read_job(path), folder / "out")
    small = text.replace('id = "person_id"', 'record_key = "number"\nkey_range = 300')
    path.write_text(small.replace("[keys]\n", '[keys]\nchecks = "skip"\n'))
    with pytest.raises(RequestError, match="tell records apart"):
        release(read_job(path), folder / "out")
    assert not (folder / "ledger.db").exists()


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ('path = "ledger.db"\nurl = "postgresql://x/y"', "one of the two"),
        ("", "one of the two"),
        ('path = "nowhere/ledger.db"', "does not exist"),
        ('path = "."', "is a folder"),
        ('path = "sqlite://x"', "a file of this machine"),
        ('url = "mysql://x/y"', "must begin with postgresql://"),
        ('url = "postgresql://me:hunter2@x/y"', "must not hold a password"),
        ('url = "postgresql://x/y?password=hunter2"', "must not hold a password"),
        ('path = "ledger.db"\npolicy = "ask"', "policy"),
        ('path = "ledger.db"\nthreshold = 9', "threshold"),
        ('path = "ledger.db"\nsmallest = 0', "smallest"),
        ('path = "ledger.db"\nhistroy = "x"', "history"),
    ],
)
def test_a_section_that_is_wrong_says_what(folder, section, words):
    job(folder, "all")
    path = folder / "all.toml"
    path.write_text(path.read_text().replace('path = "ledger.db"', section))
    with pytest.raises(JobError) as error:
        read_job(path)
    assert words in str(error.value)
    assert "hunter2" not in str(error.value)


def run(folder, *words):
    with contextlib.chdir(folder):
        return CliRunner().invoke(app, words)


def test_the_command_refuses_with_exit_code_1_and_says_that_nothing_was_published(folder):
    job(folder, "all")
    job(folder, "older", "number > 0")
    assert run(folder, "release", "all.toml", "-o", "out").exit_code == 0
    done = run(folder, "release", "older.toml", "-o", "second")
    assert done.exit_code == CHECK_FAILED
    assert "Nothing was published" in done.stderr
    assert "older" in done.stderr
    assert not (folder / "second").exists()


def test_the_check_of_a_job_looks_at_its_ledger_and_makes_none(folder):
    job(folder, "all")
    done = run(folder, "check", "all.toml")
    assert done.exit_code == 0, done.stderr
    assert "is not there yet" in done.stderr
    assert not (folder / "ledger.db").exists()
    with sqlite3.connect(folder / "ledger.db") as other:
        other.execute("CREATE TABLE something (x)")
    done = run(folder, "check", "all.toml")
    assert done.exit_code == 2
    assert "no ledger" in done.stderr


def test_a_history_of_its_own_beside_others_is_warned_of(folder, caplog):
    words = "are not compared with those of public in the same ledger"
    release(job(folder, "all"), folder / "out")
    lone, known = 'history = "y2028"', 'history = "y2028"\nalso = ["public"]'
    release(job(folder, "older", "number > 0", ledger=lone), folder / "second")
    assert words in caplog.text
    page = folder / "second/internal/report-internal.en.html"
    assert words in page.read_text(encoding="utf-8")
    caplog.clear()
    with pytest.raises(ThinDifferenceError):
        release(job(folder, "older", "number > 1", ledger=known), folder / "third")
    release(job(folder, "again", ledger=known), folder / "fourth")
    release(job(folder, "public"), folder / "fifth")
    assert "not compared" not in caplog.text


def test_a_refusal_tells_that_missing_values_are_the_problem_and_recode_takes_them(folder):
    sex = ["F"] * 150 + ["M"] * 145 + [None] * 5
    people = {"person_id": [f"person-{i}" for i in range(300)], "sex": sex}
    pq.write_table(pa.table(people), folder / "people.parquet")
    release(job(folder, "all"), folder / "out")
    people["sex"] = ["F"] * 150 + ["M"] * 146 + [None] * 4
    pq.write_table(pa.table(people), folder / "people.parquet")
    with pytest.raises(ThinDifferenceError) as refusal:
        release(job(folder, "all"), folder / "second")
    assert "records without a value are among the cells" in refusal.value.hint
    assert "cells" in refusal.value.inside
    assert "missing" not in refusal.value.problem
    variable = '[[variable]]\nname = "women"\nof = "sex"\nrecode = { F = "yes", M = "other" }\n'
    merged = job(folder, "women", ledger=variable + 'missing = "other"')
    text = merged.path.read_text(encoding="utf-8").replace('["sex"]', '["women"]')
    merged.path.write_text(text, encoding="utf-8")
    release(read_job(merged.path), folder / "third")
    lines = (folder / "third/public/women.csv").read_text(encoding="utf-8")
    assert {line.split(",")[0] for line in lines.split()} == {
        '"women"', '"Total"', '"yes"', '"other"',
    }  # fmt: skip
