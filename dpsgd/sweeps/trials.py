"""Runs of a sweep: trained by the plan, scored after each pass on other records."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import torch
from torch import Tensor

from dpsgd.encoding import column_of, features, targets
from dpsgd.errors import DPSGDError, PlanError
from dpsgd.estimators import DPClassifier
from dpsgd.features.images import ImageForm
from dpsgd.plan import Plan
from dpsgd.schema import Category, Schema
from footing.messages import Message

_Records: TypeAlias = tuple[Tensor, Tensor]


class Trials:
    """What `dpsgd.sweeps.sweep.run_sweep` trains, for a table and its schema, or for images.

    Parameters
    ----------
    plan
        Gives the plan for entries that replace those of a usual one.
    table, test
        Records to learn from, and others to be scored on: the scores are statistics of those
        without noise. Of images each is a pair: the images, and their classes.
    schema
        The columns; the target has codes. None for images.
    images, classes
        The form of images, and the list of their classes.
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
        schema: Schema | None = None,
        images: ImageForm | None = None,
        classes: Sequence[Any] = (),
        network: Mapping[str, Any] | None = None,
        is_seeded: bool = False,
    ) -> None:
        self.plan, self.network, self.is_seeded = plan, dict(network or {}), is_seeded
        self.images, self.classes = images, tuple(classes)
        self._parts = (table, test)
        self._prepared: dict[int, tuple[_Records, _Records]] = {}
        if schema is not None:
            if not hasattr(schema.target, "values"):
                raise PlanError(
                    Message("A sweep needs codes as target, to count right answers.")
                )
            self._prepared[1] = (
                _tensors(table, schema=schema), _tensors(test, schema=schema),
            )  # fmt: skip

    def __repr__(self) -> str:
        return "Trials(…)"

    def __call__(
        self,
        choices: Mapping[str, float],
        is_private: bool,  # noqa: FBT001 (run_sweep calls it so)
        seed: int,
    ) -> Iterator[tuple[float, float | None]]:
        """Yield accuracy, and epsilon of a private run, after each pass."""
        changes = changes_of(choices, is_private=is_private)
        plan = self.plan(**changes, **({"seed": seed} if self.is_seeded else {}))
        network = dict(self.network)
        if "learning_rate" in choices:
            network["learning_rate"] = choices["learning_rate"]
        if "hidden_units" in choices:
            network["hidden"] = [int(choices["hidden_units"])]
        factor = int(choices.get("image_factor", 1))
        if self.images is not None:
            form = self.images
            if "image_factor" in choices:
                form = replace(form, factor=factor)
            network |= {"images": form, "classes": self.classes}
            records = self._of_images(form)
        elif "image_factor" in choices:
            raise DPSGDError(
                Message("A table has no images whose sides could be divided."),
                hint=Message("sweep a training file with [images]"),
            )
        else:
            records = self._prepared[1]
        yield from self._epochs(DPClassifier(plan, **network), records, is_private=is_private)

    def _of_images(self, form: ImageForm) -> tuple[_Records, _Records]:
        """Return what is read of the images, prepared once for each factor."""
        if form.factor not in self._prepared:
            column = Category(name="class", values=self.classes)
            self._prepared.clear()  # of large images one factor at a time
            train, test = (
                (form.prepared(images), torch.from_numpy(targets(classes, column=column)))
                for images, classes in self._parts
            )
            self._prepared[form.factor] = train, test
        return self._prepared[form.factor]

    def _epochs(
        self, model: DPClassifier, records: tuple[_Records, _Records], *, is_private: bool
    ) -> Iterator[tuple[float, float | None]]:
        model._check()  # noqa: SLF001
        plan, ((x, y), test) = model.plan, records
        training = model._begun(x)  # noqa: SLF001
        model._find_cuts(training, x)  # noqa: SLF001
        each = math.ceil(1 / plan.sampling_rate - 1e-9)
        for stop in (*range(each, plan.steps, each), plan.steps):
            training.run(x, y, criterion=model._losses, until=stop)  # noqa: SLF001
            yield (
                _accuracy(training.model, *test),
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
