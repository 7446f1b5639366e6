"""Scores of predictions: Matthews correlation, area under the curve, root mean square error."""

import numpy as np

from footing.arrays import Flags, Floats, Integers


def mcc(truth: Integers, prediction: Integers) -> float:
    """Give the Matthews correlation of any number of classes.

    Notes
    -----
    (c·s - Σ tₖ pₖ) / √((s² - Σ pₖ²)(s² - Σ tₖ²)), with s records, c of them right, tₖ of
    class k and pₖ said to be.

    References
    ----------
    .. [1] J. Gorodkin, "Comparing two K-category assignments by a K-category correlation
       coefficient", *Computational Biology and Chemistry* 28 (2004).
    """
    n_classes = int(max(truth.max(), prediction.max())) + 1
    s, right = float(len(truth)), float((truth == prediction).sum())
    t = np.bincount(truth, minlength=n_classes).astype(float)
    p = np.bincount(prediction, minlength=n_classes).astype(float)
    below = (s**2 - (p**2).sum()) * (s**2 - (t**2).sum())
    return float((right * s - (t * p).sum()) / np.sqrt(below)) if below > 0 else 0.0


def auc(truth: Flags, score: Floats) -> float | None:
    """Give the chance that a record of the class scores above another; ties count half."""
    from scipy.stats import rankdata

    n, m = int(truth.sum()), int((~truth).sum())
    if not n or not m:
        return None
    return float((rankdata(score)[truth].sum() - n * (n + 1) / 2) / (n * m))


def auc_interval(value: float, n: int, m: int) -> tuple[float, float]:
    """Give the interval of 95 % of an area under the curve.

    References
    ----------
    .. [1] J. A. Hanley, B. J. McNeil, "The meaning and use of the area under a receiver
       operating characteristic (ROC) curve", *Radiology* 143 (1982), formula 2.
    """
    one, two = value / (2 - value), 2 * value**2 / (1 + value)
    variance = value * (1 - value) + (n - 1) * (one - value**2) + (m - 1) * (two - value**2)
    half = 1.959964 * float(np.sqrt(max(variance, 0.0) / (n * m)))
    return max(value - half, 0.0), min(value + half, 1.0)


def rmse(truth: Floats, prediction: Floats) -> float:
    """Give the root of the mean squared error."""
    apart = truth - prediction
    unit = float(np.abs(apart).max()) or 1.0  # so that no square leaves the range
    return unit * float(np.sqrt(np.mean((apart / unit) ** 2)))
