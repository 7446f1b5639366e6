"""Which of many candidates are strong enough to be fitted together."""

import numpy as np

from footing.arrays import Flags, Integers
from rappor.decoding.regression import Normal, fit, solved
from rappor.decoding.testing import adjusted, upper_tail

#: More candidates than this share of the bits are not fitted all together.
_CROWDED = 0.8
#: The penalty of the LASSO in standard deviations of a candidate's score without reports.
_PENALTY = 2.5
_LEVEL = 0.05
_ROUNDS = 4
_MAX_STEPS = 500
#: A score that exceeds its penalty by less than this many deviations is left.
_TOLERANCE = 0.02


def needs_screening(normal: Normal) -> bool:
    """Tell whether the candidates are too many to be fitted together."""
    candidates = normal.columns[:, : normal.n_candidates]
    shared = np.bincount(candidates.indices, minlength=1).max()
    return bool(shared > 1 and normal.n_candidates > _CROWDED * len(normal.target))


def lasso(normal: Normal, *, penalty: float) -> Integers:
    """Find the candidates that a LASSO without negative shares keeps.

    Minimises half the weighted squares of the residuals plus λ_j x_j over all candidates,
    x ≥ 0, by an active set: the worst scores enter, negative shares leave, and ever fewer
    enter at once, so that it ends.
    """
    last, squares = normal.n_candidates, normal.squares
    projected = normal.projected
    across = normal.products(np.array([last]))[0]
    has_rest = squares[last] > 0
    own = squares[:last] - (across[:last] ** 2 / squares[last] if has_rest else 0.0)
    scale = np.sqrt(np.maximum(own, 1e-12 * squares[:last]))
    multiplier = np.append(penalty * scale, 0.0)
    support, batch = np.empty(0, np.int64), max(20, len(normal.target) // 5)
    for _ in range(_MAX_STEPS):
        places = np.append(support, last) if has_rest else support
        own = (
            solved(normal.gram(places), (projected - multiplier)[places])
            if places.size
            else np.empty(0)
        )
        if (leaving := own[: len(support)] <= 0).any():
            support = support[~leaving]
            continue
        score = projected - normal.weighted.T @ (normal.columns[:, places] @ own)
        excess = (score - multiplier)[:last] / scale
        excess[support] = -np.inf
        entering = np.flatnonzero(excess > _TOLERANCE)
        room = min(batch, len(normal.target) - len(support) - 1)
        if not entering.size or room < 1:
            break
        best = entering[np.argsort(-excess[entering], kind="stable")][:room]
        support = np.sort(np.append(support, best))
        batch = max(1, int(batch * 0.8))
    return support


def strong(normal: Normal) -> Integers:
    """Choose the candidates to fit together among too many.

    A LASSO chooses, and what is not significant among all candidates after a refit leaves.
    A second LASSO follows with the dispersion of the first fit, as strings that nobody named
    raise the noise. Then members are those that are significant beside the members, until
    nothing changes.
    """
    members, inflation = np.empty(0, np.int64), 1.0
    for _ in range(2):
        members = lasso(normal, penalty=_PENALTY * np.sqrt(inflation))
        members = members[_significant(normal, members)[members]]
        inflation = fit(normal, members).inflation
        if inflation < 1.1:
            break
    most = int(_CROWDED * len(normal.target))
    for _ in range(_ROUNDS):
        places = np.flatnonzero(_significant(normal, members))[:most]
        if np.array_equal(places, members):
            break
        members = places
    return members


def _significant(normal: Normal, members: Integers) -> Flags:
    estimate = fit(normal, members)
    p_values = upper_tail(estimate.estimates, estimate.variances, estimate.freedom)
    return adjusted(p_values, correction="benjamini-hochberg") <= _LEVEL
