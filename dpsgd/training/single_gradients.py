"""Gradients of records that pass through a model one at a time: slow, and right for any."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from dpsgd.training.gradients import (
    RecordGradients,
    check_model,
    may_mix,
    not_by_record,
    uncompiled,
)
from dpsgd.training.layers.parts import Part, Written


class SingleGradients(RecordGradients):
    """What `RecordGradients` does, for models of which it cannot see one row for each record.

    A batch is passed record by record, and each pass has a graph of its own. So a weight may be
    used by whatever and as often as a model likes: as a matrix, by layers that see no record,
    by embeddings of relative places. Gradients are written out.

    Parameters
    ----------
    model, is_per_layer
        As for `RecordGradients`.
    """

    def __init__(self, model: nn.Module, *, is_per_layer: bool = False) -> None:
        check_model(model)
        self.model, self.is_per_layer = model, is_per_layer
        self.parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self._layers = len({name.rpartition(".")[0] for name in self.parameters})
        self._watched = [pair for pair in model.named_modules() if may_mix(pair[1])]
        self._is_watching = True
        # Of each pass the rows of its outputs, and where gradients come back to.
        self._calls: list[Any] = []
        self._row_flags: dict[str, list[bool]] = {}
        self._cut: set[str] = set()
        self._held, self._whole = vars(model).get("forward"), model.forward
        vars(model)["forward"] = uncompiled(self._forward)

    def close(self) -> None:
        """Give the model its own forward back."""
        self._calls = []
        if self._held is None:
            vars(self.model).pop("forward", None)
        else:
            vars(self.model)["forward"] = self._held

    def _forward(self, *args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten((args, kwargs))
        rows = next((len(v) for v in leaves if isinstance(v, Tensor) and v.dim()), 0)
        is_row = self._flags(leaves, str(spec), rows)
        if not torch.is_grad_enabled() or not rows:
            return self._whole(*args, **kwargs)
        outputs, shape = [], spec
        for row in range(rows):
            own = [v[row : row + 1] if f else v for v, f in zip(leaves, is_row, strict=True)]
            one, more = tree_unflatten(own, spec)
            output, shape = tree_flatten(self._whole(*one, **more))
            outputs.append(output)
        return tree_unflatten(self._joined(outputs), shape)

    def _flags(self, leaves: list[Any], shape: str, rows: int) -> list[bool]:
        """Return which arguments have a row for each record, at every pass so far.

        One that has as many rows as records by chance is told from them by another batch; those
        of the self-test come first.
        """
        now = [isinstance(v, Tensor) and v.dim() > 0 and len(v) == rows for v in leaves]
        before = self._row_flags.get(shape, now)
        flags = [a and b for a, b in zip(before, now, strict=True)]
        if shape in self._cut and flags != before:
            raise not_by_record("", self.model)
        if torch.is_grad_enabled():
            self._cut.add(shape)
        self._row_flags[shape] = flags
        return flags

    def _joined(self, outputs: list[list[Any]]) -> list[Any]:
        """Return what records give together, from which gradients come back to each of them."""
        joined: list[Any] = []
        kept: list[list[Tensor]] = []
        for several in zip(*outputs, strict=True):
            if not isinstance(several[0], Tensor):
                joined.append(several[0])
                continue
            rows = [v[None] if not v.dim() else v for v in several]
            if any(len(v) != 1 for v in rows):
                raise not_by_record("", self.model)
            value = torch.cat(rows)
            if self._is_watching and value.requires_grad:
                value = value.detach().requires_grad_()
                kept.append(rows)
            joined.append(value)
        if kept:
            ends = [
                v for v in joined if isinstance(v, Tensor) and v.is_leaf and v.requires_grad
            ]
            self._calls.append((kept, ends))
        return joined

    def _parts(self, losses: Tensor, copies: int) -> list[tuple[str, Part]]:
        passes, self._calls = self._calls, []
        ends = [end for _, several in passes for end in several]
        if not ends:
            return []
        pulls = torch.autograd.grad(losses.sum() / copies, ends, materialize_grads=True)
        if any(len(end) != len(losses) for end in ends):
            raise not_by_record("", self.model)
        pairs = [*zip((rows for kept, _ in passes for rows in kept), pulls, strict=True)]
        layers: dict[str, dict[str, Tensor]] = {}
        each = [
            self._of_record(pairs, start, copies) for start in range(0, len(losses), copies)
        ]
        for number, name in enumerate(self.parameters):
            owner, _, short = name.rpartition(".")
            layers.setdefault(owner, {})[short] = torch.stack([g[number] for g in each])
        return [(owner, Written(gradients)) for owner, gradients in layers.items()]

    def _of_record(
        self, pairs: list[tuple[list[Tensor], Tensor]], start: int, copies: int
    ) -> tuple[Tensor, ...]:
        rows = range(start, start + copies)
        return torch.autograd.grad(
            [values[row] for values, _ in pairs for row in rows],
            [*self.parameters.values()],
            [pull[row : row + 1] for _, pull in pairs for row in rows],
            materialize_grads=True,
        )
