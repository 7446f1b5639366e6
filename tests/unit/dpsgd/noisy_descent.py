"""A small DP-SGD of the tests' own, with faults that can be planted."""

from __future__ import annotations

import numpy as np


def transcripts(
    runs, *, steps, rate, sigma, with_canary, generator, true_rate=None, clips=True, noise=1.0
):
    """Noisy sums along the canary's gradient, whose length is 5, clipped to 1."""
    joins = generator.random((runs, steps)) < (rate if true_rate is None else true_rate)
    size = 1.0 if clips else 5.0
    drawn = generator.normal(0, noise * sigma, (runs, steps))
    return drawn + size * joins * with_canary


def logistic_descent(rows, labels, *, steps, rate, sigma, norm, size, generator, noise=1.0):
    """Train a logistic regression; return its weights."""
    weights = np.zeros(rows.shape[1])
    for _ in range(steps):
        chosen = generator.random(len(rows)) < rate
        x, y = rows[chosen], labels[chosen]
        gradients = (1 / (1 + np.exp(-np.clip(x @ weights, -30, 30))) - y)[:, None] * x
        lengths = np.linalg.norm(gradients, axis=1)
        clipped = gradients * np.minimum(1, norm / np.maximum(lengths, 1e-12))[:, None]
        drawn = generator.normal(0, sigma * norm * noise, weights.shape)
        weights -= size * (clipped.sum(axis=0) + drawn) / (rate * len(rows))
    return weights


def cross_entropies(weights, rows, labels):
    z = np.clip(rows @ weights, -30, 30)
    return np.logaddexp(0, z) - labels * z
