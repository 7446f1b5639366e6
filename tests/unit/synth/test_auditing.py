"""The audit: sound on the engine, and able to see a fault."""

import numpy as np
import pytest

from bench.synth_audit import audit_engine
from synth import SimulatedNoise, SynthError


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "records"), [(8.0, 1), (1.0, 8)])
def test_the_engine_passes_and_the_audit_is_not_blind(epsilon, records):
    """A sound engine is refuted with a chance of far less than 0.05; the seed is fixed."""
    found = audit_engine(epsilon=epsilon, runs=200, noise=SimulatedNoise(seed=1))
    assert not found.refutes
    assert found.records == records
    assert found.error == 0.05
    assert 0.8 * epsilon < found.measured < epsilon
    assert found.found > 0.6 * found.measured


class _Weak(SimulatedNoise):
    """A source of noise that adds a fifth of what it should."""

    def add(self, counts, mechanism):
        noisy = super().add(np.zeros_like(counts), mechanism)
        return counts + np.rint(noisy / 5).astype(np.int64)


@pytest.mark.slow
def test_too_little_noise_is_found_out():
    assert audit_engine(epsilon=1.0, runs=150, noise=_Weak(seed=1)).refutes


def test_an_audit_needs_runs():
    with pytest.raises(SynthError, match="20 runs"):
        audit_engine(runs=5)
