"""The tables of a release in every format: what comes back, what is said, what is refused."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyaxis import pyaxis

from ckm.assessment.facts import level_facts
from ckm.cli import app
from ckm.cli.terminal.exit_codes import WRONG_REQUEST
from ckm.config import JobError, read_job
from ckm.config.job.job import Job
from ckm.config.job.output import JobOutput
from ckm.config.section import schema_of
from ckm.engine.published_table import PublishedTable
from ckm.errors import CheckFailedError, ConfigError, FormatError, ReleaseError
from ckm.formats import FORMAT_NAMES, FORMATS
from ckm.release.files.table_files import TableFiles, file_names, in_formats
from ckm.release.files.table_metadata import TableWords
from ckm.release.job_inputs import load_ptable, open_engine
from ckm.release.perturbed import release
from tests.readers.reading import READ, read_about, read_table
from tests.strategies import worked_ptable

ROOT = Path(__file__).resolve().parents[4]
SECRET = "a secret of sixteen bytes or more"  # noqa: S105

JOB = """
schema = 1
title = { en = "People (made up)", fr = "Personnes (inventées)" }
[data]
path = "people.parquet"
id = "person_id"
weight = "weight"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[hierarchies]
geo = ["region", "commune"]
ages = { column = "age", tree = "ages.csv" }
[categories]
sex = ["F", "M", "X"]
[output]
language = "en"
source = { en = "An office", fr = "Un office" }
unit = { en = "persons", fr = "personnes" }
description = "Made up for a test."
[report]
languages = ["en"]
date = 2027-03-15
contact = "office@example.org"
[[variable]]
name = "geo"
labels = { en = "Place", fr = "Lieu" }
levels = { region = { en = "Region", fr = "Région" } }
codelist = "places.csv"
is_area = true
[[variable]]
name = "sex"
labels = { en = "Sex", fr = "Sexe" }
categories = { F = { en = "Women", fr = "Femmes" }, M = { en = "Men", fr = "Hommes" } }
[[table]]
name = "places"
title = { en = "People by place and sex", fr = "Personnes par lieu et sexe" }
dataflow = "OFFICE:PLACES(1.2)"
dimensions = ["geo", "sex"]
measures = ["count", "weighted"]
[[table]]
name = "ages"
dimensions = ["ages", "region", "sex"]
where = "age > 0"
[[table]]
name = "fine"
dimensions = ["sex", "geo"]
margins = "none"
measures = ["weighted"]
[[table]]
name = "some"
dimensions = ["geo", "sex"]
margins = [["region"], ["sex"], []]
"""

HOSTILE = [
    *("=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", 'a "quoted" one', "two\nlines", "a,b;c"),
    *("\tx", "日本", "עברית", "\u202eright to left", "é", "<script>", "&amp;", "_x0041_", "#"),
]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(11)
    size = 900
    region = rng.integers(1, 4, size)
    return {
        "person_id": [f"person-{number}" for number in range(size)],
        "region": [f"R{r}" for r in region],
        "commune": [f"R{r}C{c}" for r, c in zip(region, rng.integers(1, 6, size), strict=True)],
        "sex": rng.choice(["F", "M"], size).tolist(),
        "age": rng.integers(0, 4, size).tolist(),
        "word": rng.choice(HOSTILE, size).tolist(),
        "weight": rng.choice([0.0, 1.5, 2.25], size).tolist(),
    }


def write_job(folder, people, text=JOB):
    pq.write_table(pa.table(people), folder / "people.parquet")
    worked_ptable().write(folder / "pt.parquet")
    (folder / "ages.csv").write_text(
        "code,parent\nall,\nyoung,all\n0,young\n1,young\nold,all\n2,old\n3,old\n"
    )
    places = sorted({*people["region"], *people["commune"], "R9C9"})
    lines = [f"{code},Place {code},Lieu {code}" for code in places]
    (folder / "places.csv").write_text("\n".join(["code,en,fr", *lines]) + "\n")
    secret = folder / "secret.key"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    (folder / "job.toml").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path, people):
    return write_job(tmp_path, people)


def job_of(folder, old="", new=""):
    text = JOB.replace(old, new) if old else JOB + new
    assert text != JOB or not new
    (folder / "job.toml").write_text(text, encoding="utf-8")
    return read_job(folder / "job.toml")


@pytest.fixture(scope="module")
def released(tmp_path_factory, people):
    """A release of all tables in all formats, and the tables themselves."""
    folder = write_job(tmp_path_factory.mktemp("released"), people)
    job = read_job(folder / "job.toml")
    release(job, folder / "out", formats=FORMAT_NAMES)
    with open_engine(job, load_ptable(job)) as engine:
        return folder / "out" / "public", engine.tabulate_all(job.tables)


def rows(table):
    columns = [[cats[c] for c in codes.tolist()] for codes, cats in table.dimensions.values()]
    columns += [values.tolist() for values in table.measures.values()]
    return list(zip(*columns, strict=True))


def require_same(back, table, kind):
    assert back.columns == table.columns
    assert [v.dtype for v in back.measures.values()] == [
        v.dtype for v in table.measures.values()
    ]
    if kind == "px":  # its rows come in the order of the categories
        assert sorted(rows(back), key=str) == sorted(rows(table), key=str)
    elif kind == "xlsx":  # a total that has the one word of its column goes by the word
        totals = {"all": "Total"}
        assert rows(back) == [tuple(totals.get(c, c) for c in row) for row in rows(table)]
    else:
        assert rows(back) == rows(table)


def test_the_names_of_the_formats_are_those_that_are_written():
    assert tuple(FORMATS) == FORMAT_NAMES


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("name", ["places", "ages", "fine", "some"])
def test_what_a_release_writes_reads_back_as_the_same_table(released, name, kind):
    public, tables = released
    table = tables[name]
    assert table.n_rows > 20
    assert any(table.measures[m].any() for m in table.measures)
    back = read_table(public / file_names(name, kind)[0], format=kind)
    require_same(back, table, kind)


def test_words_come_back_as_far_as_a_format_keeps_them(released):
    public, _ = released
    expected = read_about(public / "places.parquet")
    assert expected.title == "People by place and sex"
    assert (expected.source, expected.unit) == ("An office", "persons")
    assert (expected.contact, str(expected.updated)) == ("office@example.org", "2027-03-15")
    assert expected.hierarchies == {"geo": ("region", "commune")}
    assert expected.geography == "geo"
    assert expected.totals == {"region": "Total", "commune": "Total", "sex": "Total"}
    assert expected.dataflow == "OFFICE:PLACES(1.2)"
    assert len(expected.notes) == 2
    assert expected.labels["geo"] == "Place"
    assert expected.labels["region"] == "Region"
    assert expected.labels["weighted"] == "Weighted count"
    sexes = {"Total": "Total", "F": "Women", "M": "Men"}
    assert expected.category_labels["sex"] == sexes  # no word of X, which nobody shows
    assert expected.category_labels["commune"]["R1C1"] == "Place R1C1"
    kept = 0
    for kind, format_ in ((kind, FORMATS[kind]) for kind in READ):
        said = read_about(public / file_names("places", kind)[0], format=kind)
        lost = {"geography"} if kind == "csvw" else set()  # it knows columns, no hierarchies
        for part in format_.keeps - {"categories", "labels", "category_labels"} - lost:
            kept += 1
            assert getattr(said, part) == getattr(expected, part), (kind, part)
    assert kept > 40
    tree = read_about(public / "ages.px")
    assert tree.totals == {"ages": "all", "region": "Total", "sex": "Total"}
    assert tree.category_labels["ages"]["all"] == "Total"
    assert tree.geography == "region"  # a level of the area


@pytest.mark.slow
def test_the_files_speak_french(folder):
    job = job_of(folder, 'language = "en"', 'language = "fr"')
    release(job, folder / "out", formats=["json-stat2", "px"])
    public = folder / "out" / "public"
    said = read_about(public / "places.json")
    assert said.title == "Personnes par lieu et sexe"
    assert (said.language, said.source, said.unit) == ("fr", "Un office", "personnes")
    assert said.labels["count"] == "Effectif"
    assert said.category_labels["sex"]["Total"] == "Ensemble"
    assert said.category_labels["commune"]["R1C1"] == "Lieu R1C1"
    assert "bruit" in said.notes[0]
    assert 'DATASYMBOL2="Secret statistique"' in (public / "places.px").read_text()
    manifest = json.loads((public / "manifest.json").read_text())
    assert manifest["title"] == "Personnes (inventées)"
    assert manifest["tables"][0]["title"] == "Personnes par lieu et sexe"


def in_languages(folder, languages):
    (folder / "job.toml").write_text(
        JOB.replace('language = "en"', f"language = {languages}"), encoding="utf-8"
    )
    return read_job(folder / "job.toml")


@pytest.mark.slow
def test_a_format_holds_both_languages_or_has_a_file_of_each(folder):
    for name, languages in {"en": '"en"', "fr": '["fr"]', "both": '["fr", "en"]'}.items():
        release(in_languages(folder, languages), folder / name, formats=FORMAT_NAMES)
    public, expected = folder / "both" / "public", set()
    for table, kind in itertools.product(("places", "ages", "fine", "some"), FORMAT_NAMES):
        keeps = FORMATS[kind].keeps
        if "translations" not in keeps:
            for language in ("en", "fr"):
                (own,) = file_names(table, kind, language=language if keeps else "")
                (alone,) = file_names(table, kind)
                content = (folder / language / "public" / alone).read_bytes()
                assert (public / own).read_bytes() == content, own
                expected.add(own)
            continue
        names = file_names(table, kind)
        expected.update(names)
        said = read_about(public / names[0], format=kind)
        meant = [
            read_about(folder / n / "public" / names[0], format=kind) for n in ("fr", "en")
        ]
        assert [replace(said, translations=()), *said.translations] == meant, (table, kind)
    assert len(expected) == 4 * (1 + 4 * 2 + 4)  # two are of CSV on the Web
    french = read_about(public / "places.px")
    assert french.category_labels["sex"] == {"Total": "Ensemble", "F": "Femmes", "M": "Hommes"}
    manifest = json.loads((public / "manifest.json").read_text())
    listed = {file["file"]: file for table in manifest["tables"] for file in table["files"]}
    assert listed.keys() == expected
    assert manifest["title"] == {"fr": "Personnes (inventées)", "en": "People (made up)"}
    assert manifest["tables"][0]["title"]["fr"] == "Personnes par lieu et sexe"
    assert manifest["tables"][1]["title"] is None
    pages = {file["file"] for file in manifest["report"]}
    there = {path.name for path in public.iterdir()}
    assert there == {*expected, *pages, "manifest.json"}
    internal = json.loads((folder / "both" / "internal" / "manifest.json").read_text())
    assert {file["file"] for file in internal["public"]} == there


@pytest.mark.slow
def test_every_word_of_a_french_file_for_people_is_french(folder):
    missing = JOB.replace('codelist = "places.csv"', "")
    (folder / "job.toml").write_text(missing.replace('language = "en"', 'language = ["fr"]'))
    people = pq.read_table(folder / "people.parquet").to_pylist()
    for person in people[::9]:
        person["region"] = person["commune"] = None
    pq.write_table(pa.Table.from_pylist(people), folder / "people.parquet")
    job = read_job(folder / "job.toml")
    release(job, folder / "out", formats=["xlsx", "csv-labels", "px"])
    public = folder / "out" / "public"
    book = openpyxl.load_workbook(public / "places.xlsx")
    assert book.sheetnames == ["Tableau", "À propos"]
    title, note, heads, *rows = book["Tableau"].values
    assert title[0] == "Personnes par lieu et sexe"
    assert note[0].startswith("Un léger bruit")
    assert heads[-2:] == ("Effectif (personnes)", "Effectif pondéré (personnes)")
    assert heads[:4] == ("Région", "commune", "Sexe", "Sexe (code)")  # what has other words
    assert {"(non renseigné)", "Ensemble", "R1"} < {row[0] for row in rows}
    assert {row[2:4] for row in rows} >= {("Ensemble", "Total"), ("Femmes", "F")}
    items = {row[0] for row in book["À propos"].values}
    assert items == {
        "Titre",
        "Nom",
        "Source",
        "Contact",
        "Date",
        "Note",
        "Colonne",
        "Nombres",
    } | {"Flux de données SDMX"}
    text = (public / "places.labels.csv").read_text("utf-8-sig")
    assert text.splitlines()[0].split(";")[-1] == '"Effectif pondéré (personnes)"'
    assert '"(non renseigné)";"(non renseigné)";"Femmes";"F";' in text
    frame = pyaxis.parse(str(public / "places.px"), encoding="utf-8")["DATA"]
    assert any(place.startswith("(non renseigné)") for place in frame["Lieu"])


@pytest.mark.slow
def test_pages_are_made_again_from_a_release_in_two_languages(folder):
    release(in_languages(folder, '["en", "fr"]'), folder / "out", formats=["px"])
    again = CliRunner().invoke(app, ["report", str(folder / "out"), "--public"])
    assert again.exit_code == 0, again.output
    (folder / "out" / "public" / "places.px").write_text("other")
    again = CliRunner().invoke(app, ["report", str(folder / "out"), "--public"])
    assert again.exit_code == 1
    assert "places.px" in again.output


def test_a_check_names_the_texts_that_are_not_there_in_each_language(folder):
    in_languages(folder, '["en", "fr"]')
    (folder / "places.csv").write_text("code,en,fr\nR1,North,\nR2,South,Sud\n")
    found = CliRunner().invoke(app, ["check", str(folder / "job.toml"), "--quick"])
    (line,) = [line for line in found.output.splitlines() if "files in" in line]
    told = line.partition("not given in each language: ")[2]
    for name in ("ages", "fine", "some"):
        assert f"the title of '{name}'" in told
    assert "the label of 'ages'" in told
    assert "description" in told
    assert "1 category of 'geo': 'R1'" in told
    assert "1 category of 'sex': 'X'" in told
    for given in ("places", "source", "unit", "'R2'", "'F'", "the title;", "'geo';"):
        assert given not in told
    in_languages(folder, '["en"]')
    one = CliRunner().invoke(app, ["check", str(folder / "job.toml"), "--quick"])
    assert "files in" not in one.output


@pytest.mark.parametrize(
    ("languages", "told"),
    [
        ("[]", 'language must be "en" or "fr", or a list of languages: ["en", "fr"].'),
        ('["en", "de"]', 'language must be "en" or "fr", or a list of languages'),
        ('["fr", "fr"]', "language names 'fr' twice"),
    ],
)
def test_languages_that_are_wrong_are_told_with_a_way_out(folder, languages, told):
    with pytest.raises(JobError) as error:
        in_languages(folder, languages)
    assert told in str(error.value)
    assert len(error.value.problems) == 1


def test_a_list_under_another_name_leads_to_the_key(folder):
    with pytest.raises(JobError, match="did you mean 'language'"):
        job_of(folder, 'language = "en"', 'languages = ["en", "fr"]')


def test_the_manifests_list_every_file(released):
    public, _ = released
    listed = {
        file["file"]
        for table in json.loads((public / "manifest.json").read_text())["tables"]
        for file in table["files"]
    }
    expected = {n for t in ("places", "ages", "fine", "some") for k in FORMAT_NAMES
                for n in file_names(t, k)}  # fmt: skip
    assert len(expected) == 4 * 9  # CSV and CSVW share a file, and the metadata are one more
    assert listed == expected
    internal = json.loads((public.parent / "internal" / "manifest.json").read_text())
    assert {file["file"] for file in internal["public"]} == {p.name for p in public.iterdir()}
    assert internal["job"]["formats"] == [kind for kind in FORMAT_NAMES if kind != "csv"]
    assert "--format px --format sdmx-csv" in internal["repeat"]
    facts = json.loads((public.parent / "internal" / "report.json").read_text())
    assert facts["reproduction"]["command"].endswith("--format sdmx-csv-1 --format csvw")


def test_the_numbers_of_the_internal_page_have_the_words_of_levels_and_trees(folder):
    job = job_of(folder, new='[[variable]]\nname = "ages"\ncategories = { old = "Old" }\n')
    wanted = {"region": ["R1", "(missing)"], "ages 1": ["young", "old"], "age 2": ["old"]}
    found = level_facts(job, {**wanted, "commune": ["nowhere"]})
    assert found.keys() == {"region", "ages 1"}  # no word for the others
    assert found["region"].label == {"en": "Region (region)", "fr": "Région (region)"}
    assert found["region"].categories["R1"] == "Place R1 (R1)"  # of the pages in English
    assert found["region"].categories["(missing)"]["fr"] == "(non renseigné)"
    assert found["ages 1"].categories == {"old": "Old (old)"}
    job = job.changed(output=job.output.changed(missing_label="unknown"))
    assert "(missing)" not in level_facts(job, wanted)["region"].categories


def test_the_code_list_is_an_input(released):
    public, _ = released
    internal = json.loads((public.parent / "internal" / "manifest.json").read_text())
    assert "places.csv" in {file["file"] for file in internal["inputs"]}


@pytest.mark.slow
def test_csv_and_csvw_together_are_one_csv_file_with_metadata(folder):
    job = job_of(folder, "[output]\n", '[output]\nformats = ["csv", "csvw", "csv"]\n')
    assert job.output.formats == ("csvw",)
    release(job, folder / "both")
    release(job, folder / "one", formats=["csv"])
    both, one = folder / "both" / "public", folder / "one" / "public"
    assert (both / "places.csv").read_bytes() == (one / "places.csv").read_bytes()
    assert (both / "places.csv-metadata.json").exists()
    assert not (one / "places.csv-metadata.json").exists()


@pytest.mark.slow
def test_the_job_chooses_the_formats_and_the_command_has_the_last_word(folder):
    job = job_of(folder, "[output]\n", '[output]\nformats = ["px", "xlsx"]\n')
    release(job, folder / "out")
    assert {p.suffix for p in (folder / "out" / "public").glob("places.*")} == {".px", ".xlsx"}
    release(job, folder / "out", formats=["json-stat2"], force=True)  # replaces its own files
    assert {p.suffix for p in (folder / "out" / "public").glob("places.*")} == {".json"}


@pytest.mark.slow
def test_the_same_job_gives_the_same_bytes(folder):
    for out in ("one", "two"):
        release(read_job(folder / "job.toml"), folder / out, formats=FORMAT_NAMES)
    one, two = ({p.name: p.read_bytes() for p in (folder / out / "public").iterdir()}
                for out in ("one", "two"))  # fmt: skip
    assert len(one) > 30
    assert one == two


@pytest.mark.parametrize(
    ("formats", "hint"),
    [('["pxx"]', "did you mean 'px'?"), ('["jsonstat"]', "did you mean 'json-stat2'?"),
     ('["csv", "zzzzz"]', "known are csv, csv-labels")],
)  # fmt: skip
def test_an_unknown_format_of_the_job_is_told_with_the_nearest(folder, formats, hint):
    with pytest.raises(JobError) as error:
        job_of(folder, "[output]\n", f"[output]\nformats = {formats}\n")
    assert "the format" in str(error.value)
    assert hint in str(error.value)


def test_an_unknown_format_of_a_program_is_told_before_anything_is_read(folder):
    job = read_job(folder / "job.toml")
    (folder / "people.parquet").write_bytes(b"no data at all")
    with pytest.raises(FormatError, match="did you mean 'xlsx'"):
        release(job, folder / "out", formats=["xlxs"])


def test_the_schema_for_editors_lists_the_formats():
    formats = schema_of(Job)["$defs"]["JobOutput"]["properties"]["formats"]
    assert formats["items"]["enum"] == list(FORMAT_NAMES)


@pytest.mark.parametrize(
    ("name", "kinds", "told"),
    [
        ("report", ["json-stat2"], "'report.json'"),
        ("REPORT", ["json-stat2"], "'report.json'"),
        ("places.sdmx", ["csv", "sdmx-csv"], "'places.sdmx.csv'"),
        ("places.csv-metadata", ["csvw", "json-stat2"], "'places.csv-metadata.json'"),
    ],
)
def test_two_tables_never_share_a_file(folder, name, kinds, told):
    job = job_of(folder, 'name = "some"', f'name = "{name}"')
    with pytest.raises(ConfigError, match="each file once") as error:
        release(job, folder / "out", formats=kinds)
    assert told in str(error.value)
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "kind", "told"),
    [
        ('en = "Women"', "en = 'Wo\"men'", "px", "quotation marks"),
        ('description = "Made up for a test."', 'description = "No #1."', "px", "'#'"),
        ('sex = ["F", "M", "X"]', """sex = ["F", "M", 'a "quote"']""", "px", "quotation"),
        (
            '"region", "commune"]',
            '"region", "commune", "total cases"]',
            "sdmx-csv",
            "'total cases'",
        ),
    ],
)
def test_what_a_format_cannot_say_is_told_before_the_data_are_read(
    folder, old, new, kind, told
):
    job = job_of(folder, old, new)
    (folder / "people.parquet").write_bytes(b"no data at all")
    for dry_run in (False, True):
        with pytest.raises(FormatError) as error:
            release(job, folder / "out", formats=["csv", kind], dry_run=dry_run)
        assert re.search(rf"Table '\w+' does not fit into '{kind}': ", str(error.value))
        assert told in str(error.value)
        assert "hint:" in str(error.value)
    assert not (folder / "out").exists()


def test_a_table_that_turns_out_not_to_fit_publishes_nothing(folder, monkeypatch):
    monkeypatch.setattr("ckm.formats.xlsx.MAX_ROWS", 15)
    with pytest.raises(FormatError, match=r"Table '\w+' does not fit into 'xlsx': .* rows"):
        release(read_job(folder / "job.toml"), folder / "out", formats=["csv", "xlsx"])
    assert not (folder / "out").exists()
    assert not [path for path in folder.iterdir() if path.name.startswith(".out")]


def words(folder):
    """Return a job over the hostile words."""
    old = 'dimensions = ["geo", "sex"]\nmargins = [["region"], ["sex"], []]'
    return job_of(folder, old, 'dimensions = ["word", "sex"]')


@pytest.mark.parametrize("kind", [kind for kind in READ if kind != "px"])
def test_hostile_categories_come_back_as_they_are(folder, kind):
    job = words(folder)
    release(job, folder / "out", formats=[kind])
    with open_engine(job, load_ptable(job)) as engine:
        table = engine.tabulate_all(job.tables)["some"]
    assert set(HOSTILE) < set(table.dimensions["word"][1])
    path = folder / "out" / "public" / file_names("some", kind)[0]
    require_same(read_table(path, format=kind), table, kind)


def test_px_refuses_hostile_categories_and_nothing_is_published(folder):
    job = words(folder)
    with pytest.raises(FormatError, match="'some' does not fit into 'px'") as error:
        release(job, folder / "out", formats=["csv", "px"])
    assert "quoted" not in str(error.value)  # no category is shown
    assert not (folder / "out").exists()


def test_a_code_list_that_lacks_a_published_category_is_told_without_naming_it(folder):
    text = (folder / "places.csv").read_text()
    (folder / "places.csv").write_text(text.replace("R1C1,Place R1C1,Lieu R1C1\n", ""))
    with pytest.raises(ReleaseError) as error:
        release(read_job(folder / "job.toml"), folder / "out", formats=["px"])
    assert "shows 1 categories of 'commune' that the code list 'places.csv'" in str(error.value)
    assert "R1C1" not in str(error.value)
    assert not (folder / "out").exists()


@pytest.mark.parametrize("kind", READ)
def test_suppressed_cells_are_marked_and_what_they_hide_is_not_written(folder, released, kind):
    table = released[1]["places"]
    mask = np.arange(table.n_rows) % 7 == 3
    marked = {
        "count": np.ma.array(np.where(mask, 987654321, table.measures["count"]), mask=mask),
        "weighted": np.ma.array(
            np.where(mask, 98765.4321, table.measures["weighted"]), mask=mask
        ),
    }
    marked = PublishedTable(dimensions=table.dimensions, measures=marked)
    files = TableFiles(in_formats(read_job(folder / "job.toml"), [kind]))
    (folder / "public").mkdir()
    path, *_ = files.write(folder / "public", "places", marked)
    back = read_table(path, format=kind)
    require_same(back, marked, kind)
    hidden = sum(int(np.ma.getmaskarray(v).sum()) for v in back.measures.values())
    assert hidden == 2 * int(mask.sum()) > 0
    assert "98765" not in contents(path)


def contents(path):
    """Return all that a file holds as text, whatever packs it."""
    data = path.read_bytes()
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "\n".join(archive.read(n).decode() for n in archive.namelist())
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        groups = [file.metadata.row_group(n) for n in range(file.metadata.num_row_groups)]
        columns = [g.column(n) for g in groups for n in range(g.num_columns)]
        table = file.read()
        parts = [str(c.statistics) for c in columns] + [str(table.schema.metadata)]
        parts += [str(c.to_pylist()) for c in table.columns]
        parts += [str(c.chunk(0).dictionary.to_pylist()) for c in table.columns
                  if pa.types.is_dictionary(c.type) and c.num_chunks]  # fmt: skip
        return "\n".join(parts) + data.decode("latin-1")
    return data.decode()


LEARNED = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[hierarchies]
geo = ["region", "rare"]
[categories]
sex = ["F", "M", "NOBODY"]
[[variable]]
name = "rare"
codelist = "rare.csv"
[[variable]]
name = "sex"
categories = { NOBODY = "An empty category" }
[[table]]
name = "listed"
dimensions = ["rare", "sex"]
empty_cells = "{cells}"
[[table]]
name = "nested"
dimensions = ["geo", "sex"]
empty_cells = "{cells}"
"""


