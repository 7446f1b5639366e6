"""Record keys: hashed as published standards say, drawn afresh, or stored and checked."""

from __future__ import annotations

import hashlib
import hmac
import re
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.ciphers.modes import ECB
from cryptography.hazmat.primitives.padding import PKCS7
from hypothesis import given, settings
from hypothesis import strategies as st

from tables import (
    DataError,
    HashedKeys,
    KeyQualityError,
    ReadOptions,
    Request,
    RequestError,
    Secret,
    SourceError,
    StoredKeys,
    attach_keys,
    cube,
    draw_keys,
    open_source,
)
from tables.keyed_hash import KeyedHash
from tests.strategies import decode, examples

SECRET = Secret(b"MARKER-of-the-secret-in-test-keys")
SHORT = KeyedHash(SECRET.derive("ckm record key v2")[:16])
ROOT = Path(__file__).resolve().parents[3]


def by_hand(identifier, secret=b"MARKER-of-the-secret-in-test-keys"):
    """Hash an identifier by itself, with the padding of the library."""
    key = hmac.new(secret, b"ckm record key v2", hashlib.sha256).digest()[:16]
    text = str(identifier).encode()
    message = text if len(text) < 16 else hashlib.sha256(text).digest()[:15]
    padder = PKCS7(128).padder()
    block = padder.update(message) + padder.finalize()
    return int.from_bytes(Cipher(AES128(key), ECB()).encryptor().update(block)[:8], "big")  # noqa: S305


def attached(identifiers, tmp_path, secret=SECRET):
    path = tmp_path / "keyed.parquet"
    with open_source(pa.table({"id": identifiers})) as source:
        attach_keys(source, id="id", secret=secret, path=path, overwrite=True)
    table = pq.read_table(path)
    return dict(zip(table["id"].to_pylist(), table["record_key"].to_pylist(), strict=True))


@pytest.mark.parametrize(
    "identifiers",
    [
        [1, 2, 17, 2**62, 0, -5],
        ["1", "17", "017", "", " 17", "é漢😀", "a'b\"c;--", "x" * 5000, "line\nbreak"],
        pa.array([0, 2**64 - 1], pa.uint64()),
        pa.array([7], pa.int8()),
        [0, 9, 10, 99_999_999, 10**8, 10**8 + 7, 123_456_789, 10**15 - 1],
        [0, 10**15],
        ["", "é" * 7, "x" * 15, "x" * 16],
    ],
    ids=["integers", "texts", "unsigned", "narrow", "short", "long", "edges"],
)
def test_attached_keys_are_those_of_the_standard_library(identifiers, tmp_path):
    found = attached(identifiers, tmp_path)
    assert found == {identifier: by_hand(identifier) for identifier in found}


@pytest.mark.parametrize(
    "identifiers", [[1, 17, 2**62, -5], ["1", "017", "", "é漢😀", "x" * 5000], [7, None]]
)
def test_keys_of_version_1_are_those_of_the_standard_library(identifiers):
    def key(identifier):
        if identifier is None:
            return None
        by_secret = hmac.digest(
            SECRET.derive("ckm record key v1"), str(identifier).encode(), "sha256"
        )
        return int.from_bytes(by_secret[:8], "big")

    hashed = HashedKeys(column="id", secret=SECRET, version=1)
    with open_source(pa.table({"id": identifiers})) as source:
        sql = hashed.sql(source, {})
        assert hashed.sql(source, {}) == sql  # computed once
        rows = source.fetch(
            f"SELECT r.id, t.value FROM {source.records} AS r POSITIONAL JOIN {sql} AS t"
        )
    assert dict(rows) == {identifier: key(identifier) for identifier in identifiers}
    assert hashed.metadata == {"ckm_record_key_version": "1"}


@pytest.mark.parametrize("version", [0, 3])
def test_other_versions_of_keys_are_refused(version):
    with pytest.raises(RequestError, match="version 1 or 2"):
        HashedKeys(column="id", secret=SECRET, version=version)


