"""Losses: formulas beside sums over all outcomes."""

import itertools
import math
import pickle
import shutil
import sqlite3
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rappor.accounting import epsilon_after, epsilon_between
from rappor.client.account import ValueLedger
from rappor.client.client import bloom_filter
from rappor.client.ledger import ClientLedger
from rappor.errors import CapError, RapporError
from rappor.parameters import Parameters
from tables.secret import Secret

PAPER = Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=0.5, p=0.5, q=0.75)


def chance(ones, reports, is_set, parameters):
    """P(this many ones in one bit's reports), summed over its permanent response."""
    a = 1 - parameters.f / 2 if is_set else parameters.f / 2
    law = [r**ones * (1 - r) ** (reports - ones) for r in (parameters.q, parameters.p)]
    return a * law[0] + (1 - a) * law[1]


def by_enumeration(first, second, parameters, reports):
    """Largest loss over all outcomes of all bits."""
    worst = 0.0
    for outcome in itertools.product(range(reports + 1), repeat=len(first)):
        one, two = (
            math.prod(
                chance(t, reports, bit, parameters) for t, bit in zip(outcome, row, strict=True)
            )
            for row in (first, second)
        )
        worst = max(worst, abs(math.log(one / two)))
    return worst


@pytest.mark.parametrize("reports", [1, 2, 3])
@pytest.mark.parametrize(
    ("f", "p", "q"), [(0.5, 0.5, 0.75), (0.25, 0.1, 0.6), (0.3, 0.65, 0.35), (0.0, 0.2, 0.7)]
)
def test_the_worst_loss_is_that_of_all_outcomes(reports, f, p, q):
    parameters = Parameters(n_bits=5, n_hashes=2, n_cohorts=1, f=f, p=p, q=q)
    found = by_enumeration((1, 1, 0, 0, 0), (0, 0, 1, 1, 0), parameters, reports)
    assert epsilon_after(parameters, reports=reports) == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize("reports", [1, 2, 5])
def test_the_loss_of_a_boolean_is_that_of_all_outcomes(reports):
    parameters = Parameters.basic(1, f=0.3, p=0.1, q=0.6)
    found = by_enumeration((1,), (0,), parameters, reports)
    assert epsilon_after(parameters, reports=reports) == pytest.approx(found, abs=1e-9)


def test_the_loss_of_basic_rappor_is_that_of_all_outcomes():
    parameters = Parameters.basic(4, f=0.3, p=0.1, q=0.6)
    found = by_enumeration((1, 0, 0, 0), (0, 0, 1, 0), parameters, 2)
    assert epsilon_after(parameters, reports=2) == pytest.approx(found, abs=1e-9)


def test_the_paper_s_loss_grows_with_repeats():
    expected = {1: 1.07, 2: 2.02, 3: 2.76, 5: 3.66, 7: 4.07, 10: 4.30}
    assert {t: round(epsilon_after(PAPER, reports=t), 2) for t in expected} == expected
    assert epsilon_after(PAPER, reports=14) == pytest.approx(4.376, abs=5e-4)
    assert epsilon_after(PAPER, reports=10**6) == pytest.approx(PAPER.epsilon_permanent)
    assert epsilon_after(PAPER, reports=0) == 0


def test_ends_without_instantaneous_noise():
    sure = Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=0.5, p=0.0, q=1.0)
    for reports in (1, 2, 100):
        assert epsilon_after(sure, reports=reports) == pytest.approx(sure.epsilon_permanent)


def test_one_time_rappor_loses_the_same_again_with_each_report():
    once = Parameters(n_bits=8, n_hashes=1, n_cohorts=2, f=0.0, p=0.25, q=0.75)
    assert epsilon_after(once, reports=7) == pytest.approx(7 * once.epsilon_one)
    assert math.isfinite(epsilon_after(once, reports=10**5))


@pytest.mark.parametrize("reports", [-1, 1.5, True, None, "2"])
def test_numbers_of_reports_that_are_none_are_refused(reports):
    with pytest.raises(RapporError):
        epsilon_after(PAPER, reports=reports)


