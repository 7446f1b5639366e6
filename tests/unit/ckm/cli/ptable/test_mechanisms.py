"""``ckm ptable build --mechanism``: known mechanisms from the command line."""

from __future__ import annotations

import io
import json

import pytest
from click.testing import CliRunner
from rich.console import Console

from ckm.cli import app
from ckm.cli.ptable.show import show_guarantee
from ckm.cli.terminal.console import Terminal
from ptable import NoiseSpec, PTable, solve
from ptable.design.mechanisms import Mechanism
from ptable.proof.guarantees import guarantee

BUILDS = {
    ("rounding", "--base", 5): Mechanism.rounding(5),
    ("random-rounding", "--base", 3): Mechanism.random_rounding(3),
    ("small-count-rounding", "--base", 3): Mechanism.small_count_rounding(3),
    ("ons-10-5",): Mechanism.ons_10_5(),
    ("discrete-laplace", "--epsilon", 1, "--max-noise", 8): Mechanism.discrete_laplace(
        1.0, max_noise=8
    ),
    (
        "discrete-gaussian",
        *("--variance", 4, "--max-noise", 8, "--edge", "fold"),
    ): Mechanism.discrete_gaussian(4.0, max_noise=8, edge="fold"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKM_LOG_FORMAT", raising=False)
    return tmp_path


def run(*args, style="text"):
    runner = CliRunner(env={"CKM_LOG_FORMAT": style})
    return runner.invoke(app, ["ptable", *(str(arg) for arg in args)])


@pytest.mark.parametrize("args", BUILDS, ids=lambda args: args[0])
def test_a_mechanism_is_built_written_and_checked(args):
    done = run("build", "--mechanism", *args, "-o", "pt.json")
    assert done.exit_code == 0, done.output
    assert done.stdout == "pt.json\n"
    assert "One record more or less in a cell: delta is" in done.stderr
    table = PTable.read("pt.json")
    assert table.spec == BUILDS[args]
    assert table == BUILDS[args].build()
    check = run("check", "pt.json")
    assert check.exit_code == 0
    assert "built again from its mechanism" in check.stderr
    assert run("show", "pt.json").exit_code == 0


def test_the_guarantee_is_computed_at_the_epsilon_of_the_mechanism():
    options = ("--mechanism", "discrete-laplace", "--epsilon", 0.5, "--max-noise", 30)
    done = run("build", *options, "-o", "pt.json")
    assert "at epsilon 0.5" in done.stderr
    lines = run("build", *options, "--force", "-o", "pt.json", style="json").stderr
    events = [json.loads(line) for line in lines.splitlines()]
    assert sum(event["event"] == "guarantee" for event in events) == 6


def test_a_dry_run_of_a_mechanism_writes_nothing(folder):
    done = run("build", "--mechanism", "ons-10-5", "--dry-run", "-o", "pt.json")
    assert done.exit_code == 0
    assert "Never published: 1, 2, 3" in done.stderr
    assert "would be written" in done.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--mechanism", "rounding"], "--mechanism rounding needs --base."),
        (["--mechanism", "ons-10-5", "--base", 5], "ons-10-5 does not take --base."),
        (
            ["--mechanism", "rounding", "--epsilon", 1, "--small", 2],
            "--mechanism rounding needs --base and does not take --epsilon, --small.",
        ),
        (
            ["--mechanism", "discrete-laplace", "--variance", 3],
            "needs --epsilon, --max-noise and does not take --variance.",
        ),
        (
            ["--mechanism", "discrete-gaussian", "--variance", 3],
            "--mechanism discrete-gaussian needs --max-noise.",
        ),
        (["--base", 5, "--edge", "fold"], "--base, --edge can only go with --mechanism."),
        (
            ["--max-noise", 2, "--variance", 1, "--epsilon", 1],
            "--epsilon can only go with --mechanism.",
        ),
        (["spec.toml", "--mechanism", "ons-10-5"], "Give a file or --mechanism, not both."),
        (["--mechanism", "swapping"], "Invalid value for '--mechanism'"),
        (["--mechanism", "rounding", "--base", 1], "Invalid value for '--base'"),
        (["--mechanism", "rounding", "--base", 10**6], "base must be an integer from 2 to 10"),
        (
            ["--mechanism", "discrete-laplace", "--epsilon", "nan", "--max-noise", 3],
            "epsilon must be a finite number above 0, not nan.",
        ),
        (
            ["--mechanism", "discrete-gaussian", "--variance", -1, "--max-noise", 3],
            "variance must be a finite number above 0, not -1.0.",
        ),
    ],
)
def test_options_that_do_not_fit_are_told_at_once(args, message, folder):
    done = run("build", *args, "-o", "pt.json")
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("error:") == 1
    assert list(folder.iterdir()) == []


