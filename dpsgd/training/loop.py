"""A loop that exists, made private: its loader and its criterion change."""

from __future__ import annotations

import copy
import math
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dpsgd.errors import DPSGDError
from dpsgd.training.callbacks import Callbacks
from dpsgd.training.guard import check_criterion
from dpsgd.training.records import Records
from dpsgd.training.sampler import check_size
from dpsgd.training.training import PrivateTraining
from footing.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import nn
    from torch.optim import Optimizer

    from dpsgd.plan import Plan

_WHOLE = 2**62  # rows in one piece


class _Loss:
    """The losses of a piece of a batch: for `backward`, weighed and added, never shown."""

    def __init__(self, training: PrivateTraining, losses: Tensor, *, pieces: int) -> None:
        self._training, self._losses, self._pieces = training, losses, pieces

    def __repr__(self) -> str:
        return "Loss(…)"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise no_number()

    @classmethod
    def __torch_function__(cls, *_: Any) -> Any:
        raise no_number()

    def __format__(self, form: str) -> str:
        return repr(self)  # whatever the form: a number would be a statistic without noise

    def backward(self, *_: Any, **__: Any) -> None:
        self._training.accumulate(self._losses)

    def detach(self) -> _Loss:
        return self._with(self._losses.detach())

    def clone(self) -> _Loss:
        return self

    cpu = mean = sum = clone  # what loops write of a single number

    def to(self, *_: Any, **__: Any) -> _Loss:
        return self

    def __mul__(self, number: float) -> _Loss:
        return self._with(self._losses * _plain(number))

    __rmul__ = __mul__

    def __neg__(self) -> _Loss:
        return self._with(-self._losses)

    def __add__(self, other: Any) -> _Loss:
        if isinstance(other, _Loss):
            if len(other._losses) != len(self._losses):
                is_shown = not (self._losses.requires_grad and other._losses.requires_grad)
                if not is_shown:
                    raise DPSGDError(
                        Message("Losses of two passes cannot be added: each has its records."),
                        hint=Message("call backward for each piece"),
                    )
                return self
            return self._with(self._losses + other._losses)
        _plain(other)  # a constant moves nothing
        return self

    __radd__ = __add__

    def __sub__(self, other: Any) -> _Loss:
        return self + (-other if isinstance(other, _Loss) else other)

    def __rsub__(self, other: Any) -> _Loss:
        loss: _Loss = -self + other
        return loss

    def __truediv__(self, number: float) -> _Loss:
        if self._losses.requires_grad and number != self._pieces:
            raise DPSGDError(
                Message(
                    "The gradient of each record has its own bound: a loss is divided by the "
                    "number of pieces, {pieces}, or not at all.",
                    pieces=self._pieces,
                ),
                hint=Message(
                    "accumulation=… of privatise is that number; loss * 0.5 weighs a loss"
                ),
            )
        return self  # a step divides by the expected batch

    def item(self, *_: Any) -> float:
        raise no_number()

    __float__ = __int__ = __bool__ = __lt__ = __gt__ = __le__ = __ge__ = __pow__ = item

    def _with(self, losses: Tensor) -> _Loss:
        return _Loss(self._training, losses, pieces=self._pieces)


def no_number() -> DPSGDError:
    """Return what is said where a loop asks for the number of a loss."""
    return DPSGDError(
        Message("The loss of a batch is a statistic without noise."),
        hint=Message("show training.cost() instead, or evaluate on public records"),
    )


class _Backward(torch.autograd.Function):
    """A tensor without a value, of which `backward` adds the gradients of records up."""

    @staticmethod
    def forward(ctx: Any, _: Tensor, loss: _Loss) -> Tensor:
        ctx.loss = loss
        return torch.full((), math.nan)

    @staticmethod
    def backward(ctx: Any, factor: Tensor) -> tuple[Tensor, None]:
        loss: _Loss = ctx.loss
        with torch.enable_grad():
            # What divides by the number of pieces knows nothing of the expected batch.
            (loss * (float(factor) * loss._pieces)).backward()  # noqa: SLF001 (two halves)
        return torch.zeros(()), None


def _plain(number: Any) -> Any:
    """Return a number that no parameter has a part in."""
    if isinstance(number, Tensor) and (number.requires_grad or number.dim()):
        raise DPSGDError(
            Message(
                "A loss of records is weighed by plain numbers, and nothing else is added."
            ),
            hint=Message(
                "weight_decay of the optimizer shrinks parameters; weights of records belong "
                "into the criterion"
            ),
        )
    return number


