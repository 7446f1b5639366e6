"""Files of other tools: what is read, what is lost, what is refused."""

import math
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from ptable import NoiseSpec, PTable, PTableError, PTableWarning, solve
from ptable.dialects import DIALECTS, detect, read_tables, write_tables
from ptable.dialects.losses import losses_between
from ptable.quantisation.key_matrix import table_from_key_matrix

R_HEADER = "i,j,p,v,p_int_lb,p_int_ub,type"
R_LINES = [
    R_HEADER,
    "0,0,1,0,0,1,all",
    "1,0,.5,-1,0,.5,all",
    "1,2,.5,1,.5,1,all",
    "2,1,.25,-1,0,.25,all",
    "2,2,.5,0,.25,.75,all",
    "2,3,.25,1,.75,1,all",
]


@pytest.fixture
def file(tmp_path):
    def write(content, name="pt.csv"):
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else "\n".join(content) + "\n"
            path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def small():
    return PTable(
        noise=[[0], [-1, 1], [-1, 0, 1]], upper=[[100], [50, 100], [25, 75, 100]], key_range=100
    )


def changed(line, text):
    return [*R_LINES[: line - 1], text, *R_LINES[line:]]


# --- reading -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        R_LINES,
        "\r\n".join(R_LINES),
        "\ufeff" + "\n".join(R_LINES),
        "\n\n".join(R_LINES),
        "\n".join('"' + line.replace(",", '","') + '"' for line in R_LINES),
        "\n".join(R_LINES).replace(",", ";"),
        "\n".join(R_LINES).replace(",", "\t"),
        "\n".join(R_LINES).replace(",", ";").replace(".", "0,"),
        "\n".join(R_LINES).replace(",", " ; "),
        "\n".join(R_LINES).replace("p_int_lb", "lb").replace("p_int_ub", "ub"),
        "\n".join(R_LINES).replace("p_int_lb", "kum_p_u").replace("p_int_ub", "kum_p_o"),
        "\n".join(R_LINES).replace(",v,", ",diff,"),
        "\n".join(R_LINES).replace("i,j", "I,J"),
        "\n".join([R_HEADER, *R_LINES[:0:-1]]),
        "\n".join(R_LINES).replace(".5,", "5e-1,"),
        "\n".join(R_LINES).replace("all", "tous à part").encode("latin-1"),
        "\n".join([R_HEADER, *R_LINES[2:]]),
    ],
)
def test_a_list_of_intervals_is_read_however_it_is_written(file, small, content):
    assert PTable.read(file(content)) == small


def test_the_print_of_doubles_is_taken_as_the_decimal_it_stands_for(file):
    lines = [R_HEADER, "1,0,0.45285966,-1,0,0.45285965999999999,all"]
    lines.append("1,2,0.54714034000000001,1,0.45285965999999999,1,all")
    table = PTable.read(file(lines))
    assert (table.key_range, table.upper[1]) == (10**8, (45285966, 10**8))


@pytest.mark.parametrize(
    ("step", "noise"),
    [(2, "-0.5"), (4, "-0.25"), (5, "-0.20000000000000001"), (3, "-0.3333333")],
)
def test_the_step_is_the_least_common_denominator_of_the_noise(file, step, noise):
    low = 1 + float(noise)
    lines = [R_HEADER, f"1,{low!r},.5,{noise},0,.5,all", "1,2,.5,1,.5,1,all"]
    lines += ["3,3,1,0,0,1,all"]
    table = PTable.read(file(lines))
    assert table.step == step
    assert table.noise[1] == (-1, step)
    assert table.anchors == (0, 1, 3)


@pytest.mark.parametrize(
    ("p", "upper", "is_fine"),
    [
        ("0.36648550999999", "0.36648551", True),
        ("0.36648552", "0.36648551", True),
        ("0.36648554", "0.36648551", False),
        ("0.3665", "0.36648551", True),
        ("0.3666", "0.36648551", False),
        ("0.37", "0.36648551", True),
        ("0.38", "0.36648551", False),
        ("0.36", "0.37", False),
        ("0.4", "0.37", True),
        ("1", "0.9", False),
        ("0.99999995", "1.00000000", False),
        ("0.99999995", "1", False),
    ],
)
def test_a_probability_fits_its_thresholds_as_far_as_both_are_printed(file, p, upper, is_fine):
    path = file(["i,v,p,p_int_ub", f"1,0,{p},{upper}"])
    try:
        read_tables(path)
        problems = ""
    except PTableError as error:
        problems = str(error)
    assert ("count 1: p is" not in problems) == is_fine, problems


