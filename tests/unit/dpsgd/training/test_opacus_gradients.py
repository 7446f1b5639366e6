"""Gradients of records by Opacus, behind the doors of our own."""

from __future__ import annotations

import pytest
import torch
from opacus.data_loader import DPDataLoader
from opacus.grad_sample import GradSampleModule, register_grad_sampler
from opacus.layers import DPLSTM
from opacus.optimizers import DPOptimizer
from opacus.utils.uniform_sampler import UniformWithReplacementSampler
from torch import nn
from torch.utils import data as torch_data

from dpsgd import (
    DPClassifier,
    DPSGDError,
    Plan,
    PlanError,
    PrivateTraining,
    TrainingDataError,
    UnsupportedLayerError,
    privatise,
)
from dpsgd.training.records import Records

EACH = nn.CrossEntropyLoss(reduction="none")
X = torch.randn(40, 3, generator=torch.Generator().manual_seed(5))
Y = (X[:, 0] > 0).long()


def plan(**changes):
    usual = {"dataset_size": 40, "sampling_rate": 0.25, "steps": 8, "noise_multiplier": 1.0}
    return Plan(**{**usual, "delta": 1e-3, "seed": 7, **changes})


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 2))


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def run(model=None, *, data=(X, Y), settings=None, **more):
    model = model or network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    training = PrivateTraining(settings or plan(), model=model, optimizer=optimizer, **more)
    training.run(*data, criterion=EACH)
    training.close()
    return training


def by_run(engine):
    return weights(run(engine=engine, micro_batch=7).model)


def by_layers(engine):
    return weights(run(engine=engine, is_per_layer=True).model)


def by_steps(engine):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    training = PrivateTraining(plan(), model=model, optimizer=optimizer, engine=engine)
    for rows in training.draws(40):
        for x, y in training.pieces(rows, X, Y):
            training.accumulate(EACH(model(x), y))
        training.step()
    return weights(model)


def by_loop(engine):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    loader, criterion = privatise(
        plan(), model=model, optimizer=optimizer, criterion=nn.CrossEntropyLoss(),
        data=(X, Y), engine=engine,
    )  # fmt: skip
    for _ in range(2):
        for x, y in loader:
            criterion(model(x), y).backward()
            optimizer.step()
    return weights(model)


def by_estimator(engine):
    model = DPClassifier(plan(), classes=[0, 1], hidden=[4], engine=engine)
    return weights(model.fit(X.numpy(), Y.numpy()).network_)


def with_copies(engine):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    training = PrivateTraining(
        plan(augmentations=2), model=model, optimizer=optimizer, engine=engine
    )
    training.run(X, Y, criterion=EACH, augment=lambda x: x * 1.01)
    return weights(model)


@pytest.mark.parametrize(
    "door", [by_run, by_layers, by_steps, by_loop, by_estimator, with_copies]
)
def test_both_engines_train_the_same_model(door):
    assert torch.allclose(door("ckm"), door("opacus"), atol=1e-5)


def test_records_without_numbers_are_left_out_by_both():
    x = X.clone()
    x[:9] = torch.nan
    found = [run(data=(x, Y), engine=engine) for engine in ("ckm", "opacus")]
    assert torch.allclose(weights(found[0].model), weights(found[1].model), atol=1e-5)
    assert found[0].left_out == found[1].left_out > 0


