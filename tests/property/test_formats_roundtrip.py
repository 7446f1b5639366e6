"""Reading back what was written gives the same table, whatever its texts and numbers."""

from __future__ import annotations

import tempfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from ckm import PublishedTable
from ckm.formats import FORMATS, FormatError, to_bytes, write_table
from tests.readers.reading import READ, read_table
from tests.strategies import examples

#: Formats that hold the rows and nothing of the categories' order.
ROWS_ONLY = {"xlsx", "csv", "sdmx-csv", "sdmx-csv-1"}
HOSTILE = [
    *("", " ", "a", "A", "01", "1", "1.0", "=1+1", "+1", "-1", "@x", "\tx", "'x", '"', '""'),
    *('a"b', "a,b", "a;b", "a\nb", "a\r\nb", "\r", "\n", "é", "日本", "🙂", "\x00", "\x01"),
    *("\x85", "\u2028", "\ufffe", "\ufeff", "_x0041_", "_x005F_", "x_", "&amp;", "<t>", "]]>"),
    *("null", "NaN", "NA", "true", "Total", "_T", "..", ".", "-", "#", "a/b", "a~1b", "~"),
    *("{}", "%41", "x" * 300),
]
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
names = st.one_of(st.sampled_from(["region", "sex", "age", "ContentsCode", "MEASURE"]), texts)
whole = st.integers(-(2**53), 2**53)
decimal = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e6, 1e6).map(lambda x: round(x, 3)),
    st.sampled_from([0.1 + 0.2, 5e-324, 1e300, 1e16, 123456789012345680.0]),
)


@st.composite
def tables(draw, *, texts=texts, names=names, decimals=decimal, is_plain=False):
    """Return a table whose categories are all used, some numbers suppressed."""
    dimensions: dict[str, object] = {}
    columns = draw(st.lists(names, max_size=3, unique=True))
    size = draw(st.integers(0, 12)) if columns else draw(st.integers(0, 1))
    grid = [()]
    for name in columns:
        categories = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
        grid = [(*cell, text) for cell in grid for text in categories]
        dimensions[name] = categories
    cells = draw(st.permutations(grid))[: min(size, len(grid))]
    if draw(st.booleans()):
        cells = sorted(cells, key=grid.index)
    for place, (name, categories) in enumerate(dimensions.items()):
        kept = [text for text in categories if text in {cell[place] for cell in cells}]
        code = {text: number for number, text in enumerate(kept)}
        dimensions[name] = (np.array([code[cell[place]] for cell in cells], np.int32), kept)
    measures = {}
    wanted = draw(st.sampled_from([["count"], ["weighted"], ["count", "weighted"]]))
    for measure in wanted:
        name = measure if is_plain or measure not in dimensions else f"{measure}_published"
        assume(name not in dimensions)
        of = whole if measure == "count" else decimals
        values = draw(st.lists(of, min_size=len(cells), max_size=len(cells)))
        array = np.array(values, np.int64 if measure == "count" else np.float64)
        mask = np.array(draw(st.lists(st.booleans(), min_size=len(cells), max_size=len(cells))))
        hides = len(cells) and draw(st.booleans()) and mask.any()
        measures[name] = np.ma.array(array, mask=mask.astype(bool)) if hides else array
    return PublishedTable(dimensions=dimensions, measures=measures)


def rows(table):
    """Return the rows with texts spelled out and suppressed numbers as None."""
    columns = [[cats[c] for c in codes.tolist()] for codes, cats in table.dimensions.values()]
    columns += [values.tolist() for values in table.measures.values()]
    return list(zip(*columns, strict=True))


def kinds(table):
    return [(name, values.dtype) for name, values in table.measures.items()]


def back_and_forth(table, name):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table" + FORMATS[name].suffixes[0])
        write_table(table, path, format=name)
        assert not [p for p in Path(folder).iterdir() if p.suffix == ".tmp"]
        return read_table(path, format=name)


