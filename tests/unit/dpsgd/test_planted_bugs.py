"""Bugs planted in the training path are caught by the audit; the code as it is passes.

A record looks up one row of its own in each of several tables, so that no two records touch the
same weight: every record is a run of its own, and one training gives thousands of transcripts.
The claim is taken at a delta of 0.01, where as many runs prove most of it.
Error: a bound is wrong once in a thousand at most, six of them here; the seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import dpsgd.training.gradients
import dpsgd.training.training
from dp import PrivacyLoss
from dpsgd import Plan
from dpsgd.audits import audit_transcripts
from dpsgd.training.gradients import RecordGradients
from dpsgd.training.randomness import Randomness
from dpsgd.training.sampler import draws
from dpsgd.training.training import PrivateTraining

RECORDS, TABLES, ERROR, DELTA = 20_000, 4, 1e-3, 0.01
PLAN = {
    "dataset_size": RECORDS,
    "sampling_rate": 0.3,
    "steps": 4,
    "noise_multiplier": 1.2,
    "clipping_norm": 0.5,
    "delta": 1e-5,
}


class OwnRows(nn.Module):
    """Gradients of length 10, a quarter of the square in each table."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(RECORDS, 1) for _ in range(TABLES))

    def forward(self, rows):
        return 5.0 * sum(table(rows)[:, 0] for table in self.tables)


def transcripts(is_in, *, seed):
    """Return the noisy sums along each record's gradient, over the norm: a row a record."""
    model = OwnRows()
    training = PrivateTraining(
        Plan(**PLAN, seed=seed),
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.0),
        micro_batch=RECORDS,
    )
    rows = torch.arange(RECORDS if is_in else 0)
    seen = []
    for step in range(1, PLAN["steps"] + 1):
        training.run(rows, criterion=lambda outputs: outputs, until=step)
        sums = torch.cat([p.grad for p in model.parameters()], 1) * training.plan.expected_batch
        seen.append(sums.sum(1).numpy() / (TABLES**0.5 * PLAN["clipping_norm"]))
    training.close()
    return np.column_stack(seen)


def audited(seed):
    return audit_transcripts(
        lambda _: transcripts(is_in=True, seed=seed),
        lambda _: transcripts(is_in=False, seed=seed + 1),
        sampling_rate=PLAN["sampling_rate"],
        noise_multiplier=PLAN["noise_multiplier"],
        delta=DELTA,
        runs=RECORDS,
        error=ERROR,
    )


def claimed():
    step = PrivacyLoss.gaussian(PLAN["noise_multiplier"], sampling_rate=PLAN["sampling_rate"])
    return (step * PLAN["steps"]).epsilon(DELTA)


def without_clipping(patch):
    sound = RecordGradients.clipped_sum
    patch.setattr(
        RecordGradients,
        "clipped_sum",
        lambda self, losses, *, norm, copies=1: sound(
            self, losses, norm=norm * 1e9, copies=copies
        ),
    )


def clipped_by_the_longest(patch):
    """The norm of the longest layer in place of that of the whole, which is twice as long."""
    sound = dpsgd.training.gradients._squares

    def longest(parts):
        found = sound(parts)
        share = torch.stack([*found.values()]).amax(0) / len(found)
        return dict.fromkeys(found, share)

    patch.setattr(dpsgd.training.gradients, "_squares", longest)


def less_noise(factor):
    def plant(patch):
        sound = Randomness.noise
        patch.setattr(Randomness, "noise", lambda self, size: sound(self, size) / factor)

    return plant


def larger_batches(patch):
    def drawn(plan, *, size, generator, done=0):
        wrong = Plan(**PLAN | {"sampling_rate": 0.9}, seed=plan.seed)
        return draws(wrong, size=size, generator=generator, done=done)

    patch.setattr(dpsgd.training.training, "draws", drawn)


@pytest.mark.slow
def test_the_code_as_it_is_is_not_refuted_and_the_bound_is_not_empty():
    found = audited(10)
    assert 0.6 * claimed() < found.epsilon <= claimed()


@pytest.mark.slow
@pytest.mark.parametrize(
    "plant",
    [
        without_clipping,
        clipped_by_the_longest,
        less_noise(2),
        less_noise(4),
        larger_batches,
    ],
    ids=["no clipping", "no joint clipping", "noise / 2", "noise / 4", "wrong rate"],
)
def test_a_bug_planted_in_training_is_caught(monkeypatch, plant):
    plant(monkeypatch)
    assert audited(20).refutes(1.5 * claimed())
