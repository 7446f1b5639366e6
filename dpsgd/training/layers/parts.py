"""The gradient of each record in a layer, without writing it out where products are cheaper.

A layer's part is known from what went in and the gradient of what came out: two arrays with a
row for each record. Norms and weighted sums follow from them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import torch
from scipy import sparse
from torch import Tensor, nn

_ROUNDING = 8.0


class Part(Protocol):
    """The gradients of all records with respect to one layer."""

    def squares(self) -> Tensor:
        """Return the squared norm of each record's gradient."""

    def weighted(self, weights: Tensor) -> dict[str, Tensor]:
        """Return the sum of the gradients, each times its weight, by parameter."""

    def keep(self, mask: Tensor) -> Part:
        """Return the same with the gradients of other records set to zero."""

    def by_parameter(self) -> dict[str, Part]:
        """Return the same for each of the parameters alone."""


@dataclass(frozen=True, slots=True)
class Affine:
    """A weight and a bias of a layer, by their names, or some rows of both."""

    layer: nn.Module
    weight: str = "weight"
    bias: str = "bias"
    rows: slice | None = None
    without: str = ""

    def trains(self, name: str) -> bool:
        """Return whether there is such a parameter, it is asked for and not frozen."""
        parameter = getattr(self.layer, name, None)
        if parameter is None or name == self.without:
            return False
        return bool(parameter.requires_grad)

    def placed(self, name: str, value: Tensor) -> Tensor:
        """Return a gradient in the shape of its parameter."""
        whole = getattr(self.layer, name)
        if self.rows is None:
            return value.view_as(whole)
        full = torch.zeros_like(whole)
        full[self.rows] = value
        return full


def is_written(places: int, width: int, height: int) -> bool:
    """Return whether a product is as cheap written out as by products of places.

    That takes no more time, nor much more memory.
    """
    area = places * (width + height)
    return width * height <= min(4 * area, places * area / 16)


class Product(Part):
    """Gradients that are products of two arrays, (records, places, width) or of one place."""

    def __init__(self, affine: Affine, inputs: Tensor, outputs: Tensor) -> None:
        self.affine, self.inputs, self.outputs = affine, inputs, outputs
        self.has_weight = affine.trains(affine.weight)
        self.has_bias = affine.trains(affine.bias)
        places, width, height = inputs.shape[1:-1].numel(), inputs.shape[-1], outputs.shape[-1]
        self.is_one_place = places == 1
        if self.is_one_place:
            self.inputs, self.outputs = inputs.flatten(1), outputs.flatten(1)
        self._is_written = not self.is_one_place and is_written(places, width, height)

    @cached_property
    def written(self) -> Tensor | None:
        """The gradients of the weight written out, where that is as cheap."""
        if not (self.has_weight and self._is_written):
            return None
        return torch.bmm(self.outputs.transpose(1, 2), self.inputs)

    def squares(self) -> Tensor:
        """Return the squared norm of each record's gradient."""
        if self.is_one_place and self.has_weight:
            # A bias is a weight of an input that is always one.
            inputs = lengths_of(self.inputs).square_().add_(float(self.has_bias))
            return lengths_of(self.outputs).square_() * inputs
        if self.written is not None:
            total = _squares(self.written)
        elif not self.has_weight:
            total = self.outputs.new_zeros(len(self.outputs))
        else:
            left = torch.bmm(self.inputs, self.inputs.transpose(1, 2))
            right = torch.bmm(self.outputs, self.outputs.transpose(1, 2))
            length = (lengths_of(self.inputs) * lengths_of(self.outputs)).sum(1)
            total = not_below(left.mul_(right).sum((1, 2)), length)
        return total + _squares(self._ends()) if self.has_bias else total

    def weighted(self, weights: Tensor) -> dict[str, Tensor]:
        """Return the weighted sum of the gradients, by parameter."""
        gradients, affine = {}, self.affine
        if self.written is not None:
            gradients[affine.weight] = affine.placed(
                affine.weight, (weights @ self.written.flatten(1)).view(self.written.shape[1:])
            )
        elif self.has_weight:
            scaled = self.outputs * weights.view(-1, *[1] * (self.outputs.dim() - 1))
            product = scaled.flatten(0, -2).T @ self.inputs.flatten(0, -2)
            gradients[affine.weight] = affine.placed(affine.weight, product)
        if self.has_bias:
            gradients[affine.bias] = affine.placed(affine.bias, weights @ self._ends())
        return gradients

    def _ends(self) -> Tensor:
        return self.outputs if self.is_one_place else self.outputs.sum(1)

    def keep(self, mask: Tensor) -> Part:
        """Return the same without the gradients of other records."""
        return Product(self.affine, _kept(self.inputs, mask), _kept(self.outputs, mask))

    def by_parameter(self) -> dict[str, Part]:
        """Return the same for each of the parameters alone."""
        affine = self.affine
        parts: dict[str, Part] = {}
        for name, other in ((affine.weight, affine.bias), (affine.bias, affine.weight)):
            if affine.trains(name):
                alone = replace(affine, without=other)
                parts[name] = Product(alone, self.inputs, self.outputs)
        return parts


