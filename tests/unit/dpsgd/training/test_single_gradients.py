"""Records passed one at a time, for models whose layers do not see one row for each record."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from dpsgd import Plan, UnsupportedLayerError, privatise
from dpsgd.training.gradients import RecordGradients
from dpsgd.training.training import gradients_of

ROWS, CODES, LENGTH = 4, 11, 6


class Attention(nn.Module):
    """Attention with a bias of relative places, as in T5: its codes are the same for all."""

    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.places = nn.Embedding(4, 1)

    def forward(self, x, y):
        far = torch.arange(y.shape[1]) - torch.arange(x.shape[1])[:, None]
        bias = self.places(far.clamp(-1, 2) + 1).permute(2, 0, 1)
        scores = self.query(x) @ self.key(y).transpose(1, 2) + bias
        return x + torch.softmax(scores, 2) @ self.value(y)


class Translation(nn.Module):
    """One table for what goes in, what comes out and the head: three names, as in T5.

    A table of relative places goes through a norm and is used as a matrix, as in DeBERTa.
    """

    def __init__(self, *, width=4, dropout=0.0):
        super().__init__()
        self.shared = nn.Embedding(CODES, width)
        self.encoder = nn.ModuleDict({"words": self.shared, "mix": Attention(width)})
        self.decoder = nn.ModuleDict({"words": nn.Embedding(CODES, width)})
        self.decoder["words"].weight = self.shared.weight
        self.mix, self.norm = Attention(width), nn.LayerNorm(width)
        self.relative, self.chance = nn.Embedding(3, width), nn.Dropout(dropout)
        self.head = nn.Linear(width, CODES, bias=False)
        self.head.weight = self.shared.weight

    def forward(self, x, y=None, *, mask=None):
        words = self.encoder["words"](x)
        words = words + self.norm(self.relative.weight).sum(0)
        words = self.chance(self.encoder["mix"](words, words))
        target = self.decoder["words"](x.flip(1) if y is None else y)
        if mask is not None:
            target = target * mask[:, None]
        return self.head(self.mix(target, words)).mean(1)


def losses(model, x, y, **more):
    return nn.functional.cross_entropy(model(x, **more), y, reduction="none")


def data(rows=ROWS):
    return torch.randint(0, CODES, (rows, LENGTH)), torch.randint(0, CODES, (rows,))


def one_by_one(model, x, y):
    parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
    for row in range(len(x)):
        loss = losses(model, x[row : row + 1], y[row : row + 1])[0]
        gradients = torch.autograd.grad(loss, [*parameters.values()], materialize_grads=True)
        yield dict(zip(parameters, gradients, strict=True))


def length(gradient):
    return math.sqrt(sum(float(g.double().square().sum()) for g in gradient.values()))


def test_a_model_with_shared_tables_and_relative_places_has_its_clipped_sum():
    torch.manual_seed(1)
    model = Translation().double()
    x, y = data()
    each = [*one_by_one(model, x, y)]
    gradients = gradients_of(model, engine="one-by-one")
    for norm in (math.inf, sorted(map(length, each))[2], 0.1):
        result = gradients.clipped_sum(losses(model, x, y), norm=norm)
        assert set(result.gradients) == set(each[0])
        for name, total in result.gradients.items():
            wanted = sum(g[name] * min(1, norm / length(g)) for g in each)
            assert torch.allclose(total, wanted, atol=1e-12)
    gradients.close()
    assert "forward" not in vars(model)


def test_our_products_refuse_it_and_name_the_engine_that_does_not():
    model = Translation()
    x, y = data()
    gradients = RecordGradients(model)
    with pytest.raises(UnsupportedLayerError, match="one-by-one"):
        gradients.clipped_sum(losses(model, x, y), norm=1.0)


def test_copies_of_a_record_count_once():
    torch.manual_seed(1)
    model = Translation().double()
    x, y = data()
    twice = x.repeat_interleave(2, 0), y.repeat_interleave(2, 0)
    for engine in ("one-by-one",):
        gradients = gradients_of(model, engine=engine)
        once = gradients.clipped_sum(losses(model, x, y), norm=0.5).gradients
        both = gradients.clipped_sum(losses(model, *twice), norm=0.5, copies=2).gradients
        assert all(torch.allclose(once[name], both[name], atol=1e-12) for name in once)


def test_both_engines_agree_where_both_can():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Embedding(CODES, 4), nn.Flatten(), nn.Linear(24, CODES)).double()
    x, y = data()
    sums = []
    for engine in ("ckm", "one-by-one"):
        gradients = gradients_of(model, engine=engine, is_per_layer=True)
        sums.append(gradients.clipped_sum(losses(model, x, y), norm=0.3).gradients)
        gradients.close()
    assert all(torch.allclose(sums[0][name], sums[1][name], atol=1e-9) for name in sums[0])


def test_it_trains_a_plan_and_its_chance_does_not_confuse_the_self_test():
    torch.manual_seed(1)
    model = Translation(dropout=0.2)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plan = Plan(dataset_size=20, sampling_rate=0.2, steps=5, noise_multiplier=1.0, delta=1e-3)
    loader, criterion = privatise(
        plan,
        model=model,
        optimizer=optimizer,
        criterion=nn.CrossEntropyLoss(),
        data=data(20),
        engine="one-by-one",
    )
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    assert loader.training.steps_taken == 5
    assert loader.training.is_tested
    loader.training.close()
    assert all(not torch.equal(before[name], p) for name, p in model.named_parameters())


def test_what_uses_a_weight_beside_the_model_is_refused_by_the_self_test():
    model = nn.Sequential(nn.Embedding(CODES, 4), nn.Flatten(), nn.Linear(24, 4))
    with pytest.raises(UnsupportedLayerError, match="not those of the losses"):
        privatise(
            Plan(dataset_size=20, sampling_rate=0.2, steps=5, noise_multiplier=1.0, delta=1e-3),
            model=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            criterion=nn.CrossEntropyLoss(),
            data=data(20),
            engine="one-by-one",
            loss_of=lambda criterion, batch: criterion(
                model(batch[0]) @ model[0].weight.T, batch[1]
            ),
        )


def test_an_argument_as_long_as_a_batch_by_chance_is_not_cut_into_rows():
    torch.manual_seed(1)
    model = Translation().double()
    mask = torch.rand(LENGTH, dtype=torch.float64)
    gradients = gradients_of(model, engine="one-by-one")
    for rows in (3, LENGTH):  # as the self-test does, which comes first
        x, y = data(rows)
        total = gradients.clipped_sum(losses(model, x, y, mask=mask), norm=math.inf).gradients
        with gradients.unwatched():
            whole = losses(model, x, y, mask=mask).sum()
            parameters = dict(model.named_parameters())
            wanted = torch.autograd.grad(whole, [*parameters.values()])
        for name, value in zip(parameters, wanted, strict=True):
            assert torch.allclose(total[name], value, atol=1e-12)


def test_an_argument_that_was_cut_into_rows_by_mistake_ends_the_run():
    model = Translation()
    mask = torch.rand(LENGTH)
    gradients = gradients_of(model, engine="one-by-one")
    losses(model, *data(LENGTH), mask=mask)
    with pytest.raises(UnsupportedLayerError, match="one row for each record"):
        losses(model, *data(3), mask=mask)
    gradients.close()


def test_outputs_that_have_no_row_for_a_record_are_refused():
    model = nn.Sequential(nn.Embedding(CODES, 4), nn.Flatten(0, 1), nn.Linear(4, 3))
    gradients = gradients_of(model, engine="one-by-one")
    with pytest.raises(UnsupportedLayerError, match="one row for each record"):
        gradients.clipped_sum(model(data()[0]).sum(1), norm=1.0)


def test_losses_of_another_model_are_refused():
    gradients = gradients_of(nn.Linear(2, 2), engine="one-by-one")
    other = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="last pass"):
        gradients.clipped_sum(other(torch.ones(3, 2)).sum(1), norm=1.0)
