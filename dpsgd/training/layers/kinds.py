"""Which layers' gradients follow from products, and how; the others go one record at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._pytree import tree_unflatten

from dpsgd.errors import UnsupportedLayerError
from dpsgd.training.layers.parts import Affine, Part, Product, Rows, Written, is_written
from footing.messages import Message, Shape

#: What went into a layer and the gradient of what came out, at one call.
Call: TypeAlias = "tuple[Any, Tensor]"
#: Makes the gradients of the records in a layer from its calls and the copies of a record.
Maker: TypeAlias = Callable[[Sequence[Call], int], Part]

_NEAR, _ON_CARD = 2**19, 2**27  # numbers that fit near the processor, and on a graphics card
_LONG = 8


def maker_of(layer: nn.Module) -> Maker | None:
    """Return how gradients of a layer's records follow from products, if they do."""
    for kind, make in _KINDS.items():
        if isinstance(layer, kind) and type(layer).forward is kind.forward:
            return None if _is_unusual(layer) else partial(make, layer)
    return None


def _is_unusual(layer: Any) -> bool:
    if isinstance(layer, nn.Conv1d | nn.Conv2d):
        return bool(layer.groups > 1)  # vectorised as fast as by hand
    if isinstance(layer, nn.Embedding | nn.EmbeddingBag):
        is_max = getattr(layer, "mode", "sum") == "max"
        return layer.scale_grad_by_freq or layer.sparse or is_max
    return False


def linear(affine: Affine, calls: Sequence[Call], copies: int) -> Part:
    """Return the gradients of a product with a weight."""
    if len(calls) == 1 and calls[0][0].dim() == 2 and copies == 1:
        return Product(affine, *calls[0])

    def flat(array: Tensor) -> Tensor:
        places = array.shape[1:-1].numel()
        return _by_record(array.reshape(len(array), places, array.shape[-1]), copies)

    inputs = _joined([flat(a) for a, _ in calls])
    return Product(affine, inputs, _joined([flat(g) for _, g in calls]))


def one_by_one(layer: nn.Module, calls: Sequence[Call], copies: int) -> Part:
    """Return gradients that are written out by passing each record again, vectorised."""
    # By all of its names: uses of one parameter are added up where all of them are known.
    own: dict[str, Tensor] = {
        name: parameter
        for name, parameter in layer.named_parameters(recurse=False, remove_duplicate=False)
        if parameter.requires_grad
    }
    total: dict[str, Tensor] = {}
    for (leaves, spec), pull in calls:
        is_row = [isinstance(v, Tensor) and v.shape[:1] == pull.shape[:1] for v in leaves]
        gradient = partial(_of_a_record, layer, own, spec, is_row)
        axes = (0, *(0 if row else None for row in is_row))
        try:
            with torch.no_grad():
                gradients = torch.vmap(gradient, in_dims=axes)(pull, *leaves)
        except RuntimeError as error:
            raise UnsupportedLayerError(
                Message(
                    "A layer of type {name} has no gradient for each record.",
                    name=Shape(type(layer)),
                ),
                hint=Message(
                    "give its parameters to layers of torch.nn, without chance beside them; or "
                    "engine='one-by-one', which passes each record by itself"
                ),
            ) from error
        for name, rows in gradients.items():
            _add(total, name, rows, copies)
    return Written(total)


def _of_a_record(
    layer: nn.Module,
    own: dict[str, Tensor],
    spec: Any,
    is_row: list[bool],
    pull: Tensor,
    *of: Any,
) -> dict[str, Tensor]:
    """Return the gradient of one record, which passes as a batch of one."""
    leaves = [v[None] if row else v for v, row in zip(of, is_row, strict=True)]
    args, kwargs = tree_unflatten(leaves, spec)

    def passed(values: dict[str, Tensor]) -> Tensor:
        output: Tensor = torch.func.functional_call(
            layer, values, args, kwargs, tie_weights=False
        )
        return output[0]

    gradients: dict[str, Tensor] = torch.func.vjp(passed, own)[1](pull)[0]
    return gradients


