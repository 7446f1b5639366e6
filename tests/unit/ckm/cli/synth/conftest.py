"""Fits here draw noise from seeds."""

from tests.seeded_noise import noise_from_seeds

__all__ = ["noise_from_seeds"]
