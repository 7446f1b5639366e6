"""The worked example of the method: six people, two tables, to the digit.

Its source prints 0.7722187 as the key of the total, noise +1 and a published total of 7. The
six keys add up to 3.4722187, and the printed keys of the communes and of the ages to the same
modulo one: the key is 0.4722187, the noise 0, the published total 6. All else is as printed.
"""

from __future__ import annotations

import pandas as pd
import pytest

import ckm
from tables import Request, StoredKeys, cube, open_source
from tests.strategies import decode, published, worked_ptable

PEOPLE = pd.DataFrame(
    {
        "commune": ["Amiens", "Paris", "Marseille", "Amiens", "Marseille", "Marseille"],
        "age": [25, 20, 45, 45, 20, 20],
        "key": [0.9177275, 0.8850062, 0.6266963, 0.1117820, 0.6496634, 0.2813433],
    }
)
KEYS = {
    ("Amiens",): (2, 295095),
    ("Marseille",): (3, 5577030),
    ("Paris",): (1, 8850062),
    ("20",): (3, 8160129),
    ("25",): (1, 9177275),
    ("45",): (2, 7384783),
    ("Total",): (6, 4722187),
}
PUBLISHED = {
    "commune": {("Amiens",): 0, ("Marseille",): 3, ("Paris",): 2, ("Total",): 6},
    "age": {("20",): 4, ("25",): 3, ("45",): 3, ("Total",): 6},
}


@pytest.fixture
def engine():
    with ckm.Engine(PEOPLE, record_key="key", ptable=worked_ptable(), mix=False) as engine:
        yield engine


@pytest.mark.parametrize("dimension", ["commune", "age"])
def test_cell_keys_are_those_of_the_example_exactly(dimension):
    with open_source(PEOPLE) as source:
        (cells,) = cube(source, StoredKeys(column="key"), [Request(dimensions=[dimension])])
    found = {n: (count, key) for n, (count, key, _) in decode(cells).items()}
    assert found
    for name, (count, key) in found.items():
        assert (count, key) == (KEYS[name][0], KEYS[name][1] * 10**11)


@pytest.mark.parametrize("dimension", ["commune", "age"])
def test_published_counts_are_those_of_the_example(engine, dimension):
    wanted = {name: count for name, count in PUBLISHED[dimension].items() if count}
    assert published(engine.tabulate([dimension])) == wanted


def test_the_printed_key_of_the_total_contradicts_the_printed_keys_of_its_parts():
    printed, digits = 7_722_187, 10**7
    records = [round(key * digits) for key in PEOPLE["key"]]
    communes = [KEYS[name,][1] for name in ("Amiens", "Marseille", "Paris")]
    ages = [KEYS[name,][1] for name in ("20", "25", "45")]
    sums = {sum(keys) % digits for keys in (records, communes, ages)}
    assert sums == {4_722_187}
    table = worked_ptable()
    assert table.lookup([6], [printed], key_range=digits).tolist() == [1]
    assert table.lookup([6], [4_722_187], key_range=digits).tolist() == [0]


def test_a_count_that_became_zero_stands_in_the_declared_grid_as_zero():
    communes = ["Amiens", "Lille", "Marseille", "Paris"]
    with ckm.Engine(
        PEOPLE,
        record_key="key",
        ptable=worked_ptable(),
        mix=False,
        categories={"commune": communes},
    ) as engine:
        found = published(engine.tabulate(["commune"]))
    assert found == {**PUBLISHED["commune"], ("Lille",): 0}
    assert list(found) == [("Total",), *((commune,) for commune in communes)]


def test_both_tables_of_one_scan_have_the_same_total(engine):
    requests = {name: ckm.TableRequest(dimensions=[name]) for name in PUBLISHED}
    tables = engine.tabulate_all(requests)
    assert {published(table)[("Total",)] for table in tables.values()} == {6}


def test_keys_printed_as_decimals_and_as_doubles_give_the_same_table(engine, tmp_path):
    file = tmp_path / "people.csv"
    file.write_text(PEOPLE.to_csv(index=False))
    with ckm.Engine(file, record_key="key", ptable=worked_ptable(), mix=False) as from_csv:
        assert published(from_csv.tabulate(["age"])) == published(engine.tabulate(["age"]))
