"""The audit: sound on the engine, and able to see a fault."""

import numpy as np
import pytest

from synth import SimulatedNoise, SynthError
from synth.auditing import audit_engine


def test_the_engine_passes_and_the_audit_is_not_blind():
    found = audit_engine(epsilon=8.0, runs=250, noise=SimulatedNoise(seed=1))
    assert not found.refutes
    assert 0.8 * 8 < found.measured < 8
    assert found.found > 0.4 * found.measured


class _Weak(SimulatedNoise):
    """A source of noise that adds a fifth of what it should."""

    def add(self, counts, mechanism):
        noisy = super().add(np.zeros_like(counts), mechanism)
        return counts + np.rint(noisy / 5).astype(np.int64)


def test_too_little_noise_is_found_out():
    assert audit_engine(epsilon=1.0, runs=150, noise=_Weak(seed=1)).refutes


def test_an_audit_needs_runs():
    with pytest.raises(SynthError, match="20 runs"):
        audit_engine(runs=5)
