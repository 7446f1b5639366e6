"""Gradients of records as Opacus finds them, clipped and added up as ours are."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING

import torch

from dpsgd.errors import DPSGDError, UnsupportedLayerError
from dpsgd.training.gradients import RecordGradients, check_model, may_mix, not_by_record
from dpsgd.training.layers.parts import Part, Written
from dpsgd.training.of_opacus import check_pytorch_layers
from footing.messages import Message, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor, nn

_HOOKS = "Full backward hook is firing"  # of the first layer, which nobody can act on


class OpacusGradients(RecordGradients):
    """What `RecordGradients` does, with gradients of records written out by Opacus.

    Samplers of layers are those of Opacus, those that a user registered among them.

    Parameters
    ----------
    model, is_per_layer
        As for `RecordGradients`.
    """

    def __init__(self, model: nn.Module, *, is_per_layer: bool = False) -> None:
        try:
            from opacus import GradSampleModule
        except ModuleNotFoundError as error:
            raise DPSGDError(
                Message("engine='opacus' needs the package opacus, which is not installed."),
                hint=Message("in the project's folder: pip install '.[dpsgd]'"),
            ) from error
        check_model(model)
        check_pytorch_layers(model)
        self.model, self.is_per_layer = model, is_per_layer
        self.parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self._layers = len({name.rpartition(".")[0] for name in self.parameters})
        self._watched = [pair for pair in model.named_modules() if may_mix(pair[1])]
        try:
            self._samples = GradSampleModule(model, loss_reduction="sum")
        except (NotImplementedError, ValueError) as error:
            raise UnsupportedLayerError(
                Message("Opacus does not take this model: {name}.", name=Shape(type(error))),
                hint=Message(
                    "layers that train may hold no buffers; a model takes Opacus' hooks once"
                ),
            ) from error

    def close(self) -> None:
        """Take all hooks off the model."""
        self._forget()
        self._samples.to_standard_module()

    @contextlib.contextmanager
    def unwatched(self) -> Iterator[None]:
        """Let passes go by, for as long as the block runs."""
        self._samples.disable_hooks()
        try:
            with _quiet():
                yield
        finally:
            self._samples.enable_hooks()
            self._forget()

    def _forget(self) -> None:
        for parameter in self.parameters.values():
            vars(parameter)["grad_sample"] = None

    def _parts(self, losses: Tensor, copies: int) -> list[tuple[str, Part]]:
        try:
            with _quiet():
                torch.autograd.grad(
                    losses.sum() / copies, [*self.parameters.values()], allow_unused=True
                )
        except RuntimeError as error:
            raise UnsupportedLayerError(
                Message(
                    "Opacus finds no gradients of records: {name}.", name=Shape(type(error))
                ),
                hint=Message("engine='ckm' takes other layers; or register a sampler"),
            ) from error
        layers: dict[str, dict[str, Tensor]] = {}
        for name, parameter in self.parameters.items():
            sample = vars(parameter)["grad_sample"]
            if isinstance(sample, list):
                self._forget()
                raise DPSGDError(
                    Message("The model was passed twice before its losses were used."),
                    hint=Message("pass what does not train under torch.no_grad()"),
                )
            if sample is None:
                continue
            if len(sample) != len(losses):
                owner = name.rpartition(".")[0]
                raise not_by_record(owner, self.model.get_submodule(owner))
            owner, _, short = name.rpartition(".")
            rows = sample.unflatten(0, (-1, copies)).sum(1) if copies > 1 else sample
            layers.setdefault(owner, {})[short] = rows
        self._forget()
        return [(owner, Written(gradients)) for owner, gradients in layers.items()]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=_HOOKS)
        yield
