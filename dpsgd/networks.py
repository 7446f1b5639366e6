"""Networks in which records do not mix."""

import secrets
from collections.abc import Callable, Sequence

import torch
from torch import nn


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


def started(build: Callable[[], nn.Module], seed: int | None) -> nn.Module:
    """Return what a function builds, with weights that depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(secrets.randbits(63) if seed is None else seed)
        return build()
