"""What a run does beside training: it is paid for, kept in a file, and told about."""

from __future__ import annotations

import math
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp import BudgetLedger
from dp.budget.entries import RunState
from dp.errors import BudgetSpentError
from dpsgd.accounting.cost import Sampling
from dpsgd.errors import CheckpointError, PlanError
from dpsgd.files.checkpoint import resume, save
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import StrPath
    from torch import Tensor

    from dpsgd.plan import Plan
    from dpsgd.training.training import PrivateTraining

_TELLS = 100
_PAUSE_S = 5.0  # between two saves: as much work an interruption may lose


@dataclass(slots=True, kw_only=True)
class Callbacks:
    """How a run is paid for, kept and told about.

    Parameters
    ----------
    ledger
        The budget that pays for the whole plan before the first step, or the path to it. What
        is paid stays paid, whatever becomes of the run; a run that goes on does not pay again.
    who, what
        Who trains, and what: for the ledger.
    checkpoint
        The file that keeps the run, so that it can go on after an interruption.
    is_resumed
        Go on with the run that the file keeps.
    progress
        What to call with steps taken and all steps; it learns nothing about the data.
    scheduler
        Of learning rates, in a loop: its state is kept in the file too.
    """

    ledger: BudgetLedger | StrPath | None = None
    who: str = ""
    what: str = "a model"
    checkpoint: StrPath | None = None
    is_resumed: bool = False
    progress: Callable[[int, int], None] | None = None
    scheduler: Any = None
    _about: dict[str, Any] = field(init=False)
    _saved_at: float = field(init=False)

    def __post_init__(self) -> None:
        if self.ledger is not None and not isinstance(self.ledger, BudgetLedger):
            self.ledger = BudgetLedger.open(self.ledger)
        if self.ledger is not None and not self.who.strip():
            raise PlanError(
                Message("A ledger must know who trains."), hint=Message("give who='…'")
            )
        if self.is_resumed and self.checkpoint is None:
            raise PlanError(
                Message("A run that goes on needs its file."), hint=Message("give checkpoint=…")
            )

    def take(
        self,
        training: PrivateTraining,
        *data: Tensor,
        criterion: Callable[..., Tensor],
        settings: dict[str, Any],
        prepare: Callable[[], None] | None = None,
    ) -> None:
        """Take the steps that are left; before the first, prepare what is paid for."""
        losses = training.losses_with(criterion)  # what is refused is not paid for
        training.check(*data, losses_of=losses, criterion=criterion)
        self.begin(training, settings)
        if prepare is not None and not training.steps_taken:
            training.processes.first(prepare)
            training.share_model()
        training.run(*data, criterion=criterion)

    def begin(self, training: PrivateTraining, settings: dict[str, Any]) -> None:
        """Pay, and go on where the file stands; what follows comes after each step."""
        plan = training.plan
        if self.ledger is not None and plan.is_demonstration:
            raise PlanError(
                Message("A run from a seed is no release, and no budget can pay for it."),
                hint=Message("leave the seed out, or the ledger"),
            )
        training.scheduler = self.scheduler
        training.processes.first(lambda: self._open(training, settings))
        if self.checkpoint is not None and self.is_resumed and not training.processes.is_first:
            resume(training, self.checkpoint)
        training.processes.agree({"what is resumed": training.steps_taken})
        training.share_model()
        training.after_step, training.before_batch = self._after_step, self._before_batch
        if training.steps_taken == plan.steps:
            training.processes.first(lambda: self._finish(training))

    def _open(self, training: PrivateTraining, settings: dict[str, Any]) -> None:
        self._about = self._begin(training, settings)
        self._save(training)
        self._pay(training.plan, "resumed")
        self._saved_at = time.monotonic()

    def _after_step(self, training: PrivateTraining) -> None:
        plan, done = training.plan, training.steps_taken
        if done < plan.steps and done % _every(plan):
            return
        if self.progress is not None and training.processes.is_first:
            self.progress(done, plan.steps)
        if done == plan.steps:
            training.processes.first(lambda: self._finish(training))

    def _before_batch(self, training: PrivateTraining) -> None:
        """Keep the run, where that is due: a loop has stepped its scheduler by now."""
        done = training.steps_taken
        # A file without a step holds nothing that was found: it is looked for again.
        is_due = training.processes.is_first and done and not done % _every(training.plan)
        if is_due and time.monotonic() - self._saved_at >= _PAUSE_S:
            self._save(training)
            self._saved_at = time.monotonic()

    def _finish(self, training: PrivateTraining) -> None:
        if self.checkpoint is not None:  # copies of an older state end here
            self._about = _next_state(self._about)
            self._save(training)
            self._pay(training.plan, "finished")

    def _save(self, training: PrivateTraining) -> None:
        if self.checkpoint is not None:
            save(training, self.checkpoint, about=self._about)

    def _begin(self, training: PrivateTraining, settings: dict[str, Any]) -> dict[str, Any]:
        """Return what the file says about the run, which is there before anything is paid."""
        about: dict[str, Any] = {"run": secrets.token_hex(8), "settings": settings, "held": []}
        about |= {"state": secrets.token_hex(8), "is_charged": self.ledger is not None}
        if self.checkpoint is None:
            return about
        file = Path(self.checkpoint)
        if self.is_resumed:
            about = _next_state(self._checked(resume(training, file), settings))
        elif file.exists():
            raise CheckpointError(
                Message("An interrupted run is kept in {file!r}.", file=Name(file.name)),
                hint=Message(
                    "go on with it, or remove the file and begin anew: that is paid anew"
                ),
            )
        return about

    def _checked(self, about: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
        if about.get("settings") != settings or not isinstance(about.get("run"), str):
            raise CheckpointError(
                Message("The interrupted run has other settings."),
                hint=Message("go on with the settings it began with, or begin anew"),
            )
        if about.get("is_charged") and self.ledger is None:
            raise CheckpointError(
                Message("The interrupted run is one that a ledger pays for."),
                hint=Message("name that ledger: what is paid is not paid again"),
            )
        return about

    # claim dpsgd-run-once
    def _pay(self, plan: Plan, does: str) -> None:
        """Pay for the plan, unless this very run is paid for and no copy of it went on."""
        if not isinstance(self.ledger, BudgetLedger):
            return
        about, states = self._about, tuple(self._about["held"])
        run = RunState(run=about["run"], state=about["state"], held=states, does=does)
        cost = plan.cost().guarantee
        try:
            self.ledger.spend(cost, who=self.who, what=self.what.strip(), run=run)
        except Exception as error:
            is_lost = does == "finished" and isinstance(error, BudgetSpentError)
            is_new = does == "resumed" and not self.is_resumed  # nothing was begun
            if self.checkpoint is not None and (is_lost or is_new):
                Path(self.checkpoint).unlink(missing_ok=True)
            raise
        about["held"] = []


def _next_state(about: dict[str, Any]) -> dict[str, Any]:
    """Return a state that follows; the file holds those before until the ledger knows of it."""
    states = [about.get("state", ""), *about.get("held", [])]
    return {**about, "state": secrets.token_hex(8), "held": states}


def _every(plan: Plan) -> int:
    """Return after how many steps something is told or kept."""
    size = max(1, plan.steps // _TELLS)
    if plan.sampling == Sampling.SHUFFLED:  # a pass can only be gone on with as a whole
        size = math.ceil(size / _pass(plan)) * _pass(plan)
    return size


def _pass(plan: Plan) -> int:
    return math.ceil(plan.dataset_size / round(plan.expected_batch))
