"""``ckm synth sanitise``: what comes out says everywhere that it protects nobody."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ckm.cli.app import app
from ckm.cli.synth.sanitise import SANITISERS, WARNING

SETTINGS = {
    "add-noise": ["--column", "pay", "--set", "scale=10"],
    "microaggregate": ["--column", "pay", "--set", "k=5"],
    "rank-swap": ["--column", "pay", "--set", "reach=0.2"],
    "rotate": ["--column", "pay", "--column", "age", "--set", "degrees=30"],
    "sample-columns": ["--column", "pay"],
    "sample-rows": ["--set", "share=0.5"],
    "suppress-rare": ["--column", "town", "--set", "least=30"],
}


def run(*args):
    environment = {"CKM_LOG_FORMAT": "text", "NO_COLOR": "1"}
    return CliRunner(env=environment).invoke(app, ["synth", "sanitise", *map(str, args)])


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "pay": rng.integers(1000, 9000, 60),
            "age": rng.integers(20, 60, 60),
            "town": rng.choice(["a", "b"], 60, p=[0.8, 0.2]),
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


@pytest.mark.parametrize("method", sorted(SANITISERS))
def test_file_header_and_certificate_say_that_nothing_is_guaranteed(people, method):
    result = run(people, "--method", method, *SETTINGS[method], "-o", people.parent / "out.csv")
    assert result.exit_code == 0, result.output
    assert "NO PRIVACY GUARANTEE" in result.output
    file = people.parent / "out.no-privacy-guarantee.csv"
    assert WARNING in file.read_text().splitlines()[0]
    paper = json.loads((people.parent / f"{file.name}.certificate.json").read_text())
    assert paper["guarantee"] == WARNING
    assert "seed" not in json.dumps(paper)
    assert (
        run(
            people, "--method", method, *SETTINGS[method], "-o", people.parent / "out.csv"
        ).exit_code
        == 2
    )


@pytest.mark.parametrize(
    "wrong",
    [
        ["--method", "microaggregate", "--set", "k=5"],
        ["--method", "microaggregate", "--column", "pay"],
        ["--method", "microaggregate", "--column", "pay", "--set", "k=many"],
        ["--method", "microaggregate", "--column", "pay", "--set", "least=2"],
        ["--method", "microaggregate", "--column", "salary", "--set", "k=2"],
        ["--method", "sample-rows", "--column", "pay", "--set", "share=.5"],
        ["--method", "add-noise", "--column", "pay"],
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_written(people, wrong):
    result = run(people, *wrong, "-o", people.parent / "out.csv")
    assert result.exit_code == 2, result.output
    assert [one.name for one in people.parent.iterdir()] == ["people.csv"]


def test_a_dry_run_writes_nothing(people):
    options = [*SETTINGS["microaggregate"], "--dry-run"]
    result = run(
        people,
        "--method",
        "microaggregate",
        *options,
        "-o",
        people.parent / "o.csv",
        "--dry-run",
    )
    assert result.exit_code == 0
    assert [one.name for one in people.parent.iterdir()] == ["people.csv"]
