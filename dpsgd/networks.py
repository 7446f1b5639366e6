"""Networks in which records do not mix."""

import secrets
from collections.abc import Callable, Sequence

import torch
from torch import nn

from dpsgd.errors import PlanError
from footing.messages import Message

_LEAST_SIDE = 14


def linear_network(
    inputs: int, outputs: int, *, hidden: Sequence[int] = (), has_constant: bool = False
) -> nn.Sequential:
    """Return a linear model, or layers with a bounded activation between them.

    Where one of the inputs is the same for all records, it is the intercept of a linear model:
    a bias beside it would make each gradient longer, and have more of it clipped.
    """
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.Tanh()]
        inputs = width
    last = nn.Linear(inputs, outputs)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    if has_constant and not hidden:
        last.bias.requires_grad = False  # files of models have it, at zero
    return nn.Sequential(*layers, last)


def image_network(
    outputs: int = 10, *, shape: tuple[int, int, int] = (1, 28, 28), hidden: int = 32
) -> nn.Sequential:
    """Return the usual small network for images; of 28 x 28 it has 26,010 parameters.

    Parameters
    ----------
    outputs
        Number of classes.
    shape
        Channels, height and width of an image.
    hidden
        Units of the layer before the last.

    Examples
    --------
    >>> sum(p.numel() for p in image_network().parameters())
    26010
    """
    channels, *sides = shape
    left = [_left(side) for side in sides]
    if min(left) < 1:
        raise PlanError(
            Message(
                "Images of {height} x {width} are too small for two convolutions.",
                height=sides[0],
                width=sides[1],
            ),
            hint=Message("{least} x {least} is the least", least=_LEAST_SIDE),
        )
    return nn.Sequential(
        nn.Conv2d(channels, 16, 8, stride=2, padding=3),
        nn.ReLU(),
        nn.MaxPool2d(2, stride=1),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.ReLU(),
        nn.MaxPool2d(2, stride=1),
        nn.Flatten(),
        nn.Linear(32 * left[0] * left[1], hidden),
        nn.ReLU(),
        nn.Linear(hidden, outputs),
    )


def _left(side: int) -> int:
    """Return what two convolutions and two pools leave of a side."""
    return ((side - 2) // 2 - 4) // 2


def started(build: Callable[[], nn.Module], seed: int | None) -> nn.Module:
    """Return what a function builds, with weights that depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(secrets.randbits(63) if seed is None else seed)
        return build()
