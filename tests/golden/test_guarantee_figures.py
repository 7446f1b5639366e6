"""(ε, δ) of a single count, as published for tables in the style of R ptable.

The figures stand in the project's survey of attacks (its A14): δ at ε = 1 of counts from ``D``
on, and of a count of 0 that is never perturbed.
"""

import pytest

from ptable import NoiseSpec, guarantee, solve


@pytest.mark.parametrize(
    ("max_noise", "variance", "small", "large", "zero"),
    [
        (2, 1.0, 0, 0.135, 0.63),
        (5, 2.0, 0, 0.043, 0.61),
        (5, 3.0, 0, 0.017, 0.61),
        (8, 4.0, 0, 0.007, None),
        (5, 3.0, 2, 0.017, 0.27),
    ],
)
def test_the_privacy_of_single_counts_is_as_surveyed(max_noise, variance, small, large, zero):
    table = solve(NoiseSpec.r_ptable(max_noise, variance, small=small))
    rows = guarantee(table, epsilon=1.0).rows
    assert rows[-1].delta == pytest.approx(large, abs=6e-4)
    if zero is not None:
        assert rows[0].delta == pytest.approx(zero, abs=6e-3)


def test_exact_variance_protects_zeros_better_than_variance_at_most():
    """The counts of 1 get the noise they are due, so that a published 0 says less."""
    exact = guarantee(solve(NoiseSpec(max_noise=5, variance=3.0))).rows[0].delta
    at_most = guarantee(solve(NoiseSpec.r_ptable(5, 3.0))).rows[0].delta
    assert exact == pytest.approx(0.375, abs=1e-3)
    assert at_most == pytest.approx(0.611, abs=1e-3)
