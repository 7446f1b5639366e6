"""Constraints by name: what each says of a matrix, alone and beside a specification."""

import cvxpy as cp
import numpy as np
import pytest

from ptable import NoiseSpec, PTableError, solve
from ptable.design.shapes import (
    column_honest,
    column_monotone,
    fair,
    fixed,
    private,
    row_honest,
    row_monotone,
    smooth,
    symmetric,
    together,
    unbiased,
    weakly_honest,
    within,
)

#: Counts 0 to 2: neither symmetric, nor honest in the row of 1, nor with one mean.
UNEVEN = np.array([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.0, 0.4, 0.6]])
EVEN = np.array([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])


def breach(matrix, constraint):
    P = cp.Variable(matrix.shape)  # noqa: N806
    P.value = matrix
    i, j = np.arange(len(matrix))[:, None], np.arange(matrix.shape[1])[None, :]
    return max(float(np.max(one.violation())) for one in constraint(P, i, j))


@pytest.mark.parametrize(
    ("constraint", "option", "uneven", "even"),
    [
        (symmetric, None, 0.3, 0.0),
        (fair, None, 0.3, 0.0),
        (weakly_honest, None, 1 / 3 - 0.3, 0.0),
        (row_honest, None, 0.2, 0.0),
        (column_honest, None, 0.1, 0.0),
        (row_monotone, None, 0.2, 0.0),
        (column_monotone, None, 0.1, 0.0),
        (unbiased, None, 0.5, 0.5),
        (private, 0.0, 0.5, 0.4),
        (private, np.log(3), 0.5, 0.0),
        (smooth, np.log(2), 0.4, 0.2),
        (within, 1, 0.1, 0.1),
        (fixed, [0.5, 0.3, 0.2], 0.05, 0.12),
    ],
)
def test_each_says_by_how_much_a_matrix_is_off(constraint, option, uneven, even):
    named = constraint if option is None else constraint(option)
    assert breach(UNEVEN, named) == pytest.approx(uneven, abs=1e-12)
    assert breach(EVEN, named) == pytest.approx(even, abs=1e-12)
    other = constraint(option[::-1]) if constraint is fixed else named
    # the same from the other end
    assert breach(UNEVEN[::-1, ::-1], other) == pytest.approx(uneven, abs=1e-12)


def test_they_go_beside_a_specification_as_well():
    spec = NoiseSpec(max_noise=3, variance=1.0)
    table = solve(spec, constraints=together(row_honest, within(2)))
    assert table.certificate.limits.violation < 1e-6
    assert table.certificate.limits.own.splitlines() == [
        "Publish no count as another one likelier than as itself.",
        "Keep noise to 2 in either direction.",
    ]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (lambda: private(-1.0), "epsilon must be"),
        (lambda: smooth("much"), "epsilon must be"),
        (lambda: within(0), "max_noise must be"),
        (lambda: fixed([0.5, -0.5]), "one share of 0 or more"),
        (lambda: fixed([[0.5]]), "one share of 0 or more"),
    ],
)
def test_what_they_cannot_be_is_refused(wrong, problem):
    with pytest.raises(PTableError, match=problem):
        wrong()