def test_the_vectors_of_the_method_are_those_of_attached_keys(tmp_path):
    text = (ROOT / "docs" / "explanation" / "method.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(.*)` \| (\d+) \| `([0-9a-f]{16})` \|$", text, re.MULTILINE)
    assert len(rows) == 9
    found = attached([name for name, _, _ in rows], tmp_path, Secret(bytes(range(32))))
    assert found == {name: int(key, 16) for name, _, key in rows}
    assert [len(name.encode()) for name, _, _ in rows] == [int(size) for _, size, _ in rows]
    written = pq.read_metadata(tmp_path / "keyed.parquet").metadata
    assert written[b"ckm_record_key_version"] == b"2"


@pytest.mark.parametrize("kind", ["parquet", "files", "csv", "duckdb", "arrow"])
def test_every_record_has_the_key_of_its_own_identifier(kind, tmp_path):
    """Keys meet their records by position: over row groups, files, chunks, threads, filters."""
    n = 300_000
    ids = np.random.default_rng(5).permutation(n) + 10**7
    keys = dict(zip(ids.tolist(), SHORT.words(pa.array(ids)).to_pylist(), strict=True))
    records = pa.table({"id": ids, "a": ids % 97, "x": (ids % 11) / 10})
    data = tmp_path / "records"
    if kind == "parquet":
        pq.write_table(records, data, row_group_size=7_000)
    elif kind == "files":
        for place in range(3):
            pq.write_table(records.slice(place * 100_000, 100_000), f"{data}{place}.parquet")
        data = f"{data}*.parquet"
    elif kind == "csv":
        data = data.with_suffix(".csv")
        pa.csv.write_csv(records, data)
    elif kind == "duckdb":
        data = data.with_suffix(".duckdb")
        with duckdb.connect(str(data)) as connection:
            connection.execute("CREATE TABLE t AS FROM records")
            connection.execute("DELETE FROM t WHERE id % 7 = 0")
        ids = ids[ids % 7 > 0]
    else:
        data = pa.concat_tables([records.slice(i, 9_999) for i in range(0, n, 9_999)])
    expected = [0] * 97
    for one in ids.tolist():
        expected[one % 97] += keys[one] * (one % 11 > 3)
    where = Request(dimensions=["a"], where="x > 0.3")
    with open_source(data, threads=6) as source:
        hashed = HashedKeys(column="id", secret=SECRET)
        for request in (Request(dimensions=[]), where):  # the second finds the keys computed
            (cells,) = cube(source, hashed, [request])
    found = {int(k[0]): v[1] for k, v in decode(cells).items() if k[0] not in {None, "Total"}}
    assert found == {a: total % 2**64 for a, total in enumerate(expected)}


def test_a_source_whose_file_changed_after_its_keys_were_computed_is_refused(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"id": [1, 2, 3]}), path)
    with open_source(path) as source:
        keys = HashedKeys(column="id", secret=SECRET)
        cube(source, keys, [Request(dimensions=[])])
        pq.write_table(pa.table({"id": [3, 2, 1, 4]}), path)
        with pytest.raises(SourceError, match="has changed since it was opened"):
            cube(source, keys, [Request(dimensions=[])])
        with pytest.raises(SourceError, match="has changed since it was opened"):
            attach_keys(source, id="id", secret=SECRET, path=tmp_path / "keyed.parquet")
    assert not (tmp_path / "keyed.parquet").exists()


@given(st.lists(st.text(max_size=80).filter(lambda t: "\0" not in t), unique=True, min_size=1))
@settings(max_examples=examples(25))
def test_hashed_keys_of_any_text_are_those_of_the_standard_library(identifiers):
    with open_source(pa.table({"id": identifiers}), threads=1) as source:
        keys = HashedKeys(column="id", secret=SECRET)
        (cells,) = cube(source, keys, [Request(dimensions=[])])
    assert int(cells.cell_key[0]) == sum(map(by_hand, identifiers)) % 2**64