def test_a_table_of_a_mechanism_that_was_changed_fails_the_check(folder):
    run("build", "--mechanism", "rounding", "--base", 5, "-o", "pt.json")
    file = folder / "pt.json"
    file.write_text(file.read_text().replace('"base": 5', '"base": 6'))
    done = run("check", "pt.json")
    assert done.exit_code == 1
    assert "was changed" in done.stderr


def test_a_released_mechanism_is_not_said_to_lack_a_proof(folder, caplog):
    from ckm.config import read_job
    from ckm.release.job_inputs import load_ptable

    Mechanism.rounding(5).build().write(folder / "pt.json")
    (folder / "people.csv").write_text("id\n1\n")
    (folder / "secret.key").write_text("a secret that is used by nobody")
    (folder / "job.toml").write_text(
        'schema = 1\n[data]\npath = "people.csv"\nid = "id"\n[keys]\nsecret = "secret.key"\n'
        '[ptable]\npath = "pt.json"\n[[table]]\nname = "t"\ndimensions = ["id"]\n'
    )
    assert load_ptable(read_job(folder / "job.toml")).spec == Mechanism.rounding(5)
    assert "no certificate" not in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "words"),
    [
        (solve(NoiseSpec(max_noise=2, variance=1.0)), ["2+", "0.602", "none", "-2 to 2"]),
        (Mechanism.random_rounding(3).build(), ["0.3334", "-1 to 2", "100.0%"]),
        (Mechanism.discrete_laplace(1.0, max_noise=20).build(), ["20+", "2.306e-09"]),
    ],
    ids=["solved", "random rounding", "laplace"],
)
def test_a_drawn_guarantee_shows_its_figures(table, words):
    terminal = Terminal("text")
    text = io.StringIO()
    terminal._consoles["stdout"] = Console(file=text, width=160)
    show_guarantee(terminal, guarantee(table))
    for word in [*words, "delta at epsilon 1", "Never published"]:
        assert word in text.getvalue()


def test_a_drawn_guarantee_of_magnitudes_has_no_privacy():
    table = PTable(
        noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8, step=2, anchors=(0, 3)
    )
    terminal = Terminal("text")
    text = io.StringIO()
    terminal._consoles["stdout"] = Console(file=text, width=160)
    show_guarantee(terminal, guarantee(table))
    assert "-0.5 to 0.5" in text.getvalue()
    assert "epsilon at" not in text.getvalue()


def _sealed(file, change):
    from ptable.files import _checksum

    content = json.loads(file.read_text())
    change(content)
    rows = content.pop("rows")
    content["checksum"] = _checksum(content)
    file.write_text(json.dumps({**content, "rows": rows}))


@pytest.mark.slow
def test_a_table_without_certificate_is_held_against_its_specification(folder):
    file = folder / "pt.json"
    solve(NoiseSpec(max_noise=3, variance=1.5)).quantise(256).write(file)
    honest = run("check", "pt.json")
    assert honest.exit_code == 0
    _sealed(file, lambda content: content["spec"].update(variance=1.0))
    done = run("check", "pt.json")
    assert done.exit_code == 1
    assert "not what its specification asks for" in done.stderr
    assert "the variance drift of count 1 is too large" in done.stderr


def test_a_program_named_like_markup_is_shown_as_it_is(folder):
    file = folder / "pt.json"
    solve(NoiseSpec(max_noise=2, variance=1.0)).write(file)
    _sealed(file, lambda content: content["certificate"].update(solver={"[/red]": "[bold]1"}))
    done = run("check", "pt.json")
    assert done.exit_code == 0
    assert "[/red] [bold]1, as the file says" in done.stdout


def test_signs_that_steer_a_terminal_are_shown_as_escapes(folder):
    (folder / "pt.csv").write_text("\x9b31mfoo,b\n1,2\n", encoding="utf-8")
    done = run("check", "pt.csv", "--log-format", "text")
    assert done.exit_code == 1
    assert "\x9b" not in done.stderr
    assert "\\x9b31mfoo" in done.stderr


def test_a_wide_mechanism_is_checked_at_once(folder):
    file = folder / "pt.json"
    Mechanism.discrete_gaussian(400.0, max_noise=200).build().write(file)
    done = run("check", "pt.json")
    assert done.exit_code == 0
    assert "built again from its mechanism" in done.stderr


def test_a_missing_folder_is_told_before_anything_is_solved():
    done = run("build", "--max-noise", 5, "--variance", 3, "-o", "nowhere/pt.json")
    assert done.exit_code == 2
    assert "There is no folder 'nowhere'" in done.stderr
    assert "solved" not in done.stderr


def test_a_folder_is_no_file_to_check():
    assert "There is no file '.'" in run("check", ".").stderr
