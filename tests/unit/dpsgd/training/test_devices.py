"""On a graphics card, what the other tests ask of the processor."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from dpsgd import Plan, PrivateTraining, UnsupportedLayerError
from dpsgd.training.gradients import RecordGradients
from tests.unit.dpsgd.training import test_gradients, test_self_test

if not torch.cuda.is_available():
    pytest.skip("there is no GPU here", allow_module_level=True)


def begun(model, *, size=10, **settings):
    changes = {"sampling_rate": 1.0, "steps": 2, "noise_multiplier": 2.0, "delta": 1e-3}
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    plan = Plan(dataset_size=size, **changes | settings)
    return PrivateTraining(plan, model=model, optimizer=optimizer, self_test=False)


@pytest.mark.parametrize("name", test_gradients.cases())
def test_clipped_sums_equal_those_of_one_record_at_a_time_on_the_processor(name):
    model, x, y = test_gradients.made(name)
    each = test_gradients.one_by_one(model, x, y)
    norm = sorted(map(test_gradients.length, each))[2] * 0.99
    model, x, y = model.cuda(), x.cuda(), y.cuda()
    found = RecordGradients(model).clipped_sum(test_gradients.losses(model, x, y), norm=norm)
    for key in each[0]:
        wanted = sum(g[key] * min(1, norm / test_gradients.length(g)) for g in each)
        assert torch.allclose(found.gradients[key].cpu(), wanted, rtol=0, atol=1e-6), key


@pytest.mark.parametrize("name", test_self_test.REFUSED)
def test_what_does_not_treat_each_record_by_itself_is_refused(name):
    build, x, words = test_self_test.REFUSED[name]
    with pytest.raises(UnsupportedLayerError, match=words):
        test_self_test.private(build().cuda(), x.cuda(), test_self_test.Y.cuda())


def test_noise_is_as_large_as_planned_and_new_at_each_step():
    model = nn.Linear(300, 300, bias=False).cuda()
    training = begun(model)
    x, moved = torch.zeros(10, 300), []
    for _ in range(2):
        before = model.weight.detach().double()
        for (piece,) in training.pieces(next(training.draws(10)), x):
            training.accumulate(model(piece).sum(1))
        training.step()
        moved.append((model.weight.detach().double() - before).flatten())
    wanted = training.plan.gradient_noise / training.plan.expected_batch
    for noise in moved:
        assert abs(float(noise.square().mean().sqrt()) / wanted - 1) < 5 / 300
    assert abs(float(torch.corrcoef(torch.stack(moved))[0, 1])) < 5 / 300


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_parameters_of_sixteen_bits_are_refused(kind):
    with pytest.raises(UnsupportedLayerError, match="lost by rounding"):
        begun(nn.Linear(1, 1).cuda().to(kind))


def test_autocast_reaches_neither_norms_nor_sums():
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)).cuda()
    books = RecordGradients(model)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        losses = test_gradients.losses(
            model, 50 * torch.randn(1, 4).cuda(), torch.ones(1).long().cuda()
        )
        found = books.clipped_sum(losses, norm=0.01).gradients
    assert {g.dtype for g in found.values()} == {torch.float32}
    length = math.sqrt(sum(float(g.double().square().sum()) for g in found.values()))
    assert 0.0099 < length <= 0.01 * (1 + 1e-5)


def test_a_model_learns_what_one_on_the_processor_does():
    x, y = torch.randn(200, 3), torch.arange(200) % 2
    found = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(1)
        model = nn.Linear(3, 2).to(device)
        training = begun(model, size=200, sampling_rate=0.1, steps=20, seed=1)
        training.run(x, y, criterion=nn.CrossEntropyLoss(reduction="none"))
        found.append(model.weight.detach().cpu())
    assert torch.allclose(*found, atol=1e-4)
