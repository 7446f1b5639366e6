"""The same cells, keys, weights and sketches on both engines, to the bit."""

from __future__ import annotations

import datetime as dt
import os
import shutil
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables import (
    DataError,
    HashedKeys,
    KeyQualityError,
    Request,
    RequestError,
    Secret,
    SourceError,
    StoredKeys,
    check_keys,
    cube,
    open_source,
)
from tables.prepared.prepare import prepare
from tables.spark.explaining import explain
from tables.spark.session import is_master, open_session
from tables.spark.spark import SparkSource, open_spark
from tests.environments.spark_support import both, require_same

SECRET = Secret(b"sixteen bytes or more")
ID = HashedKeys(column="id", secret=SECRET)
TEXTS = ["", "é", "e\u0301", "ß", "SS", "ss", " a", "a ", "a\0b", "😀", "\uffff", "Z", "\\'`\""]
UTC = dt.UTC


def drawn(rng, values, kind, n):
    values = [*values, None]
    return pa.array([values[i] for i in rng.integers(0, len(values), n)], kind)


def every_type(n=300):
    """Draw records with a column for every type, hard values and missing ones included."""
    rng = np.random.default_rng(1)
    nan, inf = float("nan"), float("inf")
    wild = 'we`ird "n.a me; -- ${env:HOME}'
    values = {
        "i8": ([-128, 0, 127], pa.int8()),
        "i16": ([-5, 7], pa.int16()),
        "i32": ([-(2**31), 2**31 - 1], pa.int32()),
        "i64": ([-(2**63), 2**53, 2**53 + 1, 2**63 - 1], pa.int64()),
        "u8": ([0, 255], pa.uint8()),
        "u16": ([0, 65535], pa.uint16()),
        "u32": ([0, 2**32 - 1], pa.uint32()),
        "u64": ([0, 2**63 - 1, 2**63, 2**64 - 1], pa.uint64()),
        "f32": ([0.0, -0.0, nan, 0.1, 16777216.0, inf, -2.5], pa.float32()),
        "f64": ([0.0, -0.0, nan, 0.1, 5e-324, 1e300, -inf, 2.0], pa.float64()),
        "d5": ([Decimal("1.50"), Decimal("-2.25"), Decimal("0.00")], pa.decimal128(5, 2)),
        "d38": ([Decimal("1.500000000000000001"), Decimal(0)], pa.decimal128(38, 18)),
        "d20": ([Decimal(10**19), Decimal(3)], pa.decimal128(20, 0)),
        "text": (TEXTS, pa.string()),
        "flag": ([True, False], pa.bool_()),
        "day": ([dt.date(1, 1, 1), dt.date(1582, 10, 10), dt.date(9999, 12, 31)], pa.date32()),
        "moment": ([dt.datetime(1500, 1, 1, 1, 2, 3, 456)], pa.timestamp("us")),  # noqa: DTZ001
        "coarse": ([dt.datetime(2020, 3, 29, 2, 30)], pa.timestamp("ms")),  # noqa: DTZ001
        "zoned": ([dt.datetime(2020, 3, 29, 2, tzinfo=UTC)], pa.timestamp("us", "Asia/Tokyo")),
        wild: (["p", "q"], pa.string()),
    }
    columns = {name: drawn(rng, some, kind, n) for name, (some, kind) in values.items()}
    columns["coded"] = columns["text"].dictionary_encode()
    return pa.table({**columns, "id": pa.array(range(n))})


@pytest.fixture(scope="module")
def wild(tmp_path_factory):
    path = tmp_path_factory.mktemp("wild") / "[a]*{b}?.parquet"
    pq.write_table(every_type(), path)
    return path


def written(tmp_path, name="people.parquet", **columns):
    pq.write_table(pa.table(columns), tmp_path / name)
    return tmp_path / name