def test_anchors_of_whole_noise_must_be_declared(file):
    lines = [*R_LINES[:4], "3,3,1,0,0,1,all"]
    with pytest.raises(PTableError, match=r"count 2 has no lines.*\n.*anchors=True"):
        PTable.read(file(lines))
    (table,) = read_tables(file(lines), anchors=True).values()
    assert table.anchors == (0, 1, 3)


def test_intervals_with_their_upper_end_move_by_one_key(file):
    path = file(R_LINES)
    with pytest.raises(PTableError, match="need the key_range"):
        PTable.read(path, boundary="(]")
    closed = PTable.read(path, boundary="(]", key_range=8)
    opened = PTable.read(path)
    keys = np.arange(8)
    ones = np.ones(8, int)
    assert closed.lookup(ones, keys, key_range=8).tolist() == [-1] * 5 + [1] * 3
    assert opened.lookup(ones, keys, key_range=8).tolist() == [-1] * 4 + [1] * 4
    # thresholds between two keys do not move
    third = PTable.read(path, boundary="(]", key_range=3)
    assert third.lookup(ones[:3], keys[:3], key_range=3).tolist() == [-1, -1, 1]
    assert opened.lookup(ones[:3], keys[:3], key_range=3).tolist() == [-1, -1, 1]


def test_key_zero_goes_to_the_first_interval_that_holds_a_key(file):
    lines = ["i,v,p_int_lb,p_int_ub", "1,-1,0,0", "1,0,0,.001", "1,1,.001,1"]
    table = PTable.read(file(lines), boundary="(]", key_range=10)
    assert table.lookup([1, 1], [0, 1], key_range=10).tolist() == [0, 1]


def test_key_lists_of_the_ons_take_the_last_250_rows_in_turn(file):
    lines = [f"{n},{k},{(n + k) % 3}" for n in range(1, 751) for k in range(2)]
    table = PTable.read(file(["pcv,ckey,pvalue", *lines]))
    assert table.large_counts == "cycle:250"
    assert table.lookup([751, 1000, 1001], [0] * 3, key_range=2).tolist() == [0, 0, 0]
    counts = np.arange(1, 3000)
    rows = np.where(counts <= 750, counts, (counts - 1) % 250 + 501)
    ours = table.lookup(counts, np.ones(len(counts), int), key_range=2)
    assert (ours == (rows + 1) % 3).all()
    short = PTable.read(file(["pcv,ckey,pvalue", *lines[:10]]))
    assert short.large_counts == "last"
    other = PTable.read(file(["pcv,ckey,pvalue", *lines]), large_counts="last")
    assert other.large_counts == "last"


@pytest.mark.parametrize("header", ["cell_value,cell_key,perturbation", "pcv,ckey,pvalue"])
def test_keys_may_be_ranges(file, header):
    lines = [header, "1,64-255,1", "1,0-63,-1", "2,0 - 254,0", "2,255,-2"]
    table = PTable.read(file(lines))
    assert table.units(1) == {-1: 64, 1: 192}
    assert table.units(2) == {0: 255, -2: 1}


def test_superstar_takes_the_columns_that_its_documentation_names(file):
    """With 30 columns and SmallN 10: 31 takes 22, 39 takes 30, 40 takes 21."""
    noise = np.arange(30)
    path = file("\n".join([",".join(map(str, noise))] * 256), "pt.pert")
    assert detect(path) == "superstar"
    table = PTable.read(path)
    counts = [1, 30, 31, 39, 40, 41, 49, 50, 1031]
    columns = [1, 30, 22, 30, 21, 22, 30, 21, 22]
    assert (table.lookup(counts, [7] * 9, key_range=256) + 1).tolist() == columns
    (five,) = read_tables(path, small_n=5).values()
    assert (five.lookup([30, 31, 34, 35], [7] * 4, key_range=256) + 1).tolist() == [
        30,
        27,
        30,
        26,
    ]
    (one,) = read_tables(path, small_n=1).values()
    assert (one.n_rows, one.large_counts) == (31, "last")


