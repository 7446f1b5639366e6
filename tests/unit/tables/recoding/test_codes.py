"""Recodes: from a file of two columns, or a mapping."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

from tables import RequestError
from tables.recoding.codes import as_codes, read_recode


def read(folder, text):
    path = folder / "occ.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_recode(path, of="occ", name="major")


@pytest.mark.parametrize(
    "text",
    [
        "code,label\n01,A\n1E2,b c\n",
        "\ufeffcode,label\n01,A\n1E2,b c\n\n\n",
        'occ;major\r\n01;A\r\n"1E2";"b c"',
        "code\tmajor\n01\tA\n1E2\tb c\n",
    ],
)
def test_codes_and_labels_are_the_texts_of_the_file(tmp_path, text):
    assert read(tmp_path, text) == {"01": "A", "1E2": "b c"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "needs two columns"),
        ("01,A\n02,B\n", "needs two columns"),
        ("code,label,more\n1,A,x\n", "needs two columns"),
        ("code,label\n1,A,x\n", "line 2 needs a code and a label, and nothing else"),
        ("code,label\n1,A\n\n2,B\n", "line 3 is blank"),
        ("code,label\n1,A\n2,\n", "line 3 needs a code and a label"),
        ("code,label\n1,A\n2,B\n1,A\n", "has the code of line 4 twice: it is in line 2 too"),
        (b"code,label\n1,\xe9\n", "cannot be read: it is not a CSV text in UTF-8"),
        ('code,label\n1,"A\n', "cannot be read: it is not a CSV text"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(tmp_path, text, said):
    with pytest.raises(RequestError) as caught:
        read(tmp_path, text)
    assert said in str(caught.value)
    assert "occ.csv" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(RequestError, match=r"'no\.csv' cannot be read: No such file"):
        read_recode(tmp_path / "no.csv", of="occ", name="major")


def test_codes_of_python_are_what_tables_print():
    codes = {1: "a", "x": "c", 2.0: "d", np.int64(3): "e", Decimal("1.50"): "f"}
    assert as_codes(codes, "x") == {"1": "a", "x": "c", "2": "d", "3": "e", "1.5": "f"}
    assert as_codes({True: "a", dt.date(2020, 1, 1): "b"}, "x") == {
        "true": "a",
        "2020-01-01": "b",
    }
    with pytest.raises(RequestError, match="has the code '1' twice"):
        as_codes({1: "a", "1": "b"}, "It")
    with pytest.raises(RequestError, match="must give texts"):
        as_codes({"1": 1}, "It")
