"""Perturbed tables of INSEE's ckm 1.1.0, reproduced cell by cell.

Both tables hold a variable with missing categories. The reference calls that category the
empty text and keeps it apart from the total, so every cell has its partner here.
"""

from __future__ import annotations

import csv
from decimal import Decimal

import pytest

import ckm
from ptable import PTable
from tables import Hierarchy, Request, StoredKeys, cube, open_source
from tests.strategies import decode, published

GEO = {"GEO": ["REG", "DEP"]}
DIMENSIONS = {"t1": ["DIPLOME", "SEXE", "AGE"], "t2": ["DIPLOME", "SEXE", "AGE", "GEO"]}
COLUMNS = {
    "t1": ["DIPLOME", "SEXE", "AGE"],
    "t2": ["DIPLOME", "SEXE", "AGE", "REG", "DEP"],
}


@pytest.fixture
def insee(shared):
    return shared / "reference" / "inseeckm"


def read(file, columns, number):
    """Read a table as cell → number, with our word for the missing category."""
    with file.open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    cells = {tuple(row[c] or "(missing)" for c in columns): row[number] for row in rows}
    assert len(cells) == len(rows), "the reference repeats a cell"
    return cells


@pytest.mark.parametrize("ptable", ["D5V2", "D5V3js2"])
@pytest.mark.parametrize("table", ["t1", "t2"])
def test_published_counts_are_those_of_the_reference(insee, table, ptable):
    wanted = read(insee / f"{table}_{ptable}_perturbed.csv", COLUMNS[table], "nb_obs_ckm")
    with ckm.Engine(
        insee / "micro_with_keys.csv",
        record_key="rkey",
        ptable=PTable.read(insee / f"ptable_{ptable}.csv"),
        hierarchies=GEO,
        mix=False,
    ) as engine:
        found = published(engine.tabulate(DIMENSIONS[table]))
    # The reference prints the cells that the noise made empty; we leave them out.
    assert found == {cell: int(count) for cell, count in wanted.items() if int(count)}
    assert len(wanted) == {"t1": 48, "t2": 4749}[table]


@pytest.mark.parametrize("table", ["t1", "t2"])
def test_counts_and_cell_keys_are_those_of_the_reference(insee, table):
    counts = read(insee / f"{table}_cells.csv", COLUMNS[table], "nb_obs")
    keys = read(insee / f"{table}_cells.csv", COLUMNS[table], "ckey")
    hierarchies = {name: Hierarchy(columns=tuple(c)) for name, c in GEO.items()}
    wish = Request(dimensions=DIMENSIONS[table], hierarchies=hierarchies)
    with open_source(insee / "micro_with_keys.csv") as source:
        (cells,) = cube(source, StoredKeys(column="rkey"), [wish])
    ours = decode(cells)
    assert {cell: count for cell, (count, _, _) in ours.items()} == {
        cell: int(count) for cell, count in counts.items()
    }
    for cell, (_, key, _) in ours.items():
        exact = Decimal(key).scaleb(-18)
        assert exact == round(exact, 9), "sums of 9-digit keys have 9 digits"
        distance = abs(exact - Decimal(keys[cell]))
        assert min(distance, 1 - distance) < Decimal("1e-11")


def test_the_missing_category_is_apart_from_the_total(insee):
    wanted = read(insee / "t1_D5V2_perturbed.csv", COLUMNS["t1"], "nb_obs")
    assert int(wanted["(missing)", "Total", "Total"]) == 405
    assert int(wanted["Total", "Total", "Total"]) == 6000
    parts = [int(n) for cell, n in wanted.items() if cell[1:] == ("Total", "Total")]
    assert sum(parts) == 2 * 6000
