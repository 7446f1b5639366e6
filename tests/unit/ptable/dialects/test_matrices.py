"""Matrices of keys by counts, as in SuperSTAR, and of counts by noise, as in an overlay."""

from dataclasses import replace

import numpy as np
import pytest

from ptable import PTable, PTableError
from ptable.dialects.matrices import (
    _columns_needed,
    read_destatis,
    read_superstar,
    write_destatis,
    write_superstar,
)
from ptable.dialects.numbers import Reading, Writing
from ptable.dialects.text import sheet_of_bytes
from ptable.quantisation.key_matrix import table_from_key_matrix


def table(noise, upper, **settings):
    return PTable(noise=noise, upper=upper, key_range=upper[0][-1], **settings)


def read(reader, content, **options):
    content = content if isinstance(content, str) else "\n".join(content)
    sheet = sheet_of_bytes(content.encode(), source="The file 'pt.csv'", stem="pt")
    return reader(sheet, Reading(**options))["all"]


def matrix_text(matrix):
    return "\n".join(",".join(map(str, line)) for line in np.asarray(matrix).tolist())


# --- keys by counts ------------------------------------------------------------------------


def test_superstar_takes_the_columns_that_its_documentation_names():
    """With 30 columns and SmallN 10: 31 takes 22, 39 takes 30, 40 takes 21."""
    text = matrix_text([list(range(30))] * 256)
    found = read(read_superstar, text)
    counts = [1, 30, 31, 39, 40, 41, 49, 50, 1031]
    columns = [1, 30, 22, 30, 21, 22, 30, 21, 22]
    assert (found.lookup(counts, [7] * 9, key_range=256) + 1).tolist() == columns
    assert found.label == "pt"
    five = read(read_superstar, text, small_n=5).lookup(
        [30, 31, 34, 35], [7] * 4, key_range=256
    )
    assert (five + 1).tolist() == [30, 27, 30, 26]
    one = read(read_superstar, text, small_n=1)
    assert (one.n_rows, one.large_counts) == (31, "last")


@pytest.mark.parametrize("n_columns", [30, 25, 10])
def test_a_matrix_and_its_file_serve_large_counts_alike(n_columns):
    """Of 25 columns and SmallN 10, count 26 takes 22, as ABS's formula in cellKey 0.16 does."""
    matrix = np.random.default_rng(3).integers(0, 3, (256, n_columns))
    found = read(read_superstar, matrix_text(matrix))
    assert found == table_from_key_matrix(matrix, small_n=10)
    keys = np.arange(256)
    for count in range(n_columns + 1, n_columns + 25):
        ours = found.lookup(np.full(256, count), keys, key_range=256)
        assert (ours == matrix[:, n_columns - 10 + count % 10]).all(), count


def test_a_matrix_has_as_many_lines_as_the_reader_is_told_and_its_rule():
    found = read(read_superstar, "-1,0\n1,-2", key_range=2, small_n=2)
    assert found.key_range == 2
    assert found.lookup([0, 1, 2], [0, 0, 1], key_range=2).tolist() == [0, -1, -2]
    # counts 3 and 4 take columns 2 - 2 + 1 + 3 mod 2 = 2, and 1
    assert found.lookup([3, 4], [1, 0], key_range=2).tolist() == [-2, -1]
    ruled = read(read_superstar, "-1,0\n1,-2", key_range=2, small_n=2, large_counts="cycle:2")
    assert (ruled.n_rows, ruled.large_counts) == (3, "cycle:2")


@pytest.mark.parametrize(
    ("head", "line", "noise"),
    [
        ('"","V1","V2"', "7,1,0", [0, 1, 0]),  # a first cell without a name: lines have names
        ('"",1,2', "7,1,0", [0, 1, 0]),
        ('"V1","V2"', "1,0", [0, 1, 0]),
        ('"key","V1","V2"', "7,1,0", [0, 7, 1, 0]),
    ],
)
def test_names_of_lines_and_columns_are_no_noise(head, line, noise):
    found = read(read_superstar, [head, *[line] * 256], small_n=1)
    assert [row[0] for row in found.noise] == noise


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("1,2\n" * 255, {}, "it must have one line per key, 256, and has 255"),
        ("1,2\n" * 256, {"key_range": 8}, "one line per key, 8, and has 256"),
        ("V1,V2\n" + "1,2\n" * 255, {}, "one line per key, 256, and has 255"),
        (
            "1,2\n" * 255 + "1,x\n",
            {},
            "line 256, count 2: it must hold integers within 1000000, not 'x'",
        ),
        ("1,2\n" * 255 + "1,-3\n", {}, "line 256, count 2: it would be published as -1"),
        ("1000001,2\n" * 256, {}, r"line 1, count 1: .*within 1000000, .*\(and 252 more\)"),
        ("-1000001,2\n" + "1,2\n" * 255, {}, "line 1, count 1: it must hold integers within"),
        (
            "1,2\n" * 256,
            {},
            "small_n must lie between 1 and the number of columns, 2, not 10",
        ),
        ("1,2\n" * 256, {"small_n": 3}, "small_n must lie between 1 and"),
        ("1,2\n" * 256, {"small_n": 0}, "small_n must lie between 1 and"),
    ],
)
def test_a_matrix_with_wrong_cells_is_refused_by_line_and_count(content, options, words):
    with pytest.raises(PTableError, match=words):
        read(read_superstar, content, **options)