def test_columns_of_every_type_give_the_same_cells(wild, master):
    names = [name for name in every_type(1).column_names if name != "id"]
    wishes = [Request(dimensions=names[n : n + 3]) for n in range(0, len(names), 3)]
    wishes += [Request(dimensions=["text", "f64", "u64"]), Request(dimensions=[])]
    ours, theirs = both(wild, ID, wishes, master=master)
    assert sum(len(cells.count) for cells in ours) > 500
    require_same(ours, theirs)


FILTERS = {
    "i8": ["0", "127", "300", "-0.5"],
    "i32": ["2147483648"],
    "i64": ["9007199254740993.0", "9007199254740992.5", "-9223372036854775809", "1e19"],
    "u64": ["-1", "18446744073709551615", "18446744073709551616", "9223372036854775808.5"],
    "f32": ["0", "0.1", "16777217", "1e39", "340282346638528859811704183484516925440"],
    "f64": ["0", "0.1", "2", "1e400", "-1e400", "99999999999999999999999999999999999"],
    "d5": ["1", "1.5", "-2.25", "1.555", "1e30", "100000000000000000000000"],
    "d38": ["1", "1.500000000000000001", "1.5000000000000000015"],
    "text": ["'é'", "'Z'", "'a\0b'", "''", "'😀'", "'\\''`\"'"],
    "flag": ["true", "false"],
    "day": ["'1582-10-10'", "'2020-02-29 10:00:00'"],
    "moment": ["'1500-01-01'", "'2020-03-29T02:30:00+02:00'"],
    "zoned": ["'2020-03-29 02:00:00'", "'2020-03-29'", "'2020-03-29T02:30:00+02:00'"],
}


def test_filters_on_every_type_let_the_same_records_through(wild, master):
    conditions = []
    for name, values in FILTERS.items():
        conditions += [f"{name} {'<='[n % 2]} {value}" for n, value in enumerate(values)]
        conditions += [f"not ({name} in ({', '.join(values)}))"]
    conditions += ["i64 is not missing or text = 'Z'", "i8 is missing and not (u64 > 5)"]
    # The key of a total tells which records it holds.
    wishes = [Request(dimensions=[], where=c) for c in conditions]
    ours, theirs = both(wild, ID, wishes, master=master)
    assert len({tuple(cells.cell_key.tolist()) for cells in ours}) > 30
    require_same(ours, theirs)


PRINTED = ["i64", "u64", "f32", "f64", "d5", "d38", "text", "flag", "day", "moment", "zoned"]


def test_the_text_of_a_category_in_a_filter_selects_it_and_no_other(wild, master):
    with open_spark(wild, master=master) as source:
        wishes = [Request(dimensions=[name], margins="none") for name in PRINTED]
        wanted = []
        for name, cells in zip(PRINTED, cube(source, ID, wishes), strict=True):
            texts = [text for text in labels(cells) if text != "(missing)"]
            is_bare = source.kinds[name] in {"integer", "number", "boolean"}
            for text, sign in (
                (texts[0], "in"),
                (texts[1 % len(texts)], "="),
                (texts[-1], "="),
            ):
                quoted = "'" + text.replace("'", "''") + "'"
                value = text if is_bare and not text.endswith("inf") else quoted
                value = f"({value})" if sign == "in" else value
                wanted.append((name, f"{name} {sign} {value}", text))
        filtered = [
            Request(dimensions=[name], where=where, margins="none") for name, where, _ in wanted
        ]
        for (_, where, text), cells in zip(wanted, cube(source, ID, filtered), strict=True):
            assert labels(cells) == [text], where


def labels(cells):
    return [cells.axes[0].labels[0][rank] for rank in cells.ranks[0]]


