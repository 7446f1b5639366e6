"""Train on synthetic records, test on real ones that the synthesis never saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synth.evaluation.errors import EvaluationError
from synth.evaluation.measures.learners import probabilities
from synth.evaluation.measures.scores import auc, mcc, rmse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from synth.evaluation.measures.learners import Learner
    from synth.evaluation.records import Records


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """How well a class was predicted.

    Parameters
    ----------
    mcc
        Matthews correlation.
    auc
        Area under the curve; of several classes the mean over pairs of one against the rest,
        weighted by the share of the class. None where the test records show one class only.
    accuracy
        The share of records that were classified rightly.
    """

    mcc: float
    auc: float | None
    accuracy: float


def classification(
    train: Records, test: Records, *, target: str, learner: Learner = "histogram", seed: int = 0
) -> Classified:
    """Predict a column of categories in the test records from all others.

    A class that the training records never show is never predicted; that lowers the score and
    stops nothing.
    """
    place = train.place(target)
    labels = [_labels(records.values[:, place]) for records in (train, test)]
    known = np.unique(np.concatenate(labels))
    truth = np.searchsorted(known, labels[1])
    chances = probabilities(
        np.delete(train.values, place, axis=1),
        np.searchsorted(known, labels[0]),
        np.delete(test.values, place, axis=1),
        n_classes=len(known),
        learner=learner,
        seed=seed,
    )
    said = chances.argmax(axis=1)
    return Classified(
        mcc=mcc(truth, said),
        auc=_area(truth, chances),
        accuracy=float(np.mean(truth == said)),
    )


def regression(train: Records, test: Records, *, target: str) -> float | None:
    """Predict a column of numbers by least squares; give the root mean square error.

    Categories enter by their codes, as in the source of the framework; missing values by the
    mean of the training records. None where no number is left on either side.
    """
    place = train.place(target)
    if train.is_category[place]:
        raise EvaluationError(
            f"Column {target!r} holds categories: least squares need numbers.",
            hint="take another column, or predict it by classification",
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


def _labels(column: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(column), np.inf, column)


def _area(truth: NDArray[np.int64], chances: NDArray[np.float64]) -> float | None:
    if chances.shape[1] == 2:
        return auc(truth == 1, chances[:, 1])
    areas = [(auc(truth == k, chances[:, k]), float(np.mean(truth == k))) for k in set(truth)]
    kept = [(area, share) for area, share in areas if area is not None]
    if not kept:
        return None
    return sum(area * share for area, share in kept) / sum(share for _, share in kept)