@pytest.mark.parametrize("sizes", [[0], [1], [7, 7, 7], [15, 15], [0, 15, 3, 8, 9], [2, 2, 5]])
def test_messages_of_one_length_or_many_are_padded_as_the_standard_says(sizes):
    rng = np.random.default_rng(5)
    texts = [rng.integers(1, 127, size, dtype=np.uint8).tobytes() for size in sizes]
    messages = pa.array([b"cut off", *texts, None, b"cut off, too"], pa.binary())[1:-1]
    words = SHORT.words(messages).to_pylist()
    assert words == [*(by_hand(text.decode()) for text in texts), None]


@pytest.mark.parametrize("length", [16, 32, 64, 65, 200])
def test_secrets_of_any_length_hash_as_the_standard_says(length, tmp_path):
    secret = bytes(range(length))
    assert attached([5], tmp_path, Secret(secret)) == {5: by_hand(5, secret)}


def test_the_key_of_an_identifier_does_not_depend_on_its_type_or_source(tmp_path):
    whole = cell_of(pd.DataFrame({"id": [17, 4]}))
    assert cell_of(pl.DataFrame({"id": ["17", "4"]})) == whole
    assert cell_of(pa.table({"id": pa.array([17, 4], pa.uint8())})) == whole
    assert cell_of(pd.DataFrame({"id": pd.Categorical(["4", "17"])})) == whole
    assert cell_of(pa.table({"id": ["017", "4"]})) != whole
    (tmp_path / "ids.csv").write_text("id\n4\n17\n")
    assert cell_of(tmp_path / "ids.csv") == whole


def cell_of(data):
    with open_source(data) as source:
        keys = HashedKeys(column="id", secret=SECRET)
        return int(cube(source, keys, [Request(dimensions=[])])[0].cell_key[0])


@pytest.mark.parametrize("column", [[1.0, 2.0], [True, False], [b"a", b"b"]])
def test_an_identifier_of_another_type_is_refused(column, tmp_path):
    with open_source(pa.table({"id": column})) as source:
        with pytest.raises(RequestError, match="must hold integers or texts"):
            cube(source, HashedKeys(column="id", secret=SECRET), [Request(dimensions=[])])
        with pytest.raises(RequestError, match="hint: a rounded or reformatted number"):
            attach_keys(source, id="id", secret=SECRET, path=tmp_path / "k.parquet")
    assert not list(tmp_path.iterdir())