def test_weights_are_rounded_and_added_alike(tmp_path, master):
    rng = np.random.default_rng(2)
    n = 3000
    scale = 10 ** rng.integers(-17, 18, n).astype(float)
    double = np.concatenate(
        [rng.random(n) * scale, [0.5e-15, 1.5e-15, 2.5e-15, 9223.372036854775808, 2e17, 3e18]]
    )
    n = len(double)
    cents = [Decimal(int(c)).scaleb(-2) for c in rng.integers(0, 10**6, n)]
    long = [Decimal(int(c)).scaleb(-18) for c in rng.integers(0, 10**18, n)]
    path = written(
        tmp_path,
        id=range(n),
        double=double,
        single=rng.random(n).astype(np.float32) * 100,
        whole=pa.array(rng.integers(0, 2**61, n, dtype=np.uint64)),
        cents=pa.array(cents, pa.decimal128(12, 2)),
        long=pa.array(long, pa.decimal128(38, 18)),
        part=rng.integers(0, 9, n),
    )
    names = ["double", "single", "whole", "cents", "long"]
    alone = {"dimensions": ["id"], "margins": "none", "discrete": ["id"]}
    wishes = [Request(**alone, weight=w) for w in names]
    wishes += [Request(dimensions=["part"], weight=w) for w in names]
    require_same(*both(path, ID, wishes, master=master))


@pytest.mark.parametrize(
    ("kind", "key_range"),
    [
        (pa.uint64(), None),
        (pa.uint64(), 2**63 - 25),
        (pa.int64(), 2**40),
        (pa.uint8(), None),
        (pa.decimal128(18, 18), None),
    ],
)
def test_stored_keys_are_added_and_judged_alike(tmp_path, master, kind, key_range):
    rng = np.random.default_rng(3)
    n = 2000
    top = key_range or (2**kind.bit_width if pa.types.is_integer(kind) else 10**18)
    drawn_keys = [int(k) % top for k in rng.integers(0, 2**64, n, dtype=np.uint64)]
    if pa.types.is_decimal(kind):
        drawn_keys = [Decimal(k).scaleb(-18) for k in drawn_keys]
    path = written(tmp_path, key=pa.array(drawn_keys, kind), x=rng.integers(0, 50, n))
    keys = StoredKeys(column="key", key_range=key_range)
    found = []
    for source in (open_source(path), open_spark(path, master=master)):
        with source:
            found.append(
                (check_keys(source, keys), cube(source, keys, [Request(dimensions=["x"])]))
            )
    assert found[0][0] == found[1][0]
    assert found[0][0].is_sound
    require_same(found[0][1], found[1][1])


@pytest.mark.parametrize("keys", [ID, StoredKeys(column="key", key_range=2**32)])
def test_of_many_records_both_engines_judge_the_same_slice_of_keys(
    tmp_path, master, monkeypatch, keys
):
    monkeypatch.setattr("tables.key_tally.SLICE", 100)
    n = 1000
    drawn_keys = np.random.default_rng(4).integers(0, 2**32, n)
    path = written(tmp_path, id=range(n), key=drawn_keys)
    found = []
    for source in (open_source(path), open_spark(path, master=master)):
        with source:
            found.append(check_keys(source, keys))
    assert found[0] == found[1]
    assert found[0].is_sound
    assert found[0].slice == 16


@pytest.mark.parametrize("column", ["text", "number", "large"])
def test_identifiers_of_any_kind_have_one_key(tmp_path, master, column):
    texts = [*TEXTS, *map(str, range(40))]
    numbers = [-(2**63), 2**63 - 1, 0, *range(1, len(texts) - 2)]
    large = [2**64 - 1, 2**63, *range(len(texts) - 2)]
    path = written(
        tmp_path, text=texts, number=numbers, large=pa.array(large, pa.uint64()), x=texts
    )
    keys = HashedKeys(column=column, secret=SECRET)
    require_same(*both(path, keys, [Request(dimensions=["x"])], master=master))


