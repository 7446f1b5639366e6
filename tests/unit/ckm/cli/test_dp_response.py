"""``ckm dp response``: a survey is designed, answered and estimated."""

import csv

import numpy as np
import pytest
from click.testing import CliRunner

from ckm.cli import app

ANSWERS = ("--answer", "no", "--answer", "yes")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    truths = rng.choice(["no", "yes"], 4_000, p=[0.7, 0.3])
    lines = [f"{place},{text},secret" for place, text in enumerate(truths)]
    (tmp_path / "t.csv").write_text("\n".join(["id,smokes,name", *lines]) + "\n")
    runner = CliRunner(env={"CKM_LOG_FORMAT": "text"})
    return lambda *words: runner.invoke(app, ["dp", "response", *words])


def test_a_design_tells_its_cost_and_its_error(run):
    told = run("design", *ANSWERS, "--coins", "--respondents", "1000")
    assert told.exit_code == 0, told.output
    assert "epsilon = 1.09861 (local, per answer)" in told.stdout
    assert "known to 6.20 percentage points" in told.stdout
    french = run("design", *ANSWERS, "--coins", "--lang", "fr")
    assert "points de pourcentage" in french.stdout


@pytest.mark.parametrize("chances", [("--epsilon", "2"), ("--coins",), ("--direct", "0.8")])
def test_shares_are_those_of_the_truths_within_their_intervals(run, tmp_path, chances):
    """Interval at 1e-6 of a normal law: 4.9 / 1.96 times as wide as what is printed."""
    words = ("--column", "smokes", *ANSWERS, *chances)
    made = run("answer", "t.csv", *words, "--keep", "id", "-o", "a.csv")
    assert made.exit_code == 0, made.output
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "smokes"]
    assert [row["id"] for row in rows[:3]] == ["0", "1", "2"]
    told = run("estimate", "a.csv", *words)
    assert told.exit_code == 0, told.output
    line = next(line for line in told.stdout.splitlines() if "yes" in line)
    share, low, _high = (float(text) for text in line.replace("│", " ").split()[1:])
    assert abs(share - 30) < (share - low) * 2.5 + 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("design", *ANSWERS), "one of --epsilon, --coins and --direct"),
        (("design", *ANSWERS, "--coins", "--epsilon", "1"), "one of"),
        (("design", "--answer", "no", "--coins"), "two answers or more"),
        (("design", *ANSWERS, "--answer", "both", "--coins"), "are for two answers"),
        (("design", *ANSWERS, "--epsilon", "-1"), "above 0"),
        (("design", *ANSWERS, "--epsilon", "nan"), "epsilon"),
        (("design", *ANSWERS, "--direct", "0.5"), "say nothing about the truth"),
        (("design", *ANSWERS, "--direct", "2"), "direct"),
        (("estimate", "t.csv", "--column", "smoke", *ANSWERS, "--coins"), "'smoke'"),
        (("estimate", "t.csv", "--column", "name", *ANSWERS, "--coins"), "others than those"),
        (("answer", "t.csv", "--column", "smokes", *ANSWERS, "--coins"), "--output"),
    ],
)
def test_what_makes_no_sense_is_refused(run, words, said):
    told = run(*words)
    assert told.exit_code == 2, told.output
    assert said in told.stderr
    assert "secret" not in told.stderr
