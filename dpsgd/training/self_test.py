"""A test before the first step, on random records: each must count for itself alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from dpsgd.errors import DPSGDError, UnsupportedLayerError
from dpsgd.training.gradients import RecordGradients, check_losses
from dpsgd.training.records import mapped
from footing.messages import Message, Name, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

#: Records that the test takes: three, and one in place of the first and of the last each.
ROWS = 5
_EQUAL, _CLOSE = 1e-6, 1e-3


class _BytesWritten(TorchDispatchMode):
    """Counts the bytes that operations write."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.size = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        output = func(*args, **kwargs or {})
        if not getattr(func, "is_view", False):
            self.size += sum(v.nbytes for v in tree_leaves(output) if isinstance(v, Tensor))
        return output


# claim dpsgd-self-test
def self_test(
    record_gradients: RecordGradients,
    losses_of: Callable[[Any], Tensor],
    rows: Any,
    *,
    second: Callable[[], RecordGradients] | None = None,
) -> float:
    """Refuse a model or a criterion that does not treat each record by itself.

    Parameters
    ----------
    record_gradients
        The gradients that training will use.
    losses_of
        Gives the losses of a batch.
    rows
        As many records as `ROWS`, made up or public.
    second
        Makes other gradients, which must be the same.

    Returns
    -------
    float
        The bytes that are written for a record, on the way forward and back.
    """
    model = record_gradients.model
    device = next(iter(record_gradients.parameters.values())).device
    state = _kept_values(model)

    def passed(*order: int, seed: int = 1) -> Tensor:
        # For all devices it writes down where it was called, which takes longer than a pass.
        (torch.default_generator if device.type == "cpu" else torch).manual_seed(seed)
        index = torch.tensor(order, device=device)
        losses = losses_of(mapped(lambda v: v.index_select(0, index), rows))
        check_losses(losses, rows=len(order))
        return losses

    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        try:
            with record_gradients.unwatched():
                _check_apart(passed)
                _check_number(model, passed)
                reference, norm = _one_by_one(record_gradients, passed)
            of_two, of_all = _BytesWritten(), _BytesWritten()
            with of_two, record_gradients.as_one():
                sums = record_gradients.clipped_sum(passed(0, 1), norm=norm, copies=1).gradients
            with of_all:
                record_gradients.clipped_sum(passed(*range(ROWS)), norm=norm, copies=1)
        except DPSGDError:
            raise
        except Exception as error:
            raise UnsupportedLayerError(
                Message(
                    "Records of the data's shape, made up for a test, do not pass through "
                    "model and criterion: {name}.",
                    name=Shape(type(error)),
                ),
                hint=Message(
                    "loss_of=… of privatise says how a loop calls the model; "
                    "self_test=(inputs, targets) gives public records; after self_test=False "
                    "the privacy card says that nothing was tried"
                ),
            ) from error
    _check_state(state, _kept_values(model))
    _check_gradients(sums, reference, most=norm)
    if second is not None:
        with record_gradients.unwatched():
            _check_second(second, lambda: passed(0, 1), norm, sums)
    return (of_all.size - of_two.size) / (ROWS - 2)


def model_test(model: nn.Module, rows: Any) -> bool:
    """Refuse a model that mixes records or keeps something of a pass; False if none pass.

    The loss is not tried: how a loop works it out is not known here.
    """
    device = next(model.parameters()).device
    state = _kept_values(model)

    def passed(*order: int, seed: int = 1) -> Tensor:
        (torch.default_generator if device.type == "cpu" else torch).manual_seed(seed)
        index = torch.tensor(order, device=device)
        batch = mapped(lambda v: v.index_select(0, index), rows)
        outputs = model(**batch) if isinstance(batch, dict) else model(batch)
        if not isinstance(outputs, Tensor) or not outputs.dim() or len(outputs) != len(order):
            raise TypeError
        return outputs

    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        try:
            _check_apart(passed)
            _check_number(model, passed)
        except DPSGDError:
            raise
        except Exception:  # noqa: BLE001 (made-up records pass through few models)
            return False
    _check_state(state, _kept_values(model))
    return True


def _check_apart(passed: Callable[..., Tensor]) -> None:
    """Refuse losses that depend on other records, on their number, or on an earlier pass."""
    with torch.no_grad():
        losses = passed(0, 1, 2)
        if not _same(losses, passed(0, 1, 2)):
            raise UnsupportedLayerError(
                Message(
                    "The same records give other losses at a second pass: something is kept "
                    "from pass to pass, or chance is not drawn from torch."
                ),
                hint=Message("start each pass anew, and draw from torch.rand"),
            )
        if not _same(losses[1:], passed(3, 1, 2)[1:]) or not _same(
            losses[:2], passed(0, 1, 4)[:2]
        ):
            raise UnsupportedLayerError(
                Message(
                    "The loss of a record changes with another record: model or criterion mix "
                    "the records of a batch, and clipping would not bound what one of them "
                    "does."
                ),
                hint=Message(
                    "means over the first axis, contrastive losses and outputs of another "
                    "shape than targets mix; take what reads each record alone"
                ),
            )


