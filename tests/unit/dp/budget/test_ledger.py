"""The ledger: it refuses, it lasts, it notices."""

from __future__ import annotations

import itertools
import math
import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dp import (
    Adjacency,
    BudgetLedger,
    BudgetSpentError,
    DiscreteGaussian,
    DPError,
    Exponential,
    Gaussian,
    Geometric,
    Guarantee,
    Laplace,
    LedgerFileError,
    PlanarLaplace,
    RandomisedResponse,
    count,
)
from dp.budget.entries import RunState

ROOT = Path(__file__).resolve().parents[4]
ADD = Adjacency.ADD_REMOVE


def cost(epsilon=math.inf, **more):
    return Guarantee(**{"epsilon": epsilon, "adjacency": ADD} | more)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


@pytest.fixture
def ledger(path):
    return BudgetLedger.create(path, epsilon=0.3, adjacency=ADD)


def test_three_tenths_hold_three_times_a_tenth_and_no_more(ledger):
    for _ in range(3):
        ledger.spend(cost(0.1), who="Ada", what="a count")
    with pytest.raises(BudgetSpentError) as caught:
        ledger.spend(cost(1e-9), who="Ada", what="a crumb")
    assert "is left" in caught.value.problem
    assert ledger.left.epsilon == 0
    assert ledger.spent.epsilon == 0.3
    assert len(ledger.entries()) == 3


def test_a_ledger_is_its_owners_alone_whatever_others_may_read(path):
    before = os.umask(0o022)
    try:
        BudgetLedger.create(path, epsilon=0.3, adjacency=ADD)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_refusal_charges_nothing(ledger):
    with pytest.raises(BudgetSpentError):
        ledger.spend(cost(0.4), who="Ada", what="too much")
    assert ledger.entries() == ()
    assert ledger.spend(cost(0.3), who="Ada", what="all").number == 1


def test_who_what_when_and_how_much_are_kept(ledger):
    ledger.spend(cost(0.125), who=" Ada ", what="mean âge")
    (entry,) = BudgetLedger.open(ledger.path).entries()
    assert (entry.number, entry.who, entry.what) == (1, "Ada", "mean âge")
    assert (entry.epsilon, entry.delta, entry.rho) == ("0.125", "0.0", "inf")
    assert entry.at.endswith("+00:00")


def test_a_release_is_charged_first(ledger):
    noise = Geometric.calibrated(count(), epsilon=0.2)
    assert isinstance(ledger.release(noise, 28, who="Ada", what="over 50"), int)
    with pytest.raises(BudgetSpentError):
        ledger.release(noise, 28, who="Ada", what="over 50 again")
    assert len(ledger.entries()) == 1


PLACE = PlanarLaplace(epsilon=0.1, spacing=1, reach=1e3)
CHOICE = Exponential(epsilon=0.1, sensitivity=1, adjacency=ADD)


@pytest.mark.parametrize(
    ("mechanism", "answer"),
    [
        (Geometric.calibrated(count(), epsilon=0.05), 28.5),
        (Geometric.calibrated(count(), epsilon=0.05), [1, 2]),
        (Geometric.calibrated(count(), epsilon=0.05), 2**63),
        (Geometric.calibrated(count(), epsilon=0.05), "28"),
        (Geometric.calibrated(count(), epsilon=0.05), None),
        (Laplace.calibrated(count(), epsilon=0.05), math.nan),
        (Laplace.calibrated(count(), epsilon=0.05), math.inf),
        (CHOICE, [1.0, math.nan]),
        (CHOICE, []),
        (CHOICE, "scores"),
        (PLACE, [[1, 2], [3, 4]]),
        (PLACE, [1, math.nan]),
        (PLACE, ["x", "y"]),
        (RandomisedResponse.two_coins(), [1]),
        (cost(0.1), 28),
        (None, 28),
    ],
)
def test_what_cannot_be_released_is_not_charged(path, mechanism, answer):
    for adjacency in (ADD, Adjacency.DISTANCE, Adjacency.LOCAL):
        file = path.with_name(f"{adjacency}.db")
        unit = {Adjacency.DISTANCE: "metre", Adjacency.LOCAL: "answer"}.get(adjacency, "record")
        ledger = BudgetLedger.create(file, epsilon=9, adjacency=adjacency, unit=unit)
        with pytest.raises(DPError):
            ledger.release(mechanism, answer, who="Ada", what="a mistake")
        assert ledger.entries() == ()


