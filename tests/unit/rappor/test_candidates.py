"""Candidates: hashing, collisions, google's map, and what is refused."""

import numpy as np
import pytest

from rappor.decoding.candidates import Candidates
from rappor.errors import RapporError, ReportFileError
from rappor.parameters import Parameters

GOOGLE = Parameters(n_bits=16, n_hashes=2, n_cohorts=4, f=0.5, p=0.5, q=0.75, hash="md5")
LINES = (
    "apple,5,1,26,26,38,34,63,62\n"
    "banana,12,14,28,24,37,34,62,49\n"
    "carrot,4,12,25,21,48,38,61,54\n"
)


def test_the_map_of_google_is_written_and_read(tmp_path):
    fruits = Candidates.of(["apple", "banana", "carrot"], parameters=GOOGLE)
    fruits.write(tmp_path / "map.csv")
    assert (tmp_path / "map.csv").read_text() == LINES
    again = Candidates.read(tmp_path / "map.csv", parameters=GOOGLE)
    assert again.names == fruits.names
    assert (again.bits == fruits.bits).all()


def test_two_hashes_of_one_bit_set_it_once():
    fruits = Candidates.of(["apple"], parameters=GOOGLE)
    column = fruits.design.toarray()[:, 0]
    assert set(column) == {0.0, 1.0}
    assert column.sum() == 7  # 26 comes twice


def test_names_with_commas_quotes_and_nothing_survive_a_file(tmp_path):
    names = ["", 'a,"b"', "été", "two\nlines"]
    Candidates.of(names, parameters=GOOGLE).write(tmp_path / "map.csv")
    assert list(Candidates.read(tmp_path / "map.csv", parameters=GOOGLE).names) == names


def test_equal_bits_in_another_order_are_a_collision():
    shape = Parameters(n_bits=8, n_hashes=3, n_cohorts=1, f=0.0, p=0.2, q=0.8)
    bits = np.array([[[3, 3, 5]], [[5, 3, 5]], [[3, 5, 6]]])
    found = Candidates(names=("a", "b", "c"), bits=bits, parameters=shape)
    assert found.collisions == (("a", "b"),)
    assert found.groups == ((0, 1), (2,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no candidate"),
        ("apple,5,1\n", "has 2 bits, not 8"),
        ("apple,5,1,26,26,38,34,63,x\n", "whole numbers"),
        ("apple,5,1,26,26,38,34,63,65\n", "outside its cohort"),
        ("apple,5,17,26,26,38,34,63,62\n", "outside its cohort"),
        ("apple,0,1,26,26,38,34,63,62\n", "outside its cohort"),
        ("apple,5,1,26,26,38,34,63,99999999999999999999\n", "whole numbers"),
        (LINES + LINES, "comes twice"),
    ],
)
def test_a_map_that_does_not_fit_is_refused(tmp_path, text, message):
    (tmp_path / "map.csv").write_text(text)
    with pytest.raises(ReportFileError, match=message):
        Candidates.read(tmp_path / "map.csv", parameters=GOOGLE)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "map.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ReportFileError, match="cannot be read"):
        Candidates.read(tmp_path / "map.csv", parameters=GOOGLE)
    with pytest.raises(ReportFileError, match="cannot be read"):
        Candidates.read(tmp_path / "none.csv", parameters=GOOGLE)


def test_candidates_need_names_each_once():
    with pytest.raises(RapporError, match="no candidate"):
        Candidates.of([], parameters=GOOGLE)
    with pytest.raises(RapporError, match="'a' comes twice"):
        Candidates.of(["a", "b", "a"], parameters=GOOGLE)


def test_basic_rappor_names_all_values_or_numbers_some():
    basic = Parameters.basic(3, f=0.0, p=0.25, q=0.75)
    assert Candidates.of(list("abc"), parameters=basic).bits.ravel().tolist() == [0, 1, 2]
    assert Candidates.of([2, 0], parameters=basic).names == ("2", "0")
    with pytest.raises(RapporError, match="names of all 3 values"):
        Candidates.of(list("ab"), parameters=basic)


def test_a_value_that_sets_no_bit_is_no_candidate():
    coin = Parameters.basic(1, f=0.0, p=0.25, q=0.75)
    with pytest.raises(RapporError, match="sets no bit"):
        Candidates(names=("no",), bits=[[[-1]]], parameters=coin)
    assert Candidates.of(["yes"], parameters=coin).bits.tolist() == [[[0]]]


def test_bits_of_another_shape_are_refused():
    with pytest.raises(RapporError, match="shape"):
        Candidates(names=("a",), bits=[[[1]]], parameters=GOOGLE)
    with pytest.raises(RapporError, match=r"0\.\.15"):
        Candidates(names=("a",), bits=np.full((1, 4, 2), 16), parameters=GOOGLE)
