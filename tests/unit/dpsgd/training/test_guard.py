"""Nothing moves the model beside the plan: attacks on a loop, and what each is told."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from dp import BudgetLedger
from dpsgd import DPSGDError, Plan, PlanError, PrivateTraining, TrainingDataError, privatise
from dpsgd.training.guard import Guard

X = torch.randn(40, 3, generator=torch.Generator().manual_seed(5))
Y = (X[:, 0] > 0).long()


def plan(**changes):
    usual = {"dataset_size": 40, "sampling_rate": 0.25, "steps": 8, "noise_multiplier": 1.0}
    return Plan(**{**usual, "delta": 1e-3, "seed": 7, **changes})


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(4))
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)) * self.scale)


def nothing(loop, x, y):
    pass


class Loop:
    """A loop with two layers, of which the first may be frozen when the plan begins."""

    def __init__(self, *, is_frozen=False, kind=torch.optim.SGD, **more):
        torch.manual_seed(1)
        self.model = Net()
        self.model.first.requires_grad_(requires_grad=not is_frozen)
        self.optimizer = kind(self.model.parameters(), lr=0.5)
        more.setdefault("criterion", nn.CrossEntropyLoss())
        self.loader, self.criterion = privatise(
            plan(**more.pop("plan", {})), model=self.model, optimizer=self.optimizer,
            data=more.pop("data", (X, Y)), **more,
        )  # fmt: skip
        self.training = self.loader.training

    def steps(self, between=nothing, *, at=1, most=8):
        while self.training.steps_taken < most:
            for x, y in self.loader:
                if self.training.steps_taken == at:
                    between(self, x, y)
                self.criterion(self.model(x), y).backward()
                self.optimizer.step()
                if self.training.steps_taken >= most:
                    break


def unfreeze(loop, x, y):
    loop.model.first.requires_grad_()


def unfreeze_and_plain_loss(loop, x, y):
    unfreeze(loop, x, y)
    functional.cross_entropy(loop.model(x), y).backward()


def stale_gradient(loop, x, y):
    loop.model.first.weight.grad = torch.ones(4, 3)


def another_group(loop, x, y):
    loop.optimizer.add_param_group({"params": [nn.Parameter(torch.ones(2))]})


def freeze(loop, x, y):
    loop.model.second.bias.requires_grad = False


def another_optimizer(loop, x, y):
    other = torch.optim.Adam(loop.model.second.parameters(), lr=0.1)
    functional.cross_entropy(loop.model(x), y).backward()
    other.step()


def fused_optimizer(loop, x, y):
    other = torch.optim.SGD(loop.model.parameters(), lr=0.1, fused=True)
    functional.cross_entropy(loop.model(x), y).backward()
    other.step()


def load_model(loop, x, y):
    loop.model.load_state_dict(copy.deepcopy(loop.model.state_dict()))


def load_model_by_assignment(loop, x, y):
    loop.model.load_state_dict(copy.deepcopy(loop.model.state_dict()), assign=True)


def load_optimizer(loop, x, y):
    loop.optimizer.load_state_dict(loop.optimizer.state_dict())


def write(loop, x, y):
    with torch.no_grad():
        loop.model.second.bias.add_(1)


def swap_a_layer(loop, x, y):
    loop.model.second = nn.Sequential(loop.model.second)


def swap_forward(loop, x, y):
    loop.model.forward = lambda x: loop.model.second(torch.tanh(loop.model.first(x - x.mean())))


def hook(loop, x, y):
    loop.model.first.register_forward_hook(lambda _, __, output: output - output.mean(0))


def hook_before(loop, x, y):
    loop.model.first.register_forward_pre_hook(lambda _, args: (args[0] - 1,))


def hook_backward(loop, x, y):
    loop.model.second.register_full_backward_hook(lambda _, into, __: into)


def hook_exchanged(loop, x, y):
    hooks = loop.model._forward_pre_hooks
    hooks[next(iter(hooks))] = lambda _, args, kwargs: ((args[0] - X.mean(0),), kwargs)


def parametrise(loop, x, y):
    nn.utils.parametrizations.weight_norm(loop.model.second)


def buffer_in_place(loop, x, y):
    loop.model.scale.copy_(x.mean().expand(4))


def buffer_anew(loop, x, y):
    loop.model.scale = x.mean().expand(4).clone()


def hook_of_the_optimizer(loop, x, y):
    loop.optimizer.register_step_pre_hook(lambda *_: None)


ATTACKS = {
    unfreeze: "'first.weight' was frozen when the plan began",
    unfreeze_and_plain_loss: "'first.weight' was frozen when the plan began",
    stale_gradient: "'first.weight' has a gradient",
    another_group: "a parameter, number 5",
    freeze: "'second.bias' was frozen after",
    another_optimizer: "Another optimizer would move the parameter 'second.weight'",
    fused_optimizer: "Another optimizer would move the parameter 'first.weight'",
    load_model: "was written between",
    load_model_by_assignment: "first' was changed after the plan began: other parameters",
    load_optimizer: "A state was loaded into the optimizer",
    write: "'second.bias' was written between",
    swap_a_layer: "'itself' was changed after the plan began: other layers",
    swap_forward: "another forward",
    hook: "'first' was changed after the plan began: other hooks",
    hook_before: "'first' was changed after the plan began: other hooks",
    hook_backward: "'second' was changed after the plan began: other hooks",
    hook_exchanged: "'itself' was changed after the plan began: other hooks",
    parametrise: "'second' was changed after the plan began: another kind",
    buffer_in_place: "The buffer 'scale' was written",
    buffer_anew: "The buffer 'scale' was written",
    hook_of_the_optimizer: "A hook of the optimizer",
}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_what_moves_the_model_beside_the_plan_is_refused_by_name(attack):
    loop = Loop(is_frozen=True)
    with pytest.raises(DPSGDError, match=ATTACKS[attack]) as caught:
        loop.steps(attack)
    assert "hint" in str(caught.value)
    assert loop.training.steps_taken == 1


@pytest.mark.parametrize("attack", [write, load_model])
def test_what_was_written_stays_refused(attack):
    loop = Loop(is_frozen=True)
    for _ in range(2):
        with pytest.raises(DPSGDError, match="was written"):
            loop.steps(attack)


def test_a_frozen_parameter_with_a_gradient_is_refused_before_anything_is_paid(tmp_path):
    ledger = BudgetLedger.create(
        tmp_path / "budget.db", adjacency="add-remove", epsilon=50, delta=1e-2
    )
    model = Net()
    functional.cross_entropy(model(X), Y).backward()
    model.first.requires_grad_(requires_grad=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    made = {"model": model, "optimizer": optimizer, "data": (X, Y)}
    with pytest.raises(DPSGDError, match=r"'first.weight' has a gradient"):
        privatise(
            plan(seed=None), **made, criterion=nn.CrossEntropyLoss(), ledger=ledger, who="Ada"
        )
    assert not ledger.entries()
    optimizer.zero_grad()
    privatise(plan(), **made, criterion=nn.CrossEntropyLoss())  # the hint helps


class Centres(nn.CrossEntropyLoss):
    def __init__(self):
        super().__init__()
        self.centres = nn.Parameter(torch.zeros(2, 3))


def test_a_parameter_inside_a_criterion_is_refused_by_name():
    with pytest.raises(DPSGDError, match="'centres'"):
        Loop(criterion=Centres())
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    training = PrivateTraining(plan(), model=model, optimizer=optimizer)
    with pytest.raises(DPSGDError, match="'centres'"):
        training.run(X, Y, criterion=Centres())


def test_an_optimizer_with_parameters_of_the_criterion_is_refused():
    model, criterion = Net(), Centres()
    optimizer = torch.optim.SGD([*model.parameters(), *criterion.parameters()], lr=0.5)
    with pytest.raises(PlanError, match="another model"):
        PrivateTraining(plan(), model=model, optimizer=optimizer)


def test_a_plain_loss_beside_the_private_one_leaves_no_trace():
    """Gradients that pile up, or that nobody set to zero, are replaced before a step."""

    def plain(loop, x, y):
        functional.cross_entropy(loop.model(x), y).backward()

    one, other = Loop(), Loop()
    one.steps(plain)
    other.steps()
    for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("attack", [unfreeze, write, stale_gradient])
def test_what_a_closure_does_is_seen(attack):
    loop = Loop(is_frozen=True)
    batches = iter(loop.loader)

    def closure():
        x, y = next(batches)
        if loop.training.steps_taken == 1:
            attack(loop, x, y)
        loop.criterion(loop.model(x), y).backward()

    loop.optimizer.step(closure)
    with pytest.raises(DPSGDError, match="hint"):
        loop.optimizer.step(closure)


def test_a_step_by_the_class_of_the_optimizer_is_refused():
    loop = Loop()
    functional.cross_entropy(loop.model(X), Y).backward()
    with pytest.raises(DPSGDError, match="through the plan alone"):
        torch.optim.SGD.step(loop.optimizer)


def compiled_later(loop, x, y):
    torch._dynamo.reset()
    loop.model = torch.compile(loop.model, backend="eager")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_a_model_that_is_compiled_later_gives_the_steps_of_one_that_is_not():
    one, other = Loop(), Loop()
    one.steps(compiled_later)
    other.steps()
    for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad])
def test_an_ordinary_loop_is_not_disturbed(kind):
    loop = Loop(kind=kind, average=0.5)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(loop.optimizer, 0.9)

    def ordinary(loop, x, y):
        loop.optimizer.zero_grad()
        loop.optimizer.zero_grad(set_to_none=False)
        loop.model.eval()
        with torch.no_grad():
            loop.model(X)
        loop.model.train()
        copy.deepcopy(loop.model.state_dict())
        loop.optimizer.state_dict()
        scheduler.step()

    loop.steps(ordinary)
    loop.training.use_average()
    loop.training.close()
    write(loop, X, Y)
    loop.optimizer.step()  # given back as it came


def test_after_the_last_step_other_optimizers_may_move_the_model():
    loop = Loop()
    loop.steps()
    another_optimizer(loop, X, Y)
    Loop().steps(another_model)


def another_model(loop, x, y):
    other = nn.Linear(3, 2)
    functional.cross_entropy(other(x), y).backward()
    torch.optim.SGD(other.parameters(), lr=0.1).step()


def test_what_is_loaded_before_the_first_batch_is_no_matter():
    loop = Loop()
    load_model(loop, X, Y)
    load_optimizer(loop, X, Y)
    loop.steps()
    assert loop.training.steps_taken == 8


def test_caches_that_no_file_keeps_and_buffers_of_the_same_value_may_be_written():
    loop = Loop()
    loop.model.register_buffer("cache", torch.zeros(1), persistent=False)

    def cached(loop, x, y):
        loop.model.cache = torch.zeros(7)
        loop.model.scale.mul_(1)

    loop.steps(cached)


def test_the_guard_names_what_it_does_not_know():
    model = Net()
    optimizer = torch.optim.SGD([*model.parameters(), nn.Parameter(torch.ones(1))], lr=0.1)
    with pytest.raises(DPSGDError, match="number 5"):
        Guard(model, optimizer, parameters=dict(model.named_parameters()))


def test_the_card_says_what_was_guarded_and_what_was_not():
    loop = Loop()
    words = " ".join(loop.training.card().limits)
    assert "before each step" in words
    assert "not checked" in words
    assert "param.data" in words


def beside(loop, x, y):
    """What the card says is not checked."""
    loop.model.second.weight.data.add_(1)


def test_what_the_card_calls_unchecked_is_not_seen():
    loop = Loop()
    loop.steps(beside)
    assert loop.training.steps_taken == 8


def each_alone(outputs, targets):
    return functional.one_hot(targets, 2).sub(outputs).square().sum(1)


def gathered(outputs, targets):
    return -outputs.log_softmax(1).gather(1, targets[:, None])[:, 0]


@pytest.mark.parametrize(
    "criterion",
    [
        nn.CrossEntropyLoss(reduction="none"),
        nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0]), reduction="none"),
        nn.MultiMarginLoss(reduction="none"),
        gathered,
        each_alone,
    ],
    ids=["codes", "weights", "margin", "gathered", "one hot"],
)
@pytest.mark.parametrize("wrong", [2, -1, 10**9])
def test_a_target_out_of_range_is_left_out_as_a_record_without_numbers_is(criterion, wrong):
    """The model is that of the other records, and of a NaN in that record's place."""
    bad, broken = Y.clone(), X.clone()
    bad[3], broken[3] = wrong, torch.nan
    models = []
    for data in ((X, bad), (broken, Y)):
        torch.manual_seed(1)
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        training = PrivateTraining(plan(), model=model, optimizer=optimizer)
        training.run(*data, criterion=criterion)
        models.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
        assert training.steps_taken == 8
        assert training.left_out > 0
    assert torch.isfinite(models[0]).all()
    assert torch.allclose(*models, atol=1e-6)


