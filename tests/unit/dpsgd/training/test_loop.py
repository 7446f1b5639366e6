"""Loops as their users write them: data, schedulers, closures, pieces, ledgers, files."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils import data as torch_data

from dp import BudgetLedger
from dp.errors import BudgetSpentError, LedgerFileError
from dpsgd import (
    CheckpointError,
    DPClassifier,
    DPSGDError,
    Plan,
    PlanError,
    TrainingDataError,
    UnsupportedLayerError,
    privatise,
)
from dpsgd.training.records import Records

X = torch.randn(40, 3, generator=torch.Generator().manual_seed(5))
Y = (X[:, 0] > 0).long()


def plan(**changes):
    usual = {"dataset_size": 40, "sampling_rate": 0.25, "steps": 8, "noise_multiplier": 1.0}
    return Plan(**{**usual, "delta": 1e-3, "seed": 7, **changes})


def begun(data=(X, Y), *, settings=None, **more):
    torch.manual_seed(1)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    more.setdefault("criterion", nn.CrossEntropyLoss())
    loader, criterion = privatise(
        settings or plan(), model=model, optimizer=optimizer, data=data, **more
    )
    return model, optimizer, loader, criterion


def trained(data=(X, Y), **more):
    model, optimizer, loader, criterion = begun(data, **more)
    for _ in range(2):
        for inputs, labels in loader:
            criterion(model(inputs), labels).backward()
            optimizer.step()
    return model.weight.detach().clone()


class Rows(torch_data.Dataset):
    def __len__(self):
        return len(X)

    def __getitem__(self, row):
        return X[row], int(Y[row])


class Named(Rows):
    def __getitem__(self, row):
        return X[row], "no" if Y[row] else "yes"


class Stream(torch_data.IterableDataset):
    def __iter__(self):
        yield from zip(X, Y, strict=True)


@pytest.mark.parametrize(
    "data",
    [
        (X.double().numpy(), Y.numpy().astype(np.int16).astype(np.int64)),
        torch_data.TensorDataset(X, Y),
        Rows(),
        torch_data.DataLoader(Rows(), batch_size=3, shuffle=True),
        torch_data.DataLoader(torch_data.TensorDataset(X, Y), batch_size=3),
        torch_data.Subset(Rows(), range(40)),
    ],
    ids=["arrays", "TensorDataset", "Dataset", "DataLoader", "its TensorDataset", "Subset"],
)  # fmt: skip
def test_data_of_any_kind_train_the_model_of_tensors(data):
    assert torch.allclose(trained(data), trained(), atol=1e-6)


def test_a_run_takes_a_dataset_too():
    found = []
    for data in ((X, Y), (Rows(),)):
        _, _, loader, _ = begun()
        loader.training.run(*data, criterion=nn.CrossEntropyLoss(reduction="none"))
        found.append(loader.training.model.weight.detach())
    assert torch.allclose(*found, atol=1e-6)


def test_batches_may_be_dictionaries():
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    made = {"model": model, "optimizer": optimizer, "criterion": nn.CrossEntropyLoss()}
    with pytest.raises(UnsupportedLayerError, match="loss_of"):
        privatise(plan(), data={"x": X, "y": Y}, **made)
    loader, criterion = privatise(
        plan(),
        data={"x": X, "y": Y},
        loss_of=lambda criterion, batch: criterion(model(batch["x"]), batch["y"]),
        **made,
    )
    for batch in loader:
        criterion(model(batch["x"]), batch["y"]).backward()
        optimizer.step()
    assert loader.training.is_tested
    assert loader.training.steps_taken == 4


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (Stream(), "drawn by number"),
        (torch_data.DataLoader(Stream()), "drawn by number"),
        (Named(), "must be numbers, not of type str"),
        (torch_data.DataLoader(Rows(), sampler=torch_data.SubsetRandomSampler([1])), "sampler"),
        ((X.numpy().astype(str), Y), "must be numbers"),
        ((X, Y[1:]), "a row for each"),
    ],
)
def test_data_that_cannot_be_drawn_by_number_are_refused(data, words):
    with pytest.raises(TrainingDataError, match=words):
        begun(data)


@pytest.mark.parametrize("is_before", [True, False])
def test_a_scheduler_in_the_loop_steps_once_a_batch(is_before):
    torch.manual_seed(1)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    make = torch.optim.lr_scheduler.ExponentialLR
    decay = make(optimizer, 0.5) if is_before else None
    loader, criterion = privatise(
        plan(), model=model, optimizer=optimizer, criterion=nn.CrossEntropyLoss(), data=(X, Y)
    )
    decay = decay or make(optimizer, 0.5)
    for inputs, labels in loader:
        criterion(model(inputs), labels).backward()
        optimizer.step()
        decay.step()
    assert loader.training.steps_taken == 4
    assert optimizer.param_groups[0]["lr"] == 0.5**4


def test_a_scheduler_within_a_batch_is_refused():
    model, optimizer, loader, criterion = begun(micro_batch=3)
    decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    batches = iter(loader)
    inputs, labels = next(batches)
    criterion(model(inputs), labels).backward()
    optimizer.step()
    decay.step()
    with pytest.raises(DPSGDError, match="within a batch"):
        next(batches)


def test_a_closure_runs_once_as_in_frameworks():
    model, optimizer, loader, criterion = begun()
    calls = []
    for _ in range(2):
        for inputs, labels in loader:

            def closure(inputs=inputs, labels=labels):
                optimizer.zero_grad()
                loss = criterion(model(inputs), labels)
                loss.backward()
                calls.append(1)
                return loss

            assert "Loss" in repr(optimizer.step(closure))
    assert len(calls) == loader.training.steps_taken == 8
    assert torch.allclose(model.weight, trained(), atol=1e-6)


@pytest.mark.parametrize("is_divided", [True, False])
def test_steps_every_few_pieces_are_those_of_whole_batches(is_divided):
    model, optimizer, loader, criterion = begun(accumulation=4)
    assert len(loader) == 16
    for _ in range(2):
        for number, (inputs, labels) in enumerate(loader, start=1):
            loss = criterion(model(inputs), labels)
            (loss / 4 if is_divided else loss).backward()
            if number % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
    assert loader.training.steps_taken == 8
    assert torch.allclose(model.weight, trained(), atol=1e-6)


def test_losses_are_weighed_added_and_shown_as_nothing():
    found = []
    for way in (
        lambda loss, _: loss,
        lambda loss, other: loss * 0.5 + 0.5 * other,
        lambda loss, other: 1 + 2 * loss - other + torch.tensor(3.0),
        lambda loss, other: sum([0.25 * loss, 0.75 * other]),
        lambda loss, _: -1 * -loss,
    ):
        model, optimizer, loader, criterion = begun()
        shown = 0.0
        for inputs, labels in loader:
            outputs = model(inputs)
            loss = way(criterion(outputs, labels), criterion(outputs, labels))
            loss.backward()
            optimizer.step()
            shown += loss.detach()
            assert f"{loss:.3f} {loss} {shown / 7}" == "Loss(…) Loss(…) Loss(…)"
            with pytest.raises(DPSGDError, match="statistic"):
                loss.detach().item()
        found.append(model.weight.detach().clone())
    for other in found[1:]:
        assert torch.allclose(found[0], other, atol=1e-6)


@pytest.mark.parametrize(
    "asked",
    [
        lambda loss: loss < 3,
        bool,
        lambda loss: loss**2,
        lambda loss: loss.tolist(),
        lambda loss: loss.data,
        torch.isnan,
        lambda loss: torch.stack([loss]),
    ],
)
def test_whatever_asks_a_loss_for_its_number_is_told_what_to_show_instead(asked):
    model, _, loader, criterion = begun()
    inputs, labels = next(iter(loader))
    with pytest.raises(DPSGDError, match="statistic without noise") as error:
        asked(criterion(model(inputs), labels))
    assert "training.cost()" in str(error.value)


def test_what_loops_write_of_a_single_number_leaves_a_loss_as_it_is():
    def run(change):
        model, optimizer, loader, criterion = begun()
        for inputs, labels in loader:
            loss = change(criterion(model(inputs), labels))
            loss.backward(retain_graph=False)
            optimizer.step()
        return model.weight.detach()

    usual = run(lambda loss: loss)
    assert torch.equal(usual, run(lambda loss: loss.mean().clone().cpu().to("cpu")))
    assert torch.equal(usual, run(lambda loss: -(1 - loss)))


def test_parameters_in_a_loss_beside_the_records_are_refused():
    model, _, loader, criterion = begun()
    inputs, labels = next(iter(loader))
    loss = criterion(model(inputs), labels)
    for wrong in (lambda: loss + model.weight.norm(), lambda: loss * torch.ones(len(inputs))):
        with pytest.raises(DPSGDError, match="weight_decay"):
            wrong()
    with pytest.raises(DPSGDError, match="two passes"):
        loss + criterion(model(inputs[:1]), labels[:1])


def test_a_loss_divided_by_another_number_is_refused():
    model, _, loader, criterion = begun()
    inputs, labels = next(iter(loader))
    with pytest.raises(DPSGDError, match="accumulation"):
        criterion(model(inputs), labels) / 4


def test_batches_smaller_than_their_pieces_are_whole():
    settings = plan(sampling_rate=0.02, steps=40)
    model, optimizer, loader, criterion = begun(settings=settings, accumulation=3)
    for number, (inputs, labels) in enumerate(loader, start=1):
        criterion(model(inputs), labels).backward()
        if number % 3 == 0:
            optimizer.step()
    assert loader.training.steps_taken == 40


def release(folder):
    """Return the settings of a release, and its ledger, made at first use."""
    file, limit = folder / "budget.db", {"epsilon": 50, "delta": 1e-2}
    if not file.exists():
        BudgetLedger.create(file, adjacency="add-remove", **limit)
    kept = {"who": "Ada", "checkpoint": folder / "run.safetensors"}
    return {"settings": plan(seed=None), "ledger": BudgetLedger.open(file), **kept}


def steps(model, optimizer, loader, criterion, *, most=99):
    while most > 0 and loader.training.steps_taken < 8:
        for inputs, labels in loader:
            criterion(model(inputs), labels).backward()
            optimizer.step()
            most -= 1
            if not most:
                return


def test_a_loop_is_paid_for_kept_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("dpsgd.training.callbacks._PAUSE_S", 0.0)
    told = []
    one = begun(**release(tmp_path), progress=lambda done, whole: told.append((done, whole)))
    spent = release(tmp_path)["ledger"].left
    steps(*one, most=5)
    again = begun(**release(tmp_path), is_resumed=True)
    assert again[2].training.steps_taken == 4  # kept when the fifth batch was asked for
    assert release(tmp_path)["ledger"].left == spent  # not paid twice
    steps(*again)
    assert again[2].training.steps_taken == 8
    assert told == [(number, 8) for number in range(1, 6)]
    with pytest.raises(BudgetSpentError):
        steps(*one)  # the first one goes on: of two copies one ends
    assert again[2].training.card().steps == 8


SCHEDULERS = {
    "MultiStepLR": {"milestones": [2, 3, 6], "gamma": 0.5},
    "LambdaLR": {"lr_lambda": lambda step: 1 / (1 + step)},
    "OneCycleLR": {"max_lr": 1.0, "total_steps": 9},
    "CosineAnnealingLR": {"T_max": 8},
}


@pytest.mark.parametrize("name", [*SCHEDULERS, "SequentialLR", "a pass"])
def test_a_loop_that_goes_on_has_the_learning_rates_of_one_that_was_not_cut(
    name, tmp_path, monkeypatch
):
    monkeypatch.setattr("dpsgd.training.callbacks._PAUSE_S", 0.0)

    def rates(*, most=99, file="run", **kept):
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        kinds = torch.optim.lr_scheduler
        if name == "SequentialLR":
            parts = [kinds.ConstantLR(optimizer, 0.5, 2), kinds.MultiStepLR(optimizer, [1, 2])]
            decay = kinds.SequentialLR(optimizer, parts, milestones=[3])
        elif name == "a pass":
            decay = kinds.ExponentialLR(optimizer, 0.5)
        else:
            decay = getattr(kinds, name)(optimizer, **SCHEDULERS[name])
        loader, criterion = privatise(
            plan(seed=None), model=model, optimizer=optimizer, data=(X, Y), scheduler=decay,
            criterion=nn.CrossEntropyLoss(), checkpoint=tmp_path / file, **kept,
        )  # fmt: skip
        found = {}
        while loader.training.steps_taken < 8:
            for inputs, labels in loader:
                found[loader.training.steps_taken] = optimizer.param_groups[0]["lr"]
                criterion(model(inputs), labels).backward()
                optimizer.step()
                if name != "a pass":
                    decay.step()
                if loader.training.steps_taken == most:
                    return found
            if name == "a pass":
                decay.step()
        return found

    whole = rates(file="whole")
    first = rates(most=3)
    second = rates(is_resumed=True)
    assert min(second) == 2
    assert first | second == whole
    assert len(set(whole.values())) > 1


def test_a_file_of_a_run_without_its_scheduler_is_refused(tmp_path):
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    made = {"model": model, "optimizer": optimizer, "criterion": nn.CrossEntropyLoss()}
    kept = {"checkpoint": tmp_path / "run", "data": (X, Y)}
    decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    with pytest.raises(CheckpointError, match="where the scheduler stands"):
        privatise(plan(), **made, **kept)
    privatise(plan(), **made, **kept, scheduler=decay)[0].training.close()
    again = torch.optim.SGD(model.parameters(), lr=0.5)
    with pytest.raises(CheckpointError, match="scheduler"):
        privatise(plan(), **made | {"optimizer": again}, **kept, is_resumed=True)


def test_a_scheduler_made_too_late_to_be_kept_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("dpsgd.training.callbacks._PAUSE_S", 0.0)
    model, optimizer, loader, criterion = begun(checkpoint=tmp_path / "run")
    torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    with pytest.raises(CheckpointError, match="lr_scheduler before"):
        steps(model, optimizer, loader, criterion)


def test_a_loop_may_clip_layer_by_layer_and_its_card_says_so():
    _, _, loader, _ = begun(is_per_layer=True)
    assert loader.training.card().clipping == "per layer"
    assert begun()[2].training.card().clipping == "flat"


def test_a_loop_over_no_record_at_all_is_a_run_like_any_other():
    _, _, loader, _ = begun((X[:0], Y[:0]))
    assert [*loader, *loader] == []
    assert loader.training.steps_taken == 8


def test_a_list_of_pairs_is_refused_with_a_way_out():
    with pytest.raises(TrainingDataError, match="list of pairs as a"):
        begun([*zip(X, Y, strict=True)])


def test_a_scheduler_of_objects_is_refused(tmp_path):
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    decay.kept = object()
    with pytest.raises(CheckpointError, match="where the scheduler stands"):
        privatise(
            plan(), model=model, optimizer=optimizer, criterion=nn.CrossEntropyLoss(),
            data=(X, Y), checkpoint=tmp_path / "run", scheduler=decay,
        )  # fmt: skip


def test_a_few_records_are_told_apart_however_they_lie():
    whole = torch_data.TensorDataset(X, Y)
    turned = [X.t().contiguous().t(), Y]
    loader = torch_data.DataLoader(whole, collate_fn=lambda _: turned)
    assert Records(loader).some() == (40, [X.numpy().tobytes(), Y.numpy().tobytes()])
    none = torch_data.Subset(whole, [])
    assert Records(none).some() == (0, [])


def test_a_ledger_may_be_a_path(tmp_path):
    settings = release(tmp_path)
    steps(*begun(**settings | {"ledger": str(tmp_path / "budget.db")}))
    assert len(settings["ledger"].entries()) == 2  # begun and finished
    DPClassifier(plan(seed=None), classes=[0, 1]).fit(
        X.numpy(), Y.numpy(), ledger=tmp_path / "budget.db", who="Ada"
    )
    assert len(settings["ledger"].entries()) == 3
    with pytest.raises(LedgerFileError, match="no ledger"):
        DPClassifier(plan(seed=None), classes=[0, 1]).fit(
            X.numpy(), Y.numpy(), ledger=tmp_path / "other.db", who="Ada"
        )


def test_a_loop_that_is_refused_pays_nothing_and_gives_the_optimizer_back(tmp_path):
    settings = release(tmp_path)
    before = settings["ledger"].left
    with pytest.raises(UnsupportedLayerError, match="changes with another"):
        begun(**settings, criterion=Mixing())
    assert release(tmp_path)["ledger"].left == before
    with pytest.raises(PlanError, match="who"):
        begun(**settings | {"who": ""})
    begun(**settings)
    with pytest.raises(CheckpointError, match="interrupted run is kept"):
        begun(**settings)


class Mixing(nn.CrossEntropyLoss):
    def forward(self, outputs, targets):
        return super().forward(outputs - outputs.mean(0), targets)


def test_a_loop_keeps_an_average():
    model, optimizer, loader, criterion = begun(average=0.5)
    steps(model, optimizer, loader, criterion)
    last = model.weight.detach().clone()
    loader.training.use_average()
    assert not torch.equal(model.weight, last)
