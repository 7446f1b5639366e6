"""Runs and models in files: tensors as tensors, the rest as JSON, nothing that runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors import torch as tensor_files

from dpsgd.errors import CheckpointError
from dpsgd.files.tensor_file import opened, sealed
from footing.files import write_whole
from footing.messages import Message, Name

if TYPE_CHECKING:
    from _typeshed import StrPath
    from torch import Tensor

    from dpsgd.training.training import PrivateTraining

_UNFIT = ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RuntimeError


def save(
    training: PrivateTraining, path: StrPath, *, about: dict[str, Any] | None = None
) -> None:
    """Write a run, so that it can go on: model, optimizer, steps taken, clipping norm."""
    tensors = {f"model.{n}": t for n, t in training.model.state_dict().items()}
    state = training.optimizer.state_dict()
    plain: dict[str, Any] = {}
    for number, entries in state["state"].items():
        for name, value in entries.items():
            if isinstance(value, torch.Tensor):
                tensors[f"optimizer.{number}.{name}"] = value
            else:
                plain[f"{number}.{name}"] = value
    for name, value in (training.averages or {}).items():
        tensors[f"average.{name}"] = value
    facts = {
        "plan": training.plan.to_json(),
        "steps_taken": training.steps_taken,
        "clipping_norm": repr(training.clipping_norm),
        "randomness": training.randomness.state(),
        "groups": state["param_groups"],
        "plain": plain,
        "scheduler": _scheduler(training),
        "about": about or {},
    }
    write_tensors(path, tensors, kind="run", facts=facts)


def resume(training: PrivateTraining, path: StrPath) -> dict[str, Any]:
    """Let a run go on where the one in a file stood.

    Steps that an interrupted run took after it was saved were not released; what this run
    releases has cost what it says.
    """
    tensors, facts = read_tensors(path, kind="run")
    if facts.get("plan") != training.plan.to_json():
        raise CheckpointError(
            Message("This run has another plan."),
            hint=Message("make the run with the plan of the file"),
        )
    steps = facts.get("steps_taken")
    if not isinstance(steps, int) or not 0 <= steps <= training.plan.steps:
        raise CheckpointError(Message("The steps of this run do not fit its plan."))
    try:
        _restore(training, tensors, facts)
        about = dict(facts["about"])
    except _UNFIT as error:
        raise CheckpointError(
            Message("The file does not fit this model, optimizer and scheduler."),
            hint=Message("build them as they were when it was written"),
        ) from error
    training.steps_taken = steps
    training.guard.forget()
    return about


def _restore(
    training: PrivateTraining, tensors: dict[str, Tensor], facts: dict[str, Any]
) -> None:
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "optimizer": {}, "average": {}}
    for name, value in tensors.items():
        kind, _, rest = name.partition(".")
        parts[kind][rest] = value
    training.model.load_state_dict(parts["model"])
    training.optimizer.load_state_dict(_state(parts["optimizer"], facts))
    training.averages = parts["average"] or None
    training.clipping_norm = float(facts["clipping_norm"])
    training.randomness.restore(facts["randomness"])
    scheduler, state = training.scheduler, facts.get("scheduler", "")
    if state or scheduler is not None:
        scheduler.load_state_dict(_alike(json.loads(state), scheduler.state_dict()))


def write_tensors(
    path: StrPath, tensors: dict[str, Tensor], *, kind: str, facts: dict[str, Any]
) -> None:
    """Write tensors and facts into one file, which appears whole or not at all."""
    own = {n: t.detach().cpu().clone().contiguous() for n, t in tensors.items()}
    content = sealed(tensor_files.save(own), kind=kind, facts=facts)
    write_whole(path, content, error=CheckpointError)


def read_tensors(path: StrPath, *, kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_tensors` wrote."""
    content, facts = opened(path, kind=kind)
    try:
        return tensor_files.load(content), facts
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise CheckpointError(
            Message("The tensors of {path!r} cannot be read.", path=Name(Path(path).name)),
            hint=Message("restore an undamaged copy of the file"),
        ) from error


def _scheduler(training: PrivateTraining) -> str:
    """Return where the scheduler of a loop stands; nothing, where there is none."""
    groups, scheduler = training.optimizer.param_groups, training.scheduler
    if scheduler is None and not any("initial_lr" in group for group in groups):
        return ""
    try:
        return json.dumps(scheduler.state_dict())
    except (AttributeError, TypeError) as error:
        raise CheckpointError(
            Message("The file of the run would not keep where the scheduler stands."),
            hint=Message(
                "make one of torch.optim.lr_scheduler before, of numbers and functions, "
                "and give privatise(…, scheduler=scheduler)"
            ),
        ) from error


def _alike(state: Any, like: Any) -> Any:
    """Return what JSON made of a state, with keys and kinds as a fresh state has them."""
    if isinstance(like, dict) and isinstance(state, dict):
        keys = {str(key): key for key in like}
        pairs = ((keys.get(name, name), value) for name, value in state.items())
        return type(like)({key: _alike(value, like.get(key)) for key, value in pairs})
    if isinstance(like, list) and isinstance(state, list) and len(like) == len(state):
        return [_alike(*pair) for pair in zip(state, like, strict=True)]
    return state


def _state(tensors: dict[str, Tensor], facts: dict[str, Any]) -> dict[str, Any]:
    state: dict[int, dict[str, Any]] = {}
    for name, value in (*tensors.items(), *facts["plain"].items()):
        number, _, rest = name.partition(".")
        state.setdefault(int(number), {})[rest] = value
    return {"state": state, "param_groups": facts["groups"]}
