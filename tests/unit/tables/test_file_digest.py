"""Files of records that we write tell when a bit of them changed."""

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables import Secret, SourceError, attach_keys, draw_keys, open_source
from tables.file_digest import add_digest, require_undamaged

COLUMNS = {"id": [1, 2, 3], "sex": ["F", "M", "é"]}


@pytest.fixture(params=["attach", "draw"])
def file(request, tmp_path):
    made = tmp_path / "keys.parquet"
    with open_source(pa.table(COLUMNS)) as source:
        if request.param == "attach":
            attach_keys(source, id="id", secret=Secret(bytes(16)), path=made)
        else:
            draw_keys(source, path=made)
    return made


def test_a_bit_that_flips_anywhere_is_an_error_or_lies_in_the_mark(file):
    raw = file.read_bytes()
    require_undamaged(file)
    quiet = []
    for place in range(len(raw)):
        file.write_bytes(raw[:place] + bytes([raw[place] ^ 1 << place % 8]) + raw[place + 1 :])
        try:
            require_undamaged(file)
        except SourceError as error:
            assert "'keys.parquet' is damaged" in str(error)  # noqa: PT017
        else:
            quiet.append(place)
    # Where the mark is hit nobody looks; where the footer's length is, no reader finds it.
    tail = range(len(raw) - 8, len(raw))
    mark = raw.index(b"\nckm sha256")
    assert {*quiet} <= {*range(mark, mark + 44), *tail}
    for place in tail:
        file.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        with pytest.raises(SourceError):
            open_source(file)


def test_a_damaged_file_of_keys_is_no_source(file):
    raw = bytearray(file.read_bytes())
    raw[10] ^= 1
    file.write_bytes(raw)
    with pytest.raises(SourceError, match=r"'keys\.parquet' is damaged"):
        open_source(file)
    with pytest.raises(SourceError, match=r"'keys\.parquet' is damaged"):
        open_source(file.parent)


def test_other_programs_read_what_stands_in_a_file_with_a_digest(file):
    expected = {"id": COLUMNS["id"], "sex": COLUMNS["sex"]}
    for read in (
        lambda: pq.read_table(file).to_pydict(),
        lambda: pd.read_parquet(file).to_dict("list"),
        lambda: pl.read_parquet(file).to_dict(as_series=False),
        lambda: duckdb.sql(f"FROM '{file}'").to_arrow_table().to_pydict(),
    ):
        found = read()
        assert found.pop("record_key") is not None
        assert found == expected


def test_files_of_other_programs_need_no_digest(tmp_path):
    pq.write_table(pa.table(COLUMNS), tmp_path / "p.parquet")
    require_undamaged(tmp_path / "p.parquet")
    (tmp_path / "short").write_bytes(b"PAR1")
    require_undamaged(tmp_path / "short")
    add_digest(tmp_path / "short")
    assert (tmp_path / "short").read_bytes() == b"PAR1"


def test_a_file_that_was_written_anew_has_none(file):
    table = pq.read_table(file)
    pq.write_table(table, file)
    require_undamaged(file)
    with open_source(file) as source:
        assert list(source.columns) == ["id", "sex", "record_key"]
