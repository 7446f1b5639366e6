"""A scan of designs: every feasible one is solved, every other refused with its true reach."""

import itertools
from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog

from ptable import InfeasibleError, NoiseSpec, feasible, solve

SCAN = list(
    itertools.product((2, 3, 5, 8, 13, 20, 50), (0.5, 2.0, 3.0, "D/2", "D"), (0, 1, 2, 4))
)
# Of wide noise those far from a law of few values; all of them: python -m bench.scan --wide
WIDE = set(itertools.product((13, 20), (0.5, 3.0, "D/2"), (0, 4)))
WIDE |= set(itertools.product((50,), (3.0, "D/2"), (0, 4)))


@cache  # rows of many settings have the same noise
def _reach(values):
    noise = np.array(values, dtype=float)
    equal = np.stack([np.ones_like(noise), noise])
    ends = [linprog(sign * noise**2, A_eq=equal, b_eq=[1, 0]) for sign in (1, -1)]
    return ends[0].fun, -ends[1].fun


@pytest.mark.slow
@pytest.mark.parametrize("max_noise", sorted({setting[0] for setting in SCAN}))
def test_a_design_is_solved_if_and_only_if_a_linear_program_says_so(max_noise):
    n_solved = n_refused = 0
    for _, asked, small in (setting for setting in SCAN if setting[0] == max_noise):
        variance = {"D/2": max_noise / 2, "D": float(max_noise)}.get(asked, asked)
        if max_noise <= small:
            with pytest.raises(InfeasibleError, match="max_noise must be at least"):
                NoiseSpec(max_noise=max_noise, variance=variance, small=small)
            continue
        try:
            spec = NoiseSpec(max_noise=max_noise, variance=variance, small=small)
        except InfeasibleError:
            assert variance > max_noise**2
            continue
        lost = []
        for row in feasible(spec).rows:
            low, high = _reach(tuple(row.problem.noise))
            assert row.variance_min == pytest.approx(low, abs=1e-6 * max(1, high))
            assert row.variance_max == pytest.approx(high, abs=1e-6 * max(1, high))
            if not row.is_feasible:
                lost.append((row.count, variance < low + 1e-6 or variance > high - 1e-6))
        if lost:
            assert all(is_outside for _, is_outside in lost)
            with pytest.raises(InfeasibleError) as caught:
                solve(spec)
            assert [row.count for row in caught.value.rows] == [count for count, _ in lost]
            n_refused += 1
        elif max_noise < 13 or (max_noise, asked, small) in WIDE:
            certificate = solve(spec).certificate
            assert certificate.largest_bias == 0
            assert certificate.largest_drift < 1e-6
            assert certificate.largest_gap < 1e-8
            n_solved += 1
    assert n_solved
    assert n_refused