@pytest.mark.parametrize("n_columns", [30, 25, 17, 10])
def test_a_matrix_and_its_file_serve_large_counts_alike(file, n_columns):
    """Of 25 columns and SmallN 10, count 26 takes 22, as ABS's formula in cellKey 0.16 does."""
    matrix = np.random.default_rng(3).integers(0, 3, (256, n_columns))
    path = file("\n".join(",".join(map(str, line)) for line in matrix.tolist()), "pt.pert")
    table = PTable.read(path)
    assert table == table_from_key_matrix(matrix, small_n=10)
    keys = np.arange(256)
    for count in range(n_columns + 1, n_columns + 25):
        column = n_columns - 10 + count % 10
        ours = table.lookup(np.full(256, count), keys, key_range=256)
        assert (ours == matrix[:, column]).all(), count


def test_row_names_of_a_matrix_are_no_noise(file):
    head = '"","V1","V2"\n'
    lines = "".join(f'"{key}",1,0\n' for key in range(1, 257))
    (table,) = read_tables(file(head + lines), small_n=1).values()
    assert table.noise == ((0,), (1,), (0,))


# --- refusals ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (changed(3, "1,0,.5,-1,0,,all"), "line 3, count 1: column 'p_int_ub' .*an empty cell"),
        (changed(3, "1,0,.5,-1,0,NA,all"), "line 3, count 1: .*'NA'"),
        (changed(3, "1,0,.5,-1,0,nan,all"), "line 3, count 1: .*'nan'"),
        (changed(3, "1,0,.5,-1,0,Infinity,all"), "line 3, count 1: .*'Infinity'"),
        (changed(3, "1,0,.5,-1,0,-.5,all"), "line 3, count 1: .*'-.5'"),
        (changed(3, "1,0,.5,-1,0,1.5,all"), "line 3, count 1: .*'1.5'"),
        (changed(3, "1,0,1e900,-1,0,.5,all"), "line 3, count 1: .*'1e900'"),
        (changed(3, "1,0,5e20,-1,0,.5,all"), "line 3, count 1: p must lie between 0 and 1"),
        (changed(3, "1,0,.5,-1,0,\u0660.5,all"), "line 3, count 1"),
        (changed(3, "1,0,.5,-1,0,1e-999999,all"), "line 3, count 1"),
        (changed(3, "one,0,.5,-1,0,.5,all"), "line 3: column 'i' must hold counts .*'one'"),
        (changed(3, "1.5,0,.5,-1,0,.5,all"), "line 3: column 'i'"),
        (changed(3, "-1,0,.5,-1,0,.5,all"), "line 3: column 'i'"),
        (changed(3, "99999999999999999999,0,.5,-1,0,.5,all"), "line 3: column 'i'"),
        (
            changed(3, "1,0,.4,-1,0,.5,all"),
            "line 3, count 1: p is 0.4, its thresholds give 0.5",
        ),
        (changed(3, "1,0,-.5,-1,0,.5,all"), "p must lie between 0 and 1"),
        (changed(3, "1,3,.5,-1,0,.5,all"), "line 3, count 1: 'v' must be 'j' minus 'i'"),
        (changed(3, "1,-1,.5,-2,0,.5,all"), "line 3: count 1 would be published as -1"),
        (changed(3, "1,0,.5,-1,0,.5"), "line 3: it has 6 cells, the first line 7"),
        (changed(3, "1,0,.5,-1,0,0,5,all"), "8 cells(.|\n)*part the cells by ';'"),
        (changed(3, '1,0,.5,-1,0,".5,all'), "line 3: its quotes do not match"),
        (changed(3, "1,0,.5,-1,0,.5,"), "line 3: the cell of column 'type' is empty"),
        (changed(3, "1,0,.4,-1,.1,.5,all"), "count 1: the intervals leave a gap"),
        (changed(4, "1,2,.6,1,.4,1,all"), "line 4, count 1: the intervals overlap"),
        (changed(4, "1,2,.4,1,.5,.9,all"), "line 4, count 1: the last threshold is 0.9, not 1"),
        (changed(4, "1,2,0,1,.5,.5,all"), "line 4, count 1: the last threshold is 0.5, not 1"),
        (changed(3, "1,0,.5,-1,.5,0,all"), "the threshold falls from 0.5 to 0"),
        ([*R_LINES, R_LINES[-1]], "line 8, count 2: the intervals overlap"),
        ([*R_LINES[:2], *R_LINES[4:]], "count 1 has no lines, though count 2 has"),
        (changed(3, "1,0,.5,-1e7,0,.5,all"), "the noise -1E\\+7 must lie within 1000000"),
        (changed(2, "0,0,1,0,0,1,al"), "line 2: type 'al' has no count but 0"),
        ("\n".join(R_LINES).replace("j,p", "j,j"), "column 'j' twice"),
        (R_LINES[:1], "at least one line below"),
        ("", "it is empty"),
        (" \n\n", "it is empty"),
        (b"\x00\x01\x02", "it is no text"),
        (b"PAR1\x15\x04\x15", "it is no text"),
        ("\n".join(R_LINES).encode("utf-16"), "written in UTF-16(.|\n)*save it as UTF-8"),
        ("a,b\n1,2\n", "in no layout that is known"),
        ("hello", "in no layout that is known"),
        (changed(3, "1,0,.5,-1,0,.5" + "1" * 80 + ",all"), "more than 64 characters"),
        ("i;v;p_int_ub\n1;-1;0,5\n1;1;1.0\n", "a comma and a point, in lines 2 and 3"),
        ("i,v,p_int_ub\n1,-1,.6\n1,0,.3\n1,1,1\n", "falls from 0.6 to 0.3"),
        ("i,v,p_int_ub\n1,-1,.5\n1,-1,1\n", "a noise value twice"),
        ("i,v,p_int_ub\n1,0.12345,.5\n1,0,1\n", "multiple of 1/s"),
        ("i,v,p_int_ub\n1,-.1234567891234567,.5\n1,0,1\n", "multiple of 1/s"),
        ("i,v,p_int_ub\n1,0,.123456789012345\n1,1,1\n", "15 decimal digits(.|\n)*digits=8"),
        ("i,v,lower,upper\n1,0,0,4\n1,1,5,8\n", "the intervals leave a gap"),
        ("i,v,lower,upper\n1,0,0,4.5\n1,1,4.5,8\n", "must hold integers from 0 on, not '4.5'"),
        ("i,v,upper\n1,0,8\n2,0,4\n", "count 2: the last threshold is 0.5, not 1"),
        ("pcv,ckey,pvalue\n1,0,0\n1,2,0\n", "key 1 is missing"),
        ("pcv,ckey,pvalue\n1,0,0\n1,0,1\n1,1,1\n", "line 3, count 1: key 0 is there more than"),
        ("pcv,ckey,pvalue\n1,0,0\n1,1,0\n2,0,0\n", "count 2: key 1 is missing"),
        ("pcv,ckey,pvalue\n1,0,0\n1,1.5,0\n", "line 3: column 'ckey' must hold integers only"),
        ("pcv,ckey,pvalue\n1,0,.5\n1,1,0\n", "line 2: column 'pvalue' must hold integers"),
        ("pcv,ckey,pvalue\n1,-1,0\n1,1,0\n", "line 2: column 'ckey' must rise from 0 on"),
        ("pcv,ckey,pvalue\n-1,0,0\n1,1,0\n", "line 2: column 'pcv' must rise from 0 on"),
        ("pcv,ckey,pvalue\n1,0,-2\n1,1,0\n", "line 2, count 1: .*published as -1"),
        ("pcv,ckey,pvalue\n2,0,0\n2,1,0\n", "from 0 or 1"),
        ("pcv,ckey,pvalue\n1,0-1,0\n3,0-1,0\n", "count 2 has no lines"),
        ("pcv,ckey,pvalue\n1,0-5,0\n1,3-7,0\n", "keys 3 to 5 are there more than once"),
        ("pcv,ckey,pvalue\n1,5-0,0\n1,6,0\n", "must rise from 0 on"),
        ("pcv,ckey,pvalue\n1,0-999999999,0\n", "number of keys"),
        ("pcv,ckey,pvalue\n", "no lines below"),
        ("cell_value,cell_key,noise\n1,0,0\n", "no column 'pvalue'"),
        ("1,2\n" * 255, "one line per key, 256, and has 255"),
        ("1,2\n" * 255 + "1,x\n", "line 256, count 2: .*'x'"),
        ("1,2\n" * 255 + "1,-3\n", "line 256, count 2: it would be published as -1"),
        ("1,2\n" * 256, "small_n must lie between 1 and the number of columns, 2"),
        ("-1,0,1\n0,1,1\n.5,.4,1\n", "line 3, count 1: the share falls from 0.5 to 0.4"),
        ("-1,0,1\n0,1,1\n.5,.5,.9\n", "line 3, count 1: the last share is 0.9, not 1"),
        ("-1,0,1\n.5,1,1\n", "line 2, count 0: it would be published as -1"),
        ("-1,0,0\n0,1,1\n.5,.5,1\n", "different whole noise values"),
        ("i,-1,0\n0,0,1\n2,.5,1\n", "count 1 has no line"),
        ("i,-1,0\n0,0,1\n0,.5,1\n", "count is there twice"),
    ],
)
def test_what_is_no_table_is_refused_by_line_and_count(file, content, words):
    with pytest.raises(PTableError, match=words):
        read_tables(file(content))


