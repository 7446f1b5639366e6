"""The shares nearest to the estimates that could be shares: none negative, and one in all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rappor.decoding.regression import solved

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOLERANCE = 1e-9
_MAX_STEPS = 200


def project_to_simplex(
    gram: NDArray[np.float64], estimates: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Find the shares that fit best among those that are not negative and sum to 1.

    Minimises (x - estimates)' gram (x - estimates) by an active set: shares below 0 leave, and
    one whose gradient is too small comes back. Such shares are nearer to the truth than the
    estimates on average, and no longer unbiased.
    """
    scale = np.sqrt(np.diag(gram))
    aim = gram @ estimates
    chosen = np.ones(len(estimates), bool)
    found = np.zeros(len(estimates))
    batch = len(estimates)
    for _ in range(_MAX_STEPS):
        found, price = _on(gram, aim, chosen)
        if (found < 0).any():
            chosen &= found > 0
            if not chosen.any():
                chosen[int(np.argmax(estimates))] = True
            continue
        pull = (aim - gram @ found - price) / scale
        pull[chosen] = -np.inf
        back = np.argsort(-pull, kind="stable")[: max(1, batch)]
        back = back[pull[back] > _TOLERANCE * np.abs(aim / scale).max()]
        if not back.size:
            break
        chosen[back] = True
        batch //= 2  # in the end one at a time, so that it ends
    found = found.clip(min=0.0)
    return np.asarray(found / found.sum())


def _on(
    gram: NDArray[np.float64], aim: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], float]:
    """Solve where only the chosen shares are not 0; give the price of the sum too."""
    own = np.flatnonzero(chosen)
    part = gram[np.ix_(own, own)]
    both = np.column_stack([aim[own], np.ones(len(own))])
    alone, lifted = solved(part, both).T
    price = float((alone.sum() - 1) / lifted.sum())
    found = np.zeros(len(aim))
    found[own] = alone - price * lifted
    return found, price
