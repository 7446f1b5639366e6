"""What is laid out of a suppression: each cell once, also in hierarchies of unequal depth."""

import csv

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import read_job
from ckm.release.suppressed import release_true_numbers

JOB = """schema = 1
data = {{ path = "firms.parquet", id = "id" }}
suppression = {{ threshold = 3 }}
hierarchies = {{ nace = ["section", "division", "group"] }}
[[table]]
name = "t"
dimensions = ["nace", "size"]
{more}
"""
#: firms of each path: B has no divisions, A2 no groups, and one group of A1 is not known
FIRMS = {
    ("A", "A1", "A11"): 8,
    ("A", "A1", None): 7,
    ("A", "A2", None): 9,
    ("B", None, None): 6,
    ("C", "C1", "C11"): 9,
}
COLUMNS = ("section", "division", "group")


@pytest.fixture
def paths(tmp_path):
    def released(more=""):
        rows = [path for path, n in FIRMS.items() for _ in range(2 * n)]
        data = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
        data |= {"id": list(range(len(rows))), "size": ["s", "l"] * (len(rows) // 2)}
        pq.write_table(pa.table(data), tmp_path / "firms.parquet")
        (tmp_path / "job.toml").write_text(JOB.format(more=more))
        release_true_numbers(read_job(tmp_path / "job.toml"), tmp_path / "out")
        with (tmp_path / "out/public/t.csv").open(newline="") as file:
            found = list(csv.DictReader(file))
        assert sum(int(r["count"]) for r in found if r["size"] == "s") > 0
        return {
            tuple(row[c] for c in COLUMNS): int(row["count"])
            for row in found
            if row["size"] == "s"
        }

    return released


def test_a_branch_that_ends_early_is_shown_once(paths):
    assert paths() == {
        ("Total", "Total", "Total"): 39,
        ("A", "Total", "Total"): 24,
        ("A", "A1", "Total"): 15,
        ("A", "A1", "A11"): 8,
        ("A", "A1", "(missing)"): 7,  # beside another one, it tells something
        ("A", "A2", "Total"): 9,
        ("B", "Total", "Total"): 6,
        ("C", "Total", "Total"): 9,
        ("C", "C1", "Total"): 9,
        ("C", "C1", "C11"): 9,
    }


def test_it_is_shown_under_its_own_codes_where_no_level_above_is(paths):
    assert paths('margins = "none"') == {
        tuple(part or "(missing)" for part in path): n for path, n in FIRMS.items()
    }