def _check_number(model: nn.Module, passed: Callable[..., Tensor]) -> None:
    """Refuse losses that depend on how many records there are; without the chance of layers."""
    modes = [(layer, layer.training) for layer in model.modules()]
    model.eval()
    with torch.no_grad():
        three, two, again = passed(0, 1, 2), passed(0, 1), passed(0, 1, 2, seed=2)
    for layer, mode in modes:
        layer.training = mode
    if _same(three, again) and not _same(three[:2], two, far=_CLOSE):
        raise UnsupportedLayerError(
            Message("The loss of a record depends on how many others there are."),
            hint=Message("leave the division to the plan, and take reduction='none'"),
        )


def _one_by_one(
    record_gradients: RecordGradients, passed: Callable[..., Tensor]
) -> tuple[dict[str, Tensor], float]:
    """Return the clipped sum over two records by plain autograd, one clipped and one not."""
    each, lengths = [], []
    for row in range(2):
        gradients = torch.autograd.grad(
            passed(0, 1)[row], [*record_gradients.parameters.values()], materialize_grads=True
        )
        length = math.sqrt(sum(float(g.double().square().sum()) for g in gradients))
        is_finite = math.isfinite(length)  # what is not contributes nothing
        lengths.append(length if is_finite else 0.0)
        each.append(gradients if is_finite else [*map(torch.zeros_like, gradients)])
    norm = math.sqrt(lengths[0] * lengths[1]) or max(*lengths) or 1.0
    weights = [min(1.0, norm / length) if length else 0.0 for length in lengths]
    sums = (a * weights[0] + b * weights[1] for a, b in zip(*each, strict=True))
    return dict(zip(record_gradients.parameters, sums, strict=True)), norm


def _check_gradients(
    gradients: dict[str, Tensor], reference: dict[str, Tensor], *, most: float
) -> None:
    wrong = [
        name
        for name, sums in reference.items()
        if not float((gradients.get(name, torch.zeros_like(sums)) - sums).norm())
        <= _CLOSE * (float(sums.norm()) + 0.1 * most)
    ]
    if wrong:
        raise UnsupportedLayerError(
            Message(
                "The gradients of records for {wrong!r} are not those of the losses.",
                wrong=Name.each(wrong[:3]),
            ),
            hint=Message(
                "use a parameter through its layer alone, without F.linear beside it, or "
                "engine='one-by-one', which passes each record by itself; in both what uses "
                "parameters belongs into the model's forward"
            ),
        )


def _kept_values(model: nn.Module) -> dict[str, Any]:
    """Return what no pass may change: values of buffers, counts of writes to parameters."""
    buffers = {name: value.detach().clone() for name, value in model.named_buffers()}
    return buffers | {n: p._version for n, p in model.named_parameters()}  # noqa: SLF001


def _check_second(
    make: Callable[[], RecordGradients],
    losses: Callable[[], Tensor],
    norm: float,
    sums: dict[str, Tensor],
) -> None:
    """Refuse gradients that another engine does not find."""
    other = make()
    try:
        opinion = other.clipped_sum(losses(), norm=norm, copies=1).gradients
    finally:
        other.close()
    _check_gradients(opinion, sums, most=norm)


def _check_state(before: dict[str, Any], after: dict[str, Any]) -> None:
    for name, value in before.items():
        now = after.get(name)
        is_kept = _same(value, now) if isinstance(value, Tensor) else value == now
        if not is_kept:
            raise UnsupportedLayerError(
                Message(
                    "A pass changes {name!r}: what it keeps of the records has no noise.",
                    name=Name(name),
                ),
                hint=Message(
                    "set track_running_stats=False, max_norm=None or momentum=0; or work it "
                    "out before, on public records"
                ),
            )


def _same(one: Tensor, other: Any, *, far: float = _EQUAL) -> bool:
    if not isinstance(other, Tensor) or one.shape != other.shape:
        return False
    one, other = one.double(), other.double()
    scale = float(one.nan_to_num(posinf=1.0, neginf=1.0).abs().max()) if one.numel() else 0.0
    return torch.allclose(one, other, rtol=0, atol=far * scale, equal_nan=True)
