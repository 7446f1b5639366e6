"""What the package shows, and what it does not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dpsgd


@pytest.mark.slow
def test_importing_it_and_knowing_a_cost_need_no_torch():
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "opacus", "safetensors"}:
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
import dpsgd, dpsgd.audits, dpsgd.card, dpsgd.plan, dpsgd.sweeps.sweep, dpsgd.training.memory
from dpsgd.accounting import budget, choosing, claims, cost, sensitivity, shuffling
run = {"dataset_size": 1000, "sampling_rate": 0.1, "steps": 5, "delta": 1e-4}
assert dpsgd.Plan(**run, noise_multiplier=2).cost().epsilon > 0
assert budget.compute_dp_sgd_privacy(100, batch_size=10, noise_multiplier=1, epochs=1)
assert not {"torch", "opacus"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_public_names_are_sorted_and_there():
    assert dpsgd.__all__ == sorted(dpsgd.__all__)
    assert all(hasattr(dpsgd, name) for name in dpsgd.__all__)
