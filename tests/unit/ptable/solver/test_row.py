"""What the constraints of a row mean."""

from fractions import Fraction

import pytest

from ptable.solver.row import RowProblem


def test_nothing_but_noise_and_variance_is_asked_of_a_plain_row():
    row = RowProblem(count=3, noise=(-1, 0, 1), variance=Fraction(1, 2))
    assert row.second_moment == Fraction(1, 2)
    assert row.stays_at is None
    assert row.rising_pairs == ()
    assert (row.floor, row.mean, row.step, row.p_stay_rule) == (0, 0, 1, "exact")
    assert (row.n_left, row.n_right) == (0, 0)
    assert not any((row.at_most, row.nearest, row.unimodal, row.symmetric))


def test_the_second_moment_is_the_variance_and_the_square_of_the_mean():
    row = RowProblem(count=0, noise=(0, 1), variance=Fraction(1, 3), mean=Fraction(3, 2))
    assert row.second_moment == Fraction(1, 3) + Fraction(9, 4)


def test_no_noise_has_its_place_where_its_probability_is_asked_for():
    row = RowProblem(count=1, noise=(-1, 0, 1), variance=Fraction(1), p_stay=Fraction(0))
    assert row.stays_at == 1


def test_shapes_name_the_pairs_of_which_the_first_may_not_be_the_likelier():
    def pairs(**shape):
        return RowProblem(count=5, noise=(-2, -1, 0, 1), variance=Fraction(1), **shape)

    assert pairs(n_left=3).rising_pairs == ((0, 1), (1, 2))
    assert pairs(n_left=1).rising_pairs == ()
    assert set(pairs(n_right=3).rising_pairs) == {(3, 2), (2, 1)}
    assert pairs(n_right=1).rising_pairs == ()
    assert set(pairs(n_left=2, n_right=3).rising_pairs) == {(0, 1), (3, 2), (2, 1)}


def test_a_peak_at_one_place_rises_to_it_and_falls_from_it():
    row = RowProblem(count=5, noise=(-2, -1, 0, 1), variance=Fraction(1), unimodal=True)
    peaked = row.with_peak(1)
    assert not peaked.unimodal
    assert set(peaked.rising_pairs) == {(0, 1), (2, 1), (3, 2)}
    assert peaked.variance == row.variance


def test_constraints_cannot_be_changed_and_are_equal_when_they_say_the_same():
    problem, again = (RowProblem(count=1, noise=(-1, 0, 1), variance=Fraction(1)) for _ in "ab")
    assert (problem, hash(problem)) == (again, hash(again))
    with pytest.raises(AttributeError):
        problem.variance = Fraction(2)
    with pytest.raises(TypeError):
        RowProblem(1, (-1, 0, 1), Fraction(1))
