"""The office's experiment: its shape, and its figures.

The register is made up, so the figures are this program's own; they change on purpose only.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ckm.comparison.compare_designs import compare
from ckm.config import read_designs, read_job
from ckm.demo.demo import DESIGNS, JOB, write_register

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "qpv"


def experiment(folder, persons):
    write_register(folder, persons=persons)
    for name in ("job.toml", "designs.toml"):
        (folder / name).write_bytes((EXAMPLE / name).read_bytes())
    return compare(
        read_job(folder / "job.toml"), read_designs(folder / "designs.toml"), n_draws=0
    )


def rounded(numbers):
    return {
        name: float(f"{number:.4g}") if isinstance(number, float) else number
        for name, number in numbers.items()
    }


def test_the_example_has_the_job_and_the_designs_of_the_demonstration():
    assert (EXAMPLE / "job.toml").read_text(encoding="utf-8") == JOB
    assert (EXAMPLE / "designs.toml").read_text(encoding="utf-8") == DESIGNS


@pytest.mark.slow
def test_a_small_register_gives_the_figures_it_gave(tmp_path):
    found = experiment(tmp_path, 20_000).facts().conclusion
    assert {name: rounded(numbers) for name, numbers in found.items()} == SMALL


@pytest.mark.slow
def test_the_six_tables_have_the_number_of_cells_of_the_experiment(tmp_path):
    found = experiment(tmp_path, 400_000)
    assert len(found.count_histogram.tables) == 6
    assert 0.99 * 395_000 <= found.count_histogram.distinct <= 1.01 * 395_000
    conclusion = found.facts().conclusion
    assert next(iter(conclusion)) == "conclusion-forbidding"
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    told = re.findall(r"^ *\| `([a-z-]+)` \|(.*)\|$", page, re.MULTILINE)
    lines = {name: said for name, said in told if name in conclusion}
    assert set(lines) == set(conclusion)
    for name, said in lines.items():
        for number in rounded(conclusion[name]).values():
            shown = number if isinstance(number, str) else f"{number:,g}"
            assert shown in said, (name, shown)


@pytest.mark.slow
def test_the_example_runs_as_it_stands(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLE / "run.py", tmp_path / "qpv", "--persons", "2000"],
        capture_output=True,
        text=True,
        check=True,
        cwd=EXAMPLE.parents[1],
        env={"PYTHONPATH": str(EXAMPLE.parents[1])},
    )
    for words in ("No p-table for D=5 V=3 js=4", "possible 5", "X in 1..4", "Findings"):
        assert words in done.stdout
    assert (tmp_path / "qpv" / "comparison" / "comparison.en.html").is_file()


#: Name of a finding → its numbers, four digits.
SMALL = {
    "conclusion-forbidding": {"design": "D=10 V=10 js=4", "loss": 1.299, "risk": 0.6591},
    "least-loss": {
        "designs": 14,
        "design": "random rounding to 3",
        "loss": 0.56,
        "risk": 0.9539,
    },
    "least-loss-posterior": {
        "limit": 0.75,
        "designs": 6,
        "design": "rounding to 5",
        "loss": 0.7004,
        "risk": 0.5861,
    },
    "least-loss-certain": {
        "limit": 0.001,
        "designs": 3,
        "design": "D=10 V=10 js=2",
        "loss": 1.255,
        "risk": 0.7163,
    },
    "least-loss-same-answer": {
        "designs": 2,
        "design": "D=10 V=10 js=2",
        "loss": 1.255,
        "risk": 0.7163,
    },
    "least-loss-threshold": {
        "designs": 1,
        "design": "D=10 V=10 js=4",
        "loss": 1.299,
        "risk": 0.6591,
    },
    "rounding-certain": {
        "design": "rounding to 5",
        "probability": 0.2532,
        "original": 2.0,
        "published": 0.0,
        "published_more": 5.0,
    },
    "random-rounding-answers": {"design": "random rounding to 5", "share_pct": 35.11},
    "random-rounding-certain": {
        "design": "random rounding to 5",
        "probability": 0.1166,
        "published": 5.0,
        "published_more": 0.0,
    },
    "sensitive-published": {
        "designs": 8,
        "least": 0.676,
        "least_design": "D=10 V=10 js=2",
        "most": 0.9539,
        "most_design": "random rounding to 3",
    },
    "price-of-forbidding": {
        "design": "D=10 V=10 js=4",
        "loss": 1.299,
        "risk": 0.6591,
        "other": "D=10 V=10 js=0",
        "other_loss": 1.228,
        "other_risk": 0.892,
        "cost_pct": 5.803,
    },
    "one-record-more": {
        "design": "D=10 V=10 js=4",
        "probability": 0.9133,
        "other": "rounding to 10",
        "other_probability": 0.1,
    },
    "cells": {"tables": 6, "listed": 70783, "distinct": 64395},
    "record-sets": {"record_sets": 39537},
}
