"""Lists of keys: the layouts of the ONS and of Cantabular."""

import numpy as np
import pandas as pd
import pytest

from ptable import PTable, PTableError
from ptable.dialects.keylists import (
    in_keys,
    read_key_lines,
    table_from_key_frame,
    write_cantabular,
    write_ons,
)
from ptable.dialects.numbers import Reading, Writing
from ptable.dialects.text import sheet_of_bytes


def read(*lines, header="pcv,ckey,pvalue", **options):
    content = "\n".join([header, *lines]).encode()
    sheet = sheet_of_bytes(content, source="The file 'pt.csv'", stem="pt")
    return read_key_lines(sheet, Reading(**options))["all"]


def table(noise, upper, **settings):
    return PTable(noise=noise, upper=upper, key_range=upper[0][-1], **settings)


# --- reading -----------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["cell_value,cell_key,perturbation", "pcv,ckey,pvalue"])
def test_keys_may_be_ranges_and_lines_in_any_order(header):
    found = read("1,64-255,1", "2,255,-2", "1,0-63,-1", "2,0 - 254,0", header=header)
    assert found == table([[0], [-1, 1], [0, -2]], [[256], [64, 256], [255, 256]])
    assert found.label == "pt"


def test_the_row_of_0_may_be_there():
    assert read("0,0,2", "0,1,0", "1,0-1,0") == table([[2, 0], [0]], [[1, 2], [2]])
    assert read("0,0-1,0").n_rows == 1


def test_the_keys_are_as_many_as_the_largest_says_or_as_the_reader_is_told():
    assert read("1,0,0", "1,1,1").key_range == 2
    assert read("1,0-65535,0").key_range == 2**16
    assert read("1,0-3,1", key_range=4).key_range == 4
    with pytest.raises(
        PTableError, match="count 1: key 4 is missing; it must have every key fr"
    ):
        read("1,0-3,1", key_range=5)
    for lines in (["1,0,0"], ["1,0-65536,0"]):
        with pytest.raises(
            PTableError, match="number of keys must lie between 2 and 65536, not"
        ):
            read(*lines)


def test_the_last_250_rows_of_a_full_list_of_the_ons_take_turns():
    lines = [f"{n},{k},{(n + k) % 3}" for n in range(1, 751) for k in range(2)]
    found = read(*lines)
    assert found.large_counts == "cycle:250"
    counts = np.arange(3000)
    rows = np.where(counts <= 750, counts, (counts - 1) % 250 + 501)
    ours = found.lookup(counts, np.ones(len(counts), int), key_range=2)
    assert (ours == np.where(counts == 0, 0, (rows + 1) % 3)).all()
    assert read(*lines, large_counts="last").large_counts == "last"
    assert read(*lines[:-2]).large_counts == "last"
    assert read(*lines, "751,0-1,0").large_counts == "last"
    cantabular = read(*lines, header="cell_value,cell_key,perturbation")
    assert cantabular.large_counts == "last"


def test_frames_are_read_like_files():
    lines = [(n, key, ((key * 7) % 3) - 1) for n in range(1, 5) for key in range(256)]
    frame = pd.DataFrame(lines, columns=["pcv", "ckey", "pvalue"])
    found = table_from_key_frame(
        frame.sample(frac=1, random_state=1), large_counts="cycle:2", label="mine"
    )
    assert (found.label, found.large_counts) == ("mine", "cycle:2")
    keys = np.arange(256)
    for count, row in [(1, 1), (4, 4), (5, 3), (6, 4), (101, 3)]:
        ours = found.lookup(np.full(256, count), keys, key_range=256)
        assert ours.tolist() == [v for n, _, v in lines if n == row]
    with pytest.raises(PTableError, match="integers only"):
        table_from_key_frame(
            pd.DataFrame({"pcv": [1, 1], "ckey": [0, 1], "pvalue": [0.5, 0]}),
            large_counts="last",
            label="",
        )


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            ["1,0,0", "1,2,0"],
            "line 3, count 1: key 1 is missing; it must have every key from 0 to",
        ),
        (["1,0,0", "1,5,0"], "line 3, count 1: keys 1 to 4 are missing; "),
        (["1,1,0", "1,2,0"], "line 2, count 1: key 0 is missing"),
        (["1,0,0", "1,0,1", "1,1,1"], "line 3, count 1: key 0 is there more than once"),
        (["1,0-5,0", "1,3-7,0"], "line 3, count 1: keys 3 to 5 are there more than once"),
        (["1,0-7,0", "1,3-4,0"], "line 3, count 1: keys 3 to 4 are there more than once"),
        (["1,0,0", "1,1,0", "2,0,0"], "table: count 2: key 1 is missing; it must have every"),
        (["1,0-3,0", "2,0,0"], "count 2: keys 1 to 3 are missing"),
        (["1,1.5,0", "1,1,0"], "line 2: column 'ckey' must hold integers only, not '1.5'"),
        (["1,0,.5", "1,1,0"], "line 2: column 'pvalue' must hold integers only, not"),
        (["x,0,0", "1,1,0"], "line 2: column 'pcv' must hold integers only, not 'x'"),
        (["1,0,1000001", "1,1,0"], "line 2: .* within 1000000, not '1000001'"),
        (["1,-1,0", "1,1,0"], "line 2: column 'ckey' must rise from 0 on"),
        (["1,5-0,0", "1,6,0"], "line 2: column 'ckey' must rise from 0 on"),
        (["-1,0,0", "1,1,0"], "line 2: column 'pcv' must rise from 0 on"),
        (["1,0,-2", "1,1,0"], "line 2, count 1: count 1 would be published as -1"),
        (["2,0-1,0"], "the counts must start from 0 or 1, not from 2"),
        (["1,0-1,0", "3,0-1,0"], "count 2 has no lines, though count 3 has"),
        (["x,0,0"], "line 2: column 'pcv' must hold integers only, not 'x'"),
        ([], "no lines below the names"),
    ],
)
def test_a_list_with_a_key_too_few_or_too_many_is_refused_by_line(lines, words):
    with pytest.raises(PTableError, match=words) as caught:
        read(*lines)
    assert str(caught.value).startswith("The file 'pt.csv' is no p-table: ")


