"""DuckDB files: bytes decide what is one category, and a view is evaluated once."""

import itertools

import duckdb
import pandas as pd
import pytest

from tables import (
    HashedKeys,
    Hierarchy,
    Request,
    Secret,
    StoredKeys,
    check_keys,
    cube,
    open_source,
)
from tables.prepared.prepare import prepare
from tests.strategies import decode

KEYS = StoredKeys(column="key", key_range=256)
CODES = ["a", "A", "á", "Á", "a\u0301", "b", "B", None]
PEOPLE = pd.DataFrame(
    [
        (f"{v}{w}{i}", v, w, 3 * i, i % 256)
        for i, (v, w) in enumerate(itertools.product(CODES, CODES[:4]))
    ],
    columns=["id", "v", "w", "n", "key"],
)
REQUESTS = {
    "codes": {},
    "declared": {"categories": {"v": CODES[:-1], "w": CODES[:4]}},
    "equal": {"where": "v = 'a'"},
    "not equal": {"where": "v <> 'A' and w <> 'á'"},
    "one of": {"where": "v in ('Á', 'b')"},
    "nested": {
        "dimensions": ["place"],
        "hierarchies": {"place": Hierarchy(columns=("v", "w"))},
    },
    "sums": {"sums": ["n"], "top": 2},
}


def made(folder, *statements):
    file = folder / "p.duckdb"
    with duckdb.connect(str(file)) as connection:
        for statement in statements:
            connection.execute(statement)
    return file


@pytest.fixture(params=["nocase", "noaccent", "nocase.noaccent", "nfc"])
def collated(request, tmp_path):
    """Return a DuckDB file of the people with columns of a collation."""
    file = tmp_path / "p.duckdb"
    kind = f"varchar collate {request.param}"
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"create table t (id {kind}, v {kind}, w {kind}, n int, key int)")
        connection.execute("insert into t select * from PEOPLE")
    return file


def test_a_collation_neither_merges_categories_nor_keeps_others_in_a_filter(collated):
    requests = [
        Request(**{"dimensions": ["v", "w"]} | options) for options in REQUESTS.values()
    ]
    with open_source(PEOPLE) as plain, open_source(collated) as source:
        for name, found, wanted in zip(
            REQUESTS, cube(source, KEYS, requests), cube(plain, KEYS, requests), strict=True
        ):
            assert decode(found) == decode(wanted), name
        ready, ready_plain = (_one_filter(some) for some in (source, plain))
        assert ready == ready_plain == [1]


def _one_filter(source):
    """Return the counts of prepared records for one of two categories that look alike."""
    alone = {name: Request(dimensions=[name]) for name in ("v", "w")}
    ready = prepare(source, KEYS, requests=alone)
    where = ready.conditions("v = 'a' and w = 'A'")
    return ready.cells(
        ready.scan({"v": 0}, where=where), ["v"], level_sets=[(0,)]
    ).count.tolist()


def test_identifiers_that_differ_in_case_are_different_people(collated):
    keys = HashedKeys(column="id", secret=Secret(bytes(16)))
    request = Request(dimensions=["v"])
    with open_source(PEOPLE) as plain, open_source(collated) as source:
        assert check_keys(source, keys) == check_keys(plain, keys)
        assert decode(cube(source, keys, [request])[0]) == decode(
            cube(plain, keys, [request])[0]
        )


def test_the_order_of_rows_names_no_category(tmp_path):
    for values in ("('a'), ('A')", "('A'), ('a')"):
        (tmp_path / values[2]).mkdir()
        file = made(
            tmp_path / values[2],
            "create table t (v varchar collate nocase)",
            f"insert into t values {values}",
        )
        with open_source(file) as source:
            listed = source.fetch(
                f"SELECT DISTINCT v, v = 'a' FROM {source.relation} ORDER BY 1"
            )
            assert listed == [("A", False), ("a", True)]


def test_a_view_is_evaluated_once(tmp_path):
    file = made(
        tmp_path,
        "create table base (v varchar collate nocase, n hugeint, e enum('y', 'x'))",
        "insert into base values ('a', 1, 'x'), ('A', 2, 'y'), (null, 3, 'x')",
        "create view seen as select *, random() as r, now()::timestamp as t from base",
    )
    with open_source(file, table="seen") as source:
        looks = [source.fetch(f"SELECT * FROM {source.records} ORDER BY n") for _ in range(3)]
        assert looks[0] == looks[1] == looks[2]
        assert source.columns["n"] == "HUGEINT"
        assert source.columns["e"].startswith("ENUM")
        assert source.fetch(f"SELECT count(*) FROM {source.relation} WHERE v = 'a'") == [(1,)]


def test_a_view_of_a_live_file_is_one_state_of_it(tmp_path):
    live = tmp_path / "live.csv"
    live.write_text("v\nx\n")
    file = made(tmp_path, f"create view seen as select * from read_csv('{live}')")
    with open_source(file) as source:
        live.write_text("v\nx\ny\n")
        assert source.fetch(f"SELECT v FROM {source.relation}") == [("x",)]
        live.unlink()
        assert source.fetch(f"SELECT v FROM {source.relation}") == [("x",)]