def require_equal(back, table, name):
    assert back.columns == table.columns
    assert kinds(back) == kinds(table)
    if name == "px":  # a cube: its rows come in the order of the categories
        order = sorted(range(table.n_rows), key=lambda r: [c[r] for c, _ in coded(table)])
        assert rows(back) == [rows(table)[row] for row in order]
    else:
        assert rows(back) == rows(table)
    if name not in ROWS_ONLY:
        assert [list(c) for _, c in coded(back)] == [list(c) for _, c in coded(table)]
    for codes, categories in coded(back):
        assert codes.dtype == np.int32
        assert set(codes.tolist()) == set(range(len(categories)))


def coded(table):
    return list(table.dimensions.values())


EMPTY = PublishedTable(
    dimensions={"x": (np.zeros(0, np.int32), [])}, measures={"count": np.zeros(0, np.int64)}
)
GRAND = PublishedTable(dimensions={}, measures={"count": np.array([2**53])})
ALL_HIDDEN = PublishedTable(
    dimensions={}, measures={"count": np.ma.array([0], mask=[True], dtype=np.int64)}
)


def hostile_table(texts, name):
    codes = np.arange(len(texts), dtype=np.int32)
    return PublishedTable(
        dimensions={name: (codes, texts)}, measures={"count": codes.astype(np.int64)}
    )


@pytest.mark.parametrize("name", ["csv", "csvw", "parquet", "xlsx", "json-stat2"])
@settings(max_examples=examples(40))
@given(table=tables())
@example(table=EMPTY)
@example(table=GRAND)
@example(table=ALL_HIDDEN)
@example(table=hostile_table(HOSTILE, "a/b"))
def test_any_table_comes_back_as_it_was(name, table):
    require_equal(back_and_forth(table, name), table, name)


def px_can_hold(text):
    return 0 < len(text) <= 256 and not any(
        c == '"' or ord(c) < 32 or c in "\x7f\x85\u2028\u2029" for c in text
    )


def px_fits(table):
    named = [*table.columns, *(text for _, categories in coded(table) for text in categories)]
    numbers = [
        v for values in table.measures.values() for v in np.ma.filled(values, 0).tolist()
    ]
    exponents = [Decimal(repr(number)).as_tuple().exponent for number in numbers]
    return table.n_rows > 0 and all(map(px_can_hold, named)) and min(exponents) >= -15


@settings(max_examples=examples(60))
@given(table=tables())
@example(table=EMPTY)
@example(table=GRAND)
def test_a_table_comes_back_from_px_or_is_refused(table):
    if px_fits(table):
        event("held")
        require_equal(back_and_forth(table, "px"), table, "px")
    else:
        event("refused")
        with pytest.raises(FormatError):
            to_bytes(table, "px")


@settings(max_examples=examples(40))
@given(
    table=tables(
        texts=st.text("abcXYZ019éß =+-@/~.;,'()[]:#&<>", min_size=1, max_size=5),
        names=st.text("abcéß ='()", min_size=1, max_size=5),
        decimals=st.floats(-1e9, 1e9).map(lambda x: round(x, 4)),
    )
)
def test_px_holds_ordinary_tables(table):
    assume(table.n_rows)
    require_equal(back_and_forth(table, "px"), table, "px")


@pytest.mark.parametrize("name", ["sdmx-csv", "sdmx-csv-1"])
@settings(max_examples=examples(40))
@given(
    table=tables(
        texts=texts.filter(bool),
        names=st.from_regex(r"[A-Z][A-Z0-9_]{0,5}", fullmatch=True).filter(
            lambda name: name not in {"MEASURE", "ACTION"}
        ),
    )
)
@example(table=hostile_table(HOSTILE[1:], "AREA"))
def test_a_table_comes_back_from_sdmx_csv(name, table):
    assume(table.n_rows or list(table.measures) == ["count"])
    require_equal(back_and_forth(table, name), table, name)


@pytest.mark.parametrize("name", READ)
@settings(max_examples=examples(25))
@given(table=tables())
def test_a_refusal_of_any_format_is_one_of_ours_and_bytes_repeat(name, table):
    try:
        first = to_bytes(table, name)
    except FormatError:
        event("refused")
    else:
        assert to_bytes(table, name) == first
