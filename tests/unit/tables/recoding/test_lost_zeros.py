"""Codes that lost zeros are told from those that are groups of others."""

import pytest

from tables.recoding.lost_zeros import codes_without_zeros


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
