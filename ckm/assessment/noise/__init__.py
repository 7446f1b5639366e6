"""Noise as designed beside noise as drawn."""
