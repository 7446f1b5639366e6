"""A byte order mark, as editors of Windows write it, is no part of a text."""

import json

import pytest

from footing.text_files import read_text
from ptable import NoiseSpec, PTable, solve
from synth import Schema

MARK = b"\xef\xbb\xbf"


def test_a_byte_order_mark_is_no_part_of_a_text(tmp_path):
    (tmp_path / "a").write_bytes(MARK + "é".encode())
    assert read_text(tmp_path / "a") == "é"
    (tmp_path / "a").write_bytes(MARK)
    assert read_text(tmp_path / "a") == ""
    (tmp_path / "a").write_bytes(b"\xe9")
    with pytest.raises(UnicodeDecodeError):
        read_text(tmp_path / "a")


def test_a_ptable_and_a_schema_with_a_mark_are_read(tmp_path):
    table = solve(NoiseSpec(max_noise=2, variance=1.0))
    file = tmp_path / "pt.json"
    table.write(file)
    file.write_bytes(MARK + file.read_bytes())
    assert PTable.read(file).id == table.id
    schema = {"format": "x"}
    (tmp_path / "s.json").write_bytes(MARK + json.dumps(schema).encode())
    with pytest.raises(Exception, match="schema") as caught:
        Schema.read(tmp_path / "s.json")
    assert "cannot be read" not in str(caught.value)
