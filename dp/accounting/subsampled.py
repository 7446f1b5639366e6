"""Rényi loss of one step of the Poisson-subsampled Gaussian mechanism.

With ``r`` the likelihood ratio of N(1, s²) to N(0, s²) and sampling rate ``q``, the loss of
order ``a`` is ``ln(A) / (a - 1)`` with ``A = E[(1 + q (r - 1))^a]`` under N(0, s²). What is
computed is ``A - 1``, of positive terms only, so that nothing cancels.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dp.checking import checked_probability

_TAIL = 40.0  # standard deviations beyond which nothing is left
_FINEST = 0.03  # below this noise, whole orders only
_COARSEST = 1e6  # more noise counts as this much
_SMALL = 0.05
_TERMS = 14


def subsampled_gaussian_loss(
    orders: Sequence[float] | NDArray[np.float64],
    *,
    sampling_rate: float,
    noise_multiplier: float,
) -> NDArray[np.float64]:
    """Return the Rényi loss of one step, at each order.

    Each record is in the batch with the sampling rate, independently; the neighbours have a
    record more or less; the noise multiplier is the standard deviation over the sensitivity.

    References
    ----------
    Mironov, Talwar, Zhang 2019, sections 3.2 and 3.3.
    """
    rate = checked_probability(sampling_rate, "sampling_rate")
    grid = np.asarray(orders, dtype=np.float64)
    if rate == 0:
        return np.zeros_like(grid)
    if noise_multiplier == 0:
        return np.full_like(grid, np.inf)
    if rate == 1:
        return np.asarray(grid / (2 * min(float(noise_multiplier), _COARSEST) ** 2))
    sigma = min(float(noise_multiplier), _COARSEST)  # less noise loses more: still a bound
    return np.array([_loss(order, rate, sigma) for order in grid])


def _loss(order: float, rate: float, sigma: float) -> float:
    if math.isinf(order):
        return math.inf
    if order != round(order) and sigma < _FINEST:
        order = math.ceil(order)  # the loss grows with the order: this is above it
    if order == round(order):
        log_excess = _excess_of_whole_order(int(order), rate, sigma)
    else:
        log_excess = _excess_by_quadrature(order, rate, sigma)
    return float(np.logaddexp(0.0, log_excess)) / (order - 1)


def _log_sum(logs: NDArray[np.float64]) -> float:
    """Return the logarithm of a sum; of short arrays SciPy's takes thirty times as long."""
    largest = float(logs.max())
    if math.isinf(largest):
        return largest
    return largest + math.log(float(np.exp(logs - largest).sum()))


def _excess_of_whole_order(order: int, rate: float, sigma: float) -> float:
    """Return ln(A - 1): terms k >= 2 of the binomial sum, each less its part of the 1."""
    from scipy.special import gammaln

    k = np.arange(2, order + 1, dtype=np.float64)
    log_binomial = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    exponent = (k * k - k) / (2 * sigma**2)
    log_gain = exponent + np.log(-np.expm1(-exponent))
    weights = k * math.log(rate) + (order - k) * math.log1p(-rate)
    return _log_sum(log_binomial + weights + log_gain)


def _excess_by_quadrature(order: float, rate: float, sigma: float) -> float:
    """Return ln(A - 1) = ln E[(1 + x)^a - 1 - a x] with x = q (r - 1), of mean 0.

    The integrand is analytic in a strip of half width pi s², so the trapezoidal rule converges
    exponentially: with this step the error is below 1e-16.
    """
    step = min(sigma, sigma**2) / 2
    z = np.arange(-_TAIL * sigma, order + _TAIL * sigma + step, step)
    log_ratio = (2 * z - 1) / (2 * sigma**2)
    log_base = np.logaddexp(math.log1p(-rate), math.log(rate) + log_ratio)
    log_density = -(z**2) / (2 * sigma**2) - 0.5 * math.log(2 * math.pi * sigma**2)
    log_excess = _log_bernoulli(order, rate, log_ratio, log_base)
    return _log_sum(log_density + log_excess) + math.log(step)


def _log_bernoulli(
    order: float, rate: float, log_ratio: NDArray[np.float64], log_base: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ln((1 + x)^a - 1 - a x), positive for a > 1; by its series where x is small."""
    result = np.empty_like(log_base)
    is_large = log_base > 2.0
    gain = log_base[is_large]
    # (1 + a x) / (1 + x)^a, below 1
    share = np.exp(-order * gain) + order * (np.exp((1 - order) * gain) - np.exp(-order * gain))
    result[is_large] = order * gain + np.log1p(-share)
    x = rate * np.expm1(np.minimum(log_ratio, 700.0))
    is_small = (np.abs(order * x) < _SMALL) & (np.abs(x) < _SMALL) & ~is_large
    result[is_small] = _log_series(order, x[is_small])
    rest = ~(is_large | is_small)
    value = np.expm1(order * log_base[rest]) - order * x[rest]
    result[rest] = np.log(np.maximum(value, np.finfo(np.float64).tiny))
    return result


def _log_series(order: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the binomial series from the square on."""
    factor, coefficient = np.zeros_like(x), order * (order - 1) / 2
    for k in range(_TERMS):
        factor += coefficient * x**k
        coefficient *= (order - 2 - k) / (3 + k)
    tiny = np.finfo(np.float64).tiny
    return np.asarray(np.log(factor) + 2 * np.log(np.maximum(np.abs(x), math.sqrt(tiny))))
