"""What no choice of cells can mend is named, and nothing is written."""

import errno
import os

import numpy as np
import pytest

from ckm.config import JobError, read_job
from ckm.errors import CkmError, ReleaseError
from ckm.methods.suppression.release_pattern import ReleasePattern
from ckm.release.suppressed import release_true_numbers
from tables import TablesError

CELLS = """region,branch,count,turnover,largest_1,largest_2
N,a,5,500,150,120
N,b,1,90,90,0
S,a,7,700,200,150
S,b,6,640,180,140
Total,a,12,{total},200,150
"""
JOB = """schema = 1
[data]
path = "cells.csv"
cells = ["region", "branch"]
[data.amounts.turnover]
n = "count"
largest = ["largest_1", "largest_2"]
[suppression]
threshold = 3
largest_hidden_share = 1.0
{rules}
{more}
[[table]]
name = "t"
dimensions = ["region", "branch"]
measures = ["sum:turnover"]
"""


def release(folder, *, total=1200, rules="", more=""):
    (folder / "cells.csv").write_text(CELLS.format(total=total))
    (folder / "job.toml").write_text(JOB.format(rules=rules, more=more))
    release_true_numbers(read_job(folder / "job.toml"), folder / "out")


def left(folder):
    """List what lies there, but for what was given and the cells of a refusal."""
    names = {path.name for path in folder.iterdir()}
    return names - {"cells.csv", "job.toml", "tree.csv", "out.refused.csv"}


def test_cells_that_add_up_are_suppressed(tmp_path):
    release(tmp_path)
    assert (tmp_path / "out").is_dir()


def test_totals_that_do_not_add_up_are_named(tmp_path):
    with pytest.raises((CkmError, TablesError), match="turnover"):
        release(tmp_path, total=1201)
    assert left(tmp_path) == set()


@pytest.mark.parametrize("limit", ["0", "0.0", "-1.0"])
def test_a_deadline_of_nothing_is_named(tmp_path, limit):
    with pytest.raises(JobError, match="limit_s"):
        release(tmp_path, rules=f"limit_s = {limit}")
    assert left(tmp_path) == set()


def test_a_deadline_of_nearly_nothing_still_gives_a_safe_table(tmp_path):
    release(tmp_path, rules="limit_s = 1e-9")
    lines = (tmp_path / "out" / "public" / "t.csv").read_text().splitlines()
    assert sum(line.endswith(",") for line in lines) >= 4


def test_a_code_below_two_others_is_named(tmp_path):
    (tmp_path / "tree.csv").write_text("code,parent\nN,E\nN,W\nS,W\nE,\nW,\n")
    more = '[hierarchies]\nregion = { column = "region", tree = "tree.csv" }'
    with pytest.raises((CkmError, TablesError), match=r"N|tree"):
        release(tmp_path, more=more)
    assert left(tmp_path) == set()


def test_a_cell_that_is_kept_and_unsafe_is_named_in_the_file_of_the_refusal(tmp_path):
    with pytest.raises(CkmError, match="1 cells are unsafe, and are to be kept"):
        release(tmp_path, rules='keep = [{ region = "N", branch = "b" }]')
    assert "region=N, branch=b" in (tmp_path / "out.refused.csv").read_text()
    assert left(tmp_path) == set()


@pytest.mark.parametrize("what", ["pattern", "audit"])
def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, what):
    def fail(*_args, **_options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if what == "pattern":
        monkeypatch.setattr(ReleasePattern, "write", fail)
    else:
        monkeypatch.setattr("ckm.methods.suppression.method._write_audits", fail)
    with pytest.raises(ReleaseError, match="The disk is full"):
        release(tmp_path)
    assert left(tmp_path) == set()


def test_amounts_that_are_no_numbers_are_named(tmp_path):
    with pytest.raises((CkmError, TablesError), match=r"turnover|cells\.csv"):
        release(tmp_path, total=np.nan)
    assert left(tmp_path) == set()
