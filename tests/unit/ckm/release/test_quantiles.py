"""Quantiles in jobs: what files say of them, one explained, and where they are refused."""

import json

import numpy as np
import pandas as pd
import pytest

import ckm
from ckm.config import read_job
from ckm.config.problems import JobError
from ckm.release import release
from ckm.release.explanation import explain

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "id"
[keys]
secret = "secret.key"
{method}
[[table]]
name = "incomes"
dimensions = ["area"]
measures = ["count", "median:income", "quantile:income:0.9"]
"""
NOISE = "[ptable]\nmax_noise = 2\nvariance = 1.0"


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    data = {
        "id": range(500),
        "area": rng.choice(["a", "b", "c"], 500, p=[0.86, 0.12, 0.02]),
        "income": rng.lognormal(8, 1, 500).round(2),
    }
    pd.DataFrame(data).to_parquet(tmp_path / "people.parquet")
    ckm.Secret.generate().write(tmp_path / "secret.key")
    (tmp_path / "job.toml").write_text(JOB.format(method=NOISE))
    return tmp_path


@pytest.mark.slow
def test_a_release_says_what_quantiles_are_and_explains_one(folder):
    job = read_job(folder / "job.toml")
    release(job, folder / "out", formats=["csv", "csvw"])
    files = folder / "out" / "public"
    shown = pd.read_csv(files / "incomes.csv").set_index("area")
    assert shown.columns.tolist() == ["count", "median_income", "quantile_income_90"]
    assert shown.notna().sum().tolist() == [4, 3, 2]
    about = json.loads((files / "incomes.csv-metadata.json").read_text())
    assert "five neighbouring values" in json.dumps(about)
    columns = json.loads((files / "manifest.json").read_text())["tables"][0]["columns"]
    assert "Quantile of 'income' at 90 %" in columns[-1]["description"]
    steps = explain(job, "incomes", {"area": "a"}, measure="median:income")
    assert steps["published"] == shown.median_income["a"]
    assert steps["rank"] == -(-steps["original count"] // 2)
    assert -2 <= steps["noise of the rank"] <= 2


def test_true_quantiles_are_refused_beside_suppression(folder):
    (folder / "job.toml").write_text(JOB.format(method="[suppression]\nthreshold = 3"))
    with pytest.raises(JobError, match="true quantiles would give single values away"):
        read_job(folder / "job.toml")