def test_intervals_that_a_file_adds_do_not_make_up_for_those_it_loses():
    ends = [[8], [2, 6, 8], [8]]
    table = PTable(noise=[[0], [-1, 0, 1], [0]], upper=ends, key_range=8)
    again = PTable(noise=[[0], [0], [-1, 0, 1]], upper=[[8], [8], [2, 6, 8]], key_range=8)
    (loss,) = losses_between(table, again)
    assert "2 intervals are too narrow to be kept" in loss


def test_all_problems_are_counted_and_five_are_shown(file):
    lines = [R_HEADER, *(f"{n},0,1,{-n},0,x,all" for n in range(1, 9))]
    with pytest.raises(PTableError) as caught:
        read_tables(file(lines))
    message = str(caught.value)
    assert message.startswith("The file 'pt.csv' is no p-table: line 2, count 1: ")
    assert message.count("line ") == 5
    assert message.endswith("(and 3 more).")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dialect": "excel"}, "dialect must be one of cantabular, ckm"),
        ({"boundary": "[]"}, r"boundary must be '\[\)' or '\(\]'"),
        ({"key_range": 1}, "key_range must be an integer from 2"),
        ({"key_range": True}, "key_range must be an integer"),
        ({"digits": 13}, "digits must be an integer from 1 to 12"),
        ({"digits": 0}, "digits must be an integer"),
        ({"key_range": 3}, r"no multiple of 1/3(.|\n)*without key_range"),
        ({"large_counts": "first"}, "large_counts must be"),
        ({"large_counts": "cycle:9"}, "large_counts must be"),
        ({"small_n": 5}, "'r-ptable' has no use for small_n"),
        ({"dialect": "ons"}, "no column 'pcv'"),
        ({"dialect": "frame"}, "no column 'upper'"),
        ({"dialect": "superstar"}, "one line per key"),
        ({"dialect": "destatis"}, "different whole noise"),
        ({"dialect": "ons", "boundary": "(]", "key_range": 4}, "no use for boundary"),
    ],
)
def test_options_that_do_not_fit_are_refused(file, options, words):
    with pytest.raises(PTableError, match=words):
        read_tables(file(R_LINES), **options)


