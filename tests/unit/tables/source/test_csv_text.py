"""The text of CSV files: header, encoding, lines, shapes."""

import gzip

import pytest

from tables.source.csv_text import (
    Layout,
    cure,
    find_text,
    is_day,
    is_number,
    is_of_two_line_ends,
    is_whole,
    read_layout,
    rows,
)


@pytest.mark.parametrize(
    ("header", "delimiter", "names"),
    [
        ("a,b", ",", ("a", "b")),
        ("a;b,c;d", ";", ("a", "b,c", "d")),
        ('"x;y;z",b', ",", ("x;y;z", "b")),
        ('"a ""b""",c', ",", ('a "b"', "c")),
        ("a\tb", "\t", ("a", "b")),
        ("a", ",", ("a",)),
        ('"a\nb",c', ",", ("a\nb", "c")),
    ],
)
@pytest.mark.parametrize("end", ["\n", ""])
def test_the_first_line_names_every_column(tmp_path, header, delimiter, names, end):
    file = tmp_path / "data.csv.gz"
    file.write_bytes(gzip.compress(("\ufeff" + header + end).encode()))
    assert read_layout(str(file)) == Layout(delimiter, names)


def test_records_come_with_the_number_of_their_first_line(tmp_path):
    file = tmp_path / "data.csv"
    file.write_bytes(b'a,b\r\n1,"x\ny"\r\n\r\n"2",z')
    assert list(rows(str(file), ",")) == [(2, ["1", "x\ny"]), (4, [""]), (5, ["2", "z"])]


def test_the_first_text_that_does_not_fit_is_found_in_the_second_file(tmp_path):
    for name, text in {"a.csv": "a,b\n1,2\n3,\n", "b.csv": "b,a\n2,1\nx,1\n"}.items():
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    layouts = {file: read_layout(file) for file in files}
    assert find_text(layouts, "b", is_whole) == (files[1], 3, "x")
    assert find_text(layouts, "a", is_whole) is None


def test_kinds_of_texts_are_told_apart():
    assert all(map(is_number, ["1", " 1 ", "-.5e3", "+4.", "007"]))
    assert not any(map(is_number, ["", "1_0", "inf", "nan", "1e400", "0x1", ".", "1 0", "1,5"]))
    assert is_number("1,5", decimal=",")
    assert not is_number("1.5", decimal=",")
    assert all(map(is_whole, ["0", "-7", "99999999999999999999"]))
    assert not any(map(is_whole, ["-0", "07", "+7", "7.0", str(2**127)]))
    assert is_day("2024-02-29")
    assert not any(map(is_day, ["2023-02-29", "20240229", "2024-2-29"]))


@pytest.mark.parametrize(
    ("text", "decimal", "words"),
    [
        ("1,5", ".", 'decimal = ","'),
        ("1.5", ",", 'decimal = "."'),
        ("1'000'000", ".", "thousands"),
        ("1.000,5", ",", "thousands"),
        ("1 000,5", ".", "thousands"),
    ],
)
def test_a_text_that_is_nearly_a_number_has_a_cure(text, decimal, words):
    assert words in cure(text, decimal=decimal)
    assert cure("Paris", decimal=decimal) is None


def test_line_ends_of_two_kinds_are_seen_wherever_they_are(tmp_path):
    file = tmp_path / "data.csv"
    for content, is_mixed in {
        b"a\r\nb\r\n": False,
        b"a\nb\n": False,
        b"a\rb\r": False,
        b"a\nb\r\n": True,
        b"a\r\nb\r": True,
        b"a" * (1 << 22) + b"\r\n" + b"b\n": True,
        b"a" * ((1 << 22) - 1) + b"\r\n" + b"b\r\n": False,
    }.items():
        file.write_bytes(content)
        assert is_of_two_line_ends(str(file)) is is_mixed
