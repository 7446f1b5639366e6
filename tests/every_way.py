"""Every way to spread few keys over a row: the other way to find the best one."""

import math
from itertools import combinations, pairwise

import numpy as np


def every_way(n_places, total):
    """Give every way to put keys in places, one per line."""
    bars = np.array(
        list(combinations(range(total + n_places - 1), n_places - 1)), dtype=np.int64
    ).reshape(math.comb(total + n_places - 1, n_places - 1), n_places - 1)
    edges = np.hstack(
        [
            np.full((len(bars), 1), -1),
            bars,
            np.full((len(bars), 1), total + n_places - 1),
        ]
    )
    return np.diff(edges, axis=1) - 1


def allowed(problem, total):
    """Give the ways that keep the constraints of a row."""
    ways = every_way(len(problem.noise), total)
    keep = np.ones(len(ways), dtype=bool)
    floor = problem.floor * total
    if floor >= 1:
        keep &= (ways >= math.ceil(floor)).all(axis=1)
    left, right = ways[:, : problem.n_left], ways[:, len(problem.noise) - problem.n_right :]
    keep &= (np.diff(left, axis=1) >= 0).all(axis=1) & (np.diff(right, axis=1) <= 0).all(axis=1)
    if problem.symmetric:
        keep &= (ways == ways[:, ::-1]).all(axis=1)
    if problem.unimodal:
        signs = np.sign(np.diff(ways, axis=1))
        keep &= [
            not any(a < 0 < b for a, b in pairwise([s for s in line if s])) for line in signs
        ]
    if problem.p_stay is not None:
        stays = ways[:, problem.noise.index(0)]
        asked = problem.p_stay * total
        if problem.p_stay_rule != "at-most":
            up = problem.p_stay_rule == "at-least"
            keep &= stays >= (math.ceil(asked) if up else math.floor(asked))
        if problem.p_stay_rule != "at-least":
            up = problem.p_stay_rule == "exact"
            keep &= stays <= (math.ceil(asked) if up else math.floor(asked))
    return ways[keep]


def least_drift(goal, ways):
    """Give the least drift and the ways that have it."""
    noise = np.array(goal.problem.noise)
    sums = [tuple(map(int, pair)) for pair in zip(ways @ noise, ways @ noise**2, strict=True)]
    drifts = {pair: goal.drift_of(*pair) for pair in set(sums)}
    least = min(drifts.values())
    return least, ways[[drifts[pair] == least for pair in sums]]


def entropy(units):
    """Give the entropy of keys, in nats."""
    total = sum(units)
    return -math.fsum(n / total * math.log(n / total) for n in units if n)


def divergence(units, law):
    """Give the Kullback-Leibler divergence of keys from a law, in nats."""
    total = sum(units)
    return math.fsum(
        n / total * math.log(n / total / p) for n, p in zip(units, law, strict=True) if n
    )
