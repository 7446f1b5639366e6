"""From bytes and frames to cells, with every problem named by its line."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ptable import PTableError
from ptable.dialects.text import Problems, Sheet, sheet_of_bytes, sheet_of_frame, sheet_of_path


def sheet(content):
    content = content.encode() if isinstance(content, str) else content
    return sheet_of_bytes(content, source="The file 'pt.csv'", stem="pt")


def refusal(content):
    with pytest.raises(PTableError) as caught:
        sheet(content)
    return str(caught.value)


# --- problems ----------------------------------------------------------------------------


def told(problems):
    with pytest.raises(PTableError) as caught:
        problems.stop()
    return str(caught.value)


def test_a_problem_is_told_with_its_line_and_count_where_it_has_them():
    problems = Problems("The source")
    problems.stop()
    problems.add("one")
    problems.add("two", line=3)
    problems.add("three", count=0)
    problems.add_cell("x", "it must be four", line=0, count=5)
    problems.add_cell("", "it must be five")
    assert told(problems) == (
        "The source is no p-table: one; line 3: two; count 0: three; "
        "line 0, count 5: it must be four, not 'x'; it must be five, not an empty cell."
    )


def test_a_cell_of_a_frame_that_is_too_long_to_be_told_is_cut():
    problems = Problems("The source")
    problems.add_cell("1" * 64, "it must be short")
    problems.add_cell("1" * 5000, "it must be short")
    assert told(problems) == (
        f"The source is no p-table: it must be short, not '{'1' * 64}'; it must be short, not "
        f"'{'1' * 64}…'."
    )


def test_five_problems_are_told_and_the_others_counted():
    problems = Problems("The source")
    for number in range(5):
        problems.add(f"p{number}")
    assert told(problems).endswith("p3; p4.")
    problems.add("p5")
    problems.add("p6")
    assert told(problems).endswith("p3; p4 (and 2 more).")


@pytest.mark.parametrize(
    ("counts", "gaps"),
    [
        ([2], ["count 1 has no lines, though count 2 has"]),
        ([5, 1], ["counts 2 to 4 have no lines, though count 5 has"]),
        (
            [1, 3, 6],
            ["count 2 has no lines, though c", "counts 4 to 5 have no lines, though c"],
        ),
    ],
)
def test_counts_without_lines_are_named(counts, gaps):
    problems = Problems("The source")
    problems.add_gaps(counts, hint="a way out")
    text = told(problems)
    assert all(gap in text for gap in gaps)
    assert text.count("though") == len(gaps)
    assert text.endswith("hint: a way out")


def test_rows_without_a_gap_are_no_problem_with_or_without_a_row_of_0():
    problems = Problems("The source")
    problems.add_gaps([1, 2, 3], hint="a way out")
    problems.add_gaps([0, 1], hint="a way out")
    problems.stop()
    assert problems.hint is None


def test_what_ends_the_reading_is_told_with_what_came_before():
    problems = Problems("The source")
    problems.hint = "an earlier hint"
    problems.add("first")
    with pytest.raises(PTableError, match=r"first; line 7: last\.\n  hint: an earlier hint"):
        problems.fail("last", line=7)
    with pytest.raises(PTableError, match="hint: a hint of its own"):
        problems.fail("last", hint="a hint of its own")


# --- bytes -------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_cells_are_parted_by_the_sign_that_the_first_line_has_most_of(separator):
    found = sheet(f"I{separator} v {separator}p\n1{separator}2{separator}3\n")
    assert found.cells == [["I", "v", "p"], ["1", "2", "3"]]
    assert found.names == ["i", "v", "p"]
    assert found.separator == separator


def test_lines_keep_the_numbers_that_they_have_in_the_file():
    found = sheet("\n\na,b\r\n\n1,2\n \n3,4")
    assert found.numbers == [3, 5, 7]
    assert found.body == [(5, ["1", "2"]), (7, ["3", "4"])]


def test_quotes_part_cells_from_the_signs_in_them():
    found = sheet('a;b\n"1;2"; "x ""y"""\n3;4\n')
    assert found.cells == [["a", "b"], ["1;2", 'x "y"'], ["3", "4"]]
    assert sheet('a,b\n"1"," 2 "\n').cells[1] == ["1", "2"]


@pytest.mark.parametrize("line", ['1,"2', '"1"x,2'])
def test_a_stray_quote_swallows_no_line(line):
    assert "line 2: its quotes do not match" in refusal(f'a,b\n{line}\n3",4\n')


