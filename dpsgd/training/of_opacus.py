"""Objects of Opacus where those of PyTorch are meant: what to write in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsgd.errors import PlanError, UnsupportedLayerError
from footing.messages import Message, Name, Shape

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer

_LAYERS = {
    "DPLSTM": "LSTM",
    "DPGRU": "GRU",
    "DPRNN": "RNN",
    "DPMultiheadAttention": "MultiheadAttention",
}


def check_unmade(model: nn.Module, optimizer: Optimizer) -> None:
    """Refuse what `make_private` gave: both would clip and add noise."""
    if is_of_opacus(model):
        raise UnsupportedLayerError(
            Message("The model was made private by Opacus: it has hooks of its own."),
            hint=Message(
                "model = model.to_standard_module(), or leave make_private out; "
                "dpsgd.opacus.PrivacyEngine keeps it"
            ),
        )
    if is_of_opacus(optimizer):
        raise PlanError(
            Message("The optimizer was made private by Opacus: it adds noise of its own."),
            hint=Message(
                "optimizer = optimizer.original_optimizer, or leave make_private out; "
                "dpsgd.opacus.PrivacyEngine keeps it"
            ),
        )


def check_layers(model: nn.Module) -> None:
    """Refuse layers that Opacus has in the place of those of PyTorch."""
    for name, layer in model.named_modules():
        other = _LAYERS.get(type(layer).__name__)
        if other is not None and is_of_opacus(layer):
            raise UnsupportedLayerError(
                Message(
                    "The layer {name!r} ({kind}) is one of Opacus.",
                    name=Name(name or "itself"),
                    kind=Shape(type(layer)),
                ),
                hint=Message(
                    "write torch.nn.{other}, which trains as it is and takes its values by "
                    "load_state_dict(state, strict=False); or engine='opacus'",
                    other=Name(other),
                ),
            )


def check_pytorch_layers(model: nn.Module) -> None:
    """Refuse layers of PyTorch whose records Opacus does not see, where it finds gradients."""
    for name, layer in model.named_modules():
        kinds = {kind.__name__ for kind in type(layer).__mro__ if not is_of_opacus(layer)}
        own = next((dp for dp, other in _LAYERS.items() if other in kinds), None)
        if own is not None and any(p.requires_grad for p in layer.parameters()):
            raise UnsupportedLayerError(
                Message(
                    "Opacus finds no gradients of the layer {name!r} ({kind}).",
                    name=Name(name or "itself"),
                    kind=Shape(type(layer)),
                ),
                hint=Message("engine='ckm' does; or opacus.layers.{own}", own=Name(own)),
            )


def is_of_opacus(thing: Any) -> bool:
    """Return whether Opacus made a thing."""
    return any(kind.__module__.partition(".")[0] == "opacus" for kind in type(thing).__mro__)
