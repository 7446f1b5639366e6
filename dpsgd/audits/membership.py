"""Scores of membership: the higher, the likelier a record was used for training.

All of them work on arrays of signals, one a record: what a model says of the record. Shadow
models are models of the same kind, trained on other draws of the data; `is_in` tells on which.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dpsgd.errors import DPSGDError
from footing.arrays import Flags, Floats
from footing.messages import Message, Name, Shape

_LEAST_VARIANCE = 1e-12
_LARGEST = 30.0
_OWN_VARIANCE = 64  # shadow models from which a record's own variance can be estimated
_ROUNDS = 30
_RIDGE = 1e-3
_SHAPES = {
    None: Message("at least one"),
    1: Message("one a record"),
    2: Message("a row a model"),
}


def signals_of(losses: ArrayLike) -> Floats:
    """Return the logit of the probability that a model gave to the true class.

    Parameters
    ----------
    losses
        Cross-entropies, 0 or more.

    Notes
    -----
    ``ln(p / (1 - p)) = -ln(exp(loss) - 1)``, cut at 30; near to normal for one record over
    many models.

    References
    ----------
    Carlini et al. 2022, section IV.

    Examples
    --------
    >>> signals_of([np.log(2), 0.0]).round(6).tolist()
    [-0.0, 30.0]
    """
    loss = _finite(losses, "losses", dimensions=None)
    if (loss < 0).any():
        raise DPSGDError(
            Message("Cross-entropies are 0 or more."),
            hint=Message("for other losses take their negative"),
        )
    with np.errstate(divide="ignore", over="ignore"):
        logit = -np.log(np.expm1(np.minimum(loss, 700.0)))
    return np.clip(logit, -_LARGEST, _LARGEST)


def loss_scores(losses: ArrayLike) -> Floats:
    """Return the score of the simplest attack: a small loss tells a member.

    Parameters
    ----------
    losses
        Of the model under attack.

    References
    ----------
    Yeom et al. 2018, section 3.2.

    Examples
    --------
    >>> loss_scores([0.5, 2.0]).tolist()
    [-0.5, -2.0]
    """
    return -_finite(losses, "losses")


def shadow_scores(target: ArrayLike, *, shadows: ArrayLike, is_in: ArrayLike) -> Floats:
    """Return the scores of an attack model trained on shadow models.

    Parameters
    ----------
    target
        Signals of the model under attack.
    shadows, is_in
        Signals of each shadow model (rows) for each record, and whether it was trained on it.

    Notes
    -----
    A logistic regression of membership on the signal and its square, fitted on all shadow
    models together: one rule for all records.

    References
    ----------
    Shokri et al. 2017, section V.

    Examples
    --------
    >>> shadow_scores([0.0, 3.0], shadows=[[0, 3], [3, 0]], is_in=[[0, 1], [1, 0]]).argmax()
    np.int64(1)
    """
    signals, models, member = _checked(target, shadows, is_in)
    mean, spread = float(models.mean()), float(models.std()) or 1.0

    def features(values: Floats) -> Floats:
        z = (values.ravel() - mean) / spread
        return np.column_stack((np.ones_like(z), z, z**2))

    weights = _logistic(features(models), member.ravel().astype(np.float64))
    return np.asarray(features(signals) @ weights)


def lira_scores(
    target: ArrayLike,
    *,
    shadows: ArrayLike,
    is_in: ArrayLike,
    mode: Literal["online", "offline"] = "online",
) -> Floats:
    """Return likelihood ratios of each record's signal with the record in and out.

    Parameters
    ----------
    target
        Signals of the model under attack.
    shadows, is_in
        Signals of each shadow model (rows) for each record, and whether it was trained on it.
    mode
        ``"online"`` compares models with and without the record; ``"offline"`` needs those
        without alone.

    Notes
    -----
    The signals are taken for normal. Below 64 models one variance serves all records. A record
    without a model on one side has the mean of all records there.

    References
    ----------
    Carlini et al. 2022, section V.

    Examples
    --------
    >>> lira_scores(
    ...     [2.0, 0.0],
    ...     shadows=[[2, 2], [0, 0], [2.5, 2.5], [-0.5, -0.5]],
    ...     is_in=[[1, 1], [0, 0], [1, 1], [0, 0]],
    ... ).round(1).tolist()
    [20.0, -20.0]
    """
    signals, models, member = _checked(target, shadows, is_in)
    if mode not in {"online", "offline"}:
        raise DPSGDError(
            Message("Unknown mode {mode!r}.", mode=Name(mode)),
            hint=Message("known: 'online', 'offline'"),
        )
    out_mean, out_variance = _normal(models, ~member)
    out = (signals - out_mean) / np.sqrt(out_variance)
    if mode == "offline":
        return np.asarray(out)
    in_mean, in_variance = _normal(models, member)
    within = (signals - in_mean) ** 2 / in_variance + np.log(in_variance)
    return np.asarray((out**2 + np.log(out_variance) - within) / 2)


def rmia_scores(
    target: ArrayLike,
    *,
    shadows: ArrayLike,
    is_in: ArrayLike,
    target_population: ArrayLike,
    shadow_population: ArrayLike,
) -> Floats:
    """Return the share of a population that a record beats in relative likelihood.

    Parameters
    ----------
    target
        Log-probabilities of the true class, the negative cross-entropies, for each record.
    shadows, is_in
        The same of each shadow model (rows), and whether it was trained on the record.
    target_population, shadow_population
        The same for records of a population that no model was trained on.

    References
    ----------
    Zarifzadeh, Liu, Shokri 2024, algorithm 1.

    Examples
    --------
    >>> rmia_scores(
    ...     [-0.1, -2.0],
    ...     shadows=[[-1, -2], [-1, -2]],
    ...     is_in=[[1, 0], [0, 1]],
    ...     target_population=[-1.0, -1.0],
    ...     shadow_population=[[-1, -1], [-1, -1]],
    ... ).tolist()
    [1.0, 1.0]
    """
    signals, models, member = _checked(target, shadows, is_in)
    population = _finite(target_population, "target_population")
    others = _finite(shadow_population, "shadow_population", dimensions=2)
    if others.shape != (len(models), len(population)):
        raise DPSGDError(
            Message("shadow_population needs a row a model and a column a record.")
        )
    chances = np.exp(models)
    mean = (_mean_where(chances, ~member) + _mean_where(chances, member)) / 2
    tiny = np.finfo(np.float64).tiny
    ratio = signals - np.log(np.maximum(mean, tiny))
    other = population - np.log(np.maximum(np.exp(others).mean(axis=0), tiny))
    beaten = np.searchsorted(np.sort(other), ratio, side="right")
    return np.asarray(beaten / len(other))


def _normal(models: Floats, mask: Flags) -> tuple[Floats, Floats]:
    mean = _mean_where(models, mask)
    square = np.where(mask, (models - mean) ** 2, 0.0)
    number = mask.sum(axis=0)
    if number.min() >= _OWN_VARIANCE // 2:
        variance = square.sum(axis=0) / (number - 1)
    else:
        freedom = max(1, int(np.maximum(number - 1, 0).sum()))
        variance = np.full(models.shape[1], square.sum() / freedom)
    return mean, np.maximum(variance, _LEAST_VARIANCE)


def _mean_where(models: Floats, mask: Flags) -> Floats:
    if not mask.any():
        raise DPSGDError(
            Message("Shadow models must have records in and records out."),
            hint=Message("train each on a random half"),
        )
    number = mask.sum(axis=0)
    total = np.where(mask, models, 0.0).sum(axis=0)
    overall = float(models[mask].mean())
    return np.where(number > 0, total / np.maximum(number, 1), overall)


def _logistic(x: Floats, y: Floats) -> Floats:
    """Return the weights of a logistic regression with a slight ridge."""
    weights = np.zeros(x.shape[1])
    ridge = _RIDGE * len(x) * np.eye(x.shape[1])
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(x @ weights, -_LARGEST, _LARGEST)))
        slope = x.T @ (chance - y) + ridge @ weights
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x + ridge
        weights = weights - np.linalg.solve(curvature, slope)
    return weights


def _checked(
    target: ArrayLike, shadows: ArrayLike, is_in: ArrayLike
) -> tuple[Floats, Floats, Flags]:
    signals = _finite(target, "target")
    models, member = _finite(shadows, "shadows", dimensions=2), np.asarray(is_in)
    if models.shape != member.shape or models.shape[1] != len(signals):
        raise DPSGDError(
            Message(
                "shadows and is_in need a row a shadow model and a column a record, as "
                "many as target has; they have shapes {shape} and {member_shape}.",
                shape=Shape(models.shape),
                member_shape=Shape(member.shape),
            )
        )
    if not np.isin(member, (0, 1)).all():
        raise DPSGDError(Message("is_in says 0 or 1, or False or True."))
    return signals, models, member.astype(np.bool_)


def _finite(values: ArrayLike, name: str, *, dimensions: int | None = 1) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DPSGDError(Message("{name} must be numbers.", name=Name(name))) from None
    if (
        array.ndim != (dimensions or array.ndim)
        or not array.size
        or not np.isfinite(array).all()
    ):
        raise DPSGDError(
            Message(
                "{name} must be finite numbers, {shapes}.",
                name=Name(name),
                shapes=_SHAPES[dimensions],
            ),
            hint=Message("a model whose loss is NaN or infinite has diverged"),
        )
    return array
