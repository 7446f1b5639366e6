"""``ckm rappor series``, ``joint``, ``discover``, ``simulate --experiment``, ``serve``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest
from click.testing import CliRunner

from ckm.cli import app
from rappor.counts import Counts
from rappor.parameters import Parameters
from rappor.receiver.store import Receiver
from tests.unit.rappor.receiver.test_store import COIN, Clock, body

ROOT = Path(__file__).resolve().parents[5]
TOWNS = Parameters.basic(3, f=0.25, p=0.25, q=0.75)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "secret.key").write_text("ab" * 32 + "\n")
    (tmp_path / "secret.key").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args, code=0):
    env = {"CKM_LOG_FORMAT": "text", "COLUMNS": "120"}
    done = CliRunner(env=env).invoke(app, ["rappor", *map(str, args)])
    assert done.exit_code == code, done.output
    return done.output.replace("\n", " ")


def test_a_series_tells_what_changed(folder):
    for name, ones in (
        ("w1", [5000, 4500, 4500]),
        ("w2", [5010, 4490, 4500]),
        ("w3", [5600, 4000, 4400]),
    ):
        Counts(n=[10_000], ones=[ones], parameters=TOWNS).write(folder / f"{name}.json")
    (folder / "towns.txt").write_text("0\n1\n2\n")
    asked = ("series", "w1.json", "w2.json", "w3.json", "--candidates", "towns.txt")
    assert "w3" in run(*asked, "-o", "series.csv")
    rows = (folder / "series.csv").read_text().splitlines()
    assert len(rows) == 10
    assert [row.endswith("True") for row in rows[7:9]] == [True, True]
    assert "over 3 periods" in run(*asked, "--panel", "-o", "series.json")
    assert len(json.loads((folder / "series.json").read_text())) == 9
    assert "two periods" in run("series", "w1.json", "--candidates", "towns.txt", code=2)
    assert "one name" in run(*asked, "w1.json", code=2)


def test_a_receiver_is_summed_by_period_and_its_series_told(folder):
    clock = Clock()
    with Receiver(
        folder / "c", parameters=COIN, metric="page", period="day", clock=clock
    ) as takes:
        for _ in range(3):
            takes.take([body([f"c{n}" for n in range(300)], takes.period)])
            clock.now += 86_400
            takes.roll()
    assert "300 reports" in run("sum", "c", "--period", "2024-10-05", "-o", "day.json")
    assert "900 reports" in run("sum", "c", "-o", "all.json")
    assert "No such period" in run(
        "sum", "c", "--period", "1999-01-01", "-o", "no.json", code=2
    )
    TOWNS.write(folder / "towns.json")
    other = ("--params", "towns.json", "-o", "no.json")
    assert "other parameters" in run("sum", "c", *other, code=2)
    assert "receiver" in run("sum", "day.json", "--unfinished", "-o", "no.json", code=2)
    (folder / "pages.txt").write_text("a\nb\n")
    assert "over 3 periods" in run("series", "c", "--candidates", "pages.txt")


def test_a_receiver_opens_its_folder_and_takes_nothing_when_rehearsed(folder):
    COIN.write(folder / "params.json")
    asked = ("serve", "params.json", "--metric", "page", "--data", "c", "--dry-run")
    assert "dry run" in run(*asked)
    assert (folder / "c" / "sums.db").exists()
    assert "another collection" in run(*asked, "--period", "day", code=3)


def test_answers_that_go_together_are_told_as_pairs(folder):
    sure = Parameters.basic(2, f=0.0, p=0.1, q=0.9)
    sure.write(folder / "sure.json")
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 400)
    second = np.where(rng.random(400) < 0.9, first, 1 - first)
    lines = [f"{n},{a},{b}" for n, (a, b) in enumerate(zip(first, second, strict=True))]
    (folder / "people.csv").write_text("id,a,b\n" + "\n".join(lines) + "\n")
    for name in "ab":
        run(
            "encode", "people.csv", "--value", name, "--client", "id", "--metric", name,
            "--params", "sure.json", "--secret", "secret.key", "--cap", 99,
            "-o", f"{name}.rappor",
        )  # fmt: skip
    (folder / "two.txt").write_text("0\n1\n")
    lists = ("--first-candidates", "two.txt", "--second-candidates", "two.txt")
    said = run("joint", "a.rappor", "b.rappor", *lists, "-o", "pairs.csv")
    assert "400 reports" in said
    rows = (folder / "pairs.csv").read_text().splitlines()
    assert {rows[1].split(",")[0], rows[1].split(",")[1]} in ({"0"}, {"1"})


def test_strings_nobody_thought_of_are_put_together(folder):
    pieces = Parameters(n_bits=32, n_hashes=1, n_cohorts=4, f=0.05, p=0.02, q=0.98)
    pieces.write(folder / "pieces.json")
    rng = np.random.default_rng(1)
    held = rng.choice(["ab", "ca"], 800)
    (folder / "people.csv").write_text(
        "id,page\n" + "".join(f"{n},{word}\n" for n, word in enumerate(held))
    )
    run(
        "discover", "encode", "people.csv", "--value", "page", "--client", "id", "--params",
        "pieces.json", "--secret", "secret.key", "--size", 1, "--length", 2, "-o", "sent",
    )  # fmt: skip
    assert sorted(file.name for file in (folder / "sent").iterdir()) == [
        "1-2-1.rappor",
        "1-2-2.rappor",
    ]
    run("discover", "strings", "sent", "--alphabet", "abc", "--size", 1, "-o", "pages.txt")
    assert set((folder / "pages.txt").read_text().split()) == {"ab", "ca"}
    assert "no reports of pieces" in run(
        "discover", "strings", ".", "--alphabet", "abc", code=2
    )


@pytest.mark.parametrize("name", ["normal", "exponential", "google"])
def test_experiments_stand_beside_what_their_source_printed(folder, name):
    said = run("simulate", "--experiment", name, "--seed", 1, "--clients", 50_000, "-o", name)
    assert "of them false" in said
    assert "the paper" in said or "google/rappor" in said
    assert len((folder / name / "candidates.txt").read_text().split()) in {100, 190, 200}


def test_an_experiment_has_its_own_parameters_and_unheld_candidates_are_texts(folder):
    TOWNS.write(folder / "towns.json")
    COIN.write(folder / "coin.json")
    both = ("--params", "towns.json", "--experiment", "google")
    assert "either --params or" in run("simulate", *both, "--seed", 1, "-o", "x", code=2)
    assert "either --params or" in run("simulate", "--seed", 1, "-o", "x", code=2)
    unheld = ("--unheld", 2, "--values", 3, "--clients", 100, "--seed", 1)
    assert "all held" in run("simulate", "--params", "towns.json", *unheld, "-o", "x", code=2)
    run("simulate", "--params", "coin.json", *unheld, "-o", "x")
    truth = (folder / "x" / "truth.csv").read_text().splitlines()
    assert truth[-2:] == ["v4,0", "v5,0"]


def test_presets_are_shown_and_written_and_rotation_has_its_price(folder):
    said = run("params", "--preset", "paper", "-o", "paper.json")
    assert "section 5.2" in said
    assert "4.394" in said
    assert "is a design of its own" in run("params", "paper.json", "--preset", "paper", code=2)
    said = run("params", "paper.json", "--rotations", 3)
    assert "loss of 4 reports, 4 secrets in turn" in said
    assert "4.297" in said  # four times the loss of one report


@pytest.mark.slow
def test_a_receiver_that_is_asked_to_stop_has_written_what_it_answered(folder):
    COIN.write(folder / "params.json")
    command = [sys.executable, "-m", "ckm", "rappor", "serve", "params.json"]
    options = ["--metric", "page", "--data", "c", "--period", "year", "--port", "0"]
    process = subprocess.Popen(
        [*command, *options],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "CKM_LOG_FORMAT": "text"},
    )
    lines = iter(process.stderr.readline, "")
    address = next(line for line in lines if "serving at" in line).split()[-1]
    period = httpx.get(f"{address}/collection").json()["period"]
    answer = httpx.post(f"{address}/reports", content=body(["a", "b"], period))
    assert answer.json() == {"accepted": 2, "repeated": 0}
    process.send_signal(signal.SIGTERM)
    assert "all that arrived" in process.communicate()[1]
    assert process.returncode == 0
    assert "2 reports" in run("sum", "c", "--unfinished", "-o", "counts.json")