@pytest.mark.slow
@pytest.mark.parametrize("cells", ["drop", "grid"])
def test_categories_that_no_published_count_shows_are_in_no_public_file(
    tmp_path, people, cells
):
    rare = [f"MARK{n:03d}x" if n < 60 else "often" for n in range(len(people["sex"]))]
    write_job(tmp_path, {**people, "rare": rare}, LEARNED.replace("{cells}", cells))
    lines = [
        f"{code},LABEL{code},LABEL{code}" for code in sorted(set(rare) | {"R1", "R2", "R3"})
    ]
    (tmp_path / "rare.csv").write_text("\n".join(["code,en,fr", *lines]) + "\n")
    job = read_job(tmp_path / "job.toml")
    release(job, tmp_path / "out", formats=FORMAT_NAMES)
    with open_engine(job, load_ptable(job)) as engine:
        tables = engine.tabulate_all(job.tables)
    for name in ("listed", "nested"):
        shown = {text for text in tables[name].dimensions["rare"][1] if text.startswith("MARK")}
        unseen = {text for text in rare if text.startswith("MARK")} - shown
        assert len(shown) > 10
        assert len(unseen) > 10
        for path in (tmp_path / "out" / "public").iterdir():
            found = set(re.findall(r"MARK\d{3}x", contents(path)))
            assert not found & unseen, path.name
            is_file = path.name.startswith(f"{name}.")
            assert not is_file or found >= shown
        # A declared category that nobody is in stands in a grid: the office told of it.
        about = read_about(tmp_path / "out" / "public" / f"{name}.json")
        assert ("NOBODY" in about.category_labels.get("sex", {})) is (cells == "grid")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('source = { en = "An office"', f'source = {{ en = "{SECRET}"'),
        ('en = "Women"', f'en = "{SECRET}"'),
        ('description = "Made up for a test."', 'description = "HERE"'),
        ('labels = { en = "Sex"', 'labels = { en = "HERE"'),
    ],
)
def test_the_scan_looks_at_what_the_files_say(folder, old, new):
    job = job_of(folder, old, new.replace("HERE", str(folder)))
    found = r"a (?:public page|file of a table) would hold what must stay inside"
    with pytest.raises(CheckFailedError, match=found) as error:
        release(job, folder / "out", formats=["px"])
    assert SECRET not in str(error.value)
    assert not (folder / "out").exists()


