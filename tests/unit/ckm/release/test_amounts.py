"""Releases with sums: the job's words, the files, and what stays inside."""

from __future__ import annotations

import json

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import ckm
from ckm.cli import app
from ckm.config import read_job
from ckm.engine.magnitudes import MagnitudeNoise
from ckm.formats import FORMATS
from ckm.release.files.manifest import METHODS
from ckm.release.pages.numbers import read_facts
from ckm.release.perturbed import release
from ptable import NoiseSpec, PTable, solve
from tables import Secret
from tests.readers.reading import read_about, read_table

MARKED = 987_654_321.0

JOB = """
schema = 1
title = "People (made up)"
[data]
path = "people.parquet"
id = "person_id"
weight = "w"
[keys]
secret = "secret.key"
[ptable]
max_noise = 2
variance = 1.0
[output]
formats = ["csv", "parquet", "xlsx", "json-stat2", "px", "sdmx-csv", "csvw"]
unit = "persons"
[[magnitude]]
name = "income"
unit = { en = "euros", fr = "euros (€)" }
[[variable]]
name = "income"
labels = { en = "Income", fr = "Revenu" }
[[table]]
name = "places"
dimensions = ["region", "sex"]
measures = ["count", "weighted", "sum:income", "mean:income"]
[[table]]
name = "hours"
dimensions = ["sex"]
measures = ["sum:hours"]
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(7)
    size = 400
    people = pd.DataFrame(
        {
            "person_id": [f"MARKER-person-{n}" for n in range(size)],
            "region": rng.choice(["R1", "R2", "R3"], size, p=[0.6, 0.39, 0.01]),
            "sex": rng.choice(["F", "M"], size),
            "income": np.round(rng.lognormal(9, 1, size), -2),
            "hours": rng.integers(0, 60, size),
            "w": rng.integers(1, 80, size).astype(float),
        }
    )
    people.loc[5, "income"] = MARKED
    people.to_parquet(tmp_path / "people.parquet")
    secret = tmp_path / "secret.key"
    secret.write_text("a secret of sixteen bytes or more")
    secret.chmod(0o600)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def read(folder, text):
    (folder / "job.toml").write_text(text)
    return read_job(folder / "job.toml")


# --- the folder ---------------------------------------------------------------------------


def test_every_format_holds_the_sums_that_the_engine_publishes(folder):
    job = read(folder, JOB)
    release(job, folder / "out")
    with ckm.Engine(
        str(folder / "people.parquet"),
        id="person_id",
        weight="w",
        secret=Secret.from_file(folder / "secret.key"),
        ptable=PTable.read(folder / "out" / "internal" / "pt.parquet"),
    ) as engine:
        meant = engine.tabulate(
            ["region", "sex"], measures=["count", "weighted", "sum:income", "mean:income"]
        )
    assert meant.columns[-2:] == ("sum_income", "mean_income")
    rows = meant.to_pandas().set_index(["region", "sex"]).sort_index()
    for name in job.output.formats:
        path = folder / "out" / "public" / f"places{FORMATS[name].suffixes[0]}"
        found = read_table(path, format=name)
        assert [v.dtype for v in found.measures.values()] == ["int64", *["float64"] * 3], name
        shown = found.to_pandas().set_index(["region", "sex"]).sort_index()
        pd.testing.assert_frame_equal(shown, rows, check_index_type=False, obj=name)


@pytest.mark.slow
def test_files_say_units_labels_and_decimals_of_sums_in_both_languages(folder):
    words = {
        "en": ("Income, weighted sum", "Income, weighted mean", "euros", "hours, weighted sum"),
        "fr": (
            "Revenu, somme pondérée",
            "Revenu, moyenne pondérée",
            "euros (€)",
            "hours, somme",
        ),
    }
    for language, (total, mean, unit, hours) in words.items():
        text = JOB.replace("[output]\n", f'[output]\nlanguage = "{language}"\n')
        release(read(folder, text), folder / language)
        public = folder / language / "public"
        said = read_about(public / "places.parquet")
        assert (said.labels["sum_income"], said.labels["mean_income"]) == (total, mean)
        assert said.unit == "persons"
        assert said.units == {"sum_income": unit, "mean_income": unit}
        assert said.decimals == {"sum_income": 0, "mean_income": 2}
        assert read_about(public / "places.json").units == said.units
        sheet = openpyxl.load_workbook(public / "places.xlsx").worksheets[0]
        assert [cell.number_format for cell in sheet[4]][-2:] == ["#,##0", "#,##0.00"]
        assert read_about(public / "hours.parquet").labels["sum_hours"].startswith(hours)
        lines = (public / "places.px").read_text(encoding="utf-8").splitlines()
        assert "SHOWDECIMALS=0;" in lines
        assert f'PRECISION("ContentsCode","{mean}")=2;' in lines
        assert f'UNITS("{total}")="{unit}";' in lines
        assert 'UNITS("Count")="persons";' in lines or language == "fr"


@pytest.mark.slow
def test_two_runs_and_two_jobs_publish_the_same_bytes_and_numbers(folder):
    release(read(folder, JOB), folder / "one")
    release(read(folder, JOB), folder / "two")
    for path in (folder / "one" / "public").glob("places.*"):
        assert path.read_bytes() == (folder / "two" / "public" / path.name).read_bytes()
    other = JOB.replace('dimensions = ["region", "sex"]', 'dimensions = ["region"]')
    release(read(folder, other), folder / "three")
    wide = read_table(folder / "one" / "public" / "places.parquet").to_pandas()
    narrow = read_table(folder / "three" / "public" / "places.parquet").to_pandas()
    both = wide[wide["sex"] == "Total"].drop(columns="sex").reset_index(drop=True)
    pd.testing.assert_frame_equal(both, narrow)


@pytest.mark.slow
def test_the_internal_folder_keeps_each_ptable_of_amounts_with_its_certificate(folder):
    release(read(folder, JOB), folder / "out")
    internal = folder / "out" / "internal"
    manifest = json.loads((internal / "manifest.json").read_text(encoding="utf-8"))
    assert [entry["variable"] for entry in manifest["amounts"]] == ["income", "hours"]
    kept = {entry["ptables"]["ptable"]["file"]["file"] for entry in manifest["amounts"]}
    assert kept == {"pt-amounts-1.parquet"}
    table = PTable.read(internal / "pt-amounts-1.parquet")
    assert table == MagnitudeNoise.start().ptable
    assert (
        table.certificate.summary()
        == manifest["amounts"][0]["ptables"]["ptable"]["certificate"]
    )
    assert (internal / "pt-amounts-1.parquet").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_the_internal_report_says_how_sums_were_changed_and_what_they_tell(folder):
    release(read(folder, JOB), folder / "out")
    internal = folder / "out" / "internal"
    facts = read_facts(internal / "report.json")
    assert [(f.table, f.variable) for f in facts.amounts] == [
        ("places", ""),  # weighted counts
        ("places", "income"),
        ("hours", "hours"),
    ]
    weighted, income, _ = facts.amounts
    assert 0 < weighted.median <= weighted.most
    (noise, _) = facts.noise.amounts
    assert (noise.variable, noise.base) == ("income", "top")
    assert 0 < noise.deviation < noise.largest
    assert income.cells == 12
    assert 0 < income.median <= income.most < 0.7
    assert abs(income.bias) < 0.3
    assert income.exposed is not None
    english = (internal / "report-internal.en.html").read_text(encoding="utf-8")
    french = (internal / "report-internal.fr.html").read_text(encoding="utf-8")
    assert "Disclosure of the largest contributor by sums" in english
    assert "Divulgation du plus grand contributeur par les sommes" in french
    public = (folder / "out" / "public" / "report.en.html").read_text(encoding="utf-8")
    assert "largest contributor" not in public
    assert "A mean is a published sum divided by a published" in public


@pytest.mark.slow
def test_nothing_original_and_no_parameter_of_the_noise_is_public(folder):
    text = JOB.replace("unit = { en", "share = 0.104729\nunit = { en")
    release(read(folder, text), folder / "out")
    public = folder / "out" / "public"
    manifest = json.loads((public / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["method"][-1:] == METHODS["amounts"]
    people = pd.read_parquet(folder / "people.parquet")
    heavy = people["income"] * people["w"]
    sums = [heavy.groupby([people[c] for c in g]).sum() for g in (["sex"], ["region", "sex"])]
    hidden = {str(int(total)) for each in sums for total in each}
    hidden |= {str(int(MARKED)), "MARKER-person", "0.104729", load_id(folder)}
    for path in public.iterdir():
        content = path.read_bytes().decode("utf-8", errors="ignore")
        assert not [text for text in hidden if text in content], path.name
    assert "sum_income" in (public / "places.csv").read_text(encoding="utf-8")


def load_id(folder):
    return PTable.read(folder / "out" / "internal" / "pt-amounts-1.parquet").id


@pytest.mark.slow
def test_incomes_of_real_persons_are_released_with_their_weights(shared, tmp_path):
    people = pd.read_parquet(shared / "data" / "acs_national_2019.parquet")
    people = people.assign(id=np.arange(len(people)), w=people["PWGTP"].astype(float))
    people.to_parquet(tmp_path / "acs.parquet")
    (tmp_path / "secret.key").write_text("a secret of sixteen bytes or more")
    (tmp_path / "secret.key").chmod(0o600)
    text = JOB[: JOB.index("[[magnitude]]")].replace("people.parquet", "acs.parquet")
    text = text.replace('"person_id"', '"id"') + (
        '[[magnitude]]\nname = "PINCP"\nsigned = true\nperiod = "2019"\n'
        '[[table]]\nname = "incomes"\ndimensions = ["SEX", "RAC1P"]\n'
        'measures = ["count", "sum:PINCP", "mean:PINCP"]\nwhere = "PINCP is not missing"\n'
    )
    done = release(read(tmp_path, text), tmp_path / "out")
    shown = read_table(tmp_path / "out" / "public" / "incomes.parquet").to_pandas()
    assert done.cells == len(shown) > 20
    some = people[people["PINCP"].notna()]
    for row in shown.itertuples():
        mine = some
        for column, code in (("SEX", row.SEX), ("RAC1P", row.RAC1P)):
            mine = mine if code == "Total" else mine[mine[column] == int(code)]
        weighted = mine["PINCP"] * mine["w"]
        gap = abs(row.sum_PINCP - weighted.sum())
        assert 0 < gap <= 0.66 * weighted.abs().max() + 1, (row.SEX, row.RAC1P)


@pytest.mark.slow
def test_check_and_dry_run_look_at_the_noise_of_sums(folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(app, ["check", "job.toml"])
    assert result.exit_code == 0
    assert "p-tables are there for income, hours" in result.output
    result = CliRunner().invoke(app, ["release", "job.toml", "-o", "out", "--dry-run"])
    assert result.exit_code == 0
    assert not (folder / "out").exists()
    (folder / "job.toml").write_text(JOB.replace("sum:hours", "sum:region"))
    result = CliRunner().invoke(app, ["release", "job.toml", "-o", "out", "--dry-run"])
    assert result.exit_code == 2
    assert "'region' holds texts" in result.output
    (folder / "job.toml").write_text(JOB.replace("sum:hours", "sum:hour s"))
    result = CliRunner().invoke(app, ["check", "job.toml"])
    assert result.exit_code == 2
    assert "SDMX has no measure 'sum_hour s'" in result.output


@pytest.mark.slow
def test_check_and_the_internal_report_say_by_how_much_zeroed_sums_are_too_low(
    folder, monkeypatch
):
    monkeypatch.chdir(folder)
    words = "a sum is 0 where the noisy count is"
    assert words not in " ".join(CliRunner().invoke(app, ["check", "job.toml"]).output.split())
    zeroed = JOB.replace(
        'name = "income"\nunit', 'name = "income"\nzero_with_count = true\nunit'
    )
    (folder / "job.toml").write_text(zeroed)
    result = CliRunner().invoke(app, ["check", "job.toml"])
    assert words in " ".join(result.output.split())
    assert "0.60 (1), 0.94 (2), 1.00 (3)" in " ".join(result.output.split())
    release(read_job("job.toml"), "out")
    internal = (folder / "out" / "internal" / "report.json").read_text(encoding="utf-8")
    assert words in internal
    for path in (folder / "out" / "public").iterdir():
        assert words.encode() not in path.read_bytes()
        if path.name == "report.html":
            assert b"sums of very few people are too low" in path.read_bytes()


@pytest.mark.parametrize("zero_with_count", [False, True])
def test_sums_of_one_record_have_no_bias_unless_they_are_zeroed_with_its_count(zero_with_count):
    """4,000 cells of one record: the mean is within 5 standard errors, 0.04, of its law."""
    n = 4_000
    areas, amounts = [str(i) for i in range(n)], 1e6 * 1.001 ** np.arange(n)  # not alike
    people = pa.table({"id": range(n), "area": areas, "x": amounts})
    ptable = solve(NoiseSpec(max_noise=5, variance=3.0))
    engine = ckm.Engine(
        people,
        id="id",
        secret=Secret(b"a secret of sixteen bytes or more"),
        ptable=ptable,
        categories={"area": areas},
        magnitudes={"x": MagnitudeNoise.start(spread=0.15, zero_with_count=zero_with_count)},
    )
    found = engine.tabulate(
        ["area"], measures=["count", "sum:x"], margins="none", empty_cells="drop"
    )
    shown = found.to_arrow()
    shares = shown["sum_x"].to_numpy() / amounts[np.array(shown["area"].to_pylist(), int)]
    kept = 1 - ptable.units(1)[-1] / ptable.key_range
    assert kept == pytest.approx(0.38, abs=0.005)
    assert abs(shares.sum() / n - (kept if zero_with_count else 1)) < 0.04


def test_amounts_that_do_not_fit_the_noise_stop_a_release(folder):
    people = pq.read_table(folder / "people.parquet").to_pandas()
    people.loc[9, "hours"] = -1
    pq.write_table(pa.Table.from_pandas(people), folder / "people.parquet")
    result = CliRunner().invoke(
        app, ["release", str(folder / "job.toml"), "-o", str(folder / "out")]
    )
    assert result.exit_code == 3
    assert "has negative values" in result.output
    assert not (folder / "out").exists()


@pytest.mark.slow
def test_a_job_names_cells_that_nobody_outside_hears_of(folder):
    few = JOB.partition("[output]")[0] + '[output]\nformats = ["csv"]\n'
    text = few + "[[magnitude]]" + JOB.partition("[[magnitude]]")[2]
    named = text.replace(
        'name = "income"\nunit',
        'name = "income"\nnamed_cells = [{ region = "R1", sex = "F" }]\nunit',
        1,
    )
    assert named != text
    tables = []
    for out, job in (("plain", text), ("named", named)):
        release(read(folder, job), folder / out)
        public = folder / out / "public"
        tables.append(pd.read_csv(public / "places.csv").set_index(["region", "sex"]))
        assert not any(b"named_cells" in file.read_bytes() for file in public.iterdir())
    changed = tables[0].index[tables[0]["sum_income"] != tables[1]["sum_income"]]
    assert changed.tolist() == [("R1", "F")]
    pd.testing.assert_series_equal(tables[0]["count"], tables[1]["count"])


def test_a_named_cell_that_is_misspelt_stops_a_release(folder):
    cell = 'name = "income"\nnamed_cells = [{ region = "R11" }]\nunit'
    (folder / "job.toml").write_text(JOB.replace('name = "income"\nunit', cell, 1))
    result = CliRunner().invoke(
        app, ["release", str(folder / "job.toml"), "-o", str(folder / "out")]
    )
    assert result.exit_code == 3
    assert "the category 'R11', which 'region' does not have" in result.output
    assert not (folder / "out").exists()


@pytest.mark.slow
def test_a_release_with_sums_can_be_replaced(folder):
    job = read_job(folder / "job.toml")
    release(job, folder / "out")
    assert list((folder / "out" / "internal").glob("pt-amounts-*"))
    release(job, folder / "out", force=True)
    assert (folder / "out" / "public" / "places.csv").exists()
