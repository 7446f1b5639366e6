"""The sums that whole numbers can have, beside all small combinations of the columns."""

import itertools

import numpy as np
import pytest

from ptable.solver.integer.lattice import basis_of, coordinates, next_values


def reached(rows):
    """Give every small sum of the columns taken up to so many times, in either direction."""
    matrix = np.array(rows)
    most = {1: 40, 2: 24, 3: 9, 4: 5}[matrix.shape[1]]
    times = np.array(list(itertools.product(range(-most, most + 1), repeat=matrix.shape[1])))
    return set(map(tuple, (times @ matrix.T).tolist()))


ROWS = [
    ((1, 1, 1), (-2, 0, 3)),
    ((1, 1), (2, 4)),
    ((6, 10, 15),),
    ((4, 6), (2, 8)),
    ((0, 0, 0), (2, 4, 6)),
    ((1, 1, 1, 1), (-1, 0, 1, 2), (1, 0, 1, 4)),
    ((2, 2, 2), (0, 3, 6), (0, 9, 36)),
    ((-3,),),
    ((0, 5), (-7, 5)),
]


@pytest.mark.parametrize("rows", ROWS)
def test_sums_have_coordinates_exactly_where_some_numbers_reach_them(rows):
    basis = basis_of(rows)
    wide = reached(rows)
    for sums in itertools.product(range(-3, 4), repeat=len(rows)):
        places = coordinates(basis, sums)
        assert (places is not None) == (sums in wide), sums
        if places is not None:
            again = [
                sum(t * column[row] for t, (_, column) in zip(places, basis, strict=True))
                for row in range(len(rows))
            ]
            assert tuple(again) == sums


@pytest.mark.parametrize("rows", ROWS)
def test_a_basis_is_in_echelon_form_with_leads_above_0(rows):
    basis = basis_of(rows)
    leads = [row for row, _ in basis]
    assert leads == sorted(set(leads))
    assert len(basis) == np.linalg.matrix_rank(np.array(rows))
    for lead, column in basis:
        assert column[lead] > 0
        assert not any(column[:lead])
    # every column of the basis is a sum of the columns given
    for _, column in basis:
        assert coordinates(basis, column) is not None


def test_two_bases_of_the_same_columns_are_one():
    assert basis_of(((1, 1, 1), (-2, 0, 3))) == basis_of(((1, 1, 1), (3, -2, 0)))


@pytest.mark.parametrize("rows", [r for r in ROWS if len(r) > 1])
def test_the_next_sum_takes_every_value_of_its_spacing_and_no_other(rows):
    basis = basis_of(rows)
    wide = reached(rows)
    for n_known in range(1, len(rows)):
        for sums in itertools.product(range(-1, 2), repeat=n_known):
            values = sorted({w[n_known] for w in wide if w[:n_known] == sums})
            answer = next_values(basis, sums)
            assert (answer is not None) == bool(values), sums
            if answer is None:
                continue
            start, spacing = answer
            near = [v for v in values if abs(v) <= 5]
            if spacing:
                assert 0 <= start < spacing
                every = [v for v in range(-5, 6) if v % spacing == start]
                assert near == every
            else:
                assert values == [start]


def test_the_first_sum_has_the_greatest_common_divisor_for_its_spacing():
    assert next_values(basis_of(((6, 10, 15),)), ()) == (0, 1)
    assert next_values(basis_of(((6, 10), (1, 1))), ()) == (0, 2)
    assert next_values(basis_of(((0, 0), (1, 1))), ()) == (0, 0)
