"""Attacks on membership against a training as it was planned."""

import numpy as np
import pytest

from dpsgd import DPClassifier, DPSGDError, Plan
from dpsgd.sweeps.attack import attack_training


def model(noise, size, **entries):
    plan = Plan.for_noise(
        noise,
        delta=1e-4,
        dataset_size=size,
        batch_size=size,
        steps=30,
        clipping_norm=1.0 if noise else float("inf"),
        seed=1,
    )
    return DPClassifier(plan, classes=[0, 1], learning_rate=1.0, **entries)


def test_a_plain_model_gives_its_members_away_and_a_private_one_does_not():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(150, 60)).astype(np.float32)
    y = rng.integers(0, 2, 150)  # nothing to learn but the records themselves
    done = []
    games = {
        noise: attack_training(
            model(noise, 150),
            x,
            y,
            shadows=2,
            seed=2,
            report_progress=lambda n, all_: done.append((n, all_)),
        )
        for noise in (0.0, 60.0)
    }
    assert games[0.0].attacks["loss"].auc > 0.7
    private = games[60.0]
    assert private.attacks["loss"].auc < 0.65
    assert not private.is_above
    assert private.attacks["loss"].advantage_ceiling is not None
    assert done[-1] == (3, 3)


def test_some_records_are_drawn_and_too_few_are_refused():
    x, y = np.ones((60, 2), np.float32), np.array([0, 1] * 30)
    game = attack_training(model(8.0, 60), x, y, shadows=2, most=50, seed=1)
    assert game.shadows == 2
    with pytest.raises(DPSGDError, match="50 records"):
        attack_training(model(8.0, 40), x[:40], y[:40], shadows=2)
