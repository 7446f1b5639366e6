"""Rules that read another variable than the one that is shown."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import JobError, read_job
from ckm.errors import ConfigError
from ckm.methods.settings import SuppressionSettings
from ckm.methods.suppression.argus.write import argus_files
from ckm.methods.suppression.cell_selection import _primary
from ckm.methods.suppression.primary import Amounts
from ckm.methods.suppression.shadow import primary_by_shadow
from ckm.release.suppressed import release_true_numbers

JOB = """
schema = 1
data = { path = "firms.parquet", id = "id" }
[suppression]
p_percent = 10.0
largest_hidden_share = 1.0
RULES
[[table]]
name = "turnover"
dimensions = ["region", "branch"]
measures = ["sum:turnover"]
"""


def amounts_of(*cells):
    top = np.array([sorted(parts, reverse=True)[:2] for parts in cells], float)
    return Amounts(
        total=np.array([float(sum(parts)) for parts in cells]),
        contributors=np.array([len(parts) for parts in cells]),
        top=top,
        top_weight=np.ones(top.shape),
    )


def judged(turnover, jobs, **rules):
    return primary_by_shadow(
        turnover,
        jobs,
        SuppressionSettings(**rules),
        apply=lambda amounts, own: _primary("sum:turnover", amounts, own),
    )


TURNOVER = amounts_of([60, 50, 40, 50], [90, 5, 3, 2], [10, 10, 10])
JOBS = amounts_of([90, 5, 3, 2], [60, 50, 40, 50], [1, 1, 1])


def test_shares_are_those_of_the_shadow_and_levels_the_same_share_of_what_is_shown():
    found = judged(TURNOVER, JOBS, p_percent=10.0)
    assert found.is_primary.tolist() == [True, False, False]
    assert found.upper[0] == pytest.approx((9 - 5) / 100 * 200)
    assert (found.lower == found.upper).all()


def test_numbers_of_contributors_are_those_of_what_is_shown():
    few = amounts_of([60, 50], [90, 5], [10, 10])
    found = judged(few, JOBS, p_percent=10.0, threshold=3, margin=20.0)
    assert found.is_primary.all()
    assert found.upper.tolist() == pytest.approx([22, 19, 4])


def test_contributors_are_kept_as_far_away_as_outsiders():
    contributions = judged(TURNOVER, JOBS, p_percent=10.0).contributions
    assert contributions.first.tolist() == [60, 90, 10]
    assert contributions.upper[:, 0].tolist() == [8, 8, 8, 8]
    assert not contributions.upper[:, 1].any()


def test_a_sum_of_zero_is_published_whatever_its_shadow_is():
    none = Amounts(
        total=np.zeros(1),
        contributors=np.zeros(1, int),
        top=np.zeros((1, 2)),
        top_weight=np.zeros((1, 2)),
    )
    assert not judged(none, amounts_of([90, 5, 3, 2]), p_percent=10.0).is_primary.any()


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(2)
    n = 60
    records = {
        "id": np.arange(n),
        "region": rng.choice([*"NSW"], n).tolist(),
        "branch": rng.choice([*"ab"], n).tolist(),
        "turnover": rng.integers(40, 60, n),
        "jobs": rng.integers(4, 6, n),
    }
    giant = next(
        i for i in range(n) if (records["region"][i], records["branch"][i]) == ("N", "a")
    )
    records["jobs"][giant] = 5_000
    pq.write_table(pa.table(records), tmp_path / "firms.parquet")
    return tmp_path


def job(folder, rules=""):
    (folder / "job.toml").write_text(JOB.replace("RULES", rules))
    return read_job(folder / "job.toml")


def test_a_cell_is_hidden_whose_shadow_one_firm_has(folder):
    """Turnover is spread, jobs are not: the cell of the giant and its totals are unsafe."""
    statuses = {}
    for name, rules in (("plain", ""), ("by", 'shadow = { turnover = "jobs" }')):
        release_true_numbers(job(folder, rules), folder / name / "out")
        with (folder / name / "out/internal/audit-turnover.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        statuses[name] = {(r["region"], r["branch"]) for r in rows if r["status"] == "primary"}
        with (folder / name / "out/public/turnover.csv").open(newline="") as file:
            assert "jobs" not in next(csv.reader(file))
    assert statuses["plain"] == set()
    assert ("N", "a") in statuses["by"]
    assert not any(region in "SW" for region, _ in statuses["by"])


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ('shadow = { turnovr = "jobs" }', "no table shows sums of it"),
        ('threshold = 3\nshadow = { turnover = "jobs" }', "read by no rule"),
    ],
)
def test_a_shadow_that_nothing_reads_is_refused(folder, rules, words):
    text = JOB.replace("RULES", rules)
    if "threshold" in rules:
        text = text.replace("p_percent = 10.0\n", "")
    (folder / "job.toml").write_text(text)
    with pytest.raises(JobError, match=words):
        read_job(folder / "job.toml")


def test_files_of_tau_argus_have_no_shadow(folder):
    with pytest.raises(ConfigError, match="shadow"):
        argus_files(job(folder, 'shadow = { turnover = "jobs" }'))
