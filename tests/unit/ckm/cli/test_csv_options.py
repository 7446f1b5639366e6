"""Commands on CSV: codes stay what they are, and what is declared comes first."""

import csv
import json

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm.cli import app

pytestmark = pytest.mark.slow

N = 600
BANDS = ("0_4", "5_9", "10_14")
ZONES = ("1E2", "10E1", "100", "0100")

JOB = """
schema = 1
[data]
path = "people.csv"
decimal = ","
types = { zone = "text" }
id = "id"
weight = "weight"
[keys]
secret = "secret.key"
[ptable]
max_noise = 2
variance = 1.0
[[magnitude]]
name = "income"
[[table]]
name = "t"
dimensions = ["band", "zone"]
measures = ["count", "weighted", "sum:income"]
"""


def run(*args):
    environment = {"CKM_LOG_FORMAT": "text", "CKM_LANG": "en"}
    return CliRunner(env=environment).invoke(app, [str(arg) for arg in args])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKM_SECRET", raising=False)
    (tmp_path / "secret.key").write_text("a secret that is used by nobody")
    (tmp_path / "secret.key").chmod(0o600)
    rows = [f"{n};{BANDS[n % 3]};{ZONES[n % 4]};{n % 97},{n % 10}0;1,{n % 2}" for n in range(N)]
    text = "\n".join(["id;band;zone;income;weight", *rows]) + "\n"
    (tmp_path / "people.csv").write_text(text)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def published(file):
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_release_prints_the_codes_of_the_file_and_adds_decimal_commas_up(folder):
    done = run("release", "job.toml", "-o", "out", "--force")
    assert done.exit_code == 0, done.output
    rows = published(folder / "out" / "public" / "t.csv")
    assert {row["band"] for row in rows} == {*BANDS, "Total"}
    assert {row["zone"] for row in rows} == {*ZONES, "Total"}
    (total,) = (row for row in rows if row["band"] == row["zone"] == "Total")
    wanted = sum((n % 97 + n % 10 / 10) * (1 + n % 2 / 10) for n in range(N))
    assert float(total["sum_income"]) == pytest.approx(wanted, rel=0.05)


def test_a_text_that_is_no_number_stops_check_and_release_alike(folder):
    with (folder / "people.csv").open("a") as file:
        file.write("x;0_4;100;1.234,5;1\n")
    for verb in (["check", "job.toml"], ["check", "job.toml", "--quick"]):
        done = run(*verb)
        assert done.exit_code, done.output
        assert "line 602 of 'people.csv', is of the shape '9.999,9'" in done.output
        assert "thousands" in done.output
    done = run("release", "job.toml", "-o", "out")
    assert "line 602 of 'people.csv', is of the shape '9.999,9'" in done.output
    assert not (folder / "out").exists()


def test_keys_are_attached_to_codes_as_they_are_written(folder):
    done = run(
        *("keys", "attach", "people.csv", "--id", "id", "--secret", "secret.key"),
        *("--decimal", ",", "--type", "id=text", "-o", "keyed.parquet"),
    )
    assert done.exit_code == 0, done.output
    table = pq.read_table("keyed.parquet")
    assert set(table["band"].to_pylist()) == {*BANDS}
    assert table["id"].to_pylist()[:2] == ["0", "1"]
    told = json.loads(table.schema.metadata[b"ckm_csv"])
    assert told["decimal"] == ","
    text = JOB.replace("people.csv", "keyed.parquet").replace('decimal = ","\n', "")
    text = text.replace('types = { zone = "text" }\n', "")
    (folder / "keyed.toml").write_text(text.replace('id = "id"', 'record_key = "record_key"'))
    done = run("release", "keyed.toml", "-o", "out")
    assert done.exit_code == 0, done.output
    rows = published(folder / "out" / "public" / "t.csv")
    assert {row["zone"] for row in rows} == {*ZONES, "Total"}


def test_a_draft_declares_what_was_declared_for_it(folder):
    done = run(
        *("job", "init", "people.csv", "--decimal", ",", "--type", "zone=text"),
        *("--missing", "NA", "--missing", "NULL", "-o", "d.toml"),
    )
    assert done.exit_code == 0, done.output
    text = (folder / "d.toml").read_text()
    assert 'types = { zone = "text" }\ndecimal = ","\nmissing = ["NA", "NULL"]\n' in text
    assert all(band in text for band in BANDS)
    assert run("check", "d.toml", "--quick").exit_code == 0
    done = run("job", "init", "people.csv", "--type", "zone=code", "-o", "e.toml")
    assert done.exit_code == 2
    assert "TYPE is one of text, integer, decimal, date" in done.output


def test_suppression_sums_decimals_of_csv(folder):
    text = JOB.replace('weight = "weight"\n', "").replace('"weighted", ', "")
    text = text[: text.index("[keys]")] + text[text.index("[[table]]") :]
    text += "[suppression]\nthreshold = 3\n[suppression.dominance]\nn = 1\npercent = 90\n"
    (folder / "hide.toml").write_text(text)
    done = run("suppress", "hide.toml", "-o", "hidden")
    assert done.exit_code == 0, done.output
    rows = published(folder / "hidden" / "public" / "t.csv")
    (total,) = (row for row in rows if row["band"] == row["zone"] == "Total")
    assert float(total["sum_income"]) == pytest.approx(
        sum(n % 97 + n % 10 / 10 for n in range(N)), rel=1e-12
    )
