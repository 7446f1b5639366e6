"""SQLite: columns are read by their declared types and by all of their values."""

import contextlib
import sqlite3

import pytest

from tables import SourceError, open_source
from tables.source.sqlite import path_of


def made(folder, declared, values, name="p.sqlite", column="v"):
    with contextlib.closing(sqlite3.connect(folder / name)) as base, base:
        base.execute(f'create table t (id integer, "{column}" {declared})')
        rows = enumerate(values)
        base.executemany("insert into t values (?, ?)", rows)
    return f"sqlite:///{folder / name}"


def read(address, **options):
    """Return the type of the column v, and its values in order of id."""
    options = options or {"table": "t"}
    with open_source(address, **options) as source:
        rows = source.fetch(f"SELECT v FROM {source.records} ORDER BY id")
        return source.columns["v"], [row[0] for row in rows]


def texts(address):
    with open_source(address, table="t") as source:
        rows = source.fetch(f"SELECT v::VARCHAR FROM {source.relation} ORDER BY id")
        return source.columns["v"], [row[0] for row in rows]


@pytest.mark.parametrize(
    ("declared", "values", "kind", "wanted"),
    [
        ("text", ["x", "01"], "VARCHAR", ["x", "01"]),
        ("text collate nocase", ["a", "A"], "VARCHAR", ["a", "A"]),
        ("varchar(3)", ["1", "1.0"], "VARCHAR", ["1", "1.0"]),
        ("integer", [1, 2**63 - 1, -(2**63)], "BIGINT", [str(2**63 - 1), str(-(2**63))]),
        ("integer", [1, 2.5], "DOUBLE", ["1.0", "2.5"]),
        ("integer", [1, 2.5, 2**53 + 1], "VARCHAR", ["1", "2.5", str(2**53 + 1)]),
        ("integer", [1, "1a"], "VARCHAR", ["1", "1a"]),
        ("real", [1, 1.5], "DOUBLE", ["1.0", "1.5"]),
        ("real", [0.1, "n/a"], "VARCHAR", ["0.1", "n/a"]),
        ("decimal(10,2)", [1, 1.5, 0.1], "DECIMAL(10,2)", ["1.00", "1.50", "0.10"]),
        ("decimal(3,2)", [1, 1234.5], "DECIMAL(38,2)", ["1.00", "1234.50"]),
        ("decimal(10,2)", [1, 1.505], "DOUBLE", ["1.0", "1.505"]),
        ("decimal(10,2)", [1, "n/a"], "VARCHAR", ["1", "n/a"]),
        ("numeric(5)", [1, 2], "DECIMAL(5,0)", ["1", "2"]),
        ("numeric(50, 2)", [1, 2.5], "DOUBLE", ["1.0", "2.5"]),
        ("numeric", [2.123456781, 2.123456789, "abc"], "VARCHAR", None),
        ("numeric", [2.0, 3, "x"], "VARCHAR", ["2", "3", "x"]),
        ("", [1.0, 1, 1e300, "x"], "VARCHAR", ["1", "1", "1e+300", "x"]),
        ("boolean", [0, 1], "BOOLEAN", ["false", "true"]),
        ("boolean", [0, 1, 2], "BIGINT", ["0", "1", "2"]),
        ("boolean", ["true", "false"], "VARCHAR", ["true", "false"]),
        ("date", ["2024-02-29"], "DATE", ["2024-02-29"]),
        ("date", ["2024-02-29", "2024-02-30"], "VARCHAR", None),
        ("date", [19782], "BIGINT", ["19782"]),
        ("datetime", ["2024-02-29 01:02:03"], "TIMESTAMP", ["2024-02-29 01:02:03"]),
        ("timestamp", ["2024-02-29T01:02:03"], "VARCHAR", ["2024-02-29T01:02:03"]),
        ("time", ["01:02:03"], "TIME", ["01:02:03"]),
    ],
)
def test_a_column_is_what_all_its_values_are(tmp_path, declared, values, kind, wanted):
    wanted = list(map(str, values)) if wanted is None else wanted
    for missing in (0, 1500):
        address = made(tmp_path, declared, [None] * missing + values, f"{missing}.sqlite")
        found, rows = texts(address)
        assert found == kind
        assert rows[missing:][-len(wanted) :] == wanted
        assert rows[:missing] == [None] * missing