@pytest.mark.parametrize("reports", [1, 2])
def test_the_loss_between_two_values_is_that_of_all_outcomes(reports):
    parameters = Parameters(n_bits=6, n_hashes=3, n_cohorts=3, f=0.25, p=0.1, q=0.6)
    seen = set()
    for second in "bcdefgh":
        rows = bloom_filter(["a", second], np.array([1, 1]), parameters=parameters)
        found = epsilon_between("a", second, cohort=1, parameters=parameters, reports=reports)
        expected = by_enumeration(*rows.astype(int).tolist(), parameters, reports)
        assert found == pytest.approx(expected, abs=1e-9)
        assert found <= epsilon_after(parameters, reports=reports) + 1e-12
        seen.add(int(np.sum(rows[0] != rows[1])))
    assert len(seen) > 1  # values at different distances were compared


def test_values_that_share_all_bits_cost_nothing():
    tiny = Parameters(n_bits=2, n_hashes=1, n_cohorts=1, f=0.0, p=0.0, q=1.0)
    bits = bloom_filter([*"abcdefgh"], np.zeros(8, int), parameters=tiny)
    twin = "abcdefgh"[1 + int(np.argmax((bits[1:] == bits[0]).all(axis=1)))]
    other = "abcdefgh"[1 + int(np.argmax((bits[1:] != bits[0]).any(axis=1)))]
    for reports in (1, None):
        assert epsilon_between("a", twin, cohort=0, parameters=tiny, reports=reports) == 0
        assert (
            epsilon_between("a", other, cohort=0, parameters=tiny, reports=reports) == math.inf
        )


def test_the_ledger_adds_up_distinct_values():
    ledger = ValueLedger(PAPER, key=bytes(32))
    for place, times in {"home": 25, "work": 14, "mother": 2}.items():
        for _ in range(times):
            ledger.record(place, cohort=3)
    expected = sum(epsilon_after(PAPER, reports=t) for t in (25, 14, 2))
    assert ledger.epsilon == pytest.approx(expected)
    assert ledger.epsilon == pytest.approx(10.79, abs=0.005)
    assert ledger.bound == pytest.approx(3 * PAPER.epsilon_permanent)
    assert ledger.would_cost("beach", cohort=3) - ledger.epsilon == pytest.approx(
        PAPER.epsilon_one
    )


def test_values_with_the_same_bits_are_one_in_the_ledger():
    tiny = Parameters(n_bits=2, n_hashes=1, n_cohorts=1, f=0.5, p=0.25, q=0.75)
    ledger = ValueLedger(tiny, key=bytes(32))
    for value in "abcdefgh":
        ledger.record(value, cohort=0)
    assert ledger.distinct == 2


def test_the_ledger_s_sum_bounds_histories_that_change_at_the_same_times():
    """And not others: reports show that a value changed, whatever the values were."""
    parameters = Parameters(n_bits=2, n_hashes=1, n_cohorts=1, f=0.3, p=0.2, q=0.7)

    def law(history, outcome):
        total = 1.0
        for bit in (0, 1):
            for value in set(history):
                times = [t for t, v in enumerate(history) if v == value]
                ones = sum(outcome[t][bit] for t in times)
                total *= chance(ones, len(times), value == bit, parameters)
        return total

    def worst(first, second):
        outcomes = itertools.product(itertools.product((0, 1), repeat=2), repeat=len(first))
        return max(abs(math.log(law(first, o) / law(second, o))) for o in outcomes)

    spent = epsilon_after(parameters, reports=2) + epsilon_after(parameters, reports=1)
    assert worst((0, 0, 1), (1, 1, 0)) == pytest.approx(spent)
    steady = epsilon_after(parameters, reports=4)
    assert worst((0, 0, 0, 0), (1, 1, 1, 1)) == pytest.approx(steady)
    assert worst((0, 0, 0, 0), (0, 0, 1, 1)) > 0


def test_the_cap_holds_and_a_refused_report_costs_nothing():
    ledger = ValueLedger(PAPER, key=bytes(32), cap=PAPER.epsilon_permanent)
    for _ in range(200):
        ledger.record("home", cohort=3)
    before = ledger.to_dict()
    with pytest.raises(RapporError, match="above the cap"):
        ledger.record("work", cohort=3)
    assert ledger.to_dict() == before
    for cap in (0, -1, float("nan")):
        with pytest.raises(RapporError):
            ValueLedger(PAPER, key=bytes(32), cap=cap)