class _Batches:
    """The batches of one pass at a time, until the plan ends."""

    def __init__(
        self,
        training: PrivateTraining,
        records: Records,
        augment: Callable[[Any], Any] | None,
        accumulation: int | None,
    ) -> None:
        self.training, self._records, self._augment = training, records, augment
        self._left, self._pieces = training.draws(len(records)), accumulation
        self._is_last = False
        training._on_step = self._step  # noqa: SLF001 (two halves of one thing)

    def __len__(self) -> int:
        return math.ceil(1 / self.training.plan.sampling_rate) * (self._pieces or 1)

    def __iter__(self) -> Iterator[Any]:
        training = self.training
        training._check_open()  # noqa: SLF001
        if training.steps_taken >= training.plan.steps:
            training.step()  # says that the plan has ended
        batches = math.ceil(1 / training.plan.sampling_rate)
        for rows in islice(self._left, batches - training.steps_taken % batches):
            before, groups = training.steps_taken, training.optimizer.param_groups
            last = training.piece_count(len(rows), self._pieces)
            cut = training.pieces(
                rows, self._records, augment=self._augment, number=self._pieces
            )
            for number, piece in enumerate(cut, start=1):
                self._is_last = number == last
                rates = [group["lr"] for group in groups]
                yield piece
                if number < last and rates != [group["lr"] for group in groups]:
                    raise DPSGDError(
                        Message("A scheduler was stepped within a batch."),
                        hint=Message(
                            "step it with the optimizer at the last piece, or once a pass; "
                            "or leave "
                            "micro_batch out, so that a batch is one piece"
                        ),
                    )
            if not len(self._records):  # none at all: a run like any other
                training.step()
            if training.steps_taken != before + 1:
                raise DPSGDError(
                    Message("Each batch needs one optimizer.step()."),
                    hint=Message(
                        "call loss.backward() and optimizer.step() for all that comes; with "
                        "steps "
                        "every k pieces, accumulation=k"
                    ),
                )

    def _step(self) -> None:
        if self._is_last:
            self._is_last = False
            self.training.step()


def privatise(
    plan: Plan,
    *,
    model: nn.Module,
    optimizer: Optimizer,
    criterion: nn.Module,
    data: Any,
    micro_batch: int | None = None,
    accumulation: int | None = None,
    augment: Callable[[Any], Any] | None = None,
    average: float = 0.0,
    is_per_layer: bool = False,
    self_test: bool | str | Sequence[Tensor] = True,
    engine: str = "ckm",
    loss_of: Callable[[Callable[..., Tensor], Any], Tensor] | None = None,
    as_tensor: bool = False,
    **bookkeeping: Any,
) -> tuple[Any, Callable[..., Any]]:
    """Turn a loop that exists into a private one: its loader and its criterion change.

    Parameters
    ----------
    plan
        The plan.
    model, optimizer, criterion
        Those of the loop.
    data
        Inputs and targets, a row for each record, as tensors or arrays in a tuple or a
        dictionary; or a Dataset, or a DataLoader of which Dataset and collation are taken.
    micro_batch
        Rows that go through the model at once; None takes each batch whole.
    accumulation
        In how many pieces each batch comes, where the loop steps once in so many.
    augment
        Alters the copies of inputs at random.
    average
        Weight of the past in a moving average of the parameters.
    is_per_layer, self_test, engine
        As for `PrivateTraining`.
    loss_of
        How the loop finds the losses of a batch with the criterion, for the self-test;
        by default ``criterion(model(batch[0]), *batch[1:])``.
    as_tensor
        Give the loss as a tensor that is not a number, for loops that take nothing else: those
        of Lightning and of Hugging Face, which divide it by the number of pieces.
    bookkeeping
        ``ledger``, ``who``, ``what``, ``checkpoint``, ``is_resumed`` and ``progress``, as for
        `DPClassifier.fit`; ``scheduler``, of which the checkpoint keeps the state.

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
            Message("The criterion has no 'reduction'."),
            hint=Message("take one of torch.nn, such as CrossEntropyLoss"),
        )
    check_criterion(criterion)
    records, callbacks = Records(data), Callbacks(**bookkeeping)
    check_size(plan, len(records))
    each = copy.deepcopy(criterion)
    each.reduction = "none"  # type: ignore[assignment]
    training = PrivateTraining(
        plan,
        model=model,
        optimizer=optimizer,
        micro_batch=micro_batch or _WHOLE,
        average=average,
        is_per_layer=is_per_layer,
        self_test=self_test,
        engine=engine,
    )

    def of_records(*values: Tensor) -> Tensor:
        losses = training.losses_of(each, *values)
        return losses.flatten(1).mean(1) if losses.dim() > 1 else losses

    def private(*values: Tensor) -> Any:
        loss = _Loss(training, of_records(*values), pieces=accumulation or 1)
        if not as_tensor:
            return loss
        return _Backward.apply(torch.zeros((), requires_grad=True), loss)  # type: ignore[no-untyped-call]

    def usual(criterion: Callable[..., Tensor], batch: Any) -> Tensor:
        return criterion(model(batch[0]), *batch[1:])

    find = loss_of or usual
    try:
        training.check(
            records, losses_of=lambda batch: find(of_records, batch), augment=augment
        )
        callbacks.begin(training, {})
    except BaseException:
        training.close()
        raise
    return _Batches(training, records, augment, accumulation), private
