"""Several processes that train one model: one batch, one noise, one account."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Any

import torch
from torch import distributed as several

from dpsgd.errors import DPSGDError, PlanError, UnsupportedLayerError
from footing.messages import Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray
    from torch import Tensor, nn

_WRAPPERS = {"DistributedDataParallel", "FullyShardedDataParallel"}
_KEY_BYTES = 16


# claim dpsgd-processes
class Processes:
    """The processes of a run: all that `torch.distributed` joined, or this one alone."""

    def __init__(self) -> None:
        is_joined = several.is_available() and several.is_initialized()
        self.size = several.get_world_size() if is_joined else 1
        self.rank = several.get_rank() if is_joined else 0

    @property
    def is_first(self) -> bool:
        """Whether this one draws the noise, takes the steps, pays and writes files."""
        return self.rank == 0

    def own(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the records of a batch that are this process's to read, by their number."""
        return rows if self.size == 1 else rows[rows % self.size == self.rank]

    def agree(self, facts: dict[str, Any]) -> None:
        """Refuse processes that differ in what all must have alike; no value is told."""
        if self.size == 1:
            return
        digests = [hashlib.sha256(repr(fact).encode()).digest() for fact in facts.values()]
        own = torch.tensor([list(digest) for digest in digests], dtype=torch.uint8)
        each = [torch.empty_like(own) for _ in range(self.size)]
        self._together(several.all_gather, each, own)
        is_same = torch.stack([(other == own).all(1) for other in each]).all(0).tolist()
        wrong = [name for name, same in zip(facts, is_same, strict=True) if not same]
        if wrong:
            raise PlanError(
                Message("The processes of one run differ in {wrong}.", wrong=Name.each(wrong)),
                hint=Message(
                    "give each the same plan, model, optimizer and all records in one order; "
                    "each reads its own part"
                ),
            )

    def add_up(self, arrays: list[Tensor]) -> None:
        """Add arrays over the processes; the first one has the sums then."""
        if self.size > 1:
            whole = torch.cat([array.flatten().cpu() for array in arrays])
            self._together(several.reduce, whole, 0)
            parts = whole.split([array.numel() for array in arrays])
            for array, part in zip(arrays, parts, strict=True):
                array.copy_(part.view_as(array))

    def share(self, arrays: Iterable[Tensor]) -> None:
        """Give all processes the arrays of the first, bit by bit."""
        if self.size == 1:
            return
        tensors = [array.detach() for array in arrays]
        values = [array.flatten().cpu() for array in tensors]
        whole = torch.cat([value.view(torch.uint8) for value in values])
        self._together(several.broadcast, whole, 0)
        parts = whole.split([value.nbytes for value in values])
        for array, part in zip(tensors, parts, strict=True):
            array.copy_(part.clone().view(array.dtype).view_as(array))

    def shared_key(self) -> int:
        """Return a secret number, the same for all."""
        key = torch.frombuffer(bytearray(secrets.token_bytes(_KEY_BYTES)), dtype=torch.uint8)
        self.share([key])
        return int.from_bytes(bytes(key.tolist()), "big")

    def first(self, act: Callable[[], Any]) -> None:
        """Let the first process do something while the others wait; its failure is theirs."""
        failure: BaseException | None = None
        if self.is_first:
            try:
                act()
            except BaseException as error:  # noqa: BLE001 (raised below, when all know)
                failure = error
        has_failed = torch.tensor([failure is not None])
        self.share([has_failed])
        if failure is not None:
            raise failure
        if bool(has_failed):
            raise DPSGDError(
                Message("The first process was refused; its message says why."),
                hint=Message("begin all of them anew"),
            )

    @staticmethod
    def _together(exchange: Callable[..., Any], *values: Any) -> None:
        try:
            exchange(*values)
        except (RuntimeError, ValueError) as error:
            raise DPSGDError(
                Message("Another process of this run ended, or does not answer."),
                hint=Message(
                    "what is paid stays paid: go on from the checkpoint; processes are joined "
                    "by torch.distributed.init_process_group('gloo')"
                ),
            ) from error


def check_unwrapped(model: nn.Module) -> None:
    """Refuse models that exchange gradients by themselves, before any noise."""
    kinds = {type(layer).__name__ for layer in model.modules()}
    parts = {type(parameter).__name__ for parameter in model.parameters()}
    if wrappers := sorted(kinds & _WRAPPERS | parts & {"DTensor"}):
        raise UnsupportedLayerError(
            Message(
                "{value} exchanges gradients or parts of parameters by itself.",
                value=said(wrappers[0]),
            ),
            hint=Message(
                "give the model as it is, whole in each process: the training joins them"
            ),
        )
