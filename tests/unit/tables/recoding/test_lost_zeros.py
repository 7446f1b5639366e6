"""Codes that lost zeros, or got decimals, are told from those that are written so."""

import pytest

from tables.recoding.lost_zeros import (
    codes_with_decimals,
    codes_without_zeros,
    without_decimals,
)


@pytest.mark.parametrize(
    ("codes", "shorter"),
    [
        (["45.1", "47.11", "10.10", "10.3"], ["10.3", "45.1"]),
        (["10.1", "10.11", "10.12", "45.11"], []),
        ([45.1, 47.11, 10.13], ["45.1"]),
        (["1", "02", "03", "11"], ["1"]),
        (["01001", "1002", "97101"], ["1002"]),
        (["0", "01", "011", "02"], []),
        (["01", "011", "2"], []),
        (["0", "1", "01", "11"], []),
        ([*range(1, 13)], []),
        (["1-9", "10-49", "Nord", "", "1.2.3"], []),
        (["1.5", "2.5", "10.5"], []),
    ],
)
def test_codes_shorter_than_their_siblings_are_told(codes, shorter):
    assert codes_without_zeros(codes) == shorter


@pytest.mark.parametrize(
    ("codes", "are_told"),
    [
        (["1,0", "10,0", "2,0"], True),
        (["1.0", "10.00", "Total", "(missing)"], True),
        (["1.0", "1.1", "2.0"], False),
        (["1.0", "2.0", "3"], False),
        (["1.0", "01.0", "1.00"], False),  # one number would stand for two codes
        (["1.0", "1.00"], False),
        (["1.0", "Total"], False),
        (["0-4.0", "5.0"], False),
        ([1.0, 2.0], False),  # numbers are written without decimals
        ([], False),
    ],
)
def test_whole_numbers_with_decimals_are_told_where_all_codes_are(codes, are_told):
    wanted = sorted(code for code in codes if isinstance(code, str) and code[0].isdigit())
    assert codes_with_decimals(codes) == (wanted if are_told else [])


def test_codes_without_decimals_sort_as_numbers():
    recoded = without_decimals(["1,0", "10,0", "2,0", "03,0"])
    assert recoded == {"1,0": "01", "2,0": "02", "03,0": "03", "10,0": "10"}
    assert list(recoded.values()) == sorted(recoded.values())
