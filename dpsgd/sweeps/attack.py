"""Attacks on membership against a training as it was planned."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dp import Adjacency
from dpsgd.audits.bounds import Ceiling
from dpsgd.audits.game import MembershipGame, membership_game
from dpsgd.errors import DPSGDError
from dpsgd.estimators import DPClassifier
from dpsgd.plan import Plan
from dpsgd.training.callbacks import Callbacks
from footing.messages import Message


def attack_training(
    model: DPClassifier,
    table: Any,
    y: Any = None,
    *,
    shadows: int = 16,
    most: int | None = None,
    seed: int | None = None,
    report_progress: Callable[[int, int], None] | None = None,
) -> MembershipGame:
    """Train as planned on random halves of the records, and let attackers tell them apart.

    Each training has the batch rate, the noise and the steps of the plan. Where neighbours
    differ by one record, a coin is thrown for each, and the number that scales the gradients is
    half of all; where they have equal size, that of the half is public. So each costs what the
    plan costs, and the plan's ceiling holds for the attacks.

    Parameters
    ----------
    model
        Not trained; its plan and settings are tried.
    table, y
        Records, as for `DPClassifier.fit`.
    shadows
        How many models the attacker trains.
    most
        How many records, drawn at random; None for all.
    seed
        Of the draws of records; the noise is drawn as the plan says.
    report_progress
        Called with trainings done, and all.
    """
    x, goal = model.check(table, y)
    generator = np.random.default_rng(seed)
    rows = np.arange(len(x))
    if most is not None and most < len(rows):
        rows = np.sort(generator.choice(rows, most, replace=False))
    if len(rows) < _LEAST:
        raise DPSGDError(
            Message("An attack needs {least} records or more.", least=_LEAST),
            hint=Message("on fewer its figures say nothing"),
        )
    plan, done = model.plan, 0
    is_exact = plan.adjacency != Adjacency.ADD_REMOVE
    expected = max(1, round(len(rows) * (1 - _POPULATION) / 2))

    def fit(chosen: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
        nonlocal done
        trained = type(model)(
            **model.get_params()
            | {"plan": _of_size(plan, len(chosen) if is_exact else expected, done)}
        )
        trained._fit(x[chosen], goal[chosen], callbacks=Callbacks())  # noqa: SLF001
        done += 1
        if report_progress is not None:
            report_progress(done, shadows + 1)

        def losses(asked: NDArray[Any]) -> NDArray[Any]:
            with torch.no_grad():
                pieces = [
                    trained._losses(trained.network_(x[part]), goal[part])  # noqa: SLF001
                    for part in torch.from_numpy(asked).split(4096)
                ]
            return torch.cat(pieces).numpy().astype(np.float64)

        return losses

    ceiling = None
    if plan.noise_multiplier:
        ceiling = Ceiling(epsilon=plan.cost().epsilon, delta=plan.delta)
    return membership_game(
        fit, rows, generator=generator, shadows=shadows, population=_POPULATION,
        ceiling=ceiling, is_exact_half=is_exact,
    )  # fmt: skip


_LEAST, _POPULATION = 50, 0.2


def _of_size(plan: Plan, size: int, number: int) -> Plan:
    """Return the plan for another number of records, with the same cost or less."""
    seed = None if plan.seed is None else plan.seed + number
    batch = max(1, int(plan.sampling_rate * size))  # whole, for batches of a set size
    rate = plan.sampling_rate if plan.sampling == "poisson" else batch / size
    return replace(plan, dataset_size=size, sampling_rate=rate, seed=seed, epsilon=None)
