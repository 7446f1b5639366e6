"""Scripts of Opacus that change two lines: what they gain, and what is refused."""

from __future__ import annotations

import math

import opacus
import pytest
import torch
from opacus.utils.batch_memory_manager import BatchMemoryManager
from opacus.validators.errors import UnsupportedModuleError
from torch import nn
from torch.nn import functional
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler, TensorDataset

from dp import BudgetLedger
from dp.errors import BudgetSpentError
from dpsgd import (
    BudgetEndedError,
    CheckpointError,
    DPSGDError,
    PlanError,
    TrainingDataError,
    UnsupportedLayerError,
)
from dpsgd.opacus import PrivacyEngine, opacus_history

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG turned off"),
]
X = torch.randn(100, 3, generator=torch.Generator().manual_seed(5))
Y = (X[:, 0] > 0).long()
MODES = ("hooks", "functorch", "ghost")


class Script:
    """What a script of Opacus does; ``engine`` and its import are what changes."""

    def __init__(self, engine, *, mode="hooks", data=(X, Y), epsilon=None, model=None, **more):
        torch.manual_seed(1)
        self.net = model or nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        self.engine, self.criterion = engine, nn.CrossEntropyLoss()
        usual = {
            "module": self.net,
            "optimizer": torch.optim.SGD(
                self.net.parameters(), lr=more.pop("rate", 0.1), momentum=more.pop("push", 0.0)
            ),
            "data_loader": DataLoader(TensorDataset(*data), batch_size=10),
            "max_grad_norm": 1.0,
            "grad_sample_mode": mode,
        } | ({"criterion": self.criterion} if mode == "ghost" else {})
        if epsilon is None:
            settings = {"noise_multiplier": 1.0} | usual | more
            made = engine.make_private(**settings)
        else:
            target = {"target_epsilon": epsilon, "target_delta": 1e-3, "epochs": 2}
            made = engine.make_private_with_epsilon(**target | usual | more)
        self.model, self.optimizer, self.loader = made[0], made[1], made[-1]
        if mode == "ghost":
            self.criterion = made[2]

    def epoch(self, loader=None, between=lambda: None):
        for x, y in loader or self.loader:
            self.optimizer.zero_grad()
            self.criterion(self.model(x), y).backward()
            between()
            self.optimizer.step()
        return self

    def weights(self):
        return torch.cat([p.detach().flatten() for p in self.net.parameters()])


def engine(**more):
    return PrivacyEngine(**{"delta": 1e-3, "epochs": 2, "seed": 7, **more})