def test_a_stored_ledger_goes_on_and_holds_no_value():
    ledger = ValueLedger(PAPER, key=bytes(32), cap=9)
    ledger.record("a marked place", cohort=3)
    stored = ledger.to_dict()
    assert "marked" not in str(stored)
    again = ValueLedger.from_dict(stored, parameters=PAPER, key=bytes(32))
    again.record("a marked place", cohort=3)
    assert (again.distinct, again.cap) == (1, 9)
    assert "marked" not in repr(again)
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(again)
    for damaged in (
        {},
        None,
        stored | {"fingerprint": "0"},
        stored | {"reports": {"x": 0}},
        stored | {"reports": {"x": 1.5}},
        stored | {"reports": [1]},
    ):
        with pytest.raises(RapporError):
            ValueLedger.from_dict(damaged, parameters=PAPER, key=bytes(32))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), max_size=30))
def test_a_ledger_of_many_clients_is_that_of_each(sent):
    secret, cap = Secret(bytes(range(16))), 6.0
    design = Parameters(n_bits=32, n_hashes=2, n_cohorts=1, f=0.5, p=0.25, q=0.75)
    own = {client: ValueLedger(design, key=bytes(32), cap=cap) for client in "abc"}
    wanted = []
    for client, value in sent:
        try:
            own[client].record(str(value), cohort=0)
            wanted.append(True)
        except CapError:
            wanted.append(False)
    found = []
    with ClientLedger(None, secret=secret) as ledger:
        for start in range(0, len(sent), 7):  # as files come in pieces
            names, values = zip(*sent[start : start + 7], strict=True)
            texts = [*map(str, values)]
            kept = ledger.charge(texts, names, parameters=design, metric="m", cap=cap)
            found += kept.tolist()
        assert ledger.most == pytest.approx(max([0.0, *(one.epsilon for one in own.values())]))
    assert found == wanted


def test_a_ledger_that_is_held_is_waited_for_and_what_is_not_committed_undone(tmp_path):
    secret, design = Secret(bytes(range(16))), Parameters.basic(3, f=0.5, p=0.0, q=1.0)
    charged = {"parameters": design, "metric": "m", "cap": 2.2}
    file = tmp_path / "clients.db"
    for _ in range(2):
        with ClientLedger(file, secret=secret) as ledger:
            assert ledger.charge([0], ["ann"], **charged).all()
    with ClientLedger(file, secret=secret) as ledger:
        ledger.charge([0], ["ann"], **charged)
        ledger.commit()
        second = threading.Thread(target=_charge_other, args=(file, secret, charged))
        second.start()
    second.join(60)
    with ClientLedger(file, secret=secret) as ledger:
        kept = ledger.charge([1, 1], ["ann", "bob"], **charged)
    assert kept.tolist() == [False, False]


def _charge_other(file, secret, charged):
    with ClientLedger(file, secret=secret) as ledger:
        ledger.charge([0], ["bob"], **charged)
        ledger.commit()


@pytest.fixture
def kept_ledger(tmp_path):
    """A ledger in which ann has spent all that a cap of 2.2 allows, and how to ask for more."""
    secret, design = Secret(bytes(range(16))), Parameters.basic(3, f=0.5, p=0.0, q=1.0)
    file = tmp_path / "clients.db"

    def charge(value="ann", *, path=file, **more):
        with ClientLedger(path, secret=secret, **more) as ledger:
            kept = ledger.charge(
                [len(value) % 3], [value], parameters=design, metric="m", cap=2.2
            )
            ledger.commit()
        return bool(kept[0])

    assert charge()
    return file, charge


def test_a_copied_or_older_or_emptied_ledger_is_refused(kept_ledger, tmp_path):
    file, charge = kept_ledger
    beside = tmp_path / "clients.db.last"
    older, other = file.read_bytes(), tmp_path / "other.db"
    shutil.copy(file, other)
    with pytest.raises(RapporError, match="not what the last command left"):
        charge(path=other)
    shutil.copy(beside, tmp_path / "other.db.last")
    with pytest.raises(RapporError, match="is a copy"):
        charge(path=other)
    assert charge("bob")
    newer = file.read_bytes()
    for content in (older, b""):
        file.write_bytes(content)
        with pytest.raises(RapporError, match="would be forgotten"):
            charge("bob")
    beside.write_text("[]")
    file.write_bytes(newer)
    with pytest.raises(RapporError, match="would be forgotten"):
        charge("bob")
    assert charge("bob", adopt=True)
    assert charge("bob")


