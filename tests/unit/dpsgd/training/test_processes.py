"""Two processes that train one model do what one does: two real ones, joined by gloo."""

from __future__ import annotations

import multiprocessing
import os
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from dp import BudgetLedger
from dpsgd import (
    AdaptiveClipping,
    Category,
    DPClassifier,
    DPSGDError,
    Number,
    Plan,
    PrivateTraining,
    Schema,
    privatise,
)
from dpsgd.training import callbacks
from dpsgd.training.processes import Processes

EACH = nn.CrossEntropyLoss(reduction="none")
SIZE = 60
X = torch.randn(SIZE, 3, generator=torch.Generator().manual_seed(5))
Y = (X[:, 0] > 0).long()


def plan(**changes):
    usual = {"dataset_size": SIZE, "sampling_rate": 0.3, "steps": 6, "noise_multiplier": 1.0}
    return Plan(**{**usual, "delta": 1e-3, "seed": 7, **changes})


def begun(settings, *, model=None, rate=0.5, **more):
    model = model or nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    return PrivateTraining(settings, model=model, optimizer=optimizer, **more)


def numbers(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def start(seed=1):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def sums(rank):
    """Train without noise, clipped by a norm that adapts; the second starts elsewhere."""
    adaptive = AdaptiveClipping(count_noise=1.0)
    settings = plan(noise_multiplier=0.0, clipping_norm=0.3, adaptive=adaptive)
    training = begun(settings, model=start(1 + rank), average=0.5, micro_batch=4)
    training.run(X, Y, criterion=EACH)
    return numbers(training.model), training.clipping_norm, training.averages


def noise(_):
    """Take two steps on batches without records."""
    settings = plan(
        steps=2, sampling_rate=1e-9, noise_multiplier=3.0, clipping_norm=0.5, seed=None
    )
    model = nn.Linear(200, 100, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    training = PrivateTraining(settings, model=model, optimizer=optimizer)
    found = [numbers(model)]
    for rows in training.draws(SIZE):
        assert not len(rows)
        training.step()
        found.append(numbers(model))
    return torch.stack(found).diff(dim=0) * settings.expected_batch


def batches(rank):
    """Return the records that each process reads."""
    training = begun(plan(steps=200, seed=None))
    found = []
    for rows in training.draws(SIZE):
        found.append(rows)
        training._rows_due = 0
        training.step()
    return found


def loop(_, folder):
    """Train a loop of tiny batches that a ledger pays for, and go on with it once."""
    kept = {"who": "Ada", "checkpoint": folder / "run.safetensors"}
    callbacks._PAUSE_S = 0.0
    found = []
    for is_resumed in (False, True):
        torch.manual_seed(1)
        model = nn.Linear(3, 2)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        decay = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 9], 0.5)
        loader, criterion = privatise(
            plan(sampling_rate=0.02, steps=12, seed=None), model=model, optimizer=optimizer,
            criterion=nn.CrossEntropyLoss(), data=(X, Y), ledger=folder / "budget.db",
            scheduler=decay, is_resumed=is_resumed, **kept,
        )  # fmt: skip
        for inputs, labels in loader:
            criterion(model(inputs), labels).backward()
            optimizer.step()
            decay.step()
            if loader.training.steps_taken == 7 and not is_resumed:
                break
        lr, steps = optimizer.param_groups[0]["lr"], loader.training.steps_taken
        found.append((numbers(model), lr, steps))
        assert [group["lr"] for group in optimizer.param_groups] == decay.get_last_lr()
        if not is_resumed:
            loader.training.close()
    return found


def cuts(_):
    """Train a classifier that finds cuts of a column."""
    schema = Schema(
        columns=[Number(name="age", low=0, high=100)],
        target=Category(name="old", values=["no", "yes"]),
    )
    ages = list(range(SIZE))
    table = {"age": ages, "old": ["yes" if age > 30 else "no" for age in ages]}
    model = DPClassifier(plan(schema=schema, noise_multiplier=0.8)).fit(table)
    return torch.cat([numbers(model.network_), *map(torch.flatten, model.network_.buffers())])


def refusals(rank, folder):
    """Return what each says where they differ, and where the budget does not do."""
    x, y = (X, Y) if rank == 0 else (X[1:], Y[1:])
    turned = X if rank == 0 else X.flip(0)
    rate, wide = (0.3, 2) if rank == 0 else (0.31, 3)
    public = {"sampling": "shuffled", "adjacency": "zero-out"}
    tries = {
        "a rate": lambda: begun(plan(sampling_rate=rate)),
        "a model": lambda: begun(plan(), model=nn.Linear(3, wide)),
        "a learning rate": lambda: begun(plan(), rate=rate),
        "a size": lambda: begun(plan()).run(x, y, criterion=EACH),
        "a public size": lambda: begun(plan(**public)).run(x, y, criterion=EACH),
        "an order": lambda: begun(plan()).run(turned, Y, criterion=EACH),
        "a size of draws": lambda: [*begun(plan()).draws(len(x))],
        "a budget": lambda: privatise(
            plan(seed=None), model=(model := nn.Linear(3, 2)), data=(X, Y), who="Ada",
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            criterion=nn.CrossEntropyLoss(), ledger=folder / "small.db",
        ),
    }  # fmt: skip
    found = {}
    for name, act in tries.items():
        with pytest.raises(DPSGDError if rank or name != "a budget" else Exception) as error:
            act()
        found[name] = str(error.value)
    return found


