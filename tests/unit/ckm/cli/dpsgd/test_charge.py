"""``ckm dpsgd charge``: a checkpoint of Opacus on a ledger."""

import pytest
import torch
from click.testing import CliRunner

from ckm.cli.app import app
from dp import BudgetLedger

TOLD = ("--sampling", "poisson", "-s", 1000, "-d", 1e-4, "--unit", "person")


def run(*args):
    environment = {"CKM_LOG_FORMAT": "text", "NO_COLOR": "1", "COLUMNS": "200"}
    return CliRunner(env=environment).invoke(app, ["dpsgd", *(str(arg) for arg in args)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    state = {"history": [(2.0, 0.1, 50)], "mechanism": "prv"}
    torch.save({"privacy_accountant_state_dict": state}, "run.pt")
    BudgetLedger.create("budget.db", adjacency="zero-out", epsilon=2, delta=1e-2, unit="person")
    return tmp_path


def test_a_checkpoint_is_charged_and_the_entry_says_declared(folder):
    shown = run("charge", "run.pt", *TOLD, "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "epsilon = 1.36" in shown.output
    assert not BudgetLedger.open("budget.db").entries()
    paid = run("charge", "run.pt", *TOLD, "--ledger", "budget.db", "--who", "Ada")
    assert paid.exit_code == 0, paid.output
    (entry,) = BudgetLedger.open("budget.db").entries()
    assert "declared" in entry.what
    assert (
        run("charge", "run.pt", *TOLD, "--ledger", "budget.db", "--who", "Ada").exit_code == 1
    )


def test_all_that_is_missing_is_asked_for_at_once(folder):
    found = run("charge", "run.pt", "--dry-run")
    assert found.exit_code == 2
    assert all(name in found.output for name in ("--sampling", "-size", "--delta", "--unit"))
    assert run("charge", "run.pt", *TOLD).exit_code == 2
    assert run("charge", "run.pt", *TOLD, "--ledger", "budget.db").exit_code == 2
    (folder / "other.pt").write_text("x")
    assert run("charge", "other.pt", *TOLD, "--dry-run").exit_code != 0
