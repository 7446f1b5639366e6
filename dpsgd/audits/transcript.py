"""Audits by many short runs, with an attacker who sees every noisy sum.

This is the attacker that the guarantee is about: nobody has an easier time. Where the account
is tight, the bound comes close to the claimed epsilon, so that small faults show.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dp.auditor import Audit, audit
from dp.checking import checked_positive, checked_probability
from dpsgd.errors import DPSGDError
from footing.arrays import Floats
from footing.messages import Message


def transcript_scores(
    transcripts: ArrayLike, *, sampling_rate: float, noise_multiplier: float
) -> Floats:
    """Return the log-likelihood ratio of each run with and without a canary.

    Parameters
    ----------
    transcripts
        A row a run, a column a step: the noisy sum of clipped gradients, along the direction of
        the canary's gradient, over the clipping norm, less what the other records put there.
    sampling_rate, noise_multiplier
        As claimed.

    Notes
    -----
    The sum over the steps of ``ln(1 - q + q exp((2 z - 1) / (2 s²)))``: the best score there
    is against Poisson batches.

    Examples
    --------
    >>> scores = transcript_scores([[1.0], [0.0]], sampling_rate=1, noise_multiplier=1)
    >>> scores.tolist()
    [0.5, -0.5]
    """
    table = np.asarray(transcripts, dtype=np.float64)
    if table.ndim != 2 or not table.size or np.isnan(table).any():
        raise DPSGDError(Message("Transcripts are numbers, a row a run and a column a step."))
    rate = checked_probability(sampling_rate, "sampling_rate")
    sigma = checked_positive(noise_multiplier, "noise_multiplier")
    ratio = (2 * np.clip(table, -1e6, 1e6) - 1) / (2 * sigma**2)
    with np.errstate(divide="ignore"):
        steps = np.logaddexp(np.log1p(-rate), np.log(rate) + ratio)
    return np.asarray(steps.sum(axis=1))


def audit_transcripts(
    with_canary: Callable[[int], ArrayLike],
    without_canary: Callable[[int], ArrayLike],
    *,
    sampling_rate: float,
    noise_multiplier: float,
    delta: float,
    runs: int = 20_000,
    error: float = 1e-3,
) -> Audit:
    """Bound the epsilon of a training procedure from below, by many short runs.

    Parameters
    ----------
    with_canary, without_canary
        Given a number, return the transcripts of as many runs, see `transcript_scores`.
    sampling_rate, noise_multiplier, delta
        As claimed.
    runs
        Runs with the canary, and as many without.
    error
        The chance that the bound may be wrong.

    Examples
    --------
    Noise half as large as claimed:

    >>> generator = np.random.default_rng(1)
    >>> found = audit_transcripts(
    ...     lambda n: generator.normal(1, 0.5, (n, 1)),
    ...     lambda n: generator.normal(0, 0.5, (n, 1)),
    ...     sampling_rate=1,
    ...     noise_multiplier=1,
    ...     delta=1e-5,
    ...     runs=20_000,
    ... )
    >>> found.refutes(4.3772)
    True
    """
    claimed = {"sampling_rate": sampling_rate, "noise_multiplier": noise_multiplier}
    return audit(
        lambda number: transcript_scores(with_canary(number), **claimed),
        lambda number: transcript_scores(without_canary(number), **claimed),
        runs=runs,
        delta=delta,
        error=error,
    )