def test_missing_files_and_folders_are_refused(tmp_path):
    with pytest.raises(PTableError, match="There is no file"):
        read_tables(tmp_path / "missing.csv")
    with pytest.raises(PTableError, match="There is no file"):
        detect(tmp_path)


def test_files_beyond_any_table_are_refused_unread(file, monkeypatch):
    monkeypatch.setattr("ptable.dialects.text._MAX_BYTES", 10)
    with pytest.raises(PTableError, match="larger than"):
        read_tables(file(R_LINES))


# --- writing -----------------------------------------------------------------------------


def same_noise(table, other):
    """Compare noise by count and key, on keys that fall on every side of every threshold."""
    keys = math.lcm(table.key_range, other.key_range)
    assert keys <= 2**64
    edges = {0, keys - 1}
    for t in (table, other):
        for row in t.upper:
            for end in row[:-1]:
                edges |= {end * keys // t.key_range, end * keys // t.key_range - 1}
    picked = np.array(sorted(edges), dtype=np.uint64)
    counts = table.counts.tolist() if table.anchors else range(2200)
    for count in counts:
        where = np.full(len(picked), count)
        ours = table.lookup(where, picked, key_range=keys) * other.step
        theirs = other.lookup(where, picked, key_range=keys) * table.step
        assert (ours == theirs).all(), count


@pytest.mark.slow
@pytest.mark.parametrize("dialect", sorted(set(DIALECTS) - {"ckm"}))
def test_a_table_of_whole_bytes_keeps_its_noise_in_every_layout(tmp_path, dialect):
    table = PTable(
        noise=[[0], [-1, 1], [-2, 0, 3]],
        upper=[[256], [100, 256], [1, 200, 256]],
        key_range=256,
    )
    losses = write_tables(table, tmp_path / "pt.txt", dialect=dialect)
    again = PTable.read(tmp_path / "pt.txt", dialect=dialect)
    same_noise(table, again)
    kept = again.key_range == 256
    expected = (
        "the key range, 256, is not kept: it reads back as 100000000, with the same noise"
    )
    assert kept or losses[0].startswith(expected)
    assert len(losses) == (not kept)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["last", "cycle:2", "cycle:5"])
