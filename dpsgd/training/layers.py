"""The gradient of each record in a layer, without writing it out.

A layer's part is known from what went in and the gradient of what came out: two arrays with a
row for each record. Norms and weighted sums follow from them by products.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

_ROUNDING = 8.0

#: What went into a layer and the gradient of what came out, at one call.
_Call: TypeAlias = "tuple[Tensor, Tensor]"


class Part(Protocol):
    """The gradients of all records with respect to one layer."""

    def squares(self) -> Tensor:
        """Return the squared norm of each record's gradient."""

    def weighted(self, weights: Tensor) -> dict[str, Tensor]:
        """Return the sum of the gradients, each times its weight, by parameter."""

    def keep(self, mask: Tensor) -> Part:
        """Return the same with the gradients of other records set to zero."""


class _Product(Part):
    """Gradients that are products of two arrays: linear layers, convolutions."""

    def __init__(self, layer: Any, inputs: Tensor, outputs: Tensor) -> None:
        self.layer, self.inputs, self.outputs = layer, inputs, outputs
        self.has_weight = layer.weight.requires_grad
        self.has_bias = layer.bias is not None and layer.bias.requires_grad
        self.written: Tensor | None = None
        places, width, height = inputs.shape[1], inputs.shape[2], outputs.shape[2]
        self.is_one_place = places == 1
        if self.has_weight and places > 1 and 2 * places**2 > width * height:
            self.written = torch.bmm(outputs.transpose(1, 2), inputs)

    def squares(self) -> Tensor:
        if self.is_one_place and self.has_weight:
            # A bias is a weight of an input that is always one.
            return _squares(self.outputs) * _squares(self.inputs).add_(float(self.has_bias))
        if self.written is not None:
            total = _squares(self.written)
        elif not self.has_weight:
            total = self.outputs.new_zeros(len(self.outputs))
        else:
            left = torch.bmm(self.inputs, self.inputs.transpose(1, 2))
            right = torch.bmm(self.outputs, self.outputs.transpose(1, 2))
            length = (self.inputs.norm(dim=2) * self.outputs.norm(dim=2)).sum(1)
            total = _not_below(left.mul_(right).sum((1, 2)), length)
        return total + _squares(self._ends()) if self.has_bias else total

    def weighted(self, weights: Tensor) -> dict[str, Tensor]:
        found = {}
        if self.written is not None:
            flat = weights @ self.written.flatten(1)
            found["weight"] = flat.view_as(self.layer.weight)
        elif self.has_weight:
            scaled = (self.outputs * weights[:, None, None]).flatten(0, 1)
            product = scaled.T @ self.inputs.flatten(0, 1)
            found["weight"] = product.view_as(self.layer.weight)
        if self.has_bias:
            found["bias"] = weights @ self._ends()
        return found

    def _ends(self) -> Tensor:
        return self.outputs[:, 0] if self.is_one_place else self.outputs.sum(1)

    def keep(self, mask: Tensor) -> Part:
        inputs, outputs = _kept(self.inputs, mask), _kept(self.outputs, mask)
        return _Product(self.layer, inputs, outputs)


class _Written(Part):
    """Gradients small enough to write out: scales of norms, convolutions in groups."""

    def __init__(self, gradients: dict[str, Tensor]) -> None:
        self.gradients = gradients

    def squares(self) -> Tensor:
        parts = [_squares(gradient) for gradient in self.gradients.values()]
        return torch.stack(parts).sum(0)

    def weighted(self, weights: Tensor) -> dict[str, Tensor]:
        return {
            name: (weights @ gradient.flatten(1)).view(gradient.shape[1:])
            for name, gradient in self.gradients.items()
        }

    def keep(self, mask: Tensor) -> Part:
        return _Written({name: _kept(g, mask) for name, g in self.gradients.items()})


class _Rows(Part):
    """Gradients of an embedding: rows of a table, some of them looked up more than once."""

    def __init__(self, layer: nn.Embedding, codes: Tensor, outputs: Tensor) -> None:
        self.layer, self.codes, self.outputs = layer, codes, outputs
        if layer.padding_idx is not None:
            self.outputs = outputs * (codes != layer.padding_idx)[:, :, None]

    def squares(self) -> Tensor:
        same = self.codes[:, :, None] == self.codes[:, None, :]
        gram = torch.bmm(self.outputs, self.outputs.transpose(1, 2))
        return _not_below((gram * same).sum((1, 2)), self.outputs.norm(dim=2).sum(1))

    def weighted(self, weights: Tensor) -> dict[str, Tensor]:
        table = torch.zeros_like(self.layer.weight)
        rows = (self.outputs * weights[:, None, None]).flatten(0, 1)
        return {"weight": table.index_add_(0, self.codes.flatten(), rows)}

    def keep(self, mask: Tensor) -> Part:
        return _Rows(self.layer, self.codes, _kept(self.outputs, mask))


def _squares(array: Tensor) -> Tensor:
    """Return the squared length of each record's numbers, without an array of squares."""
    found: Tensor = torch.linalg.vector_norm(array.flatten(1), dim=1)
    return found.square_()


def _joined(arrays: Sequence[Tensor]) -> Tensor:
    """Join the places of several calls; the usual single call is not copied."""
    return arrays[0] if len(arrays) == 1 else torch.cat([*arrays], 1)


def _not_below(squares: Tensor, most: Tensor) -> Tensor:
    """Return squares that rounding has not made smaller than they are.

    Parts of a record that cancel leave a difference of large numbers. A length that came out
    too small would let a record contribute a hundred thousand times the norm.
    """
    return squares.clamp(min=0) + _ROUNDING * torch.finfo(most.dtype).eps * most.square()


