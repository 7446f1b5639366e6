"""Features of images that no private record shaped."""

from dpsgd.features.features import deskewed, frozen_features, levelled, pretrained
from dpsgd.features.scattering import scattering_features

__all__ = ["deskewed", "frozen_features", "levelled", "pretrained", "scattering_features"]