def test_rules_for_large_counts_reach_the_tools_that_repeat_columns(tmp_path, rule):
    rng = np.random.default_rng(5)
    noise = [[0], *([int(v) for v in rng.integers(0, 9, 4)] for _ in range(9))]
    upper = [[4], *[[1, 2, 3, 4]] * 9]
    table = PTable(noise=noise, upper=upper, key_range=4, large_counts=rule)
    for dialect in ("ons", "superstar"):
        losses = write_tables(table, tmp_path / dialect, dialect=dialect)
        assert not [loss for loss in losses if "noise is that of other rows" in loss]
        same_noise(table, PTable.read(tmp_path / dialect))
    losses = write_tables(table, tmp_path / "frame.csv", dialect="frame")
    assert bool(losses) == (rule != "last")
    if losses:
        assert f"'{rule}', is not kept: from count" in losses[0]


def test_a_rule_that_a_layout_cannot_hold_is_refused_or_named(tmp_path):
    noise = [[0], *([n % 7, n % 5] for n in range(1, 10))]
    table = PTable(noise=noise, upper=[[2], *[[1, 2]] * 9], key_range=2, large_counts="cycle:7")
    with pytest.raises(PTableError, match=r"SmallN 10 cannot hold(.|\n)*small_n=7"):
        write_tables(table, tmp_path / "pt.pert")
    (loss,) = write_tables(table, tmp_path / "pt.pert", small_n=7)
    assert loss.startswith("the key range, 2, is not kept: it reads back as 256, with the same")
    (again,) = read_tables(tmp_path / "pt.pert", small_n=7).values()
    same_noise(table, again)
    losses = write_tables(table, tmp_path / "pt.csv", dialect="ons")
    (loss,) = losses
    assert loss.endswith(
        "'cycle:7', is not kept: from count 751 on the noise is that of other rows"
    )


def test_our_own_tables_keep_every_threshold_where_digits_are_not_asked_for(tmp_path):
    table = solve(NoiseSpec(max_noise=3, variance=1.5, small=1))
    for dialect in ("r-ptable", "destatis", "frame"):
        path = tmp_path / f"{dialect}.csv"
        assert write_tables(table, path, dialect=dialect) == (
            "the specification and the certificate are not kept",
        )
        assert PTable.read(path) == table
        if dialect != "frame":
            assert PTable.read(path, key_range=2**32) == table