def _kept(array: Tensor, mask: Tensor) -> Tensor:
    # A product with zero would keep what is not a number.
    return torch.where(mask.view(-1, *[1] * (array.dim() - 1)), array, 0.0)


def written(gradients: dict[str, Tensor]) -> Part:
    """Return gradients that were written out, by parameter."""
    return _Written(gradients)


def supported(layer: Any) -> bool:
    """Return whether gradients of a layer's records follow from products."""
    kind = _kind(layer)
    if kind is nn.Embedding:
        return layer.max_norm is None and not (layer.scale_grad_by_freq or layer.sparse)
    if kind in {nn.Conv1d, nn.Conv2d}:
        return str(layer.padding_mode) == "zeros"
    return kind is not None


def _kind(layer: Any) -> Any:
    """Return the layer of PyTorch that a layer is, or is derived from without a new pass."""
    kinds: list[Any] = [kind for kind in _KINDS if isinstance(layer, kind)]
    return next((kind for kind in kinds if type(layer).forward is kind.forward), None)


def part_of(layer: nn.Module, calls: Sequence[_Call], *, copies: int) -> Part:
    """Return the gradients of a layer's records."""
    return _KINDS[_kind(layer)](layer, calls, copies)


def _by_record(array: Tensor, copies: int) -> Tensor:
    """Turn (rows, places, width) to (records, places of all copies, width)."""
    return array.reshape(len(array) // copies, copies * array.shape[1], array.shape[2])


def _linear(layer: Any, calls: Sequence[_Call], copies: int) -> Part:
    def flat(array: Tensor) -> Tensor:
        places = array.shape[1:-1].numel()
        return _by_record(array.reshape(len(array), places, array.shape[-1]), copies)

    inputs = _joined([flat(a) for a, _ in calls])
    return _Product(layer, inputs, _joined([flat(g) for _, g in calls]))


def _convolution(layer: Any, calls: Sequence[_Call], copies: int) -> Part:
    inputs = _joined([_by_record(_patches(layer, a), copies) for a, _ in calls])
    outputs = _joined([_by_record(g.flatten(2).transpose(1, 2), copies) for _, g in calls])
    if layer.groups == 1:
        return _Product(layer, inputs, outputs)
    found = {}
    if layer.weight.requires_grad:
        groups = layer.groups
        left = outputs.unflatten(2, (groups, -1))
        right = inputs.unflatten(2, (groups, -1))
        product = torch.einsum("btgo,btgi->bgoi", left, right)
        found["weight"] = product.reshape(len(outputs), *layer.weight.shape)
    if layer.bias is not None and layer.bias.requires_grad:
        found["bias"] = outputs.sum(1)
    return _Written(found)


def _patches(layer: Any, inputs: Tensor) -> Tensor:
    """Return (rows, places, numbers under the kernel)."""
    spans = [d * (k - 1) for d, k in zip(layer.dilation, layer.kernel_size, strict=True)]
    if layer.padding == "same":
        around = [side for t in reversed(spans) for side in (t // 2, t - t // 2)]
    else:
        sides = [0] * len(spans) if layer.padding == "valid" else layer.padding
        around = [side for side in reversed(sides) for _ in range(2)]
    padded = functional.pad(inputs, around).contiguous()
    places = [
        (size - span - 1) // stride + 1
        for size, span, stride in zip(padded.shape[2:], spans, layer.stride, strict=True)
    ]
    first, steps = padded.stride()[:2], padded.stride()[2:]
    within = [d * step for d, step in zip(layer.dilation, steps, strict=True)]
    between = [s * step for s, step in zip(layer.stride, steps, strict=True)]
    # One copy of a view is several times as fast as functional.unfold.
    view = padded.as_strided(
        (*padded.shape[:2], *layer.kernel_size, *places), (*first, *within, *between)
    )
    return view.reshape(len(inputs), -1, math.prod(places)).transpose(1, 2)


def _embedding(layer: Any, calls: Sequence[_Call], copies: int) -> Part:
    codes, outputs = [], []
    for a, g in calls:
        places = a.shape[1:].numel()
        codes.append(_by_record(a.reshape(len(a), places, 1), copies)[:, :, 0])
        outputs.append(_by_record(g.reshape(len(g), places, g.shape[-1]), copies))
    return _Rows(layer, _joined(codes), _joined(outputs))


def _norm(layer: Any, calls: Sequence[_Call], copies: int) -> Part:
    is_layer = isinstance(layer, nn.LayerNorm)

    def normed(array: Tensor) -> Tensor:
        if is_layer:
            return functional.layer_norm(array, layer.normalized_shape, eps=layer.eps)
        return functional.group_norm(array, layer.num_groups, eps=layer.eps)

    def over_copies(array: Tensor) -> Tensor:
        summed: Tensor = array.unflatten(0, (len(array) // copies, copies)).sum(1)
        return summed

    # The layer norm's parameters lie on the last axes, the group norm's on the second.
    shape = layer.weight.shape
    found: dict[str, Tensor] = {}
    for a, g in calls:
        axes = tuple(range(1, g.dim() - len(shape)) if is_layer else range(2, g.dim()))
        pieces = {"weight": g * normed(a), "bias": g}
        for name, piece in pieces.items():
            parameter = getattr(layer, name)
            if parameter is None or not parameter.requires_grad:
                continue
            summed = over_copies(piece.sum(axes) if axes else piece)
            found[name] = found[name] + summed if name in found else summed
    return _Written(found)


_KINDS: dict[type, Callable[[Any, Sequence[_Call], int], Part]] = {
    nn.Linear: _linear,
    nn.Conv1d: _convolution,
    nn.Conv2d: _convolution,
    nn.Embedding: _embedding,
    nn.LayerNorm: _norm,
    nn.GroupNorm: _norm,
}
