"""What checkpoints of Opacus claim, and what a ledger charges for it."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from dp import BudgetLedger
from dp.errors import BudgetSpentError, DPError
from dpsgd import CheckpointError, Plan, PlanError, cost_of
from dpsgd.accounting import accounts
from dpsgd.opacus import charge_opacus, opacus_history, read_history
from dpsgd.opacus.history import cost_of_history

TOLD = {"sampling": "poisson", "dataset_size": 1000, "delta": 1e-4, "unit": "person"}
HISTORY = [(2.0, 0.1, 50)]


def ledger(folder, **changes):
    limits = {"epsilon": 10, "delta": 1e-2, "adjacency": "zero-out", "unit": "person"}
    return BudgetLedger.create(folder / "budget.db", **limits | changes)


def checkpoint(folder, history=HISTORY, **more):
    file = folder / "run.pt"
    state = {"history": history, "mechanism": "rdp"}
    torch.save({"module_state_dict": {}, "privacy_accountant_state_dict": state, **more}, file)
    return file


def test_a_checkpoint_is_charged_as_declared_by_the_account_of_the_ledger(tmp_path):
    book = ledger(tmp_path)
    entry = charge_opacus(checkpoint(tmp_path), ledger=book, who="Ada", what="income", **TOLD)
    own = cost_of(
        sampling_rate=0.1, noise_multiplier=2.0, steps=50, delta=1e-4, adjacency="zero-out"
    )
    assert float(entry.epsilon) == own.epsilon
    assert entry.what == "income (declared, from a checkpoint of Opacus)"
    assert len(book.entries()) == 1
    again = charge_opacus(
        {"history": HISTORY}, ledger=tmp_path / "budget.db", who="Ada", **TOLD
    )
    assert again.epsilon == entry.epsilon


@pytest.mark.parametrize("name", ["sampling", "dataset_size", "delta", "unit"])
def test_what_the_file_does_not_hold_is_asked_for(name, tmp_path):
    book = ledger(tmp_path)
    with pytest.raises(PlanError, match=name):
        charge_opacus({"history": HISTORY}, ledger=book, who="Ada", **{**TOLD, name: None})
    assert not book.entries()


def test_shuffled_batches_are_charged_for_what_they_cost():
    poisson = cost_of_history(read_history({"history": HISTORY}), **TOLD)
    shuffled = cost_of_history(
        read_history({"history": HISTORY}), **{**TOLD, "sampling": "shuffled"}
    )
    assert shuffled.epsilon > 3 * poisson.epsilon
    with pytest.raises(PlanError, match="fixed size"):
        cost_of_history(read_history({"history": HISTORY}), **{**TOLD, "sampling": "fixed"})


@pytest.mark.parametrize("sampling", ["poisson", "shuffled"])
def test_a_noise_that_changes_costs_what_lies_between_its_ends(sampling):
    told = {**TOLD, "sampling": sampling}
    found = [
        cost_of_history(read_history({"history": history}), **told).epsilon
        for history in (
            [(2.0, 0.1, 100)],
            [(2.0, 0.1, 50), (1.5, 0.1, 50)],
            [(1.5, 0.1, 50), (2.0, 0.1, 50)],
            [(1.5, 0.1, 110)],
        )
    ]
    assert found[0] < found[1] <= found[3]
    assert found[1] == pytest.approx(found[2], rel=0.1)


@pytest.mark.slow
def test_the_account_is_not_below_that_of_opacus():
    from opacus.accountants import PRVAccountant, RDPAccountant

    for history in ([(2.0, 0.1, 50)], [(1.0, 0.02, 200), (0.8, 0.02, 100)]):
        own = cost_of_history(read_history({"history": history}), **TOLD).epsilon
        tight, loose = PRVAccountant(), RDPAccountant()
        tight.history = loose.history = history
        assert own >= tight.get_epsilon(1e-4, eps_error=0.01) - 0.02
        assert own <= loose.get_epsilon(1e-4) * 1.001


def test_many_noises_are_grouped_and_cost_no_less(monkeypatch):
    steps = [(2.0 * 0.9**number, 0.1, 5) for number in range(8)]
    history = read_history({"history": steps})
    exact = cost_of_history(history, **TOLD).epsilon
    made = []
    usual = accounts.PrivacyLoss.gaussian

    def gaussian(*args, **kwargs):
        made.append(args)
        return usual(*args, **kwargs)

    monkeypatch.setattr(accounts, "_NOISES", 4)
    monkeypatch.setattr(accounts.PrivacyLoss, "gaussian", gaussian)
    grouped = cost_of_history(history, **TOLD).epsilon
    assert exact <= grouped <= 1.15 * exact
    assert len(made) == 4


@pytest.mark.parametrize("rates", [(0.1,), (0.1, 0.2)])
def test_groups_of_noises_keep_all_steps_and_never_raise_a_noise(rates):
    counts = {(1 + number / 100, rate): number + 1 for number in range(90) for rate in rates}
    grouped = accounts._grouped(counts)
    assert len(grouped) <= accounts._NOISES + len(rates)
    assert sum(grouped.values()) == sum(counts.values())
    for least in (1.0, 1.3, 1.89):
        for rate in rates:
            below = sum(n for (s, r), n in counts.items() if s <= least and r == rate)
            assert below <= sum(n for (s, r), n in grouped.items() if s <= least and r == rate)


DAMAGED = {
    "no dictionary": [1],
    "no account": {"module_state_dict": {}},
    "no history": {"privacy_accountant_state_dict": {"mechanism": "rdp"}},
    "empty": {"privacy_accountant_state_dict": {"history": []}},
    "text": {"privacy_accountant_state_dict": {"history": "rdp"}},
    "two numbers": {"privacy_accountant_state_dict": {"history": [(1.0, 0.1)]}},
    "rate": {"privacy_accountant_state_dict": {"history": [(1.0, 1.1, 5)]}},
    "no rate": {"privacy_accountant_state_dict": {"history": [(1.0, 0.0, 5)]}},
    "negative": {"privacy_accountant_state_dict": {"history": [(-1.0, 0.1, 5)]}},
    "half a step": {"privacy_accountant_state_dict": {"history": [(1.0, 0.1, 2.5)]}},
    "negative steps": {"privacy_accountant_state_dict": {"history": [(1.0, 0.1, -5)]}},
    "not a number": {"privacy_accountant_state_dict": {"history": [(float("nan"), 0.1, 5)]}},
    "no noise": {"privacy_accountant_state_dict": {"history": [(0.0, 0.1, 5)]}},
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_file_without_a_history_that_holds_is_refused(name, tmp_path):
    file = tmp_path / "run.pt"
    torch.save(DAMAGED[name], file)
    book = ledger(tmp_path)
    with pytest.raises(CheckpointError):
        charge_opacus(file, ledger=book, who="Ada", **TOLD)
    assert not book.entries()


class Code:
    def __reduce__(self):
        return print, ("run",)


def test_code_in_a_file_does_not_run_and_other_files_are_refused(tmp_path, capsys):
    with pytest.raises(CheckpointError, match="read as data"):
        read_history(checkpoint(tmp_path, more=Code()))
    assert capsys.readouterr().out == ""
    (tmp_path / "text").write_text("x")
    for name in ("text", "absent"):
        with pytest.raises(CheckpointError):
            read_history(tmp_path / name)


def test_a_checkpoint_of_opacus_1_5_with_a_method_for_a_name_is_read(tmp_path):
    from opacus.accountants import PRVAccountant, RDPAccountant

    for kind in (PRVAccountant, RDPAccountant):
        state = {"history": HISTORY, "mechanism": kind.mechanism}
        torch.save({"privacy_accountant_state_dict": state}, tmp_path / "old.pt")
        assert read_history(tmp_path / "old.pt") == read_history({"history": HISTORY})


def test_what_stands_for_getattr_gives_nothing_of_an_object(tmp_path):
    class Reach:
        def __reduce__(self):
            return getattr, (RDPAccountant, "__init__")

    from opacus.accountants import RDPAccountant

    torch.save({"privacy_accountant_state_dict": {"history": Reach()}}, tmp_path / "run.pt")
    with pytest.raises(CheckpointError, match="no history"):
        read_history(tmp_path / "run.pt")


def test_a_ledger_for_others_or_with_too_little_left_refuses(tmp_path):
    with pytest.raises(DPError, match="adjacency"):
        charge_opacus(
            {"history": HISTORY}, ledger=ledger(tmp_path, adjacency="add-remove"), who="Ada",
            **TOLD,
        )  # fmt: skip
    (tmp_path / "small").mkdir()
    with pytest.raises(BudgetSpentError):
        charge_opacus(
            {"history": HISTORY}, ledger=ledger(tmp_path / "small", epsilon=0.1), who="Ada",
            **TOLD,
        )  # fmt: skip
    with pytest.raises(PlanError, match="delta"):
        charge_opacus(
            {"history": HISTORY}, ledger="absent.db", who="Ada", **{**TOLD, "delta": 0.1}
        )


def test_a_plan_that_opacus_does_not_know_has_no_history():
    run = {"dataset_size": 1000, "sampling_rate": 0.1, "steps": 100, "delta": 1e-4}
    plan = Plan(**run, noise_multiplier=2)
    assert opacus_history(plan, steps=0)["history"] == []
    assert opacus_history(plan, steps=7)["history"] == [(2.0, 0.1, 7)]
    shuffled = Plan(**run, noise_multiplier=2, sampling="shuffled", adjacency="zero-out")
    for other in (shuffled, Plan(**run, noise_multiplier=0)):
        with pytest.raises(PlanError, match="Poisson"):
            opacus_history(other)


@pytest.mark.slow
def test_reading_a_history_needs_no_opacus_and_asking_for_it_loads_no_torch():
    code = """
import sys
import dpsgd.opacus
assert dpsgd.opacus.read_history({"history": [(1.0, 0.1, 5)]})
assert not {"torch", "opacus"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
