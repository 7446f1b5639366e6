"""Distributions of counts and of noise."""
