"""Populations to try a design on: true counts, and the sums of reports they would send."""

from __future__ import annotations

from typing import Literal

import numpy as np

from footing.arrays import Integers
from footing.messages import Message, Name
from rappor.client.bloom import Values, every_bit
from rappor.counts import Counts
from rappor.errors import RapporError
from rappor.parameters import Parameters

Shape = Literal["uniform", "normal", "exponential", "zipf"]


def population(
    shape: Shape, *, n_values: int, n_clients: int, rng: np.random.Generator
) -> Integers:
    """Draw how many clients hold each of the values.

    Parameters
    ----------
    shape
        ``"uniform"``; ``"normal"``, centred with a sixth of the values as standard deviation;
        ``"exponential"``, the last value e**-5 times as frequent as the first; ``"zipf"``,
        value i with weight 1/i.
    n_values
        Number of values.
    n_clients
        Number of clients, each with one value.
    rng
        Source of chance.

    Examples
    --------
    >>> counts = population(
    ...     "exponential", n_values=100, n_clients=10**6, rng=np.random.default_rng(1)
    ... )
    >>> counts.sum(), counts.size
    (np.int64(1000000), 100)
    """
    if n_values < 1 or n_clients < 0:
        raise RapporError(
            Message("A population needs at least one value, and no fewer than 0 clients.")
        )
    place = np.arange(n_values, dtype=float)
    weights = {
        "uniform": np.ones(n_values),
        "normal": np.exp(-0.5 * ((place - (n_values - 1) / 2) / (n_values / 6)) ** 2),
        "exponential": np.exp(-5 * place / max(n_values - 1, 1)),
        "zipf": 1 / (place + 1),
    }
    if shape not in weights:
        raise RapporError(
            Message(
                "shape must be one of {weights}, not {shape!r}.",
                weights=Name.each(weights),
                shape=Name(shape),
            )
        )
    return rng.multinomial(n_clients, weights[shape] / weights[shape].sum())


def simulate_counts(
    values: Values, counts: Integers, *, parameters: Parameters, rng: np.random.Generator
) -> Counts:
    """Draw the sums of the reports of a population, one report a client.

    The sums have exactly the law of encoding every client and summing, at a cost that does
    not depend on the number of clients: in one cohort the clients that set a bit answer by
    independent coins of `q_star`, the others by coins of `p_star`; or each symbol is kept or
    drawn anew.

    Parameters
    ----------
    values
        The values.
    counts
        How many clients hold each.
    parameters
        The parameters of the collection.
    rng
        Source of chance.

    Examples
    --------
    >>> from rappor import Parameters
    >>> paper = Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=0.5, p=0.5, q=0.75)
    >>> rng = np.random.default_rng(1)
    >>> simulate_counts(["a", "b"], np.array([10**6, 5]), parameters=paper, rng=rng).total
    1000005
    """
    numbers = np.asarray(counts)
    if numbers.shape != (len(values),) or numbers.dtype.kind not in "iu" or np.any(numbers < 0):
        raise RapporError(Message("Each value needs the whole number of clients that hold it."))
    m, k = parameters.n_cohorts, parameters.n_bits
    by_cohort = rng.multinomial(numbers, np.full(m, 1 / m))
    places = every_bit(values, parameters=parameters)
    setting = np.zeros((m, k + 1), np.int64)  # one column more for "no bit"
    for cohort in range(m):
        filters = np.zeros((len(values), k + 1), bool)
        np.put_along_axis(filters, places[:, cohort], True, axis=1)  # noqa: FBT003
        setting[cohort] = by_cohort[:, cohort] @ filters
    n, setting = by_cohort.sum(axis=0), setting[:, :k]
    if parameters.response == "symbol":  # kept, or drawn anew from all symbols
        anew = rng.binomial(setting, k * parameters.p)
        draws = rng.multinomial(anew.sum(axis=1), np.full(k, 1 / k))
        return Counts(n=n, ones=setting - anew + draws, parameters=parameters)
    ones = rng.binomial(setting, parameters.q_star)
    ones += rng.binomial(n[:, None] - setting, parameters.p_star)
    return Counts(n=n, ones=ones, parameters=parameters)