def _by_record(array: Tensor, copies: int) -> Tensor:
    """Turn (rows, places, width) to (records, places of all copies, width)."""
    return array.reshape(len(array) // copies, copies * array.shape[1], array.shape[2])


def _add(gradients: dict[str, Tensor], name: str, rows: Tensor, copies: int) -> None:
    """Add the gradients of rows to those of their records."""
    if copies > 1:
        rows = rows.unflatten(0, (len(rows) // copies, copies)).sum(1)
    gradients[name] = gradients[name] + rows if name in gradients else rows


def _joined(arrays: Sequence[Tensor]) -> Tensor:
    """Join the places of several calls; the usual single call is not copied."""
    return arrays[0] if len(arrays) == 1 else torch.cat([*arrays], 1)


def _linear(layer: Any, calls: Sequence[Call], copies: int) -> Part:
    return linear(Affine(layer), calls, copies)


def _convolution(layer: Any, calls: Sequence[Call], copies: int) -> Part:
    width, height = layer.weight[0].numel(), layer.out_channels
    if not is_written(calls[0][1][0, 0].numel(), width, height):
        inputs = _joined([_by_record(_patches(layer, a), copies) for a, _ in calls])
        outputs = _joined([_by_record(g.flatten(2).transpose(1, 2), copies) for _, g in calls])
        return Product(Affine(layer), inputs, outputs)
    gradients: dict[str, Tensor] = {}
    for a, g in calls:
        outputs = g.flatten(2)
        if layer.weight.requires_grad:
            # Few at a time, so that patches stay near the processor.
            room = _NEAR if a.is_cpu else _ON_CARD
            size = max(1, room // (width * outputs.shape[2]))
            rows = g.new_empty(len(g), height, width)
            for i in range(0, len(g), size):
                part = slice(i, i + size)
                torch.bmm(outputs[part], _patches(layer, a[part]), out=rows[part])
            _add(gradients, "weight", rows.unflatten(2, layer.weight.shape[1:]), copies)
        if layer.bias is not None and layer.bias.requires_grad:
            _add(gradients, "bias", outputs.sum(2), copies)
    return Written(gradients)


def _patches(layer: Any, inputs: Tensor) -> Tensor:
    """Return (rows, places, numbers under the kernel)."""
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    around = layer._reversed_padding_repeated_twice  # noqa: SLF001 (as its forward pads)
    frame = functional.pad(inputs, around, mode=mode).contiguous()
    kernel, strides, gaps = layer.kernel_size, layer.stride, layer.dilation
    sizes = zip(frame.shape[2:], kernel, strides, gaps, strict=True)
    places = [(size - gap * (k - 1) - 1) // stride + 1 for size, k, stride, gap in sizes]
    (first, channel), steps = frame.stride()[:2], frame.stride()[2:]
    within = [gap * step for gap, step in zip(gaps, steps, strict=True)]
    between = [stride * step for stride, step in zip(strides, steps, strict=True)]
    # One copy of a view is several times as fast as functional.unfold, along what is longer.
    rows, channels, number = *frame.shape[:2], math.prod(places)
    if kernel[-1] >= min(_LONG, places[-1]):
        shape, stride = (rows, *places, channels, *kernel), (first, *between, channel, *within)
        return frame.as_strided(shape, stride).reshape(rows, number, -1)
    shape, stride = (rows, channels, *kernel, *places), (first, channel, *within, *between)
    return frame.as_strided(shape, stride).reshape(rows, -1, number).transpose(1, 2)


def _embedding(layer: Any, calls: Sequence[Call], copies: int) -> Part:
    codes, pulls = [], []
    for a, g in calls:
        places = a.shape[1:].numel()
        codes.append(_by_record(a.reshape(len(a), places, 1), copies)[:, :, 0])
        pulls.append(_by_record(g.reshape(len(g), places, g.shape[-1]), copies))
    numbers, values = _joined(codes), _joined(pulls).flatten(0, 1)
    order, starts, distinct = _distinct(numbers, layer.padding_idx)
    if len(order):
        values = functional.embedding_bag(order, values, starts, mode="sum")
    records = order[starts] // max(1, numbers.shape[1])
    ends = torch.arange(len(starts) + 1, device=numbers.device)
    return Rows(layer, distinct, None, ends, values, records, len(numbers))


def _bag(layer: Any, calls: Sequence[Call], copies: int) -> Part:
    scaled = []
    for a, g in calls:
        is_word = torch.ones_like(a) if layer.padding_idx is None else a != layer.padding_idx
        number = is_word.sum(1, keepdim=True).clamp(min=1) if layer.mode == "mean" else 1
        scaled.append((a, g / number))
    if copies > 1 or len(calls) > 1:
        each = [(a, g[:, None].expand(*a.shape, -1)) for a, g in scaled]
        return _embedding(layer, each, copies)
    codes, values = scaled[0]
    order, starts, distinct = _distinct(codes, layer.padding_idx)
    times = torch.diff(starts, append=starts.new_tensor([len(order)])).to(values)
    records = torch.arange(len(codes) + 1, device=codes.device)
    ends = torch.searchsorted(order[starts] // max(1, codes.shape[1]), records)
    return Rows(layer, distinct, times, ends, values, records[:-1], len(codes))


def _distinct(codes: Tensor, padding: int | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return places by record and code, where equal codes start among them, and these codes."""
    width = codes.shape[1]
    key = codes.long() * width + torch.arange(width, device=codes.device)
    if key.is_cpu:  # ten times as fast as torch.sort
        key.numpy().sort(axis=1)
    else:
        key = key.sort(1).values
    quotient = key.div(max(1, width), rounding_mode="floor")
    order = key.sub_(quotient * width)
    order += torch.arange(len(codes), device=codes.device)[:, None] * width
    is_new = torch.ones_like(quotient, dtype=torch.bool)
    torch.ne(quotient[:, 1:], quotient[:, :-1], out=is_new[:, 1:])
    if padding is None:
        return order.flatten(), is_new.flatten().nonzero()[:, 0], quotient[is_new]
    is_kept = quotient != padding
    starts = is_new[is_kept].nonzero()[:, 0]
    return order[is_kept], starts, quotient[is_new & is_kept]


def _norm(layer: Any, calls: Sequence[Call], copies: int) -> Part:
    is_layer = isinstance(layer, nn.LayerNorm)

    def normed(array: Tensor) -> Tensor:
        if is_layer:
            return functional.layer_norm(array, layer.normalized_shape, eps=layer.eps)
        return functional.group_norm(array, layer.num_groups, eps=layer.eps)

    # The layer norm's parameters lie on the last axes, the group norm's on the second.
    shape = layer.weight.shape
    gradients: dict[str, Tensor] = {}
    for a, g in calls:
        axes = tuple(range(1, g.dim() - len(shape)) if is_layer else range(2, g.dim()))
        pieces = {"weight": g * normed(a), "bias": g}
        for name, piece in pieces.items():
            parameter = getattr(layer, name)
            if parameter is None or not parameter.requires_grad:
                continue
            _add(gradients, name, piece.sum(axes) if axes else piece, copies)
    return Written(gradients)


_KINDS: dict[Any, Callable[[Any, Sequence[Call], int], Part]] = {
    nn.Linear: _linear,
    nn.Conv1d: _convolution,
    nn.Conv2d: _convolution,
    nn.Embedding: _embedding,
    nn.EmbeddingBag: _bag,
    nn.LayerNorm: _norm,
    nn.GroupNorm: _norm,
}
