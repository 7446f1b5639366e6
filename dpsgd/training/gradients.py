"""Clipped sums of the gradients of records: one pass backward, nothing written out.

Layers made of products are kept in books: what went in, and the gradient of what came out.
Models with other layers go through Opacus, which writes every gradient out.
"""

import contextlib
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

from dpsgd.errors import DPSGDError, UnsupportedLayerError
from dpsgd.training.layers import Part, part_of, supported, written

_BATCH_NORMS = nn.modules.batchnorm._BatchNorm  # noqa: SLF001 (what its kinds share)
_PRECISE = (torch.float32, torch.float64)
_REPLACEMENTS: dict[type, str] = {
    nn.LSTM: "opacus.layers.DPLSTM",
    nn.GRU: "opacus.layers.DPGRU",
    nn.RNN: "opacus.layers.DPRNN",
    nn.MultiheadAttention: "opacus.layers.DPMultiheadAttention",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedSum:
    """The sum of clipped gradients, before noise: confidential.

    Parameters
    ----------
    gradients
        The sum, by parameter.
    within
        For each record, whether its gradient stayed whole.
    """

    gradients: dict[str, Tensor]
    within: Tensor

    def __repr__(self) -> str:
        return "ClippedSum(…)"


def check_model(model: nn.Module) -> None:
    """Refuse a model in which records mix, or parameters are shared between layers."""
    for name, layer in model.named_modules():
        if _may_mix(layer):
            _check_watched([(name, layer)])
        trains = any(p.requires_grad for p in layer.parameters())
        if trains and type(layer) in _REPLACEMENTS:
            raise UnsupportedLayerError(
                f"{_where(name, layer)} has no gradient for each record.",
                hint=f"use {_REPLACEMENTS[type(layer)]}",
            )
    _check_shared(model)
    check_precision(dict(model.named_parameters()))
    if not any(p.requires_grad for p in model.parameters()):
        raise UnsupportedLayerError("The model has nothing to train.", hint="unfreeze a layer")


def check_losses(losses: Tensor, *, copies: int = 1, rows: int | None = None) -> None:
    """Refuse losses that are not one for each row."""
    is_wrong = losses.dim() != 1 or len(losses) % copies
    if is_wrong or len(losses) != (len(losses) if rows is None else rows):
        raise DPSGDError(
            f"Losses must be one for each row, not of shape {tuple(losses.shape)}.",
            hint="take a criterion with reduction='none'",
        )


def check_precision(parameters: Mapping[str, Tensor]) -> None:
    """Refuse to train parameters in which noise is lost by rounding.

    In 16 bits the sum of gradients is rounded before and after the noise is added; steps of
    that grid tell two data sets apart for certain.
    """
    for name, parameter in parameters.items():
        if parameter.requires_grad and parameter.dtype not in _PRECISE:
            raise UnsupportedLayerError(
                f"The parameter {name!r} is of type {parameter.dtype}: noise is lost by "
                "rounding, and the promise with it.",
                hint="model.float(); precision='bfloat16' still passes records in 16 bits",
            )


def _may_mix(layer: nn.Module) -> bool:
    """Return whether a layer's records mix as soon as it is set to training."""
    return isinstance(layer, _BATCH_NORMS) or bool(getattr(layer, "track_running_stats", False))


def _where(name: str, layer: nn.Module) -> str:
    return f"The layer {name or 'itself'!r} ({type(layer).__name__})"


def _check_watched(layers: list[tuple[str, nn.Module]]) -> None:
    for name, layer in layers:
        trains = any(p.requires_grad for p in layer.parameters())
        if isinstance(layer, _BATCH_NORMS) and (trains or layer.training):
            raise UnsupportedLayerError(
                f"{_where(name, layer)} mixes the records of a batch.",
                hint="use torch.nn.GroupNorm, or LayerNorm for tables",
            )
        if getattr(layer, "track_running_stats", False) and layer.training:
            raise UnsupportedLayerError(
                f"{_where(name, layer)} keeps statistics of the data.",
                hint="set track_running_stats=False",
            )


def _check_shared(model: nn.Module) -> None:
    names: dict[int, str] = {}
    for owner, layer in model.named_modules():
        if type(layer).__module__.startswith("opacus."):
            continue  # they know their parameters by two names
        for short, parameter in layer.named_parameters(recurse=False, remove_duplicate=False):
            name = f"{owner}.{short}"
            if parameter.requires_grad and names.setdefault(id(parameter), name) != name:
                raise UnsupportedLayerError(
                    f"{names[id(parameter)]!r} and {name!r} are one parameter.",
                    hint="give each layer its own",
                )


class RecordGradients:
    """What turns the losses of records into their clipped sum of gradients.

    Parameters
    ----------
    model
        The model; its trainable parameters are looked at now.
    """

    def __init__(self, model: nn.Module) -> None:
        check_model(model)
        self.model = model
        self.parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self._watched = [pair for pair in model.named_modules() if _may_mix(pair[1])]
        self._calls: list[tuple[str, nn.Module, Tensor, GradientEdge, torch.Size]] = []
        self._handles: list[Any] = []
        self._opacus: Any = None
        owners = {
            name: layer
            for name, layer in model.named_modules()
            if any(p.requires_grad for p in layer.parameters(recurse=False))
        }
        if all(supported(layer) for layer in owners.values()):
            self.engine = "books"
            for name, layer in owners.items():
                self._handles.append(
                    layer.register_forward_hook(self._keep(name), with_kwargs=True)
                )
        else:
            self.engine = "opacus"
            self._opacus = _opacus(model)

    def close(self) -> None:
        """Take all hooks off the model."""
        for handle in self._handles:
            handle.remove()
        if self._opacus is not None:
            self._opacus.to_standard_module()
        self._handles, self._calls, self._opacus = [], [], None

    @contextlib.contextmanager
    def unwatched(self) -> Iterator[None]:
        """Let passes go by, for as long as the block runs."""
        if self._opacus is not None:
            self._opacus.disable_hooks()
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Full backward hook is firing")
                yield
        finally:
            self._calls.clear()
            if self._opacus is not None:
                self._opacus.enable_hooks()

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
        take = self._from_books if self.engine == "books" else self._from_opacus
        parts = take(losses, copies)
        lengths = _lengths(parts)
        is_finite = torch.isfinite(lengths)
        if not bool(is_finite.all()):
            parts = [(name, part.keep(is_finite)) for name, part in parts]
            lengths = torch.where(is_finite, lengths, 0.0)
        # A little less than the norm, so that rounding cannot lead above it.
        below = norm * (1 - 8 * torch.finfo(lengths.dtype).eps)
        within = lengths <= norm
        weights = torch.where(within, 1.0, below / lengths) * is_finite
        gradients: dict[str, Tensor] = {}
        for layer, part in parts:
            for name, value in part.weighted(weights.to(lengths.dtype)).items():
                gradients[f"{layer}.{name}" if layer else name] = value
        return ClippedSum(gradients=gradients, within=within & is_finite)

    def _keep(self, name: str) -> Any:
        def hook(
            layer: nn.Module, inputs: tuple[Tensor, ...], named: Any, output: Tensor
        ) -> None:
            if torch.is_grad_enabled() and output.requires_grad:
                edge = get_gradient_edge(output)
                first = (*inputs, *named.values())[0].detach()
                self._calls.append((name, layer, first, edge, output.shape))

        # A compiler that is not loaded has compiled nothing.
        return torch.compiler.disable(hook) if "torch._dynamo" in sys.modules else hook

    def _from_books(self, losses: Tensor, copies: int) -> list[tuple[str, Part]]:
        calls, self._calls = self._calls, []
        if not calls:
            return []
        found = torch.autograd.grad(
            losses.sum() / copies, [call[3] for call in calls], allow_unused=True
        )
        by_layer: dict[str, tuple[nn.Module, list[tuple[Tensor, Tensor]]]] = {}
        for (name, layer, inputs, _, shape), gradient in zip(calls, found, strict=True):
            if gradient is None:
                continue
            if len(losses) != shape[0] or len(inputs) != shape[0]:
                raise UnsupportedLayerError(
                    f"The layer {name!r} ({type(layer).__name__}) does not see one row for "
                    "each record.",
                    hint="keep records on the first axis",
                )
            pair = _in_full(layer, inputs), _in_full(layer, gradient)
            by_layer.setdefault(name, (layer, []))[1].append(pair)
        return [
            (name, part_of(layer, pairs, copies=copies))
            for name, (layer, pairs) in by_layer.items()
        ]

    def _from_opacus(self, losses: Tensor, copies: int) -> list[tuple[str, Part]]:
        with warnings.catch_warnings():
            # It says that hooks fire, which is what they are for.
            warnings.filterwarnings("ignore", message="Full backward hook is firing")
            (losses.sum() / copies).backward()
        parts = []
        for name, parameter in self.parameters.items():
            sample: Any = getattr(parameter, "grad_sample", None)
            parameter.grad = None
            if sample is None:
                continue
            parameter.grad_sample = None  # type: ignore[attr-defined]
            rows: Any = sum(sample) if isinstance(sample, list) else sample
            rows = rows.to(parameter.dtype)
            layer, _, short = name.rpartition(".")
            rows = rows.unflatten(0, (len(rows) // copies, copies)).sum(1)
            padding = getattr(self.model.get_submodule(layer), "padding_idx", None)
            if padding is not None:  # Opacus gives it a gradient; training gives it none
                rows[:, padding] = 0.0
            parts.append((layer, written({short: rows})))
        return parts


def _in_full(layer: nn.Module, array: Tensor) -> Tensor:
    """Return numbers as precise as the parameters: half of their digits make no norm."""
    precision = next(layer.parameters(recurse=False)).dtype
    return array.to(precision) if array.is_floating_point() else array


def _lengths(parts: list[tuple[str, Part]]) -> Tensor:
    if not parts:
        raise DPSGDError(
            "The losses do not come from the model's last pass.",
            hint="compute model(x) with gradients enabled, then the losses, then this",
        )
    return torch.stack([part.squares() for _, part in parts]).sum(0).sqrt()


def _opacus(model: nn.Module) -> Any:
    for name, layer in model.named_modules():
        where = _where(name, layer)
        if getattr(layer, "inplace", False):
            raise UnsupportedLayerError(
                f"{where} overwrites what Opacus keeps.", hint="set inplace=False"
            )
        if isinstance(layer, nn.LayerNorm) and layer.elementwise_affine and layer.bias is None:
            raise UnsupportedLayerError(
                f"{where} has a scale without a bias, which Opacus does not know.",
                hint="set bias=True",
            )
    try:
        from opacus import GradSampleModule
    except ImportError:
        raise UnsupportedLayerError(
            "This model has layers that need Opacus.",
            hint="in the project's folder: pip install '.[dpsgd]'",
        ) from None
    try:
        return GradSampleModule(model, batch_first=True, loss_reduction="sum", strict=True)
    except NotImplementedError as error:
        raise UnsupportedLayerError(
            "The model has a layer that has no gradient for each record.",
            hint="build it from linear, convolution, embedding and norm layers",
        ) from error