def test_real_records_are_tabulated_alike(shared, tmp_path, master):
    records = pq.read_table(shared / "data" / "acs_national_2019.parquet")
    numbered = records.append_column("id", pa.array(range(records.num_rows)))
    half = records.num_rows // 2
    pq.write_table(numbered.slice(0, half), tmp_path / "a.parquet")
    pq.write_table(numbered.slice(half), tmp_path / "b.parquet")
    wishes = [
        Request(dimensions=["PUMA", "SEX", "AGEP"], weight="PWGTP"),
        Request(dimensions=["EDU", "INDP_CAT"], where="AGEP >= 15"),
        Request(dimensions=["RAC1P", "MSP"], where="PINCP is not missing and not (SEX = 1)"),
    ]
    ours, theirs = both(tmp_path / "*.parquet", ID, wishes, master=master, sketch=2)
    assert sum(len(cells.count) for cells in ours) > 5000
    require_same(ours, theirs)


def test_real_amounts_are_added_up_alike(shared, tmp_path, master):
    records = pq.read_table(shared / "data" / "acs_national_2019.parquet")
    numbered = records.append_column("id", pa.array(range(records.num_rows)))
    pq.write_table(numbered, tmp_path / "a.parquet")
    wish = Request(
        dimensions=["PUMA", "SEX", "MSP"],
        sums=["PINCP"],
        top=3,
        weight="PWGTP",
        missing_values="skip",
    )
    ours, theirs = both(tmp_path / "a.parquet", ID, [wish], master=master)
    assert len(ours[0].count) > 300
    assert ours[0].magnitudes["PINCP"].top.all(axis=1).any()
    require_same(ours, theirs)


def test_sketches_and_the_members_of_small_cells_are_alike(wild, master):
    wishes = [Request(dimensions=["f32", "u64"], where="i8 >= 0"), Request(dimensions=["text"])]
    ours, theirs = both(wild, ID, wishes, master=master, sketch=3)
    assert all(len(cells.sketch.member_key) for cells in ours)
    require_same(ours, theirs)


def hard_amounts(n=1000):
    """Draw amounts at the edges of what is added up exactly."""
    rng = np.random.default_rng(9)
    tiny = [5e-16, -5e-16, 4.9e-16, 0.49999999999999994e-15, 5e-324, 0.0, -0.0, 1e-15]
    edges = [0.5, -2.5, 2**31 + 0.5, -(2.0**53) - 2, 2.0**62 + 1024, -(2.0**63), 2.0**64]
    return {
        "id": pa.array(range(n)),
        "x": rng.integers(0, 40, n),
        "wide": rng.normal(size=n) * 10.0 ** rng.integers(-17, 17, n),
        "edges": rng.choice(np.array([*edges, *(-e for e in edges), 0.1]), n),
        "tiny": rng.choice(np.array(tiny), n),
        "cents": np.round(rng.normal(size=n) * 1e5, 2),
        "halves": rng.integers(-9, 9, n) / 2,
        "flag": rng.random(n) < 0.5,
        "big": pa.array(rng.integers(0, 2**50, n).astype("u8"), pa.uint64()),
        "decimal": pa.array(
            [Decimal(int(c)).scaleb(-2) for c in rng.integers(-(10**17), 10**17, n)],
            pa.decimal128(18, 2),
        ),
        "gaps": pa.array([None if a < 0.2 else a for a in rng.random(n)]),
        "w": rng.random(n) * 10.0 ** rng.integers(-6, 2, n),
        "pence": np.round(rng.random(n) * 10, 2),
    }


def test_amounts_are_added_and_ranked_alike(tmp_path, master):
    path = written(tmp_path, **hard_amounts())
    fine = ["edges", "tiny", "gaps", "halves", "flag", "big", "decimal"]
    wishes = [
        Request(dimensions=["x"], sums=sums, weight=weight, top=top, missing_values="skip")
        for sums, weight, top in ((["wide"], "w", 3), (fine, None, 6), (["cents"], "pence", 2))
    ]
    ours, theirs = both(path, ID, wishes, master=master)
    for cells in ours:
        found = cells.magnitudes
        assert all(amounts.contributors.any() for amounts in found.values())
        assert any((amounts.top < 0).any() for amounts in found.values())
    require_same(ours, theirs)