@pytest.mark.parametrize("kind", ["exponential", "permute-and-flip"])
def test_a_choice_is_charged_and_made(path, kind):
    choice = Exponential(epsilon=60, sensitivity=1, adjacency=ADD, kind=kind)
    ledger = BudgetLedger.create(path, epsilon=100, adjacency=ADD)
    assert ledger.release(choice, [0, 9, 3], who="Ada", what="the largest") == 1
    assert ledger.left.epsilon == 40
    with pytest.raises(BudgetSpentError):
        ledger.release(choice, [0, 9, 3], who="Ada", what="once more")


def test_a_place_is_charged_and_reported(path):
    ledger = BudgetLedger.create(path, epsilon=0.15, adjacency="distance", unit="metre")
    assert ledger.release(PLACE, [25, 40], who="Ada", what="a place").shape == (2,)
    with pytest.raises(BudgetSpentError):
        ledger.release(PLACE, [25, 40], who="Ada", what="the same place")
    assert ledger.left.epsilon == pytest.approx(0.05)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE dp_entry SET spent_first = '0.0' WHERE number = 2",
        "UPDATE dp_entry SET epsilon = '0.01' WHERE number = 1",
        "UPDATE dp_entry SET what = 'another count' WHERE number = 1",
        "DELETE FROM dp_entry WHERE number = 2",
        "DELETE FROM dp_entry WHERE number = 1",
        "DELETE FROM dp_entry",
        "UPDATE dp_ledger SET content = replace(content, '0.3', '3.0')",
        "DELETE FROM dp_ledger",
    ],
)
def test_an_open_ledger_spends_nothing_on_a_file_that_was_edited(ledger, path, change):
    for what in ("one", "two"):
        ledger.spend(cost(0.1), who="Ada", what=what)
    with sqlite3.connect(path) as db:
        db.execute(change)
    db.close()
    kept = path.read_bytes()
    with pytest.raises(LedgerFileError):
        ledger.spend(cost(0.01), who="Ada", what="three")
    with pytest.raises(LedgerFileError):
        _ = ledger.left
    assert path.read_bytes() == kept


def test_entries_of_others_since_are_no_edits(ledger, path):
    ledger.spend(cost(0.1), who="Ada", what="one")
    BudgetLedger.open(path).spend(cost(0.1), who="Bob", what="two")
    assert ledger.spend(cost(0.1), who="Ada", what="three").number == 3


def test_deltas_are_spent_too(path):
    ledger = BudgetLedger.create(path, epsilon=10, delta=1e-6, adjacency=ADD)
    noise = Gaussian.calibrated(count(), epsilon=1, delta=6e-7)
    ledger.release(noise, 1.0, who="Ada", what="first")
    with pytest.raises(BudgetSpentError, match="delta"):
        ledger.release(noise, 1.0, who="Ada", what="second")


def test_a_pure_budget_takes_no_delta(ledger):
    with pytest.raises(BudgetSpentError, match="delta"):
        ledger.spend(cost(0.1, delta=1e-300), who="Ada", what="a crumb of delta")


def test_a_budget_of_rho_takes_gaussian_noise_and_pure_epsilons(path):
    ledger = BudgetLedger.create(path, rho=0.1, adjacency=ADD)
    ledger.release(DiscreteGaussian.calibrated(count(), rho=0.05), 3, who="Ada", what="one")
    ledger.spend(cost(0.2), who="Ada", what="two")  # 0.2² / 2
    assert ledger.left.rho == pytest.approx(0.03)
    with pytest.raises(DPError, match="rho"):
        ledger.spend(cost(0.01, delta=1e-9), who="Ada", what="three")


def test_rho_alone_is_no_price_in_epsilon(ledger):
    with pytest.raises(DPError, match="delta"):
        ledger.spend(cost(rho=0.01), who="Ada", what="a count")


def test_other_neighbours_and_units_are_refused(ledger):
    for other in (cost(0.1, unit="person"), cost(0.1, adjacency=Adjacency.REPLACE)):
        with pytest.raises(DPError, match="adjacency"):
            ledger.spend(other, who="Ada", what="a count")
    assert ledger.entries() == ()


def test_no_protection_has_no_price(ledger):
    with pytest.raises(DPError):
        ledger.spend(cost(), who="Ada", what="everything")


