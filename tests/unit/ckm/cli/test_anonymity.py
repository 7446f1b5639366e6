"""``ckm anonymity``: the hospital of the literature, limits, and what cannot be read."""

import json

import pytest
from click.testing import CliRunner

from ckm.cli import app

HOSPITAL = """age,district,treatment,cost
18-30,B,asthma,1
18-30,B,HIV,2
35-45,M,HIV,2
35-45,M,cancer,3
60+,B,leukaemia,9
60+,B,leukaemia,10
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "h.csv").write_text(HOSPITAL)
    runner = CliRunner(env={"CKM_LOG_FORMAT": "text"})
    return lambda *words: runner.invoke(app, ["anonymity", "h.csv", *words])


AGE = ("--by", "age", "--by", "district")


def test_the_hospital_has_two_alike_and_one_secret_told(run, tmp_path):
    result = run(*AGE, "--sensitive", "treatment", "-o", "a.json")
    assert result.exit_code == 0, result.output
    assert "For inside use only" in result.stdout
    told = json.loads((tmp_path / "a.json").read_text())
    assert (told["records"], told["groups"], told["k"], told["l"]) == (6, 3, 2, 1)
    assert (told["unique"], told["homogeneous"], told["excluding"]) == (0, 1, 3)
    assert told["t"] == pytest.approx(2 / 3)


def test_each_group_has_a_line(run, tmp_path):
    result = run(*AGE, "--sensitive", "cost", "--distance", "ordered", "-o", "a.csv")
    assert result.exit_code == 0, result.output
    head, *lines = (tmp_path / "a.csv").read_text().splitlines()
    assert head.startswith("age,district,n_records,distinct")
    assert sorted(line.split(",")[0] for line in lines) == ["18-30", "35-45", "60+"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("-k", "2"), 0),
        (("-k", "3"), 1),
        (("--sensitive", "treatment", "-l", "2"), 1),
        (("--sensitive", "treatment", "-t", "0.7"), 0),
        (("--sensitive", "treatment", "-t", "0.5"), 1),
    ],
)
def test_a_limit_that_is_not_kept_ends_with_exit_code_1(run, words, code):
    result = run(*AGE, *words)
    assert result.exit_code == code
    assert ("not within its limit" in result.stderr) == bool(code)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--by", "agee"), "Column 'agee' is not in the data"),
        (("--by", "age", "--by", "age"), "named twice"),
        ((*AGE, "-l", "2"), "add --sensitive"),
        ((*AGE, "--sensitive", "treatment", "--distance", "ordered"), "has no numbers"),
        ((*AGE, "-k", "0"), "k"),
        ((*AGE, "-o", "a.txt"), "must end in"),
    ],
)
def test_what_cannot_be_audited_is_said(run, words, said):
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert said in result.stderr


def test_no_record_at_all_is_said(run, tmp_path):
    (tmp_path / "h.csv").write_text("age,district\n")
    result = run(*AGE)
    assert result.exit_code in {2, 3}
    assert "at least one record" in result.stderr
