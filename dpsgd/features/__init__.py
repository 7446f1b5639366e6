"""Features of images that no private record shaped."""

from dpsgd.features.features import deskewed, frozen_features, levelled, pooled, pretrained
from dpsgd.features.images import ImageForm
from dpsgd.features.scattering import scattering_features
from dpsgd.features.strokes import stroke_images

__all__ = [
    "ImageForm",
    "deskewed",
    "frozen_features",
    "levelled",
    "pooled",
    "pretrained",
    "scattering_features",
    "stroke_images",
]
