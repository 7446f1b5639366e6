"""Noise, randomised response and private choice."""
