"""``ckm ptable advise``, and the options that state what the noise must satisfy."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.cli.ptable.options import as_command
from ptable import NoiseSpec, PTable, feasible

ROOT = Path(__file__).resolve().parents[5]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CKM_LOG_FORMAT", "text")
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def commands(text):
    return re.findall(r"^ +ckm ptable build (.*)$", text, re.MULTILINE)


def test_an_infeasible_request_is_answered_with_commands_that_work(folder):
    result = run("ptable", "advise", "--max-noise", 5, "--variance", 1, "--small", 2)
    assert result.exit_code == 0
    assert "no noise strictly between -1 and 2 is allowed" in result.stdout
    assert "Limits of the variance" in result.stdout
    assert "2. variance 2 instead of 1 (counts 1, 2 have only one law there)" in result.stdout
    found = commands(result.stdout)
    assert len(found) > 2
    for number, command in enumerate(found):
        words = shlex.split(command.replace("pt.parquet", f"{number}.json"))
        assert run("ptable", "build", *words).exit_code == 0
        assert (folder / f"{number}.json").exists()


def test_a_feasible_request_is_answered_with_its_command():
    result = run("ptable", "advise", "--max-noise", 2, "--variance", 1)
    assert result.exit_code == 0
    assert commands(result.stdout) == ["--max-noise 2 --variance 1 -o pt.parquet"]
    assert "Every row is feasible" in result.stdout


def test_a_request_that_is_refused_outright_is_answered_too():
    result = run("ptable", "advise", "--max-noise", 5, "--variance", 3, "--small", 5)
    assert result.exit_code == 0
    assert "max_noise must be at least small + 1 = 6" in result.stdout
    assert commands(result.stdout)


def test_the_section_of_a_file_is_judged(folder):
    (folder / "spec.toml").write_text("[ptable]\nmax_noise = 2\nvariance = [2.5, 1.0]\n")
    result = run("ptable", "advise", "spec.toml")
    assert result.exit_code == 0
    assert "--variance 1.97,1" in result.stdout


def test_a_goal_is_answered_with_figures_and_commands():
    result = run("ptable", "advise", "--max-noise", 5, "--small", 4, "--stay-about", 0.4)
    assert result.exit_code == 0
    assert "count 2 needs a variance of at least 6" in result.stdout
    assert "Effect of the noise" in result.stdout
    first, *others = commands(result.stdout)
    assert "--p-stay 0.4" in first
    assert others


def test_without_a_variance_tables_are_proposed():
    result = run("ptable", "advise", "--max-noise", 3)
    assert result.exit_code == 0
    assert len(commands(result.stdout)) > 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give SPEC.toml, --preset, or at least --max-noise."),
        (["spec.toml", "--small", "1"], "Give a file or --small, not both."),
        (["--max-noise", "5", "--variance", "1", "--tolerance", "0.1"], "with --stay-about"),
        (["--max-noise", "5", "--tolerance", "0.1"], "with --stay-about"),
        (["--max-noise", "5", "--stay-about", "0.4", "--p-stay", "0.4"], "not take --p-stay"),
        (["--max-noise", "5,5", "--stay-about", "0.4"], "one value of each option"),
        (
            ["--max-noise", "5", "--stay-about", "1.4"],
            "p_stay must be a number from 0 to below 1",
        ),
        (["--max-noise", "5", "--variance", "nan"], "finite number above 0"),
        (["--max-noise", "5", "--variance", "a"], "is not a valid float"),
        (["--max-noise", "0", "--variance", "1"], "not in the range"),
        (["--max-noise", "5", "--variance", "1", "--monotone", "up"], "is not one of"),
        (["missing.toml"], "cannot be read"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    result = run("ptable", "advise", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


SPECS = [
    NoiseSpec(max_noise=5, variance=3.0, small=2),
    NoiseSpec(max_noise=2, variance=(0.5, 1.25), p_stay=(None, 0.25), p_stay_rule="at-least"),
    NoiseSpec(max_noise=3, variance=1.0, monotone="both", min_probability=1e-6),
    NoiseSpec(max_noise=3, variance=0.5, symmetric=True, variance_rule="at-most"),
    NoiseSpec(max_noise=2, variance=0.5, symmetric=(True, False)),
    NoiseSpec(max_noise=3, variance=1.0, zero_bias=0.5, zero_variance=0.75),
    NoiseSpec(max_noise=1, variance=0.4, step=2, anchors=(1,)),
    NoiseSpec(max_noise=(2, 2, 2), variance=(1.0, 1.0, 2.0), monotone=("none", "left", "both")),
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_every_option_can_be_given_on_the_command_line(folder, spec):
    assert feasible(spec).ok
    words = shlex.split(as_command(spec))
    assert words[:3] == ["ckm", "ptable", "build"]
    result = run(*words[1:-1], "pt.json")
    assert result.exit_code == 0, result.stderr
    assert PTable.read(folder / "pt.json").spec == spec


@pytest.mark.slow
def test_the_guide_shows_what_the_adviser_says():
    page = (ROOT / "docs" / "howto" / "choosing-noise.md").read_text(encoding="utf-8")
    shown = re.findall(r"```text\n\$ (ckm ptable advise .*?)\n(.*?)```", page, re.DOTALL)
    assert len(shown) == 2
    for line, text in shown:
        said = run(*shlex.split(line)[1:]).stdout
        assert [s.rstrip() for s in said.rstrip().split("\n")] == text.rstrip().split("\n")


def test_noise_on_nearly_two_points_is_named_by_advise_build_and_check(folder):
    noise = ["--max-noise", 10, "--variance", 10]
    wanted = "count 1 becomes 0 (91%) or 11 (9%), 1.4 effective outcomes"
    for arguments in (
        ["advise", *noise],
        ["build", *noise, "-o", folder / "two.parquet"],
        ["check", folder / "two.parquet"],
    ):
        found = run("ptable", *arguments)
        assert found.exit_code == 0
        assert wanted in found.output
        assert "A variance of 8.7 is the nearest smaller one" in found.output


def test_names_of_designs_are_those_there_are():
    from ckm.cli.ptable.options import noise_options
    from ptable.design.presets import PRESETS, RULES

    @noise_options
    def command() -> None: ...

    kinds = {option.name: option.type for option in command.__click_params__}
    assert list(kinds["preset"].choices) == [*PRESETS]
    assert list(kinds["rule"].choices) == list(RULES)


def test_a_preset_is_judged_and_built_with_its_source():
    asked = ("--preset", "insee-qpv", "--rule", "maximum-entropy")
    result = run("ptable", "advise", *asked, "--variance", 8.11)
    assert commands(result.stdout) == [
        "--max-noise 10 --variance 8.11 --small 4 -o pt.parquet",
    ]
    for name in ("insee", "ons-10-5"):
        result = run("ptable", "build", "--preset", name, "-o", f"{name}.json")
        assert result.exit_code == 0, result.output
        assert f"Preset {name}: " in result.stderr
    assert PTable.read("insee.json").spec == NoiseSpec.r_ptable(5, 3.0, small=2)
    assert PTable.read("ons-10-5.json").units(12).keys() == {-2}
    result = run("ptable", "check", "insee.json")
    assert "The same noise as the preset insee." in result.stderr
    result = run("ptable", "advise", "--preset", "ons-10-5")
    assert "`ckm ptable build --preset ons-10-5 -o ons.parquet`" in result.stderr
    asked = ("--preset", "ons-10-5", "--variance", 3)
    result = run("ptable", "build", *asked, "-o", "other.json")
    assert "--preset ons-10-5 does not take --variance." in result.stderr


def test_a_file_tells_its_preset_only_by_name_and_what_rows_have_under_a_bound(folder):
    for text, said in (
        ("max_noise = 5\nvariance = 3.0\nsmall = 2", "preset"),
        ('preset = "insee"\nvariance = 15.0', "Changed here: variance = 15, not 3."),
    ):
        (folder / "spec.toml").write_text(f"[ptable]\n{text}\n", encoding="utf-8")
        result = run("ptable", "advise", folder / "spec.toml")
        assert (said in " ".join(result.stderr.split())) is ("Changed" in said)
    assert "yes, with less: 3.08" in result.stdout


def test_every_command_warns_of_a_declared_bias_and_of_less_variance():
    asked = ("--max-noise", 5, "--variance", 3, "--positive-bias", 0.8)
    for verb in (("advise", *asked), ("build", *asked, "-o", "pt.json"), ("check", "pt.json")):
        result = run("ptable", *verb)
        assert "The mean noise is +0.8 for count 1" in " ".join(result.stderr.split())
    result = run(
        "ptable",
        "build",
        "--max-noise",
        5,
        "--variance",
        2,
        "--rule",
        "r-ptable",
        "-o",
        "r.json",
    )
    assert "less variance than asked for: 1.3 for count 1." in " ".join(result.stderr.split())
