"""P-tables beside a second statement of the same rows, by hand and to tight tolerances."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest

from ptable import NoiseSpec, solve

# So near to the optimum the solver warns that its answer may be inaccurate.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Solution may be inaccurate")]

SPECS = [
    NoiseSpec(max_noise=2, variance=1.0),
    NoiseSpec(max_noise=5, variance=3.0, small=2),
    NoiseSpec(max_noise=8, variance=6.5, small=4),
    NoiseSpec(max_noise=5, variance=3.0, small=2, monotone="left", min_probability=1e-8),
    NoiseSpec(max_noise=6, variance=4.0, p_stay=0.3),
    NoiseSpec(max_noise=7, variance=3.0, small=1, p_stay=0.4, p_stay_rule="at-least"),
    NoiseSpec.r_ptable(5, 3.0, small=2),
    NoiseSpec.r_ptable(10, 15.0, small=4),
]


def law_of(problem):
    """Maximise the entropy of a row by Clarabel."""
    noise = np.array(problem.noise, dtype=float)
    law = cvxpy.Variable(len(noise))
    goal = float(problem.second_moment)
    spread = (noise**2 / goal) @ law
    given = [
        cvxpy.sum(law) == 1,
        noise @ law == float(problem.mean),
        law >= float(problem.floor),
        spread <= 1 if problem.at_most else spread == 1,
    ]
    given += [law[low] <= law[high] for low, high in problem.rising_pairs]
    if problem.stays_at is not None:
        stay, asked = law[problem.stays_at], float(problem.p_stay)
        rules = {"exact": stay == asked, "at-least": stay >= asked, "at-most": stay <= asked}
        given.append(rules[problem.p_stay_rule])
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-13)
    entropy = cvxpy.sum(cvxpy.entr(law))
    cvxpy.Problem(cvxpy.Maximize(entropy), given).solve(solver="CLARABEL", **tight)
    return dict(zip(problem.noise, law.value, strict=True))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.max_noise}-{spec.variance}")
def test_a_convex_solver_finds_the_same_laws(spec):
    """Clarabel stops at 1e-13 of the entropy, so a probability may differ by some 1e-6."""
    table = solve(spec)
    compared = 0
    for problem in spec.rows():
        other = law_of(problem)
        units = table.units(problem.count)
        for noise, probability in other.items():
            assert units.get(noise, 0) / 2**32 == pytest.approx(probability, abs=5e-6)
            compared += 1
    assert compared > 2 * spec.max_noise
