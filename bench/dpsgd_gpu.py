"""Private training on a graphics card: whether its sums are right, and what they take.

python -m bench.dpsgd_gpu                      about five minutes on one card
python -m bench.dpsgd_gpu --device cpu --tiny  the same in small, to see that it runs

Times are of the card's own events (of the clock on a processor), the median of several epochs
after a first one that does not count. Each part stands for itself: what fails is printed. Where
the variable OUT names a folder, rows are kept there as JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bench.dpsgd_speed import (
    EACH,
    RATE,
    Case,
    Recurrent,
    TextNetwork,
    Transformer,
    opacus_epoch,
    plain_epoch,
    private_epoch,
    table_network,
)
from bench.residual_network import residual_network
from dpsgd import Plan, UnsupportedLayerError
from dpsgd.networks import image_network
from dpsgd.training.gradients import RecordGradients
from dpsgd.training.training import PrivateTraining
from tests.unit.dpsgd.training import test_gradients, test_self_test

OUT = Path(os.environ.get("OUT", "")) if os.environ.get("OUT") else None
START = time.monotonic()
ROWS: list[dict[str, Any]] = []


def note(part: str, **facts: Any) -> None:
    """Print a row, and keep it at once: the machine may go."""
    row = {"part": part, **facts, "at": round(time.monotonic() - START, 1)}
    ROWS.append(row)
    print("  ".join(f"{k} {v}" for k, v in row.items()), flush=True)
    if OUT is not None:
        (OUT / "dpsgd_gpu.json").write_text(json.dumps(ROWS, indent=1) + "\n")


def tried(part: str, work: Callable[[], object]) -> None:
    try:
        work()
    except Exception as error:  # noqa: BLE001 (the other parts are worth having)
        note(part, failed=type(error).__name__, text=str(error)[:300])


def timed(work: Callable[[], object], device: str) -> tuple[float, float]:
    """Return the seconds of some work and its peak of memory on the card in MB."""
    if device == "cpu":
        start = time.perf_counter()
        work()
        return time.perf_counter() - start, 0.0
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    more = torch.cuda.max_memory_allocated() - held
    return start.elapsed_time(end) / 1000, more / 2**20


def facts(device: str) -> None:
    name = torch.cuda.get_device_name() if device == "cuda" else "processor"
    note(
        "machine", torch=torch.__version__, device=name, threads=torch.get_num_threads(),
        matmul=torch.get_float32_matmul_precision(),
        tf32_in_convolutions=torch.backends.cudnn.allow_tf32,
    )  # fmt: skip


def sums(device: str) -> None:
    """Compare clipped sums in 32 bits on the device with one record at a time in 64 here."""
    for name in test_gradients.cases():
        tried(f"sums, {name}", partial(sums_of, name, device))


def sums_of(name: str, device: str) -> None:
    model, x, y = test_gradients.made(name)
    each = test_gradients.one_by_one(model, x, y)
    norm = sorted(map(test_gradients.length, each))[2]
    model.float().to(device)
    x = (x.float() if x.is_floating_point() else x).to(device)
    books = RecordGradients(model)
    found = books.clipped_sum(test_gradients.losses(model, x, y.to(device)), norm=norm)
    wanted = {
        key: sum(g[key] * min(1, norm / test_gradients.length(g)) for g in each)
        for key in each[0]
    }
    far = sum(float((found.gradients[k].cpu() - w).square().sum()) for k, w in wanted.items())
    longest = 0.0
    for row in range(len(x)):
        loss = test_gradients.losses(model, x[row : row + 1], y[row : row + 1].to(device))
        one = books.clipped_sum(loss, norm=1e-4).gradients
        length = math.sqrt(sum(float(g.double().square().sum()) for g in one.values()))
        longest = max(longest, length / 1e-4)
    off = math.sqrt(far) / norm
    is_right = off < 1e-3 and longest <= 1 + 1e-5
    note("sums", case=name, off=f"{off:.1e}", longest=f"{longest:.7f}", is_right=is_right)


def plan_of(size: int, *, steps: int = 1, noise: float = 1.0, rate: float = 1.0) -> Plan:
    return Plan(
        dataset_size=size, sampling_rate=rate, steps=steps, noise_multiplier=noise, delta=1e-6
    )  # fmt: skip


def noise(device: str, *, is_tiny: bool) -> None:
    """Take steps whose gradients are zero: what moves the weights is noise."""
    width = 100 if is_tiny else 1000
    model = nn.Linear(width, width, bias=False).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    plan = plan_of(10, steps=2, noise=2.0)
    training = PrivateTraining(plan, model=model, optimizer=optimizer, self_test=False)
    moved = []
    for _ in range(2):
        before = model.weight.detach().double()
        for piece in training.pieces(next(training.draws(10)), torch.zeros(10, width)):
            training.accumulate(model(piece[0]).sum(1) * 0)
        training.step()
        moved.append((model.weight.detach().double() - before).flatten())
    wanted = plan.gradient_noise * plan.clipping_norm / plan.expected_batch
    ratio = [float(m.square().mean().sqrt()) / wanted for m in moved]
    common = float(torch.corrcoef(torch.stack(moved))[0, 1])
    bound = 5 / width  # five standard deviations of a mean of width² numbers
    is_right = all(abs(r - 1) < bound for r in ratio) and abs(common) < bound
    note(
        "noise", deviation=[round(r, 5) for r in ratio], correlation=round(common, 5),
        drawn_on=str(model.weight.device), is_right=is_right,
    )  # fmt: skip
    for size in (26_010, 1_000_000, *([] if is_tiny else [25_000_000])):
        ours = [timed(partial(drawn, training, size, device), device)[0] for _ in range(4)]
        card = [timed(partial(torch.randn, size, device=device), device)[0] for _ in range(4)]
        note(
            "noise, time", numbers=size, drawn_and_copied_ms=round(1000 * min(ours[1:]), 3),
            by_torch_on_device_ms=round(1000 * min(card[1:]), 3),
        )  # fmt: skip


def drawn(training: PrivateTraining, size: int, device: str) -> Tensor:
    return torch.from_numpy(training.randomness.noise(size)).to(device)


def sixteen_bits(device: str) -> None:
    for kind in (torch.bfloat16, torch.float16):
        model = nn.Linear(1, 1, bias=False).to(device, kind)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        try:
            PrivateTraining(plan_of(10), model=model, optimizer=optimizer)
            note("16 bits", kind=str(kind), is_right=False)
        except UnsupportedLayerError:
            note("16 bits", kind=str(kind), refused=True, is_right=True)
    model = table_network().to(device)
    training = PrivateTraining(
        plan_of(1, noise=0.0), model=model, precision="bfloat16",
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
    )  # fmt: skip
    before = [p.detach().double() for p in model.parameters()]
    x, y = 50 * torch.randn(1, 100, device=device), torch.ones(1, device=device).long()
    training.run(x, y, criterion=EACH)
    moved = math.sqrt(
        sum(
            float((p - b).square().sum())
            for p, b in zip(model.parameters(), before, strict=True)
        )
    )
    note("16 bits, passed", length=round(moved, 6), is_right=0.99 < moved <= 1 + 1e-3)


def self_tests(device: str) -> None:
    """Try what is to be refused, and what is not."""
    for name, (build, x, words) in test_self_test.REFUSED.items():
        tried(f"self-test, {name}", partial(refused, name, build(), x, words, device))
    good = [case for case in cases(device, is_tiny=True) if case.name != "ResNet-20"]
    for case in good:
        tried(f"self-test, {case.name}", partial(passed, case, device))


def refused(name: str, model: nn.Module, x: Tensor, words: str, device: str) -> None:
    text = "passed"
    try:
        test_self_test.private(model.to(device), x.to(device), test_self_test.Y.to(device))
    except UnsupportedLayerError as error:
        text = str(error)
    note("self-test", refused=name, is_right=words in text)


def passed(case: Case, device: str) -> None:
    model = case.build().to(device)
    training = PrivateTraining(
        plan_of(len(case.inputs)), model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=RATE),
    )  # fmt: skip
    y = torch.zeros(len(case.inputs), device=device).long()
    losses = training.losses_with(EACH)
    spent = timed(lambda: training.check(case.inputs, y, losses_of=losses), device)[0]
    note("self-test", passed=case.name, ms=round(1000 * spent, 1), is_right=training.is_tested)


def cases(device: str, *, is_tiny: bool) -> list[Case]:
    """Return networks with data on the device, and batches of its size."""
    few = 64 if is_tiny else 1

    def words(size: int, length: int, number: int) -> Tensor:
        share = 1 / torch.arange(1, number + 1, device=device)
        return torch.multinomial(share, size * length, replacement=True).view(size, length)

    def on(*shape: int) -> Tensor:
        return torch.rand(*shape, device=device)

    return [
        Case("MLP", table_network, on(524_288 // few, 100), 2, 4096 // few),
        Case("CNN", image_network, on(65_536 // few, 1, 28, 28), 10, 4096 // few),
        Case("text", TextNetwork, words(65_536 // few, 256, 10_000), 2, 4096 // few),
        Case("transformer", Transformer, words(16_384 // few, 64, 1000), 2, 2048 // few),
        Case("LSTM", Recurrent, on(16_384 // few, 32, 32), 2, 2048 // few),
        Case("ResNet-20", residual_network, on(16_384 // few, 3, 32, 32), 10, 2048 // few),
    ]


def speed(device: str, *, is_tiny: bool, minutes: float, is_compiled: bool) -> None:
    """Time an epoch of each network in each way; what is compiled comes last."""
    todo = cases(device, is_tiny=is_tiny)
    found: dict[str, dict[str, float]] = {case.name: {} for case in todo}
    rounds = [False, True] if is_compiled else [False]
    for is_late in rounds:
        for case in todo:
            labels = torch.randint(0, case.classes, (len(case.inputs),), device=device)
            for name, epoch in (late_ways if is_late else ways)(case, device).items():
                if time.monotonic() - START > 60 * minutes:
                    note("speed", network=case.name, way=name, left_out="no time is left")
                    continue
                work = partial(epoch, case.inputs, labels)
                tried(
                    f"speed, {case.name}, {name}",
                    partial(timed_way, case, name, work, device, found),
                )
    for name, times in found.items():
        plain = min((v for k, v in times.items() if k.startswith("plain")), default=math.nan)
        rival = min((v for k, v in times.items() if k.startswith("opacus")), default=math.nan)
        ours = min((v for k, v in times.items() if k.startswith("ours")), default=math.nan)
        note(
            "ratio", network=name, of_plain=round(ours / plain, 2), ahead=round(rival / ours, 2)
        )


def timed_way(
    case: Case, name: str, work: Callable[[], object], device: str,
    found: dict[str, dict[str, float]],
) -> None:  # fmt: skip
    first = timed(work, device)[0]
    runs = [timed(work, device) for _ in range(5 if first < 3 else 2)]
    spent = found[case.name][name] = statistics.median(s for s, _ in runs)
    note(
        "speed", network=case.name, way=name, ms=round(1000 * spent, 2),
        least_ms=round(1000 * min(runs)[0], 2), first_ms=round(1000 * first),
        records_a_second=round(len(case.inputs) / spent),
        peak_mb=round(max(m for _, m in runs)),
    )  # fmt: skip


def ways(case: Case, device: str) -> dict[str, Callable[[Tensor, Tensor], object]]:
    def way(epoch: Callable[..., object], **more: object) -> Callable[[Tensor, Tensor], object]:
        return lambda x, y: epoch(case.build().to(device), x, y, batch=case.batch, **more)

    whole, few = 2**30, case.inputs[:600]
    labels = torch.zeros(len(few), device=device).long()
    piece = private_epoch(case.build().to(device), few, labels, batch=len(few) // 2)
    note("pieces", network=case.name, rows=piece)
    return {
        "plain": way(plain_epoch, piece=whole),
        "ours": way(private_epoch, piece=piece, self_test=False),
        "ours, whole batches": way(private_epoch, piece=whole, self_test=False),
        "opacus hooks": way(opacus_epoch, piece=whole, mode="hooks"),
        "opacus ghost": way(opacus_epoch, piece=whole, mode="ghost"),
    }


def late_ways(case: Case, device: str) -> dict[str, Callable[[Tensor, Tensor], object]]:
    model = torch.compile(case.build().to(device), dynamic=True)
    return {
        "plain, compiled": lambda x, y: plain_epoch(model, x, y, batch=case.batch, piece=2**30)  # type: ignore[arg-type]
    }


def profiles(device: str, *, is_tiny: bool) -> None:
    """Print what the card and the processor do in an epoch of ours."""
    from torch.profiler import ProfilerActivity, profile

    key = "self_cpu_time_total" if device == "cpu" else "self_device_time_total"
    for case in cases(device, is_tiny=is_tiny)[:5]:
        labels = torch.randint(0, case.classes, (len(case.inputs),), device=device)
        kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
        work = partial(
            private_epoch, case.build().to(device), case.inputs, labels, batch=case.batch,
            piece=2**30, self_test=False,
        )  # fmt: skip
        with profile(activities=kinds) as seen:
            timed(work, device)
        for sort in dict.fromkeys([key, "self_cpu_time_total"]):
            text = seen.key_averages().table(
                sort_by=sort, row_limit=14, max_name_column_width=48
            )
            lines = f"{case.name}, by {sort}\n{text}\n"
            if OUT is None:
                print(lines[:1500], flush=True)
            else:
                with (OUT / "profiles.txt").open("a") as file:
                    file.write(lines)
    note("profiles", kept=OUT is not None)


def main() -> None:
    warnings.simplefilter("ignore")  # of Opacus, about what is meant
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--minutes", type=float, default=5, help="after which no way begins")
    parser.add_argument("--eager", action="store_true", help="compile no plain loop")
    parts = ("sums", "noise", "16 bits", "self-test", "profiles", "speed")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    given = parser.parse_args()
    device, is_tiny = given.device, given.tiny
    if device == "cuda" and not torch.cuda.is_available():
        print("GPU: there is none here.")
        return
    if device == "cpu":
        torch.set_num_threads(1)
    facts(device)
    work = {
        "sums": partial(sums, device),
        "noise": partial(noise, device, is_tiny=is_tiny),
        "16 bits": partial(sixteen_bits, device),
        "self-test": partial(self_tests, device),
        "profiles": partial(profiles, device, is_tiny=is_tiny),
        "speed": partial(
            speed, device, is_tiny=is_tiny, minutes=given.minutes, is_compiled=not given.eager
        ),
    }
    for part in given.only:
        tried(part, work[part])
    wrong = [row for row in ROWS if row.get("is_right") is False or "failed" in row]
    note("end", rows=len(ROWS), wrong=len(wrong))


if __name__ == "__main__":
    main()
