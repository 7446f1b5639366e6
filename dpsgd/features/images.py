"""Images as a training file declares them: their form, and what a network sees of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from dpsgd.errors import PlanError, TrainingDataError
from dpsgd.features.features import deskewed, levelled, pooled
from dpsgd.features.scattering import WIDTH, scattering_features
from dpsgd.features.strokes import stroke_images
from dpsgd.networks import image_network, linear_network
from footing.checks import require_integer
from footing.messages import Message, Name, Shape

#: What is trained on images: the usual small network of convolutions, a head on fixed wavelets,
#: a head on features that were made elsewhere.
NETWORKS = ("convolutions", "scattering", "features")
_LARGEST_SIDE = 1 << 14
_STROKES = 2000
_LEAST = 0.01  # of the variance of an axis, see `levelled`
_LENGTH = 10.0  # long, so that the bias takes little of the clipping norm
_GREY = (0.299, 0.587, 0.114)  # of red, green and blue, by Rec. 601
_HIDDEN = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageForm:
    """The form of images, declared before anybody looks at them, and what is made of them.

    Parameters
    ----------
    height, width
        Of every image, in pixels. Rows of features have height 1 and their number as width.
    channels
        1 for grey, 3 for red, green and blue.
    factor
        By what sides are divided; each pixel is then the mean of a square.
    network
        ``"convolutions"``, the usual small network; ``"scattering"``, a head on fixed wavelet
        features of grey images of at most 32 x 32; ``"features"``, a head on the numbers as
        they are, each record scaled to one length.
    is_deskewed
        Shear and centre each image by its own moments: for digits and letters.
    is_levelled
        Level wavelet features by those of made-up strokes: for what is written or drawn.

    Examples
    --------
    >>> form = ImageForm(height=28, width=28, network="convolutions", factor=2)
    >>> form.prepared(np.zeros((5, 28, 28), np.uint8)).shape
    torch.Size([5, 1, 14, 14])
    """

    height: int
    width: int
    channels: int = 1
    factor: int = 1
    network: str = "scattering"
    is_deskewed: bool = False
    is_levelled: bool = False

    def __post_init__(self) -> None:
        for name in ("height", "width"):
            require_integer(
                getattr(self, name), name, error=PlanError, minimum=1, maximum=_LARGEST_SIDE
            )
        if self.channels not in (1, 3):
            raise PlanError(Message("Images have 1 channel, grey, or 3 of colour."))
        require_integer(
            self.factor,
            "factor",
            error=PlanError,
            minimum=1,
            maximum=min(self.height, self.width),
        )
        if self.network not in NETWORKS:
            raise PlanError(
                Message("Unknown network {network!r}.", network=Name(self.network)),
                hint=Message("known: {networks}", networks=Name.each(NETWORKS)),
            )
        if self.network == "features" and (self.factor > 1 or self.is_deskewed):
            raise PlanError(
                Message("Features that were made elsewhere are taken as they are."),
                hint=Message("leave out factor and deskewing, or take another network"),
            )
        if self.is_levelled and self.network != "scattering":
            raise PlanError(Message("Only scattering features are levelled."))
        if self.network == "scattering" and max(self.sides) > 32:
            raise PlanError(
                Message(
                    "Scattering takes images of at most 32 x 32, not {height} x {width}.",
                    height=self.sides[0],
                    width=self.sides[1],
                ),
                hint=Message("divide the sides: factor = {factor}", factor=self._fitting()),
            )

    def _fitting(self) -> int:
        return math.ceil(max(self.height, self.width) / 32)

    @property
    def sides(self) -> tuple[int, int]:
        """Height and width of what is trained on."""
        return self.height // self.factor, self.width // self.factor

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one image in a file."""
        sides = (self.height, self.width)
        return sides if self.channels == 1 else (*sides, self.channels)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of what the network reads of one image."""
        if self.network == "convolutions":
            return (self.channels, *self.sides)
        return (WIDTH if self.network == "scattering" else math.prod(self.shape),)

    @classmethod
    def of(cls, form: Self | Mapping[str, Any]) -> Self:
        """Return the form, which may be a mapping of its entries."""
        if isinstance(form, cls):
            return form
        names = {field.name for field in fields(cls)}
        if not isinstance(form, Mapping) or not {"height", "width"} <= set(form) <= names:
            raise PlanError(
                Message("The form of images has a height, a width, and nothing unknown."),
                hint=Message("known: {names}", names=Name.each(sorted(names))),
            )
        return cls(**form)

    def checked(self, images: NDArray[Any]) -> NDArray[Any]:
        """Refuse what is not of the form, by its shape and type alone."""
        array = np.asarray(images)
        shape = self.shape
        ways = {shape, (*shape, 1)} if self.channels == 1 else {shape}
        if self.height == self.channels == 1:  # rows of features
            ways.add((self.width,))
        fits = array.shape[1:] in ways
        if array.ndim < 2 or not fits or array.dtype.kind not in "buif":
            raise TrainingDataError(
                Message(
                    "Images must be numbers of shape (images, {form}), not {kind} of shape "
                    "(images, {shape}).",
                    form=Shape(shape),
                    kind=Shape(array.dtype),
                    shape=Shape(array.shape[1:]),
                ),
                hint=Message("height, width and channels declare it"),
            )
        return array.reshape(len(array), *shape)

    def prepared(self, images: NDArray[Any]) -> Tensor:
        """Return what the network reads of images: nothing of one depends on another.

        Whole numbers are taken for 0 to 255, others for 0 to 1; what lies beyond is moved to
        the bound. Features that were made elsewhere are taken as they are.
        """
        array = self.checked(images)
        pixels = torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
        if self.network == "features":
            return _lengthened(pixels.flatten(1))
        if array.dtype.kind in "ui":
            pixels = pixels / 255
        pixels = pixels.clamp(0, 1)
        if self.factor > 1:
            pixels = torch.from_numpy(pooled(pixels.numpy(), self.factor))
        if self.channels == 3:
            pixels = pixels.permute(0, 3, 1, 2)
        if self.network == "convolutions":
            return self._planes(pixels)
        if self.channels == 3:
            pixels = torch.einsum("nchw,c->nhw", pixels, torch.tensor(_GREY))
        features = scattering_features(deskewed(pixels) if self.is_deskewed else pixels)
        if self.is_levelled:
            public = _strokes(*self.sides, is_deskewed=self.is_deskewed)
            features = levelled(features, public=public, least=_LEAST)
        return _lengthened(features)

    def _planes(self, pixels: Tensor) -> Tensor:
        planes = pixels if self.channels == 3 else pixels[:, None]
        if not self.is_deskewed:
            return planes.contiguous()
        return torch.stack([deskewed(plane) for plane in planes.unbind(1)], 1)

    def build(self, inputs: int, outputs: int, *, hidden: Sequence[int] = ()) -> nn.Module:
        """Return the network that is trained, for so many inputs and classes."""
        if self.network != "convolutions":
            return linear_network(inputs, outputs, hidden=hidden)
        if len(hidden) > 1:
            raise PlanError(
                Message("The network of convolutions has one hidden layer."),
                hint=Message("hidden = [32] is usual"),
            )
        (units,) = hidden or (_HIDDEN,)
        return image_network(outputs, shape=(inputs, *self.sides), hidden=units)


def _lengthened(features: Tensor) -> Tensor:
    return functional.normalize(features) * _LENGTH


@cache
def _strokes(height: int, width: int, *, is_deskewed: bool) -> Tensor:
    """Return wavelet features of made-up strokes, which level those of images."""
    images = stroke_images(_STROKES, side=max(8, height, width))
    images = functional.interpolate(images[:, None], size=(height, width), mode="area")[:, 0]
    return scattering_features(deskewed(images) if is_deskewed else images)
