"""Runs of a sweep on a table: trained by the plan, scored after each pass on other records."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dpsgd.encoding import column_of, features, targets
from dpsgd.errors import DPSGDError, PlanError
from dpsgd.estimators import DPClassifier
from dpsgd.plan import Plan
from dpsgd.schema import Schema
from footing.checks import require_integer
from footing.messages import Message


class Trials:
    """What `dpsgd.sweeps.sweep.run_sweep` trains, for a table and its schema.

    Parameters
    ----------
    plan
        Gives the plan for entries that replace those of a usual one.
    table, test
        Records to learn from, and others to be scored on: the scores are statistics of those
        without noise.
    schema
        The columns; the target has codes.
    network
        Settings of `DPClassifier`.
    is_seeded
        Draw all chance from the seeds of the sweep, so that it can be repeated.
    """

    def __init__(
        self,
        plan: Callable[..., Plan],
        *,
        table: Any,
        test: Any,
        schema: Schema,
        network: Mapping[str, Any] | None = None,
        is_seeded: bool = False,
    ) -> None:
        self.plan, self.network, self.is_seeded = plan, dict(network or {}), is_seeded
        column: Any = schema.target
        if not hasattr(column, "values"):
            raise PlanError(Message("A sweep needs codes as target, to count right answers."))
        self._data = _tensors(table, schema=schema)
        self._test = _tensors(test, schema=schema)

    def __repr__(self) -> str:
        return "Trials(…)"

    def __call__(
        self,
        choices: Mapping[str, float],
        is_private: bool,  # noqa: FBT001 (run_sweep calls it so)
        seed: int,
    ) -> Iterator[tuple[float, float | None]]:
        """Yield accuracy, and epsilon of a private run, after each pass."""
        if "image_factor" in choices:
            raise DPSGDError(
                Message("A table has no images whose sides could be divided."),
                hint=Message(
                    "make them smaller with dpsgd.trials.pooled, in a sweep in Python"
                ),
            )
        changes = changes_of(choices, is_private=is_private)
        plan = self.plan(**changes, **({"seed": seed} if self.is_seeded else {}))
        network = dict(self.network)
        if "learning_rate" in choices:
            network["learning_rate"] = choices["learning_rate"]
        if "hidden_units" in choices:
            network["hidden"] = [int(choices["hidden_units"])]
        yield from self._epochs(DPClassifier(plan, **network), is_private=is_private)

    def _epochs(
        self, model: DPClassifier, *, is_private: bool
    ) -> Iterator[tuple[float, float | None]]:
        model._check()  # noqa: SLF001
        plan, (x, y) = model.plan, self._data
        training = model._begun(x)  # noqa: SLF001
        model._find_cuts(training, x)  # noqa: SLF001
        each = math.ceil(1 / plan.sampling_rate - 1e-9)
        for stop in (*range(each, plan.steps, each), plan.steps):
            training.run(x, y, criterion=model._losses, until=stop)  # noqa: SLF001
            yield (
                _accuracy(training.model, *self._test),
                plan.cost(stop).epsilon if is_private else None,
            )
        training.close()


def changes_of(choices: Mapping[str, float], *, is_private: bool) -> dict[str, Any]:
    """Return the entries of a plan that the choices of a run replace."""
    own = ("batch_size", "epochs", "clipping_norm", "noise_multiplier")
    changes: dict[str, Any] = {name: choices[name] for name in own if name in choices}
    for name in {"batch_size", "epochs"} & changes.keys():
        changes[name] = int(changes[name])
    for name, other in (("epochs", "steps"), ("noise_multiplier", "epsilon")):
        if name in changes:
            changes[other] = None
    if not is_private:
        changes |= {"noise_multiplier": 0.0, "clipping_norm": math.inf, "epsilon": None}
    return changes


def pooled(images: NDArray[Any], factor: int) -> NDArray[np.float32]:
    """Return images with their sides divided: each number is the mean of a square.

    Parameters
    ----------
    images
        Records, rows, columns; and channels, if any.
    factor
        By what to divide. Rows and columns that are left over are cut off.

    Examples
    --------
    >>> pooled(np.arange(16).reshape(1, 4, 4), 2)
    array([[[ 2.5,  4.5],
            [10.5, 12.5]]], dtype=float32)
    """
    size, rows, columns, *rest = np.shape(images)
    require_integer(factor, "factor", error=DPSGDError, minimum=1, maximum=min(rows, columns))
    high, wide = rows // factor, columns // factor
    core = np.asarray(images, dtype=np.float32)[:, : high * factor, : wide * factor]
    means: NDArray[np.float32] = core.reshape(size, high, factor, wide, factor, *rest).mean(
        (2, 4)
    )
    return means


def _tensors(table: Any, *, schema: Schema) -> tuple[Tensor, Tensor]:
    labels = targets(column_of(table, schema.target.name), column=schema.target)
    return torch.from_numpy(features(table, schema=schema)), torch.from_numpy(labels)


def _accuracy(network: torch.nn.Module, x: Tensor, y: Tensor) -> float:
    network.eval()
    with torch.no_grad():
        right: Sequence[Tensor] = [
            (network(a).argmax(1) == b).float().sum()
            for a, b in zip(x.split(4096), y.split(4096), strict=True)
        ]
    return float(sum(float(count) for count in right) / max(1, len(y)))