@pytest.mark.parametrize(
    ("steps", "clients"), [(["die"], 1), (["mark, die"], 1), (["mark", "die"], 2)]
)
def test_a_crash_while_a_ledger_is_kept_loses_no_charge_and_locks_nobody_out(
    kept_ledger, monkeypatch, steps, clients
):
    """Before the first mark, between that and the charge, between the charge and the second."""
    file, charge = kept_ledger
    mark = ClientLedger._mark

    def dies(self, tokens):
        step = steps.pop(0)
        if "mark" in step:
            mark(self, tokens)
        if "die" in step:
            raise KeyboardInterrupt

    monkeypatch.setattr(ClientLedger, "_mark", dies)
    with pytest.raises(KeyboardInterrupt):
        charge("bob")
    monkeypatch.undo()
    with ClientLedger(file, secret=Secret(bytes(range(16)))) as ledger:
        assert ledger.totals()["clients"] == clients
    assert charge("bob")


def test_a_ledger_says_what_is_sent_for_now_and_for_ever(tmp_path):
    paper, once = PAPER, Parameters.basic(3, f=0.0, p=0.25, q=0.75)
    with ClientLedger(tmp_path / "clients.db", secret=Secret(bytes(16))) as ledger:
        assert set(ledger.totals().values()) == {0}
        for value in ("a", "a", "b"):
            ledger.charge([value], ["ann"], parameters=paper, metric="m", cap=99)
        found = ledger.totals()
        assert (found["values"], found["most_values"], found["reports"]) == (2, 2, 3)
        spent = epsilon_after(paper, reports=2) + epsilon_after(paper, reports=1)
        assert found["most_epsilon"] == pytest.approx(spent)
        assert found["most_forever"] == pytest.approx(2 * paper.epsilon_permanent)
        ledger.charge([1], ["bob"], parameters=once, metric="m", cap=99)
        assert ledger.totals()["most_forever"] == math.inf


def test_a_ledger_of_an_older_version_goes_on_and_one_others_can_read_is_refused(kept_ledger):
    file, charge = kept_ledger
    with sqlite3.connect(file) as db:
        db.execute("ALTER TABLE spent DROP COLUMN forever")
        db.execute("DROP TABLE state")
    file.with_name("clients.db.last").unlink()
    with ClientLedger(file, secret=Secret(bytes(range(16)))) as ledger:
        assert ledger.totals()["most_forever"] == math.inf  # not known
    assert charge()
    file.chmod(0o644)
    with pytest.raises(RapporError, match="read by others"):
        charge()


def test_a_damaged_ledger_is_named(kept_ledger):
    file, charge = kept_ledger
    file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(RapporError, match="cannot be read"):
        charge()


EDITS = [
    "UPDATE spent SET loss = 0",
    "UPDATE spent SET reports = 0",
    "UPDATE spent SET loss = CAST(loss AS TEXT) || 'x'",
    "UPDATE spent SET forever = NULL",
    "UPDATE spent SET client = zeroblob(16)",
    "DELETE FROM spent",
    "INSERT INTO spent VALUES (zeroblob(16), zeroblob(16), 1, 0.1, 1.0)",
    "UPDATE state SET seal = NULL",
    "UPDATE state SET seal = zeroblob(64)",
    "UPDATE state SET seal = 'x'",
    "DROP TABLE state",
    "DROP TABLE spent",
]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_ledger_is_refused(kept_ledger, edit):
    file, charge = kept_ledger
    with sqlite3.connect(file) as db:
        db.execute(edit)
    with pytest.raises(RapporError, match=r"changed by other means|would be forgotten"):
        charge("bob")


@pytest.mark.slow
def test_a_bit_that_flips_in_a_ledger_is_noticed_or_changes_nothing(kept_ledger):
    file, charge = kept_ledger
    content, noticed = file.read_bytes(), 0
    bits = np.random.default_rng(5).choice(8 * len(content), 400, replace=False)
    for bit in bits.tolist():
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        file.write_bytes(changed)
        try:
            with ClientLedger(file, secret=Secret(bytes(range(16)))) as ledger:
                assert ledger.totals()["reports"] == 1
        except RapporError:
            noticed += 1
    file.write_bytes(content)
    assert charge("bob")
    assert noticed > 0


def test_a_planted_link_is_no_ledger(tmp_path):
    (tmp_path / "clients.db").symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(RapporError, match="symbolic link"),
        ClientLedger(tmp_path / "clients.db", secret=Secret(bytes(16))),
    ):
        pass
    assert not (tmp_path / "elsewhere").exists()