def test_an_output_that_the_next_release_would_read_is_refused_in_any_format(folder):
    (folder / "out" / "public").mkdir(parents=True)
    (folder / "out2").mkdir()
    (folder / "out2" / "places.sdmx.csv").write_text("person_id,sex\na,F\n")
    job = job_of(folder, 'path = "people.parquet"', 'path = "out*/**/*.sdmx.csv"')
    with pytest.raises(ReleaseError, match="read as data"):
        release(job, folder / "out", formats=["sdmx-csv"])
    with pytest.raises(Exception, match=r"^(?!.*read as data)"):  # another reason: the columns
        release(job, folder / "out", formats=["px"])


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ('[[variable]]\nname = "sex"\n', "occurs more than once"),
        ('[[variable]]\nname = "region"\nis_area = true\n', "one variable is the area"),
        ('[[variable]]\nname = "ages"\nis_area = true\nrole = "time"\n', "places or times"),
        ('[[variable]]\nname = "ages"\nrole = "place"\n', "role must be one of"),
        (
            "".join(f'[[variable]]\nname = "{n}"\nrole = "time"\n' for n in ("ages", "region")),
            "one variable tells times, not 'ages', 'region'.",
        ),
        ('[[variable]]\nname = "ages"\nlevels = { x = "y" }\n', "'x' is no level of it"),
        ('[[variable]]\nname = "ages"\ncodelist = "none.csv"\n', "does not exist"),
        ('[[variable]]\nname = "ages"\ncodelist = "job.toml"\n', "columns code, en."),
        ('[[variable]]\nname = "ages"\ncodelist = "twice.csv"\n', "names a code twice"),
        (
            '[[variable]]\nname = "ages"\ncodelist = "places.csv"\ncategories = { a = "b" }\n',
            "both codelist and categories",
        ),
        ('[[variable]]\nname = "ages"\nlabels = 3\n', "labels must be a text"),
        ('[[variable]]\nname = "ages"\ncategories = { a = 3 }\n', "categories must give texts"),
        ('[[variable]]\nname = "ages"\nis_sensitive = true\n', "'is_sensitive' is unknown"),
        ('[[variable]]\nlabels = "x"\n', "[[variable]] number 3: name is missing"),
    ],
)
def test_words_that_are_wrong_are_told(folder, section, told):
    (folder / "twice.csv").write_text("code,en,fr\n0,a,b\n0,c,d\n")
    with pytest.raises(JobError) as error:
        job_of(folder, '[[variable]]\nname = "geo"', f'{section}[[variable]]\nname = "geo"')
    assert told.replace("number 3", "number 1") in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('dataflow = "OFFICE:PLACES(1.2)"', 'dataflow = "PLACES"', "dataflow is not an id"),
        ('title = { en = "People by place and sex", fr = "Personnes par lieu et sexe" }',
         'title = { fr = "x" }', "[[table]] 'places': title must be a text"),
        ('language = "en"', 'language = "de"', 'language must be "en" or "fr"'),
        ('unit = { en = "persons", fr = "personnes" }', "unit = 1", "unit must be a text"),
    ],
)  # fmt: skip
def test_output_that_is_wrong_is_told(folder, old, new, told):
    with pytest.raises(JobError) as error:
        job_of(folder, old, new)
    assert told in str(error.value)


