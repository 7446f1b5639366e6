"""``ckm compare``: figures of designs on the tables of a job."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.comparison.compare_designs import compare
from ckm.config import JobError, read_designs, read_job
from ptable import Mechanism, NoiseSpec, solve

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
max_noise = 2
variance = 1.0
[categories]
sex = ["F", "M", "X"]
[[table]]
name = "people"
dimensions = ["sex"]
[[table]]
name = "ages"
dimensions = ["age", "sex"]
margins = "none"
"""

DESIGNS = """
[grid]
max_noise = [1, 3]
variance = [0.5, 2.0]
[designs.rounded]
mechanism = "random-rounding"
base = 3
[designs.file]
path = "pt.parquet"
[designs.one]
max_noise = 5
variance = 2.0
p_stay = 0.5
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    n = 90
    people = {
        "person_id": [f"MARKER-{i}" for i in range(n)],
        "sex": ["F", "M", "F"] * (n // 3),
        "age": [f"a{i % 25}" for i in range(n)],
    }
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    solve(NoiseSpec(max_noise=2, variance=1.0)).write(tmp_path / "pt.parquet")
    (tmp_path / "secret.key").write_text("a secret of some length")
    (tmp_path / "secret.key").chmod(0o600)
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "designs.toml").write_text(DESIGNS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKM_SECRET", raising=False)
    return tmp_path


def run(*args):
    return CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke(app, [str(arg) for arg in args])


def test_compare_shows_one_line_per_design_and_says_what_is_refused(folder):
    two = "[designs.two]\nmax_noise = 10\nvariance = 10.0\n"
    (folder / "designs.toml").write_text(DESIGNS + two)
    result = run("compare", "job.toml", "designs.toml")
    assert result.exit_code == 0, result.stderr
    for name in ("rounded", "file", "one", "D=3 V=2 js=0"):
        assert name in result.stdout
    assert "D=1 V=2 js=0: " in result.stderr
    assert "two: The noise has two outcomes or hardly more: count 1 becomes 0 (91%)" in (
        " ".join(result.stderr.split())
    )
    assert "MARKER" not in result.output


def test_compare_writes_all_figures_per_table(folder):
    result = run("compare", "job.toml", "designs.toml", "-o", "map.csv")
    assert (result.exit_code, result.stdout) == (0, "map.csv\n")
    with (folder / "map.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 6 * 3
    assert {line["table"] for line in lines} == {"people", "ages", ""}
    assert "nan" not in (folder / "map.csv").read_text()


@pytest.mark.slow
def test_compare_writes_a_picture_a_page_in_two_languages_and_its_numbers(folder):
    for name in ("map.svg", "page.html", "page.json"):
        done = run("compare", "job.toml", "designs.toml", "-o", name)
        assert (done.exit_code, done.stdout) == (0, f"{name}\n"), done.stderr
        assert "MARKER" not in (folder / name).read_text(encoding="utf-8")
    assert ET.fromstring((folder / "map.svg").read_text()).tag.endswith("svg")  # noqa: S314
    assert '<html lang="en"' in (folder / "page.html").read_text()
    numbers = json.loads((folder / "page.json").read_text())
    assert {design["name"] for design in numbers["scenarios"]["designs"]} >= {"rounded", "one"}
    words = ("compare", "job.toml", "designs.toml", "-o", "page.html", "--force")
    french = run("--lang", "fr", *words)  # pages are in the language of the messages
    assert french.exit_code == 0
    assert '<html lang="fr"' in (folder / "page.html").read_text()
    modes = {(folder / name).stat().st_mode & 0o077 for name in ("map.svg", "page.html")}
    assert modes == {0}  # it stays inside


def test_a_folder_that_is_missing_is_told_before_anything_is_computed(folder):
    result = run("compare", "nowhere.toml", "designs.toml", "-o", "missing/map.csv")
    assert result.exit_code == 2
    assert "There is no folder 'missing'" in result.stderr


def test_a_failure_while_writing_leaves_the_old_map(folder, monkeypatch):
    (folder / "map.csv").write_text("old")

    def fail(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    result = run("compare", "job.toml", "designs.toml", "-o", "map.csv", "--force")
    assert result.exit_code == 2
    assert "No space left" in result.stderr
    assert (folder / "map.csv").read_text() == "old"
    assert not list(folder.glob(".*"))


def test_names_are_whole_on_a_narrow_terminal(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    long = "random rounding 3"
    text = (folder / "designs.toml").read_text().replace("rounded", f'"{long}"')
    (folder / "designs.toml").write_text(text)
    shown = run("compare", "job.toml", "designs.toml").stdout
    assert long in shown
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_very_narrow_terminal_shows_the_two_axes_whole(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    shown = run("compare", "job.toml", "designs.toml").stdout
    for word in ("rounded", "D=3 V=2 js=0", "P(S | j)", "|d|", "-o map.csv"):
        assert word in shown
    assert "…" not in shown


def test_a_name_longer_than_the_terminal_is_folded_and_not_cut(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    long = "x" * 70
    text = (folder / "designs.toml").read_text().replace("rounded", f'"{long}"')
    (folder / "designs.toml").write_text(text)
    shown = run("compare", "job.toml", "designs.toml").stdout
    assert shown.count("x") == 70


@pytest.mark.slow
def test_markup_in_a_name_is_shown_as_it_is(folder):
    name = "[red]<script>"
    text = (folder / "designs.toml").read_text().replace("rounded", f'"{name}"')
    (folder / "designs.toml").write_text(text)
    assert name in run("compare", "job.toml", "designs.toml").stdout
    assert run("compare", "job.toml", "designs.toml", "-o", "page.html").exit_code == 0
    assert "<script" not in (folder / "page.html").read_text()


def test_the_noise_of_the_job_is_one_of_the_designs(folder):
    job = read_job("job.toml")
    found = compare(job, {"job": Mechanism.rounding(3)}, n_draws=0)
    assert found.map.designs == ("job*", "job")
    assert found.chosen == "job*"
    (chosen,) = (d for d in found.facts().scenarios.designs if d.chosen)
    assert chosen.name == "job*"
    assert found.map.find("job*", "rmse") == pytest.approx(1.0, abs=0.1)


def test_a_design_like_that_of_the_job_is_marked_instead_of_added(folder):
    found = compare(read_job("job.toml"), read_designs("designs.toml"), n_draws=0)
    assert found.chosen == "file"
    assert "job" not in found.map.designs


@pytest.mark.slow
def test_the_job_says_what_is_sensitive_and_how_much_may_be_told(folder):
    limits = "[report]\nsensitive = 2\n[report.limits]\nposterior_set = 0.95\n[[table]]"
    (folder / "job.toml").write_text(JOB.replace("[[table]]", limits, 1))
    found = compare(read_job("job.toml"), {"r": Mechanism.rounding(7)}, n_draws=0)
    assert found.map.sensitive == (1, 2)
    assert found.rules.posterior == 0.95
    assert found.facts().sensitive == (1, 2)
    shown = run("compare", "job.toml", "designs.toml").stdout
    assert "1 to 2" in shown
    assert "1 to 3" in run("compare", "job.toml", "designs.toml", "--sensitive", 3).stdout


def test_a_table_may_be_called_all(folder):
    (folder / "job.toml").write_text(JOB.replace('name = "people"', 'name = "all"'))
    found = compare(read_job("job.toml"), {"r": Mechanism.rounding(7)}, n_draws=0)
    cells = {line.table: line.n_cells for line in found.map.lines if line.design == "r"}
    assert set(cells) == {"all", "ages", ""}
    assert found.map.find("r", "aad", table="all") != found.map.find("r", "aad")


def test_a_table_of_nobody_is_refused_by_name(folder):
    (folder / "job.toml").write_text(
        JOB.replace('margins = "none"', 'margins = "none"\nwhere = "sex = \'X\'"')
    )
    result = run("compare", "job.toml", "designs.toml")
    assert result.exit_code == 2
    assert "Table 'ages' has no cells" in result.stderr


def test_a_map_is_not_replaced_without_force(folder):
    (folder / "map.csv").write_text("mine")
    refused = run("compare", "job.toml", "designs.toml", "-o", "map.csv")
    assert (refused.exit_code, (folder / "map.csv").read_text()) == (2, "mine")
    assert run("compare", "job.toml", "designs.toml", "-o", "map.csv", "--force").exit_code == 0


@pytest.mark.parametrize(
    "args",
    [
        ("-o", "map.txt"),
        ("--force",),
        ("--sensitive", "0"),
        ("--lang", "fr"),
        ("-o", "map.csv", "--lang", "fr"),
        ("-o", "page.html", "--lang", "de"),
        ("-o", "."),
    ],
)
def test_options_that_make_no_sense_are_refused(folder, args):
    assert run("compare", "job.toml", "designs.toml", *args).exit_code == 2


def test_the_map_is_that_of_the_original_counts_and_the_declared_grid(folder):
    found = compare(
        read_job("job.toml"), {"r": Mechanism.rounding(7)}, n_draws=0, sensitive=(1, 2)
    ).map
    cells = {line.table: line.n_cells for line in found.lines}
    # F, M, X and their total; 25 ages, undeclared, by the three sexes.
    assert cells["people"] == 4
    assert found.find("r", "aad", table="people") == (3 + 2 + 1) / 4  # 60, 30, 90, 0
    assert cells["ages"] == 75
    assert cells[""] == cells["people"] + cells["ages"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_map(folder):
    first, again = (
        run("compare", "job.toml", "designs.toml", "--seed", 5).stdout for _ in range(2)
    )
    assert first == again


def test_designs_are_read_with_all_problems_at_once(folder):
    (folder / "designs.toml").write_text(
        """
[grids]
[grid]
max_noise = [3]
[designs.a]
path = "none.parquet"
[designs.b]
mechanism = "random-rounding"
base = 0
[designs.c]
variance = 1.0
"""
    )
    with pytest.raises(JobError) as caught:
        read_designs("designs.toml")
    text = str(caught.value)
    for part in ("'grids'", "[grid]", "none.parquet", "[designs.b]", "[designs.c]"):
        assert part in text


def test_a_wrong_design_ends_with_exit_2(folder):
    (folder / "designs.toml").write_text("[designs.a]\nmax_noise = 3\nvarience = 1.0\n")
    result = run("compare", "job.toml", "designs.toml")
    assert result.exit_code == 2
    assert "varience" in result.stderr
