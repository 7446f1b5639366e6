"""Counts of firms in full beside hidden turnover, which tell a firm whether it is alone."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import JobError, read_job
from ckm.errors import CheckFailedError
from ckm.methods.suppression import original_cells
from ckm.release.suppressed import release_true_numbers
from tests.unit.ckm.methods.suppression.linked_attack import SHAPES, Attack, drawn, released

EXCEPTION = """[[report.exceptions]]
what = "Numbers of firms are published in full"
who = "Head of business statistics"
when = 2027-02-01
why = "They are in the public register"
public_counts = true
"""
COLUMNS = {"geo": ("region", "town"), "zones": ("zone", "town")}


def attacked(folder, seed, shape, *, holding=False, coalition=1):
    """Let firms attack who know how many there are in each group of records."""
    data, tables = drawn(seed, most=34), SHAPES[shape]
    rules = f", coalition = {coalition}" + ", holding = 'holding'" * holding
    rows = released(folder, data, tables, rules=rules, more=EXCEPTION)
    columns = [c for names, sex in tables for n in names for c in COLUMNS.get(n, (n,))]
    finest = dict.fromkeys([*columns, *("sex" for _, sex in tables if sex)])
    for _, row, inside in rows:
        assert int(row["count"]) == inside.sum()
    attack = Attack(
        *(rows, data, "sum_turnover"), holding=holding, knows_alone="group", finest=[*finest]
    )
    return attack.failures(coalition)


@pytest.mark.parametrize(("seed", "shape", "holding"), [(12, 0, False), (5, 7, True)])
def test_a_firm_that_sees_all_counts_finds_no_unsafe_sum(tmp_path, seed, shape, holding):
    unsafe, failed = attacked(tmp_path, seed, shape, holding=holding)
    assert failed == []
    assert len(unsafe) > 8


@pytest.mark.long
@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize("holding", [False, True])
def test_no_firm_or_holding_finds_an_unsafe_sum_beside_public_counts(tmp_path, shape, holding):
    n_unsafe = 0
    for seed in range(100 * shape, 100 * shape + 13):
        (folder := tmp_path / str(seed)).mkdir()
        unsafe, failed = attacked(folder, seed, shape, holding=holding)
        assert failed == []
        n_unsafe += len(unsafe)
    assert n_unsafe > 50


JOB = """schema = 1
data = {{ path = "firms.parquet", id = "id" }}
suppression = {{ threshold = 3, largest_hidden_share = 1.0{rules} }}
{more}[[table]]
name = "firms"
dimensions = ["region", "job"]
measures = {measures}
"""


def job(folder, *, rules="", more=EXCEPTION, measures='["count", "sum:turnover"]'):
    data = {k: list(v) for k, v in drawn(3, most=60).items()}
    pq.write_table(pa.table(data), folder / "firms.parquet")
    (folder / "job.toml").write_text(JOB.format(rules=rules, more=more, measures=measures))
    return read_job(folder / "job.toml")


def table(folder, **options):
    release_true_numbers(job(folder, **options), folder / "out")
    with (folder / "out" / "public" / "firms.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_counts_are_hidden_with_sums_unless_somebody_declares_them_public(tmp_path):
    for name, more in (("all", EXCEPTION), ("none", "")):
        (tmp_path / name).mkdir()
        rows = table(tmp_path / name, more=more)
        hidden = [row for row in rows if row["sum_turnover"] == ""]
        assert len(hidden) > 2
        assert all((row["count"] == "") == (not more) for row in hidden)
    manifest = (tmp_path / "all/out/internal/manifest.json").read_text()
    assert '"public_counts": true' in manifest
    assert '"who": "Head of business statistics"' in manifest
    assert "public_counts" not in (tmp_path / "all/out/public/manifest.json").read_text()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"measures": '["count"]'}, "show them alone"),
        ({"rules": ", zero_margin = 5.0"}, "sums of 0"),
        ({"rules": ", zero_cost = 1.0"}, "sums of 0"),
    ],
)
def test_counts_are_not_public_where_they_are_what_is_hidden(tmp_path, options, problem):
    with pytest.raises(JobError, match=problem):
        job(tmp_path, **options)


def test_counts_that_files_of_cells_call_unsafe_are_not_public(tmp_path):
    (tmp_path / "cells.hst").write_text("R0,a,u\n")
    with pytest.raises(JobError, match="files of cells"):
        job(tmp_path, rules=', cells = [{ path = "cells.hst", table = "firms" }]')


def test_noise_has_no_public_counts(tmp_path):
    text = JOB.format(rules="", more=EXCEPTION, measures='["count"]')
    lines = [line for line in text.splitlines() if not line.startswith("suppression")]
    noise = "ptable = { max_noise = 3, variance = 1.5 }"
    pq.write_table(pa.table({"id": [1], "region": ["a"], "job": ["b"]}), tmp_path / "f.parquet")
    (tmp_path / "job.toml").write_text("\n".join([lines[0], noise, *lines[1:]]))
    with pytest.raises(JobError, match="public_counts is for counts beside sums"):
        read_job(tmp_path / "job.toml")


def test_linked_tables_of_too_many_groups_have_no_public_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(original_cells, "_MAX_FINEST", 2)
    with pytest.raises(CheckFailedError, match="alone in groups that no table shows"):
        released(tmp_path, drawn(3, most=40), SHAPES[0], more=EXCEPTION)
    assert not (tmp_path / "out").exists()


def test_a_sum_of_a_safe_cell_stands_beside_its_count(tmp_path):
    rows = [row for row in table(tmp_path) if row["sum_turnover"]]
    data = drawn(3, most=60)
    for row in rows:
        inside = np.ones(len(data["id"]), bool)
        for column in ("region", "job"):
            inside &= (row[column] == "Total") | (data[column] == row[column])
        assert float(row["sum_turnover"]) == data["turnover"][inside].sum()
