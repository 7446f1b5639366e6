"""The overviews of a suppression that a release writes, beside its tables."""

import csv
import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import read_job
from ckm.release.suppressed import release_true_numbers

JOB = """
schema = 1
data = { path = "people.parquet", id = "id" }
title = { en = "Work", fr = "Travail" }
report = { contact = "sdc@example.org" }
suppression = { threshold = 3 }
[[table]]
name = "work"
dimensions = ["region", "branch"]
"""
PEOPLE = {
    ("N", "a"): 12,
    ("N", "b"): 1,
    ("S", "a"): 11,
    ("S", "b"): 10,
    ("W", "a"): 7,
    ("W", "b"): 13,
}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("overview")
    cells = [cell for cell, n in PEOPLE.items() for _ in range(n)]
    region, branch = zip(*cells, strict=True)
    records = pa.table({"id": range(len(cells)), "region": region, "branch": branch})
    pq.write_table(records, folder / "people.parquet")
    (folder / "job.toml").write_text(JOB)
    release_true_numbers(read_job(folder / "job.toml"), folder / "out")
    return folder / "out"


def test_the_office_sees_what_is_hidden_and_why_by_level_and_in_a_picture(out):
    facts = json.loads((out / "internal/overview.json").read_text())
    with (out / "internal/audit-work.csv").open(newline="") as file:
        statuses = Counter(row["status"] for row in csv.DictReader(file))
    levels = {tuple(level.pop("columns")): level for level in facts["levels"]}
    assert set(levels) == {("region", "branch"), ("region",), ("branch",), ()}
    assert sum(level["primary"] for level in levels.values()) == statuses["primary"] == 1
    assert sum(level["secondary"] for level in levels.values()) == statuses["secondary"] == 3
    assert sum(level["cells"] for level in levels.values()) == 12
    (measure,) = facts["measures"]
    hidden = 1 + 12 + 7 + 13 if measure["lost"] < 34 / 216 else 1 + 12 + 10 + 11
    assert measure["lost"] == pytest.approx(hidden / 216)
    assert facts["rules"] == [["threshold", [3]]]
    (pattern,) = facts["patterns"]
    assert sum(cell[4] for cell in pattern["cells"]) == 4
    page = (out / "internal/overview.fr.html").read_text()
    assert "Travail" in page
    assert 'lang="fr"' in page
    assert (out / "internal/overview.en.html").stat().st_mode & 0o077 == 0
    manifest = json.loads((out / "internal/manifest.json").read_text())
    assert [file["file"] for file in manifest["overview"]] == [
        "overview.en.html", "overview.json", "overview.fr.html"
    ]  # fmt: skip


def test_everybody_sees_how_much_is_suppressed_and_no_more_than_the_tables_tell(out):
    facts = json.loads((out / "public/overview.json").read_text())
    with (out / "public/work.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (table,) = facts["tables"]
    empty = [row for row in rows if not row["count"]]
    assert table == {"table": "work", "cells": len(rows), "hidden": len(empty)}
    assert set(facts) == {"edition", "title", "contact", "version", "tables"}
    public = json.loads((out / "public/manifest.json").read_text())
    names = {file["file"] for file in public["report"]}
    pages = {"overview.en.html", "overview.fr.html", "overview.json"}
    assert names == {"index.html", "index.fr.html", *pages}
    assert "unsafe cell" not in (out / "public/overview.en.html").read_text()
