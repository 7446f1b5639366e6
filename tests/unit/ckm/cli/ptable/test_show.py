import re
import xml.etree.ElementTree as ET

import pytest
from click.testing import CliRunner

from ckm.cli import app
from ptable import NoiseSpec, PTable, solve
from ptable.pictures import distributions, heatmap, perturbation

VIEWS = {"heatmap": heatmap, "distributions": distributions, "perturbation": perturbation}


@pytest.fixture(scope="module")
def solved():
    return solve(NoiseSpec(max_noise=2, variance=1.0))


@pytest.fixture
def folder(tmp_path, solved, monkeypatch):
    solved.write(tmp_path / "pt.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def show(*args, columns=120):
    environment = {"CKM_LOG_FORMAT": "text", "COLUMNS": str(columns)}
    return CliRunner(env=environment).invoke(app, ["ptable", "show", *map(str, args)])


def write(table):
    table.write("other.json")
    return "other.json"


@pytest.mark.parametrize("name", VIEWS)
def test_a_picture_goes_to_a_file_and_its_name_to_stdout(folder, solved, name):
    result = show("pt.parquet", "--picture", name, "-o", "pt.svg")
    assert (result.exit_code, result.stdout) == (0, "pt.svg\n")
    assert "keep it inside" in result.stderr
    text = (folder / "pt.svg").read_text(encoding="utf-8")
    assert text == VIEWS[name](solved).svg + "\n"
    assert ET.fromstring(text).get("role") == "img"  # noqa: S314
    assert sorted(path.name for path in folder.iterdir()) == ["pt.parquet", "pt.svg"]


def test_a_picture_replaces_a_file_with_force_alone(folder):
    options = ("pt.parquet", "--picture", "heatmap", "--output", "pt.svg")
    (folder / "pt.svg").write_text("mine")
    refused = show(*options)
    assert refused.exit_code == 2
    assert "The output 'pt.svg' exists; replace it with --force." in refused.stderr
    assert (folder / "pt.svg").read_text() == "mine"
    assert show(*options, "--force").exit_code == 0
    assert (folder / "pt.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--picture", "heatmap"), "needs both --picture and --output"),
        (("-o", "pt.svg"), "needs both --picture and --output"),
        (("--force",), "--force goes with --output"),
        (("--picture", "heatmap", "-o", "pt.svg", "--row", 1), "leave out --row"),
        (("--picture", "heatmap", "-o", "pt.png"), "must end in .svg"),
        (("--picture", "heatmap", "-o", "folder.svg", "--force"), "'folder.svg' is a folder"),
        (("--picture", "heatmap", "-o", "none/pt.svg"), "There is no folder 'none'"),
        (("--picture", "pie", "-o", "pt.svg"), "'pie' is not one of"),
        (("--row", -1), "-1 is not in the range"),
    ],
)
def test_options_that_do_not_fit_are_refused(folder, options, words):
    (folder / "folder.svg").mkdir()
    result = show("pt.parquet", *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (folder / "pt.svg").exists()


def test_help_shows_how_to_draw_a_picture():
    text = show("--help").stdout
    assert "ckm ptable show pt.parquet --picture heatmap -o pt.svg" in text


def test_rows_are_drawn_with_their_figures(folder):
    text = show("pt.parquet").stdout
    lines = [re.sub(r"[│ ]+", " ", line).strip() for line in text.splitlines() if "│" in line]
    assert lines[1] == "1 · █ ▆ ▄ ▂ 30.6% 0 1"
    assert lines[2].startswith("2+ ")
    assert lines[2].endswith("38.3% 0 1")
    assert "remark" not in text


def test_fractional_noise_is_told_in_units(folder):
    rows = [{0: 8}, {-2: 2, -1: 2, 0: 2, 4: 2}, {-6: 4, 6: 4}]
    name = write(PTable.from_units(rows, key_range=8, step=4, anchors=[0, 1, 10]))
    text = show(name).stdout
    assert "-1.5" in text
    assert "+1.5" in text
    assert "10+" in text
    assert "2.25" in text
    assert "A magnitude between two rows takes a mixture of both." in text
    row = show(name, "--row", 1).stdout
    figures = [line.split("│")[1:3] for line in row.splitlines() if "25.0000%" in line]
    assert [tuple(map(str.strip, cells)) for cells in figures] == [
        ("0.5", "-0.5"),
        ("0.75", "-0.25"),
        ("1", "0"),
        ("2", "+1"),
    ]


def test_a_count_between_anchors_has_no_row_and_one_beyond_takes_the_last(folder):
    rows = [{0: 8}, {-1: 4, 1: 4}, {-6: 4, 6: 4}]
    name = write(PTable.from_units(rows, key_range=8, step=4, anchors=[0, 1, 10]))
    refused = show(name, "--row", 5)
    assert refused.exit_code == 2
    assert "Count 5 has no row; there are rows for 0 to 1, 10." in refused.stderr
    beyond = show(name, "--row", 1000).stdout
    assert "Count 1000 (takes the row of 10 and more): what may be published" in beyond
    assert "998.5" in beyond


def test_a_large_count_takes_its_row_of_the_cycle(folder):
    rows = [{0: 8}, {-1: 1, 1: 7}, {-2: 3, 2: 5}]
    name = write(PTable.from_units(rows, key_range=8, large_counts="cycle:2"))
    assert "Counts from 3 on take rows 1 to 2 in turn." in show(name).stdout
    row = show(name, "--row", 5).stdout
    assert "Count 5 (takes the row of 1): what may be published" in row
    assert "87.5000%" in row


def test_rows_that_differ_carry_a_remark(folder):
    rows = [{0: 8}, {0: 7, 1: 1}, {-1: 2, 0: 4, 1: 2}]
    text = show(write(PTable.from_units(rows, key_range=8))).stdout
    assert "variance differs, mean is not 0" in text
    assert "…" not in text


@pytest.mark.parametrize("columns", [80, 120, 250])
def test_far_noise_is_summed_so_that_a_row_fits_the_terminal(folder, columns):
    rows = [{0: 8}, {0: 8}, {-2: 2, 0: 4, 10**6: 2}]
    text = show(write(PTable.from_units(rows, key_range=8)), columns=columns).stdout
    assert "neighbouring noise values" in text
    assert max(map(len, text.splitlines())) <= columns
    assert "…" not in text


def test_the_program_of_a_table_is_printed(folder):
    result = show("pt.parquet", "--program")
    assert result.exit_code == 0
    assert result.stdout.startswith("maximise    Σ_ij -P[i, j] ln P[i, j]\n")
    assert "2 rows, 9 probabilities, 15 constraints" in result.stdout


def test_a_table_from_elsewhere_has_no_program(folder):
    other = write(PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8))
    result = show(other, "--program")
    assert result.exit_code != 0
    assert "no specification, and so no problem" in result.stderr


@pytest.mark.parametrize("options", [["--guarantee"], ["--row", "1"]])
def test_a_program_goes_alone(folder, options):
    result = show("pt.parquet", "--program", *options)
    assert result.exit_code == 2
    assert "--program goes alone" in result.stderr