class Written(Part):
    """Gradients that are written out, by parameter."""

    def __init__(self, gradients: dict[str, Tensor]) -> None:
        self.gradients = gradients

    def squares(self) -> Tensor:
        """Return the squared norm of each record's gradient."""
        parts = [_squares(gradient) for gradient in self.gradients.values()]
        return torch.stack(parts).sum(0)

    def weighted(self, weights: Tensor) -> dict[str, Tensor]:
        """Return the weighted sum of the gradients, by parameter."""
        return {
            name: (weights @ gradient.flatten(1)).view(gradient.shape[1:])
            for name, gradient in self.gradients.items()
        }

    def keep(self, mask: Tensor) -> Part:
        """Return the same without the gradients of other records."""
        return Written({name: _kept(g, mask) for name, g in self.gradients.items()})

    def by_parameter(self) -> dict[str, Part]:
        """Return the same for each of the parameters alone."""
        return {name: Written({name: g}) for name, g in self.gradients.items()}


@dataclass(frozen=True, slots=True)
class Rows(Part):
    """Gradients of a table: rows of it for each record, none of them twice.

    To each of the ``codes`` from ``ends[i]`` to ``ends[i + 1]`` belong ``values[i]``, as many
    ``times``, of one of the ``records``; without times to one code each.
    """

    layer: Any
    codes: Tensor
    times: Tensor | None
    ends: Tensor
    values: Tensor
    records: Tensor
    size: int

    def squares(self) -> Tensor:
        """Return the squared norm of each record's gradient."""
        squares = _squares(self.values)
        if self.times is not None:
            squares *= torch.segment_reduce(self.times.square(), "sum", offsets=self.ends)
        return squares.new_zeros(self.size).index_add_(0, self.records, squares)

    def weighted(self, weights: Tensor) -> dict[str, Tensor]:
        """Return the weighted sum of the gradients, by parameter."""
        weight, scale, rows = self.layer.weight, weights[self.records], self.values
        if self.times is not None:
            lengths = self.ends.diff()
            scale = scale.repeat_interleave(lengths) * self.times
            rows = rows if weight.is_cpu else rows.repeat_interleave(lengths, 0)
        if not weight.is_cpu:
            rows = rows * scale[:, None]
            return {"weight": torch.zeros_like(weight).index_add_(0, self.codes, rows)}
        # Several times as fast as index_add_ and the way back through an embedding.
        columns = (scale.numpy(), self.codes.numpy(), self.ends.numpy())
        matrix = sparse.csc_array(columns, shape=(len(weight), len(self.values)))
        return {"weight": torch.from_numpy(matrix @ self.values.numpy())}

    def keep(self, mask: Tensor) -> Part:
        """Return the same without the gradients of other records."""
        return replace(self, values=_kept(self.values, mask[self.records]))

    def by_parameter(self) -> dict[str, Part]:
        """Return the same, of its only parameter."""
        return {"weight": self}

    def expanded(self) -> Rows:
        """Return the same with a row of values for each code."""
        if self.times is None:
            return self
        lengths = self.ends.diff()
        values = self.values.repeat_interleave(lengths, 0) * self.times[:, None]
        records = self.records.repeat_interleave(lengths)
        ends = torch.arange(len(values) + 1, device=values.device)
        return replace(self, times=None, ends=ends, values=values, records=records)


def _squares(array: Tensor) -> Tensor:
    """Return the squared length of each record's numbers, without an array of squares."""
    lengths: Tensor = torch.linalg.vector_norm(array.flatten(1), dim=1)
    return lengths.square_()


def lengths_of(array: Tensor) -> Tensor:
    """Return the lengths of rows; none so small that its square would be lost."""
    least = math.sqrt(torch.finfo(array.dtype).tiny * array.shape[-1])
    lengths: Tensor = torch.linalg.vector_norm(array, dim=-1)
    return lengths.clamp_(min=least)


def not_below(squares: Tensor, most: Tensor) -> Tensor:
    """Return squares that rounding has not made smaller than they are.

    Parts of a record that cancel leave a difference of large numbers. A length that came out
    too small would let a record contribute a hundred thousand times the norm.
    """
    return squares.clamp(min=0) + _ROUNDING * torch.finfo(most.dtype).eps * most.square()


def _kept(array: Tensor, mask: Tensor) -> Tensor:
    # A product with zero would keep what is not a number.
    return torch.where(mask.view(-1, *[1] * (array.dim() - 1)), array, 0.0)
