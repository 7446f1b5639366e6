"""Clipped sums of the gradients of records: one pass backward, nothing written out.

Layers made of products are kept as products: what went in, and the gradient of what came out.
Other layers pass each record again, vectorised by `torch.func`, and write gradients out.
"""

import contextlib
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.nn.utils import parametrize
from torch.utils._pytree import tree_flatten, tree_leaves

from dpsgd.errors import DPSGDError, UnsupportedLayerError
from dpsgd.training.layers.kinds import Call, Maker, maker_of, one_by_one
from dpsgd.training.layers.parts import Part
from dpsgd.training.layers.sequences import forward_of
from dpsgd.training.layers.tied import Tied
from dpsgd.training.of_opacus import check_layers
from footing.messages import Argument, Message, Name, Shape, said

_BATCH_NORMS = nn.modules.batchnorm._BatchNorm  # noqa: SLF001 (what its kinds share)
_PRECISE = (torch.float32, torch.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedSum:
    """The sum of clipped gradients, before noise: confidential.

    Parameters
    ----------
    gradients
        The sum, by parameter.
    within
        For each record, whether its gradient stayed whole.
    left_out
        How many gradients were not finite.
    """

    gradients: dict[str, Tensor]
    within: Tensor
    left_out: int = 0

    def __repr__(self) -> str:
        return "ClippedSum(…)"


def check_model(model: nn.Module) -> None:
    """Refuse a model in which records mix, or that has nothing to train."""
    for name, layer in model.named_modules():
        if may_mix(layer):
            _check_watched([(name, layer)])
        if getattr(layer, "max_norm", None) is not None:
            raise UnsupportedLayerError(
                Message(
                    "Look-ups change '{name}.weight': what they keep of the records has no "
                    "noise.",
                    name=Argument(name),
                ),
                hint=Message("set max_norm=None"),
            )
        if parametrize.is_parametrized(layer):
            raise UnsupportedLayerError(
                Message(
                    "{where} has a weight that is worked out from others.",
                    where=said(where_of(name, layer)),
                ),
                hint=Message("use torch.nn.utils.parametrize.remove_parametrizations"),
            )
    check_precision(dict(model.named_parameters()))
    if not any(p.requires_grad for p in model.parameters()):
        raise UnsupportedLayerError(
            Message("The model has nothing to train."), hint=Message("unfreeze a layer")
        )


def check_losses(losses: Tensor, *, copies: int = 1, rows: int | None = None) -> None:
    """Refuse losses that are not one for each row."""
    is_wrong = losses.dim() != 1 or len(losses) % copies
    if is_wrong or len(losses) != (len(losses) if rows is None else rows):
        raise DPSGDError(
            Message(
                "Losses must be one for each row, not of shape {tuple}.",
                tuple=Argument(tuple(losses.shape)),
            ),
            hint=Message("take a criterion with reduction='none'"),
        )


def check_precision(parameters: Mapping[str, Tensor]) -> None:
    """Refuse to train parameters in which noise is lost by rounding.

    In 16 bits the sum of gradients is rounded before and after the noise is added; steps of
    that grid tell two data sets apart for certain.
    """
    for name, parameter in parameters.items():
        if parameter.requires_grad and parameter.dtype not in _PRECISE:
            raise UnsupportedLayerError(
                Message(
                    "The parameter {name!r} is of type {dtype}: noise is lost by rounding, and "
                    "the promise with it.",
                    name=Name(name),
                    dtype=Shape(parameter.dtype),
                ),
                hint=Message(
                    "model.float(); precision='bfloat16' still passes records in 16 bits"
                ),
            )


def may_mix(layer: nn.Module) -> bool:
    """Return whether a layer's records mix as soon as it is set to training."""
    return isinstance(layer, _BATCH_NORMS) or bool(getattr(layer, "track_running_stats", False))


def where_of(name: str, layer: nn.Module) -> str:
    """Return how a layer is called in what is said of it."""
    return Message(
        "The layer {name!r} ({type_name})",
        name=Name(name or "itself"),
        type_name=Shape(type(layer)),
    )


def not_by_record(name: str, layer: nn.Module) -> UnsupportedLayerError:
    """Return what is said of a layer or model whose records cannot be told apart."""
    return UnsupportedLayerError(
        Message(
            "{where} does not see one row for each record.", where=said(where_of(name, layer))
        ),
        hint=Message("keep records on the first axis"),
    )


def _check_watched(layers: list[tuple[str, nn.Module]]) -> None:
    for name, layer in layers:
        trains = any(p.requires_grad for p in layer.parameters())
        if isinstance(layer, _BATCH_NORMS) and (trains or layer.training):
            raise UnsupportedLayerError(
                Message(
                    "{where} mixes the records of a batch.", where=said(where_of(name, layer))
                ),
                hint=Message("use torch.nn.GroupNorm, or LayerNorm for tables"),
            )
        if getattr(layer, "track_running_stats", False) and layer.training:
            raise UnsupportedLayerError(
                Message(
                    "{where} keeps statistics of the data.", where=said(where_of(name, layer))
                ),
                hint=Message("set track_running_stats=False"),
            )


def _shared_names(model: nn.Module) -> dict[str, str]:
    """Return all names of the parameters that several layers train, with the first of each."""
    names: dict[int, list[str]] = {}
    for owner, layer in model.named_modules():
        for short, parameter in layer.named_parameters(recurse=False, remove_duplicate=False):
            if parameter.requires_grad:
                names.setdefault(id(parameter), []).append(f"{owner}.{short}".lstrip("."))
    own = {id(p): name for name, p in model.named_parameters()}
    return {
        name: own[key] for key, several in names.items() if len(several) > 1 for name in several
    }


class _Kept(NamedTuple):
    """A call of a layer."""

    layer: str
    part: str
    make: Maker
    inputs: Any
    edge: GradientEdge
    shape: torch.Size


class RecordGradients:
    """What turns the losses of records into their clipped sum of gradients.

    Parameters
    ----------
    model
        The model; its trainable parameters are looked at now.
    is_per_layer
        Clip each of the layers to an equal share of the norm, and not all of them as one.
    """

    def __init__(self, model: nn.Module, *, is_per_layer: bool = False) -> None:
        check_model(model)
        check_layers(model)
        self.model, self.is_per_layer = model, is_per_layer
        self._first_names = _shared_names(model)
        self.parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self._watched = [pair for pair in model.named_modules() if may_mix(pair[1])]
        self._calls: list[Any] = []  # until their gradients are asked for
        self._rows, self._is_watching, self._is_keeping = 0, True, True
        self._shared: set[str] = set()  # layers that see one row for all records
        self._passed: list[nn.Module] = []
        self._handles: list[Any] = [
            model.register_forward_pre_hook(self._count, with_kwargs=True)
        ]
        owners = [
            (name, layer)
            for name, layer in model.named_modules()
            # One that is passed in another way uses the parameters of those within by itself.
            if any(p.requires_grad for p in layer.parameters(forward_of(layer) is not None))
        ]
        self._layers = len({name.rpartition(".")[0] for name in self.parameters})
        self._first = {n: next(m.parameters(recurse=False)) for n, m in owners}
        for name, layer in owners:
            forward = forward_of(layer)
            if forward is None:
                hook = self._hook(name, maker_of(layer))
                self._handles.append(
                    layer.register_forward_hook(hook, prepend=True, with_kwargs=True)
                )
            elif "forward" not in vars(layer):
                vars(layer)["forward"] = self._forward(name, layer, forward)
                self._passed.append(layer)

    def close(self) -> None:
        """Take all hooks off the model."""
        for handle in self._handles:
            handle.remove()
        for layer in self._passed:
            vars(layer).pop("forward", None)
        self._handles, self._calls, self._passed = [], [], []

    @contextlib.contextmanager
    def unwatched(self) -> Iterator[None]:
        """Let passes go by, for as long as the block runs."""
        self._is_watching = False
        try:
            yield
        finally:
            self._is_watching = True
            self._calls.clear()

    @contextlib.contextmanager
    def as_one(self) -> Iterator[None]:
        """Clip all layers as one, for as long as the block runs."""
        is_per_layer, self.is_per_layer = self.is_per_layer, False
        try:
            yield
        finally:
            self.is_per_layer = is_per_layer

    def clipped_sum(self, losses: Tensor, *, norm: float, copies: int = 1) -> ClippedSum:
        """Return the sum of the records' gradients, each at most as long as the norm.

        A record whose gradient is not finite contributes nothing.
        """
        check_losses(losses, copies=copies)
        _check_watched(self._watched)
        check_precision(self.parameters)
        # Whatever the loop around may say: norms and sums in 16 bits are no norms and sums.
        with torch.autocast(losses.device.type, enabled=False):
            return self._clipped_sum(losses, norm, copies)

    def _clipped_sum(self, losses: Tensor, norm: float, copies: int) -> ClippedSum:
        parts = self._parts(losses, copies)
        squares = _squares(parts)
        lengths = sum(squares.values(), torch.zeros(())).sqrt()
        is_finite = None
        if not math.isfinite(lengths.sum()):
            is_finite = torch.isfinite(lengths)
            parts = [(name, part.keep(is_finite)) for name, part in parts]
        if self.is_per_layer:
            share = norm / self._layers**0.5
            each = {name: layer.sqrt() for name, layer in squares.items()}
            within = torch.stack([length <= share for length in each.values()]).all(0)
            weights = {name: _weights(v, is_finite, share) for name, v in each.items()}
        else:
            within = lengths <= norm
            weights = dict.fromkeys(squares, _weights(lengths, is_finite, norm))
        gradients: dict[str, Tensor] = {}
        for layer, part in parts:
            for short, value in part.weighted(weights[layer]).items():
                name = f"{layer}.{short}" if layer else short
                gradients[name] = gradients[name].add_(value) if name in gradients else value
        if is_finite is None:
            return ClippedSum(gradients=gradients, within=within)
        n_left_out = int((~is_finite).sum())
        return ClippedSum(gradients=gradients, within=within & is_finite, left_out=n_left_out)

    def _count(self, _: nn.Module, args: Any, kwargs: Any) -> None:
        leaves = args if args and isinstance(args[0], Tensor) else tree_leaves((args, kwargs))
        self._rows = next((len(v) for v in leaves if isinstance(v, Tensor) and v.dim()), 0)

    def _keep(self, layer: str, part: str, make: Maker, inputs: Any, output: Tensor) -> None:
        if self._is_keeping and torch.is_grad_enabled() and output.requires_grad:
            edge = get_gradient_edge(output)
            self._calls.append(_Kept(layer, part, make, inputs, edge, output.shape))

    def _hook(self, name: str, make: Maker | None) -> Callable[..., Any]:
        def hook(layer: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
            if not (self._is_watching and self._is_keeping):
                return None
            if not isinstance(output, Tensor) or not (args or kwargs):
                raise UnsupportedLayerError(
                    Message(
                        "{where} does not turn what it is given into one tensor.",
                        where=said(where_of(name, layer)),
                    ),
                    hint=Message(
                        "give its parameters to layers of torch.nn; or engine='one-by-one', "
                        "which passes each record by itself"
                    ),
                )
            if make is None:
                leaves, spec = tree_flatten((args, kwargs))
                leaves = [v.detach() if isinstance(v, Tensor) else v for v in leaves]
                self._keep(name, "", partial(one_by_one, layer), (leaves, spec), output)
                return None
            inputs, new_output = (*args, *kwargs.values())[0].detach(), None
            if isinstance(layer, nn.Embedding) and self._is_shared(name, inputs):
                # Places that are the same for all records: as many copies as there are records.
                inputs = inputs.expand(self._rows, *inputs.shape[-1:])
                output = new_output = output.expand(self._rows, *output.shape[-2:])
            self._keep(name, "", make, inputs, output)
            return new_output

        return uncompiled(hook)

    def _is_shared(self, name: str, codes: Tensor) -> bool:
        is_one = codes.dim() == 1 or (codes.dim() == 2 and len(codes) == 1)
        if is_one and self._rows and len(codes) != self._rows:
            self._shared.add(name)
        return name in self._shared

    def _forward(
        self, name: str, layer: nn.Module, passed: Callable[..., Any]
    ) -> Callable[..., Any]:
        def keep(part: str, make: Maker, inputs: Tensor, output: Tensor) -> None:
            self._keep(name, part, make, inputs.detach(), output)

        def forward(*args: Any, **kwargs: Any) -> Any:
            if torch.is_grad_enabled() and self._is_watching:
                return passed(layer, keep, *args, **kwargs)
            return type(layer).forward(layer, *args, **kwargs)

        return uncompiled(forward)

    def _parts(self, losses: Tensor, copies: int) -> list[tuple[str, Part]]:
        calls, self._calls = self._calls, []
        if not calls:
            return []
        pulls = torch.autograd.grad(
            losses.sum() / copies, [call.edge for call in calls], allow_unused=True
        )
        groups: dict[tuple[str, str], tuple[Maker, list[Call]]] = {}
        for call, gradient in zip(calls, pulls, strict=True):
            if gradient is None:
                continue
            inputs = call.inputs
            if len(losses) != call.shape[0] or (
                isinstance(inputs, Tensor) and len(inputs) != call.shape[0]
            ):
                layer = self.model.get_submodule(call.layer)
                raise UnsupportedLayerError(
                    Message(
                        "{where} does not see one row for each record.",
                        where=said(where_of(call.layer, layer)),
                    ),
                    hint=Message(
                        "keep records on the first axis; or engine='one-by-one', which passes "
                        "each by itself"
                    ),
                )
            pair = (_in_full(v, self._first[call.layer].dtype) for v in (inputs, gradient))
            groups.setdefault((call.layer, call.part), (call.make, []))[1].append((*pair,))
        self._is_keeping = False  # of what is passed again
        try:
            parts = [(n, make(pairs, copies)) for (n, _), (make, pairs) in groups.items()]
        finally:
            self._is_keeping = True
        return self._tied(parts) if self._first_names else parts

    def _tied(self, parts: list[tuple[str, Part]]) -> list[tuple[str, Part]]:
        """Put the uses of one parameter together: their sum has the norm that counts."""
        alone: list[tuple[str, Part]] = []
        uses: dict[str, list[Part]] = {}
        for layer, part in parts:
            pieces = {f"{layer}.{n}".lstrip("."): p for n, p in part.by_parameter().items()}
            if not self._first_names.keys() & pieces:
                alone.append((layer, part))
                continue
            for name, piece in pieces.items():
                if name in self._first_names:
                    uses.setdefault(self._first_names[name], []).append(piece)
                else:
                    alone.append((layer, piece))
        for name, several in uses.items():
            owner, _, short = name.rpartition(".")
            alone.append((owner, Tied(several, name=short)))
        return alone


def uncompiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what no compiler looks into; one that is not loaded has compiled nothing."""
    return torch.compiler.disable(function) if "torch._dynamo" in sys.modules else function


def _in_full(array: Any, precision: torch.dtype) -> Any:
    """Return numbers as precise as the parameters: half of their digits make no norm."""
    if isinstance(array, Tensor):
        return array.to(precision) if array.is_floating_point() else array
    leaves, spec = array
    return [_in_full(v, precision) if isinstance(v, Tensor) else v for v in leaves], spec


def _squares(parts: list[tuple[str, Part]]) -> dict[str, Tensor]:
    """Return the squared length of each record's gradient, by layer."""
    if not parts:
        raise DPSGDError(
            Message("The losses do not come from the model's last pass."),
            hint=Message("compute model(x) with gradients enabled, then the losses, then this"),
        )
    totals: dict[str, Tensor] = {}
    for name, part in parts:
        squares = part.squares()
        totals[name] = totals[name] + squares if name in totals else squares
    return totals


def _weights(lengths: Tensor, is_finite: Tensor | None, norm: float) -> Tensor:
    """Return what clips to the norm; a little less, so that rounding cannot lead above it."""
    below = norm * (1 - 8 * torch.finfo(lengths.dtype).eps)
    factors = (below / lengths).clamp_(max=1)
    return factors if is_finite is None else torch.where(is_finite, factors, 0.0)