def test_tables_with_amounts_and_without_share_a_statement(tmp_path, master):
    path = written(tmp_path, **hard_amounts(200))
    wishes = [
        Request(dimensions=["x"], sums=["cents"], top=1, where="cents > 0"),
        Request(dimensions=["flag"], sums=["halves", "cents"]),
        Request(dimensions=[]),
    ]
    ours, theirs = both(path, ID, wishes, master=master, sketch=1)
    assert [cells.magnitudes is None for cells in ours] == [False, False, True]
    require_same(ours, theirs)


def test_amounts_that_cannot_be_added_up_are_refused_by_both(tmp_path, master):
    path = written(
        tmp_path,
        id=[1, 2],
        infinite=[1.0, float("inf")],
        gaps=[1.0, None],
        vast=[9e21, 9e21],
        word=["a", "b"],
    )
    for source in (open_source(path), open_spark(path, master=master)):
        with source:
            for column, problem in {
                "infinite": "are infinite",
                "gaps": "no value in 'gaps'",
                "vast": "too large",
            }.items():
                with pytest.raises(DataError, match=problem) as caught:
                    cube(source, ID, [Request(dimensions=[], sums=[column])])
                assert "hint" in str(caught.value)
            with pytest.raises(RequestError, match="neither sum"):
                cube(source, ID, [Request(dimensions=[], sums=["word"])])
            with pytest.raises(RequestError, match="'lost' is not in the data"):
                cube(source, ID, [Request(dimensions=[], sums=["lost"])])


@pytest.mark.parametrize(
    ("kind", "problem"),
    [(pa.float32(), "single precision"), (pa.decimal128(38, 18), "more than 15 digits")],
)
def test_amounts_whose_double_depends_on_the_engine_are_refused(
    tmp_path, master, kind, problem
):
    path = written(tmp_path, id=[1, 2], v=pa.array([1, 2]).cast(kind))
    with (
        open_spark(path, master=master) as source,
        pytest.raises(RequestError, match=problem) as caught,
    ):
        cube(source, ID, [Request(dimensions=[], sums=["v"])])
    assert "double precision" in str(caught.value)


def test_no_record_gives_no_cell(tmp_path, master):
    path = written(tmp_path, id=pa.array([], pa.int64()), x=pa.array([], pa.string()))
    wishes = [
        Request(dimensions=["x"]),
        Request(dimensions=[]),
        Request(dimensions=["x"], where="x = 'a'"),
        Request(dimensions=["x"], sums=["id"], top=2),
    ]
    require_same(*both(path, ID, wishes, master=master, sketch=1))


def test_neither_the_secret_nor_a_record_shows_in_a_plan_or_a_log(
    tmp_path, master, capfd, caplog, monkeypatch
):
    path = written(tmp_path, id=["marker-4711", "b"], x=["a", "b"], w=[4.25e30, 1.0])
    plans = []
    asked = open_spark.__globals__["SparkSource"]._received

    def ask(self, sql, given, receive, **options):
        def taken(rows, wanted):
            answer = receive(rows, wanted)
            plan, words = rows._jdf.queryExecution(), self._session._jvm.PythonSQLUtils
            plans.append(plan.toString())
            plans.extend(words.explainString(plan, mode) for mode in ("extended", "codegen"))
            return answer

        plans.extend([] if self._cache is None else [self._cache.key])
        return asked(self, sql, given, taken, **options)

    monkeypatch.setattr("tables.spark.spark.SparkSource._received", ask)
    with open_spark(path, master=master) as source:
        cube(source, ID, [Request(dimensions=["x"])], sketch=1)
        source._drop_cache()
        source._hashes_arrays = False  # as where workers have no Python
        cube(source, ID, [Request(dimensions=["x"])], sketch=1)
        with pytest.raises(DataError, match="too large to be added up exactly") as caught:
            cube(source, ID, [Request(dimensions=["x"], weight="w")])
    assert caught.value.__context__ is None
    assert "4.25" not in str(caught.value)
    pads = [part for part in plans if isinstance(part, bytes)]
    texts = [part for part in plans if isinstance(part, str)]
    assert len(pads) >= 2
    assert any("aes_encrypt" in text for text in texts)
    assert any("ckm_hash" in text for text in texts)
    assert any("sha2" in text for text in texts)
    signed = [", ".join(str(b - 256 * (b > 127)) for b in pad[:6]) for pad in pads]
    forms = [*(pad[:6].hex() for pad in pads), *signed]
    shown = "".join([*texts, *capfd.readouterr(), caplog.text]).lower()
    for form in [*forms, "marker-4711", "4.25e", "sixteen bytes"]:
        assert form not in shown