def test_noise_may_reach_a_million_and_take_a_count_to_0():
    found = read(read_superstar, "1000000,-2\n" * 2, key_range=2, small_n=1)
    assert found.noise == ((0,), (10**6,), (-2,))


def test_a_matrix_has_a_line_for_each_of_256_keys_and_thirty_columns():
    small = table([[0], [-1, 1], [0, 2]], [[4], [1, 4], [2, 4]])
    lines = write_superstar(small, Writing()).splitlines()
    assert len(lines) == 256
    assert lines[63] == ",".join(["-1", *["0"] * 29])
    assert lines[64] == ",".join(["1", *["0"] * 29])
    assert lines[-1] == ",".join(["1", *["2"] * 29])
    assert write_superstar(small, Writing()).endswith("2\n")


@pytest.mark.parametrize("rule", ["last", "cycle:2", "cycle:3", "cycle:4", "cycle:6"])
@pytest.mark.parametrize("small_n", [2, 6, 12, 40])
def test_every_count_finds_its_row_in_the_columns_that_are_written(rule, small_n):
    rows = table([[0], *([n, 0] for n in range(1, 7))], [[4], *[[2, 4]] * 6], large_counts=rule)
    length = 1 if rule == "last" else int(rule[-1])
    if small_n % length:
        with pytest.raises(
            PTableError, match=f"SmallN {small_n} cannot hold the rule"
        ) as error:
            write_superstar(rows, Writing(small_n=small_n))
        assert error.value.hint == f"pass small_n={length}"
        return
    text = write_superstar(rows, Writing(small_n=small_n))
    again = read(read_superstar, text, small_n=small_n)
    counts = np.arange(120)
    for key in (0, 255):
        keys = np.full(len(counts), key)
        ours, theirs = (t.lookup(counts, keys, key_range=256) for t in (rows, again))
        assert ours.tolist() == theirs.tolist()
    n_columns = text.splitlines()[0].count(",") + 1
    assert small_n <= n_columns <= 7 + 2 * small_n or n_columns == 30
    assert n_columns == 30 or small_n == 40 or rule != "last"


def test_one_column_may_serve_all_larger_counts():
    small = table([[0], [-1, 1]], [[4], [2, 4]])
    found = read(read_superstar, write_superstar(small, Writing(small_n=1)), small_n=1)
    assert found.large_counts == "last"
    assert found.lookup([1, 99], [0, 255], key_range=256).tolist() == [-1, 1]


def test_a_rule_of_rows_that_are_alike_is_no_rule():
    alike = table([[0], [1, 0], [1, 0], [1, 0]], [[2], *[[1, 2]] * 3], large_counts="cycle:3")
    lines = write_superstar(alike, Writing(small_n=10)).splitlines()
    assert set(lines) == {",".join(["1"] * 30), ",".join(["0"] * 30)}


@pytest.mark.parametrize(
    ("noise", "small_n", "words"),
    [
        ([[0, 1], [0]], 10, "no column for count 0"),
        ([[1], [0]], 10, "no column for count 0"),
        ([[0], [0]], 0, "small_n must be at least 1, not 0"),
    ],
)
def test_what_a_matrix_cannot_hold_is_refused(noise, small_n, words):
    ends = [[4, 8] if len(row) > 1 else [8] for row in noise]
    with pytest.raises(PTableError, match=words):
        write_superstar(table(noise, ends), Writing(small_n=small_n))


def test_a_rule_beyond_ten_thousand_columns_is_refused_without_a_search():
    long = table([[0], *([n % 7] for n in range(10_000))], [[2]] * 10_001)
    with pytest.raises(PTableError, match="cannot hold the rule for large counts") as caught:
        write_superstar(long, Writing())
    assert caught.value.hint is None


def test_a_rule_of_ten_thousand_columns_is_looked_for():
    long = table([[0], *([n % 7] for n in range(9_997))], [[2]] * 9_998)
    assert _columns_needed(long, 1) == 9_997


