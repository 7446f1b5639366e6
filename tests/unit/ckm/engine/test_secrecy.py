"""The disclosure scan: markers in records, identifiers and secrets are never found again."""

from __future__ import annotations

import logging
import pickle
import traceback

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ckm
from tables import (
    HashedKeys,
    KeyQualityWarning,
    Request,
    Secret,
    attach_keys,
    cube,
    draw_keys,
    open_source,
)
from tests.strategies import worked_ptable

MARKERS = ("MARKERVALUE", "MARKERID", "MARKERSECRET", "MARKEROTHER")
SECRET = Secret(b"MARKERSECRET-0123456789")
PTABLE = worked_ptable()


def shown_by(error):
    """Everything that a handler of an error can print, however deep it digs."""
    parts = ["".join(traceback.format_exception(error))]
    while error is not None:
        parts += [str(error), repr(error), repr(error.args), repr(vars(error))]
        parts.append(repr(getattr(error, "object", "")))
        error = error.__cause__ or error.__context__
    return "\n".join(parts)


def clean(text, *more):
    for marker in (*MARKERS, *more, SECRET._value.hex()):
        assert marker not in text, marker
    return True


def people(size=200):
    return pd.DataFrame(
        {
            "id": [f"MARKERID{n}" for n in range(size)],
            "x": ["MARKERVALUE" if n == 7 else "a" for n in range(size)],
            "n": np.arange(size) + 987_000,
        }
    )


def engine(data, **options):
    return ckm.Engine(data, **{"id": "id", "secret": SECRET, "ptable": PTABLE} | options)


def test_no_object_shows_a_record_a_key_or_a_secret():
    with engine(people()) as one, open_source(people()) as source:
        keys = HashedKeys(column="id", secret=SECRET)
        (cells,) = cube(source, keys, [Request(dimensions=["x"])])
        objects = [one, source, keys, SECRET, cells, cells.axes, one.check_keys()]
        objects += [axis.levels for axis in cells.axes]
        table = one.tabulate(["x"], empty_cells="drop")
        assert clean(" ".join(repr(thing) + str(thing) for thing in objects))
        view = one._repr_html_()
        assert clean(view, "200", one.ptable.id[:8], *map(str, one.ptable.upper[1][:-1]))
        assert "<td>id, x, n</td>" in view
        numbers = [*cells.cell_key.tolist(), *cells.count.tolist()]
        assert not any(str(n) in " ".join(map(repr, objects)) for n in numbers if n > 9)
        assert clean(repr(table), "array")


def test_no_log_record_shows_a_record_a_key_a_secret_or_a_count(caplog):
    caplog.set_level(logging.DEBUG)
    size = 8123
    with engine(people(size)) as one:
        one.tabulate(["x"], where="x = 'MARKERVALUE' or n > 0")
    assert caplog.records
    # When and where it was written: such numbers have any digits.
    clocks = {"created", "msecs", "relativeCreated", "thread", "process"}
    for record in caplog.records:
        own = {name: value for name, value in vars(record).items() if name not in clocks}
        assert clean(record.getMessage() + repr(own), str(size))


def test_a_secret_inside_an_object_cannot_be_pickled_either():
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(HashedKeys(column="id", secret=SECRET))


def raises(action):
    with pytest.raises(ValueError, match=r".") as caught:
        action()
    assert clean(shown_by(caught.value), "987", "98700")
    return str(caught.value)


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "id,x\nMARKERID1,a\nMARKERID2,MARKERVALUE,MARKEROTHER\n",
        "id,x\nMARKERID1,a\nMARKERID2\n",
        'id,x\nMARKERID1,"MARKERVALUE\n',
        'id,x\nMARKERID1,"MARKER" VALUE\n',
        b"id,x\nMARKERID1,MARKERVALUE\xff\n",
        b"id,x\xff\nMARKERID1,MARKERVALUE\n",
    ],
    ids=["too many", "too few", "open quote", "stray quote", "bytes", "bytes in header"],
)
def test_a_broken_csv_file_shows_no_record(tmp_path, text):
    path = write(tmp_path / "people.csv", text)
    raises(lambda: engine(path).tabulate(["x"]))


