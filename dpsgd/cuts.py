"""Cuts of columns of numbers, found in the records by noisy counts that the plan pays for."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from dpsgd.encoding import from_reference, widths
from dpsgd.schema import Number, Schema
from footing.arrays import Floats

_CELLS, _PARTS = 256, 16
_CLEAR = 2.0  # scales of the noise
_SLOTS = 3 * _PARTS  # a cell of many has two ends
_FEW = 3  # a shorter range of whole numbers may hold fractions
_NOWHERE = 2.0  # beyond what is scaled: 2 by a root of 2 at least, from a reference


class FoundCuts(nn.Module):
    """Add an indicator of what lies from each cut to the next, for cuts that were found."""

    cuts: Tensor

    def __init__(self, schema: Schema) -> None:
        super().__init__()
        wide = widths(schema)
        starts = dict(
            zip((c.name for c in schema.columns), np.cumsum([0, *wide]), strict=False)
        )
        self.places = [int(starts[column.name]) for column in schema.uncut]
        self.divisor = (len(wide) + 1) ** 0.5
        self.register_buffer("cuts", torch.full((len(self.places), _SLOTS), _NOWHERE))

    @property
    def width(self) -> int:
        """How many numbers it adds."""
        return len(self.places) * _SLOTS

    def forward(self, x: Tensor) -> Tensor:
        """Return the numbers of each record, and the indicators."""
        is_above = (x[:, self.places, None] >= self.cuts).to(x)
        is_within = is_above - functional.pad(is_above, (0, 1))[:, :, 1:]
        return torch.cat([x, is_within.flatten(1) / self.divisor], 1)

    def find(
        self, x: Tensor, *, schema: Schema, scale: float, noise: Callable[[int], NDArray[Any]]
    ) -> None:
        """Look for cuts in encoded records; each record is in one cell of each column."""
        for row, (column, place) in enumerate(zip(schema.uncut, self.places, strict=True)):
            edges = _edges(column)
            ends = from_reference(edges, column) / np.float32(self.divisor)
            cells = np.searchsorted(ends, x[:, place].numpy(), side="right")
            counts = np.bincount(cells, minlength=len(edges) + 1)
            noisy = np.rint(counts + scale * noise(len(counts)))
            cuts = torch.from_numpy(ends[[cell - 1 for cell in _starts(noisy, scale)]])
            self.cuts[row, : len(cuts)] = cuts


def _edges(column: Number) -> Floats:
    """Return where cells begin, but for the first; whole numbers are not cut apart."""
    low, high = column.low, column.high
    if low.is_integer() and high.is_integer() and high - low >= _FEW:
        width = math.ceil((high - low + 1) / _CELLS)
        return np.arange(low + width, high + 1, width, dtype=np.float64)
    return np.linspace(low, high, _CELLS, endpoint=False, dtype=np.float64)[1:]


def _starts(noisy: Floats, scale: float) -> list[int]:
    """Return cells at which parts begin: a cell of many alone, others until they are many.

    A sum of cells has to stand out from its own noise.
    """
    is_many = noisy > max(_CLEAR * scale, noisy.sum() / _PARTS)
    least = noisy[~is_many].sum() / _PARTS
    starts, total, number = set[int](), 0.0, 0
    for cell, count in enumerate(noisy):
        total, number = total + count, number + 1
        if is_many[cell]:
            starts.add(cell)
        if is_many[cell] or total > max(least, _CLEAR * scale * math.sqrt(number)):
            starts.add(cell + 1)
            total, number = 0.0, 0
    return sorted(starts - {0, len(noisy)})[:_SLOTS]
