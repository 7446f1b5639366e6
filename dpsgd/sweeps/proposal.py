"""Settings proposed from a budget: tried on records that nobody has to pay for.

The noise on a step is known before any record is seen: it follows from budget, batch, passes
and number of parameters. What it leaves room for is found by trials of a linear model on
made-up or public records, with just this noise.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp.accounting.rdp import WIDE_ORDERS, RenyiCurve
from dpsgd.accounting.choosing import best_of_random
from dpsgd.accounting.cost import Sampling
from dpsgd.encoding import features
from dpsgd.errors import PlanError
from dpsgd.plan import Plan
from dpsgd.schema import Category, Number, Schema
from footing.arrays import Floats
from footing.messages import Message

_PASSES = (20.0, 5.0, 60.0)  # the usual ones first
_RATES = tuple(2.0**power for power in (-3.0, -1.5, 0.0, 1.5, 3.0, 4.5, 6.0, 7.5))
_CLIPPINGS = (0.25, 4.0)  # times that of the plan
_LEAST_STEPS, _MOST_STEPS = 30, 3000
_SMALL_RATE = 1 / 64  # a batch below this share of the records is not tried
_BATCHES = 32  # in a pass, where the batch is proposed
_MADE_UP, _HELD_OUT = 3000, 1500
_DIRECTIONS = 30  # of the records, that their classes depend on
_LOGIT = 3.0
_FEATURES = 400  # of made-up records that stand for more
_MANY = 20_000
_FAR, _GAIN = 3.5, 0.01  # in the rate, and in accuracy
_TRIALS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting that was tried, and the share of held-out records it classified rightly.

    Parameters
    ----------
    plan
        With batch, steps, clipping norm and the noise that keeps the budget.
    learning_rate, average
        Of the descent.
    accuracy
        On records that were not trained on, made up or public.
    """

    plan: Plan
    learning_rate: float
    average: float
    accuracy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The best of the settings tried, and beside it the one that was planned.

    Parameters
    ----------
    best, planned
        Settings with their accuracies.
    trials
        How many were tried.
    epsilon_of_trials
        What as many as ten trials on the confidential records, their number drawn at random,
        would cost: the best of them in place of the proposal. None where it is not known.
    """

    best: Setting
    planned: Setting
    trials: int
    epsilon_of_trials: float | None

    @property
    def is_far(self) -> bool:
        """Whether what was planned is far from the proposal, and worse by a point or more."""
        ratio = self.best.learning_rate / self.planned.learning_rate
        steps = self.best.plan.steps / self.planned.plan.steps
        is_other = max(ratio, 1 / ratio, steps, 1 / steps) > _FAR
        return is_other and self.best.accuracy > self.planned.accuracy + _GAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecords:
    """Records to try settings on, with their classes as numbers from 0.

    Parameters
    ----------
    x, y
        To learn from.
    x_test, y_test
        To be scored on.
    classes
        How many there are.
    inputs
        How many numbers the records of the plan have, where these have fewer. One of them is
        the same for all: of a table that which is encoded, of others a bias.
    """

    x: NDArray[np.float32]
    y: NDArray[Any]
    x_test: NDArray[np.float32]
    y_test: NDArray[Any]
    classes: int
    inputs: int


def propose(
    plan: Plan,
    *,
    records: TrialRecords,
    learning_rate: float = 1.0,
    momentum: float = 0.9,
    average: float = 0.0,
    seed: int = 0,
) -> Proposal:
    """Propose passes, clipping norm and learning rate for the budget of a plan.

    Parameters
    ----------
    plan
        Its epsilon, delta, batch, neighbours and number of records count; its noise is made
        anew for each number of passes.
    records
        Made up, as by `made_up_records`, or public: the trials read no others.
    learning_rate, momentum, average
        As planned.
    seed
        Of the trials.

    Notes
    -----
    A step of a private linear model is the mean of clipped gradients and noise of standard
    deviation ``C z / B`` in each of ``p`` parameters. A trial takes such steps with the ``C z
    / B`` of the plan, on as large a share of fewer records; where it has fewer parameters, with
    noise of the same length, ``sqrt(p)`` times as much. Rates are tried in steps of ``2 **
    1.5`` at 20 passes, then those around the best at 5 and 60 passes, then the best with a
    quarter and four times the clipping norm, at the same length of a clipped step. That only
    the rate times the clipping norm matters once most gradients are clipped: De et al. 2022,
    section 3; that longer training with more noise gains: the same, section 4.
    """
    budget = plan.epsilon if plan.epsilon is not None else plan.cost().epsilon
    if not 0 < budget < math.inf or math.isinf(plan.clipping_norm):
        raise PlanError(
            Message("Settings are proposed for a budget: the plan has no noise."),
            hint=Message("give an epsilon"),
        )
    trials = _Trials(plan, budget, records, momentum=momentum, seed=seed)
    usual, *others = _PASSES
    several = [trials.tried(usual, rate) for rate in _RATES]
    best = max(several, key=_accuracy)
    near = [best.learning_rate * 2**power for power in (-1.5, 0.0, 1.5)]
    several += [trials.tried(passes, rate) for passes in others for rate in near]
    best = max(several, key=_accuracy)
    several += [trials.clipped(best, factor) for factor in _CLIPPINGS]
    best = max(several, key=_accuracy)
    planned = trials.at(plan, learning_rate, average)
    return Proposal(
        best=best,
        planned=planned,
        trials=len(several),
        epsilon_of_trials=_epsilon_of_trials(best.plan),
    )


def better_rate(
    plan: Plan,
    *,
    records: TrialRecords,
    learning_rate: float,
    momentum: float = 0.9,
    average: float = 0.0,
    seed: int = 0,
) -> Setting | None:
    """Return a setting with a far better learning rate, all else as planned, if there is one.

    It takes a moment: the noise is known, and only rates are tried. See `propose`.
    """
    if not plan.noise_multiplier:
        return None
    trials = _Trials(plan, 0.0, records, momentum=momentum, seed=seed)
    planned = trials.at(plan, learning_rate, average)
    best = max((trials.at(plan, rate, average) for rate in _RATES), key=_accuracy)
    ratio = best.learning_rate / learning_rate
    is_far = max(ratio, 1 / ratio) > _FAR
    return best if is_far and best.accuracy > planned.accuracy + _GAIN else None


def _accuracy(setting: Setting) -> float:
    return setting.accuracy


class _Trials:
    """Trainings of a linear model with the noise of a plan."""

    def __init__(
        self, plan: Plan, budget: float, records: TrialRecords, *, momentum: float, seed: int
    ) -> None:
        self.plan, self.budget, self.records = plan, budget, records
        self.momentum, self.seed = momentum, seed
        self.plans: dict[float, Plan] = {}

    def tried(self, passes: float, learning_rate: float) -> Setting:
        """Return what a number of passes and a rate come to."""
        if passes not in self.plans:
            self.plans[passes] = self._planned(passes)
        plan = self.plans[passes]
        return self.at(plan, learning_rate, _average(plan.steps))

    def clipped(self, setting: Setting, factor: float) -> Setting:
        """Return a setting with another clipping norm, at the same length of a clipped step."""
        plan = replace(setting.plan, clipping_norm=setting.plan.clipping_norm * factor)
        return self.at(plan, setting.learning_rate / factor, setting.average)

    def at(self, plan: Plan, learning_rate: float, average: float) -> Setting:
        """Train, and return the setting with its accuracy."""
        weights = self._weights(plan, learning_rate, average)
        outputs = self.records.x_test @ weights
        accuracy = float((outputs.argmax(1) == self.records.y_test).mean())
        return Setting(
            plan=plan, learning_rate=learning_rate, average=average, accuracy=accuracy
        )

    def _planned(self, passes: float) -> Plan:
        plan = self.plan
        size, batch = plan.dataset_size, round(plan.expected_batch)
        if plan.sampling_rate < _SMALL_RATE:
            batch = math.ceil(size / _BATCHES)
        steps = max(_LEAST_STEPS, math.ceil(passes * size / batch))
        return Plan.for_budget(
            self.budget,
            delta=plan.delta,
            dataset_size=size,
            batch_size=batch,
            steps=min(steps, _MOST_STEPS),
            clipping_norm=plan.clipping_norm,
            sampling=plan.sampling,
            adjacency=plan.adjacency,
            unit=plan.unit,
            schema=plan.schema,
        )

    def _weights(self, plan: Plan, learning_rate: float, average: float) -> NDArray[np.float32]:
        records, norm = self.records, np.float32(plan.clipping_norm)
        rng = np.random.default_rng(self.seed)
        x, classes = records.x, np.eye(records.classes, dtype=np.float32)[records.y]
        lengths = np.linalg.norm(x, axis=1)
        weights = np.zeros((x.shape[1], records.classes), np.float32)
        speed, mean, share = np.zeros_like(weights), np.zeros_like(weights), 0.0
        batch = max(1, round(plan.sampling_rate * len(x)))
        # As long as the noise of the plan, in fewer parameters or as many.
        scale = norm * plan.noise_multiplier / plan.expected_batch
        scale *= math.sqrt(records.inputs / x.shape[1])
        for _ in range(min(plan.steps, _MOST_STEPS)):
            rows = rng.integers(0, len(x), batch)
            errors = _softmax(x[rows] @ weights) - classes[rows]
            norms = np.linalg.norm(errors, axis=1) * lengths[rows]
            errors *= np.minimum(1, norm / np.maximum(norms, 1e-9))[:, None]
            noise = rng.standard_normal(weights.shape, dtype=np.float32) * np.float32(scale)
            speed = self.momentum * speed + x[rows].T @ errors / batch + noise
            weights = weights - learning_rate * speed
            mean = average * mean + (1 - average) * weights
            share = average * share + 1 - average
        result: NDArray[np.float32] = np.nan_to_num(mean / share).astype(np.float32)
        return result


def _average(steps: int) -> float:
    """Return the weight of the past that averages about the last fifth of the steps."""
    return round(min(0.99, max(0.9, 1 - 5 / steps)), 3)


def _softmax(outputs: NDArray[np.float32]) -> NDArray[np.float32]:
    powers = np.exp(np.clip(outputs - outputs.max(1, keepdims=True), -80, 0))
    shares: NDArray[np.float32] = powers / powers.sum(1, keepdims=True)
    return shares


def _with_one(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.concatenate([x, np.ones((len(x), 1), np.float32)], 1)


def _epsilon_of_trials(plan: Plan) -> float | None:
    if plan.sampling != Sampling.POISSON or plan.adjacency == "replace":
        return None
    step = RenyiCurve.subsampled_gaussian(
        sampling_rate=plan.sampling_rate,
        noise_multiplier=plan.noise_multiplier,
        orders=WIDE_ORDERS,
    )
    curve = best_of_random(step * plan.steps, mean_trials=_TRIALS, shape=0.0)
    epsilon = curve.epsilon(plan.delta).epsilon
    return epsilon if math.isfinite(epsilon) else None


# -------------------------------------------------------------------- records to try on


def made_up_records(
    *, schema: Schema | None = None, inputs: int = 0, classes: int = 0, length: float = 1.0,
    seed: int = 0,
) -> TrialRecords:  # fmt: skip
    """Return made-up records of a schema, or of so many features and classes.

    Values of columns are drawn alike from their bounds and codes, features from a law whose
    directions matter less and less; classes follow from thirty directions of the records by
    chance. Nothing of confidential records is in them.

    Parameters
    ----------
    schema
        The columns, and the target with its codes.
    inputs, classes, length
        In place of a schema: how many features, their classes, and the length of a record.
    seed
        The same records for the same seed.

    Examples
    --------
    >>> records = made_up_records(inputs=12, classes=3)
    >>> records.x.shape, records.classes, records.inputs
    ((3000, 13), 3, 13)
    """
    rng = np.random.default_rng(seed)
    size = _MADE_UP + _HELD_OUT
    if schema is not None:
        target: Any = schema.target
        table = {column.name: _column(column, size, rng) for column in schema.columns}
        rows, classes = features(table, schema=schema), len(target.values)
        x = rows[:, :-1]
    else:
        width = min(inputs, _FEATURES)
        x = (rng.standard_normal((size, width)) / np.sqrt(np.arange(1, width + 1))).astype("f4")
        x *= np.float32(length) / np.linalg.norm(x, axis=1, keepdims=True)
        rows = _with_one(x)
    y = _made_up_classes(x, classes, rng)
    return _parts(rows, y, classes, inputs=max(inputs + 1, rows.shape[1]))


def trial_records(
    x: Any, y: Any, *, classes: int, has_constant: bool = False, seed: int = 0
) -> TrialRecords:
    """Return public records to try settings on, some of them held out.

    Parameters
    ----------
    x, y
        Encoded as the model reads them, and classes as numbers from 0.
    classes
        How many there are.
    has_constant
        Whether one of the numbers is the same for all records, as of a table; others are given
        one, for the bias.
    seed
        Which are held out.
    """
    order = np.random.default_rng(seed).permutation(len(x))[:_MANY]
    rows = np.asarray(x, dtype=np.float32)[order].reshape(len(order), -1)
    rows = rows if has_constant else _with_one(rows)
    return _parts(rows, np.asarray(y)[order], classes, inputs=rows.shape[1])


def _parts(x: NDArray[Any], y: NDArray[Any], classes: int, *, inputs: int) -> TrialRecords:
    cut = 2 * len(x) // 3
    return TrialRecords(
        x=np.ascontiguousarray(x[:cut]),
        y=y[:cut],
        x_test=np.ascontiguousarray(x[cut:]),
        y_test=y[cut:],
        classes=classes,
        inputs=inputs,
    )


def _column(column: Number | Category, size: int, rng: np.random.Generator) -> Sequence[Any]:
    if isinstance(column, Category):
        values = np.array([str(value) for value in column.values], dtype=object)
        drawn: list[Any] = values[rng.integers(0, len(values), size)].tolist()
        return drawn
    numbers: list[Any] = rng.uniform(column.low, column.high, size).tolist()
    return numbers


def _made_up_classes(
    x: NDArray[np.float32], classes: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    centred: Floats = (x - x.mean(0)).astype(np.float64)
    some = centred[: min(len(x), 1000)]
    axes = np.linalg.svd(some, full_matrices=False)[2][:_DIRECTIONS]
    places = centred @ axes.T
    places /= np.maximum(places.std(0), 1e-9)
    logits = places @ rng.standard_normal((len(axes), classes))
    logits *= _LOGIT / logits.std()
    chances = -np.log(-np.log(rng.uniform(1e-12, 1, logits.shape)))  # Gumbel
    return np.asarray((logits + chances).argmax(1))


def with_settings(settings: Setting) -> Iterator[str]:
    """Yield the lines of a training file that say a setting."""
    plan = settings.plan
    yield "[plan]"
    yield f"batch_size = {round(plan.expected_batch)}"
    yield f"steps = {plan.steps}"
    yield f"clipping_norm = {plan.clipping_norm:g}"
    yield "[network]"
    yield f"learning_rate = {settings.learning_rate:.3g}"
    yield f"average = {settings.average:g}"