def test_losses_of_rounding_are_the_largest_that_occur(tmp_path):
    table = solve(NoiseSpec(max_noise=3, variance=1.5, small=1))
    losses = write_tables(table, tmp_path / "pt.txt", dialect="tau-argus")
    again = PTable.read(tmp_path / "pt.txt")
    assert again.key_range == 10**8
    moves = [
        abs(a / 2**32 - b / 10**8)
        for row, other in zip(table.upper, again.upper, strict=True)
        for a, b in zip(row, other, strict=True)
    ]
    means = [
        abs(
            sum(v * n for v, n in table.units(count).items()) / 2**32
            - sum(v * n for v, n in again.units(count).items()) / 10**8
        )
        for count in table.counts.tolist()
    ]
    assert 0 < max(moves) <= 5e-9
    assert losses[0].startswith(
        f"probabilities are rounded: thresholds move by at most {max(moves):.2g}"
    )
    assert f"mean noise moves by at most {max(means):.2g} and" in losses[0]
    assert losses[1:] == (
        "the key range, 4294967296, is not kept: it reads back as 100000000",
        "the specification and the certificate are not kept",
    )


def test_intervals_that_rounding_removes_are_counted(tmp_path):
    table = PTable(
        noise=[[0], [-1, 0, 1]], upper=[[10**6], [3, 10**6 - 3, 10**6]], key_range=10**6
    )
    losses = write_tables(table, tmp_path / "pt.csv", dialect="r-ptable", digits=4)
    assert "2 intervals are too narrow to be kept, at most 6e-06 of a row's keys" in losses[0]


def test_a_table_of_odd_keys_is_rounded_to_twelve_digits_and_says_so(tmp_path):
    table = PTable(noise=[[0], [-1, 1]], upper=[[3], [1, 3]], key_range=3)
    losses = write_tables(table, tmp_path / "pt.csv", dialect="r-ptable")
    assert losses[0].startswith("probabilities are rounded: thresholds move by at most 3.3e-13")
    assert PTable.read(tmp_path / "pt.csv").units(1)[-1] == 333333333333


def test_writing_warns_of_losses_and_of_nothing_else(tmp_path, small):
    thirds = PTable(noise=[[0], [-1, 1]], upper=[[3], [1, 3]], key_range=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small.write(tmp_path / "pt.csv", dialect="r-ptable")
        small.write(tmp_path / "pt.json", dialect="ckm")
    with pytest.warns(PTableWarning, match=r"'pt\.txt' does not hold the whole p-table: prob"):
        thirds.write(tmp_path / "pt.txt", dialect="tau-argus")
    assert PTable.read(tmp_path / "pt.json") == small


@pytest.mark.parametrize("dialect", ["cantabular", "superstar"])
def test_what_does_not_fit_into_256_keys_is_refused(tmp_path, dialect):
    thirds = PTable(noise=[[0], [-1, 1]], upper=[[3], [1, 3]], key_range=3)
    with pytest.raises(
        PTableError,
        match=r"256 keys cannot hold(.|\n)*quantise\(256\), or convert with --keys 256",
    ):
        write_tables(thirds, tmp_path / "pt.txt", dialect=dialect)
    assert list(tmp_path.iterdir()) == []


def test_tables_that_a_layout_cannot_hold_are_refused(tmp_path, small):
    halves = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8, step=2)
    zeros = PTable(noise=[[0, 1], [-1, 1]], upper=[[4, 8], [4, 8]], key_range=8)
    mixed = PTable(noise=[[0], [1, -1]], upper=[[8], [4, 8]], key_range=8)
    long = PTable(noise=[[0]] * 800, upper=[[8]] * 800, key_range=8)
    for table, dialect, words in (
        (halves, "ons", "not tables for magnitudes"),
        (halves, "destatis", "not tables for magnitudes"),
        (zeros, "superstar", "no column for count 0"),
        (mixed, "destatis", "count 1 of this p-table has another order"),
        (long, "ons", "counts to 750, and this p-table has rows to 799"),
        ({"even": small, "odd": small}, "ckm", "holds one p-table, not 2, of types even, odd"),
        ({"even": small, "odd": small}, "ons", "holds one p-table"),
        ({"small_cells": small, "odd": small}, "tau-argus", "a file of its own"),
        ({"a,b": small}, "r-ptable", "a plain word"),
        ({}, "r-ptable", "at least one"),
    ):
        name = "pt.json" if dialect == "ckm" else "pt.txt"
        with pytest.raises(PTableError, match=words):
            write_tables(table, tmp_path / name, dialect=dialect)
    assert list(tmp_path.iterdir()) == []


