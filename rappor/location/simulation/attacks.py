"""What somebody who keeps all reports can learn: true cells, and who is who."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from footing.arrays import Floats, Integers
from footing.messages import Message
from rappor.client.bernoulli import bytes_source, flip
from rappor.client.permanent import permanent
from rappor.errors import RapporError
from rappor.parameters import Parameters


def averaging_attack(
    parameters: Parameters,
    *,
    reports: Sequence[int],
    n_people: int,
    rng: np.random.Generator,
    is_memoised: bool = True,
) -> dict[int, float]:
    """Average people's reports of one cell and guess it, for growing numbers of reports.

    Parameters
    ----------
    parameters
        Basic RAPPOR, a bit a cell.
    reports
        The numbers of reports, rising.
    n_people
        People to attack; everybody stays in a cell drawn at random.
    rng
        Source of chance.
    is_memoised
        Whether the permanent response is the same in all reports, as it must be; False
        shows a client that draws it anew.

    Returns
    -------
    dict
        The share of people whose cell is the best guess, by number of reports.
    """
    steps = list(reports)
    if not steps or steps[0] < 1 or any(a >= b for a, b in pairwise(steps)):
        raise RapporError(Message("The numbers of reports must rise from 1 or more."))
    k = parameters.n_bits
    truth = rng.integers(0, k, n_people)
    bloom = np.arange(k) == truth[:, None]
    source = bytes_source(rng)
    key = rng.bytes(32)
    people = [b"%d" % person for person in range(n_people)]
    permanent_bits = permanent(bloom, people, key=key, f=parameters.f)
    sums = np.zeros((n_people, k))
    shares = {}
    for report in range(1, steps[-1] + 1):
        if not is_memoised:
            permanent_bits = permanent(bloom, people, key=rng.bytes(32), f=parameters.f)
        sums += flip(permanent_bits, p=parameters.p, q=parameters.q, source=source)
        if report in steps:
            signs = 1 if parameters.q > parameters.p else -1
            shares[report] = float(np.mean(best_guess(signs * sums, rng=rng) == truth))
    return shares


def best_guess(scores: Floats, *, rng: np.random.Generator) -> Integers:
    """Give the place of each row's largest score, one of them at random where several tie."""
    is_best = scores == scores.max(axis=1, keepdims=True)
    return np.asarray(np.argmax(rng.random(scores.shape) * is_best, axis=1), np.int64)


def linked(first: Floats, second: Floats, *, rng: np.random.Generator) -> float:
    """Give the share of people whose two halves find each other without a name.

    Each second half is given to the first half it correlates with most.
    """
    score = _standard(second) @ _standard(first).T
    guess = best_guess(np.round(score, 9), rng=rng)
    return float(np.mean(guess == np.arange(len(first))))


def linkage_attack(
    parameters: Parameters, *, reports: int, n_people: int, rng: np.random.Generator
) -> float:
    """Link people who stay where they are by the noise of their permanent responses.

    Everybody is in the same cell, so that nothing but the noise tells them apart.

    Parameters
    ----------
    parameters
        Basic RAPPOR, a bit a cell.
    reports
        Reports of each person in each half of the time.
    n_people
        Number of people; guessing links one in so many.
    rng
        Source of chance.
    """
    bloom = np.zeros((n_people, parameters.n_bits), bool)
    bloom[:, 0] = True
    people = [b"%d" % person for person in range(n_people)]
    permanent_bits = permanent(bloom, people, key=rng.bytes(32), f=parameters.f)
    source = bytes_source(rng)
    halves = [
        sum(
            flip(permanent_bits, p=parameters.p, q=parameters.q, source=source).astype(float)
            for _ in range(reports)
        )
        for _ in range(2)
    ]
    return linked(np.asarray(halves[0]), np.asarray(halves[1]), rng=rng)


def _standard(rows: Floats) -> Floats:
    centred = rows - rows.mean(axis=1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    return np.asarray(centred / np.where(length > 0, length, 1))
