"""Records by number, whatever holds them: tensors, arrays, a Dataset, a DataLoader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.utils import data as torch_data
from torch.utils.data import default_collate

from dpsgd.errors import TrainingDataError
from dpsgd.training.of_opacus import is_of_opacus
from footing.messages import Message, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

_SAMPLERS = (torch_data.SequentialSampler, torch_data.RandomSampler)
_BATCH_SAMPLERS = (torch_data.BatchSampler, type(None))
_BYTE = 256
_SOME = 16


class Records:
    """What gives the batch of any records: a tuple, or a dictionary, of tensors."""

    def __init__(self, data: Any) -> None:
        self._dataset, self._collate = None, default_collate
        is_loader = isinstance(data, torch_data.DataLoader)
        if isinstance(data.dataset if is_loader else data, torch_data.IterableDataset):
            raise TrainingDataError(
                Message(
                    "Batches are drawn by number: records that only come one after the other "
                    "have none."
                ),
                hint=Message("give a Dataset with __getitem__ and __len__"),
            )
        if is_loader and is_of_opacus(data):
            raise TrainingDataError(
                Message("The loader is private already."),
                hint=Message("give the DataLoader that came before make_private"),
            )
        if is_loader:
            batches = type(data.batch_sampler)
            is_usual = isinstance(data.sampler, _SAMPLERS) and batches in _BATCH_SAMPLERS
            if not is_usual or not _is_made_by(data):
                raise TrainingDataError(
                    Message(
                        "The plan draws the batches; a sampler of one's own cannot be kept."
                    ),
                    hint=Message(
                        "give the dataset, and state how batches are drawn in the plan"
                    ),
                )
            data, self._collate = data.dataset, data.collate_fn
        if isinstance(data, torch_data.TensorDataset) and self._collate is default_collate:
            data = data.tensors
        if isinstance(data, torch_data.Dataset):
            self._dataset, self._size = data, len(data)  # type: ignore[arg-type]
            return
        self._whole = mapped(_as_tensor, data if isinstance(data, dict) else tuple(data))
        sizes = {len(value) if value.ndim else 0 for value in leaves(self._whole)}
        if len(sizes) != 1:
            raise TrainingDataError(
                Message("Inputs and targets must have a row for each record."),
                hint=Message("give a list of pairs as a torch.utils.data.Dataset"),
            )
        self._size = sizes.pop()

    @classmethod
    def of(cls, data: tuple[Any, ...]) -> Records:
        """Return what a call was given: tensors, or one object that holds all."""
        one = data[0] if len(data) == 1 else data
        if isinstance(one, cls):
            return one
        is_whole = isinstance(one, (torch_data.DataLoader, torch_data.Dataset, dict))
        return cls(one if is_whole else data)

    def __len__(self) -> int:
        return self._size

    def batch(self, rows: NDArray[np.intp], *, device: torch.device) -> Any:
        """Return some records, in their order."""
        if self._dataset is not None:
            records = self._collate([self._dataset[int(row)] for row in rows])
            records = tuple(records) if isinstance(records, list) else records
        else:
            index = torch.from_numpy(np.ascontiguousarray(rows))
            records = mapped(lambda v: v.index_select(0, index.to(v.device)), self._whole)
        return mapped(lambda v: v.to(device), records)

    def share_of_targets(self, fit: Callable[[Tensor], Tensor]) -> float:
        """Return the share of targets that fit; 1 where records are only read one by one."""
        whole: Any = getattr(self, "_whole", ())
        is_pair = isinstance(whole, tuple) and len(whole) == 2 and bool(self._size)
        if not is_pair or whole[1].is_floating_point():
            return 1.0
        return float(fit(whole[1]).float().mean())

    def some(self) -> tuple[int, list[bytes]]:
        """Return how many there are, and a few of them, to tell another order by."""
        places = np.linspace(0, self._size - 1, min(self._size, _SOME)).astype(np.intp)
        with torch.random.fork_rng([]):
            torch.manual_seed(1)
            sample = self.batch(places, device=torch.device("cpu")) if self._size else ()
        arrays = (value.contiguous().view(torch.uint8) for value in leaves(sample))
        return self._size, [value.numpy().tobytes() for value in arrays]

    def made_up(self, count: int, *, codes: int, device: torch.device) -> Any:
        """Return random records of the same shape and kind.

        Of the data only these two are looked at. Numbers lie from 0 to 1, as probabilities
        must; codes from 0, below a bound in what comes first and below 2 elsewhere.
        """
        like = self._whole if self._dataset is None else self.batch(np.arange(1), device=device)
        chance = torch.Generator().manual_seed(1)
        first = next(leaves(like))

        def drawn(value: Tensor) -> Tensor:
            shape = (count, *value.shape[1:])
            if value.is_floating_point():
                return torch.rand(shape, generator=chance).to(device, value.dtype)
            below = _BYTE if value.dtype == torch.uint8 else codes
            high = min(below, codes or below) if value is first else 2
            numbers = torch.randint(0, high or 2, shape, generator=chance)
            return numbers.to(device, value.dtype)

        return mapped(drawn, like)


def _is_made_by(loader: Any) -> bool:
    """Return whether a loader cuts its own batches, and was given none that do."""
    inner = getattr(loader.batch_sampler, "sampler", loader.sampler)
    return inner is loader.sampler


def mapped(function: Callable[[Tensor], Tensor], batch: Any) -> Any:
    """Return a batch with each of its tensors replaced."""
    if isinstance(batch, dict):
        return {name: mapped(function, value) for name, value in batch.items()}
    if isinstance(batch, (tuple, list)):
        return tuple(mapped(function, value) for value in batch)
    if not isinstance(batch, Tensor) and function is not _as_tensor:
        raise _no_numbers(type(batch).__name__)
    return function(batch)


def leaves(batch: Any) -> Iterator[Any]:
    """Yield the tensors of a batch."""
    if isinstance(batch, dict):
        batch = batch.values()
    elif not isinstance(batch, (tuple, list)):
        yield batch
        return
    for value in batch:
        yield from leaves(value)


def _as_tensor(values: Any) -> Tensor:
    if isinstance(values, Tensor):
        return values
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise _no_numbers(str(array.dtype))
    if array.dtype.kind == "f":  # as precise as a model is
        return torch.from_numpy(array.astype(np.float32))
    return torch.as_tensor(array)


def _no_numbers(kind: str) -> TrainingDataError:
    return TrainingDataError(
        Message("Records must be numbers, not of type {kind}.", kind=said(kind)),
        hint=Message("turn them into tensors, or give a Dataset that does"),
    )
