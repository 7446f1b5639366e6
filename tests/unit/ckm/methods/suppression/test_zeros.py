"""Zeros that may be hidden: what a reader makes of it who knows that they may be."""

import itertools
import shutil

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.optimize import linprog

from ckm.cli import app
from ckm.config import read_job
from ckm.errors import ConfigError
from ckm.release.suppressed import release_true_numbers

JOB = """
schema = 1
data = { path = "people.parquet", id = "id" }
suppression = { threshold = 3, coalition = 0, zero_cost = 0.5, largest_hidden_share = 1.0 }
hierarchies = { geo = ["region", "town"] }
table = [{ name = "t", dimensions = ["geo", "branch"], measures = ["count", "sum:x"] }]
"""
TOWNS, BRANCHES = {"T0": "N", "T1": "N", "T2": "S", "T3": "S"}, [*"abc"]


def write(folder, counts, job=JOB):
    """Write the records of a table of towns by branches, some of which gave 0."""
    places = [
        (town, branch)
        for (town, branch), n in zip(itertools.product(TOWNS, BRANCHES), counts, strict=True)
        for _ in range(n)
    ]
    frame = pd.DataFrame(places, columns=["town", "branch"])
    frame["region"] = frame["town"].map(TOWNS)
    frame["id"] = np.arange(len(frame))
    frame["x"] = np.arange(len(frame)) % 5 * 10.0
    frame.to_parquet(folder / "people.parquet")
    (folder / "job.toml").write_text(job)


def ends(folder):
    """Bound hidden counts by programs over the finest cells, from the public file alone."""
    table = pd.read_csv(folder / "out/public/t.csv")
    finest = list(itertools.product(TOWNS.items(), BRANCHES))
    names = [{"region": r, "town": t, "branch": b} for (t, r), b in finest]

    def line(row):
        said = {c: row[c] for c in ("region", "town", "branch") if row[c] != "Total"}
        return np.array([said.items() <= name.items() for name in names], float), said

    told = [(*line(row), row["count"]) for row in table.to_dict("records")]
    listed = [(said.get("town"), said.get("branch")) for _, said, _ in told]
    equal = [(one, n) for one, _, n in told if not np.isnan(n)]
    # what is not listed is 0; a category that is listed has somebody
    equal += [
        (np.eye(len(names))[k], 0)
        for k, name in enumerate(names)
        if (name["town"], name["branch"]) not in listed
    ]
    least = [-one for one, said, _ in told if "branch" in said and len(said) == 1]
    least += [-one for one, said, _ in told if said and "branch" not in said]
    for one, said, n in told:
        if np.isnan(n):
            given = {
                "A_eq": np.array([row for row, _ in equal]),
                "b_eq": [number for _, number in equal],
                "A_ub": np.array(least),
                "b_ub": -np.ones(len(least)),
            }
            low, high = (linprog(sign * one, **given) for sign in (1, -1))
            yield said, low.fun, np.inf if high.status == 3 else -high.fun


@pytest.mark.parametrize(
    "counts",
    [
        [2, 0, 9, 0, 0, 8, 1, 7, 0, 0, 6, 0],
        pytest.param([1, 0, 0, 6, 8, 5, 0, 9, 0, 3, 3, 7], marks=pytest.mark.slow),
    ],
)
def test_a_reader_who_knows_that_zeros_may_be_hidden_finds_what_the_audit_says(
    tmp_path, monkeypatch, counts
):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, counts)
    done = CliRunner().invoke(app, ["suppress", "job.toml", "-o", "out"])
    assert done.exit_code == 0, done.stderr
    inside = pd.read_csv("out/internal/audit-t.csv")
    inside = inside[inside["measure"] == "count"].fillna({"most": np.inf})
    hidden = list(ends(tmp_path))
    assert len(hidden) == len(inside)
    for said, low, high in hidden:
        own = inside
        for column in ("region", "town", "branch"):
            own = own[own[column] == said.get(column, "Total")]
        (row,) = own.to_dict("records")
        assert row["least"] == pytest.approx(low, abs=1e-4)
        assert row["most"] == pytest.approx(high, abs=1e-4)
        if 0 < row["original"] < 3:
            is_known = len(said) == 1 or "branch" not in said
            assert low <= max(row["original"] - 1, is_known) + 1e-6
            assert high >= 3 - 1e-6
    assert (inside["original"] == 0).any()
    zeros = inside[inside["original"] == 0]
    assert (zeros["least"] == 0).all()
    assert (zeros["most"] > 0).all()


def test_a_zero_is_listed_if_it_is_hidden_and_costs_what_the_job_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hidden = {}
    for cost in ("0.5", "1000.0"):
        write(tmp_path, [2, 0, 9, 0, 0, 8, 1, 7, 0, 0, 6, 0], JOB.replace("0.5", cost))
        shutil.rmtree("out", ignore_errors=True)  # nobody has seen it
        release_true_numbers(read_job("job.toml"), "out")
        table = pd.read_csv("out/public/t.csv")
        inside = pd.read_csv("out/internal/audit-t.csv")
        hidden[cost] = int(((inside["original"] == 0) & (inside["measure"] == "count")).sum())
        assert (table["count"].fillna(1) > 0).all()  # what is empty and not hidden is left out
        assert table["count"].isna().sum() == (inside["measure"] == "count").sum()
    assert hidden["0.5"] > hidden["1000.0"]


@pytest.mark.parametrize(
    "more", [', margins = "none"', ' }, { name = "u", dimensions = ["geo"]']
)
def test_zeros_may_be_hidden_in_one_whole_table_alone(tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, [5] * 12, JOB.replace(" }]", more + " }]"))
    with pytest.raises(ConfigError, match="zero_cost is for one table"):
        read_job("job.toml")
