"""Releases from office files: labels, warnings, hashes."""

import csv
import hashlib
import json
import re

import numpy as np
import openpyxl
import pandas as pd
import pyreadstat
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.config import read_job
from ckm.release.perturbed import release
from tables import DataError
from tests.strategies import worked_ptable

JOB = """
schema = 1
[data]
path = "{path}"
record_key = "key"
key_range = 256
[keys]
mix = false
[ptable]
path = "pt.parquet"
[output]
formats = ["csv", "csv-labels"]
language = ["en", "fr"]
[report]
languages = ["en"]
{more}
[[table]]
name = "first"
dimensions = ["sex", "area"]
"""
LABELS = {"sex": {1: "Men", 2: "Women"}, "area": {"01": "North"}}


@pytest.fixture
def people():
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "sex": rng.choice([1.0, 2.0, 9.0], 300),
            "area": rng.choice(["01", "1E2"], 300),
            "key": rng.integers(0, 256, 300).astype(float),
        }
    )


@pytest.fixture
def job(tmp_path, people):
    def written(more="", *, labels=LABELS, path="people.sav"):
        if path.endswith("sav"):
            pyreadstat.write_sav(
                people,
                str(tmp_path / path),
                variable_value_labels=labels,
                missing_ranges={"sex": [9]},
            )
        worked_ptable().write(tmp_path / "pt.parquet", overwrite=True)
        file = tmp_path / "job.toml"
        file.write_text(JOB.format(path=path, more=more))
        return file

    return written


def rows_of(file):
    delimiter = ";" if ".fr." in file.name else ","
    with file.open(encoding="utf-8-sig", newline="") as lines:
        return {tuple(row[:4]) for row in csv.reader(lines, delimiter=delimiter)}


def told_of(result, words):
    warnings = json.loads(result.stdout)["warnings"]
    return [one["message"] for one in warnings if words in one["message"]]


pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::tables.DataWarning")]


def test_labels_of_the_file_are_those_of_categories_and_codes_stay(tmp_path, job):
    release(read_job(job()), tmp_path / "out")
    public = tmp_path / "out/public"
    codes = {row[0] for row in rows_of(public / "first.csv")}
    assert codes == {"sex", "Total", "1", "2", "(missing)"}
    for language in ("en", "fr"):
        rows = rows_of(public / f"first.{language}.labels.csv")
        assert {
            ("Men", "1", "North", "01"),
            ("Women", "2", "1E2", "1E2"),
        } <= rows
    # The report has the first rows as the file has them.
    first = json.loads((public / "report.json").read_text())["tables"][0]["first_rows"]
    with (public / "first.csv").open(newline="") as lines:
        _, *published = list(csv.reader(lines))[:9]
    assert first["measures"] == [{"en": "Count", "fr": "Effectif"}]
    assert [numbers for (numbers,) in first["numbers"]] == [row[-1] for row in published]
    assert "Men" in (public / "report.en.html").read_text(encoding="utf-8")


def test_labels_of_the_job_go_before_those_of_the_file(tmp_path, job):
    own = '[[variable]]\nname = "sex"\ncategories = { 1 = { en = "M", fr = "H" } }'
    release(read_job(job(own)), tmp_path / "out")
    public = tmp_path / "out/public"
    assert ("M", "1", "North", "01") in rows_of(public / "first.en.labels.csv")
    assert ("2", "2", "North", "01") in rows_of(public / "first.fr.labels.csv")