class Scaled(nn.Module):
    """A layer that Opacus knows by a sampler of its user's alone."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * self.scale.detach() + (x * self.scale - (x * self.scale).detach())


calls = []


def sampled(layer, inputs, pulls):
    calls.append(len(pulls))
    return {layer.scale: inputs[0] * pulls}


@pytest.fixture
def sampler():
    register_grad_sampler(Scaled)(sampled)
    yield
    del GradSampleModule.GRAD_SAMPLERS[Scaled]
    calls.clear()


@pytest.mark.usefixtures("sampler")
def test_a_sampler_that_a_user_registered_is_taken():
    torch.manual_seed(1)
    model = nn.Sequential(Scaled(), nn.Linear(3, 2))
    run(model, engine="opacus")
    assert calls
    assert not torch.equal(model[0].scale, torch.ones(3))


@pytest.mark.parametrize("engine", ["ckm", "opacus"])
def test_a_second_opinion_is_asked_for_by_name(engine):
    assert run(self_test="opacus", engine=engine).is_tested


def test_a_second_opinion_that_differs_is_refused(monkeypatch):
    def planted(layer, inputs, pulls):
        return {
            layer.weight: 1.01 * torch.einsum("n...i,n...j->nij", pulls, inputs[0]),
            layer.bias: pulls,
        }

    monkeypatch.setitem(GradSampleModule.GRAD_SAMPLERS, nn.Linear, planted)
    assert run(self_test=True).is_tested
    with pytest.raises(UnsupportedLayerError, match="not those of the losses"):
        run(self_test="opacus")
    with pytest.raises(UnsupportedLayerError, match="not those of the losses"):
        run(engine="opacus")  # the self-test finds it, whoever counts


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
        self.head.weight = self.words.weight

    def forward(self, codes):
        return self.head(torch.tanh(self.words(codes)))


def test_tied_weights_train_with_opacus():
    torch.manual_seed(1)
    codes = torch.randint(0, 5, (40,))
    model = Tied()
    before = weights(model)
    run(model, data=(codes, codes), engine="opacus")
    assert not torch.equal(before, weights(model))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.inner, self.top = kind(3, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x):
        return self.top(self.inner(x)[0][:, -1])


def test_layers_of_opacus_train_with_it_and_are_refused_elsewhere_with_the_line_to_write():
    data = torch.randn(40, 6, 3, generator=torch.Generator().manual_seed(5)), Y
    torch.manual_seed(1)
    model = Recurrent(DPLSTM)
    run(model, data=data, engine="opacus")
    torch.manual_seed(1)
    with pytest.raises(UnsupportedLayerError, match=r"torch.nn.LSTM.*engine='opacus'") as told:
        run(Recurrent(DPLSTM), data=data)
    assert "inner" in str(told.value)
    torch.manual_seed(1)
    own = Recurrent(nn.LSTM)
    own.load_state_dict(model.state_dict(), strict=False)  # as the line says
    x = data[0]
    assert torch.allclose(own(x), model(x), atol=1e-6)


@pytest.mark.parametrize("frozen", ["", "in_proj", "out_proj"])
def test_attention_of_pytorch_trains_with_ours_partly_frozen_too_and_opacus_names_its_own(
    frozen,
):
    def made():
        torch.manual_seed(1)
        model = Attentive()
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(not (frozen and frozen in name))
        return model

    data = torch.randn(40, 6, 4, generator=torch.Generator().manual_seed(5)), Y
    run(made(), data=data)
    with pytest.raises(UnsupportedLayerError, match=r"opacus.layers.DPMultiheadAttention"):
        run(made(), data=data, engine="opacus")


def test_a_loader_of_opacus_is_refused_with_the_one_to_give():
    loader = DPDataLoader(torch_data.TensorDataset(X, Y), sample_rate=0.25)
    with pytest.raises(TrainingDataError, match="came before make_private"):
        run(network(), data=(loader,))


class Attentive(nn.Module):
    """Attention of PyTorch, and a head."""

    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(4, 2, batch_first=True)
        self.last = nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.inner(x, x, x)[0].mean(1))


def test_what_opacus_does_not_take_is_refused_by_a_name():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    model[0].register_buffer("scale", torch.ones(1))
    with pytest.raises(UnsupportedLayerError, match="NotImplementedError"):
        run(model, engine="opacus")
    with pytest.raises(PlanError, match="'jax'"):
        run(engine="jax")
    with pytest.raises(DPSGDError):
        run(self_test="jax")


def test_what_make_private_gave_is_refused_with_the_line_that_takes_it_back():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    wrapped = GradSampleModule(model)
    with pytest.raises(UnsupportedLayerError, match="to_standard_module"):
        PrivateTraining(plan(), model=wrapped, optimizer=optimizer)
    own = DPOptimizer(
        optimizer, noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=10
    )
    model = wrapped.to_standard_module()
    with pytest.raises(PlanError, match="original_optimizer"):
        PrivateTraining(plan(), model=model, optimizer=own)
    PrivateTraining(plan(), model=model, optimizer=own.original_optimizer)
    batches = UniformWithReplacementSampler(num_samples=40, sample_rate=0.25)
    for sampler in (batches, torch.utils.data.BatchSampler(range(40), 4, drop_last=False)):
        loader = torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(X, Y), batch_sampler=sampler
        )
        with pytest.raises(TrainingDataError, match="sampler of one's own"):
            Records(loader)
