"""A residual network, to time private training of larger models."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

_NORM_GROUPS = 8


class _Block(nn.Module):
    """Two convolutions, added to what came in."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        stride = outputs // inputs
        self.inner = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
            nn.GroupNorm(_NORM_GROUPS, outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.GroupNorm(_NORM_GROUPS, outputs),
        )
        is_same = inputs == outputs
        self.beside = nn.Identity() if is_same else nn.Conv2d(inputs, outputs, 1, stride=stride)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.inner(x) + self.beside(x))


def residual_network(outputs: int = 10, *, channels: int = 3) -> nn.Sequential:
    """Return a residual network of 20 layers for images of 32 x 32, with group norms."""
    widths = [16] * 4 + [32] * 3 + [64] * 3
    return nn.Sequential(
        nn.Conv2d(channels, 16, 3, padding=1, bias=False),
        nn.GroupNorm(_NORM_GROUPS, 16),
        nn.ReLU(),
        *(_Block(before, after) for before, after in pairwise(widths)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, outputs),
    )
