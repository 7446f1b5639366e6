"""Lists of intervals, with decimal and with whole thresholds."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from ptable import PTable, PTableError
from ptable.dialects.intervals import (
    read_decimal_intervals,
    read_key_intervals,
    table_from_frame,
)
from ptable.dialects.numbers import Reading
from ptable.dialects.text import sheet_of_bytes

HEADER = "i,j,p,v,p_int_lb,p_int_ub,type"
LINES = [
    HEADER,
    "0,0,1,0,0,1,all",
    "1,0,.5,-1,0,.5,all",
    "1,2,.5,1,.5,1,all",
    "2,1,.25,-1,0,.25,all",
    "2,2,.5,0,.25,.75,all",
    "2,3,.25,1,.75,1,all",
]


def tables(content, reader=read_decimal_intervals, **options):
    content = content if isinstance(content, str) else "\n".join(content)
    sheet = sheet_of_bytes(content.encode(), source="The file 'pt.csv'", stem="pt")
    return reader(sheet, Reading(**options))


def read(content, reader=read_decimal_intervals, **options):
    (table,) = tables(content, reader, **options).values()
    return table


def in_keys(*lines, **options):
    return read(lines, read_key_intervals, **options)


@pytest.fixture
def small():
    return PTable(
        noise=[[0], [-1, 1], [-1, 0, 1]], upper=[[100], [50, 100], [25, 75, 100]], key_range=100
    )


# --- decimal thresholds --------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        LINES,
        "\n".join(LINES).replace(",", ";").replace(".", "0,"),
        "\n".join(LINES).replace("p_int_lb", "lb").replace("p_int_ub", "ub"),
        "\n".join(LINES).replace("p_int_lb", "kum_p_u").replace("p_int_ub", "kum_p_o"),
        "\n".join(LINES).replace(",v,", ",diff,"),
        "\n".join(LINES).replace("i,j", "I,J"),
        [HEADER, *LINES[:0:-1]],
        "\n".join(LINES).replace(".5,", "5e-1,"),
        [HEADER, *LINES[2:]],
    ],
)
def test_a_list_of_intervals_is_read_however_it_is_written(small, content):
    found = read(content)
    assert found == small
    assert (found.label, found.large_counts) == ("pt", "last")


@pytest.mark.parametrize(
    "columns", ["i,v,p_int_ub", "i,j,p_int_ub", "i,v,p_int_lb,p_int_ub", "i,p,j,p_int_ub"]
)
def test_columns_that_follow_from_others_may_be_missing(small, columns):
    names = HEADER.split(",")
    places = [names.index(name) for name in columns.split(",")]
    lines = [",".join(line.split(",")[place] for place in places) for line in LINES]
    assert read(lines) == small
    if "lb" not in columns:
        assert read([lines[0], *lines[:0:-1]]) == small  # all lines last first


def test_a_list_is_read_as_its_reader_is_told():
    assert read(LINES, digits=1).upper[2] == (2, 8, 10)
    assert read(LINES, key_range=8).upper[2] == (2, 6, 8)
    assert read(LINES, large_counts="cycle:2").large_counts == "cycle:2"


def test_each_type_is_a_table_of_its_own():
    lines = [HEADER, "1,0,1,-1,0,1,odd", "1,1,1,0,0,1,even", "2,1.5,1,-.5,0,1,even"]
    found = tables(lines)
    assert list(found) == ["odd", "even"]
    assert [table.label for table in found.values()] == ["pt odd", "pt even"]
    assert found["odd"].units(1) == {-1: 10}
    assert (found["even"].step, found["even"].units(2)) == (2, {-1: 10})
    # no type says the same as the type "all"
    assert list(tables(["i,v,p_int_ub", "1,0,1"])) == ["all"]


@pytest.mark.parametrize(
    ("step", "noise"),
    [(2, "-0.5"), (4, "-0.25"), (5, "-0.20000000000000001"), (3, "-0.3333333")],
)
def test_the_step_is_the_least_common_denominator_of_the_noise(step, noise):
    low = 1 + float(noise)
    lines = [HEADER, f"1,{low!r},.5,{noise},0,.5,all", "1,2,.5,1,.5,1,all"]
    found = read([*lines, "3,3,1,0,0,1,all"])
    assert found.step == step
    assert found.noise[1] == (-1, step)
    assert found.anchors == (0, 1, 3)


def test_noise_without_a_common_step_of_a_thousandth_is_refused():
    lines = ["i,v,p_int_ub", "1,0.5,.2", "1,0.2,1", "2,0.008,1"]
    assert read(lines).step == 250
    fine = [*lines[:3], "2,0.001,1"]
    assert read(fine).step == 1000
    with pytest.raises(PTableError, match="no common step of at least 1/1000"):
        read([*fine, "3,0.3333333333,1"])
    with pytest.raises(PTableError, match="no common step"):  # 7 * 11 * 13 is 1001
        read([lines[0], "1,.1428571429,.2", "1,.0909090909,.3", "1,.0769230769,1"])


def test_intervals_without_a_key_are_left_out_wherever_they_stand():
    lines = ["i,v,p_int_lb,p_int_ub", "1,1,.5,1", "1,0,.5,.5", "1,-1,0,.5"]
    assert read(lines).units(1) == {-1: 5, 1: 5}
    assert read(["i,v,p,p_int_ub", "1,0,1,1", "1,1,0,1"]).units(1) == {0: 10}


def test_anchors_of_whole_noise_must_be_declared():
    lines = [*LINES[:4], "3,3,1,0,0,1,all"]
    with pytest.raises(PTableError, match=r"count 2 has no lines.*\n.*anchors=True"):
        read(lines)
    assert read(lines, anchors=True).anchors == (0, 1, 3)


@pytest.mark.parametrize(
    ("p", "upper", "is_fine"),
    [
        ("0.36648550999999", "0.36648551", True),
        ("0.36648552", "0.36648551", True),
        ("0.366485525", "0.36648551", True),
        ("0.36648553", "0.36648551", False),
        ("0.3665", "0.36648551", True),
        ("0.3666", "0.36648551", False),
        ("0.37", "0.36648551", True),
        ("0.38", "0.36648551", False),
        ("0.3751", "0.375", False),
        ("0.3751", "0.3750", True),  # four digits are rounded, three are exact
        ("0.3752", "0.3750", False),
        ("0.36", "0.37", False),
        ("0.4", "0.37", True),
        ("0.4", "0.30", False),
        ("1", "0.9", False),
        ("0.99999995", "1.00000000", False),
        ("0.99999995", "1", False),
    ],
)
def test_a_probability_fits_its_thresholds_as_far_as_both_are_printed(p, upper, is_fine):
    try:
        read(["i,v,p,p_int_ub", f"1,0,{p},{upper}"])
        problems = ""
    except PTableError as error:
        problems = str(error)
    assert ("count 1: p is" not in problems) == is_fine, problems


def test_a_probability_still_fits_thresholds_that_are_rounded_as_asked():
    third = 1 / 3
    lines = ["i,v,p,p_int_ub", f"1,-1,{third!r},{third!r}", f"1,1,{2 * third!r},1"]
    with pytest.raises(PTableError, match="pass digits=8 to round them"):
        read(lines)
    assert read(lines, digits=8).units(1) == {-1: 33_333_333, 1: 66_666_667}
    assert read(lines, digits=1).units(1) == {-1: 3, 1: 7}
    lines[1] = f"1,-1,0.3333333,{third!r}"  # within a key of eight digits
    with pytest.raises(PTableError, match=r"p is 0\.3333333, its thresholds give 0\.33333333"):
        read(lines, digits=8)


def test_intervals_with_their_upper_end_move_by_one_key():
    with pytest.raises(
        PTableError, match=r"The file 'pt\.csv': Intervals .* need the key_range"
    ):
        read(LINES, boundary="(]")
    closed, opened = read(LINES, boundary="(]", key_range=8), read(LINES)
    keys, ones = np.arange(8), np.ones(8, int)
    assert closed.lookup(ones, keys, key_range=8).tolist() == [-1] * 5 + [1] * 3
    assert opened.lookup(ones, keys, key_range=8).tolist() == [-1] * 4 + [1] * 4
    # thresholds between two keys do not move
    third = read(LINES, boundary="(]", key_range=3)
    for table in (third, opened):
        assert table.lookup(ones[:3], keys[:3], key_range=3).tolist() == [-1, -1, 1]


def test_key_zero_goes_to_the_first_interval_that_holds_a_key():
    lines = ["i,v,p_int_lb,p_int_ub", "1,-1,0,0", "1,0,0,.001", "1,1,.001,1"]
    table = read(lines, boundary="(]", key_range=10)
    assert table.lookup([1, 1], [0, 1], key_range=10).tolist() == [0, 1]


def test_noise_is_the_difference_of_what_is_printed_as_far_as_it_is_printed():
    assert read(["i,j,v,p_int_ub", "1,1.333333,0.333333,1"]).units(1) == {1: 10}
    assert read(["i,j,v,p_int_ub", "1,1.33333333,.3333333333,1"]).step == 3
    for j in ("1.33334", "1.333335", "1.3334"):
        with pytest.raises(PTableError, match="'v' must be 'j' minus 'i'"):
            read(["i,j,v,p_int_ub", f"1,{j},.333333,1"])


def test_a_count_may_be_published_as_0_and_noise_be_as_large_as_a_million():
    assert read(["i,v,p_int_ub", "1,-1,.5", "1,1000000,1"]).max_noise == 10**6
    with pytest.raises(PTableError, match=r"line 2: count 1 would be published as -0\.5"):
        read(["i,v,p_int_ub", "1,-1.5,1"])


def changed(line, text):
    return [*LINES[: line - 1], text, *LINES[line:]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (changed(3, "1,0,.5,-1,0,,all"), "line 3, count 1: column 'p_int_ub' .*an empty cell"),
        (
            changed(3, "1,0,.5,-1,x,.5,all"),
            "line 3, count 1: column 'p_int_lb' must hold decimals",
        ),
        (changed(3, "1,0,.5,-1,0,NA,all"), "line 3, count 1: .*'NA'"),
        (changed(3, "1,0,.5,-1,0,nan,all"), "line 3, count 1: .*'nan'"),
        (changed(3, "1,0,.5,-1,0,Infinity,all"), "line 3, count 1: .*'Infinity'"),
        (changed(3, "1,0,.5,-1,0,-.5,all"), "count 1: .* decimals from 0 to 1, not '-.5'"),
        (changed(3, "1,0,.5,-1,0,1.5,all"), "line 3, count 1: .*'1.5'"),
        (
            changed(3, "1,0,1e900,-1,0,.5,all"),
            "line 3, count 1: column 'p' must hold .*'1e900'",
        ),
        (changed(3, "1,0,5e20,-1,0,.5,all"), "line 3, count 1: p must lie between 0 and 1"),
        (changed(3, "1,0,-.5,-1,0,.5,all"), "line 3, count 1: p must lie between 0 and 1"),
        (changed(3, "1,0,.5,-1,0,1e-999999,all"), "line 3, count 1"),
        (changed(3, "1,x,.5,-1,0,.5,all"), "line 3, count 1: column 'j' must hold numbers"),
        (changed(3, "1,0,.5,x,0,.5,all"), "line 3, count 1: column 'v' must hold numbers"),
        (changed(3, "one,0,.5,-1,0,.5,all"), "line 3: column 'i' must hold counts .*'one'"),
        (changed(3, "1.5,0,.5,-1,0,.5,all"), "line 3: column 'i'"),
        (changed(3, "-1,0,.5,-1,0,.5,all"), "line 3: column 'i' must hold counts from 0 to"),
        (changed(3, "1000001,0,.5,-1,0,.5,all"), "line 3: column 'i' .*from 0 to 1000000, not"),
        (
            changed(3, "1,0,.4,-1,0,.5,all"),
            "line 3, count 1: p is 0.4, its thresholds give 0.5",
        ),
        (changed(3, "1,3,.5,-1,0,.5,all"), "line 3, count 1: 'v' must be 'j' minus 'i'"),
        (changed(3, "1,-1,.5,-2,0,.5,all"), "line 3: count 1 would be published as -1"),
        (changed(3, "1,0,.5,-1,0,.5,"), "line 3: the cell of column 'type' is empty"),
        (
            changed(3, "1,0,.4,-1,.1,.5,all"),
            "line 3, count 1: the intervals leave a gap: one ends at 0, the next starts at 0.1",
        ),
        (changed(4, "1,2,.6,1,.4,1,all"), "line 4, count 1: the intervals overlap"),
        (changed(4, "1,2,.4,1,.5,.9,all"), "line 4, count 1: the last threshold is 0.9, not 1"),
        (changed(4, "1,2,0,1,.5,.5,all"), "line 4, count 1: the last threshold is 0.5, not 1"),
        (
            changed(3, "1,0,.5,-1,.5,0,all"),
            "line 3, count 1: the threshold falls from 0.5 to 0",
        ),
        ([*LINES, LINES[-1]], "line 8, count 2: the intervals overlap"),
        ([*LINES[:2], *LINES[4:]], "count 1 has no lines, though count 2 has"),
        (changed(3, "1,0,.5,-1e7,0,.5,all"), "the noise -1E\\+7 must lie within 1000000"),
        (changed(2, "0,0,1,0,0,1,al"), "line 2: type 'al' has no count but 0"),
        ("\n".join(LINES).replace("j,p", "j,j"), "column 'j' twice"),
        ("\n".join(LINES).replace("j,p,v", "j,v,diff"), "column 'v' twice"),
        (LINES[:1], "it needs at least one line below"),
        ("i,v,p_int_ub\n1,-1,.6\n1,0,.3\n1,1,1\n", "line 3, .*falls from 0.6 to 0.3"),
        ("i,v,p_int_ub\n1,-1,.5\n1,-1,1\n", "line 3, count 1: it has a noise value twice"),
        ("i,v,p_int_ub\n1,0.12345,.5\n1,0,1\n", "line 2, count 1: the noise .*multiple of 1/s"),
        ("i,v,p_int_ub\n1,-.1234567891234567,.5\n1,0,1\n", "multiple of 1/s"),
        ("i,v,p_int_ub\n1,0,.123456789012345\n1,1,1\n", "15 decimal digits(.|\n)*digits=8"),
    ],
)
def test_what_is_no_table_is_refused_by_line_and_count(content, words):
    with pytest.raises(PTableError, match=words) as caught:
        read(content)
    assert str(caught.value).startswith("The file 'pt.csv'")


@pytest.mark.parametrize(
    ("header", "words", "hint"),
    [
        ("j,v,p_int_ub", "no column 'i'; it has", "p_int_ub, or upper"),
        ("i,p_int_ub,p", "no column 'v' or 'j'", "p_int_ub, or upper"),
        ("i,v,p", "no column 'p_int_ub'", "p_int_ub, or upper"),
    ],
)
def test_a_column_that_is_missing_is_named_with_those_there_are(header, words, hint):
    with pytest.raises(PTableError, match=words) as caught:
        read([header, "1,1,1"])
    assert caught.value.hint == f"needed are i, one of j and v, and {hint}"
    with pytest.raises(PTableError, match="no column 'upper'") as caught:
        in_keys("i,v,p_int_ub", "1,0,1")
    assert caught.value.hint == "needed are i, one of j and v, and upper"


def test_a_probability_that_a_list_repeats_does_not_need_noise_once():
    lines = ["i,v,p,p_int_ub", "1,-1,.25,.25", "1,1,.5,.75", "1,-1,.25,1"]
    assert read(lines).noise[1] == (-1, 1, -1)


def test_thresholds_that_are_no_whole_keys_are_refused_with_a_way_out():
    with pytest.raises(PTableError, match=r"threshold 0\.5 is no multiple of 1/3") as caught:
        read(LINES, key_range=3)
    assert "read it without key_range" in caught.value.hint


# --- whole thresholds ----------------------------------------------------------------------


def test_whole_thresholds_are_out_of_the_largest_or_of_what_the_reader_is_told(small):
    lines = ["i,v,p,lower,upper", "0,0,1,0,8", "1,-1,.25,0,2", "1,1,.75,2,8"]
    found = in_keys(*lines)
    assert (found.key_range, found.units(1)) == (8, {-1: 2, 1: 6})
    assert in_keys(*lines, key_range=8, large_counts="cycle:2").large_counts == "cycle:2"
    assert in_keys("i,v,upper", "1,0,2").key_range == 2
    assert in_keys("i,v,upper", f"1,0,{2**64}").key_range == 2**64
    frame = small.to_frame().to_csv(index=False)
    assert read(frame, read_key_intervals) == small


@pytest.mark.parametrize(
    ("lines", "options", "words"),
    [
        (["1,0,0,4", "1,1,5,8"], {}, "line 3, count 1: the intervals leave a gap"),
        (["1,0,0,4.5", "1,1,4.5,8"], {}, "line 2, .*must hold integers from 0 on, not '4.5'"),
        (
            ["1,0,0,-4", "1,1,4,8"],
            {},
            "line 2, count 1: column 'upper' must hold integers from 0",
        ),
        (["1,0,0,8", "2,0,0,4"], {}, "line 3, count 2: the last threshold is 0.5, not 1"),
        (
            ["1,0,0,4", "1,1,4,9"],
            {"key_range": 8},
            r"table: line 3: the threshold lies above 8\.$",
        ),
        (["1,0,0,1"], {}, "the largest threshold must lie between 2 and 2"),
        (
            [f"1,0,0,{2**64 + 1}"],
            {},
            "line 2, count 1: column 'upper' must hold integers from 0",
        ),
    ],
)
def test_whole_thresholds_that_are_no_table_are_refused(lines, options, words):
    with pytest.raises(PTableError, match=words):
        in_keys("i,v,lower,upper", *lines, **options)


def test_a_printed_probability_of_whole_keys_may_be_rounded():
    thirds = ["i,v,p,lower,upper", "1,-1,0.3333,0,1", "1,1,0.6667,1,3"]
    assert in_keys(*thirds).units(1) == {-1: 1, 1: 2}
    with pytest.raises(PTableError, match=r"p is 0\.3334, its thresholds give 0\.333333333333"):
        in_keys(thirds[0], "1,-1,0.3334,0,1", thirds[2])
    with pytest.raises(PTableError, match=r"p is 0\.333, its"):
        in_keys(thirds[0], "1,-1,0.333,0,1", "1,1,0.667,1,3")


# --- frames ------------------------------------------------------------------------------


def of_frame(frame, **options):
    return table_from_frame(frame, **{"key_range": None, "digits": None, "label": ""} | options)


def test_frames_are_read_as_files_are():
    frame = pd.DataFrame(
        {"i": [1, 1], "v": [-0.5, 0.5], "p_int_lb": [0, 0.3], "p_int_ub": [0.3, 1]}
    )
    table = of_frame(frame, label="mine")
    assert (table.step, table.units(1), table.label) == (2, {-1: 3, 1: 7}, "mine")
    assert of_frame(frame, digits=3).key_range == 1000
    with pytest.raises(PTableError, match="line 2, count 1: the intervals overlap"):
        of_frame(frame.assign(p_int_lb=[0, 0.2]))
    with pytest.raises(PTableError, match="several p-tables, of types a, b"):
        of_frame(frame.assign(type=["b", "a"]))
    assert of_frame(frame.assign(type="a")) == table


def test_frames_of_whole_thresholds_say_out_of_how_many(small):
    frame = small.to_frame()
    assert of_frame(frame, key_range=100) == small
    assert of_frame(frame.drop(columns=["p", "lower", "j"]), key_range=100) == small
    with pytest.raises(PTableError, match="Integer thresholds in 'upper' need a key_range"):
        of_frame(frame)


def test_shares_of_rows_are_exact(small):
    third = read(["i,v,p_int_ub", "1,0,.333333333333", "1,1,1"])
    assert Fraction(third.units(1)[0], third.key_range) == Fraction("0.333333333333")