def test_batches_are_read_as_one(tmp_path, monkeypatch):
    monkeypatch.setattr("tables.source.sqlite._VALUES", 8)
    values = [1, None, 2.5, 3, "x"] * 7
    wanted = [None if value is None else str(value) for value in values]
    assert texts(made(tmp_path, "numeric", values)) == ("VARCHAR", wanted)


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("integer", "BIGINT"),
        ("double precision", "DOUBLE"),
        ("decimal(9,3)", "DECIMAL(9,3)"),
        ("numeric", "DOUBLE"),
        ("date", "DATE"),
        ("boolean", "BOOLEAN"),
        ("nchar(4)", "VARCHAR"),
        ("", "VARCHAR"),
    ],
)
def test_a_column_of_nothing_is_of_its_declared_type(tmp_path, declared, kind):
    assert read(made(tmp_path, declared, [None, None])) == (kind, [None, None])
    assert read(made(tmp_path, declared, [], "empty.sqlite")) == (kind, [])


def test_bytes_are_named_where_they_are_used_and_nowhere_else(tmp_path):
    address = made(tmp_path, "blob", [b"\xff", "x", 1])
    with open_source(address, table="t") as source:
        assert source.kinds == {"id": "integer", "v": "other"}


def test_a_query_keeps_the_declared_types_of_columns(tmp_path):
    address = made(tmp_path, "decimal(10,2)", [1, 2.5])
    query = "SELECT id, v AS v, v * 2 AS twice, 'x;' AS said FROM t -- all"
    with open_source(address, query=query) as source:
        kinds = {"id": "BIGINT", "v": "DECIMAL(10,2)", "twice": "DOUBLE", "said": "VARCHAR"}
        assert source.columns == kinds
    assert read(address, query="WITH w AS (SELECT * FROM t) SELECT * FROM w;")[1] == [1, 2.5]


def test_texts_in_another_encoding_are_told_without_a_value(tmp_path):
    address = made(tmp_path, "text", ["a"])
    with contextlib.closing(sqlite3.connect(tmp_path / "p.sqlite")) as base, base:
        base.execute("insert into t values (1, cast(x'4df96e746fe9' as text))")
    with pytest.raises(SourceError, match="texts that are not in UTF-8"):
        open_source(address, table="t")


@pytest.mark.parametrize(
    "name", ["a[1]", "b*", "c?d=e", "f#g", "h%20i", "j k", "é", "l'm", '"']
)
def test_an_sqlite_file_of_any_name_is_that_file(tmp_path, name):
    for other in ("a1", "bx", "c", "f", "h i"):
        made(tmp_path, "text", ["other"], f"{other}.sqlite")
    assert read(made(tmp_path, "text", ["asked"], f"{name}.sqlite"))[1] == ["asked"]


def test_an_address_is_relative_with_three_slashes_and_absolute_with_four(tmp_path):
    file = tmp_path / "p q.sqlite"
    file.touch()
    (tmp_path / "below").mkdir()
    for address in ("sqlite:///p q.sqlite", "sqlite:///p%20q.sqlite", "sqlite://p q.sqlite"):
        assert path_of(address, tmp_path) == file
    for address in (f"sqlite:///{file}", f"sqlite://{file}"):
        assert path_of(address, tmp_path / "below") == file
    inner = tmp_path / "below" / str(file)[1:]
    inner.parent.mkdir(parents=True)
    inner.touch()
    assert path_of(f"sqlite://{file}", tmp_path / "below") == inner
    assert path_of(f"sqlite:///{file}", tmp_path / "below") == file