def test_missing_identifiers_are_refused_when_keys_are_attached(tmp_path):
    with (
        open_source(pa.table({"id": ["a", None]})) as source,
        pytest.raises(DataError, match="Some records have no identifier 'id'"),
    ):
        attach_keys(source, id="id", secret=SECRET, path=tmp_path / "k.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [1, 1000, 200_000])
def test_drawn_keys_stand_beside_their_records_and_are_unique(size, tmp_path):
    """200,000 draws of 64 bits repeat with probability 1e-9."""
    codes = pd.Categorical.from_codes(np.arange(size) % 3, ["a", "b", "c"])
    frame = pd.DataFrame({"row": np.arange(size), "code": codes})
    path = tmp_path / "keyed.parquet"
    with open_source(frame) as source:
        draw_keys(source, path=path)
    table = pq.read_table(path).to_pandas().sort_values("row", ignore_index=True)
    assert table["record_key"].dtype == np.uint64
    assert table["record_key"].nunique() == size
    assert table["row"].tolist() == list(range(size))
    assert (table["code"].astype(str) == codes.astype(str)).all()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["keyed.parquet"]


def test_keys_drawn_twice_differ(tmp_path):
    with open_source(pa.table({"x": [1, 2]})) as source:
        for name in ("a.parquet", "b.parquet"):
            draw_keys(source, path=tmp_path / name)
    one, other = (pq.read_table(tmp_path / n)["record_key"] for n in ("a.parquet", "b.parquet"))
    assert one.to_pylist() != other.to_pylist()


def write(how, source, path, **options):
    if how == "draw":
        draw_keys(source, path=path, **options)
    else:
        attach_keys(source, id="id", secret=SECRET, path=path, **options)


@pytest.mark.parametrize("how", ["draw", "attach"])
def test_key_files_are_not_overwritten_unless_asked(how, tmp_path):
    path = tmp_path / "keyed.parquet"
    path.write_text("precious")
    with open_source(pa.table({"id": [1, 2]})) as source:
        with pytest.raises(SourceError, match=r"'keyed\.parquet' exists"):
            write(how, source, path)
        assert path.read_text() == "precious"
        write(how, source, path, overwrite=True)
        assert pq.read_table(path).num_rows == 2
        with pytest.raises(SourceError, match="already have a column 'ID'"):
            write(how, source, tmp_path / "other.parquet", column="ID")
        with pytest.raises(SourceError, match="There is no folder"):
            write(how, source, tmp_path / "absent" / "keyed.parquet")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["keyed.parquet"]


def test_an_interrupted_draw_leaves_nothing(tmp_path):
    def interrupt(_share):
        raise KeyboardInterrupt

    with (
        open_source(pa.table({"id": np.arange(300_000)})) as source,
        pytest.raises(KeyboardInterrupt),
    ):
        draw_keys(source, path=tmp_path / "keyed.parquet", progress=interrupt)
    assert not list(tmp_path.iterdir())


def test_a_copy_with_keys_holds_the_records_as_they_came(tmp_path):
    table = pa.table({"id": [1, 2, 3], "x": [1.5, -0.0, None], "y": ["a", None, ""]})
    with open_source(table) as source:
        attach_keys(source, id="id", secret=SECRET, path=tmp_path / "k.parquet")
    copy = pq.read_table(tmp_path / "k.parquet").sort_by("id").drop_columns("record_key")
    assert copy.to_pylist() == table.to_pylist()
    assert str(copy["x"][1].as_py()) == "-0.0"


def test_drawing_for_no_record_is_refused(tmp_path):
    with (
        open_source(pa.table({"x": pa.array([], pa.int64())})) as source,
        pytest.raises(DataError, match="no record to draw a key for"),
    ):
        draw_keys(source, path=tmp_path / "k.parquet")
    assert not list(tmp_path.iterdir())


# --- stored keys --------------------------------------------------------------------------


def total(column, key_range=None, *, table=None, data=None, **options):
    with open_source(
        pa.table({"key": column}) if data is None else data, table=table
    ) as source:
        keys = StoredKeys(column="key", key_range=key_range)
        (cells,) = cube(source, keys, [Request(dimensions=[])], **options)
    return decode(cells)[()][1], cells.key_range


@pytest.mark.parametrize(
    ("kind", "bits"),
    [(pa.uint8(), 8), (pa.uint16(), 16), (pa.uint32(), 32), (pa.uint64(), 64)],
)
def test_unsigned_keys_use_their_full_width(kind, bits):
    top = 2**bits - 1
    assert total(pa.array([top, top, 5], kind)) == ((2 * top + 5) % 2**bits, 2**bits)


@pytest.mark.parametrize("key_range", [None, 256])
def test_keys_that_are_read_as_texts_are_declared_as_integers(tmp_path, key_range):
    file = tmp_path / "people.csv"
    file.write_text("key\n1\n255\n")
    with open_source(file, options=ReadOptions(text=True)) as source:
        keys = StoredKeys(column="key", key_range=key_range)
        with pytest.raises((KeyQualityError, RequestError)) as caught:
            cube(source, keys, [Request(dimensions=[])])
    assert 'declare types = { key = "integer" } and give key_range' in caught.value.hint
    assert "255" not in str(caught.value)
    told = ReadOptions(text=True, types={"key": "integer"})
    with open_source(file, options=told) as source:
        keys = StoredKeys(column="key", key_range=256)
        (cells,) = cube(source, keys, [Request(dimensions=[])])
    assert decode(cells)[()][1] == 0


def test_keys_of_128_bits_are_added_exactly(tmp_path):
    file = tmp_path / "wide.duckdb"
    with duckdb.connect(str(file)) as connection:
        for kind in ("HUGEINT", "UHUGEINT", "BIGINT", "DECIMAL(38,0)"):
            name = kind.split("(")[0]
            top = 2**63 - 1 if kind == "BIGINT" else 2**64 - 1
            connection.execute(
                f"CREATE TABLE {name} AS SELECT {top}::{kind} AS key FROM range(10)"
            )
    for name, top in (
        ("HUGEINT", 2**64 - 1),
        ("UHUGEINT", 2**64 - 1),
        ("BIGINT", 2**63 - 1),
        ("DECIMAL", 2**64 - 1),
    ):
        found = total(None, 2**64, table=name, data=file)
        assert found == (10 * top % 2**64, 2**64), name


@pytest.mark.parametrize("digits", [1, 7, 8, 9, 15])
def test_decimal_keys_are_taken_at_their_printed_digits(digits):
    rng = np.random.default_rng(digits)
    keys = [Decimal(int(n)).scaleb(-digits) for n in rng.integers(0, 10**digits, 1000)]
    exact = int(sum(keys) % 1 * 10**18)
    assert total([float(key) for key in keys]) == (exact, 10**18)
    assert total(pa.array(keys, pa.decimal128(18, digits))) == (exact, 10**18)
    assert total(np.array(keys, float)[::-1]) == (exact, 10**18)


@pytest.mark.parametrize(
    ("keys", "key_range", "problem"),
    [
        ([0, 256], 256, r"lie outside \[0, 256\)"),
        ([-1, 3], 256, r"lie outside \[0, 256\)"),
        (pa.array([4096], pa.uint16()), 4096, r"lie outside \[0, 4096\)"),
        ([0.5, 1.5], None, r"lie outside \[0, 1\)"),
        ([0.5, 1.0], None, r"lie outside \[0, 1\)"),
        ([-0.5, 0.5], None, r"lie outside \[0, 1\)"),
        ([1, None], 256, "Some records have no 'key'"),
        ([0.5, float("nan")], None, "Some records have no 'key'"),
    ],
)
def test_keys_that_are_missing_or_out_of_range_are_refused(keys, key_range, problem):
    with pytest.raises(KeyQualityError, match=problem) as caught:
        total(keys, key_range)
    assert "hint:" in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "key_range", "problem"),
    [
        (["a", "b"], None, "not texts(?s:.*)hint: to hash an identifier, name it as id"),
        ([True], None, "not booleans"),
        ([1, 2], None, "signed integers, so their range is unknown(?s:.*)hint: give key_range"),
        ([0.5], 256, "decimal type, for which key_range has no meaning"),
    ],
)
def test_key_columns_of_the_wrong_type_are_refused(keys, key_range, problem):
    with pytest.raises(RequestError, match=problem):
        total(keys, key_range)


@pytest.mark.parametrize("key_range", [0, 1, -5, 2**64 + 1, 2.5, "256", True])
def test_a_key_range_that_is_none_is_refused(key_range):
    with pytest.raises(RequestError, match=r"integer from 2 to 2\*\*64"):
        StoredKeys(column="key", key_range=key_range)


def test_missing_keys_count_as_zero_where_that_was_accepted():
    assert total([5, None, 7], 256, tolerate_missing_keys=True) == (12, 256)


def test_hashed_keys_do_not_show_the_secret():
    keys = HashedKeys(column="id", secret=SECRET)
    assert repr(keys) == "HashedKeys(column='id', secret=Secret(…))"


def test_decimals_of_full_precision_are_taken_at_eighteen_places():
    values = [1.2345678901234568e-05, 1e-18, 0.1234567890123456, 5e-05, 0.9177275]
    with open_source(pa.table({"key": values})) as source:
        keys = StoredKeys(column="key").sql(source, {})
        found = [row[0] for row in source.fetch(f"SELECT {keys} FROM {source.relation}")]
    assert found == [12345678901235, 1, 123456789012345600, 5 * 10**13, 917727500000000000]