# --- counts by noise -----------------------------------------------------------------------

OVERLAY = ["i,-1,0,1", "0,0,1,1", "1,.25,.5,1", "2,.1,.9,1"]
SMALL = {"noise": [[0], [-1, 0, 1], [-1, 0, 1]], "upper": [[100], [25, 50, 100], [10, 90, 100]]}


@pytest.mark.parametrize(
    "content",
    [
        OVERLAY,
        [OVERLAY[0], *OVERLAY[:0:-1]],
        ["-1,0,1", *(line[2:] for line in OVERLAY[1:])],
        ["i;-1;0;1", "0;0;1;1", "1;0,25;0,5;1", "2;0,1;0,9;1"],
        [OVERLAY[0], *OVERLAY[2:]],
    ],
)
def test_an_overlay_is_read_in_every_form(content):
    found = read(read_destatis, content)
    assert found == table(**SMALL)
    assert found.label == "pt"


def test_noise_of_an_overlay_may_stand_in_any_order():
    assert read(read_destatis, ["i,1,0,-1", "1,.5,.75,1"]) == table(
        [[0], [1, 0, -1]], [[100], [50, 75, 100]]
    )


def test_an_overlay_is_read_as_its_reader_is_told():
    assert read(read_destatis, OVERLAY, digits=1).upper[1] == (2, 5, 10)
    assert read(read_destatis, OVERLAY, key_range=20).upper[1] == (5, 10, 20)
    assert read(read_destatis, OVERLAY, large_counts="cycle:2").large_counts == "cycle:2"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (["-1,0,1", "0,1,1", ".5,.4,1"], "line 3, count 1: the share falls from 0.5 to 0.4"),
        (["-1,0,1", "0,1,1", ".5,.5,.9"], "line 3, count 1: the last share is 0.9, not 1"),
        (["-1,0,1", ".5,1,1"], "line 2, count 0: it would be published as -1"),
        (["i,-1,0,1", "1,.5,1.5,1"], "line 2, count 1: it must hold decimals from 0 to 1 only"),
        (["i,-1,0,1", "1,-.5,.5,1"], "line 2, count 1: it must hold decimals from 0 to 1 only"),
        (["i,-1,0,1", "1,x,.5,1"], "line 2, count 1: it must hold decimals from 0 to 1 only"),
        (["-1,0,0", "0,1,1"], "line 1: the first line must hold different whole noise values"),
        (["i,x,0", "0,1,1"], "line 1: the first line must hold different whole noise"),
        (["i,0,1000001", "0,1,1"], "line 1: the first line must hold different whole noise"),
        (["i", "0"], "line 1: the first line must hold different whole noise"),
        (["i,-1,0", "0,0,1", "2,.5,1"], "count 1 has no lines, though count 2 has"),
        (["i,-1,0", "1,0,1", "1,.5,1"], "line 3, count 1: the count is there twice"),
        (["i,-1,0", "x,0,1"], "line 2: the first cell must be a count, not 'x'"),
        (["i,-1,0", "-1,0,1"], "line 2: the first cell must be a count, not '-1'"),
        (["i,-1,0", "1000001,0,1"], "line 2: the first cell must be a count, not '1000001'"),
        (["i,-1,0"], "it has no lines of shares"),
    ],
)
def test_an_overlay_with_wrong_shares_is_refused_by_line_and_count(content, words):
    with pytest.raises(PTableError, match=words) as caught:
        read(read_destatis, content)
    assert caught.value.hint is None


def test_an_overlay_is_written_with_a_column_for_every_noise():
    small = table([[0], [-1, 2], [0]], [[8], [5, 8], [8]])
    assert write_destatis(small, Writing()) == ("i,-1,0,2\n0,0,1,1\n1,0.625,0.625,1\n2,0,1,1\n")
    assert write_destatis(small, Writing(digits=2)).splitlines()[2] == "1,0.62,0.62,1.00"
    thirds = table([[0], [-1, 2]], [[3], [1, 3]])
    assert write_destatis(thirds, Writing()).splitlines()[2].startswith("1,0.333333333333,0.3")


@pytest.mark.parametrize("noise", [[1, -1], [-1, 1, -1]])
def test_noise_in_another_order_is_no_overlay(noise):
    ends = [4, 6, 8][: len(noise) - 1]
    mixed = table([[0], noise], [[8], [*ends, 8]])
    with pytest.raises(PTableError, match="count 1 of this p-table has another order"):
        write_destatis(mixed, Writing())
    with pytest.raises(PTableError, match="count 0 of this p-table has another order"):
        write_destatis(
            replace(mixed, noise=[[2, 1], noise], upper=[[4, 8], [*ends, 8]]), Writing()
        )
