"""What a learning machine makes of records: real from synthetic, and one column from others."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from footing.arrays import Floats, Integers
from footing.messages import Argument, Message, Name
from synth.errors import EvaluationError
from synth.evaluation.measures.scores import auc, mcc, rmse
from synth.evaluation.records import Records


def classification(
    train: Records, test: Records, *, target: str, learner: Learner = "histogram", seed: int = 0
) -> dict[str, float | None]:
    """Predict a column of categories in the test records from all others.

    The area of several classes is the mean over pairs of one against the rest, weighted by the
    share of the class; None where the test records show one class only.

    A class that the training records never show is never predicted; that lowers the score and
    stops nothing.
    """
    place = train.place(target)
    labels = [_labels(records.values[:, place]) for records in (train, test)]
    classes = np.unique(np.concatenate(labels))
    truth = np.searchsorted(classes, labels[1])
    chances = probabilities(
        np.delete(train.values, place, axis=1),
        np.searchsorted(classes, labels[0]),
        np.delete(test.values, place, axis=1),
        n_classes=len(classes),
        learner=learner,
        seed=seed,
    )
    predictions = chances.argmax(axis=1)
    return {
        "class_auc": _area(truth, chances),
        "class_mcc": mcc(truth, predictions),
        "class_accuracy": float(np.mean(truth == predictions)),
    }


def regression(train: Records, test: Records, *, target: str) -> float | None:
    """Predict a column of numbers by least squares; give the root mean square error.

    Categories enter by their codes, as in the source of the framework; missing values by the
    mean of the training records. None where no number is left on either side.
    """
    place = train.place(target)
    if train.is_category[place]:
        raise EvaluationError(
            Message(
                "Column {target!r} holds categories: least squares need numbers.",
                target=Name(target),
            ),
            hint=Message("take another column, or predict it by classification"),
        )
    sides = []
    for records in (train, test):
        is_there = ~np.isnan(records.values[:, place])
        if not is_there.any():
            return None
        sides.append(records.values[is_there])
    features = [np.delete(values, place, axis=1) for values in sides]
    rows = (~np.isnan(features[0])).sum(axis=0)
    middle = np.nansum(features[0], axis=0) / np.maximum(rows, 1)
    centred = [np.where(np.isnan(some), 0.0, some - middle) for some in features]
    # What does not vary in training has no weight, whatever rounding left of its differences.
    lacks = np.isnan(features[0])
    varies = np.where(lacks, -np.inf, features[0]).max(axis=0) > np.where(
        lacks, np.inf, features[0]
    ).min(axis=0)
    scale = np.where(varies, np.abs(centred[0]).max(axis=0), np.inf)
    first, second = (np.column_stack([np.ones(len(c)), c / scale]) for c in centred)
    truth = [side[:, place] for side in sides]
    unit = float(np.abs(truth[0]).max()) or 1.0
    weights, *_ = np.linalg.lstsq(first, truth[0] / unit, rcond=None)
    return unit * rmse(truth[1] / unit, second @ weights)


def _labels(column: Floats) -> Floats:
    return np.where(np.isnan(column), np.inf, column)


def _area(truth: Integers, chances: Floats) -> float | None:
    if chances.shape[1] == 2:
        return auc(truth == 1, chances[:, 1])
    areas = [(auc(truth == k, chances[:, k]), float(np.mean(truth == k))) for k in set(truth)]
    pairs = [(area, share) for area, share in areas if area is not None]
    if not pairs:
        return None
    return sum(area * share for area, share in pairs) / sum(share for _, share in pairs)


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
                Message("Trained measures need scikit-learn, which is not installed."),
                hint=Message("in the project's folder: pip install '.[synth]'"),
            ) from error
        return HistGradientBoostingClassifier(random_state=seed)
    if learner != "xgboost":
        raise EvaluationError(
            Message("There is no learner {learner!r}.", learner=Argument(learner)),
            hint=Message("take 'histogram' or 'xgboost'"),
        )
    try:
        from xgboost import XGBClassifier
    except ImportError as error:
        raise EvaluationError(
            Message("The learner 'xgboost' needs the package xgboost, which is not installed."),
            hint=Message("pip install xgboost, or take 'histogram'"),
        ) from error
    return XGBClassifier(n_estimators=_TREES, max_depth=_DEPTH, random_state=seed)


def probabilities(
    features: Floats,
    labels: Integers,
    others: Floats,
    *,
    n_classes: int,
    learner: Learner = "histogram",
    seed: int = 0,
) -> Floats:
    """Train on records and give the probability of each class for others."""
    classes, codes = np.unique(labels, return_inverse=True)
    chances = np.zeros((len(others), n_classes))
    if len(classes) == 1:
        chances[:, classes[0]] = 1.0
        return chances
    # A column that is missing throughout says nothing, and some learners warn about it.
    tells = ~np.isnan(features).all(axis=0)
    if not tells.any():
        chances[:, classes] = np.bincount(codes) / len(codes)
        return chances
    machine = classifier(learner, seed=seed)
    from threadpoolctl import threadpool_limits

    # The same sums on every machine; and threads that wait for each other cost most where a
    # machine is busy.
    with threadpool_limits(limits=1):
        machine.fit(features[:, tells], codes)
        chances[:, classes] = machine.predict_proba(others[:, tells])
    return chances


_MOST = 8000
_FOLDS = 3


def detection(
    real: Records,
    synthetic: Records,
    *,
    learner: Learner = "histogram",
    seed: int = 0,
) -> dict[str, float]:
    """Train a classifier to tell synthetic from real, and judge it on records it never saw.

    Notes
    -----
    pMSE = 1/N Σ (pᵢ - ½)², over out-of-fold propensities.

    References
    ----------
    .. [1] J. Snoke, G. M. Raab, B. Nowok, C. Dibben, A. Slavkovic, "General and specific
       utility measures for synthetic data", *JRSS A* 181 (2018).
    """
    size = min(len(real), len(synthetic), _MOST)
    if size < _FOLDS:
        raise EvaluationError(
            Message(
                "Detection in {folds} folds needs as many records on each side; one side "
                "has {size}.",
                folds=_FOLDS,
                size=size,
            ),
            hint=Message("give more records, or leave detection out"),
        )
    rng = np.random.default_rng(seed)
    sides = [
        records.values[rng.choice(len(records), size=size, replace=False)]
        for records in (real, synthetic)
    ]
    features = np.vstack(sides)
    labels = np.repeat(np.array([0, 1]), size)
    fold = np.concatenate([rng.permutation(size) % _FOLDS for _ in sides])
    propensity = np.empty(2 * size)
    for number in range(_FOLDS):
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
    return {
        "detection_auc": 0.5 if area is None else area,
        "pmse": float(np.mean((propensity - 0.5) ** 2)),
    }
