"""Networks in which records do not mix."""

from __future__ import annotations

import secrets
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

_NORM_GROUPS = 8


def linear_network(inputs: int, outputs: int, *, hidden: Sequence[int] = ()) -> nn.Sequential:
    """Return a linear model, or layers with a bounded activation between them."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.Tanh()]
        inputs = width
    last = nn.Linear(inputs, outputs)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(*layers, last)


def image_network(outputs: int = 10) -> nn.Sequential:
    """Return the usual small network for images of 28 x 28: 26,010 parameters.

    Parameters
    ----------
    outputs
        Number of classes.

    Examples
    --------
    >>> sum(p.numel() for p in image_network().parameters())
    26010
    """
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3),
        nn.ReLU(),
        nn.MaxPool2d(2, stride=1),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.ReLU(),
        nn.MaxPool2d(2, stride=1),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 32),
        nn.ReLU(),
        nn.Linear(32, outputs),
    )


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


def started(build: Callable[[], nn.Module], seed: int | None) -> nn.Module:
    """Return what a function builds, with weights that depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(secrets.randbits(63) if seed is None else seed)
        return build()