def test_the_text_may_have_any_usual_encoding():
    assert sheet("\ufeffà,b".encode()).cells == [["à", "b"]]
    assert sheet("à,b".encode("latin-1")).cells == [["à", "b"]]
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        content = "\ufeffa,b".encode(encoding)
        if encoding == "utf-16":
            content = "a,b".encode(encoding)
        assert "written in UTF-16" in refusal(content)
        assert "save it as UTF-8" in refusal(content)


@pytest.mark.parametrize("sign", ["\x00", "\x01", "\x1f"])
def test_control_signs_are_no_text(sign):
    assert "it is no text" in refusal(f"a,b\n1,{sign}")


def test_blanks_tabs_and_marks_are_text():
    assert sheet("a b,c!\n\t1,2\r\n").cells == [["a b", "c!"], ["1", "2"]]


@pytest.mark.parametrize("content", ["", " \n\n\t\n", "\ufeff"])
def test_an_empty_file_is_told(content):
    assert "it is empty" in refusal(content)


def test_lines_of_another_length_than_the_first_are_named():
    text = refusal("a,b\n1\n1,2\n1,2,3\n")
    assert "line 2: it has 1 cells, the first line 2" in text
    assert "line 4: it has 3 cells, the first line 2" in text
    assert text.endswith("hint: where decimals have a comma, part the cells by ';'")
    assert "hint" not in refusal("a,b\n1\n")
    assert "hint" not in refusal("a;b\n1;2;3\n")


def test_cells_have_at_most_64_signs():
    assert sheet("a,b\n1," + "x" * 64).cells[1][1] == "x" * 64
    text = refusal("a,b\n1,2\n1," + "x" * 65)
    assert "line 3: a cell has more than 64 characters" in text


def test_decimal_commas_are_recognised_by_cells_that_look_like_numbers():
    assert sheet("a;b\n1;0,5\n").has_commas
    assert sheet("a;b\n-,5;2\n").has_commas
    assert not sheet("a;b\n1;0.5\n").has_commas
    assert not sheet("a;b\n1;x,y\n").has_commas
    assert not sheet("a;b\n1;2\n").has_commas
    assert not sheet("0,5;1\n1;0.5\n").has_commas  # the first line is a header
    assert not sheet('a,b\n"0,5",1\n').has_commas


def test_a_comma_and_a_point_are_named_where_each_comes_first():
    text = refusal("a;b\n1;0,5\n1;0,7\n1;1.5\n2;0,3\n")
    assert "decimals have a comma and a point, in lines 2 and 4" in text
    assert sheet("a;b\n0,5;x.y\n").has_commas


# --- files and frames ----------------------------------------------------------------------


def test_a_file_is_called_by_its_name_and_its_tables_by_its_stem(tmp_path):
    path = tmp_path / "office.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 100)
    found = sheet_of_path(path)
    assert (found.source, found.stem) == ("The file 'office.csv'", "office")
    assert found.cells == [["a", "b"], *[["1", "2"]] * 100]


def test_files_beyond_any_table_are_refused_unread(tmp_path):
    path = tmp_path / "large.csv"
    path.touch()
    os.truncate(path, 2**28 + 1)
    with pytest.raises(PTableError, match=r"'large\.csv' is no p-table: it is larger than 256"):
        sheet_of_path(path)


def test_what_cannot_be_read_is_told_without_its_folder(tmp_path):
    with pytest.raises(PTableError, match=r"The file '.*' cannot be read: \w+") as caught:
        sheet_of_path(tmp_path / "missing.csv")
    assert str(tmp_path) not in str(caught.value)
    with pytest.raises(PTableError, match="cannot be read"):
        sheet_of_path(Path(tmp_path))


def test_a_frame_is_a_sheet_whose_missing_values_are_empty_cells():
    frame = pd.DataFrame(
        {
            "I": [1, 2],
            "x": [0.1, np.nan],
            "t": pd.Series([" a ", None], dtype=object),
            "n": pd.array([3, None], dtype="Int64"),
            "d": pd.to_datetime(["2020-01-01", None]),
        }
    )
    found = sheet_of_frame(frame, stem="mine")
    assert found == Sheet(
        source="The frame",
        stem="mine",
        cells=[
            ["I", "x", "t", "n", "d"],
            ["1", "0.1", "a", "3", "2020-01-01 00:00:00"],
            ["2", "", "", "", ""],
        ],
        numbers=[0, 1, 2],
    )
    assert found.body[0][0] == 1
