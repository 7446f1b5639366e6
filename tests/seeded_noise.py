"""Fits that name no noise draw it from seeds here: what a test sees once, it sees always.

That noise from the operating system runs as well is seen by tests that name `SecureNoise`, and
by those of pages and of releases.
"""

import itertools

import pytest

import synth.marginals.engine
import synth.synthesizer
import synth.vine.engine
from synth import SimulatedNoise


@pytest.fixture(autouse=True)
def noise_from_seeds(monkeypatch):
    """Put the seeds 1, 2, 3 of a test in the place of the operating system."""
    seeds = itertools.count(1)

    class SeededNoise(SimulatedNoise):
        label = "secure"  # what certificates say of it is tested, too

        def __init__(self):
            super().__init__(seed=next(seeds))

    for module in (synth.marginals.engine, synth.synthesizer, synth.vine.engine):
        monkeypatch.setattr(module, "SecureNoise", SeededNoise)
