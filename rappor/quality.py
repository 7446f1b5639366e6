"""What looks wrong in sums of reports, before anybody decodes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rappor.errors import RapporError

if TYPE_CHECKING:
    from rappor.counts import Counts

__all__ = ["doubts"]

_RARE = 5.0  # standard deviations; under honest reports one check in a million fails


def doubts(counts: Counts) -> tuple[str, ...]:
    """Say what honest reports with these parameters would hardly ever show.

    Parameters
    ----------
    counts
        The sums.

    Returns
    -------
    tuple of str
        One sentence a doubt; empty when nothing looks wrong.

    Raises
    ------
    RapporError
        If there is no report at all.

    Examples
    --------
    >>> from rappor.counts import Counts
    >>> from rappor.parameters import Parameters
    >>> stuck = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    >>> for doubt in doubts(Counts(n=[900], ones=[[0, 0]], parameters=stuck)):
    ...     print(doubt)
    2 bits are set less often than noise alone sets them: a client draws no randomness.
    Reports have too few ones: some were made with another p, q, f or number of bits.
    """
    if counts.total == 0:
        raise RapporError(
            "There is no report to decode.", hint="sum the reports of the collection first"
        )
    found = (_cohort_doubts, _bit_doubts, _weight_doubts)
    return tuple(text for check in found for text in check(counts))


def _cohort_doubts(counts: Counts) -> list[str]:
    n, m = counts.n, counts.parameters.n_cohorts
    texts = []
    empty = int(np.sum(n == 0))
    mean = counts.total / m
    if empty and mean >= 30:  # chance leaves none empty
        texts.append(f"{empty} of {m} cohorts sent no report: they are left out.")
    excess = float(np.sum((n - mean) ** 2) / mean) - (m - 1)
    if m > 1 and mean >= 5 and excess > _RARE * np.sqrt(2 * (m - 1)) + _RARE**2:
        texts.append(
            "The cohorts differ in size by more than chance: "
            "clients choose them, or some send several reports."
        )
    return texts


def _bit_doubts(counts: Counts) -> list[str]:
    low, high = sorted((counts.parameters.p_star, counts.parameters.q_star))
    n = counts.n[:, None].astype(float)
    too_few = counts.ones < n * low - _slack(n, low)
    too_many = counts.ones > n * high + _slack(n, high)
    texts = []
    if few := int(too_few.sum()):
        texts.append(
            f"{_bits(few)} set less often than noise alone sets them: "
            "a client draws no randomness."
        )
    if many := int(too_many.sum()):
        texts.append(
            f"{_bits(many)} set more often than the value of every client could: "
            "a client draws no randomness."
        )
    return texts


def _weight_doubts(counts: Counts) -> list[str]:
    """Compare the mean number of ones with what one value a report allows."""
    parameters = counts.parameters
    fewest = 0 if parameters.is_boolean else 1
    lift = parameters.q_star - parameters.p_star
    base = parameters.n_bits * parameters.p_star
    bounds = sorted((base + fewest * lift, base + parameters.n_hashes * lift))
    mean = counts.ones.sum() / counts.total
    spread = np.sqrt(parameters.n_bits / 4 / counts.total)
    cause = "some were made with another p, q, f or number of bits."
    if mean < bounds[0] - _RARE * spread:
        return [f"Reports have too few ones: {cause}"]
    if mean > bounds[1] + _RARE * spread:
        return [f"Reports have too many ones: {cause}"]
    return []


def _slack(n: np.ndarray, rate: float) -> np.ndarray:
    return (
        _RARE * np.sqrt(n * rate * (1 - rate)) + _RARE**2 / 3
    )  # Bernstein, so for small n too


def _bits(number: int) -> str:
    return "1 bit is" if number == 1 else f"{number} bits are"
