"""One parameter that several layers use: the gradient of a record is the sum of its uses.

Its norm is that of the sum: the norms of the uses, and the inner product of each pair of them.
An embedding and a head have it from two arrays of places; nothing of the size of the table is
written out for a record.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, TypeGuard

import torch
from torch import Tensor

from dpsgd.training.layers.parts import (
    Part,
    Product,
    Rows,
    Written,
    lengths_of,
    not_below,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


class Tied(Part):
    """The gradients of all records with respect to one parameter that has several uses.

    Parameters
    ----------
    uses
        The gradients by use, each of one parameter alone.
    name
        How the parameter is called in its first layer.
    """

    def __init__(self, uses: Sequence[Part], *, name: str) -> None:
        self.uses, self.name = uses, name

    def squares(self) -> Tensor:
        """Return the squared norm of each record's gradient."""
        total = sum((use.squares() for use in self.uses), torch.zeros(()))
        for one, other in combinations(self.uses, 2):
            total = total + 2 * _products(one, other)
        # Uses that cancel each other leave a difference of large numbers.
        return not_below(total, sum(map(_longest, self.uses), torch.zeros(())))

    def weighted(self, weights: Tensor) -> dict[str, Tensor]:
        """Return the weighted sum of the gradients."""
        total: Tensor | None = None
        for use in self.uses:
            for value in use.weighted(weights).values():
                total = value if total is None else total + value
        return {} if total is None else {self.name: total}

    def keep(self, mask: Tensor) -> Part:
        """Return the same without the gradients of other records."""
        return Tied([use.keep(mask) for use in self.uses], name=self.name)

    def by_parameter(self) -> dict[str, Part]:
        """Return the same, of its only parameter."""
        return {self.name: self}


def _products(one: Part, other: Part) -> Tensor:
    """Return the inner product of two uses, by record."""
    if isinstance(one, Rows):
        return _of_rows(other, one.expanded())
    if isinstance(other, Rows):
        return _of_rows(one, other.expanded())
    if _is_whole(one) and _is_whole(other):
        (a, g), (b, h) = _by_place(one), _by_place(other)
        left = torch.bmm(a, b.transpose(1, 2))
        return left.mul_(torch.bmm(g, h.transpose(1, 2))).sum((1, 2))
    return (_whole(one) * _whole(other)).flatten(1).sum(1)


def _of_rows(part: Part, table: Rows) -> Tensor:
    """Return the inner product with the gradients of a table, by record."""
    if isinstance(part, Rows):
        return _of_tables(part.expanded(), table)
    if not _is_whole(part):
        products = (_whole(part)[table.records, table.codes] * table.values).sum(1)
        return _by_record(products, table)
    inputs, outputs = _by_place(part)
    # As many rows for each record as the one with most codes has: nought in what is too much.
    counts = torch.bincount(table.records, minlength=table.size)
    first = counts.cumsum(0) - counts
    number = torch.arange(len(table.records), device=counts.device) - first[table.records]
    width = int(counts.max()) if len(counts) else 0
    values = table.values.new_zeros(table.size, width, table.values.shape[1])
    values[table.records, number] = table.values
    codes = table.codes.new_zeros(table.size, 1, width)
    codes[table.records, 0, number] = table.codes
    pulls = outputs.gather(2, codes.expand(-1, outputs.shape[1], -1))
    return torch.bmm(inputs, values.transpose(1, 2)).mul_(pulls).sum((1, 2))


def _of_tables(one: Rows, other: Rows) -> Tensor:
    """Return the inner product where a record has a code in both; codes ascend in each."""
    if not len(one.codes):
        return other.values.new_zeros(other.size)
    most = len(other.layer.weight)
    first, second = (t.records * most + t.codes for t in (one, other))
    place = torch.searchsorted(first, second).clamp_(max=len(first) - 1)
    products = (one.values[place] * other.values).sum(1)
    return _by_record(torch.where(first[place] == second, products, 0.0), other)


def _is_whole(part: Part) -> TypeGuard[Product]:
    """Return whether a use is a product with all of a weight."""
    return isinstance(part, Product) and part.has_weight and part.affine.rows is None


def _by_record(products: Tensor, table: Rows) -> Tensor:
    return products.new_zeros(table.size).index_add_(0, table.records, products)


def _by_place(part: Product) -> tuple[Tensor, Tensor]:
    """Return what went in and the gradient of what came out: (records, places, width)."""
    inputs, outputs = part.inputs, part.outputs
    return (inputs[:, None], outputs[:, None]) if part.is_one_place else (inputs, outputs)


def _whole(part: Part) -> Tensor:
    """Return the gradients of all records written out: (records, *shape of the parameter)."""
    if isinstance(part, Written):
        return next(iter(part.gradients.values()))
    if isinstance(part, Product):
        affine = part.affine
        name = affine.weight if part.has_weight else affine.bias
        inputs, outputs = _by_place(part)
        values = (
            torch.bmm(outputs.transpose(1, 2), inputs) if part.has_weight else outputs.sum(1)
        )
        parameter = getattr(affine.layer, name)
        if affine.rows is None:
            return values.view(-1, *parameter.shape)
        whole = values.new_zeros(len(values), *parameter.shape)
        whole[:, affine.rows] = values
        return whole
    raise NotImplementedError(type(part).__name__)


def _longest(part: Part) -> Tensor:
    """Return a length that the gradient of a record has at most, whatever cancels in it."""
    if isinstance(part, Product) and part.has_weight:
        inputs, outputs = _by_place(part)
        return (lengths_of(inputs) * lengths_of(outputs)).sum(1)
    if isinstance(part, Rows):
        table = part.expanded()
        return _by_record(lengths_of(table.values), table)
    return part.squares().sqrt()
