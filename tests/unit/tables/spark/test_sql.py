"""One SQL text, two dialects: what is written, and what is refused."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

pytest.importorskip("sqlglot", reason="SQLGlot is not installed")

from tables import RequestError
from tables.filtering.filters import parse_filter
from tables.spark.sql import SECRETS, spark_sql
from tables.spark.types import as_spark, as_wanted, kept_as

HOSTILE = ["'; drop table x; --", "\\", "\\'", "${env:HOME}", "a\0b", "`", '"', "/* */", "é"]


def filtered(where, **columns):
    values = {}
    condition = parse_filter(where).sql(columns, values)
    return spark_sql(f"SELECT {condition} FROM t", values, columns=columns)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_enters_as_its_bytes_in_hexadecimal_digits(text):
    quoted = text.replace('"', '""')
    written = filtered(f'x = "{quoted}"', x="VARCHAR")
    assert written == f"SELECT (`x` = CAST(X'{text.encode().hex()}' AS STRING)) FROM t"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_column_of_any_name_stays_a_name(name):
    quoted = '"' + name.replace('"', '""') + '"'
    written = spark_sql(f"SELECT min({quoted}) FROM t", {}, columns={name: "BIGINT"})
    assert written == f"SELECT MIN(`{name.replace('`', '``')}`) FROM t"


def test_bytes_are_secrets_and_no_part_of_the_text():
    pad = bytes(range(64))
    written = spark_sql(
        'SELECT sha256($pad || encode("x"::VARCHAR)) FROM t',
        {"pad": pad},
        columns={"x": "BIGINT"},
    )
    assert f"(SELECT pad FROM {SECRETS})" in written
    assert pad[:4].hex() not in written.lower()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT median(x) FROM t",
        "SELECT x / 2 FROM t",
        "SELECT x FROM t ORDER BY x",
        "SELECT avg(x) FROM t",
        "SELECT round(x) FROM t",
        "SELECT x & 5::HUGEINT FROM t",
        "SELECT arg_max(x, y) FROM t",
        "DELETE FROM t",
        "SELECT ((",
    ],
)
def test_what_is_not_known_to_mean_the_same_is_refused(sql):
    with pytest.raises(RequestError, match="not known to give the same") as caught:
        spark_sql(sql, {}, columns={})
    assert "duckdb" in str(caught.value)


def test_a_parameter_outside_of_a_comparison_with_a_column_is_refused():
    with pytest.raises(RequestError, match="not known"):
        spark_sql("SELECT $x FROM t", {"x": 5}, columns={})


@pytest.mark.parametrize(
    ("where", "kind", "written"),
    [
        ("x = 5", "BIGINT", "5"),
        ("x = -5", "BIGINT", "-5"),
        ("x = -0.5", "DOUBLE", "CAST('-0.5' AS DOUBLE)"),
        ("x = 3", "DOUBLE", "CAST('3.0' AS DOUBLE)"),
        ("x = 3", "FLOAT", "CAST(CAST('3.0' AS DOUBLE) AS FLOAT)"),
        ("x = 0.1", "FLOAT", "CAST(CAST('0.10000000149011612' AS DOUBLE) AS FLOAT)"),
        ("x = 'inf'", "DOUBLE", "CAST('Infinity' AS DOUBLE)"),
        ("x = 9223372036854775808", "UBIGINT", "CAST('9223372036854775808' AS DECIMAL(19, 0))"),
        ("x = 1.5", "DECIMAL(38,2)", "CAST('1.50' AS DECIMAL(38, 2))"),
        ("x = true", "BOOLEAN", "TRUE"),
        ("x = '2020-02-29'", "DATE", "CAST('2020-02-29' AS DATE)"),
    ],
)
def test_a_value_has_the_type_of_the_column_it_is_compared_with(where, kind, written):
    assert filtered(where, x=kind) == f"SELECT (`x` = {written}) FROM t"


def test_a_list_holds_the_values_that_the_column_can_have():
    assert filtered("x in (2, 0.5, 3e9)", x="INTEGER") == "SELECT (`x` IN (2)) FROM t"
    assert filtered("x not in (0.5)", x="INTEGER") == "SELECT (`x` = `x`) FROM t"


@pytest.mark.slow
def test_a_filter_of_greatest_length_is_written():
    where = " or ".join(["x=1"] * 2500)
    assert filtered(where, x="BIGINT").count("`x` = 1") == 2500


ROUNDED = "IF(ABS((`v`) - RINT(`v`)) = 0.5e0, (`v`) + IF((`v`) < 0, -0.5e0, 0.5e0), RINT(`v`))"
HALF = "CAST('9223372036854775808' AS DOUBLE)"


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ('abs("v")', "ABS(`v`)"),
        ('isinf("v")', "(ABS(`v`) = CAST('Infinity' AS DOUBLE))"),
        ('trunc("v")', f"IF(ABS(`v`) < {2**53}e0, CAST(CAST(`v` AS BIGINT) AS DOUBLE), `v`)"),
        ('round("v") / 1e2', f"{ROUNDED} / 1e2"),
        ('round("v")::BIGINT', f"CAST({ROUNDED} AS BIGINT)"),
        ('"v" - 1e0 + 2e0', "`v` - 1e0 + 2e0"),
        ("bool_and(x)", "BOOL_AND(x)"),
        ("bool_or(x)", "BOOL_OR(x)"),
        ('sum("v")', "SUM(`v`)"),
        ("sum(x::BIGINT)", "SUM(CAST(x AS BIGINT))"),
        ("sum(x) FILTER (x <> 0)", "SUM(CAST(x AS DECIMAL(38, 0))) FILTER(WHERE x <> 0)"),
        ("max(x, 3)", "MAX_BY(x, x, 3)"),
        ("min(x, 3)", "MIN_BY(x, x, 3)"),
        ("CASE WHEN x > 0 THEN x ELSE 0 END", "CASE WHEN x > 0 THEN x ELSE 0 END"),
        ("{'size': x, 'is_plus': x > 0}", "STRUCT(x AS size, x > 0 AS is_plus)"),
    ],
)
def test_arithmetic_is_said_in_words_of_the_same_meaning(said, written):
    found = spark_sql(f"SELECT {said} FROM t", {}, columns={"v": "DOUBLE"})
    assert found == f"SELECT {written} FROM t"


def test_decimals_that_no_double_holds_become_doubles_in_two_parts():
    found = spark_sql('SELECT "d"::DOUBLE FROM t', {}, columns={"d": "DECIMAL(18,2)"})
    assert "ABS(`d`) <= CAST('90071992547409.92' AS DECIMAL(16, 2))" in found


def test_the_whole_part_of_a_double_becomes_a_decimal_in_parts_of_its_bits():
    found = spark_sql('SELECT trunc("v")::HUGEINT FROM t', {}, columns={"v": "DOUBLE"})
    assert f"ABS((`v`)) < {HALF}" in found
    assert "CAST(CAST((`v`) AS BIGINT) AS DECIMAL(38, 0))" in found
    assert "* 2048" in found


def test_a_key_summed_twice_is_split_once():
    sql = (
        "SELECT sum(k), sum(k) FILTER (v <> 0) FROM "
        "(SELECT ('0x' || left(sha256($p), 16))::UBIGINT AS k, \"v\" AS v FROM t)"
    )
    found = spark_sql(sql, {"p": b"pad"}, columns={"v": "DOUBLE"})
    assert found.count("CONV(") == 1
    assert "SUM(IF(v <> 0, SHIFTRIGHTUNSIGNED(k, 44) & 4194303, NULL))" in found
    assert "FILTER" not in found


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT round("n") FROM t',  # of integers and decimals it is another function
        'SELECT abs("n") FROM t',
        'SELECT trunc("n") FROM t',
        'SELECT round("v", 2) FROM t',
        'SELECT "v" / "v" FROM t',
        'SELECT ("v" * 2e0)::HUGEINT FROM t',  # DuckDB rounds, Spark cuts off
    ],
)
def test_arithmetic_of_other_types_is_refused(sql):
    with pytest.raises(RequestError, match="not known to give the same"):
        spark_sql(sql, {}, columns={"v": "DOUBLE", "n": "BIGINT"})


def test_integers_of_64_bits_come_back_as_their_bits():
    wanted = pa.schema([("key", pa.uint64())])
    bits = pa.table({"x": pa.array([-1, 5, None], pa.int64())})
    assert as_wanted(bits, wanted)["key"].to_pylist() == [2**64 - 1, 5, None]
    wide = pa.array([Decimal(2**64 - 1), Decimal(7), None, Decimal(1)], pa.decimal128(20, 0))
    sliced = pa.table({"x": wide}).slice(1)
    assert as_wanted(sliced, wanted)["key"].to_pylist() == [7, None, 1]
    thousandths = pa.table({"x": pa.array([Decimal(1500)], pa.decimal128(38, 0))})
    amounts = as_wanted(thousandths, pa.schema([("sum", pa.decimal128(38, 3))]))
    assert amounts["sum"].to_pylist() == [Decimal("1.5")]
    counts = as_wanted(thousandths, pa.schema([("n", pa.int32())]))
    assert counts["n"].to_pylist() == [1500]


def test_spark_gets_wider_types_for_those_it_has_not():
    codes = pa.array([3, 200], pa.uint8())
    labels = pa.array(["a", "b"]).dictionary_encode()
    table = as_spark(
        pa.table({"n": codes, "k": pa.array([0, 2**64 - 1], pa.uint64()), "s": labels})
    )
    assert table.schema.types == [pa.int16(), pa.decimal128(20, 0), pa.string()]
    assert table["k"].to_pylist() == [0, 2**64 - 1]


def test_equal_numbers_have_one_form_in_spark():
    assert kept_as("`age`", "INTEGER") == "`age`"
    assert kept_as("`name`", "VARCHAR") == "VALIDATE_UTF8(`name`)"
    kept = kept_as("`x`", "DOUBLE")
    assert "ISNAN(`x`) THEN NULL" in kept
    assert "`x` = 0 THEN CAST(0 AS DOUBLE)" in kept


def test_a_key_that_workers_hash_is_summed_as_its_bits():
    from tables.spark.hashing import NAME

    key = f'{NAME}(encode("x"::VARCHAR), $key)::UBIGINT'
    columns, parameters = {"x": "VARCHAR"}, {"key": bytes(16)}
    summed = spark_sql(
        f"SELECT sum(k) AS s FROM (SELECT {key} AS k FROM t)", parameters, columns=columns
    )
    assert "DECIMAL(20" not in summed.partition("FROM")[2]
    assert "SHIFTRIGHTUNSIGNED(k, 0)" in summed
    shown = spark_sql(f"SELECT k FROM (SELECT {key} AS k FROM t)", parameters, columns=columns)
    assert f"< 0, {2**64}, 0)" in shown


@pytest.mark.parametrize(
    ("key", "bits"),
    [
        ('ckm_hash(encode("x"::VARCHAR), $key)::UBIGINT', "CKM_HASH("),
        ("('0x' || left(ckm_aes(encode(\"x\"::VARCHAR), $key), 16))::UBIGINT", "16, -10)"),
        ('"k0"', "`k0`"),
    ],
)
def test_a_sketch_of_keys_works_on_their_bits_alone(key, bits):
    """Decimals of 20 digits are objects of Java, a record at a time."""
    from tables.cells.sketch import sketch_columns

    keyed, aggregates = sketch_columns(3, 2**64)
    written = spark_sql(
        f"SELECT d, {', '.join(aggregates)} FROM (SELECT *, {', '.join(keyed)} FROM "
        f'(SELECT {key} AS k, "d" AS d FROM r)) GROUP BY d',
        {"key": bytes(16)},
        columns={"x": "VARCHAR", "k0": "UBIGINT", "d": "VARCHAR"},
    )
    outer, _, inner = written.partition(" FROM ")
    assert "DECIMAL" not in outer
    assert "BIT_XOR(IF(x < 0 AND x >= -4611686018427387904, x, 0)) AS x3" in outer
    assert "SUM((u * u) % 2147483647) % 2147483647" in outer
    assert "k AS x" in inner
    assert bits in inner


def test_a_key_that_something_else_reads_stays_an_unsigned_number():
    written = spark_sql(
        'SELECT sum(k) AS s, max(k) AS m FROM (SELECT "k0" AS k FROM r)',
        {},
        columns={"k0": "UBIGINT"},
    )
    assert "SELECT `k0` AS k" in written
    assert "SUM(CAST(k AS DECIMAL(38, 0)))" in written
