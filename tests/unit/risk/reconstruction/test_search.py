"""Bounds that sums pass on, before any program."""

import numpy as np
import pytest

from risk.reconstruction.program import Rows
from risk.reconstruction.search import Search, tightened

#: x0 = x1 + x2 and x2 = x3 + x4
ROWS = Rows(
    starts=np.array([0, 3, 6]),
    columns=np.array([0, 1, 2, 2, 3, 4]),
    weights=np.array([1.0, -1, -1, 1, -1, -1]),
    lower=np.zeros(2),
    upper=np.zeros(2),
)


def test_sums_pass_bounds_on_to_their_parts_and_on():
    least = np.array([9.0, -2, 3, -np.inf, 1])
    most = np.array([9.0, np.inf, np.inf, np.inf, np.inf])
    low, high = tightened(ROWS, (least, most))
    assert low.tolist() == [9, -2, 3, -np.inf, 1]
    assert high.tolist() == [9, 6, 11, 10, np.inf]


def test_bounds_that_contradict_each_other_are_told():
    least = np.array([0.0, 5, 5, 0, 0])
    assert tightened(ROWS, (least, np.array([9.0, 9, 9, 9, 9]))) is None


def test_the_ends_that_programs_find_are_the_same_between_bounds_passed_on():
    rng = np.random.default_rng(0)
    for _ in range(20):
        point = rng.integers(0, 20, 3)
        truth = np.array([point.sum(), point[0], point[1:].sum(), *point[1:]], float)
        least = truth - rng.integers(0, 9, 5)
        most = truth + rng.integers(0, 9, 5)
        wide, close = Search(ROWS, (least, most)), Search(ROWS, tightened(ROWS, (least, most)))
        assert wide.run()
        assert close.run()
        assert close.bounds[0] == pytest.approx(wide.bounds[0], abs=1e-6)
        assert close.bounds[1] == pytest.approx(wide.bounds[1], abs=1e-6)
        assert close.n_programs <= wide.n_programs
