"""Laws of published counts: what must not change them, and what they can never be."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ckm
from tables import Secret
from tests.strategies import (
    HIERARCHIES,
    MAY_BE_TINY,
    TREE,
    as_arrow,
    coded,
    examples,
    nested,
    plain,
    populations,
    published,
    tabulate_directly,
    worked_ptable,
)

pytestmark = MAY_BE_TINY

PTABLE = worked_ptable()
SECRET = Secret(bytes(range(16)))
COLUMNS = ["id", "sex", "age", "region", "department", "zone", "weight"]
DIMENSIONS = {
    "sex": plain("sex"),
    "age": plain("age"),
    "geo": nested("region", "department"),
    "zone": coded("zone", TREE),
}


def engine(data, **options):
    return ckm.Engine(
        data,
        id="id",
        secret=SECRET,
        ptable=PTABLE,
        hierarchies=HIERARCHIES,
        threads=1,
        allow_empty=True,
        **options,
    )


def people(records):
    return as_arrow(records, 2**64).drop_columns("key")


def as_pandas(table, _folder):
    frame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return frame.astype({"sex": "category"})


def as_parquet_files(table, folder):
    for part in range(3):
        name = folder / f"part{part}.parquet"
        pq.write_table(table.slice(part * 15, 15), name, row_group_size=4)
    return folder / "*.parquet"


def as_csv(table, folder):
    table.to_pandas(integer_object_nulls=True).to_csv(folder / "people.csv", index=False)
    return folder / "people.csv"


def as_duckdb(table, folder):
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return folder / "people.duckdb"


KINDS = {
    "Arrow in chunks": lambda t, _: pa.concat_tables([t.slice(0, 7), t.slice(7)]),
    "pandas": as_pandas,
    "polars": lambda t, _: pl.from_arrow(t),
    "Parquet files": as_parquet_files,
    "CSV": as_csv,
    "DuckDB": as_duckdb,
    "narrow integers": lambda t, _: t.set_column(
        2, "age", t["age"].cast(pa.uint8())
    ).set_column(0, "id", t["id"].cast(pa.int32())),
    "floats": lambda t, _: t.set_column(2, "age", t["age"].cast(pa.float64())),
    "texts": lambda t, _: t.set_column(0, "id", t["id"].cast(pa.string())),
}


@pytest.mark.slow
@given(populations(max_size=45), st.sampled_from(sorted(KINDS)), st.randoms())
@settings(max_examples=examples(27))
def test_the_kind_of_source_and_the_order_of_records_change_no_published_count(
    population, kind, random
):
    records = population[0]
    # An empty column of a CSV file has no type but text, and a filter on it no meaning.
    assume(kind != "CSV" or any(r["age"] is not None for r in records))
    table = people(records)
    order = list(range(len(records)))
    random.shuffle(order)
    shuffled = table.take(pa.array(order, pa.int64()))
    wish = {"dimensions": ["sex", "age", "zone"], "where": "zone in ('A1', 'C') or age > 1"}
    with engine(table) as one:
        wanted = published(one.tabulate(**wish))
    with (
        tempfile.TemporaryDirectory() as folder,
        engine(KINDS[kind](shuffled, Path(folder))) as other,
    ):
        assert published(other.tabulate(**wish)) == wanted


@given(populations(), st.lists(st.sampled_from(sorted(DIMENSIONS)), unique=True, min_size=1))
@settings(max_examples=examples(16))
def test_no_published_count_is_negative_or_stands_where_nobody_is(population, dimensions):
    records, _ = population
    with engine(people(records)) as one:
        found = published(one.tabulate(dimensions, empty_cells="drop"))
    paths = [DIMENSIONS[d] for d in dimensions]
    direct = tabulate_directly([r | {"key": 0} for r in records], paths, key_range=2)
    assert all(count > 0 for count in found.values())
    assert set(found) <= set(direct)
    for cell, count in found.items():
        assert abs(count - direct[cell][0]) <= PTABLE.max_noise


@given(populations(), st.sampled_from(["F", "M"]), st.sampled_from([0, 1, 2, 30]))
@settings(max_examples=examples(12))
def test_the_route_to_a_cell_does_not_matter(population, sex, age):
    records, _ = population
    with engine(people(records)) as one:
        whole = published(one.tabulate(["sex", "age", "zone", "geo"]))
        total = ("Total", "Total", "all", "Total", "Total")

        def cell(**labels):
            names = ("sex", "age", "zone", "region", "department")
            return whole.get(
                tuple(labels.get(n, t) for n, t in zip(names, total, strict=True)), 0
            )

        requests = {
            "by sex": ckm.TableRequest(dimensions=["sex"]),
            "filtered": ckm.TableRequest(dimensions=["age"], where=f"sex = '{sex}'"),
            "filtered otherwise": ckm.TableRequest(
                dimensions=["sex"], where=f"age >= {age} and not age > {age}"
            ),
            "nobody": ckm.TableRequest(
                dimensions=[], where=f"sex in ('{sex}') and age = {age}"
            ),
            "zones": ckm.TableRequest(
                dimensions=["sex"], where="zone in ('A1', 'A2x')", margins="none"
            ),
            "plain region": ckm.TableRequest(
                dimensions=["region", "sex"], margins=[["region"]]
            ),
        }
        together = {n: published(t) for n, t in one.tabulate_all(requests).items()}
        alone = {
            n: published(one.tabulate_all({n: request})[n]) for n, request in requests.items()
        }
    assert together == alone
    assert together["by sex"].get((sex,), 0) == cell(sex=sex)
    assert together["filtered"].get((str(age),), 0) == cell(sex=sex, age=str(age))
    assert together["filtered otherwise"].get((sex,), 0) == cell(sex=sex, age=str(age))
    assert together["nobody"].get((), 0) == cell(sex=sex, age=str(age))
    assert together["zones"].get((sex,), 0) == cell(sex=sex, zone="A")
    assert together["plain region"].get(("11", "Total"), 0) == cell(region="11")
    assert together["plain region"].get(("11", sex), 0) == cell(region="11", sex=sex)


@given(populations())
@settings(max_examples=examples(12))
def test_the_grid_holds_every_combination_and_the_same_counts(population):
    records, _ = population
    records = [r | {"sex": r["sex"] or "F", "zone": r["zone"] or "C"} for r in records]
    sexes = ["F", "M", "X"]
    with engine(people(records), categories={"sex": sexes}) as one:
        wish = {"dimensions": ["sex", "zone"]}
        dropped = published(one.tabulate(**wish, empty_cells="drop"))
        grid = published(one.tabulate(**wish, empty_cells="grid"))
    assert {cell: count for cell, count in grid.items() if count} == dropped
    assert set(grid) == {(s, z) for s in ("Total", *sexes) for z in TREE.parents}


@given(populations(max_size=30))
@settings(max_examples=examples(16))
def test_weighted_counts_are_published_counts_times_the_mean_weight(population):
    records, _ = population
    table = people(records)
    with engine(table, weight="weight", round_weighted=False) as one:
        found = one.tabulate(["sex"], measures=["count", "weighted"])
    counts, weighted = published(found), published(found, "weighted")
    direct = tabulate_directly([r | {"key": 0} for r in records], [plain("sex")], key_range=2)
    for cell, count in counts.items():
        n, _, weight = direct[cell]
        assert np.isclose(weighted[cell], float(count * weight / n), rtol=1e-12)
