"""The sweep of ckm synth, as somebody types it."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ckm.cli.app import app
from synth import Category, Schema, Unit, Whole

PLAN = """
schema = 1
data = "people.csv"
declared = "schema.json"
folds = 2
[measure]
only = ["tables"]
[[ways]]
method = ["histogram", "copula"]
epsilon = [1, 8]
[[ways]]
method = "copula-shirley"
epsilon = 8
families = "indep"
truncation = 1
"""


def run(*args):
    environment = {"CKM_LOG_FORMAT": "text", "NO_COLOR": "1", "COLUMNS": "160"}
    return CliRunner(env=environment).invoke(
        app, ["synth", "sweep", *(str(arg) for arg in args)]
    )


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {
            "home": np.arange(80) // 2,
            "age": rng.integers(0, 9, 80),
            "code": rng.choice(["01", "NA"], 80),
            "note": "left out",
        }
    )
    people.to_csv(tmp_path / "people.csv", index=False)
    Schema(
        columns=[
            Whole(name="age", low=0, high=9),
            Category(name="code", values=["01", "NA"]),
        ],
        unit=Unit(name="household", identifier="home", most_records=2),
        ignored=["note"],
    ).write(tmp_path / "schema.json")
    (tmp_path / "sweep.toml").write_text(PLAN)
    return tmp_path


@pytest.mark.slow
def test_every_way_is_measured_on_every_fold_once_and_written_inside(folder):
    first = run(folder / "sweep.toml", "-o", folder / "all.csv")
    assert first.exit_code == 0, first.output
    lines = pd.read_csv(folder / "all.csv")
    assert set(lines["way"]) == {
        "train", "bootstrap", "independent", "histogram, epsilon=1", "histogram, epsilon=8",
        "copula, epsilon=1", "copula, epsilon=8",
        "copula-shirley (NOT DP as claimed), epsilon=8, families=indep, truncation=1",
    }  # fmt: skip
    assert set(lines["fold"]) == {1, 2}
    assert (lines[lines["way"].eq("train") & lines["figure"].eq("tvd2")]["value"] == 0).all()
    journal = folder / "sweep.runs.jsonl"
    assert len(journal.read_text().splitlines()) == 1 + 8 * 2
    for name in ("all.csv", "sweep.runs.jsonl"):
        assert (folder / name).stat().st_mode & 0o077 == 0
    before = journal.read_bytes()
    again = run(folder / "sweep.toml", "-o", folder / "page.html", "--lang", "fr")
    assert again.exit_code == 0, again.output
    assert journal.read_bytes() == before  # nothing was fitted again
    page = (folder / "page.html").read_text()
    assert "copula-shirley (NOT DP as claimed)" in page
    shown = run(folder / "sweep.toml", "--over", "epsilon")
    assert "copula-shirley" in shown.stdout
    assert "epsilon" not in shown.stdout
    assert "±" in shown.stdout
    assert run(folder / "sweep.toml", "-o", folder / "all.csv").exit_code == 2


@pytest.mark.slow
def test_a_sweep_goes_on_where_it_stopped_and_not_on_other_records(folder):
    run(folder / "sweep.toml")
    journal = folder / "sweep.runs.jsonl"
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join(lines[:-3]) + '\n{"name": "copu')  # stopped while writing
    assert run(folder / "sweep.toml").exit_code == 0
    figures = [json.loads(line).get("figures", {}) for line in lines]
    again = [json.loads(line).get("figures", {}) for line in journal.read_text().splitlines()]
    assert [one.get("tvd2") for one in again] == [one.get("tvd2") for one in figures]
    people = folder / "people.csv"
    people.write_text(people.read_text().replace("left out", "changed"))
    other = run(folder / "sweep.toml")
    assert other.exit_code == 2
    assert "other records or settings" in other.output


def test_a_run_that_fails_is_named_and_the_others_count(folder):
    people = folder / "people.csv"
    people.write_text(people.read_text() + "99,77,01,secret\n")
    made = run(folder / "sweep.toml", "-o", folder / "all.csv")
    assert made.exit_code == 1
    assert "fold 1: DomainError" in made.stderr or "fold 2: DomainError" in made.stderr
    lines = pd.read_csv(folder / "all.csv")
    assert set(lines[lines["way"].eq("train")]["figure"]) >= {"tvd2"}
    assert "secret" not in made.output


def test_a_dry_run_names_the_ways_and_writes_nothing(folder):
    made = run(folder / "sweep.toml", "--dry-run", "-o", folder / "all.csv")
    assert made.exit_code == 0
    assert "copula, epsilon=8" in made.stdout
    assert not (folder / "all.csv").exists()
    assert not (folder / "sweep.runs.jsonl").exists()


def test_means_over_what_is_no_factor_are_refused_before_any_run(folder):
    assert run(folder / "sweep.toml", "--dry-run", "--over", "epsilon").exit_code == 0
    made = run(folder / "sweep.toml", "--over", "epsilom")
    assert made.exit_code == 2
    assert "No way has a factor 'epsilom'" in made.output
    assert not (folder / "sweep.runs.jsonl").exists()


WRONG = {
    "epsilon = [1, 8]": {
        "epsilon = [1, 1]": "'epsilon' is there twice",
        "epsilon = []": "no value of 'epsilon'",
        "epsilon = [0]": "epsilon",
        "epsilon = [-1]": "epsilon",
        'epsilon = ["1"]': "a number",
        "epsilon = [true]": "a number",
        "epsilon = [nan]": "epsilon",
        "": "an epsilon with a delta",
        "epsilon = 1\ndepth = 3": "no setting",
        "epsilon = 1\nlabel = 'sex'": "'sex' is not declared",
        "epsilon = 1\nadjacency = 'near'": "adjacency is",
    },
    'method = ["histogram", "copula"]': {
        'method = "hist"': "Unknown method",
        'method = [["a"]]': "Unknown method",
        "": "names no method",
    },
    "folds = 2": {
        "folds = 1": "folds must be",
        "fold = 2": "did you mean 'folds'",
        "folds = 2\ncontrols = 1": "true or false",
        "folds = 200": "from 2 to 80 folds",
    },
    'only = ["tables"]': {
        "only = 'tables'": "only must be a list in square brackets",
        'only = ["nothing"]': "There is no 'nothing'",
        'sensitive = ["age"]': "needs keys",
        'learner = "tree"': "histogram",
    },
    "schema = 1": {"": "schema is missing", "schema = 2": "schema must be 1"},
    'data = "people.csv"': {
        "": "data is missing",
        'data = "nowhere.csv"': "nowhere.csv",
        'data = "people.doc"': "from .parquet or .csv",
    },
}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [(old, new, said) for old, some in WRONG.items() for new, said in some.items()],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_fitted(folder, old, new, said):
    (folder / "sweep.toml").write_text(PLAN.replace(old, new))
    made = run(folder / "sweep.toml")
    assert made.exit_code in (2, 3), made.output
    assert said.lower() in " ".join(made.output.lower().split())
    assert not (folder / "sweep.runs.jsonl").exists() or "folds" in said