@pytest.mark.parametrize("words", ["", "   ", "a\nb", "x" * 501, "\x1b[31m", "a\x00"])
def test_words_are_one_printable_line(ledger, words):
    with pytest.raises(DPError, match="what"):
        ledger.spend(cost(0.1), who="Ada", what=words)


def test_hostile_words_are_only_words(ledger):
    hostile = "'); DROP TABLE dp_entry; --"
    ledger.spend(cost(0.1), who=hostile, what=hostile)
    assert ledger.entries()[0].who == hostile
    ledger.verify()


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"epsilon": 1, "rho": 1},
        {"epsilon": 0},
        {"epsilon": math.inf},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": 1, "delta": 1},
        {"rho": 0},
        {"epsilon": 1, "unit": ""},
        {"epsilon": 1, "adjacency": "near"},
    ],
)
def test_what_is_no_budget_is_refused_and_leaves_no_file(path, bad):
    with pytest.raises(DPError):
        BudgetLedger.create(path, **{"adjacency": ADD} | bad)
    assert list(path.parent.iterdir()) == []


def test_nothing_is_overwritten(ledger, path):
    ledger.spend(cost(0.1), who="Ada", what="a count")
    with pytest.raises(LedgerFileError, match="exists"):
        BudgetLedger.create(path, epsilon=9, adjacency=ADD)
    assert BudgetLedger.open(path).spent.epsilon == 0.1
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_what_is_no_ledger_is_refused(tmp_path):
    with pytest.raises(LedgerFileError, match="no ledger"):
        BudgetLedger.open(tmp_path / "absent.db")
    for name, content in {"empty.db": b"", "text.db": b"budget" * 1000}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(LedgerFileError):
            BudgetLedger.open(tmp_path / name)
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE t (a)")
    other.close()
    with pytest.raises(LedgerFileError, match="no ledger"):
        BudgetLedger.open(tmp_path / "other.db")
    with pytest.raises(LedgerFileError):
        BudgetLedger.create(tmp_path / "no folder" / "b.db", epsilon=1, adjacency=ADD)


