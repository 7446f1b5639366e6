"""Features of images that no private record shaped."""

from dpsgd.features.features import frozen_features, levelled, pretrained
from dpsgd.features.scattering import scattering_features

__all__ = ["frozen_features", "levelled", "pretrained", "scattering_features"]