def ledger(folder, *, epsilon=50.0, adjacency="zero-out"):
    return BudgetLedger.create(
        folder / "budget.db", adjacency=adjacency, epsilon=epsilon, delta=1e-2
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("most", [None, 4])
def test_all_modes_and_physical_batches_take_the_steps_of_one_plan(mode, most):
    script, other = Script(engine(), mode=mode), Script(engine())
    for _ in range(2):
        other.epoch()
        if most is None:
            script.epoch()
            continue
        with BatchMemoryManager(
            data_loader=script.loader, max_physical_batch_size=most, optimizer=script.optimizer
        ) as pieces:
            script.epoch(pieces)
    assert torch.allclose(script.weights(), other.weights(), atol=1e-5)
    assert script.engine.steps_taken == script.engine.plan.steps == 20
    assert script.engine.get_epsilon(1e-3) == script.engine.plan.cost().epsilon
    with pytest.raises(BudgetEndedError):
        script.epoch()


def test_without_noise_it_is_the_clipped_sum_of_the_batches_that_the_plan_drew():
    script = Script(engine(), noise_multiplier=0.0, max_grad_norm=0.3)
    plain = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    plain.load_state_dict(script.net.state_dict())
    for x, y in script.loader:
        sums = [torch.zeros_like(p) for p in plain.parameters()]
        for row in range(len(x)):
            loss = functional.cross_entropy(plain(x[row : row + 1]), y[row : row + 1])
            gradients = torch.autograd.grad(loss, [*plain.parameters()])
            length = math.sqrt(sum(float(g.square().sum()) for g in gradients))
            for total, gradient in zip(sums, gradients, strict=True):
                total.add_(gradient * min(1, 0.3 / length))
        with torch.no_grad():
            for p, total in zip(plain.parameters(), sums, strict=True):
                p.sub_(0.1 * total / 10)
        script.optimizer.zero_grad()
        script.criterion(script.model(x), y).backward()
        script.optimizer.step()
    wanted = torch.cat([p.detach().flatten() for p in plain.parameters()])
    assert torch.allclose(script.weights(), wanted, atol=1e-6)


def test_the_noise_has_the_variance_of_the_plan_and_is_drawn_anew():
    model = nn.Linear(200, 100, bias=False)
    data = torch.zeros(100, 200), torch.zeros(100, dtype=torch.long)
    script = Script(
        engine(seed=None), model=model, data=data, rate=1.0, noise_multiplier=3.0,
        max_grad_norm=0.5,
    )  # fmt: skip
    moves = []
    for x, y in script.loader:
        before = script.weights()
        script.optimizer.zero_grad()
        script.criterion(script.model(x), y).backward()
        script.optimizer.step()
        moves.append((before - script.weights()).double() * 10)
    assert float(moves[0].std()) == pytest.approx(1.5, rel=0.02)
    assert abs(float(torch.corrcoef(torch.stack(moves[:2]))[0, 1])) < 0.05


@pytest.mark.parametrize("mode", ["hooks", "functorch"])
def test_a_record_without_numbers_is_left_out_and_counted_inside(mode):
    x = X.clone()
    x[:9] = torch.nan
    script = Script(engine(), mode=mode, data=(x, Y))
    script.epoch().epoch()
    assert torch.isfinite(script.weights()).all()
    assert script.engine.left_out > 0
    assert "left" not in " ".join(script.engine.card().limits)


def test_ghost_clipping_refuses_a_record_without_numbers():
    x = X.clone()
    x[:] = torch.nan
    script = Script(engine(), mode="ghost", data=(x, Y))
    before = script.weights()
    with pytest.raises(TrainingDataError, match="ghost clipping cannot leave it out"):
        script.epoch()
    assert torch.equal(before, script.weights())


def test_a_script_with_an_epsilon_keeps_it_and_the_ledger_pays_first(tmp_path):
    book = ledger(tmp_path)
    script = Script(engine(seed=None, ledger=book, who="Ada"), epsilon=3.0)
    (entry,) = book.entries()
    assert float(entry.epsilon) == script.engine.plan.cost().epsilon <= 3.0
    assert script.engine.plan.steps == 20
    script.epoch().epoch()
    assert len(book.entries()) == 1
    assert script.engine.cost() == script.engine.plan.cost()


def test_a_ledger_without_enough_left_lets_nothing_begin(tmp_path):
    book = ledger(tmp_path, epsilon=0.1)
    model = nn.Linear(3, 2)
    with pytest.raises(BudgetSpentError):
        Script(engine(seed=None, ledger=book, who="Ada"), model=model)
    assert not book.entries()
    Script(engine(), model=model).epoch()  # model and optimizer were given back


def test_what_is_refused_pays_nothing(tmp_path):
    book = ledger(tmp_path)
    x = X[:, None].repeat(1, 2, 1)

    class Mixing(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, rows):
            return self.layer(rows - rows.mean(0))

    for settings in (
        {"model": Mixing()},
        {"model": nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))},
        {"clipping": "adaptive"},
        {"mode": "ew"},
        {"noise_generator": torch.Generator()},
        {"data_loader": DataLoader(
            TensorDataset(x, Y), batch_sampler=Odd(SequentialSampler(Y), 5, drop_last=False)
        )},
    ):  # fmt: skip
        with pytest.raises((DPSGDError, UnsupportedModuleError)):
            Script(engine(seed=None, ledger=book, who="Ada"), **settings)
    assert not book.entries()


class Odd(BatchSampler):
    pass


def test_a_model_that_mixes_records_is_named_and_one_that_does_not_is_told_as_tried():
    class Mixing(nn.Linear):
        def forward(self, rows):
            return super().forward(rows - rows.mean(0))

    with pytest.raises(UnsupportedLayerError, match="another record"):
        Script(engine(), model=nn.Sequential(Mixing(3, 2)))
    card = Script(engine()).engine.card(data="made up")
    assert "the loss was not" in card.limits[-1]
    assert "before each step" in " ".join(card.limits)
    assert card.data == "made up"


