"""Sums of 128 bits as sums of 64: the same numbers, whatever the parts."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("sqlglot", reason="SQLGlot is not installed")

import sqlglot

from tables.magnitudes.exact import Spread, product_sql, square_sql, value_sql
from tables.spark.sql import spark_sql
from tables.spark.wide_sums import split_wide_sums

UNKNOWN = Spread(largest=1e20, total=1e21, decimals=None, is_finite=True, is_complete=True)
CENTS = Spread(largest=1e7, total=1e12, decimals=2, is_finite=True, is_complete=True)


def amounts(n=2000):
    """Draw values on both sides of the grid of six decimals, of either sign, and hard ones."""
    rng = np.random.default_rng(5)
    wild = rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-14, 17, n)
    grid = np.round(rng.normal(0, 1e6, n), rng.integers(0, 7))
    hard = [1999999999.999999, -1999999999.999999, 2e9, 0.5, -0.5, 1e-15, 2.0**62]
    return np.concatenate([wild, grid, hard])


@pytest.mark.parametrize(
    "exact",
    [
        value_sql("v", UNKNOWN),
        product_sql("v", "u", (UNKNOWN, UNKNOWN)),
        product_sql("c", "u", (CENTS, UNKNOWN)),
        square_sql("c", CENTS),
    ],
)
def test_the_parts_of_a_wide_sum_add_up_to_it(exact):
    v = amounts()
    u = np.random.default_rng(6).choice([1.0, 2.5, 1.23456789012, 0.000001, 7e3], len(v))
    rows = pa.table({"v": v, "u": u, "c": np.round(np.clip(v, -1e7, 1e7), 2)})
    whole = f"SELECT {exact.sum('v <> 0')} AS s FROM (SELECT v, u, c FROM rows) "
    tree = sqlglot.parse_one(whole, dialect="duckdb")
    split_wide_sums(tree, {})
    parts = tree.sql("duckdb")
    assert "HUGEINT" not in parts.partition("::")[0]
    assert parts.count("SUM(") > 1
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        assert connection.sql(parts).fetchall() == connection.sql(whole).fetchall()


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "INTEGER"])
def test_weights_that_are_summed_are_no_decimals_a_record(kind):
    written = spark_sql(
        "SELECT d, sum(w0) AS w0, count(*) FILTER (w0 > 0) AS w0_n FROM "
        '(SELECT "d" AS d, CAST("w" AS DECIMAL(38,15)) AS w0 FROM r) GROUP BY d',
        {},
        columns={"d": "VARCHAR", "w": kind},
    )
    outer, _, records = written.partition(" FROM ")
    assert "DECIMAL" not in records
    assert outer.count("SUM(CAST(") == (2 if kind == "INTEGER" else 3)


def test_a_weight_that_something_else_reads_stays_a_decimal():
    written = spark_sql(
        'SELECT sum(w0), max(w0) FROM (SELECT CAST("w" AS DECIMAL(38,15)) AS w0 FROM r)',
        {},
        columns={"w": "DOUBLE"},
    )
    assert "SUM(CAST(w0 AS DECIMAL(38, 0)))" in written
