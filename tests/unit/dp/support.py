"""What several tests of differential privacy share."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

#: The chance that a test of secure, unseeded randomness fails by itself.
ERROR = 1e-7


def fits(observed, expected, *, least=10.0):
    """Tell whether counts fit a law by Pearson's test; rare outcomes are put together."""
    observed = np.asarray(observed, dtype=float)
    expected = np.asarray(expected, dtype=float)
    rare = expected < least
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        if expected[-1] < least:
            observed[-2:-1] += observed[-1]
            expected[-2:-1] += expected[-1]
            observed, expected = observed[:-1], expected[:-1]
    assert len(expected) > 1
    assert np.isclose(observed.sum(), expected.sum(), rtol=1e-3)
    statistic = ((observed - expected) ** 2 / expected).sum()
    return statistic < chi2.isf(ERROR, len(expected) - 1)
