"""How much memory training takes: measured in four stages, and by formulas of the past."""

import math
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dp.checking import checked_count
from dpsgd.errors import DPSGDError
from footing.messages import Message, Name

#: After which memory is read.
STAGES = ("model", "batch", "backward", "step")
_IMAGE = 3 * 224 * 224 * 4  # bytes of one image of 32-bit floats
_LABEL = 8
_GRAIN, _LARGE, _PAGE, _WASTE = 512, 10 << 20, 2 << 20, 1 << 20  # of the allocator

#: Given a configuration, do one step of training and yield the name of each stage when it is
#: done. A function of a module, so that a fresh process can import it.
Stages: TypeAlias = Callable[[Mapping[str, Any]], Iterator[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Memory after each stage of one step, and at the most, in bytes.

    Parameters
    ----------
    configuration
        What was trained.
    start
        Before anything was loaded; on a graphics card 0.
    model, batch, backward, step
        Held after each stage.
    peak
        The most at any moment; it counts, as what passes within a stage can be far larger.
    device
        ``"cpu"`` (memory of the process) or ``"cuda"`` (memory of the allocator).
    """

    configuration: Mapping[str, Any]
    start: int
    model: int
    batch: int
    backward: int
    step: int
    peak: int
    device: str


def measure(
    stages: Stages, configurations: Sequence[Mapping[str, Any]], *, device: str = "cpu"
) -> list[Footprint]:
    """Measure one step of training for each configuration, each in a process of its own.

    Memory that one model left behind would count for the next.
    """
    if device not in {"cpu", "cuda"}:
        raise DPSGDError(
            Message("Unknown device {device!r}.", device=Name(device)),
            hint=Message("known: 'cpu', 'cuda'"),
        )
    context = multiprocessing.get_context("spawn")
    footprints = []
    for configuration in configurations:
        receiver, sender = context.Pipe(duplex=False)
        worker = context.Process(
            target=_work, args=(stages, dict(configuration), device, sender)
        )
        worker.start()
        sender.close()
        try:
            answer = receiver.recv()
        except EOFError:
            answer = None
        finally:
            worker.join()
            receiver.close()
        if not isinstance(answer, dict):
            raise DPSGDError(
                Message(
                    "A measurement ended without a result{value}",
                    value=Message(": {answer}.", answer=Name(answer))
                    if answer
                    else Message("; its process was killed."),
                ),
                hint=advice(int(configuration.get("batch_size", 2))),
            )
        footprints.append(Footprint(configuration=dict(configuration), device=device, **answer))
    return footprints


def _work(stages: Stages, configuration: dict[str, Any], device: str, sender: Any) -> None:
    try:
        readers = _readers(device)
        memory = {"start": readers[0]()} | {
            name: readers[0]() for name in _in_order(stages(configuration))
        }
        sender.send(memory | {"peak": max(readers[1](), *memory.values())})
    except Exception as error:  # noqa: BLE001 (its text may quote data; its kind does not)
        sender.send(type(error).__name__)
    finally:
        sender.close()


def _in_order(names: Iterator[str]) -> Iterator[str]:
    rest = [*STAGES]
    for name in names:
        if not rest or name != rest.pop(0):
            break
        yield name
    else:
        if not rest:
            return
    raise DPSGDError(
        Message("The stages are {stages}, in this order.", stages=Name.each(STAGES))
    )


def _readers(device: str) -> tuple[Callable[[], int], Callable[[], int]]:
    if device == "cuda":
        import torch

        return torch.cuda.memory_allocated, torch.cuda.max_memory_allocated
    import resource

    unit = 1 if sys.platform == "darwin" else 1024

    def most() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

    def held() -> int:
        try:
            with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
                return int(file.read().split()[1]) * resource.getpagesize()
        except OSError:  # elsewhere only the most is known
            return most()

    return held, most


def flowers_estimate(
    *, hidden_units: int, batch_size: int, image_factor: int = 1, is_private: bool
) -> dict[str, float]:
    """Return what each stage adds for one head on frozen features, in bytes at the most.

    Formulas fitted to measurements of one network (a head of 25,088 inputs and 102 classes,
    trained by Adam on a graphics card); for another, measure.

    Images and labels are what the allocator of a graphics card holds for them: whole grains of
    512 bytes, and whole pages of 2 MiB for a large block that nearly fills its last one.
    Keeping gradients adds ``108,500`` bytes a record and hidden unit in the last stage: the
    head itself, 4 bytes a weight, and 8 % more.
    """
    units = checked_count(hidden_units, "hidden_units")
    batch = checked_count(batch_size, "batch_size")
    factor = checked_count(image_factor, "image_factor")
    backward = 101_000.0 * units + (7_489_400 if is_private else 1_339_400)
    if is_private and units % 8 == 0 and units < 512:
        large = 18_850_000 if units < 240 else 5_821_000
        backward += 88_000 * batch if units < 128 else large
    return {
        "model": 101_387.0 * units + 60_750_000,
        "batch": float(_held(_IMAGE * batch / factor**2) + _held(_LABEL * batch)),
        "backward": backward,
        "step": 108_500.0 * (2 + batch) * units if is_private else 224_105.0 * units,
    }


def _held(size: float) -> int:
    """Return what an allocator sets aside for a block."""
    grains = math.ceil(size / _GRAIN) * _GRAIN
    pages = math.ceil(grains / _PAGE) * _PAGE
    return pages if grains >= _LARGE and pages - grains <= _WASTE else grains


def advice(batch_size: int) -> str:
    """Say what to do when a batch does not fit into memory.

    Just below a power of two, because allocators round blocks up. The size of the logical
    batch belongs to the plan and keeps its privacy; only the parts it is worked off in shrink.
    """
    batch = checked_count(batch_size, "batch_size")
    power = 1 << max(1, (batch - 1).bit_length() - 1)
    parts = [part for part in (power - 1, power // 2 - 1) if 1 <= part < batch]
    if not parts:
        return Message("a single record does not fit: take a smaller model or smaller records")
    first, *rest = parts
    more = Message(", or {other}", other=rest[0]) if rest else Message()
    return Message(
        "split the batch into parts of {first} records{more}: the batch of the "
        "plan stays as it is",
        first=first,
        more=more,
    )
