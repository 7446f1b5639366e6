"""What somebody works out who has nothing but the public files of ``ckm suppress``.

The reader sets up one linear program over the finest groups of people, which shares no code
with ours: every published number of every table is one line of it.
"""

import itertools

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.optimize import linprog

from ckm.cli import app

COLUMNS = ["region", "commune", "job"]
HEAD = """
schema = 1
data = { path = "people.parquet", id = "person_id" }
suppression = { threshold = 3 }
hierarchies = { geo = ["region", "commune"], zones = ["zone", "commune"] }
"""


def table(name, dimensions, margins="all"):
    return f"[[table]]\nname = '{name}'\ndimensions = {dimensions}\nmargins = {margins!r}\n"


def people(n=250, seed=3):
    rng = np.random.default_rng(seed)
    commune = rng.integers(0, 8, n)
    return pd.DataFrame(
        {
            "person_id": np.arange(n),
            "region": [f"R{c % 3}" for c in commune],
            "zone": [f"Z{c % 2}" for c in commune],
            "commune": [f"C{c}" for c in commune],
            "job": rng.choice([*"abcde"], n, p=[0.4, 0.3, 0.2, 0.06, 0.04]),
        }
    )


def is_in(row, group):
    return all(row[c] in ("Total", group[c]) for c in row.index if c != "count")


def intervals(tables):
    """Return the ends of every hidden number."""
    places = people()[["region", "zone", "commune"]].drop_duplicates().to_dict("records")
    groups = [p | {"job": j} for p, j in itertools.product(places, "abcde")]
    lines = [
        (number, row, np.array([is_in(row, group) for group in groups], float))
        for number, frame in enumerate(tables)
        for _, row in frame.iterrows()
    ]
    told = [(line, row["count"]) for _, row, line in lines if not pd.isna(row["count"])]
    rows, right = np.array([line for line, _ in told]), [count for _, count in told]
    for _number, row, line in lines:
        if pd.isna(row["count"]):
            ends = [
                linprog(sign * line, A_eq=rows, b_eq=right, bounds=(0, None))
                for sign in (1, -1)
            ]
            assert all(end.status in (0, 3) for end in ends)
            low, high = ends[0].fun, np.inf if ends[1].status == 3 else -ends[1].fun
            yield row, low, high


@pytest.mark.parametrize(
    "tables",
    [
        [table("one", ["geo", "job"], [[]])],
        [table("one", ["geo", "job"], [["region"], ["job"]])],
        [table("one", ["geo", "job"], "none"), table("two", ["region"]), table("x", ["job"])],
        [table("one", ["geo", "job"]), table("two", ["commune", "job"])],
        [table("one", ["geo", "job"]), table("two", ["zones", "job"])],
        [table("one", ["region", "job"], "none"), table("two", ["commune", "job"], "none")],
    ],
    ids=["total", "list", "none", "towns", "zones", "apart"],
)
def test_no_small_count_is_found_over_margins_and_tables(tmp_path, monkeypatch, tables):
    monkeypatch.chdir(tmp_path)
    frame = people()
    frame.to_parquet("people.parquet")
    (tmp_path / "job.toml").write_text(HEAD + "".join(tables))
    done = CliRunner().invoke(app, ["suppress", "job.toml", "-o", "out"])
    assert done.exit_code == 0, done.stderr
    published = [
        pd.read_parquet(path) for path in sorted((tmp_path / "out/public").glob("*.parquet"))
    ]
    n_small = 0
    for row, low, high in intervals(published):
        kept = [c for c in row.index if c != "count" and row[c] != "Total"]
        count = int((frame[kept] == row[kept]).all(axis=1).sum())
        assert low <= count + 1e-6 <= high + 2e-6
        if 0 < count < 3:
            n_small += 1
            assert low <= count - 1 + 1e-6, dict(row)
            assert high >= 3 - 1e-6, dict(row)
    assert n_small >= 2


def test_tables_with_different_filters_bring_a_caution(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_parquet("people.parquet")
    one = table("one", ["geo"]) + "where = \"job <> 'e'\"\n"
    job = tmp_path / "job.toml"
    for second, is_told in ((one.replace("one", "two"), False), (table("two", ["geo"]), True)):
        job.write_text(HEAD.replace(', zones = ["zone", "commune"]', "") + one + second)
        done = CliRunner().invoke(app, ["suppress", "job.toml", "-o", "out", "--dry-run"])
        assert done.exit_code == 0, done.stderr
        assert ("'one' and 'two' have different filters" in done.stderr) is is_told