def test_names_decide_where_no_layout_is_named(tmp_path, small):
    with pytest.raises(PTableError, match=r"\.parquet or \.json, not '\.csv'(.|\n)*r-ptable"):
        write_tables(small, tmp_path / "pt.csv")
    with pytest.raises(PTableError, match="would mislead"):
        write_tables(small, tmp_path / "pt.json", dialect="r-ptable")
    assert write_tables(small, tmp_path / "pt.parquet") == ()
    assert detect(tmp_path / "pt.parquet") == "ckm"
    assert read_tables(tmp_path / "pt.parquet") == {"all": small}
    with pytest.raises(PTableError, match="exists already"):
        write_tables(small, tmp_path / "pt.parquet")
    with pytest.raises(PTableError, match="'ckm' has no use for digits"):
        read_tables(tmp_path / "pt.parquet", digits=8)


def test_several_types_go_to_one_file_and_come_back(tmp_path, small):
    odd = PTable(noise=[[0], [-1, 2]], upper=[[10], [4, 10]], key_range=10, step=2)
    tables = {"even": small, "odd": odd}
    losses = write_tables(tables, tmp_path / "pt.csv", dialect="r-ptable")
    again = read_tables(tmp_path / "pt.csv")
    assert list(again) == ["even", "odd"]
    same_noise(again["odd"], odd)
    (loss,) = losses
    assert loss.startswith("odd: the key range, 10, is not kept: it reads back as 100, with")


def test_anchors_of_whole_noise_are_written_with_a_warning(tmp_path):
    table = PTable(
        noise=[[0], [-1, 1], [-1, 1]],
        upper=[[10], [5, 10], [5, 10]],
        key_range=10,
        anchors=(0, 1, 5),
    )
    losses = write_tables(table, tmp_path / "pt.csv", dialect="r-ptable")
    assert losses == ("that only some counts have rows is not kept: read it with anchors=True",)
    assert read_tables(tmp_path / "pt.csv", anchors=True)["all"] == table


def test_frames_are_read_as_files_are():
    frame = pd.DataFrame(
        {"i": [1, 1], "v": [-0.5, 0.5], "p_int_lb": [0, 0.3], "p_int_ub": [0.3, 1]}
    )
    table = PTable.from_frame(frame)
    assert (table.step, table.units(1)) == (2, {-1: 3, 1: 7})
    with pytest.raises(PTableError, match="line 2, count 1: the intervals overlap"):
        PTable.from_frame(frame.assign(p_int_lb=[0, 0.2]))


@pytest.mark.slow
def test_reading_and_writing_load_no_solver_and_no_data_frames(tmp_path):
    code = f"""
import sys
from ptable import PTable
from ptable.dialects import write_tables
table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
write_tables(table, {str(tmp_path / "pt.csv")!r}, dialect="frame")
PTable.read({str(tmp_path / "pt.csv")!r})
found = {{"pandas", "pyarrow", "scipy", "highspy"}} & set(sys.modules)
assert not found, found
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dialect", ["frame", "r-ptable", "tau-argus", "sas"])
def test_a_single_table_may_have_any_type(tmp_path, dialect):
    table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    path = tmp_path / "pt.csv"
    write_tables({"special": table}, path, dialect=dialect)
    (again,) = read_tables(path).values()
    assert again.units(1).keys() == table.units(1).keys()


@pytest.mark.parametrize("tables", [5, None, {"a": 5}, {"a": None}])
def test_only_tables_are_written(tmp_path, tables):
    with pytest.raises(PTableError, match="tables must be a PTable"):
        write_tables(tables, tmp_path / "pt.csv", dialect="frame")
