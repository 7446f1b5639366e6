"""What is printed of CSV is the text of the file, whatever the other records hold.

Of the profile ``many``, the columns of the first law hold about 36,000 texts, of which 2,500
are unlike; the second law takes 20,000 that are all unlike, whatever the profile.
"""

from __future__ import annotations

import csv
import gzip
import io
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ckm
from ptable import NoiseSpec, solve
from tables import Request, Secret, StoredKeys, cube, open_source
from tables.source.csv_text import is_number
from tests.strategies import examples

KEYS = StoredKeys(column="key", key_range=256)
PTABLE = solve(NoiseSpec(max_noise=5, variance=3.0))
MISSING = "(missing)"

# Texts that look like numbers, now and then; and any others.
_SIGNS = st.sampled_from(
    [*"0123456789", *"01", "_", ".", "e", "E", "+", "-", ",", " ", "x", '"']
)
_NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.integers(-300, 300).map(str),
    st.floats(allow_nan=True).map(repr),
    st.decimals(-1000, 1000, places=2).map(str),
    st.dates().map(str),
    st.sampled_from(
        ["1_0", "10", "1e1", "10.0", "+10", "010", "0x1F", "-0", ".5", "1E2", "inf"]
    ),
)
_TEXTS = st.one_of(
    st.text(_SIGNS, max_size=6),
    _NUMBERS,
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=4),
)
# A column of one kind mostly, with a stranger or none.
_COLUMNS = st.one_of(
    st.lists(_TEXTS, min_size=25, max_size=40),
    st.lists(_TEXTS, min_size=1, max_size=40),
    st.lists(st.integers(-50, 50).map(str), min_size=25, max_size=40),
    st.tuples(st.lists(st.integers(0, 50).map(str), min_size=25, max_size=40), _TEXTS).map(
        lambda pair: [*pair[0], pair[1]]
    ),
    st.lists(_NUMBERS, min_size=25, max_size=40),
).filter(lambda texts: not {"Total", MISSING} & set(texts))


def written(texts, *, quoting, ends="\n", delimiter=",", is_turned=False):
    """Write a column as CSV beside a key, or behind it; an empty text is a missing one."""
    sink = io.StringIO()
    writer = csv.writer(sink, quoting=quoting, lineterminator=ends, delimiter=delimiter)
    step = -1 if is_turned else 1
    writer.writerow(["v", "key"][::step])
    writer.writerows([text, n % 256][::step] for n, text in enumerate(texts))
    return sink.getvalue().encode()


def counts(data):
    with open_source(data, threads=1) as source:
        (cells,) = cube(source, KEYS, [Request(dimensions=["v"], margins="none")])
        labels = cells.axes[0].labels[0][cells.ranks[0]].tolist()
    return {label: n for label, n in zip(labels, cells.count.tolist(), strict=True) if n}


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(
    _COLUMNS,
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["file", "file", "gzip", "folder", "turned folder", "standard input"]),
)
def test_the_categories_are_the_texts_of_the_file(texts, quoting, ends, delimiter, way):
    wanted = dict(Counter(text or MISSING for text in texts))
    content = written(texts, quoting=quoting, ends=ends, delimiter=delimiter)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data: object = folder / "data.csv"
        if way == "gzip":
            data = folder / "data.csv.gz"
            data.write_bytes(gzip.compress(content))
        elif way.endswith("folder"):
            half = len(texts) // 2
            how = {"quoting": quoting, "ends": ends, "delimiter": delimiter}
            for number, part in enumerate((texts[:half], texts[half:])):
                is_turned = number == 1 and way == "turned folder"
                content = written(part, **how, is_turned=is_turned)
                (folder / f"{number}.csv").write_bytes(content)
            data = folder
        elif way == "file":
            data.write_bytes(content)
        else:
            with patch.object(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content))):
                assert counts("-") == wanted
            return
        assert counts(data) == wanted


