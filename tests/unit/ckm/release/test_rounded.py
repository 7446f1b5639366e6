"""Controlled rounding asked for by a job: what is published, and what outsiders make of it."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.optimize import linprog

from ckm.cli import app
from ckm.config import read_job
from ckm.errors import ConfigError
from ckm.release.perturbed import release

JOB = """
schema = 1
data = { path = "people.parquet", id = "id" }
rounding = { base = 5, bound = 4, exact = true }
hierarchies = { geo = ["region", "town"] }
[[table]]
name = "all"
dimensions = ["geo", "sex"]
[[table]]
name = "women"
dimensions = ["region", "age"]
where = "sex = 'F'"
"""
COLUMNS = ["region", "town", "sex", "age"]


def people():
    rng = np.random.default_rng(5)
    town = rng.integers(0, 6, 120)
    return pd.DataFrame(
        {
            "id": np.arange(120),
            "region": [f"R{t // 3}" for t in town],
            "town": [f"T{t}" for t in town],
            "sex": rng.choice(["F", "M"], 120, p=[0.3, 0.7]),
            "age": rng.choice(["old", "young", "child"], 120, p=[0.6, 0.35, 0.05]),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_parquet("people.parquet")
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def lines(folder):
    """Yield the groups of people, each published number, and which groups it adds up."""
    towns = people()[["region", "town"]].drop_duplicates().to_dict("records")
    ages = ["old", "young", "child"]
    groups = [t | {"sex": s, "age": a} for t, s, a in itertools.product(towns, "FM", ages)]
    for name, where in (("all", {}), ("women", {"sex": "F"})):
        for row in pd.read_parquet(folder / f"out/public/{name}.parquet").to_dict("records"):
            count = row.pop("count")
            said = {c: v for c, v in row.items() if v != "Total"} | where
            yield count, np.array([said.items() <= g.items() for g in groups], float), said


def true_count(said):
    frame = people()
    return len(frame.merge(pd.DataFrame([said]))) if said else len(frame)


def test_a_job_releases_rounded_tables_that_agree_and_its_reader_is_kept_away(folder):
    done = CliRunner().invoke(app, ["release", "job.toml", "-o", "out"])
    assert done.exit_code == 0, done.stderr
    told = list(lines(folder))
    counts, rows = np.array([c for c, _, _ in told]), np.array([line for _, line, _ in told])
    assert (counts % 5 == 0).all()
    truth = np.array([true_count(said) for _, _, said in told])
    assert 0 < np.abs(counts - truth).max() <= 4
    same: dict[tuple, set] = {}  # the same people in both tables
    for count, line, _ in told:
        same.setdefault(tuple(line), set()).add(count)
    assert len(same) < len(told)
    assert all(len(numbers) == 1 for numbers in same.values())
    limits = np.vstack([rows, -rows])
    right = np.concatenate([counts + 4, np.minimum(4 - counts, 0)])
    for count, line in zip(counts.tolist(), rows, strict=True):  # who knows base and bound
        low = linprog(line, A_ub=limits, b_ub=right).fun
        high = -linprog(-line, A_ub=limits, b_ub=right).fun
        assert low <= max(count - 4, 0) + 1e-6
        assert high >= count + 4 - 1e-6


def test_what_lies_behind_a_rounded_number_stays_inside(folder):
    release(read_job("job.toml"), "out")
    told = CliRunner().invoke(app, ["report", "out"])
    assert told.exit_code != 0
    assert "cannot be made again: only that of a release with noise can" in told.stderr
    inside = pd.read_csv("out/internal/audit-all.csv")
    assert (inside["original"] == [true_count(c) for c in _cells(inside)]).all()
    assert (inside["least"] <= inside[["original", "published"]].min(axis=1)).all()
    assert (inside["most"] >= inside[["original", "published"]].max(axis=1)).all()
    assert (inside["most"] - inside["least"] >= 2).all()
    manifest = json.loads((folder / "out/internal/manifest.json").read_text())
    asked = {"base": 5, "bound": 4, "exact": True, "counts": "all", "limit_s": 60.0}
    assert manifest["rounding"] == asked
    assert 0 < manifest["changes"]["largest"] <= 4
    assert abs(manifest["changes"]["bias"]) <= manifest["changes"]["mean"] <= 4
    public = json.loads((folder / "out/public/manifest.json").read_text())
    assert "multiple of one number" in public["method"][0]
    release(read_job("job.toml"), "out", force=True)  # a release of ours is replaced


def _cells(frame):
    rows = frame[[c for c in COLUMNS if c in frame]].to_dict("records")
    return [{c: v for c, v in row.items() if v != "Total"} for row in rows]


def test_a_rounding_is_checked_before_it_is_made(folder):
    done = CliRunner().invoke(app, ["check", "job.toml"])
    assert done.exit_code == 0, done.stderr
    assert "the release can be made" in done.stderr


SMALL = 'rounding = { base = 3, bound = 2, counts = "small" }'


def test_small_counts_are_rounded_and_all_others_are_those_that_add_up(folder):
    text = JOB.replace("rounding = { base = 5, bound = 4, exact = true }", SMALL)
    (folder / "job.toml").write_text(text)
    done = CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke(
        app, ["release", "job.toml", "-o", "out"]
    )
    assert done.exit_code == 0, done.stderr
    told = list(lines(folder))
    same: dict[tuple, set] = {}
    for count, line, _ in told:
        same.setdefault(tuple(line), set()).add(int(count))
    assert all(len(numbers) == 1 for numbers in same.values())
    everybody = pd.read_parquet(folder / "out/public/all.parquet")
    inner = everybody[(everybody["town"] != "Total") & (everybody["sex"] != "Total")]
    by_town = inner.groupby("town")["count"].sum()
    totals = everybody[(everybody["town"] != "Total") & (everybody["sex"] == "Total")]
    assert by_town.to_dict() == totals.set_index("town")["count"].to_dict()
    deviations = [int(count) - true_count(said) for count, _, said in told]
    assert 0 < max(map(abs, deviations)) <= 2
    assert not {1, 2} & {int(count) for count, _, _ in told}
    manifest = json.loads((folder / "out/internal/manifest.json").read_text())
    assert manifest["rounding"]["counts"] == "small"
    assert manifest["changes"]["largest"] == max(map(abs, deviations))
    assert set(manifest["changes"]["bias_of_small"]) <= {"1", "2"}
    public = json.loads((folder / "out/public/manifest.json").read_text())
    assert public["method"][0].startswith("Small counts of the finest groups were rounded")
    inside = (folder / "out/internal/audit-all.csv").read_text()
    assert inside.startswith('"region","town","sex","original","published"\n')


def test_how_far_numbers_lie_from_the_truth_is_told_before_the_release(folder):
    (folder / "job.toml").write_text(
        JOB.replace("rounding = { base = 5, bound = 4, exact = true }", SMALL)
    )
    env = {"CKM_LOG_FORMAT": "text"}
    done = CliRunner(env=env).invoke(app, ["check", "job.toml"])
    assert done.exit_code == 0, done.stderr
    assert "numbers lie up to 2 from the true counts" in done.stderr
    assert "true counts are published off on average: 1 by " in done.stderr


def test_nobody_to_count_and_dimensions_of_any_name_are_rounded(folder):
    people().iloc[:0].rename(columns={"age": "least"}).to_parquet("people.parquet")
    text = JOB.replace('"age"', '"least"').replace("data = {", "data = { allow_empty = true,")
    (folder / "job.toml").write_text(text)
    release(read_job("job.toml"), "out")
    assert (pd.read_parquet(folder / "out/public/all.parquet")["count"] == 0).all()
    inside = (folder / "out/internal/audit-women.csv").read_text()
    assert inside.startswith('"region","least","original","published","least_count","most"')


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("bound = 4", "bound = 1", "bound must be 2 or more"),
        ("base = 5", "base = 2", "base"),
        ("exact = true", 'exact = true, counts = "small"', "exact is for all counts"),
        ('"sex"]', '"sex"]\nmeasures = ["sum:id"]', "is for counts"),
        ("hierarchies", "suppression = { threshold = 3 }\nhierarchies", "true numbers beside"),
        ("hierarchies", "ptable = { path = 'x' }\nhierarchies", "in two ways"),
        ("hierarchies", "output = { additive = true }\nhierarchies", "additive is for noise"),
        ("hierarchies", "output = { stream = true }\nhierarchies", r"\[rounding\]"),
    ],
)
def test_what_does_not_go_with_rounding_is_refused(folder, old, new, said):
    (folder / "job.toml").write_text(JOB.replace(old, new, 1))
    with pytest.raises(ConfigError, match=said):
        release(read_job("job.toml"), "out")
    assert not (folder / "out").exists()
