"""Constraints by name: what each says of a matrix, alone and beside a specification."""

import cvxpy as cp
import numpy as np
import pytest

from ptable import NoiseSpec, PTableError, solve
from ptable.design.shapes import (
    all_of,
    column_honesty,
    column_monotony,
    fairness,
    invariance,
    largest_noise,
    privacy,
    row_honesty,
    row_monotony,
    smoothness,
    symmetry,
    unbiasedness,
    weak_honesty,
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
        (symmetry, None, 0.3, 0.0),
        (fairness, None, 0.3, 0.0),
        (weak_honesty, None, 1 / 3 - 0.3, 0.0),
        (row_honesty, None, 0.2, 0.0),
        (column_honesty, None, 0.1, 0.0),
        (row_monotony, None, 0.2, 0.0),
        (column_monotony, None, 0.1, 0.0),
        (unbiasedness, None, 0.5, 0.5),
        (privacy, 0.0, 0.5, 0.4),
        (privacy, np.log(3), 0.5, 0.0),
        (smoothness, np.log(2), 0.4, 0.2),
        (largest_noise, 1, 0.1, 0.1),
        (invariance, [0.5, 0.3, 0.2], 0.05, 0.12),
    ],
)
def test_each_says_by_how_much_a_matrix_is_off(constraint, option, uneven, even):
    named = constraint if option is None else constraint(option)
    assert breach(UNEVEN, named) == pytest.approx(uneven, abs=1e-12)
    assert breach(EVEN, named) == pytest.approx(even, abs=1e-12)
    other = constraint(option[::-1]) if constraint is invariance else named
    # the same from the other end
    assert breach(UNEVEN[::-1, ::-1], other) == pytest.approx(uneven, abs=1e-12)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (lambda: privacy(0.5), "neighbouring counts differ by a factor of at most e^0.5"),
        (
            lambda: smoothness(0.5),
            "published counts differ by a factor of at most e^0.5 in every",
        ),
        (lambda: invariance([1.0]), "the distribution that counts have"),
        (lambda: largest_noise(3), "noise to 3 in either direction"),
        (lambda: all_of(fairness, largest_noise(3)), "as any other.\nKeep noise to 3"),
    ],
)
def test_each_says_in_words_what_it_asks_for(named, words):
    assert words in named().__doc__


def test_they_go_beside_a_specification_as_well():
    spec = NoiseSpec(max_noise=3, variance=1.0)
    table = solve(spec, constraints=all_of(row_honesty, largest_noise(2)))
    assert table.certificate.limits.violation < 1e-6
    assert table.certificate.limits.own.splitlines() == [
        "Publish no count as another one likelier than as itself.",
        "Keep noise to 2 in either direction.",
    ]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (lambda: privacy(-1.0), "epsilon must be"),
        (lambda: smoothness("much"), "epsilon must be"),
        (lambda: largest_noise(0), "max_noise must be"),
        (lambda: invariance([0.5, -0.5]), "one share of 0 or more"),
        (lambda: invariance([[0.5]]), "one share of 0 or more"),
    ],
)
def test_what_they_cannot_be_is_refused(wrong, problem):
    with pytest.raises(PTableError, match=problem):
        wrong()
