"""Made-up strokes of a pen: images of nobody, of a kind with handwriting."""

import torch
from torch import Tensor

from dpsgd.errors import TrainingDataError
from footing.checks import require_integer

_POINTS = 24  # along each curve
_CURVES = 4  # at most, in one image
_TURN = 0.8  # standard deviation of the turn from curve to curve, in radians
_MARGIN = 1 / 7  # of the side, empty around what is written
_PIECE = 256


def stroke_images(number: int, *, side: int = 28, seed: int = 0) -> Tensor:
    """Return images of random strokes, as (images, side, side); numbers from 0 to 1.

    They stand in for public images where there are none: `levelled` takes from them which
    directions of features are common to all that is written. No record and no collection of
    images went into them.

    Parameters
    ----------
    number
        How many.
    side
        Of each image.
    seed
        The same images for the same seed.

    Notes
    -----
    An image has one to four curves of second order. Each begins at the end of the last one, or
    anywhere in one case of three; the whole is stretched to a box within a margin, as scanned
    letters are, and its lines are between 1/20 and 1/9 of the box wide.

    Examples
    --------
    >>> images = stroke_images(2)
    >>> images.shape, bool((images.amax((1, 2)) > 0.9).all()), float(images[:, 0, 0].max())
    (torch.Size([2, 28, 28]), True, 0.0)
    """
    require_integer(number, "number", error=TrainingDataError, minimum=1)
    require_integer(side, "side", error=TrainingDataError, minimum=8)
    chance = torch.Generator().manual_seed(seed)
    pieces = [
        _drawn(size, side=side, chance=chance)
        for size in [_PIECE] * (number // _PIECE) + [number % _PIECE]
        if size
    ]
    return torch.cat(pieces)


def _drawn(number: int, *, side: int, chance: torch.Generator) -> Tensor:
    points, is_drawn = _curves(number, chance)
    centre, extent = _boxes(points, is_drawn)
    box = side * (1 - 2 * _MARGIN)
    aspect = 0.35 + 0.65 * torch.rand(number, 1, 1, generator=chance)
    extent = torch.cat(
        [torch.maximum(extent[..., :1], aspect * extent[..., 1:]), extent[..., 1:]], 2
    )
    places = (points - centre) / extent.amax(2, keepdim=True) * (box - 2) + (side - 1) / 2
    width = box * (0.05 + 0.06 * torch.rand(number, 1, generator=chance)) / 2
    axis = torch.arange(side, dtype=torch.float32)
    nearest = torch.full((number, side * side), torch.inf)
    for place in range(points.shape[1]):  # the distance of each pixel from the nearest point
        across = (axis - places[:, place, :1]).square()[:, None, :]
        along = (axis - places[:, place, 1:]).square()[:, :, None]
        distance = (across + along).flatten(1)
        mask = is_drawn[:, place, None]
        nearest = torch.where(mask, torch.minimum(nearest, distance), nearest)
    ink = (width + 0.5 - nearest.sqrt()).clamp(0, 1)
    ink = ink / ink.amax(1, keepdim=True).clamp(min=1e-6)
    images: Tensor = ink.unflatten(1, (side, side))
    return images


def _curves(number: int, chance: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return points along random curves, and which of them are drawn."""
    many = torch.randint(1, _CURVES + 1, (number,), generator=chance)
    share = torch.linspace(0, 1, _POINTS)[None, :, None]
    start = torch.randn(number, 1, 2, generator=chance)
    angle = 2 * torch.pi * torch.rand(number, generator=chance)
    points = []
    for _ in range(_CURVES):
        is_apart = torch.rand(number, 1, 1, generator=chance) < 1 / 3
        start = torch.where(is_apart, torch.randn(number, 1, 2, generator=chance), start)
        corners = [start]
        for _ in range(2):
            angle = angle + _TURN * torch.randn(number, generator=chance)
            length = 0.4 + 1.2 * torch.rand(number, generator=chance)
            way = torch.stack([angle.cos(), angle.sin()], 1) * length[:, None]
            corners.append(corners[-1] + way[:, None])
        first, middle, last = corners
        points.append(
            (1 - share) ** 2 * first + 2 * share * (1 - share) * middle + share**2 * last
        )
        start = last
    is_drawn = (torch.arange(_CURVES) < many[:, None]).repeat_interleave(_POINTS, 1)
    return torch.cat(points, 1), is_drawn


def _boxes(points: Tensor, is_drawn: Tensor) -> tuple[Tensor, Tensor]:
    """Return the middle and the sides of the box around what is drawn."""
    mask = is_drawn[..., None]
    low = torch.where(mask, points, torch.inf).amin(1, keepdim=True)
    high = torch.where(mask, points, -torch.inf).amax(1, keepdim=True)
    return (low + high) / 2, (high - low).clamp(min=1e-3)
