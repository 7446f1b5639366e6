"""Programs in real numbers, from the start that the caller gives."""

import numpy as np
import pytest

from risk.reconstruction.program import Program, Rows


def total_of_parts():
    """A total of two parts, and one part again as the total of another cell."""
    return Program(
        Rows(
            starts=np.array([0, 3, 5]),
            columns=np.array([0, 1, 2, 1, 3]),
            weights=np.array([1.0, -1.0, -1.0, 1.0, -1.0]),
            lower=np.zeros(2),
            upper=np.zeros(2),
        ),
        lower=np.array([-9.0, -4.0, 2.0, -4.0]),
        upper=np.array([9.0, 4.0, 3.0, 4.0]),
        bounds_move=True,
    )


@pytest.mark.parametrize(
    "start", [([0, 1], [0, 1]), ([0], [0]), ([], []), ([1, 3], [0, 1]), ([2, 3], [0, 1])]
)
def test_the_start_changes_no_answer(start):
    program = total_of_parts()
    program.start_from(*(np.array(part, np.int64) for part in start))
    answer = program.least([0], [1.0])
    assert answer is not None
    assert answer.bound == pytest.approx(-2.0)
    assert answer.point == pytest.approx([-2.0, -4.0, 2.0, -4.0])


def test_a_start_whose_columns_depend_on_each_other_is_mended():
    program = total_of_parts()
    program.start_from(np.array([0, 2]), np.array([0, 1]))  # both stand in the first row alone
    answer = program.least([0], [1.0])
    assert answer is not None
    assert answer.bound == pytest.approx(-2.0)
