"""Optimizers of Opacus whose noise, batches and steps are those of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping, DPPerLayerOptimizer

from dpsgd.errors import DPSGDError, TrainingDataError
from footing.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from dpsgd.opacus.run import PlannedRun


class _Planned(DPOptimizer):  # type: ignore[misc]
    """What all kinds share."""

    def __init__(
        self, optimizer: torch.optim.Optimizer, *, run: PlannedRun, **settings: Any
    ) -> None:
        super().__init__(optimizer, **settings)
        self.run = run
        run.forget = self.forget

    def forget(self) -> None:
        """Begin a batch without what is left of another: a record counts once."""
        self._step_skip_queue.clear()
        self._is_last_step_skipped = False
        self.zero_grad(set_to_none=True)

    def step(self, closure: Callable[[], Any] | None = None) -> None:
        """Take a step of the plan, or add a piece of a batch up."""
        if closure is not None:
            with torch.enable_grad():
                closure()
        if self.pre_step():
            run = self.run
            run.guard.apply(self.original_optimizer.step)
            run.guard.note()
            if run.steps_taken == run.plan.steps:
                run.guard.end()
            for parameter in self.params:
                parameter.summed_grad = None

    def pre_step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Refuse what is beside the plan; then clip, add noise and count the step."""
        self.run.guard.check()
        self._require_settings()
        return super().pre_step(closure)

    def _require_settings(self) -> None:
        self.run.require_settings(
            noise_multiplier=self.noise_multiplier, max_grad_norm=self.max_grad_norm
        )

    def add_noise(self) -> None:
        """Add the noise of the plan, from generators that the operating system keys."""
        run, parameters = self.run, self.params
        run.require_step()
        sizes = [parameter.numel() for parameter in parameters]
        scale = run.plan.noise_multiplier * run.plan.clipping_norm
        noise = torch.from_numpy(run.randomness.noise(sum(sizes))).mul_(scale)
        for parameter, part in zip(parameters, noise.split(sizes), strict=True):
            total = parameter.summed_grad.view_as(parameter)
            parameter.grad = total + part.view_as(parameter).to(total)


class _LeavingOut(_Planned):
    """Optimizers that have the gradient of each record at hand."""

    def clip_and_accumulate(self) -> None:
        """Clip and add up, without records whose gradient is not finite."""
        samples = self.grad_samples
        rows = len(samples[0])
        if self.run.due and self.run.due[0] == 0:
            for sample in samples:  # a record made up for an empty batch
                sample.zero_()
            rows = 0
        elif rows and not _is_finite(samples).all():
            is_wrong = ~_is_finite(samples)
            self.run.left_out += int(is_wrong.sum())
            for sample in samples:
                sample[is_wrong] = 0
        self.run.rows += rows
        super().clip_and_accumulate()


class PlannedOptimizer(_LeavingOut):
    """Flat clipping of the gradients of records, by hooks or functorch."""


class PlannedPerLayerOptimizer(_LeavingOut, DPPerLayerOptimizer):  # type: ignore[misc]
    """A norm for each parameter; together they are as long as the plan's."""


class PlannedGhostOptimizer(
    _Planned,
    DPOptimizerFastGradientClipping,  # type: ignore[misc]
):
    """Ghost clipping: gradients of records are never there, and cannot be left out."""

    def __init__(self, optimizer: torch.optim.Optimizer, **settings: Any) -> None:
        super().__init__(optimizer, **settings)
        self._clipped: list[tuple[Tensor | None, int]] = []

    def expect(self, rows: int) -> None:
        """Take the gradients as they are for the clipped sum of some records."""
        self.run.rows += rows
        self._clipped = self._gradients()

    def _gradients(self) -> list[tuple[Tensor | None, int]]:
        gradients = [parameter.grad for parameter in self.params]
        return [(g, -1 if g is None else g._version) for g in gradients]  # noqa: SLF001

    def accumulate(self) -> None:
        """Add the clipped sum up, which nothing may have touched."""
        pairs = zip(self._clipped, self._gradients(), strict=False)
        if not self._clipped or any(a[0] is not b[0] or a[1] != b[1] for a, b in pairs):
            raise DPSGDError(
                Message("The gradients are not those of the criterion that make_private gave."),
                hint=Message(
                    "loss = criterion(model(inputs), targets); loss.backward(); "
                    "optimizer.step(), and no other backward in between"
                ),
            )
        self._clipped = []
        super().accumulate()
        if not all(bool(p.summed_grad.isfinite().all()) for p in self.params):
            raise TrainingDataError(
                Message(
                    "The gradient of a record is not finite, and ghost clipping cannot leave "
                    "it out."
                ),
                hint=Message("grad_sample_mode='hooks' leaves such records out; or clean them"),
            )

    def add_noise(self) -> None:
        """Add the noise of the plan."""
        _Planned.add_noise(self)


class GhostCriterion:
    """A criterion of ghost clipping whose backward tells the optimizer what it has done."""

    def __init__(self, criterion: Any, optimizer: PlannedGhostOptimizer) -> None:
        self.criterion, self.optimizer = criterion, optimizer

    def __call__(self, *values: Any, **more: Any) -> GhostLoss:
        """Return the loss of a batch, or of a piece of one."""
        return GhostLoss(self.criterion(*values, **more), self.optimizer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.criterion, name)


class GhostLoss:
    """A loss of ghost clipping, which can be scaled, added and shown as Opacus' own."""

    def __init__(self, loss: Any, optimizer: PlannedGhostOptimizer) -> None:
        self._loss, self._optimizer = loss, optimizer

    def backward(self) -> None:
        """Give the parameters the clipped sum of gradients."""
        self._loss.backward()
        self._optimizer.expect(len(self._loss.loss_per_sample))

    def _with(self, loss: Any) -> GhostLoss:
        return GhostLoss(loss, self._optimizer)

    def __mul__(self, other: float) -> GhostLoss:
        return self._with(self._loss * other)

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> GhostLoss:
        return self._with(self._loss / other)

    def __add__(self, other: Any) -> GhostLoss:
        return self._with(self._loss + (other._loss if isinstance(other, GhostLoss) else other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> GhostLoss:
        return self._with(self._loss - (other._loss if isinstance(other, GhostLoss) else other))

    def __neg__(self) -> GhostLoss:
        return self._with(-self._loss)

    def __float__(self) -> float:
        return float(self._loss.item())

    def __format__(self, form: str) -> str:
        return format(float(self), form)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loss, name)


def _is_finite(samples: list[Tensor]) -> Tensor:
    """Return for each record whether its gradient is finite."""
    sums = torch.stack([sample.reshape(len(sample), -1).sum(1) for sample in samples])
    return sums.isfinite().all(0)
