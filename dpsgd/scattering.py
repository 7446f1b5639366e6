"""Features of images that nobody has to learn: wavelets, moduli, averages.

They are the same for all data, so that they cost nothing; a private linear model on them
needs far less noise than a private network.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["scattering_features"]

_SIDE = 32
_ANGLES = 8
_CHANNELS = 1 + 2 * _ANGLES + _ANGLES**2
_GROUPS = 27


def scattering_features(images: Tensor, *, piece: int = 256) -> Tensor:
    """Return 5,184 features for each image, normed image by image.

    Parameters
    ----------
    images
        Grey images of at most 32 x 32, as (images, height, width); numbers from 0 to 1.
    piece
        Images in memory at once.

    Notes
    -----
    Two scales and eight directions: averages of the image, of the moduli of its wavelet
    transforms, and of the moduli of the fine ones transformed again. 81 maps of 8 x 8, normed
    in 27 groups, and scaled to length one.

    References
    ----------
    Bruna and Mallat 2013. Tramèr and Boneh 2021 train private linear models on them.

    Examples
    --------
    >>> found = scattering_features(torch.rand(2, 28, 28))
    >>> found.shape, bool((found.norm(dim=1) - 1).abs().max() < 1e-3)
    (torch.Size([2, 5184]), True)
    """
    fine = torch.stack([_wavelet(0, a) for a in range(_ANGLES)])
    coarse = torch.stack([_wavelet(1, a) for a in range(_ANGLES)])
    low = _gauss(1.6)
    with torch.no_grad():
        found = [_maps(part, fine, coarse, low) for part in images.float().split(piece)]
    return torch.cat(found)


def _maps(images: Tensor, fine: Tensor, coarse: Tensor, low: Tensor) -> Tensor:
    high, wide = _SIDE - images.shape[1], _SIDE - images.shape[2]
    around = (wide // 2, wide - wide // 2, high // 2, high - high // 2)
    spectrum = torch.fft.fft2(functional.pad(images, around))[:, None]
    half_low = _folded(low, 2) * 4  # the spectrum of the filter on the coarser grid
    first = torch.fft.fft2(torch.fft.ifft2(spectrum * fine).abs())
    second = torch.fft.fft2(torch.fft.ifft2(_folded(spectrum * coarse, 2)).abs())
    again = _folded(first[:, :, None] * coarse, 2).flatten(1, 2)
    third = torch.fft.fft2(torch.fft.ifft2(again).abs())
    maps = [
        _smooth(spectrum * low, 4),
        _smooth(first * low, 4),
        _smooth(torch.cat([second, third], 1) * half_low, 2),
    ]
    normed = functional.group_norm(torch.cat(maps, 1), _GROUPS, eps=1e-6)
    scaled: Tensor = functional.normalize(normed.flatten(1))
    return scaled


def _smooth(spectrum: Tensor, factor: int) -> Tensor:
    smooth: Tensor = torch.fft.ifft2(_folded(spectrum, factor)).real
    return smooth


def _folded(spectrum: Tensor, factor: int) -> Tensor:
    """Return the spectrum of every factor-th pixel."""
    side = spectrum.shape[-1] // factor
    blocks = spectrum.unflatten(-1, (factor, side)).unflatten(-3, (factor, side))
    folded: Tensor = blocks.mean((-4, -2))
    return folded


def _grid() -> tuple[Tensor, Tensor]:
    axis = torch.arange(_SIDE, dtype=torch.float64)
    axis = torch.where(axis >= _SIDE / 2, axis - _SIDE, axis)
    rows, columns = torch.meshgrid(axis, axis, indexing="ij")
    return rows, columns


def _gauss(width: float) -> Tensor:
    rows, columns = _grid()
    bump = torch.exp(-(rows**2 + columns**2) / (2 * width**2))
    found: Tensor = torch.fft.fft2(bump / bump.sum()).real.float()
    return found


def _wavelet(scale: int, angle: int) -> Tensor:
    width, waves = 0.8 * 2**scale, 0.75 * math.pi / 2**scale
    slant, turn = 4 / _ANGLES, math.pi * angle / _ANGLES
    rows, columns = _grid()
    along = rows * math.cos(turn) + columns * math.sin(turn)
    across = columns * math.cos(turn) - rows * math.sin(turn)
    bump = torch.exp(-(along**2 + (slant * across) ** 2) / (2 * width**2))
    wave = bump * torch.exp(1j * waves * along)
    wave = wave - bump * (wave.sum() / bump.sum())  # blind to what is even
    found: Tensor = torch.fft.fft2(wave / bump.sum()).real.float()
    return found