TAMPERED = {
    "an amount": "UPDATE dp_entry SET epsilon = '0.01' WHERE number = 2",
    "a sum": "UPDATE dp_entry SET spent_first = '0.0' WHERE number = 3",
    "an author": "UPDATE dp_entry SET who = 'Eve' WHERE number = 1",
    "a time": "UPDATE dp_entry SET at = '2000-01-01' WHERE number = 1",
    "a middle entry": "DELETE FROM dp_entry WHERE number = 2",
    "the first entry": "DELETE FROM dp_entry WHERE number = 1",
    "a number": "UPDATE dp_entry SET number = 9 WHERE number = 3",
    "no number": "UPDATE dp_entry SET epsilon = 'much' WHERE number = 1",
    "a negative": "UPDATE dp_entry SET epsilon = '-1.0' WHERE number = 1",
    "the budget": "UPDATE dp_ledger SET content = replace(content, '0.3', '9.0')",
    "the settings": "UPDATE dp_ledger SET content = '{}'",
    "no settings": "DELETE FROM dp_ledger",
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_changed_file_is_noticed_on_opening(ledger, path, what):
    for _ in range(3):
        ledger.spend(cost(0.1), who="Ada", what="a count")
    with sqlite3.connect(path) as db:
        assert db.execute(TAMPERED[what]).rowcount == 1
    db.close()
    with pytest.raises(LedgerFileError):
        BudgetLedger.open(path)


def test_a_damaged_schema_whose_words_are_no_text_is_a_sentence(ledger, path):
    content = path.read_bytes()
    at = content.index(b"NOT NULL, who")
    path.write_bytes(content[: at + 5] + b"\xd5" + content[at + 6 :])
    with pytest.raises(LedgerFileError, match="cannot be used"):
        BudgetLedger.open(path)


def test_lost_last_entries_are_noticed_by_a_digest_noted_before(ledger, path):
    for _ in range(2):
        ledger.spend(cost(0.1), who="Ada", what="a count")
    head = ledger.verify()
    ledger.spend(cost(0.1), who="Ada", what="a count")
    assert BudgetLedger.open(path).verify(head=head) != head  # it grew, and holds it
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM dp_entry WHERE number > 1")
    db.close()
    shortened = BudgetLedger.open(path)
    with pytest.raises(LedgerFileError, match="digest"):
        shortened.verify(head=head)


def test_parts_that_share_no_unit_cost_the_largest(path):
    ledger = BudgetLedger.create(path, epsilon=1, adjacency=ADD)
    noises = [Geometric.calibrated(count(), epsilon=e) for e in (0.25, 0.5, 0.125)]
    answers = [28, 3, 41]
    found = ledger.release_parts(noises, answers, who="Ada", what="over 50, by region")
    assert [abs(one - true) < 400 for one, true in zip(found, answers, strict=True)] == [
        True
    ] * 3
    assert ledger.left.epsilon == 0.5
    assert len(ledger.entries()) == 1


def test_parts_cost_twice_where_units_are_replaced(path):
    """A unit that is replaced leaves a part and enters it again: faults D1."""
    ledger = BudgetLedger.create(path, epsilon=1, adjacency="replace")
    noises = [Geometric.calibrated(count(), epsilon=e) for e in (0.25, 0.5)]
    ledger.release_parts(noises, [28, 3], who="Ada", what="over 50, by region")
    assert ledger.left.epsilon == 0


def test_parts_that_cannot_all_be_released_cost_nothing(path):
    ledger = BudgetLedger.create(path, epsilon=1, adjacency=ADD)
    noise = Geometric.calibrated(count(), epsilon=0.25)
    for noises, answers in (([noise, noise], [28, 3.5]), ([noise], [1, 2]), ([], [])):
        with pytest.raises(DPError):
            ledger.release_parts(noises, answers, who="Ada", what="by region")
    dear = Geometric.calibrated(count(), epsilon=2)
    with pytest.raises(BudgetSpentError):
        ledger.release_parts([noise, dear], [1, 2], who="Ada", what="by region")
    assert not ledger.entries()


def test_ledgers_allotted_out_of_one_never_exceed_it_together(tmp_path):
    office = BudgetLedger.create(tmp_path / "o.db", epsilon=1, adjacency=ADD, unit="person")
    health = office.allot(tmp_path / "health.db", epsilon=0.75, who="Ada")
    assert (health.settings.unit, health.left.epsilon, office.left.epsilon) == (
        "person",
        0.75,
        0.25,
    )
    with pytest.raises(BudgetSpentError):
        office.allot(tmp_path / "taxes.db", epsilon=0.5, who="Ada")
    assert not (tmp_path / "taxes.db").exists()
    with pytest.raises(LedgerFileError, match="exists"):
        office.allot(tmp_path / "health.db", epsilon=0.25, who="Ada")
    assert office.left.epsilon == 0.25
    with pytest.raises(BudgetSpentError):
        health.spend(cost(0.8, unit="person"), who="Bob", what="mean age")


def test_a_budget_allotted_and_lost_is_spent_and_not_had_twice(tmp_path, monkeypatch):
    office = BudgetLedger.create(tmp_path / "o.db", epsilon=1, adjacency=ADD)
    monkeypatch.setattr(BudgetLedger, "_made", lambda *_: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        office.allot(tmp_path / "health.db", epsilon=0.75, who="Ada")
    assert office.left.epsilon == 0.25


def test_costs_chosen_after_answers_lose_no_more_than_the_ledger_says():
    """Two coins; the second is chosen by the first: every pair of answers, exactly."""

    def coin(epsilon):
        truth = math.exp(epsilon) / (1 + math.exp(epsilon))
        return {True: truth, False: 1 - truth}

    first, then = 0.3, {True: 0.1, False: 0.6}
    for answers in itertools.product((True, False), repeat=2):
        one = coin(first)[answers[0]] * coin(then[answers[0]])[answers[1]]
        other = coin(first)[not answers[0]] * coin(then[answers[0]])[not answers[1]]
        assert abs(math.log(one / other)) <= first + then[answers[0]] + 1e-12
        assert abs(math.log(one / other)) <= 0.9 + 1e-12


def run_state(state, *held, does="resumed"):
    return RunState(run="r", state=state, held=held, does=does)


def spend_run(ledger, run):
    return ledger.spend(cost(0.2), who="Ada", what="a model", run=run)


def test_a_run_is_charged_once_and_each_state_has_one_successor(ledger):
    spend_run(ledger, run_state("a"))
    spend_run(ledger, run_state("b", "a"))
    with pytest.raises(BudgetSpentError, match="entry 2"):
        spend_run(ledger, run_state("c", "a"))
    spend_run(ledger, run_state("c", "b", "a", does="finished"))
    assert [entry.what for entry in ledger.entries()] == [
        "a model (run r begun a)",
        "a model (run r resumed b)",
        "a model (run r finished c)",
    ]
    assert ledger.spent.epsilon == pytest.approx(0.2)
    BudgetLedger.open(ledger.path)


def test_another_run_and_another_price_are_charged(path):
    ledger = BudgetLedger.create(path, epsilon=2, adjacency=ADD)
    spend_run(ledger, run_state("a"))
    ledger.spend(cost(0.5), who="Ada", what="a model", run=run_state("b", "a"))
    other = RunState(run="s", state="c", held=("b",))
    ledger.spend(cost(0.25), who="Ada", what="a model", run=other)
    assert ledger.spent.epsilon == pytest.approx(0.95)


def test_a_run_of_a_budget_of_rho_goes_on_for_nothing(path):
    ledger = BudgetLedger.create(path, rho=0.5, adjacency=ADD)
    for run in (run_state("a"), run_state("b", "a")):
        ledger.spend(cost(rho=0.5), who="Ada", what="a model", run=run)
    assert ledger.left.rho == 0


@pytest.mark.slow
def test_of_many_copies_that_go_on_at_once_one_does(path):
    ledger = BudgetLedger.create(path, epsilon=0.3, adjacency=ADD)
    spend_run(ledger, run_state("a"))

    def go_on(number):
        try:
            return spend_run(BudgetLedger.open(path), run_state(f"b{number}", "a")).number
        except BudgetSpentError:
            return None

    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(go_on, range(8))]
    assert sorted(found, key=str) == [2, *[None] * 7]


def spender(path, who):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.unit.dp.budget.ledger_process", str(path), who],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_two_processes_at_once_spend_the_budget_once(path):
    ledger = BudgetLedger.create(path, epsilon=0.1, adjacency=ADD)
    running = [spender(path, who) for who in ("Ada", "Bob")]
    told = [int(line) for one in running for line in one.communicate(timeout=120)[0].split()]
    assert [one.returncode for one in running] == [0, 0]
    assert sorted(told) == list(range(1, 101))
    assert ledger.left.epsilon == 0
    BudgetLedger.open(path)


@pytest.mark.slow
def test_a_killed_process_loses_no_charge_it_told_of(path):
    ledger = BudgetLedger.create(path, epsilon=100, adjacency=ADD)
    for _ in range(3):
        running = spender(path, "Ada")
        told = [int(running.stdout.readline()) for _ in range(4)]
        running.send_signal(signal.SIGKILL)
        # not communicate(): it reads past the lines that readline() has buffered
        told += [int(line) for line in running.stdout.read().split()]
        running.stdout.close()
        assert running.wait(timeout=60) == -signal.SIGKILL
        whole = BudgetLedger.open(path)  # verified
        numbers = [entry.number for entry in whole.entries()]
        assert set(told) <= set(numbers)
        assert len(numbers) <= told[-1] + 1  # at most one charge was made and not told
        assert whole.spent.epsilon == pytest.approx(0.001 * len(numbers))
    ledger.spend(cost(0.001), who="Ada", what="it works on")


def test_a_torn_write_is_undone(ledger, path):
    """What a crash in the middle of a transaction leaves: nothing."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE dp_ledger SET content = ''")
    db.close()
    assert BudgetLedger.open(path) == ledger


def test_sums_are_exact_over_very_different_amounts(path):
    ledger = BudgetLedger.create(path, epsilon=1, delta=0.5, adjacency=ADD)
    ledger.spend(cost(1 / 3, delta=1e-300), who="Ada", what="small")
    ledger.spend(cost(1e-17, delta=0.25), who="Ada", what="large")
    entry = ledger.entries()[-1]
    assert entry.spent[0] == "0.33333333333333332" or entry.spent[0].startswith("0.3333333333")
    assert len(entry.spent[1]) > 300
    ledger.verify()


def test_post_processing_costs_nothing(ledger):
    noise = Geometric.calibrated(count(), epsilon=0.1)
    published = ledger.release(noise, 28, who="Ada", what="over 50")
    left = ledger.left
    assert [max(0, published), round(published, -1)]
    assert ledger.left == left
