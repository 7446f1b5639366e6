"""An epoch of private training beside plain loops, eager and compiled, and Opacus at its best.

All are fed by index, in the same pieces, by one thread. Opacus is the best of hooks and ghost.
Pieces are those that the private training takes by itself.
"""

from __future__ import annotations

import json
import os
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median

import torch
from torch import Tensor, nn

from dpsgd import Plan
from dpsgd.networks import image_network
from dpsgd.training.training import PrivateTraining

Build = Callable[[], nn.Module]
Way = Callable[[Tensor, Tensor], None]
RATE = 0.05
EACH = nn.CrossEntropyLoss(reduction="none")


def table_network() -> nn.Module:
    widths = (nn.Linear(100, 128), nn.Linear(128, 64), nn.Linear(64, 2))
    return nn.Sequential(widths[0], nn.ReLU(), widths[1], nn.ReLU(), widths[2])


class TextNetwork(nn.Module):
    """Averages of words, as in the tutorial of Opacus."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.words = nn.Embedding(10_000, width)
        self.top = nn.Sequential(nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, x: Tensor) -> Tensor:
        """Return a number for each class."""
        return self.top(self.words(x).mean(1))


class Transformer(nn.Module):
    """A layer of PyTorch's own, on words and their places."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(1000, 64), nn.Embedding(64, 64)
        self.layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True)
        self.top = nn.Linear(64, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Return a number for each class."""
        order = torch.arange(x.shape[1], device=x.device)
        places = self.places(order[None].expand(x.shape))
        return self.top(self.layer(self.words(x) + places).mean(1))


class Recurrent(nn.Module):
    """An LSTM on lines of numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.top = nn.LSTM(32, 64, batch_first=True), nn.Linear(64, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Return a number for each class."""
        return self.top(self.inner(x)[0][:, -1])


@dataclass(frozen=True)
class Case:
    """A network, its data, and the batch."""

    name: str
    build: Build
    inputs: Tensor
    classes: int
    batch: int


def cases(images: int) -> dict[str, Case]:
    def words(size: int, length: int, number: int) -> Tensor:
        # Frequencies of words fall with their rank, as in texts.
        share = 1 / torch.arange(1, number + 1)
        return torch.multinomial(share, size * length, replacement=True).view(size, length)

    found = (
        Case("MLP", table_network, torch.randn(32_561, 100), 2, 256),
        Case("CNN", image_network, torch.rand(images, 1, 28, 28), 10, 2048),
        Case("text", TextNetwork, words(8192, 256, 10_000), 2, 2048),
        Case("wide text", partial(TextNetwork, 128), words(4096, 256, 10_000), 2, 2048),
        Case("transformer", Transformer, words(2048, 64, 1000), 2, 512),
        Case("LSTM", Recurrent, torch.randn(4096, 32, 32), 2, 512),
    )
    return {case.name: case for case in found}


def batches(size: int, batch: int) -> Iterator[Tensor]:
    """Yield as many Poisson batches as an epoch has."""
    for _ in range(-(-size // batch)):
        yield (torch.rand(size) < batch / size).nonzero()[:, 0]


def plain_epoch(model: nn.Module, x: Tensor, y: Tensor, *, batch: int, piece: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for rows in batches(len(x), batch):
        optimizer.zero_grad()
        for part in rows.split(piece):
            losses = nn.functional.cross_entropy(model(x[part]), y[part], reduction="sum")
            (losses / batch).backward()
        optimizer.step()


def private_epoch(
    model: nn.Module, x: Tensor, y: Tensor, *, batch: int, piece: int | None = None,
    self_test: bool = True,
) -> int:  # fmt: skip
    """Train for an epoch; return the rows that went through the model at once."""
    size = len(x)
    plan = Plan(
        dataset_size=size, sampling_rate=batch / size, steps=-(-size // batch),
        noise_multiplier=1.0, delta=1e-6,
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    training = PrivateTraining(
        plan, model=model, optimizer=optimizer, micro_batch=piece, self_test=self_test
    )
    training.run(x, y, criterion=EACH)
    training.close()
    return training.micro_batch


def opacus_epoch(
    model: nn.Module, x: Tensor, y: Tensor, *, batch: int, piece: int, mode: str
) -> None:
    """Train as Opacus does with its BatchMemoryManager, fed by index."""
    from opacus import PrivacyEngine
    from opacus.validators import ModuleValidator
    from torch.utils.data import DataLoader, TensorDataset

    model = ModuleValidator.fix(model)
    made = PrivacyEngine(accountant="rdp").make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=RATE),
        criterion=nn.CrossEntropyLoss(),
        data_loader=DataLoader(TensorDataset(x, y), batch_size=batch),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        grad_sample_mode=mode,
    )
    model, optimizer, *between, _ = made
    criterion = between[0] if between else nn.CrossEntropyLoss()
    for rows in batches(len(x), batch):
        parts = rows.split(piece)
        for number, part in enumerate(parts, start=1):
            optimizer.signal_skip_step(do_skip=number < len(parts))
            optimizer.zero_grad()
            criterion(model(x[part]), y[part]).backward()
            optimizer.step()


def in_a_child(work: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU seconds of some work, and how far it raised the memory in MB."""
    out, back = os.pipe()
    child = os.fork()
    if child == 0:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        work()
        spent = time.process_time() - start
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        os.write(back, json.dumps([spent, more / 1024]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    spent, more = json.loads(os.read(out, 1000))
    os.close(out)
    os.close(back)
    return spent, more


def ways(case: Case, *, is_compiled: bool, others: bool = True) -> dict[str, Way]:
    """Return what trains a new network for an epoch on given inputs and classes."""
    few = torch.randint(0, case.classes, (len(case.inputs),))
    piece = private_epoch(
        case.build(), case.inputs[:600], few[:600], batch=min(case.batch, 300)
    )

    def way(epoch: Callable[..., object], **more: object) -> Way:
        return lambda x, y: epoch(case.build(), x, y, batch=case.batch, **more)  # type: ignore[return-value]

    def compiled(x: Tensor, y: Tensor) -> None:
        model = torch.compile(case.build(), dynamic=True)
        plain_epoch(model, x, y, batch=case.batch, piece=piece)  # type: ignore[arg-type]

    found = {"plain": way(plain_epoch, piece=piece), "ours": way(private_epoch)}
    if is_compiled:
        found["plain, compiled"] = compiled
    if others:
        for mode in ("hooks", "ghost"):
            found[f"opacus {mode}"] = way(opacus_epoch, piece=piece, mode=mode)
    return found


def measured(
    case: Case, known: dict[str, Way], *, repeats: int
) -> dict[str, tuple[float, float]]:
    """Return the median of CPU seconds and the most memory of each way, taken in turn."""
    data = case.inputs, torch.randint(0, case.classes, (len(case.inputs),))
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in known}
    for name in [*known]:
        try:  # imports, compilers and first calls do not count
            size = len(data[0]) if "compiled" in name else 2 * case.batch
            known[name](*(values[:size] for values in data))
        except Exception as error:  # noqa: BLE001 (not every way can train every network)
            print(f"{case.name}  {name}: {type(error).__name__}: {str(error)[:200]}")
            del known[name]
    for _ in range(repeats):
        for name, way in known.items():
            runs[name].append(in_a_child(partial(way, *data)))
            spent, more = runs[name][-1]
            print(f"{case.name:12} {name:16} {spent:7.2f} CPU s  +{more:.0f} MB", flush=True)
    return {
        name: (median(s for s, _ in each), max(m for _, m in each))
        for name, each in runs.items()
        if each
    }


def speed(
    *, repeats: int, images: int, only: list[str] | None = None, is_compiled: bool = True,
    others: bool = True,
) -> None:  # fmt: skip
    """Print for each network what an epoch takes in each way."""
    warnings.simplefilter("ignore")  # of Opacus, about what is meant
    for name, case in cases(images).items():
        if only and name not in only:
            continue
        known = ways(case, is_compiled=is_compiled, others=others)
        found = measured(case, known, repeats=repeats)
        plain, compiled = found["plain"], found.get("plain, compiled")
        rival = min((v for n, v in found.items() if n.startswith("opacus")), default=None)
        for way, (spent, _) in found.items():
            print(f"{name:12} {way:16} {spent / plain[0]:5.2f} x eager plain, by medians")
        ours, more = found["ours"]
        lead = "" if rival is None else f"  {rival[0] / ours:.2f} x ahead of Opacus"
        beside = "" if compiled is None else f"  {ours / compiled[0]:.2f} x compiled plain"
        print(
            f"{name:12} {'':16} {ours / plain[0]:.2f} x plain{beside}{lead}  "
            f"{more - plain[1]:+.0f} MB  median of {repeats}",
            flush=True,
        )