def test_keys_beyond_what_the_reader_is_told_are_refused():
    with pytest.raises(PTableError, match="line 3, count 1: its keys go beyond 2"):
        read("1,0-1,0", "1,2-3,0", key_range=3)


def test_several_problems_are_told_at_once():
    with pytest.raises(PTableError, match=r"line 2: .*; line 3: .*; line 4: "):
        read("1,x,0", "x,0,0", "1,1,x", "1,0-2,0")


@pytest.mark.parametrize(
    "header",
    ["cell_value,cell_key,noise", "pcv,pcv,ckey,pvalue", "pcv,ckey,perturbation,pvalue"],
)
def test_the_columns_must_be_there_once(header):
    with pytest.raises(PTableError, match=r"has no column '(pvalue|pcv)', or has it twice; it"):
        read(",".join("0" for _ in header.split(",")), header=header)


def test_the_noise_of_a_count_may_take_it_to_0_and_be_as_large_as_a_million():
    assert read("1,0,-1", "1,1,1000000").units(1) == {-1: 1, 10**6: 1}


# --- writing -----------------------------------------------------------------------------


def test_rows_are_given_in_another_number_of_keys_where_that_is_exact():
    small = table([[0], [-1, 1]], [[8], [2, 8]])
    assert in_keys(small, 256) == [[(0, 255, 0)], [(0, 63, -1), (64, 255, 1)]]
    assert in_keys(small, 4) == [[(0, 3, 0)], [(0, 0, -1), (1, 3, 1)]]
    with pytest.raises(PTableError, match="2 keys cannot hold the thresholds") as caught:
        in_keys(small, 2)
    assert caught.value.hint == "quantise first: table.quantise(2), or convert with --keys 2"


def test_cantabular_gets_ranges_of_256_keys():
    small = table([[0], [-1, 1, 2]], [[256], [64, 255, 256]])
    assert write_cantabular(small, Writing()) == (
        "cell_value,cell_key,perturbation\n1,0-63,-1\n1,64-254,1\n1,255,2\n"
    )


@pytest.mark.parametrize(
    ("noise", "lines"),
    [
        ([[0]], ["0,0-255,0"]),
        ([[1]], ["0,0-255,1"]),
        ([[1], [0]], ["0,0-255,1", "1,0-255,0"]),
        ([[0], [0]], ["1,0-255,0"]),
    ],
)
def test_the_row_of_0_is_written_where_it_is_not_what_a_missing_one_means(noise, lines):
    known = table(noise, [[256]] * len(noise))
    assert write_cantabular(known, Writing()).splitlines()[1:] == lines
    assert read(*lines, header="cell_value,cell_key,perturbation") == known


def test_the_row_of_0_is_written_where_it_has_several_values():
    known = table([[0, 1], [0]], [[128, 256], [256]])
    assert write_cantabular(known, Writing()).splitlines()[1] == "0,0-127,0"


@pytest.mark.parametrize(("key_range", "n_keys"), [(2, 2), (10, 10), (8192, 256), (2**32, 256)])
def test_the_ons_gets_a_line_for_every_key_of_750_counts(key_range, n_keys):
    small = table([[0], [-1, 1], [0, 2]], [[key_range], *[[key_range // 2, key_range]] * 2])
    lines = write_ons(small, Writing()).splitlines()
    assert lines[:3] == ["pcv,ckey,pvalue", "1,0,-1", "1,1,-1"][: min(3, 1 + n_keys // 2)] + (
        ["1,1,1"] if n_keys == 2 else []
    )
    assert len(lines) == 1 + 750 * n_keys
    assert lines[-1] == f"750,{n_keys - 1},2"
    assert lines[1 + n_keys] == "2,0,0"


def test_up_to_4096_keys_are_listed_as_they_are_and_more_as_256():
    odd = table([[0], [-1, 1]], [[4100], [1, 4100]])
    with pytest.raises(PTableError, match="256 keys cannot hold"):
        write_ons(odd, Writing())


def test_the_ons_gets_the_row_of_0_where_it_has_noise_and_rows_in_turn():
    zeros = table([[1, 0], [0], [1]], [[1, 2], [2], [2]], large_counts="cycle:2")
    lines = write_ons(zeros, Writing()).splitlines()
    assert lines[1:7] == ["0,0,1", "0,1,0", "1,0,0", "1,1,0", "2,0,1", "2,1,1"]
    assert lines[7:11] == ["3,0,0", "3,1,0", "4,0,1", "4,1,1"]
    assert len(lines) == 1 + 751 * 2


def test_the_ons_has_no_counts_beyond_750():
    def rows(n):
        return table([[0]] * n, [[2]] * n)

    assert write_ons(rows(751), Writing())
    with pytest.raises(
        PTableError, match="holds counts to 750, and this p-table has rows to 751"
    ):
        write_ons(rows(752), Writing())