def test_a_loop_with_a_target_out_of_range_ends_and_pays_once(tmp_path):
    ledger = BudgetLedger.create(
        tmp_path / "budget.db", adjacency="add-remove", epsilon=50, delta=1e-2
    )
    bad = Y.clone()
    bad[3] = 7
    loop = Loop(
        data=(X, bad), plan={"seed": None, "sampling_rate": 1.0}, ledger=ledger, who="Ada"
    )
    loop.steps()
    assert (loop.training.left_out, len(ledger.entries())) == (8, 1)
    card = loop.training.card()
    assert "8" not in " ".join(card.limits)
    assert (
        loop.training.card() == Loop(plan={"seed": None, "sampling_rate": 1.0}).training.card()
    )


class Pairs(torch.utils.data.Dataset):
    """Records that are read one by one, half of them with a label that no output has."""

    def __len__(self):
        return 40

    def __getitem__(self, row):
        return X[row], int(Y[row]) if row < 20 else 9


@pytest.mark.parametrize("criterion", [nn.CrossEntropyLoss(reduction="none"), gathered])
def test_a_batch_of_nothing_but_such_records_is_a_step_like_any_other(criterion):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    settings = plan(sampling_rate=0.025, steps=30)
    training = PrivateTraining(settings, model=model, optimizer=optimizer)
    training.run(Pairs(), criterion=criterion)
    assert training.steps_taken == 30
    assert training.left_out > 0