def test_a_text_that_is_no_utf_8_is_refused_by_both(tmp_path, master):
    raw = pa.array([b"a\xff", b"b"], pa.binary())
    path = written(tmp_path, id=[1, 2], x=raw.view(pa.string()))
    for source in (open_source(path), open_spark(path, master=master)):
        with source, pytest.raises(SourceError, match="damaged or not of its format"):
            cube(source, ID, [Request(dimensions=["x"])])


def test_poor_keys_and_weights_are_refused_by_both(tmp_path, master):
    path = written(
        tmp_path, id=["a", None, "a"], key=[1, 2, 300], w=[1.0, -1.0, float("nan")], x=[1, 2, 3]
    )
    byte = StoredKeys(column="key", key_range=256)
    wide = StoredKeys(column="key", key_range=2**40)
    for source in (open_source(path), open_spark(path, master=master)):
        with source:
            with pytest.raises(KeyQualityError, match="have no 'id'"):
                check_keys(source, ID)
            with pytest.raises(KeyQualityError, match="lie outside"):
                check_keys(source, byte)
            with pytest.raises(DataError, match="no weight in 'w'"):
                cube(source, wide, [Request(dimensions=["x"], weight="w")])


def test_stored_keys_in_floating_point_are_refused_with_a_way_out(tmp_path, master):
    path = written(tmp_path, key=[0.1, 0.2], x=[1, 2])
    with (
        open_spark(path, master=master) as source,
        pytest.raises(RequestError, match="floating point") as caught,
    ):
        cube(source, StoredKeys(column="key"), [Request(dimensions=["x"])])
    assert "hint" in str(caught.value)


def test_columns_of_types_that_spark_lacks_are_refused_and_others_serve(tmp_path, master):
    path = written(
        tmp_path,
        id=[1, 2],
        x=["a", "b"],
        fine=pa.array([1, 2], pa.timestamp("ns")),
        blob=[b"a", b"b"],
        time=pa.array([1, 2], pa.time64("us")),
    )
    with open_spark(path, master=master) as source:
        assert len(cube(source, ID, [Request(dimensions=["x"])])[0].count) == 3
        for name in ("fine", "blob", "time"):
            with pytest.raises(RequestError, match=repr(name)):
                cube(source, ID, [Request(dimensions=[name])])


def test_files_that_spark_would_skip_are_refused(tmp_path, master):
    for name in ("a.parquet", "_b.parquet"):
        written(tmp_path, name=name, id=[1], x=["a"])
    with pytest.raises(SourceError, match="does not read every file") as caught:
        open_spark(tmp_path / "*.parquet", master=master)
    assert "rename" in str(caught.value)


@pytest.mark.parametrize("scheme", ["s3", "S3A", "hdfs", "abfss", "gs"])
def test_an_address_with_a_password_is_refused_before_spark_has_it(scheme):
    with pytest.raises(SourceError, match="must not hold a password") as caught:
        open_spark(f"{scheme}://name:open/sesame@bucket/people", master="local[0]")
    assert "sesame" not in str(caught.value)


def test_a_bucket_that_is_not_there_is_like_a_file_that_is_not():
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    told = OSError("org.apache.hadoop.fs.s3a.UnknownStoreException: Bucket does not exist")
    assert str(explain(told, "s3://b/x")).startswith("No file matches 's3://b/x'")
    assert "place of its tables" in str(explain(told, "s3://b/x"))


