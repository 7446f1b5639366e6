"""Bits of values: google's map by MD5, and the same for all callers by MurmurHash3."""

import hashlib

import mmh3
import numpy as np
import pytest

from rappor.client.bloom import bits, every_bit
from rappor.errors import RapporError
from rappor.parameters import Parameters


def design(**changes):
    fields = {"n_bits": 16, "n_hashes": 2, "n_cohorts": 4, "f": 0.5, "p": 0.5, "q": 0.75}
    return Parameters(**(fields | changes))


# google/rappor bin/hash_candidates.py, k=16, h=2, m=4: 1-based, cohort c offset by 16 c.
GOOGLE_MAP = {
    "apple": (5, 1, 26, 26, 38, 34, 63, 62),
    "banana": (12, 14, 28, 24, 37, 34, 62, 49),
    "carrot": (4, 12, 25, 21, 48, 38, 61, 54),
}


def test_md5_gives_the_map_of_google():
    found = every_bit(list(GOOGLE_MAP), parameters=design(hash="md5"))
    offset = found + 16 * np.arange(4)[None, :, None] + 1
    assert offset.reshape(3, 8).tolist() == [list(row) for row in GOOGLE_MAP.values()]


def test_md5_above_256_bits_takes_two_bytes_little_endian():
    (row,) = bits(["v"], [3], parameters=design(n_bits=300, hash="md5"))
    digest = hashlib.md5(b"\0\0\0\3v", usedforsecurity=False).digest()
    assert row.tolist() == [(digest[2 * i] + 256 * digest[2 * i + 1]) % 300 for i in (0, 1)]


def test_mmh3_words_are_those_of_the_digest():
    wide = design(n_bits=128, n_hashes=6)
    (row,) = bits(["Évreux"], [2], parameters=wide)
    first = mmh3.mmh3_x64_128_digest("Évreux".encode(), 2)
    second = mmh3.mmh3_x64_128_digest("Évreux".encode(), 2 + 2**24)
    words = np.frombuffer(first + second, "<u4")[:6]
    assert row.tolist() == (words % 128).tolist()


@pytest.mark.parametrize("hash_name", ["mmh3", "md5"])
def test_the_table_of_pairs_and_the_pairs_themselves_agree(hash_name):
    parameters = design(hash=hash_name)
    values = [f"v{i % 5}" for i in range(60)]
    cohorts = np.arange(60) * 7 % 4
    whole = bits(values, cohorts, parameters=parameters)  # few values: by the table
    singly = [
        bits([v], [c], parameters=parameters)[0] for v, c in zip(values, cohorts, strict=True)
    ]
    assert np.array_equal(whole, singly)
    assert np.array_equal(whole, every_bit(values, parameters=parameters)[range(60), cohorts])


def test_bits_are_spread_evenly():
    parameters = design(n_bits=7, n_cohorts=1)
    found = bits([f"v{i}" for i in range(20_000)], 0, parameters=parameters)
    for column in found.T:
        counts = np.bincount(column, minlength=7)
        assert np.sum((counts - 20_000 / 7) ** 2) / (20_000 / 7) < 22.5  # chi2(6), 0.1 %


def test_text_and_its_bytes_are_one_value():
    parameters = design()
    one = bits(["é"], [1], parameters=parameters)
    assert np.array_equal(one, bits(["é".encode()], [1], parameters=parameters))


def test_basic_values_are_their_own_bits_and_no_is_none():
    assert bits(
        [3, 0], [0, 0], parameters=Parameters.basic(4, f=0.5, p=0.2, q=0.8)
    ).tolist() == [
        [3],
        [0],
    ]
    boolean = Parameters.basic(1, f=0.5, p=0.2, q=0.8)
    assert bits([True, False], 0, parameters=boolean).tolist() == [[0], [-1]]
    assert every_bit([1, 0], parameters=boolean).tolist() == [[[0]], [[-1]]]


def test_no_value_has_no_bits():
    assert bits([], [], parameters=design()).shape == (0, 2)
    assert bits([], [], parameters=Parameters.basic(4, f=0.5, p=0.2, q=0.8)).shape == (0, 1)


@pytest.mark.parametrize(
    "values",
    [[None], [float("nan")], [3], [["a"]], ["\ud800"], "apple", b"apple", np.array([1.5])],
)
def test_values_that_are_no_text_are_refused(values):
    with pytest.raises(RapporError):
        bits(values, 0, parameters=design())


@pytest.mark.parametrize("values", [[4], [-1], [1.0], ["0"], [2**70], [None], [[1]]])
def test_values_outside_the_list_of_basic_rappor_are_refused(values):
    with pytest.raises(RapporError):
        bits(values, 0, parameters=Parameters.basic(4, f=0.5, p=0.2, q=0.8))


@pytest.mark.parametrize("cohorts", [[4], [-1], [0.5], [0, 1], [2**64], ["a"]])
def test_cohorts_out_of_range_are_refused(cohorts):
    with pytest.raises(RapporError):
        bits(["a"], cohorts, parameters=design())