def test_labels_of_which_most_fit_no_output_are_refused_before_anything_is_paid(tmp_path):
    ledger = BudgetLedger.create(
        tmp_path / "budget.db", adjacency="add-remove", epsilon=50, delta=1e-2
    )
    with pytest.raises(TrainingDataError, match="label"):
        Loop(data=(X, Y + 2), plan={"seed": None}, ledger=ledger, who="Ada")
    assert not ledger.entries()
    ignored = nn.CrossEntropyLoss(ignore_index=-7)
    Loop(data=(X, torch.full_like(Y, -7)), criterion=ignored).steps()


def test_targets_that_fit_no_output_of_the_model_are_still_an_error_of_the_loop():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    with pytest.raises(TrainingDataError, match="outside of the outputs"):
        privatise(
            plan(), model=model, optimizer=optimizer, criterion=nn.CrossEntropyLoss(),
            data=(X, Y),
        )  # fmt: skip
    training = PrivateTraining(plan(), model=model, optimizer=optimizer, self_test=False)
    with pytest.raises(TrainingDataError, match="does not take these records") as caught:
        training.run(X, Y + 77, criterion=gathered)
    assert "77" not in str(caught.value)


def test_codes_that_are_ignored_stay_so_and_places_are_left_out_with_their_record():
    from dpsgd.training.losses import _of_codes

    criterion = nn.CrossEntropyLoss(reduction="none", ignore_index=5)
    outputs = torch.randn(4, 3, 2, requires_grad=True)
    targets = torch.tensor([[0, 5], [1, 2], [0, 3], [-100, 1]])
    losses = _of_codes(criterion, (outputs, targets))
    assert losses.isnan().all(1).tolist() == [False, False, True, True]
    assert losses[0, 1] == 0
    losses[:2].sum().backward()
    assert torch.isfinite(outputs.grad[:2]).all()
