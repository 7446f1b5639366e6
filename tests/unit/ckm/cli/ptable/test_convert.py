import json

import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.cli.ptable.options import LAYOUTS
from ptable import NoiseSpec, PTable, solve
from ptable.dialects import DIALECTS, read_tables

LINES = [
    "i,j,p,v,p_int_lb,p_int_ub,type",
    "0,0,1,0,0,1,even",
    "1,0,.5,-1,0,.5,even",
    "1,2,.5,1,.5,1,even",
    "0,0,1,0,0,1,odd",
    "1,0,.25,-1,0,.25,odd",
    "1,1,.75,0,.25,1,odd",
]


@pytest.fixture(scope="module")
def solved():
    return solve(NoiseSpec(max_noise=2, variance=1.0))


@pytest.fixture
def folder(tmp_path, solved, monkeypatch):
    (tmp_path / "r.csv").write_text("\n".join(LINES[:4]).replace("even", "all"))
    (tmp_path / "two.csv").write_text("\n".join(LINES))
    solved.write(tmp_path / "pt.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args, style="text"):
    return CliRunner(env={"CKM_LOG_FORMAT": style}).invoke(app, ["ptable", "convert", *args])


def test_the_command_knows_every_layout():
    assert tuple(DIALECTS) == LAYOUTS


def test_convert_prints_the_output_on_stdout_and_the_rest_on_stderr(folder):
    result = run("r.csv", "r.parquet")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "r.parquet\n"
    assert "✔ r.csv: r-ptable, 2 rows" in result.stderr
    assert "every noise is the same" in result.stderr
    assert "!" not in result.stderr
    table = PTable.read("r.parquet")
    assert (table.units(1), table.label) == ({-1: 5, 1: 5}, "r")


def test_losses_are_warnings(folder, solved):
    result = run("pt.parquet", "pt.txt", "--to", "tau-argus")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "pt.txt\n"
    assert "! probabilities are rounded: thresholds move by at most" in result.stderr
    assert "! the specification and the certificate are not kept" in result.stderr
    result = run("pt.parquet", "pt.csv", "--to", "r-ptable")
    assert "probabilities are rounded" not in result.stderr
    assert PTable.read("pt.csv") == solved
    result = run("pt.parquet", "pt4.csv", "--to", "r-ptable", "--digits", "4")
    assert "probabilities are rounded" in result.stderr
    assert PTable.read("pt4.csv").key_range == 10**4


def test_losses_have_a_line_of_json_each(folder):
    result = run("pt.parquet", "pt.txt", "--to", "sas", style="json")
    warnings = [json.loads(line) for line in result.stderr.splitlines()]
    warnings = [line for line in warnings if line["level"] == "warning"]
    assert [line["event"] for line in warnings] == ["not kept"] * 3


def test_a_dry_run_says_what_would_be_lost_and_writes_nothing(folder):
    result = run("pt.parquet", "pt.txt", "--to", "tau-argus", "--dry-run")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "probabilities are rounded" in result.stderr
    assert "dry run: pt.txt would be written" in result.stderr
    assert not (folder / "pt.txt").exists()


def test_an_output_is_replaced_with_force_alone(folder):
    assert run("r.csv", "r.json").exit_code == 0
    refused = run("r.csv", "r.json")
    assert refused.exit_code == 2
    assert "'r.json' exists; replace it with --force" in refused.stderr
    assert run("r.csv", "r.json", "--force").exit_code == 0
    (folder / "sub").mkdir()
    assert "is a folder" in run("r.csv", "sub").stderr
    assert "There is no file 'missing.csv'" in run("missing.csv", "r2.json").stderr


def test_one_type_of_several_is_chosen_by_name(folder):
    refused = run("two.csv", "two.parquet")
    assert refused.exit_code == 2
    assert "of types even, odd" in refused.stderr
    assert run("two.csv", "odd.parquet", "--type", "odd").exit_code == 0
    assert PTable.read("odd.parquet").units(1) == {-1: 25, 0: 75}
    assert "no type 'all'; it has even, odd" in run("two.csv", "x.json", "--type", "all").stderr
    result = run("two.csv", "two.txt", "--to", "tau-argus")
    assert result.exit_code == 0, result.stderr
    assert "2 tables: even, odd" in result.stderr
    assert read_tables("two.txt") == read_tables("two.csv")


def test_bounds_keys_and_large_counts_go_to_the_reader(folder):
    result = run(
        "r.csv",
        "c.json",
        "--boundary",
        "(]",
        "--key-range",
        "8",
        "--large-counts",
        "cycle:2",
    )
    assert result.exit_code == 0, result.stderr
    table = PTable.read("c.json")
    assert (table.units(1), table.large_counts) == ({-1: 5, 1: 3}, "cycle:2")
    missing = run("r.csv", "d.json", "--boundary", "(]")
    assert missing.exit_code == 2
    assert "need the key_range" in missing.stderr


def test_matrices_take_and_give_the_number_of_last_columns(folder):
    (folder / "m.pert").write_text(",".join(["0"] * 30) + "\n" + ("1," * 29 + "1\n") * 255)
    assert run("m.pert", "m.parquet", "--small-n", "5").exit_code == 0
    assert PTable.read("m.parquet").large_counts == "cycle:5"
    assert run("m.parquet", "again.pert", "--small-n", "5").exit_code == 0
    assert (folder / "again.pert").read_text().splitlines()[0].startswith("0,0,0,0,0")


@pytest.mark.parametrize("name", ["x.csv", "x.xlsx"])
def test_a_wrong_file_ends_with_its_problems_and_no_traceback(folder, name):
    (folder / name).write_text("i,v,p_int_ub\n1,-1,.5\n1,0,nan\n")
    result = run(name, "x.parquet")
    assert result.exit_code == 2
    assert "line 3, count 1: column 'p_int_ub'" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (folder / "x.parquet").exists()
