"""``ckm ledger``: what was published, and what differs by too little."""

from __future__ import annotations

import csv
import re
import sqlite3
from importlib import import_module

import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.ledger import Definition, Ledger
from tables import Request, StoredKeys, cube, open_source
from tests.unit.ckm.ledger.process import SECRET, entry, register


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("CKM_SECRET", raising=False)
    monkeypatch.chdir(tmp_path)
    SECRET.write(tmp_path / "secret.key")
    filters = ["number > 0", "number > 1", "number > 400"]
    with open_source(register()) as source, Ledger.open("ledger.db", secret=SECRET) as ledger:
        for where in filters:
            ledger.publish([entry(ledger, source, where)], policy="flag")
        ledger.publish([entry(ledger, source, "number > 402")], history="inside")
    return tmp_path


def read(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def run(*args):
    return CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke(app, [str(arg) for arg in args])


@pytest.mark.slow
def test_list_and_export_need_no_secret(folder):
    (folder / "secret.key").unlink()
    shown = run("ledger", "list", "ledger.db")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.count("number > ") == 8  # as the name of each table, and as its filter
    written = run("ledger", "export", "ledger.db", "--history", "public", "-o", "out.csv")
    assert written.exit_code == 0, written.stderr
    rows = read(folder / "out.csv")
    assert [row["where"] for row in rows] == ["number > 0", "number > 1", "number > 400"]
    assert rows[0]["dimensions"] == "area"
    assert (
        run("ledger", "export", "ledger.db").stdout.splitlines()[1:4]
        == ((folder / "out.csv").read_text().splitlines()[1:])
    )


def test_audit_names_what_is_missing_and_knows_a_head_that_was_noted(folder):
    audited = run("ledger", "audit", "ledger.db", "--secret", "secret.key")
    (head,) = re.findall(r"head is (4:[0-9a-f]{32})", audited.stderr.replace("\n", " "))
    args = ["ledger", "audit", "ledger.db", "--secret", "secret.key", "--head"]
    assert run(*args, head).exit_code == 0
    assert "not the one whose head was noted" in run(*args, f"3:{'0' * 32}").stderr
    with sqlite3.connect("ledger.db") as connection:
        connection.execute("DELETE FROM ckm_ledger_entry WHERE number = 2")
    connection.close()
    damaged = run(*args, head)
    assert damaged.exit_code != 0
    assert "entry 2 is missing" in damaged.stderr


def test_audit_lists_the_thin_differences(folder):
    result = run("ledger", "audit", "ledger.db", "--secret", "secret.key")
    assert result.exit_code == 0, result.stderr
    assert "area" not in result.stdout + result.stderr
    assert "-o thin.csv names them" in result.stderr

    strict = run(
        "ledger", "audit", "ledger.db", "--secret", "secret.key", "--strict", "-o", "thin.csv"
    )
    assert strict.exit_code == 1
    rows = read(folder / "thin.csv")
    assert f"{len(rows)} thin differences" in result.stderr
    wanted = (
        "area=1",
        "number > 1",
        "number > 1",
        "2",
        "area=1",
        "number > 0",
        "number > 0",
        "1",
    )
    assert wanted in [tuple(row.values()) for row in rows]
    assert "400" not in (folder / "thin.csv").read_text()
    assert {row["published_entry"] for row in rows} == {"1"}
    assert "area=1" in {row["cell"] for row in rows}

    calm = run(
        "ledger",
        "audit",
        "ledger.db",
        "--secret",
        "secret.key",
        "--strict",
        "--history",
        "inside",
    )
    assert calm.exit_code == 0
    assert "no thin difference" in calm.stderr
    assert calm.stdout == ""


def test_the_secret_may_come_from_the_environment_or_a_job(folder, monkeypatch):
    missing = run("ledger", "audit", "ledger.db")
    assert missing.exit_code == 3
    assert "CKM_SECRET" in missing.stderr
    monkeypatch.setenv("CKM_SECRET", (folder / "secret.key").read_text())
    assert run("ledger", "audit", "ledger.db").exit_code == 0
    monkeypatch.delenv("CKM_SECRET")
    (folder / "people.parquet").touch()
    (folder / "job.toml").write_text(
        'schema = 1\n[data]\npath = "people.parquet"\nid = "id"\n'
        '[keys]\nsecret = "secret.key"\n[ptable]\n'
        'max_noise = 2\nvariance = 1.0\n[[table]]\nname = "t"\ndimensions = ["a"]\n'
    )
    by_job = run("ledger", "audit", "ledger.db", "--job", "job.toml")
    assert by_job.exit_code == 0, by_job.stderr
    both = run("ledger", "audit", "ledger.db", "--job", "job.toml", "--secret", "secret.key")
    assert both.exit_code == 2


def test_what_is_no_ledger_is_refused_and_nothing_is_made(folder):
    for verb in ("list", "export", "audit"):
        more = ["--secret", "secret.key"] if verb == "audit" else []
        gone = run("ledger", verb, "gone.db", *more)
        assert gone.exit_code == 2
        assert "There is no ledger 'gone.db'" in gone.stderr
        assert not (folder / "gone.db").exists()
        wrong = run("ledger", verb, "secret.key", *more)
        assert wrong.exit_code == 2
        assert "is not a ledger" in wrong.stderr
    wide = run("ledger", "audit", "ledger.db", "--secret", "secret.key", "--threshold", "3")
    assert wide.exit_code == 2
    assert "1 to 2 records, not 3" in wide.stderr


def test_an_output_is_not_replaced_unless_asked(folder):
    (folder / "out.csv").write_text("mine")
    kept = run("ledger", "export", "ledger.db", "-o", "out.csv")
    assert kept.exit_code == 2
    assert (folder / "out.csv").read_text() == "mine"
    assert run("ledger", "export", "ledger.db", "-o", "out.csv", "--force").exit_code == 0


@pytest.mark.parametrize(
    ("verb", "inner"),
    [
        (("ledger", "export", "ledger.db"), "ckm.cli.ledger.csv_text"),
        (("schema", "job"), "ckm.cli.job._schema_text"),
        (("job", "init", "people.csv"), "ckm.config.draft.draft_job"),
        (
            ("ptable", "build", "--max-noise", "1", "--variance", "0.5"),
            "ckm.cli.ptable.build._solve",
        ),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_an_output_that_appears_while_a_verb_works_is_not_replaced(
    folder, monkeypatch, verb, inner
):
    (folder / "people.csv").write_text("id,sex\n1,F\n2,M\n3,F\n")
    out = folder / {"job": "out.toml", "ptable": "out.json"}.get(verb[0], "out.csv")
    place, _, name = inner.rpartition(".")
    module = import_module(place)
    works = getattr(module, name)

    def meanwhile(*given, **named):
        out.write_text("mine")
        return works(*given, **named)

    monkeypatch.setattr(module, name, meanwhile)
    assert run(*verb, "-o", out.name).exit_code == 2
    assert out.read_text() == "mine"
    assert run(*verb, "-o", out.name, "--force").exit_code == 0
    assert out.read_text() != "mine"


def test_labels_cannot_write_on_the_terminal(folder):
    evil = "\x1b[31m[bold]red\n"
    with open_source(register()) as source, Ledger.open("ledger.db", secret=SECRET) as ledger:
        request = Request(dimensions=["area"], where="number > 2", total_label=evil)
        (cells,) = cube(source, StoredKeys(column="key"), [request], sketch=ledger.width)
        definition = Definition.of(request, name=evil, where="number > 2")
        ledger.publish([ledger.entry(cells, definition)], policy="flag")
    result = run("ledger", "list", "ledger.db")
    assert result.exit_code == 0, result.stderr
    assert "\x1b[31m" not in result.stdout
    assert "[bold]red" in result.stdout


def test_the_secret_may_come_from_a_service_file(folder):
    (folder / "people.csv").write_text("rkey,sex\n17,F\n")
    (folder / "service.toml").write_text(
        "schema = 1\nservice = { title = 'People' }\n"
        "data = { path = 'people.csv', record_key = 'rkey', key_range = 256 }\n"
        "keys = { secret = 'secret.key' }\nptable = { max_noise = 2, variance = 1.0 }\n"
        "[[variable]]\nname = 'sex'\n"
    )
    found = run("ledger", "audit", "ledger.db", "--job", "service.toml")
    assert found.exit_code == 0, found.stderr
    assert found.stdout == run("ledger", "audit", "ledger.db", "--secret", "secret.key").stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("schema = 1\n[service]\ntitle = 'x'\n", "makes this a service, not a job."),
        ("schema = 1\n[[variable]]\nname = 'x'\n", "[[table]] is missing."),
    ],
)
def test_a_service_file_in_the_place_of_a_job_is_told_apart(folder, text, words):
    (folder / "service.toml").write_text(text)
    result = run("release", "service.toml", "-o", "out")
    assert result.exit_code == 2, result.stderr
    assert words in result.stderr


def test_a_copy_is_whole_while_somebody_writes_and_a_lost_ledger_goes_on_from_it(folder):
    with open_source(register()) as source, Ledger.open("ledger.db", secret=SECRET) as ledger:
        copied = run("ledger", "backup", "ledger.db", "-o", "copy.db")
        assert copied.exit_code == 0, copied.stderr
        assert "4 tables" in copied.stderr
        assert (folder / "copy.db").stat().st_mode & 0o777 == 0o600
        assert not [*folder.glob("copy.db-*")]
        later = entry(ledger, source, "number > 3")
        ledger.publish([later], policy="flag")
    for path in folder.glob("ledger.db*"):
        path.unlink()
    (folder / "copy.db").rename("ledger.db")
    with open_source(register()) as source, Ledger.open("ledger.db", secret=SECRET) as ledger:
        ledger.require_whole()
        ledger.publish([entry(ledger, source, "number > 3")], policy="flag")
    assert run("ledger", "list", "ledger.db").stdout.count("number > ") == 10


@pytest.mark.parametrize(
    ("target", "output", "words"),
    [
        ("none.db", "copy.db", "There is no ledger"),
        ("secret.key", "copy.db", "is not a ledger"),
        ("ledger.db", "secret.key", "--force"),
        ("postgresql://localhost/x", "copy.db", "pg_dump"),
    ],
)
def test_what_cannot_be_copied_is_refused_and_nothing_is_written(folder, target, output, words):
    before = (folder / "secret.key").read_bytes()
    refused = run("ledger", "backup", target, "-o", output)
    assert refused.exit_code != 0
    assert words in refused.stderr
    assert (folder / "secret.key").read_bytes() == before
    assert not (folder / "copy.db").exists()
    onto_itself = run("ledger", "backup", "ledger.db", "-o", "ledger.db", "--force")
    assert onto_itself.exit_code != 0
    assert len(run("ledger", "list", "ledger.db").stdout.splitlines()) > 4
