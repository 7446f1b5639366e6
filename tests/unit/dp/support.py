"""What several tests of differential privacy share."""

from __future__ import annotations

import math

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


def exact_delta(matrix, *, epsilon, neighbours):
    """Return the delta that a mechanism needs at an epsilon, from its matrix of chances."""
    matrix = np.asarray(matrix, dtype=np.float64)
    growth = math.exp(epsilon)
    return max(
        (
            float(np.maximum(0, matrix[one] - growth * matrix[other]).sum())
            for first, second in neighbours
            for one, other in ((first, second), (second, first))
        ),
        default=0.0,
    )


def discrete_gaussian_delta(epsilon, *, scale, sensitivity=1):
    """Return the delta of discrete Gaussian noise on one integer.

    Canonne, Kamath, Steinke 2020, theorem 7.
    """
    reach = math.ceil(40 * scale) + 1
    support = np.arange(-reach, reach + 1, dtype=np.float64)
    mass = np.exp(-(support**2) / (2 * scale**2))
    mass /= mass.sum()
    centre = epsilon * scale**2 / sensitivity
    kept = float(mass[support > centre - sensitivity / 2].sum())
    moved = float(mass[support > centre + sensitivity / 2].sum())
    return max(0.0, kept - math.exp(epsilon) * moved)