ASKED = {
    "delta": ({"delta": None}, "delta"),
    "end": ({"epochs": None}, "end"),
    "both": ({"steps": 4}, "end"),
    "accountant": ({"accountant": "moments"}, "moments"),
    "secure": ({"secure_mode": True}, "secure_mode"),
    "who": ({"seed": None, "ledger": "budget.db"}, "who trains"),
    "seed": ({"ledger": "budget.db", "who": "Ada"}, "seed"),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_a_plan_needs_is_asked_for(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger(tmp_path)
    changes, words = ASKED[name]
    with pytest.raises(PlanError, match=words):
        Script(engine(**changes))


def test_the_number_of_records_is_public_unless_a_guess_is_given():
    usual = Script(engine()).engine.plan
    assert (usual.adjacency, usual.dataset_size) == ("zero-out", 100)
    seen = set()
    for size in (99, 100, 101):
        data = torch.randn(size, 3), torch.zeros(size, dtype=torch.long)
        script = Script(engine(dataset_size=100), data=data)
        seen.add(
            (script.engine.plan.id, len(script.loader), script.optimizer.expected_batch_size)
        )
    assert len(seen) == 1
    assert Script(engine(dataset_size=100)).engine.plan.adjacency == "add-remove"


def test_batches_of_a_shuffled_file_cost_what_they_cost():
    plain, shuffled = Script(engine()), Script(engine(), poisson_sampling=False)
    assert shuffled.engine.plan.sampling == "shuffled"
    assert shuffled.engine.plan.cost().epsilon > 2 * plain.engine.plan.cost().epsilon
    assert sorted(len(x) for x, _ in shuffled.loader) == [10] * 10


def test_a_norm_for_each_parameter_is_a_plan_of_their_length():
    script = Script(engine(), clipping="per_layer", max_grad_norm=[0.3, 0.4, 0.6, 0.8])
    assert script.engine.plan.clipping_norm == pytest.approx(1.118, abs=1e-3)
    script.epoch()
    assert script.engine.card().clipping == "per layer"


# --- beside the plan


@pytest.mark.parametrize("mode", MODES)
def test_a_stale_gradient_and_a_layer_unfrozen_later_are_refused(mode):
    def frozen():
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        net[0].requires_grad_(requires_grad=False)
        return Script(engine(), mode=mode, model=net)

    script = frozen()
    with pytest.raises(DPSGDError, match="to be trained now"):
        script.epoch(between=script.net[0].requires_grad_)
    other = frozen()

    def stale():
        other.net[0].weight.grad = torch.ones(4, 3)

    before = other.weights()
    with pytest.raises(DPSGDError, match="has a gradient"):
        other.epoch(between=stale)
    assert torch.equal(before, other.weights())


@pytest.mark.parametrize("mode", MODES)
def test_a_plain_loss_beside_the_private_one_never_reaches_the_model(mode):
    """In ghost mode Opacus would add the exact gradient to the clipped sum."""
    script = Script(engine(), mode=mode)
    x, y = next(iter(script.loader))
    before = script.weights()

    def attack():
        script.optimizer.zero_grad()
        script.criterion(script.model(x), y).backward()
        functional.cross_entropy(script.model(x), y).backward()
        script.optimizer.step()

    with pytest.raises(
        (DPSGDError, ValueError), match=r"not those of the criterion|accumulation"
    ):
        attack()
    assert torch.equal(before, script.weights())


def test_in_ghost_mode_the_criterion_that_came_before_is_refused():
    script = Script(engine(), mode="ghost")
    script.criterion = nn.CrossEntropyLoss()
    before = script.weights()
    with pytest.raises(DPSGDError, match="not those of the criterion"):
        script.epoch()
    assert torch.equal(before, script.weights())


@pytest.mark.parametrize("mode", MODES)
def test_other_batches_than_those_drawn_are_refused(mode):
    script = Script(engine(), mode=mode)
    before = script.weights()
    with pytest.raises(DPSGDError, match="whole and once"):
        script.epoch([(X, Y)])
    batches = iter(script.loader)
    next(batches)
    with pytest.raises(DPSGDError, match="whole and once"):
        script.epoch([(X[:1], Y[:1])] * 2)
    assert torch.equal(before, script.weights())


@pytest.mark.parametrize("mode", MODES)
def test_noise_and_norm_are_those_of_the_plan(mode):
    for name in ("noise_multiplier", "max_grad_norm"):
        script = Script(engine(), mode=mode)
        setattr(script.optimizer, name, 0.1)
        with pytest.raises(PlanError, match=name):
            script.epoch()


def test_the_optimizer_within_takes_no_step_of_its_own():
    script = Script(engine())
    with pytest.raises(DPSGDError, match="through the plan alone"):
        script.epoch(between=script.optimizer.original_optimizer.step)
    script = Script(engine())
    other = torch.optim.SGD(script.net.parameters(), lr=0.1)
    with pytest.raises(DPSGDError, match="Another optimizer"):
        script.epoch(between=other.step)


def test_an_engine_has_one_plan():
    one = engine()
    script = Script(one)
    with pytest.raises(PlanError, match="one plan"):
        Script(one)
    with pytest.raises(PlanError, match="private already"):
        Script(engine(), data_loader=script.loader)


@pytest.mark.parametrize("mode", ["hooks", "functorch"])
def test_empty_batches_are_steps_like_others(mode):
    made = engine(dataset_size=10**6, delta=1e-7, epochs=None, steps=3)
    script = Script(made, mode=mode, rate=1.0)
    before = script.weights()
    for x, y in script.loader:
        assert len(x) == 0
        script.optimizer.zero_grad()
        script.criterion(script.model(x), y).backward()
        script.optimizer.step()
        if made.steps_taken == 3:
            break
    assert not torch.equal(before, script.weights())


@pytest.mark.parametrize("mode", MODES)
def test_pieces_of_a_batch_that_was_broken_off_are_forgotten(mode):
    """Opacus would add them to the next batch, and a record would count twice."""

    def run(*, is_broken):
        script = Script(engine(), mode=mode, noise_multiplier=0.0)
        pieces = BatchMemoryManager(
            data_loader=script.loader, max_physical_batch_size=3, optimizer=script.optimizer
        ).__enter__()
        if is_broken:
            for x, y in pieces:
                script.optimizer.zero_grad()
                script.criterion(script.model(x), y).backward()
                script.optimizer.step()
                break
        else:
            next(iter(script.loader))  # as many draws
        drawn = script.engine.steps_taken
        for x, y in pieces:
            script.optimizer.zero_grad()
            script.criterion(script.model(x), y).backward()
            script.optimizer.step()
            if script.engine.steps_taken > drawn:
                return script.weights()
        return None

    assert torch.allclose(run(is_broken=True), run(is_broken=False), atol=1e-7)


def test_a_scheduler_of_learning_rates_goes_with_the_optimizer():
    script = Script(engine())
    decay = torch.optim.lr_scheduler.ExponentialLR(script.optimizer, 0.5)
    script.epoch()
    decay.step()
    script.epoch()
    assert script.optimizer.param_groups[0]["lr"] == 0.05


def test_losses_of_ghost_mode_are_scaled_added_and_shown():
    one, other = Script(engine(), mode="ghost"), Script(engine(), mode="ghost")
    for script, way in ((one, lambda loss: loss), (other, lambda loss: (2 * loss + loss) / 3)):
        for x, y in script.loader:
            script.optimizer.zero_grad()
            loss = way(script.criterion(script.model(x), y))
            assert float(f"{loss:.3f}") == pytest.approx(loss.item(), abs=1e-3)
            loss.backward()
            script.optimizer.step()
    assert torch.allclose(one.weights(), other.weights(), atol=1e-5)


# --- checkpoints


def test_a_run_goes_on_from_its_checkpoint_read_as_data(tmp_path):
    file = tmp_path / "run.pt"
    script = Script(engine(), push=0.9).epoch()
    script.engine.save_checkpoint(path=file, module=script.model, optimizer=script.optimizer)
    again = Script(engine(), push=0.9)
    again.engine.load_checkpoint(path=file, module=again.model, optimizer=again.optimizer)
    assert again.engine.steps_taken == 10
    assert torch.equal(again.weights(), script.weights())
    again.epoch()
    with pytest.raises(BudgetEndedError):
        again.epoch()
    with pytest.raises(CheckpointError, match="another plan"):
        Script(engine(), noise_multiplier=3.0).engine.load_checkpoint(
            path=file, module=script.model, optimizer=script.optimizer
        )


class Code:
    def __reduce__(self):
        return print, ("run",)


def test_code_in_a_checkpoint_does_not_run(tmp_path, capsys):
    file = tmp_path / "run.pt"
    script = Script(engine())
    script.engine.save_checkpoint(
        path=file, module=script.model, checkpoint_dict={"more": Code()}
    )
    with pytest.raises(CheckpointError, match="read as data"):
        script.engine.load_checkpoint(path=file, module=script.model)
    assert capsys.readouterr().out == ""


def test_opacus_own_accountants_load_the_history_of_a_plan():
    plan = Script(engine()).engine.plan
    for mechanism in ("prv", "rdp"):
        own = opacus.PrivacyEngine(accountant=mechanism).accountant
        own.load_state_dict(opacus_history(plan, mechanism=mechanism))
        assert own.get_epsilon(1e-3) >= 0.99 * plan.cost().epsilon
    with pytest.raises(PlanError, match="moments"):
        opacus_history(plan, mechanism="moments")