def test_csv_files_and_missing_ones_are_refused(tmp_path, master):
    (tmp_path / "a.csv").write_text("id,x\n1,a\n")
    with pytest.raises(SourceError, match="Parquet files alone"):
        open_spark(tmp_path / "a.csv", master=master)
    with pytest.raises(SourceError, match="No file matches"):
        open_spark(tmp_path / "b.parquet", master=master)


def test_spark_prepares_no_records_and_gives_none_away(tmp_path, master):
    path = written(tmp_path, id=[1], x=["a"])
    with open_spark(path, master=master) as source:
        assert "spark" in repr(source).lower()
        with pytest.raises(SourceError, match="no records ready"):
            prepare(source, ID, requests={"x": Request(dimensions=["x"])})
        with pytest.raises(SourceError, match="not copied"):
            source.copy("SELECT 1", {}, str(tmp_path / "b.parquet"))
        with pytest.raises(SourceError, match="not fetched"):
            source.batches("SELECT 1", rows=1)
        with pytest.raises(SourceError, match="on the fly"):
            source.aside("SELECT 1")


def test_a_second_master_in_one_process_is_refused(master):
    with pytest.raises(SourceError, match="already runs") as caught:
        open_session("local[3]")
    assert master in str(caught.value)


def test_masters_are_told_from_other_texts():
    for text in ("local", "local[*]", "local[4]", "yarn", "spark://a-b.c:7077,d:7077"):
        assert is_master(text)
    for text in ("", "spark", "host:7077", "local[0]", "spark://a", "duckdb", "local[*] "):
        assert not is_master(text)
    with pytest.raises(SourceError, match="no master of Spark"):
        open_session("head:7077")


def test_missing_java_and_missing_packages_are_told_with_a_way_out(monkeypatch):
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(SourceError, match="needs Java 17") as caught:
        open_session("local[2]")
    assert "JAVA_HOME" in str(caught.value)
    monkeypatch.setenv("JAVA_HOME", os.devnull)
    with pytest.raises(SourceError, match="JAVA_HOME names a folder"):
        open_session("local[2]")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(SourceError, match="not installed") as caught:
        open_session("local[2]")
    assert "pip install '.[spark]'" in str(caught.value)


def test_progress_runs_from_0_to_1(tmp_path, master):
    path = written(tmp_path, id=range(50), x=range(50))
    seen = []
    with open_spark(path, master=master) as source:
        cube(source, ID, [Request(dimensions=["x"])], progress=seen.append)
    assert seen == sorted(seen)
    assert all(0 <= share <= 1 for share in seen)


def test_an_interrupt_stops_the_work_and_spark_serves_on(tmp_path, master, monkeypatch):
    path = written(tmp_path, id=range(20), x=range(20))

    def interrupt(_share):
        raise KeyboardInterrupt

    monkeypatch.setattr("tables.source.source._TICK_S", 0.001)
    with open_spark(path, master=master) as source:
        with pytest.raises(KeyboardInterrupt):
            cube(source, ID, [Request(dimensions=["x"])], progress=interrupt)
        assert cube(source, ID, [Request(dimensions=["x"])])[0].count[-1] == 20


class Files(list):
    """Java's iterator of the files below a folder."""

    hasNext = list.__len__  # noqa: N815  (Java's name)

    def next(self):
        return self.pop(0)


