"""The account of a plan, in the place of an accountant of Opacus."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opacus.accountants import IAccountant

from dpsgd.errors import CheckpointError, PlanError
from dpsgd.opacus.history import read_history
from footing.messages import Message

if TYPE_CHECKING:
    from dpsgd.opacus.run import PlannedRun

MECHANISM = "ckm"


class PlanAccountant(IAccountant):  # type: ignore[misc]
    """Counts the steps of a plan, and says what they cost by the account of a ledger."""

    def __init__(self) -> None:
        super().__init__()
        self.run: PlannedRun | None = None

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Count a step, which must be one of the plan."""
        if self.run is None:
            raise PlanError(
                Message("No plan has begun."), hint=Message("call make_private first")
            )
        if sample_rate != self.run.plan.sampling_rate:
            raise PlanError(
                Message("A step added several batches up: the account counts on one."),
                hint=Message("call optimizer.step() for each batch; BatchMemoryManager splits"),
            )
        self.run.take()
        self.history = [(noise_multiplier, sample_rate, self.run.steps_taken)]

    def get_epsilon(self, delta: float, *_: Any, **__: Any) -> float:
        """Return the epsilon spent so far."""
        if self.run is None:
            return 0.0
        return replace(self.run.plan, delta=delta).cost(self.run.steps_taken).epsilon

    def __len__(self) -> int:
        return 0 if self.run is None else self.run.steps_taken

    @classmethod
    def mechanism(cls) -> str:
        """Return the name under which it is registered."""
        return MECHANISM

    def state_dict(self, destination: Any = None) -> Any:
        """Return the steps taken, and whose account they are in."""
        state = {} if destination is None else destination
        state |= {"history": list(self.history), "mechanism": MECHANISM}
        return state

    def load_state_dict(self, state_dict: Any) -> None:
        """Go on where a checkpoint of the same plan stands."""
        if self.run is None:
            raise PlanError(
                Message("No plan has begun."), hint=Message("call make_private first")
            )
        plan, own = self.run.plan, state_dict.get("mechanism") == MECHANISM
        # Not by the method of the class above: that of Opacus 1.5 takes no state at all.
        history = read_history(state_dict) if state_dict.get("history") else ()
        for part in history:
            kind = (plan.noise_multiplier, plan.sampling_rate)
            if not own or (part.noise_multiplier, part.sampling_rate) != kind:
                raise CheckpointError(
                    Message("This run has another plan."),
                    hint=Message("make the run with the plan of the file"),
                )
        steps = sum(part.steps for part in history)
        if steps > plan.steps:
            raise CheckpointError(Message("The steps of this run do not fit its plan."))
        self.history = [
            (part.noise_multiplier, part.sampling_rate, part.steps) for part in history
        ]
        self.run.steps_taken = steps
        self.run.guard.forget()
