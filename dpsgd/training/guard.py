"""What would move a model beside the plan: looked for before each step, refused by name."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from dpsgd.errors import DPSGDError
from footing.messages import Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor
    from torch.optim import Optimizer

_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
_ANEW = Message("make model, optimizer and training anew: what was written stays in the model")
_BEFORE = Message("change the model before privatise or PrivateTraining, or after close()")


# claim dpsgd-nothing-beside-the-plan
class Guard:
    """The state of a model and its optimizer that no step but those of the plan may change.

    Parameters
    ----------
    model, optimizer
        What is trained, and how.
    parameters
        Those that the plan clips and noises, by name.
    """

    def __init__(
        self, model: nn.Module, optimizer: Optimizer, *, parameters: Mapping[str, Tensor]
    ) -> None:
        self._optimizer = optimizer
        self._watched = dict(parameters)
        names = dict(model.named_parameters())
        watched = {id(p) for p in parameters.values()}
        self._frozen = {n: p for n, p in names.items() if id(p) not in watched}
        self._numbers = _numbers(optimizer)
        own = {id(p) for p in names.values()} | watched
        groups = (p for group in optimizer.param_groups for p in group["params"])
        for number, parameter in enumerate(groups):
            if id(parameter) not in own:
                _refuse_stranger(number)
        self._model = model
        self._all = [*self._watched.values(), *self._frozen.values()]
        self._versions: list[int] | None = None
        self._buffers: dict[str, tuple[Tensor, int, Tensor]] = {}
        self._is_state_loaded = self._is_stepping = False
        self._handles = [
            optimizer.register_load_state_dict_post_hook(self._note_state),
            optimizer.register_step_pre_hook(self._check_step),
        ]
        # Fused optimizers write without being counted: they are met when they step.
        self._of_others = register_optimizer_step_pre_hook(_step_of_any(weakref.ref(self)))
        weakref.finalize(self, self._of_others.remove)
        self._optimizer_hooks = _optimizer_hooks(optimizer)
        self._layers = [(m, vars(m), _outline(m)) for m in model.modules()]
        self._kept = [[*m.parameters(recurse=False), *m.children()] for m in model.modules()]
        # so that no other object is given their ids
        self._check_frozen()

    def close(self) -> None:
        """Take the hooks off the optimizer."""
        self.end()
        for handle in self._handles:
            handle.remove()

    def end(self) -> None:
        """Let other optimizers move the model: the last step of the plan is taken."""
        self._of_others.remove()

    def begin(self) -> None:
        """Let nobody but the plan write from now on; what was loaded before is no matter."""
        if self._versions is None:
            self._buffers = {
                name: (value, value._version, value.detach().clone())  # noqa: SLF001
                for name, value in _kept_buffers(self._model).items()
            }
            self._is_state_loaded = False
            self._versions = self._writes()

    def note(self) -> None:
        """Take parameters for written by the plan, if it has begun."""
        if self._versions is not None:
            self._versions = self._writes()

    def _writes(self) -> list[int]:
        return [parameter._version for parameter in self._all]  # noqa: SLF001

    def forget(self) -> None:
        """Begin anew: a run was put where its file stands."""
        self._versions = None

    def apply(self, step: Callable[[], Any]) -> None:
        """Let the optimizer take a step of the plan."""
        self._is_stepping = True
        try:
            step()
        finally:
            self._is_stepping = False

    def check(self) -> None:
        """Refuse a step when anything was found that moves the model beside the plan."""
        self.begin()
        self._check_frozen()
        for name, parameter in self._watched.items():
            if not parameter.requires_grad:
                _refuse_frozen(name)
        if _numbers(self._optimizer) != self._numbers:
            self._check_groups()
        self.check_written()
        for layer, state, outline in self._layers:
            if _is_changed(layer, state, outline):
                self._refuse_changed(layer, outline)
        self._check_buffers()
        if _optimizer_hooks(self._optimizer) != self._optimizer_hooks:
            raise DPSGDError(
                Message("A hook of the optimizer was set or removed after the plan began."),
                hint=Message(
                    "set hooks before privatise or PrivateTraining: they see noisy gradients"
                ),
            )
        if self._is_state_loaded:
            raise DPSGDError(
                Message("A state was loaded into the optimizer between two steps."),
                hint=Message(
                    "load it before the first batch; a run goes on by checkpoint=… and "
                    "is_resumed=True"
                ),
            )

    def _check_frozen(self) -> None:
        for name, parameter in self._frozen.items():
            if parameter.requires_grad:
                raise DPSGDError(
                    Message(
                        "The parameter {name!r} was frozen when the plan began and is to be "
                        "trained now: nothing clips it or adds noise.",
                        name=Name(name),
                    ),
                    hint=Message(
                        "unfreeze all that will ever be trained before privatise or "
                        "PrivateTraining; a learning rate of 0 keeps a layer for a while"
                    ),
                )
            if parameter.grad is not None and id(parameter) in self._numbers:
                raise DPSGDError(
                    Message(
                        "The frozen parameter {name!r} has a gradient, which the optimizer "
                        "would apply as it is: without clipping, without noise.",
                        name=Name(name),
                    ),
                    hint=Message("optimizer.zero_grad(set_to_none=True)"),
                )

    def _check_groups(self) -> None:
        own = {id(p) for p in self._all}
        for number, key in enumerate(_numbers(self._optimizer)):
            if key not in own:
                _refuse_stranger(number)
        self._numbers = _numbers(self._optimizer)  # what left is not moved

    def check_written(self) -> None:
        """Refuse parameters that somebody else wrote since the last step."""
        versions = self._writes()
        if self._versions is None or versions == self._versions:
            return
        names = [*self._watched, *self._frozen]
        pairs = zip(names, versions, self._versions, strict=True)
        name = next(name for name, now, before in pairs if now != before)
        raise DPSGDError(
            Message(
                "The parameter {name!r} was written between two steps of the plan: by another "
                "optimizer, load_state_dict or a line of the loop.",
                name=Name(name),
            ),
            hint=_ANEW,
        )

    def _refuse_changed(self, layer: nn.Module, before: tuple[Any, ...]) -> NoReturn:
        pairs = [*zip(before, _outline(layer), strict=True)]
        parts = (
            Message("another kind"), Message("another forward"), Message("other parameters"),
            Message("other layers within"),
        )  # fmt: skip
        changes = [part for part, (old, new) in zip(parts, pairs, strict=False) if old != new]
        name = next((n for n, m in self._model.named_modules() if m is layer), "")
        raise DPSGDError(
            Message(
                "The layer {name!r} was changed after the plan began: {what}.",
                name=Name(name or "itself"),
                what=said(changes[0] if changes else Message("other hooks")),
            ),
            hint=_BEFORE,
        )

    def _check_buffers(self) -> None:
        for name, (value, version, before) in self._buffers.items():
            owner, _, short = name.rpartition(".")
            now = self._model.get_submodule(owner)._buffers.get(short)  # noqa: SLF001
            if now is value and value._version == version:  # noqa: SLF001
                continue
            is_same = now is not None and now.shape == before.shape
            if not is_same or not torch.equal(now.to(before), before):  # type: ignore[union-attr]
                raise DPSGDError(
                    Message(
                        "The buffer {name!r} was written between two steps of the plan: what "
                        "it keeps of the records has no noise.",
                        name=Name(name),
                    ),
                    hint=_ANEW,
                )

    def check_other(self, optimizer: Optimizer) -> None:
        """Refuse a step of another optimizer, once the plan has begun."""
        names = {id(p): n for n, p in (*self._watched.items(), *self._frozen.items())}
        name = next((names[key] for key in _numbers(optimizer) if key in names), None)
        if name is not None and self._versions is not None:
            raise DPSGDError(
                Message(
                    "Another optimizer would move the parameter {name!r} beside the plan.",
                    name=Name(name),
                ),
                hint=Message(
                    "one optimizer trains a model, by groups if need be; after the last step, "
                    "or training.close(), others may"
                ),
            )

    def _note_state(self, *_: Any) -> None:
        self._is_state_loaded = True

    def _check_step(self, *_: Any) -> None:
        if not self._is_stepping:
            raise DPSGDError(
                Message("The optimizer takes its steps through the plan alone."),
                hint=Message("training.step(), or training.run(…)"),
            )


def _step_of_any(guard: weakref.ref[Guard]) -> Callable[..., None]:
    """Return what refuses a step of another optimizer on the parameters of a guard."""

    def check(optimizer: Optimizer, *_: Any) -> None:
        own = guard()
        if own is not None and optimizer is not own._optimizer:  # noqa: SLF001
            own.check_other(optimizer)

    return check


def check_criterion(criterion: Any) -> None:
    """Refuse a criterion with parameters of its own, which nothing would clip."""
    if isinstance(criterion, nn.Module):
        for name, parameter in criterion.named_parameters():
            if parameter.requires_grad:
                raise DPSGDError(
                    Message(
                        "The criterion has a parameter of its own, {name!r}, that the plan "
                        "does not train.",
                        name=Name(name),
                    ),
                    hint=Message(
                        "move it into the model, whose pass then gives what the criterion "
                        "needs; or freeze it"
                    ),
                )


def _numbers(optimizer: Optimizer) -> list[int]:
    return [id(p) for group in optimizer.param_groups for p in group["params"]]


def _optimizer_hooks(optimizer: Optimizer) -> list[int]:
    state = vars(optimizer)
    return [*state["_optimizer_step_pre_hooks"], *state["_optimizer_step_post_hooks"]]


def _outline(layer: nn.Module) -> tuple[Any, ...]:
    """Return what a layer is made of: its kind, its parts, its hooks."""
    state = vars(layer)
    return (
        type(layer),
        state.get("forward"),
        [*map(id, state["_parameters"].values())],
        [*map(id, state["_modules"].values())],
        *([*state[name].items()] for name in _HOOKS),
    )


def _is_changed(layer: nn.Module, state: dict[str, Any], outline: tuple[Any, ...]) -> bool:
    """Return whether the outline is another now.

    This is most of what a guard costs in a step: most parts are empty, and are not listed.
    """
    kind, forward, parameters, layers, before, after, back_before, back_after = outline
    if layer.__class__ is not kind or state.get("forward") is not forward:
        return True
    own, inner = state["_parameters"], state["_modules"]
    if (own or parameters) and [*map(id, own.values())] != parameters:
        return True
    if (inner or layers) and [*map(id, inner.values())] != layers:
        return True
    hooks, earlier = state["_forward_hooks"], state["_forward_pre_hooks"]
    if ((hooks or after) and [*hooks.items()] != after) or (
        (earlier or before) and [*earlier.items()] != before
    ):
        return True
    back, earlier = state["_backward_hooks"], state["_backward_pre_hooks"]
    if not (back or earlier or back_before or back_after):
        return False
    return ([*earlier.items()], [*back.items()]) != (back_before, back_after)


def _refuse_frozen(name: str) -> NoReturn:
    raise DPSGDError(
        Message(
            "The parameter {name!r} was frozen after the plan began: it would get noise alone.",
            name=Name(name),
        ),
        hint=_BEFORE,
    )


def _kept_buffers(model: nn.Module) -> dict[str, Tensor]:
    """Return the buffers that a file of the model would hold."""
    return {
        f"{name}.{short}" if name else short: value
        for name, layer in model.named_modules()
        for short, value in layer._buffers.items()  # noqa: SLF001
        if value is not None and short not in layer._non_persistent_buffers_set  # noqa: SLF001
    }


def _refuse_stranger(number: int) -> NoReturn:
    raise DPSGDError(
        Message(
            "The optimizer holds a parameter, number {number} of all its groups, that the "
            "plan does not watch.",
            number=number + 1,
        ),
        hint=Message(
            "give it model.parameters() and nothing else, before privatise or PrivateTraining"
        ),
    )
