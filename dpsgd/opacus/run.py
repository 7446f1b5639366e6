"""A run of Opacus that keeps a plan: what was drawn, what is due, how far it is."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

from opacus.utils.uniform_sampler import UniformWithReplacementSampler

from dpsgd.errors import BudgetEndedError, DPSGDError, PlanError
from dpsgd.training.randomness import Randomness
from dpsgd.training.sampler import draws
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpsgd.plan import Plan
    from dpsgd.training.guard import Guard


class PlannedRun:
    """The plan of a run, its chance, and the batches that were drawn and not stepped on.

    Parameters
    ----------
    plan
        The plan.
    size
        Number of records.
    """

    def __init__(self, plan: Plan, *, size: int) -> None:
        self.plan, self.size = plan, size
        self.randomness = Randomness(plan.seed)
        self.steps_taken = 0
        self.due: deque[int] = deque()  # sizes of batches that were drawn, in their order
        self.rows = 0
        #: How often a record was left out, since its gradient was not finite: a statistic
        #: without noise, for whoever may see the records.
        self.left_out = 0
        self.guard: Guard
        #: Forgets what pieces of a batch have added up that was broken off.
        self.forget: Callable[[], None] = lambda: None

    def require_step(self) -> None:
        """Refuse a step after the last, or on another batch than the one that is due."""
        if self.steps_taken >= self.plan.steps:
            raise BudgetEndedError(
                Message("All {steps} steps of the plan are taken.", steps=self.plan.steps),
                hint=Message("keep the model as it is, or make a new plan and charge it anew"),
            )
        rows, self.rows = self.rows, 0
        if not self.due or self.due.popleft() != rows:
            raise DPSGDError(
                Message("A step takes the batch that the plan drew, whole and once."),
                hint=Message(
                    "take batches from the loader that make_private gave, one optimizer.step() "
                    "for each; BatchMemoryManager cuts them into pieces"
                ),
            )

    def require_settings(self, **settings: float) -> None:
        """Refuse noise or norms that a scheduler, or a line of the loop, has changed."""
        plan = {
            "noise_multiplier": self.plan.noise_multiplier,
            "max_grad_norm": self.plan.clipping_norm,
        }
        for name, value in settings.items():
            if not math.isclose(value, plan[name], rel_tol=1e-6):
                raise PlanError(
                    Message(
                        "{name} was changed after make_private: the plan has another, and the "
                        "account counts on it.",
                        name=Name(name),
                    ),
                    hint=Message("leave schedulers of noise and of clipping norms out"),
                )

    def take(self) -> None:
        """Count a step, before it is taken: no failure can hide one."""
        self.steps_taken += 1


class PlannedSampler(UniformWithReplacementSampler):  # type: ignore[misc]
    """The batches of one pass at a time, drawn as the plan says, until it ends."""

    def __init__(self, run: PlannedRun) -> None:
        rate = run.plan.sampling_rate
        passes = math.ceil(1 / rate * (1 - 1e-12))
        super().__init__(num_samples=run.plan.dataset_size, sample_rate=rate, steps=passes)
        self.run = run

    def __iter__(self) -> Iterator[list[int]]:
        run = self.run
        run.rows = 0
        run.due.clear()  # of a pass that was broken off
        run.forget()
        if run.steps_taken >= run.plan.steps:
            run.require_step()  # says that the plan has ended
        batches = draws(
            run.plan, size=run.size, generator=run.randomness.draws, done=run.steps_taken
        )
        left = len(self) - run.steps_taken % len(self)
        for _ in range(min(left, run.plan.steps - run.steps_taken)):
            rows = next(batches)
            run.due.append(len(rows))
            run.guard.begin()
            yield rows.tolist()