def text_of(rng):
    """Draw a text that often looks like a number."""
    signs = rng.choice(
        ["0123456789", "0123456789._-", "01eE+_.", "0123456789,;\t \"'aAxé\u00a0"]
    )
    return "".join(rng.choice(signs) for _ in range(rng.randint(1, 12)))


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_20_000_unlike_texts_are_the_categories_of_their_columns(tmp_path, ending):
    rng, width, height = random.Random(38), 200, 100
    texts = list({text_of(rng): None for _ in range(3 * width * height)})[: width * height]
    assert len(set(texts)) == width * height
    # Half of the columns hold what is alike: numbers of one length, signs of one kind.
    half = width * height // 2
    texts[:half] = sorted(texts[:half], key=lambda text: (len(text), text))
    columns = [texts[at : at + height] for at in range(0, len(texts), height)]
    names = [f"v{number}" for number in range(width)]
    sink = io.StringIO()
    writer = csv.writer(sink)
    writer.writerow([*names, "key"])
    writer.writerows([*row, n % 256] for n, row in enumerate(zip(*columns, strict=True)))
    content, file = sink.getvalue().encode(), tmp_path / f"data.{ending}"
    file.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    with open_source(file, threads=1) as source:
        for name, wanted in zip(names, columns, strict=True):
            (cells,) = cube(source, KEYS, [Request(dimensions=[name], margins="none")])
            labels = cells.axes[0].labels[0][cells.ranks[0]].tolist()
            assert {x: n for x, n in zip(labels, cells.count.tolist(), strict=True) if n} == (
                dict.fromkeys(wanted, 1)
            )


def noisy(folder, rows):
    """Return what is published of each text, by a secret of ours."""
    file = Path(folder) / "data.csv"
    sink = io.StringIO()
    csv.writer(sink).writerows([("id", "v"), *rows])
    file.write_text(sink.getvalue(), encoding="utf-8", newline="")
    with ckm.Engine(
        file, id="id", secret=Secret(bytes(16)), ptable=PTABLE, checks="skip", threads=1
    ) as engine:
        table = engine.tabulate(["v"]).to_arrow()
    return dict(zip(table["v"].to_pylist(), table["count"].to_pylist(), strict=True))


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(
    st.lists(st.integers(0, 9).map(str), min_size=1, max_size=30),
    st.sampled_from(["x", "1_0", "01", "1e0", "10.0", "99999999999999999999", "-0", ""]),
    st.sampled_from(["y", "01", "1E2", "18446744073709551616", "7.0"]),
)
def test_the_noise_of_a_cell_does_not_change_with_other_records(texts, other, name):
    rows = [(str(1000 + n), text) for n, text in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        alone = noisy(folder, rows)
        beside = noisy(folder, [*rows, (name, other)])
    alone.pop("Total", None)
    assert {text: beside[text] for text in alone} == alone


@pytest.mark.slow
@settings(max_examples=examples(120))
@given(st.lists(_TEXTS.filter(bool), min_size=1, max_size=12))
def test_a_column_is_one_of_numbers_where_all_its_texts_are(texts):
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "data.csv"
        file.write_bytes(written(texts, quoting=csv.QUOTE_ALL))
        with open_source(file, threads=1) as source:
            wanted = all(map(is_number, texts))
            assert (source.is_number("v") or source.kinds["v"] == "date") == (
                wanted or source.kinds["v"] == "date"
            )
            if wanted:
                number = f"({source.number_sql('v')})::DOUBLE"
                rows = source.fetch(f"SELECT v::VARCHAR, {number} FROM {source.relation}")
                assert all(number == float(text) for text, number in rows)
                assert all(source.fetch(f"SELECT {number} FROM {source.relation}"))
            elif source.kinds["v"] == "text":
                problem, _ = source.number_problem("v")
                line = 2 + next(n for n, text in enumerate(texts) if not is_number(text))
                assert f" line {line} of 'data.csv'" in problem