def death(rank):
    """Lose the second process within a run."""
    training = begun(plan())
    try:
        for rows in training.draws(SIZE):
            if rank and training.steps_taken == 2:
                return "gone"
            for x, y in training.pieces(rows, X, Y):
                training.accumulate(EACH(training.model(x), y))
            training.step()
    except DPSGDError as error:
        return str(error)
    return "whole"


def work(rank, folder):
    torch.set_num_threads(1)
    alone = sums(0) if rank == 0 else None
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=2
    )
    found = {"alone": alone, "cost": plan(sampling_rate=0.02, steps=12).cost().epsilon}
    found |= {act.__name__: act(rank) for act in (sums, noise, batches, cuts)}
    found |= {act.__name__: act(rank, folder) for act in (loop, refusals)}
    torch.save(found, folder / f"{rank}.pt")
    torch.save(death(rank), folder / f"death {rank}.pt")
    os._exit(0)  # as one that is killed: nothing is said to the other


@pytest.mark.parametrize(("fellows", "is_one"), [((1, 1), True), ((0, 2), False)])
def test_batches_that_differ_are_not_added_though_their_numbers_sum_up_alike(fellows, is_one):
    training = begun(plan())
    for x, y in training.pieces(next(training.draws(SIZE)), X, Y):
        training.accumulate(EACH(training.model(x), y))

    class Three(Processes):
        def add_up(self, arrays):
            arrays[-1][2:] += torch.tensor(fellows)

        def share(self, arrays):
            """Have nobody to tell."""

    training.processes = Three()
    training.processes.size = 3
    with nullcontext() if is_one else pytest.raises(DPSGDError, match="not at the same batch"):
        training.step()


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What two processes found."""
    folder = tmp_path_factory.mktemp("processes")
    for name, epsilon in (("budget.db", 50), ("small.db", 0.01)):
        BudgetLedger.create(folder / name, adjacency="add-remove", epsilon=epsilon, delta=1e-2)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "torch._dynamo"])  # once for both
    workers = [context.Process(target=work, args=(rank, folder)) for rank in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(300)
    assert [worker.exitcode for worker in workers] == [0, 0]
    files = [folder / f"{rank}.pt" for rank in range(2)]
    found = [torch.load(file, weights_only=False) for file in files]
    deaths = [torch.load(folder / f"death {rank}.pt") for rank in range(2)]
    return folder, found, deaths


pytestmark = pytest.mark.slow


def test_two_processes_give_the_clipped_sums_of_one(both):
    one, (first, second) = both[1][0]["alone"], (found["sums"] for found in both[1])
    assert torch.equal(first[0], second[0])
    assert first[1] == second[1] == pytest.approx(one[1], rel=1e-9)
    assert torch.allclose(first[0], one[0], atol=1e-6)
    for name, value in one[2].items():
        assert torch.equal(first[2][name], second[2][name])
        assert torch.allclose(first[2][name], value, atol=1e-6)


def test_two_processes_draw_one_noise_of_the_plans_variance(both):
    first, second = (found["noise"].double() for found in both[1])
    assert torch.equal(first, second)
    assert float(first.std()) == pytest.approx(3.0 * 0.5, rel=0.02)
    assert abs(float(torch.corrcoef(first)[0, 1])) < 0.03


def test_each_record_is_read_by_one_process_at_the_rate_of_the_plan(both):
    first, second = (found["batches"] for found in both[1])
    assert all((rows % 2 == rank).all() for rank, f in ((0, first), (1, second)) for rows in f)
    counts = torch.tensor([[len(a), len(b)] for a, b in zip(first, second, strict=True)])
    assert float(counts.sum(1).double().mean()) == pytest.approx(0.3 * SIZE, rel=0.06)
    assert float(counts.sum(1).double().var()) == pytest.approx(SIZE * 0.3 * 0.7, rel=0.4)
    assert abs(float(torch.corrcoef(counts.T.double())[0, 1])) < 0.25


def test_one_run_of_two_processes_pays_once_and_goes_on(both):
    folder, (first, second), _ = both
    for one, other in zip(first["loop"], second["loop"], strict=True):
        assert torch.equal(one[0], other[0])
        assert one[1] == other[1]
    assert [steps for _, _, steps in first["loop"]] == [7, 12]
    assert [lr for _, lr, _ in first["loop"]] == [0.05, 0.025]
    entries = BudgetLedger.open(folder / "budget.db").entries()
    assert [float(entry.epsilon) for entry in entries] == [first["cost"], 0, 0]
    assert [entry.what.split()[4] for entry in entries] == ["begun", "resumed", "finished"]


def test_two_processes_find_one_set_of_cuts(both):
    first, second = (found["cuts"] for found in both[1])
    assert torch.equal(first, second)


def test_processes_that_differ_are_refused_alike_and_no_number_is_told(both):
    first, second = (found["refusals"] for found in both[1])
    wanted = {
        "a rate": "the plan",
        "a model": "the model",
        "a learning rate": "the optimizer",
        "a size": "the records",
        "a public size": "the records",
        "an order": "the records",
        "a size of draws": "the number of records",
    }
    for name, words in wanted.items():
        assert f"differ in {words}." in first[name] == second[name]
        assert not {"59", "60"} & {*first[name].split()}
    assert "first process was refused" in second["a budget"]
    assert "0.01" in first["a budget"]


def test_a_process_whose_fellow_died_says_so(both):
    assert both[2][1] == "gone"
    assert "Another process of this run ended" in both[2][0]
