"""Features of images that nobody has to learn: wavelets, moduli, averages.

They are the same for all data, so that they cost nothing; a private linear model on them
needs far less noise than a private network.
"""

import math
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional

from dpsgd.errors import TrainingDataError
from footing.messages import Argument, Message

_SIDE = 32
_HALF = _SIDE // 2
_ANGLES = 8
_GROUPS = 27
_AVERAGES = 64
#: Features of an image.
WIDTH = (1 + 2 * _ANGLES + _ANGLES**2) * _AVERAGES
# Few enough for what lies between to stay near the processor.
_PIECE = 16


def scattering_features(images: Tensor, *, piece: int = _PIECE) -> Tensor:
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
    if images.dim() != 3 or max(images.shape[1:]) > _SIDE:
        raise TrainingDataError(
            Message(
                "Images must be (images, height, width) of at most {side} x {side}, not of "
                "shape {tuple}.",
                side=_SIDE,
                tuple=Argument(tuple(images.shape)[1:]),
            ),
            hint=Message("make them grey and smaller"),
        )
    filters = _filters(images.device)
    output = torch.empty(len(images), WIDTH)
    output = output.to(images.device)
    with torch.no_grad():
        for start in range(0, len(images), piece):
            part = images[start : start + piece].float()
            output[start : start + piece] = _features(part, filters)
    return output


@dataclass(frozen=True, slots=True, kw_only=True)
class _Filters:
    """The wavelets as spectra, the averages as matrices: on every fourth, every second."""

    fine: Tensor
    coarse: Tensor
    quarter: Tensor
    half: Tensor


@cache
def _filters(device: torch.device) -> _Filters:
    coarse = torch.stack([_wavelet(1, a) for a in range(_ANGLES)])
    low = _gauss(1.6)
    half_low = _blocks(low, 2).mean((-4, -2)) * 4  # the filter on the coarser grid
    return _Filters(
        fine=torch.stack([_wavelet(0, a) for a in range(_ANGLES)]).to(device),
        # Twice each, for real and imaginary parts; a mean over four blocks will be a sum.
        coarse=_quarters(torch.complex(coarse, coarse) / 4).to(device),
        quarter=_averages(low, 4).to(device),
        half=_averages(half_low, 2).to(device),
    )


def _features(images: Tensor, filters: _Filters) -> Tensor:
    high, wide = _SIDE - images.shape[1], _SIDE - images.shape[2]
    around = (wide // 2, wide - wide // 2, high // 2, high - high // 2)
    square = functional.pad(images, around)[:, None]
    spectrum = torch.fft.fft2(square)
    first = _modulus(torch.fft.ifft2(spectrum * filters.fine))
    spectra = torch.fft.fft2(first.to(torch.complex64))
    second = _coarse(spectrum, filters.coarse)
    third = _coarse(spectra, filters.coarse)
    maps = [
        square.flatten(2) @ filters.quarter,
        first.flatten(2) @ filters.quarter,
        torch.cat([second, third], 1).flatten(2) @ filters.half,
    ]
    normed = functional.group_norm(torch.cat(maps, 1), _GROUPS, eps=1e-6)
    return functional.normalize(normed.flatten(1))


def _coarse(spectra: Tensor, coarse: Tensor) -> Tensor:
    """Return the moduli of coarse wavelet transforms on every second pixel."""
    quarters = _quarters(spectra)[:, :, None]
    total = quarters[..., 0, :] * coarse[:, 0]
    for number in range(1, 4):
        total.addcmul_(quarters[..., number, :], coarse[:, number])
    folded = torch.view_as_complex(total.flatten(1, 2).unflatten(-1, (_HALF, _HALF, 2)))
    return _modulus(torch.fft.ifft2(folded))


def _modulus(numbers: Tensor) -> Tensor:
    parts = torch.view_as_real(numbers)
    # Several times as fast as abs(), which guards against overflow.
    modulus: Tensor = parts[..., 0].square().add_(parts[..., 1].square()).sqrt_()
    return modulus


def _quarters(spectra: Tensor) -> Tensor:
    """Return (…, 4 blocks of a spectrum, their numbers as pairs of reals)."""
    blocks = _blocks(spectra, 2).transpose(-3, -2)
    return torch.view_as_real(blocks.flatten(-2).flatten(-3, -2)).flatten(-2)


def _blocks(spectra: Tensor, factor: int) -> Tensor:
    side = spectra.shape[-1] // factor
    blocks: Tensor = spectra.unflatten(-1, (factor, side)).unflatten(-3, (factor, side))
    return blocks


def _averages(low: Tensor, step: int) -> Tensor:
    """Return the matrix that smooths a map and keeps every step-th pixel."""
    side = low.shape[-1]
    points = torch.eye(side**2).unflatten(1, (side, side))
    smooth = torch.fft.ifft2(torch.fft.fft2(points) * low).real
    matrix: Tensor = smooth[:, ::step, ::step].flatten(1).contiguous()
    return matrix


def _grid() -> tuple[Tensor, Tensor]:
    axis = torch.arange(_SIDE, dtype=torch.float64)
    axis = torch.where(axis >= _SIDE / 2, axis - _SIDE, axis)
    rows, columns = torch.meshgrid(axis, axis, indexing="ij")
    return rows, columns


def _gauss(width: float) -> Tensor:
    rows, columns = _grid()
    bump = torch.exp(-(rows**2 + columns**2) / (2 * width**2))
    spectrum: Tensor = torch.fft.fft2(bump / bump.sum()).real.float()
    return spectrum


def _wavelet(scale: int, angle: int) -> Tensor:
    width, waves = 0.8 * 2**scale, 0.75 * math.pi / 2**scale
    slant, turn = 4 / _ANGLES, math.pi * angle / _ANGLES
    rows, columns = _grid()
    along = rows * math.cos(turn) + columns * math.sin(turn)
    across = columns * math.cos(turn) - rows * math.sin(turn)
    bump = torch.exp(-(along**2 + (slant * across) ** 2) / (2 * width**2))
    wave = bump * torch.exp(1j * waves * along)
    wave = wave - bump * (wave.sum() / bump.sum())  # blind to what is even
    spectrum: Tensor = torch.fft.fft2(wave / bump.sum()).real.float()
    return spectrum