@pytest.mark.parametrize(
    "labels", [{1: "Men", 2: "Men"}, {1: "2", 2: "Women"}, {1: "2"}, {1: "Total"}]
)
def test_labels_that_readers_cannot_tell_apart_are_refused(tmp_path, job, labels):
    with pytest.raises(DataError, match="'sex'"):
        release(read_job(job(labels={"sex": labels})), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    own = '[[variable]]\nname = "sex"\ncategories = { 1 = "a", 2 = "b" }'
    release(read_job(job(own, labels={"sex": labels})), tmp_path / "out")


def test_the_manifest_has_the_hash_of_the_office_file(tmp_path, job):
    release(read_job(job()), tmp_path / "out")
    told = json.loads((tmp_path / "out/internal/manifest.json").read_text())["inputs"][0]
    digest = hashlib.sha256((tmp_path / "people.sav").read_bytes()).hexdigest()
    assert (told["file"], told["sha256"]) == ("people.sav", digest)


def test_a_check_tells_the_columns_with_codes_declared_as_missing(job):
    told = CliRunner().invoke(app, ["check", str(job()), "--quick", "--json"])
    (message,) = told_of(told, "declares codes as missing")
    assert "'sex' (1 code)" in message
    assert told.exit_code == 0


def test_a_check_of_a_workbook_tells_what_spreadsheets_change(tmp_path, people, job):
    workbook = openpyxl.Workbook()
    for row in [list(people.columns), *people.itertuples(index=False)]:
        workbook.active.append(list(row))
    workbook.save(tmp_path / "people.xlsx")
    file = job(path="people.xlsx")
    told = CliRunner().invoke(app, ["check", str(file), "--quick", "--json"])
    (message,) = told_of(told, "A spreadsheet turns codes")
    assert "no texts: 'sex'." in message  # keys of records are no codes of a dimension


def test_codes_that_may_have_lost_a_zero_are_told_wherever_they_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nace = ["45.1", "47.11", "10.10", "10.3"] * 30
    trade = pd.DataFrame({"firm": [f"f{n:03}" for n in range(120)], "nace": nace})
    trade.to_excel("trade.xlsx", index=False)
    told = "codes of column 'nace' are shorter than the others, 2 in all"

    def stderr(*words):
        result = CliRunner().invoke(app, [*words, "--lang", "en"])
        assert result.exit_code == 0, result.stderr
        return " ".join(result.stderr.split())

    stderr("keys", "secret", "secret.key")
    for kind in ("job", "service"):
        drafted = stderr(kind, "init", "trade.xlsx", "-o", f"{kind}.toml")
        assert f"{told}: '10.3', '45.1'" in drafted
        assert "A spreadsheet turns codes" not in drafted
        text = (tmp_path / f"{kind}.toml").read_text(encoding="utf-8")
        assert '"10.3", "45.1" shorter than the others' in text
    assert f"{told}: '10.3', '45.1'" in stderr("check", "job.toml", "--quick")
    assert told in stderr("release", "job.toml", "-o", "out")
    text = (tmp_path / "job.toml").read_text(encoding="utf-8")
    recoded = '[[variable]]\nname = "branch"\nof = "nace"\nkeep = true\n'
    recoded += 'recode = { "10.3" = "10.30", "45.1" = "45.10" }\n'
    text = re.sub(r"(?m)^nace = .*$", "", text).replace('["nace"]', '["branch"]')
    (tmp_path / "job.toml").write_text(text + recoded, encoding="utf-8")
    assert "shorter than" not in stderr("check", "job.toml")


@pytest.mark.parametrize("name", ["people.sav", "people.dta", "people.xlsx", "people.rds"])
def test_a_damaged_office_file_ends_check_and_release_with_3(tmp_path, job, name):
    (tmp_path / name).write_bytes(b"\x1f\x8bsecret" * 30)
    file = job(path="people.sav").parent / "job.toml"
    (tmp_path / name).write_bytes(b"\x1f\x8bsecret" * 30)
    file.write_text(JOB.format(path=name, more=""))
    for words in (["check", str(file)], ["release", str(file), "-o", str(tmp_path / "out")]):
        told = CliRunner().invoke(app, words)
        assert told.exit_code == 3
        assert "secret" not in told.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("population", "english", "french"),
    [
        (
            "",
            "Only some of the records are counted: ask the office which.",
            (
                "Seule une partie des enregistrements est comptée\u00a0: demandez laquelle à "
                "l\N{RIGHT SINGLE QUOTATION MARK}organisme."
            ),
        ),
        (
            'population = { en = "Persons in the north.", fr = "Personnes du nord." }',
            "Persons in the north.",
            "Personnes du nord.",
        ),
    ],
)
def test_readers_are_told_that_a_table_counts_some_records_alone(
    tmp_path, job, population, english, french
):
    file = job()
    text = file.read_text(encoding="utf-8").replace('["en"]', '["en", "fr"]')
    text = text.replace('"csv-labels"]', '"csv-labels", "xlsx", "parquet"]')
    file.write_text(f"{text}where = \"area = '01'\"\n{population}\n", encoding="utf-8")
    release(read_job(file), tmp_path / "out")
    public = tmp_path / "out/public"
    told = {"en": english, "fr": french}
    for page, language in (
        ("index", "en"),
        ("index", "fr"),
        ("report", "en"),
        ("report", "fr"),
    ):
        name = (
            "index.html" if (page, language) == ("index", "en") else f"{page}.{language}.html"
        )
        assert told[language] in (public / name).read_text("utf-8")
    manifest = json.loads((public / "manifest.json").read_bytes())
    assert manifest["tables"][0]["population"] == told
    sheets = openpyxl.load_workbook(public / "first.xlsx").worksheets
    texts = {cell.value for sheet in sheets for row in sheet.rows for cell in row}
    assert set(told.values()) <= texts
    assert told["en"].encode() in (public / "first.parquet").read_bytes()