def test_words_for_no_column_are_warned_of(folder):
    job = job_of(folder, new='[[variable]]\nname = "sexe"\nlabels = "Sex"\n')
    (warning,) = (text for text in job.warnings if "'sexe'" in text)
    assert "'sexe' is no dimension" in warning
    assert "did you mean 'sex'?" in warning


@pytest.mark.slow
def test_a_column_has_words_of_its_own(folder):
    extra = (
        '[[variable]]\nname = "commune"\nlabels = "Town"\ncategories = { R1C1 = "Capital" }\n'
    )
    job = job_of(folder, new=extra)
    release(job, folder / "out", formats=["parquet"])
    said = read_about(folder / "out" / "public" / "places.parquet")
    assert said.labels["commune"] == "Town"
    assert said.category_labels["commune"]["R1C1"] == "Capital"
    assert said.category_labels["commune"]["R1C2"] == "Place R1C2"


def test_a_hierarchy_of_one_column_is_a_plain_dimension(folder):
    job = job_of(folder, 'geo = ["region", "commune"]', 'geo = ["region"]')
    release(job, folder / "out", formats=["json-stat2"])
    said = read_about(folder / "out" / "public" / "places.json")
    assert (said.geography, said.hierarchies) == ("geo", {})
    assert said.labels["geo"] == "Place"
    assert said.category_labels["geo"]["R1"] == "Place R1"


