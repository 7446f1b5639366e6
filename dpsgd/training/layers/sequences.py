"""Recurrent and attention layers of PyTorch, passed so that their products can be kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from dpsgd.errors import UnsupportedLayerError
from dpsgd.training.layers.kinds import Maker, linear
from dpsgd.training.layers.parts import Affine
from footing.messages import Message, Shape

#: Keeps a product: its name in the layer, how gradients are made, what went in and came out.
Keep = Callable[[str, Maker, Tensor, Tensor], None]


def forward_of(layer: nn.Module) -> Callable[..., Any] | None:
    """Return what passes records as the layer does and keeps its products, if there is such."""
    for kind, forward in _KINDS.items():
        if isinstance(layer, kind) and type(layer).forward is kind.forward:
            return None if _is_unusual(layer) else forward
    return None


def _is_unusual(layer: Any) -> bool:
    if isinstance(layer, nn.MultiheadAttention):
        has_more = layer.bias_k is not None or layer.add_zero_attn
        return has_more or not layer._qkv_same_embed_dim  # noqa: SLF001
    return bool(layer.proj_size)


def _kept(keep: Keep, affine: Affine, inputs: Tensor) -> Tensor:
    weight: Tensor = getattr(affine.layer, affine.weight)
    bias: Tensor | None = getattr(affine.layer, affine.bias, None)
    if affine.rows is not None:
        weight, bias = weight[affine.rows], None if bias is None else bias[affine.rows]
    output = functional.linear(inputs, weight, bias)
    keep(f"{affine.weight} {affine.rows}", partial(linear, affine), inputs, output)
    return output


def _attention(  # noqa: PLR0917 (as the layer has them)
    layer: Any,
    keep: Keep,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,  # noqa: FBT001, FBT002
    attn_mask: Tensor | None = None,
    average_attn_weights: bool = True,  # noqa: FBT001, FBT002
    is_causal: bool = False,  # noqa: FBT001, FBT002
) -> tuple[Tensor, Tensor | None]:
    """Pass records through a `MultiheadAttention`."""
    if is_causal and attn_mask is None:
        raise UnsupportedLayerError(Message("is_causal is a hint, and needs attn_mask."))
    whole = Affine(layer, "in_proj_weight", "in_proj_bias")
    triple = [v if layer.batch_first else v.transpose(0, 1) for v in (query, key, value)]
    if query is key and key is value:
        parts = _kept(keep, whole, triple[0]).chunk(3, 2)
    else:
        size = layer.embed_dim
        rows = [slice(i * size, (i + 1) * size) for i in range(3)]
        parts = tuple(
            _kept(keep, Affine(layer, "in_proj_weight", "in_proj_bias", r), v)
            for r, v in zip(rows, triple, strict=True)
        )
    q, k, v = (part.unflatten(2, (layer.num_heads, -1)).transpose(1, 2) for part in parts)
    mask = _mask(q, attn_mask, key_padding_mask)
    chance = layer.dropout if layer.training else 0.0
    weights = None
    if need_weights:
        logits = q @ k.transpose(2, 3) * q.shape[-1] ** -0.5
        weights = torch.softmax(logits if mask is None else logits + mask, 3)
        weights = functional.dropout(weights, chance)
        out = weights @ v
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        out = functional.scaled_dot_product_attention(q, k, v, mask, chance)
    out = layer.out_proj(out.transpose(1, 2).flatten(2))
    return (out if layer.batch_first else out.transpose(0, 1)), weights


def _mask(query: Tensor, places: Tensor | None, keys: Tensor | None) -> Tensor | None:
    """Return what is added to the logits: of pairs of places, and of keys that are padding."""

    def added(mask: Tensor) -> Tensor:
        if mask.is_floating_point():
            return mask
        return query.new_zeros(mask.shape).masked_fill_(mask, float("-inf"))

    bias = None
    if places is not None:
        bias = added(places)
        bias = bias if bias.dim() == 2 else bias.unflatten(0, query.shape[:2])
    if keys is not None:
        padding = added(keys)[:, None, None]
        bias = padding if bias is None else bias + padding
    return bias


def _recurrent(layer: Any, keep: Keep, inputs: Any, state: Any = None) -> tuple[Tensor, Any]:
    """Pass records through an LSTM, a GRU or an RNN, one place after the other."""
    if not isinstance(inputs, Tensor) or inputs.dim() != 3:
        raise UnsupportedLayerError(
            Message(
                "A layer of type {name} takes (records, places, width) here.",
                name=Shape(type(layer)),
            ),
            hint=Message("pad records to one length in place of packing them"),
        )
    has_cells, directions = isinstance(layer, nn.LSTM), 1 + layer.bidirectional
    sequence = inputs if layer.batch_first else inputs.transpose(0, 1)
    if state is None:
        zeros = sequence.new_zeros(
            directions * layer.num_layers, len(sequence), layer.hidden_size
        )
        state = (zeros, zeros) if has_cells else zeros
    starts = [*zip(*state, strict=True)] if has_cells else [(h,) for h in state]
    ends: list[tuple[Tensor, ...]] = []
    for level in range(layer.num_layers):
        outs = []
        for name in (f"l{level}", f"l{level}_reverse")[:directions]:
            is_back = name.endswith("e")
            run = sequence.flip(1) if is_back else sequence
            out, end = _scan(layer, keep, name, run, starts[len(ends)])
            outs.append(out.flip(1) if is_back else out)
            ends.append(end)
        sequence = torch.cat(outs, 2) if len(outs) > 1 else outs[0]
        if layer.dropout and layer.training and level + 1 < layer.num_layers:
            # Places first, as its own forward draws chance.
            by_place = sequence.transpose(0, 1).contiguous()
            sequence = functional.dropout(by_place, layer.dropout).transpose(0, 1)
    last = tuple(torch.stack(one) for one in zip(*ends, strict=True))
    out = sequence if layer.batch_first else sequence.transpose(0, 1)
    return out, (last if has_cells else last[0])


def _scan(
    layer: Any, keep: Keep, name: str, run: Tensor, state: tuple[Tensor, ...]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    step = _STEPS[layer.mode]
    into = _kept(keep, Affine(layer, f"weight_ih_{name}", f"bias_ih_{name}"), run)
    around = Affine(layer, f"weight_hh_{name}", f"bias_hh_{name}")
    weight, bias = getattr(layer, around.weight), getattr(layer, around.bias, None)
    before, outs = [], []
    for place in into.unbind(1):
        before.append(state[0])
        if layer.mode == "GRU":
            state = step(place, _kept(keep, around, state[0]), *state)
        else:
            state = step(place + functional.linear(state[0], weight, bias), *state)
        outs.append(state[0])
    if layer.mode != "GRU":  # the gradients of both products are the same numbers
        keep(around.weight, partial(linear, around), torch.stack(before, 1), into)
    return torch.stack(outs, 1), state


def _lstm(gates: Tensor, _: Tensor, cell: Tensor) -> tuple[Tensor, ...]:
    into, forget, new, out = gates.chunk(4, 1)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(into) * torch.tanh(new)
    return torch.sigmoid(out) * torch.tanh(cell), cell


def _gru(place: Tensor, pull: Tensor, state: Tensor) -> tuple[Tensor, ...]:
    (r, z, new), (pull_r, pull_z, pull_new) = place.chunk(3, 1), pull.chunk(3, 1)
    new = torch.tanh(new + torch.sigmoid(r + pull_r) * pull_new)
    return (new + torch.sigmoid(z + pull_z) * (state - new),)


def _tanh(gates: Tensor, _: Tensor) -> tuple[Tensor, ...]:
    return (torch.tanh(gates),)


def _relu(gates: Tensor, _: Tensor) -> tuple[Tensor, ...]:
    return (torch.relu(gates),)


_STEPS: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "LSTM": _lstm, "GRU": _gru, "RNN_TANH": _tanh, "RNN_RELU": _relu
}  # fmt: skip
_KINDS: dict[Any, Callable[..., Any]] = {
    nn.MultiheadAttention: _attention,
    nn.LSTM: _recurrent,
    nn.GRU: _recurrent,
    nn.RNN: _recurrent,
}