@pytest.mark.parametrize("tells", [True, False])
def test_etags_are_those_that_a_connector_tells(monkeypatch, tells):
    java_gateway = pytest.importorskip("py4j.java_gateway", reason="PySpark is not installed")
    told = {"s3a://b/x": "e1", "s3a://b/y": None}
    files = {
        name: SimpleNamespace(
            getPath=lambda name=name: SimpleNamespace(toString=lambda: name),
            getEtag=lambda etag=etag: etag,
        )
        for name, etag in told.items()
    }
    store = SimpleNamespace(
        globStatus=lambda path: [SimpleNamespace(getPath=lambda: path.top)],
        listFiles=lambda top, deep: Files(
            files.values() if (top, deep) == ("s3a://b", True) else ()
        ),
    )
    path = SimpleNamespace(top="s3a://b", getFileSystem=lambda conf: store if conf else None)
    hadoop = SimpleNamespace(
        fs=SimpleNamespace(Path=lambda text: path if text == "s3a://b*" else None)
    )
    java = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(hadoop=hadoop)))
    asked = []
    monkeypatch.setattr(
        java_gateway,
        "is_instance_of",
        lambda _, file, name: asked.append((file, name)) or tells,
    )
    source = object.__new__(SparkSource)
    source._context = SimpleNamespace(
        _jvm=java, _gateway=None, _jsc=SimpleNamespace(hadoopConfiguration=lambda: "conf")
    )
    assert source._etags("s3a://b*") == ({"s3a://b/x": "e1", "s3a://b/y": ""} if tells else {})
    assert asked[0] == (files["s3a://b/x"], "org.apache.hadoop.fs.EtagSource")
    source._context = None
    assert source._etags("s3a://b*") == {}


def test_footers_tell_that_there_are_records_and_spark_does_no_work_for_it():
    source = object.__new__(SparkSource)
    source._relation, source._n_described = "records", 3
    asked = []
    source.fetch = lambda sql, _: asked.append(sql) or [(0,)]
    assert source.has_rows("records")
    assert not asked
    assert not source.has_rows("records WHERE false")
    source._n_described = 0  # of a store nothing is known
    assert not source.has_rows("records")
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "java.nio.file.AccessDeniedException: s3a://b/t: 403 of Ann",
            "no right to read 'people'",
        ),
        ("java.io.IOException: Mkdirs failed to create file:/t", "No folder can be made"),
        ("NoAuthWithAWSException: no credentials of Ann", "no key for 'people'"),
        ("java.net.UnknownHostException: s3.ann", "Nobody knows the server of 'people'"),
        ("java.net.ConnectException: Connection refused", "does not answer"),
        ("[TABLE_OR_VIEW_NOT_FOUND] The table `ann`", "catalog of Spark has no table 'people'"),
        ("org.apache.hadoop.hive.ql.metadata.HiveException: Ann", "catalog of Spark does not"),
        ("No FileSystem for scheme gs", "no connector for 'people', or for the place"),
    ],
)
def test_a_place_that_spark_cannot_use_is_told_without_its_text(said, told):
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    error = explain(OSError(said), "people")
    assert told in str(error)
    assert "ann" not in str(error).lower().replace("cannot", "")


@pytest.mark.slow
def test_what_exists_is_no_pattern_on_a_store_either(tmp_path, monkeypatch, master):
    from tables.spark import spark

    for folder, value in (("d [v1]", "asked"), ("d v", "other"), ("d 1", "other")):
        for region in ("[1]", "2"):
            (tmp_path / folder / f"region={region}").mkdir(parents=True)
            file = tmp_path / folder / f"region={region}" / "p{1}.parquet"
            pq.write_table(pa.table({"v": [value]}), file)
    monkeypatch.setattr(spark, "_far", lambda path: path.replace("hdfs://", "file://"))

    def rows(path):
        with open_spark(f"hdfs://{tmp_path}/{path}", master=master) as source:
            columns = ", ".join(source.columns)
            listed = f"SELECT {columns}, count(*) AS n FROM {source.relation} GROUP BY ALL"
            assert source.far_files()
            return sorted(source.fetch(listed))

    both = [("asked", "2", 1), ("asked", "[1]", 1)]
    assert rows("d [v1]") == both
    assert rows("d [v1]/region=*") == both
    assert rows("d [v1]/region=*/*.parquet") == both
    assert rows("d [v1]/region=[1]") == [("asked", 1)]
    assert rows("d [v1]/region=[1]/p{1}.parquet") == [("asked", 1)]
    assert rows("d [v]/region=2") == [("other", "2", 1)]  # what is below the wildcard
