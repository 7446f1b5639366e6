"""Noisy steps on clipped sums, as many as the plan has, for a loop of one's own."""

from __future__ import annotations

import copy
import math
from itertools import islice
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from dpsgd.errors import BudgetEndedError, DPSGDError, PlanError, TrainingDataError
from dpsgd.training.gradients import RecordGradients
from dpsgd.training.randomness import Randomness
from dpsgd.training.sampler import check_size, draws
from footing.checks import require_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch.optim import Optimizer

    from dpsgd.accounting.cost import Cost
    from dpsgd.plan import Plan

_PRECISIONS = ("float32", "bfloat16")
_MICRO_BATCH = 2048
_MICRO_BATCH_OF_IMAGES = 256


class PrivateTraining:
    """A model, its optimizer and the plan, joined for the length of a run.

    The optimizer sees noisy sums and nothing else, so that any of the first order will do.

    Parameters
    ----------
    plan
        The plan.
    model, optimizer
        What is trained, and how.
    micro_batch
        Rows that go through the model at once; it changes memory, not the result. None takes
        2048, or 256 where there are convolutions.
    average
        Weight of the past in a moving average of the parameters; 0 keeps none. It costs
        nothing.
    precision
        ``"bfloat16"`` lets `run` pass records through the model in 16 bits where that is
        safe. Parameters, norms, sums and noise keep 32.

    Examples
    --------
    >>> import torch
    >>> from dpsgd import Plan
    >>> plan = Plan(
    ...     dataset_size=100, sampling_rate=0.1, steps=5, noise_multiplier=2, delta=1e-3, seed=1
    ... )
    >>> model = torch.nn.Linear(3, 2)
    >>> training = PrivateTraining(
    ...     plan, model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1)
    ... )
    >>> x, y = torch.randn(100, 3), torch.randint(0, 2, (100,))
    >>> training.run(x, y, criterion=torch.nn.CrossEntropyLoss(reduction="none"))
    >>> training.steps_taken, training.cost() == plan.cost()
    (5, True)
    """

    def __init__(
        self,
        plan: Plan,
        *,
        model: nn.Module,
        optimizer: Optimizer,
        micro_batch: int | None = None,
        average: float = 0.0,
        precision: str = "float32",
    ) -> None:
        plan.check_budget()
        _check_optimizer(model, optimizer)
        if hasattr(optimizer.step, "is_private"):
            raise PlanError(
                "The optimizer belongs to another private training.",
                hint="make model and optimizer anew, or end the other: loader.training.close()",
            )
        if micro_batch is None:
            # Few enough rows for what lies between layers to stay near the processor.
            has_images = any(isinstance(m, nn.Conv1d | nn.Conv2d) for m in model.modules())
            usual = _MICRO_BATCH_OF_IMAGES if has_images else _MICRO_BATCH
            micro_batch = max(usual, plan.augmentations)
        if micro_batch < plan.augmentations:
            raise PlanError(
                f"micro_batch must hold all copies of a record, {plan.augmentations}, "
                f"not {micro_batch}."
            )
        require_number(average, "average", error=PlanError, minimum=0, below=1)
        self.plan, self.model, self.optimizer = plan, model, optimizer
        if precision not in _PRECISIONS:
            raise PlanError(
                f"Unknown precision {precision!r}.", hint=f"known: {', '.join(_PRECISIONS)}"
            )
        self.micro_batch, self.average, self.precision = micro_batch, average, precision
        self.steps_taken = 0
        self.clipping_norm = plan.clipping_norm
        self.randomness = Randomness(plan.seed)
        self._books = RecordGradients(model)
        self._sums: dict[str, Tensor] = {}
        self._within = 0.0
        self._rows_due: int | None = None  # of the batch drawn last
        self._rows_seen = 0
        self.averages: dict[str, Tensor] | None = None
        self._is_closed = False
        self._on_step: Callable[[], None] | None = None  # of a loop with a loader
        self._held = vars(optimizer).get("step")  # a scheduler's, that was there before
        self._apply = optimizer.step
        setattr(optimizer, "step", MethodType(_private_step(self), optimizer))  # noqa: B010

    def cost(self) -> Cost:
        """Return what the steps taken so far cost."""
        return self.plan.cost(self.steps_taken)

    def accumulate(self, losses: Tensor) -> None:
        """Add the clipped gradients of some rows to the batch.

        Parameters
        ----------
        losses
            One for each row of the model's last pass.
        """
        found = self._books.clipped_sum(
            losses, norm=self.clipping_norm, copies=self.plan.augmentations
        )
        self._rows_seen += len(losses)
        for name, value in found.gradients.items():
            held = self._sums.get(name)
            self._sums[name] = value if held is None else held.add_(value)
        self._within += float(found.within.sum()) - len(found.within) / 2

    def step(self) -> None:
        """Add noise to the batch, however many records it has, and take one step.

        Raises
        ------
        BudgetEndedError
            If all steps of the plan are taken.
        DPSGDError
            If the rows are not those of the batch that was drawn.
        """
        self._check_open()
        if self.steps_taken >= self.plan.steps:
            raise BudgetEndedError(
                f"All {self.plan.steps} steps of the plan are taken.",
                hint="keep the model as it is, or make a new plan and charge it anew",
            )
        if self._rows_seen != (self._rows_due or 0):
            raise DPSGDError(
                "A step takes the batch that the plan drew, whole and once.",
                hint="take batches from training.draws and training.pieces, or from the loader",
            )
        self.steps_taken += 1  # first, so that no failure can hide a step
        self._set_gradients()
        self._adapt()
        self._forget()
        self._apply()
        self._keep_average()

    def run(
        self,
        *data: Tensor,
        criterion: Callable[..., Tensor],
        augment: Callable[[Tensor], Tensor] | None = None,
        until: int | None = None,
    ) -> None:
        """Take the steps of the plan.

        Parameters
        ----------
        data
            Inputs and targets, a row for each record.
        criterion
            Gives a loss for each row of outputs and targets.
        augment
            Alters the copies of inputs at random.
        until
            Stop at this many steps; None for all.
        """
        self.model.train()
        device = next(self.model.parameters()).device.type
        is_short = self.precision == "bfloat16"
        last = self.plan.steps if until is None else min(until, self.plan.steps)
        for rows in self.draws(len(data[0]), until=last):
            for batch in self.pieces(rows, *data, augment=augment):
                with torch.autocast(device, dtype=torch.bfloat16, enabled=is_short):
                    losses = losses_of(criterion, self.model(batch[0]), *batch[1:])
                self.accumulate(losses)
            self.step()

    def draws(self, size: int, *, until: int | None = None) -> Iterator[Any]:
        """Yield the records of each batch that is still to come.

        Parameters
        ----------
        size
            Number of records.
        until
            Stop at this many steps; None for all.
        """
        last = self.plan.steps if until is None else until
        coins = self.randomness.coins
        left = draws(self.plan, size=size, coins=coins, done=self.steps_taken)
        for rows in islice(left, max(0, last - self.steps_taken)):
            self._forget()  # what a loop that broke off left behind
            self._rows_due = len(rows) * self.plan.augmentations
            yield rows

    def _check_open(self) -> None:
        if self._is_closed:
            raise DPSGDError(
                "This training was closed.", hint="make model, optimizer and training anew"
            )

    def _forget(self) -> None:
        self._sums, self._within = {}, 0.0
        self._rows_due, self._rows_seen = None, 0

    def pieces(
        self, rows: Any, *data: Tensor, augment: Callable[[Tensor], Tensor] | None = None
    ) -> Iterator[tuple[Tensor, ...]]:
        """Yield the rows of a batch in pieces that fit into memory.

        Parameters
        ----------
        rows
            The records of the batch.
        data
            Inputs and targets.
        augment
            Alters the copies of inputs at random.
        """
        copies = self.plan.augmentations
        if copies > 1 and augment is None:
            raise PlanError(
                f"The plan makes {copies} copies of a record.", hint="say how: augment=…"
            )
        device = next(self.model.parameters()).device
        size = self.micro_batch // copies
        for start in range(0, len(rows), size):
            index = torch.from_numpy(np.ascontiguousarray(rows[start : start + size]))
            first, *rest = (v.index_select(0, index.to(v.device)).to(device) for v in data)
            if copies > 1:
                first, *rest = (v.repeat_interleave(copies, 0) for v in (first, *rest))
            yield (augment(first) if augment else first, *rest)

    def use_average(self) -> None:
        """Give the model the moving average of its parameters, for good."""
        if self.averages is None:
            raise DPSGDError("No average was kept.", hint="give average=0.99, for instance")
        with torch.no_grad():
            for name, parameter in self._books.parameters.items():
                parameter.copy_(self.averages[name])

    def close(self) -> None:
        """Give model and optimizer back as they came; what they do then is not private."""
        if self._is_closed:
            return
        self._is_closed = True
        self._books.close()
        if self._held is None:
            vars(self.optimizer).pop("step", None)
        else:
            setattr(self.optimizer, "step", self._held)  # noqa: B010 (its type forbids it)

    def _set_gradients(self) -> None:
        parameters = self._books.parameters
        flat = None
        if self.plan.noise_multiplier:
            scale = self.plan.gradient_noise * self.clipping_norm
            noise = self.randomness.noise(sum(p.numel() for p in parameters.values()))
            flat = torch.from_numpy(noise).mul_(scale)
        start = 0
        for name, parameter in parameters.items():
            total = self._sums.get(name)
            total = torch.zeros_like(parameter) if total is None else total
            if flat is not None:
                part = flat[start : start + parameter.numel()].view_as(parameter)
                total = total.add_(part.to(parameter))
                start += parameter.numel()
            parameter.grad = total.div_(self.plan.expected_batch)

    def _adapt(self) -> None:
        adaptive = self.plan.adaptive
        if adaptive is None:
            return
        noise = adaptive.count_noise if self.plan.noise_multiplier else 0.0
        count = self._within + noise * float(self.randomness.noise(1)[0])
        share = count / self.plan.expected_batch + 0.5
        change = adaptive.rate * (min(2.0, max(-1.0, share)) - adaptive.quantile)
        self.clipping_norm *= math.exp(-change)

    def _keep_average(self) -> None:
        if not self.average:
            return
        now = {n: p.detach() for n, p in self._books.parameters.items()}
        if self.averages is None:
            self.averages = {n: p.clone() for n, p in now.items()}
            return
        for name, value in self.averages.items():
            value.lerp_(now[name], 1 - self.average)


