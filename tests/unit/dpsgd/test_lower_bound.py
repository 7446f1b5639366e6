"""Training itself, many times over: what an attacker proves comes close to what is claimed."""

from __future__ import annotations

import math
from itertools import count

import numpy as np
import pytest
import torch
from torch import nn

from dp.auditor import audit
from dpsgd import Plan, PrivateTraining

#: Half of a small file in each batch; the delta is large, so that few runs can prove much.
RUN = {
    "dataset_size": 8, "sampling_rate": 0.5, "steps": 4, "noise_multiplier": 1.7,
    "delta": 0.01, "clipping_norm": 1.0,
}  # fmt: skip
RUNS = 15_000  # in each of two worlds; an event is chosen on half of them
#: Records whose gradients do not meet that of the one who takes part or not.
OTHERS = torch.tensor([[0.0, 1.0]] * 3)
ONE = torch.tensor([[1.0, 0.0]])


def evidence(records, seed):
    """Return the log-likelihood ratio of the steps of a run: all that it tells."""
    plan = Plan(**RUN, seed=seed)
    model = nn.Linear(2, 1, bias=False)
    training = PrivateTraining(
        plan,
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        self_test=False,
    )
    rate, noise = plan.sampling_rate, plan.gradient_noise * plan.clipping_norm
    before, ratio = float(model.weight.detach()[0, 0]), 0.0
    for rows in training.draws(len(records)):
        for piece in training.pieces(rows, records):
            training.accumulate(model(piece[0])[:, 0])
        training.step()
        after = float(model.weight.detach()[0, 0])
        total, before = (before - after) * plan.expected_batch, after
        ratio += math.log(1 - rate + rate * math.exp((total - 0.5) / noise**2))
    training.close()
    return ratio


@pytest.mark.long
def test_runs_of_training_prove_three_fifths_of_the_epsilon_that_is_claimed():
    seeds = count(1)  # a set of runs that anyone can repeat: no chance of another outcome

    def world(records):
        return lambda runs: np.array([evidence(records, next(seeds)) for _ in range(runs)])

    claim = Plan(**RUN).cost().epsilon
    result = audit(
        world(torch.cat([OTHERS, ONE])),
        world(OTHERS),
        runs=RUNS,
        delta=RUN["delta"],
        error=0.01,
    )
    assert 0.6 * claim <= result.epsilon <= claim
