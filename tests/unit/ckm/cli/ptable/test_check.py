"""``ckm ptable check`` on tables of any origin, and the keys of ``ckm ptable convert``."""

import json
from importlib import import_module

import pytest
from click.testing import CliRunner

from ckm.cli import app
from ptable import Mechanism, NoiseSpec, PTable, solve, write_tables


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args, columns=140):
    environment = {"CKM_LOG_FORMAT": "text", "COLUMNS": str(columns)}
    return CliRunner(env=environment).invoke(app, ["ptable", *map(str, args)])


def test_a_table_of_ours_has_its_certificate_recomputed(folder):
    solve(NoiseSpec(max_noise=3, variance=1.5, small=1)).write("pt.json")
    result = run("check", "pt.json")
    assert result.exit_code == 0
    assert "Certificate, recomputed" in result.stdout
    assert "solved with cvxpy" in result.stdout
    assert "the certificate holds" in result.stderr
    assert "largest noise 3, variance 1.5 exactly, no published count in 1..1" in result.stderr


def test_a_long_certificate_is_cut_and_says_how_much_is_missing(folder, monkeypatch):
    monkeypatch.setattr(import_module("ckm.cli.ptable.check"), "_MAX_ROWS", 2)
    solve(NoiseSpec(max_noise=3, variance=1.5)).write("pt.json")
    shown = run("check", "pt.json").stdout
    assert "and 1 more rows; solved with" in shown


def test_a_changed_probability_is_found_out(folder):
    solve(NoiseSpec(max_noise=3, variance=1.5)).write("pt.json")
    content = json.loads((folder / "pt.json").read_text())
    content["rows"][2]["upper"][0] += 1
    (folder / "pt.json").write_text(json.dumps(content))
    result = run("check", "pt.json")
    assert result.exit_code == 1
    assert "p-table check failed" in result.stderr or "were changed" in result.stderr


def test_a_table_of_r_is_verified_from_scratch_and_its_design_named(folder):
    table = solve(NoiseSpec.r_ptable(5, 2.0))
    write_tables(table, "r.csv", dialect="r-ptable", digits=8)
    result = run("check", "r.csv")
    assert result.exit_code == 0
    assert "layout 'r-ptable'" in result.stderr
    assert "largest noise 5, variance 2 at most, monotone left" in result.stderr
    assert "there is no certificate to recompute" in result.stderr
    assert "1.30247" in result.stdout


@pytest.mark.slow
def test_a_table_with_biased_rows_of_nobody_s_design_fails(folder):
    rows = [{0: 1000}, {-1: 300, 0: 300, 1: 400}, {-2: 100, 0: 500, 1: 400}]
    write_tables(PTable.from_units(rows, key_range=1000), "odd.csv", dialect="r-ptable")
    result = run("check", "odd.csv")
    assert result.exit_code == 1
    assert "the mean noise is not 0 for counts 1, 2, and no known design is so" in result.stderr
    assert "the mean is not 0" in result.stdout


def test_rounding_is_known_to_be_biased_by_design(folder):
    table = Mechanism.ons_10_5().build()
    table.write("pt.json")
    result = run("check", "pt.json")
    assert result.exit_code == 0
    assert "built again from its mechanism, it is the same" in result.stderr
    bare = PTable.from_units(
        [table.units(count) for count in range(table.n_rows)],
        key_range=table.key_range,
        large_counts=table.large_counts,
    )
    bare.write("bare.json")
    result = run("check", "bare.json")
    assert result.exit_code == 0
    assert "rounding: base 5, ties up, threshold 10" in result.stderr
    assert "its mean noise is the design's" in result.stderr


def test_a_damaged_file_is_told_by_line_and_count(folder):
    table = solve(NoiseSpec(max_noise=2, variance=1.0))
    write_tables(table, "r.csv", dialect="r-ptable", digits=8)
    lines = (folder / "r.csv").read_text().splitlines()
    lines[4] = lines[4].replace("0.", "7.", 1)
    (folder / "r.csv").write_text("\n".join(lines))
    result = run("check", "r.csv")
    assert result.exit_code == 1
    assert "line 5, count 1" in result.stderr


def test_several_tables_in_one_file_are_checked_one_by_one(folder):
    spec = NoiseSpec(max_noise=2, variance=0.8, step=2, anchors=(1, 2))
    tables = {"even": solve(spec), "odd": solve(NoiseSpec(max_noise=2, variance=1.0))}
    write_tables(tables, "both.csv", dialect="r-ptable")
    result = run("check", "both.csv")
    assert result.exit_code == 0
    assert "Figures of each row (even)" in result.stdout
    assert "looks like (odd): maximum entropy, largest noise 2" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["ons", "cantabular", "superstar"])
def test_a_table_for_few_keys_is_made_on_the_way_and_recognised(folder, layout):
    solve(NoiseSpec(max_noise=3, variance=1.5)).write("pt.parquet")
    options = ("--to", layout, "--keys", 256, "--shuffle", 5)
    result = run("convert", "pt.parquet", "keys.txt", *options)
    assert result.exit_code == 0, result.stderr
    assert "256 keys: mean and variance exact in all 4 rows" in result.stderr
    checked = run("check", "keys.txt")
    assert checked.exit_code == 0
    assert "maximum entropy, largest noise 3, variance 1.5 exactly" in checked.stderr


def test_a_shuffled_table_for_few_keys_is_the_same_every_time(folder):
    solve(NoiseSpec(max_noise=3, variance=1.5)).write("pt.parquet")
    for name in ("one.txt", "two.txt"):
        options = ("--to", "cantabular", "--keys", 256, "--shuffle", 5)
        assert run("convert", "pt.parquet", name, *options).exit_code == 0
    assert (folder / "one.txt").read_bytes() == (folder / "two.txt").read_bytes()


@pytest.mark.slow
def test_a_drift_that_integers_force_is_told(folder):
    solve(NoiseSpec(max_noise=2, variance=0.6)).write("pt.parquet")
    result = run("convert", "pt.parquet", "keys.csv", "--to", "ons", "--keys", 256)
    assert result.exit_code == 0
    assert "count 1: variance off by" in result.stderr
    assert "nothing less is possible" in result.stderr


@pytest.mark.slow
def test_what_a_table_guarantees_is_shown(folder):
    Mechanism.discrete_laplace(1.0, max_noise=20).build().write("pt.json")
    result = run("show", "pt.json", "--guarantee", "--epsilon", 1.5)
    assert result.exit_code == 0
    assert "delta at epsilon 1.5" in result.stdout
    assert run("show", "pt.json", "--guarantee", "--row", 1).exit_code == 2
