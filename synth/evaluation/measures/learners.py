"""The learning machines of the evaluation: boosted trees, whatever the labels are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from synth.evaluation.errors import EvaluationError

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Boosted histograms of scikit-learn, or xgboost where it is installed.
Learner: TypeAlias = Literal["histogram", "xgboost"]
#: As in the source of the framework.
_TREES, _DEPTH = 512, 64


def classifier(learner: Learner, *, seed: int) -> Any:
    """Give an untrained classifier."""
    if learner == "histogram":
        try:
            from sklearn.ensemble import HistGradientBoostingClassifier
        except ImportError as error:
            raise EvaluationError(
                "Trained measures need scikit-learn, which is not installed.",
                hint="in the project's folder: pip install '.[synth]'",
            ) from error
        return HistGradientBoostingClassifier(random_state=seed)
    if learner != "xgboost":
        raise EvaluationError(
            f"There is no learner {learner!r}.", hint="take 'histogram' or 'xgboost'"
        )
    try:
        from xgboost import XGBClassifier
    except ImportError as error:
        raise EvaluationError(
            "The learner 'xgboost' needs the package xgboost, which is not installed.",
            hint="pip install xgboost, or take 'histogram'",
        ) from error
    return XGBClassifier(n_estimators=_TREES, max_depth=_DEPTH, random_state=seed)


def probabilities(
    features: NDArray[np.float64],
    labels: NDArray[np.int64],
    asked: NDArray[np.float64],
    *,
    n_classes: int,
    learner: Learner = "histogram",
    seed: int = 0,
) -> NDArray[np.float64]:
    """Train on records and give the probability of each class for others."""
    shown, codes = np.unique(labels, return_inverse=True)
    found = np.zeros((len(asked), n_classes))
    if len(shown) == 1:
        found[:, shown[0]] = 1.0
        return found
    # A column that is missing throughout says nothing, and some learners warn about it.
    tells = ~np.isnan(features).all(axis=0)
    if not tells.any():
        found[:, shown] = np.bincount(codes) / len(codes)
        return found
    machine = classifier(learner, seed=seed)
    from threadpoolctl import threadpool_limits

    # The same sums on every machine; and threads that wait for each other cost most where a
    # machine is busy.
    with threadpool_limits(limits=1):
        machine.fit(features[:, tells], codes)
        found[:, shown] = machine.predict_proba(asked[:, tells])
    return found
