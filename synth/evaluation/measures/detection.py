"""Whether a machine can tell synthetic records from real ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synth.evaluation.errors import EvaluationError
from synth.evaluation.measures.learners import probabilities
from synth.evaluation.measures.scores import auc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from synth.evaluation.measures.learners import Learner
    from synth.evaluation.records import Records

_MOST = 8000


@dataclass(frozen=True, slots=True, kw_only=True)
class Detected:
    """How well synthetic records were told from real ones.

    Parameters
    ----------
    auc
        Area under the curve: 0.5 where nothing tells them apart, 1 where everything does.
    pmse
        Mean squared distance of the propensity from the share of synthetic records: 0 to 0.25.
    n
        Records on each side.
    """

    auc: float
    pmse: float
    n: int


def detection(
    real: Records,
    synthetic: Records,
    *,
    most: int = _MOST,
    folds: int = 3,
    learner: Learner = "histogram",
    seed: int = 0,
) -> Detected:
    """Train a classifier to tell synthetic from real, and judge it on records it never saw.

    Notes
    -----
    pMSE = 1/N Σ (pᵢ - ½)², over out-of-fold propensities.

    References
    ----------
    .. [1] J. Snoke, G. M. Raab, B. Nowok, C. Dibben, A. Slavkovic, "General and specific
       utility measures for synthetic data", *JRSS A* 181 (2018).
    """
    size = min(len(real), len(synthetic), most)
    if size < folds or folds < 2:
        raise EvaluationError(
            f"Detection in {folds} folds needs at least 2 folds and as many records on each "
            f"side; one side has {size}.",
            hint="give more records, or leave detection out",
        )
    rng = np.random.default_rng(seed)
    sides = [_sample(records, size, rng) for records in (real, synthetic)]
    features = np.vstack(sides)
    labels = np.repeat(np.array([0, 1]), size)
    fold = np.concatenate([rng.permutation(size) % folds for _ in sides])
    propensity = np.empty(2 * size)
    for number in range(folds):
        is_out = fold == number
        propensity[is_out] = probabilities(
            features[~is_out],
            labels[~is_out],
            features[is_out],
            n_classes=2,
            learner=learner,
            seed=seed,
        )[:, 1]
    area = auc(labels == 1, propensity)
    return Detected(
        auc=0.5 if area is None else area,
        pmse=float(np.mean((propensity - 0.5) ** 2)),
        n=size,
    )


def _sample(records: Records, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return records.values[rng.choice(len(records), size=size, replace=False)]