class _Loss:
    """The losses of a piece of a batch: good for `backward` alone."""

    def __init__(self, training: PrivateTraining, losses: Tensor) -> None:
        self._training, self._losses = training, losses

    def __repr__(self) -> str:
        return "Loss(…)"

    def backward(self) -> None:
        self._training.accumulate(self._losses)

    def item(self) -> float:
        raise DPSGDError(
            "The loss of a batch is a statistic without noise.",
            hint="show training.cost() instead, or evaluate on public records",
        )

    __float__ = item


class _Batches:
    """The batches of one pass at a time, until the plan ends."""

    def __init__(
        self,
        training: PrivateTraining,
        data: tuple[Tensor, ...],
        augment: Callable[[Tensor], Tensor] | None,
    ) -> None:
        self.training, self._data, self._augment = training, data, augment
        self._left = training.draws(len(data[0]))
        self._is_last = False
        training._on_step = self._step  # noqa: SLF001 (two halves of one thing)

    def __len__(self) -> int:
        return math.ceil(1 / self.training.plan.sampling_rate)

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        training = self.training
        training._check_open()  # noqa: SLF001
        if training.steps_taken >= training.plan.steps:
            training.step()  # says that the plan has ended
        for rows in islice(self._left, len(self)):
            size = training.micro_batch // training.plan.augmentations
            before, pieces = training.steps_taken, -(-len(rows) // size)
            cut = training.pieces(rows, *self._data, augment=self._augment)
            for number, piece in enumerate(cut, start=1):
                self._is_last = number == pieces
                yield piece
            if not pieces:  # an empty batch is a step like any other
                training.step()
            if training.steps_taken != before + 1:
                raise DPSGDError(
                    "Each batch needs one optimizer.step().",
                    hint="call loss.backward() and optimizer.step() for all that comes",
                )

    def _step(self) -> None:
        if self._is_last:
            self._is_last = False
            self.training.step()


def _private_step(training: PrivateTraining) -> Callable[..., None]:
    """Return what stands in for the step of an optimizer: none is taken beside the plan."""

    def step(_optimizer: Optimizer, closure: Any = None) -> None:
        if closure is not None:
            raise DPSGDError("A closure would read the batch more than once.")
        if training._on_step is None:  # noqa: SLF001 (two halves of one thing)
            raise DPSGDError(
                "The optimizer takes its steps through the plan alone.",
                hint="training.step(), or training.run(…)",
            )
        training._on_step()  # noqa: SLF001

    step.is_private = True  # type: ignore[attr-defined]
    return step


def privatise(
    plan: Plan,
    *,
    model: nn.Module,
    optimizer: Optimizer,
    criterion: nn.Module,
    data: tuple[Tensor, ...],
    micro_batch: int | None = None,
    augment: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Any, Callable[..., Any]]:
    """Turn a loop that exists into a private one: its loader and its criterion change.

    Parameters
    ----------
    plan
        The plan.
    model, optimizer, criterion
        Those of the loop.
    data
        Inputs and targets, a row for each record; the loader is made from them.
    micro_batch
        Rows that go through the model at once.
    augment
        Alters the copies of inputs at random.

    Returns
    -------
    tuple
        The loader, with the `training` behind it, and the criterion. A pass over the loader is
        an epoch.

    Examples
    --------
    >>> import torch
    >>> from dpsgd import Plan
    >>> plan = Plan(
    ...     dataset_size=100, sampling_rate=0.1, steps=20, noise_multiplier=2, delta=1e-3
    ... )
    >>> data = torch.randn(100, 3), torch.randint(0, 2, (100,))
    >>> model, criterion = torch.nn.Linear(3, 2), torch.nn.CrossEntropyLoss()
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> loader, criterion = privatise(
    ...     plan, model=model, optimizer=optimizer, criterion=criterion, data=data
    ... )
    >>> for epoch in range(2):
    ...     for x, y in loader:
    ...         optimizer.zero_grad()
    ...         loss = criterion(model(x), y)
    ...         loss.backward()
    ...         optimizer.step()
    >>> loader.training.steps_taken
    20
    """
    if not hasattr(criterion, "reduction"):
        raise DPSGDError(
            "The criterion has no 'reduction'.",
            hint="take one of torch.nn, such as CrossEntropyLoss",
        )
    check_size(plan, len(data[0]))
    if any(len(values) != len(data[0]) for values in data):
        raise TrainingDataError("Inputs and targets must have a row for each record.")
    each = copy.deepcopy(criterion)
    each.reduction = "none"  # type: ignore[assignment]
    training = PrivateTraining(plan, model=model, optimizer=optimizer, micro_batch=micro_batch)

    def private(*values: Tensor) -> _Loss:
        losses = losses_of(each, *values)
        return _Loss(training, losses.flatten(1).mean(1) if losses.dim() > 1 else losses)

    return _Batches(training, data, augment), private


def losses_of(criterion: Callable[..., Tensor], *values: Tensor) -> Tensor:
    """Return the losses, or an error that does not quote a record's label."""
    try:
        return criterion(*values)
    except IndexError:
        raise TrainingDataError(
            "A label lies outside of the outputs of the model.",
            hint="labels are whole numbers from 0 to the number of outputs less 1",
        ) from None


def _check_optimizer(model: nn.Module, optimizer: Optimizer) -> None:
    if isinstance(optimizer, torch.optim.LBFGS):
        raise PlanError(
            "LBFGS reads a batch more than once a step.", hint="use SGD, Adam or AdamW"
        )
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    own = {id(p) for p in model.parameters()}
    if not held <= own:
        raise PlanError(
            "The optimizer holds parameters of another model.",
            hint="give it model.parameters()",
        )
    trained = {id(p) for p in model.parameters() if p.requires_grad}
    if not trained <= held:
        raise PlanError(
            "The optimizer leaves parameters out that the model would train.",
            hint="freeze them: parameter.requires_grad_(False)",
        )
