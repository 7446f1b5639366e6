"""A skeleton of a schema: names alone, and what editors check it by."""

import dataclasses
import json
import os

import pandas as pd
import pytest

from synth import Category, Date, DomainError, EditRule, Real, Schema, Unit, Whole
from synth.schema.nesting import Parents
from synth.schema.skeleton import editor_schema, skeleton, skeleton_text


def test_of_csv_the_header_is_read_and_no_byte_after_it(tmp_path):
    """In a pipe, what nobody has read is still there."""
    pipe = tmp_path / "people.csv"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    os.write(end, b'\xef\xbb\xbfage,"name, first\nand last",sex\r\n17,secret,F\n')
    made = skeleton(pipe)
    assert made.names == ["age", "name, first\nand last", "sex"]
    assert os.read(end, 100) == b"17,secret,F\n"
    os.close(end)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_types_of_a_file_propose_kinds_and_no_value_is_read(tmp_path, ending):
    frame = pd.DataFrame(
        {"a": [1, 999], "b": [1.5, 2], "c": ["x", "y"], "d": pd.to_datetime(["2020-01-01"] * 2)}
    )
    file = tmp_path / f"f.{ending}"
    if ending == "parquet":
        frame.to_parquet(file)
    else:
        frame.to_feather(file)
    made = skeleton(file)
    assert [one.kind for one in made.columns] == ["whole", "real", "category", "date"]
    assert made.undeclared == ["a", "b", "c", "d"]
    assert "999" not in skeleton_text(made)


def test_a_skeleton_is_a_schema_in_which_nothing_is_declared(tmp_path):
    (tmp_path / "f.csv").write_text("age,sex\n17,F\n")
    text = skeleton_text(skeleton(tmp_path / "f.csv"))
    made = Schema.from_json(text)
    assert made.undeclared == ["age", "sex"]
    assert json.loads(text)["columns"][0]["values"] is None


@pytest.mark.parametrize(
    ("name", "content"),
    [("f.csv", b"\xff\xfe"), ("f.csv", b""), ("f.sas", b""), ("f.parquet", b"x")],
)
def test_what_has_no_header_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises((DomainError, ValueError)):
        skeleton(tmp_path / name)


def test_the_schema_for_editors_knows_every_entry():
    made = editor_schema()
    entries = made["properties"]
    assert {one.name for one in dataclasses.fields(Schema)} <= {*entries}
    kinds = {
        one["properties"]["kind"]["const"]: one for one in entries["columns"]["items"]["anyOf"]
    }
    for kind in (Category, Whole, Real, Date):
        names = {one.name for one in dataclasses.fields(kind)}
        assert {*kinds[kind.kind]["properties"]} == {"kind", *names}
        assert kinds[kind.kind]["required"] == ["kind", "name"]
    for kind, part in ((Unit, "unit"), (Parents, "parents")):
        own = entries[part]["items"] if part == "parents" else entries[part]
        assert {*own["properties"]} == {one.name for one in dataclasses.fields(kind)}
    assert entries["rules"]["items"]["anyOf"][1]["required"] == ["text"]
    assert dataclasses.fields(EditRule)[0].name == "text"