def damaged(path, start, stop):
    table = pa.table(people(20_000))
    pq.write_table(table, path, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[start:stop] = b"\xff" * (stop - start)
    return write(path, bytes(content))


@pytest.mark.parametrize("place", [(4, 400), (3000, 9000), (-400, -8)])
def test_a_damaged_parquet_file_shows_no_record(tmp_path, place):
    path = tmp_path / "people.parquet"
    start, stop = place
    if start < 0:
        pq.write_table(pa.table(people()), path)
        size = path.stat().st_size
        start, stop = size + start, size + stop
        content = bytearray(path.read_bytes())
        content[start:stop] = b"\xff" * (stop - start)
        write(path, bytes(content))
    else:
        damaged(path, start, stop)
    raises(lambda: engine(path).tabulate(["x", "id"], margins="none"))


def test_a_truncated_parquet_file_shows_no_record(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table(people()), path)
    write(path, path.read_bytes()[:-500])
    raises(lambda: engine(path))


def test_a_file_that_is_gone_while_it_is_read_shows_no_record(tmp_path):
    for name in ("people.parquet", "people.csv"):
        path = tmp_path / name
        frame = people()
        frame.to_parquet(path) if name.endswith("t") else frame.to_csv(path, index=False)
        with engine(path) as one:
            path.unlink()
            raises(lambda one=one: one.tabulate(["x"]))


def test_a_file_that_changed_while_it_was_open_shows_no_record(tmp_path):
    path = tmp_path / "people.csv"
    people().drop(columns="x").to_csv(path, index=False)
    with engine(path) as one:
        path.write_text("id,n\nMARKERID1,MARKERVALUE\n")
        raises(lambda: one.tabulate(["n"]))


def test_values_that_overflow_or_do_not_convert_show_no_record(tmp_path):
    data = people().assign(w=9.87e30)
    raises(lambda: engine(data, weight="w").tabulate(["x"], measures=["weighted"]))
    file = tmp_path / "odd.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'MARKERID1' AS id, uuid() AS x")
        connection.execute(
            "CREATE VIEW v AS SELECT id, CAST('MARKERVALUE' || id AS INT) AS x FROM t"
        )
    raises(lambda: engine(file, table="v").tabulate(["x"]))


def test_errors_about_the_data_name_columns_and_no_category():
    frame = people()
    declared = {"x": ["a"]}
    assert "'x'" in raises(lambda: engine(frame, categories=declared).tabulate(["x"]))
    frame["x2"] = frame["x"]
    raises(
        lambda: engine(
            frame, hierarchies={"geo": ["x", "x2"]}, categories={"geo": [["a", "a"]]}
        ).tabulate(["geo"])
    )
    raises(lambda: engine(frame).tabulate(["y"], where="x = 5"))
    raises(lambda: engine(frame).tabulate(["x"], where="x = 'MARKER'' or"))
    raises(lambda: engine(frame, weight="x").tabulate(["x"], measures=["weighted"]))
    mixed = frame.assign(x=[object() if n == 3 else n % 50 for n in range(len(frame))])
    engine(mixed).tabulate(["x"])
    frame.loc[5, "id"] = frame.loc[4, "id"]
    raises(lambda: engine(frame).tabulate(["x"]))
    frame.loc[5, "id"] = None
    raises(lambda: engine(frame).tabulate(["x"]))


def test_warnings_about_keys_show_no_key():
    frame = people().assign(id="MARKERID")
    with pytest.warns(KeyQualityWarning) as warned:
        engine(frame, checks="warn").tabulate(["x"])
    assert all(clean(str(warning.message)) for warning in warned)


def test_key_files_that_cannot_be_written_show_no_record(tmp_path):
    with open_source(people()) as source:
        for action in (
            lambda: draw_keys(source, path=tmp_path / "absent" / "k.parquet"),
            lambda: attach_keys(
                source, id="id", secret=SECRET, path=tmp_path / "absent" / "k.parquet"
            ),
            lambda: draw_keys(source, path=tmp_path),
        ):
            raises(action)


def test_files_of_published_tables_hold_no_marker_of_a_hidden_cell(tmp_path):
    """Metadata included: pandas and Arrow like to write more than the columns."""
    table = engine(people()).tabulate(["x"], where="n >= 0")
    for name in ("t.csv", "t.parquet"):
        table.write(tmp_path / name)
        content = (tmp_path / name).read_bytes()
        assert b"MARKERID" not in content
        assert b"MARKERSECRET" not in content
        assert b"n >= 0" not in content