@pytest.mark.slow
def test_a_dimension_called_count_keeps_its_name_and_the_measure_its_label(folder, people):
    pq.write_table(pa.table({**people, "count": people["sex"]}), folder / "people.parquet")
    old, new = (f'dimensions = ["geo", "{name}"]\nmeasures' for name in ("sex", "count"))
    job = job_of(folder, old, new)
    release(job, folder / "out", formats=FORMAT_NAMES)
    for kind in READ:
        path = folder / "out" / "public" / file_names("places", kind)[0]
        back = read_table(path, format=kind)
        assert back.columns == ("region", "commune", "count", "count_published", "weighted")
    said = read_about(folder / "out" / "public" / "places.parquet")
    assert said.labels["count"] == "count"
    assert said.labels["count_published"] == "Count"


def run(folder, *words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "ckm", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_command_takes_formats_and_suggests_the_nearest(folder):
    done = run(folder, "release", "job.toml", "-o", "out", "--format", "px", "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert {p.suffix for p in (folder / "out/public").glob("places.*")} == {".px", ".csv"}
    done = run(folder, "release", "job.toml", "-o", "again", "--format", "json-stat")
    assert done.returncode == WRONG_REQUEST
    assert "did you mean 'json-stat2'?" in done.stderr
    assert run(folder, "check", "job.toml", "--quick").returncode == 0
    text = JOB.replace("[output]\n", '[output]\nformats = ["px"]\n').replace("a test", "#")
    (folder / "job.toml").write_text(text)
    done = run(folder, "check", "job.toml", "--quick")
    assert done.returncode == WRONG_REQUEST
    assert "does not fit into 'px'" in done.stderr


@pytest.mark.slow
def test_the_shell_completes_formats(folder):
    words = "ckm release job.toml --format sd"
    done = run(folder, _CKM_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD="4")
    assert set(re.findall(r"plain,(\S+)", done.stdout)) == {"sdmx-csv", "sdmx-csv-1"}


@pytest.mark.slow
def test_real_data_come_back_from_every_format(shared, tmp_path):
    source = shared / "data" / "acs_national_2019.parquet"
    if not source.is_file():
        pytest.skip("the American Community Survey is not in the shared folder")
    people = pq.read_table(source)
    people = people.append_column("person_id", [[f"p{n}" for n in range(len(people))]])
    write_job(tmp_path, {"region": ["x"], "commune": ["y"]}, REAL)
    pq.write_table(people, tmp_path / "people.parquet")
    job = read_job(tmp_path / "job.toml")
    release(job, tmp_path / "out", formats=FORMAT_NAMES)
    with open_engine(job, load_ptable(job)) as engine:
        tables = engine.tabulate_all(job.tables)
    for name, table in tables.items():
        assert table.n_rows > 40
        for kind in READ:
            path = tmp_path / "out" / "public" / file_names(name, kind)[0]
            require_same(read_table(path, format=kind), table, kind)


REAL = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
weight = "PWGTP"
[keys]
secret = "secret.key"
[ptable]
max_noise = 3
variance = 2.0
small = 1
[[table]]
name = "education"
title = "People by area, sex and education"
dimensions = ["PUMA", "SEX", "EDU"]
measures = ["count", "weighted"]
[[table]]
name = "race"
dimensions = ["RAC1P", "SEX", "MSP"]
margins = [["RAC1P"], ["SEX"], []]
empty_cells = "grid"
"""


def test_the_bytes_of_a_table_depend_on_the_table_and_the_job_alone(folder, released):
    public, tables = released
    files = TableFiles(in_formats(read_job(folder / "job.toml"), ["xlsx"]))
    (path,) = files.write(folder, "places", tables["places"])
    assert path.read_bytes() == (public / "places.xlsx").read_bytes()


@pytest.mark.slow
def test_formulas_are_named_before_a_release_and_in_it_and_can_be_escaped(folder, monkeypatch):
    monkeypatch.chdir(folder)
    people = pq.read_table("people.parquet").to_pylist()
    for row in people[:300]:
        row["sex"] = "=HYPERLINK(1)"
    pq.write_table(pa.Table.from_pylist(people), "people.parquet")
    job_of(folder, 'sex = ["F", "M", "X"]', 'sex = ["F", "M", "=HYPERLINK(1)", "@x"]')

    def run(*words):
        return CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke(app, [*words, "job.toml"])

    text = " ".join(run("check", "--quick").stderr.split())
    assert "Column 'sex' has 2 texts that a spreadsheet takes for a formula" in text
    assert "opens 'csv': '=HYPERLINK(1)', '@x'." in text
    done = run("release", "-o", "a folder")
    text = " ".join(done.stderr.split())
    assert "Table 'places': Column 'sex' has 1 text that a spreadsheet takes" in text
    assert "HYPERLINK" not in text  # a file may go anywhere
    kept = (folder / "a folder" / "public" / "places.csv").read_text()
    assert '"=HYPERLINK(1)",' in kept
    facts = json.loads((folder / "a folder" / "internal" / "report.json").read_text())
    assert facts["reproduction"]["command"] == "ckm release -o 'a folder' job.toml"

    told = (folder / "job.toml").read_text()
    (folder / "job.toml").write_text(
        told.replace("[output]\n", '[output]\ncsv_formulas = "escape"\n')
    )
    assert "formula" not in run("check", "--quick").stderr
    assert "formula" not in run("release", "-o", "out").stderr
    escaped = (folder / "out" / "public" / "places.csv").read_text()
    assert escaped == kept.replace('"=HYPERLINK(1)"', '"\'=HYPERLINK(1)"')
    assert (
        read_table(folder / "out" / "public" / "places.parquet").dimensions["sex"][1]
        == (read_table(folder / "a folder" / "public" / "places.csv").dimensions["sex"][1])
    )


@pytest.mark.parametrize(("language", "label"), [("fr", "(non renseigné)"), ("en", None)])
def test_missing_categories_are_called_so_in_the_language_of_the_files(language, label):
    job = SimpleNamespace(
        tables={},
        hierarchies={},
        variables={},
        labelled_columns=frozenset(),
        output=JobOutput(language=(language,)),
    )
    words = TableWords(job)
    words._total["sex"] = "Total"
    table = PublishedTable(
        dimensions={"sex": (np.arange(2, dtype=np.int32), ["F", "(missing)"])},
        measures={"count": np.arange(2)},
    )
    labels = words._categories("people", {"sex": "sex"}, table)
    assert labels.get("sex", {}).get("(missing)") == label


@pytest.mark.slow
def test_a_job_that_publishes_its_noise_says_so_of_tables_with_counts(folder):
    job = job_of(folder, "[output]\n", "[output]\npublish_noise = true\n")
    release(job, folder / "out", formats=["parquet"])
    public = folder / "out" / "public"
    said = read_about(public / "places.parquet")
    assert "within ±2 with a probability of 95 %" in said.notes[-1]
    assert said.reliable_from == 10
    assert read_about(public / "fine.parquet").reliable_from == 0  # weighted counts alone


def test_noise_is_not_published_of_counts_that_are_changed_again(folder):
    with pytest.raises(JobError, match="and additive changes them again"):
        job_of(folder, "[output]\n", "[output]\nadditive = true\npublish_noise = true\n")


@pytest.mark.parametrize(
    ("locale", "english", "french"),
    [("language", ",", ";"), ("fr", ";", ";"), ("en", ",", ",")],
)
def test_a_job_says_whose_separators_csv_with_labels_has(tmp_path, locale, english, french):
    people = pa.table({"id": range(30), "w": [1.5] * 30, "sex": ["F", "M", "M"] * 10})
    pq.write_table(people, tmp_path / "people.parquet")
    (tmp_path / "job.toml").write_text(
        'schema = 1\ndata = { path = "people.parquet", id = "id" }\n'
        "rounding = { base = 3, bound = 2 }\n"
        'output = { language = ["en", "fr"], formats = ["csv-labels"], '
        f'csv_locale = "{locale}" }}\n[[table]]\nname = "t"\ndimensions = ["sex"]\n'
    )
    release(read_job(tmp_path / "job.toml"), tmp_path / "out")
    for code, sign in (("en", english), ("fr", french)):
        text = (tmp_path / "out" / "public" / f"t.{code}.labels.csv").read_text("utf-8-sig")
        assert text.splitlines()[0].count(sign) == 1, code
