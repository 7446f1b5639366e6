"""Those who publish at the same time are written together, each checked against all before."""

from __future__ import annotations

import threading
import time

import pytest

from ckm.ledger import Definition, Ledger, LedgerError, ThinDifferenceError, list_published
from ckm.ledger.storage.store import _Sqlite
from tables import Request, StoredKeys, cube, open_source
from tests.unit.ckm.ledger.process import SECRET, entry, register


@pytest.fixture
def source():
    with open_source(register(), threads=1) as opened:
        yield opened


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path):
    with Ledger.open(path, secret=SECRET) as opened:
        yield opened


class Callers:
    """Threads that publish while the ledger is held, so that they all wait for it."""

    def __init__(self, ledger):
        self.ledger = ledger
        self.outcomes = {}
        self.threads = []

    def publish(self, name, *entries, **options):
        def work():
            try:
                self.outcomes[name] = self.ledger.publish(entries, **options)
            except BaseException as error:  # noqa: BLE001  (to be looked at)
                self.outcomes[name] = error

        waiting = self.ledger._writer._waiting
        before = len(waiting)
        thread = threading.Thread(target=work)
        thread.start()
        while len(waiting) == before and thread.is_alive():
            time.sleep(0.001)
        self.threads.append(thread)

    def __enter__(self):
        self.ledger._writer.refresh()
        self.ledger._is_loaded = True
        self.ledger._writer._lock.acquire()
        return self

    def __exit__(self, *_):
        self.ledger._writer._lock.release()
        for thread in self.threads:
            thread.join(60)


def transactions(monkeypatch):
    """Count the commits of a ledger."""
    begun = []
    begin = _Sqlite._begin
    monkeypatch.setattr(_Sqlite, "_begin", lambda self: begun.append(1) or begin(self))
    return begun


def names(path):
    return [published.definition.name for published in list_published(path)]


def test_all_who_wait_are_written_in_one_transaction(ledger, path, source, monkeypatch):
    filters = [f"number > {12 * n}" for n in range(6)]
    begun = transactions(monkeypatch)
    with Callers(ledger) as callers:
        for where in filters:
            callers.publish(where, entry(ledger, source, where))
    assert callers.outcomes == dict.fromkeys(filters, ())
    assert len(begun) == 1
    assert names(path) == filters
    with Ledger.open(path, secret=SECRET) as again:
        for where in filters:
            assert again.check([entry(again, source, f"{where} and number <> 899")])
        assert not list(again.audit())


def test_one_of_a_group_that_differs_little_from_another_is_refused_alone(
    ledger, path, source, monkeypatch
):
    filters = ["number > 100", "number > 101", "number > 200", "number > 201"]
    begun = transactions(monkeypatch)
    with Callers(ledger) as callers:
        for where in filters:
            callers.publish(where, entry(ledger, source, where))
    assert callers.outcomes["number > 100"] == callers.outcomes["number > 200"] == ()
    for where, other in (("number > 101", "number > 100"), ("number > 201", "number > 200")):
        refusal = callers.outcomes[where]
        assert isinstance(refusal, ThinDifferenceError)
        assert {pair.published.table for pair in refusal.pairs} == {other}
    assert len(begun) == 1
    assert names(path) == ["number > 100", "number > 200"]


def test_what_was_refused_of_a_group_refuses_nobody(ledger, path, source):
    """The second differs from the first and the third, but was never published."""
    with Callers(ledger) as callers:
        for where in ("number > 100", "number > 103", "number > 109"):
            callers.publish(where, entry(ledger, source, where))
    assert isinstance(callers.outcomes["number > 103"], ThinDifferenceError)
    assert names(path) == ["number > 100", "number > 109"]


def test_a_flag_within_a_group_records_and_tells(ledger, path, source):
    with Callers(ledger) as callers:
        for where in ("number > 100", "number > 101"):
            callers.publish(where, entry(ledger, source, where), policy="flag")
    assert callers.outcomes["number > 100"] == ()
    assert {pair.published.table for pair in callers.outcomes["number > 101"]} == {
        "number > 100"
    }
    assert len(names(path)) == 2
    assert {pair.published.entry for pair in ledger.audit()} == {1}


def test_a_group_is_compared_history_by_history(ledger, path, source):
    with Callers(ledger) as callers:
        first, second = (entry(ledger, source, f"number > {n}") for n in (100, 101))
        callers.publish("public", first)
        callers.publish("apart", second, history="researchers")
        callers.publish("knowing", second, history="office", also=["public"])
        callers.publish("other", second, history="office", also=["guests"])
    assert callers.outcomes["public"] == callers.outcomes["apart"] == ()
    assert isinstance(callers.outcomes["knowing"], ThinDifferenceError)
    assert callers.outcomes["other"] == ()
    assert [p.history for p in list_published(path)] == ["public", "researchers", "office"]


def test_the_same_table_twice_in_a_group_is_recorded_once(ledger, path, source):
    one = entry(ledger, source, "number > 100")
    with Callers(ledger) as callers:
        callers.publish("first", one)
        callers.publish("second", one)
    assert callers.outcomes == {"first": (), "second": ()}
    assert names(path) == ["number > 100"]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_write_that_fails_fails_all_of_its_group(ledger, path, source, monkeypatch, place):
    insert = _Sqlite.insert
    written = []

    def failing(self, row):
        written.append(row)
        if len(written) == place + 1:
            raise LedgerError("The ledger 'ledger.db' cannot be written: the disk is full.")
        return insert(self, row)

    filters = [f"number > {12 * n}" for n in range(3)]
    monkeypatch.setattr(_Sqlite, "insert", failing)
    with Callers(ledger) as callers:
        for where in filters:
            callers.publish(where, entry(ledger, source, where))
    assert set(callers.outcomes) == set(filters)
    for outcome in callers.outcomes.values():
        assert isinstance(outcome, LedgerError)
        assert "disk is full" in str(outcome)
    assert len(set(map(id, callers.outcomes.values()))) == 3  # no shared traceback
    assert names(path) == []
    monkeypatch.undo()
    assert not ledger.check([entry(ledger, source, "number > 1")])  # nor is it in memory
    for where in filters:
        ledger.publish([entry(ledger, source, where)])
    assert names(path) == filters


def test_a_commit_that_fails_answers_nobody(ledger, path, source, monkeypatch):
    run = _Sqlite.run

    def failing(self, sql, values=()):
        if sql == "COMMIT":
            raise LedgerError("The ledger 'ledger.db' cannot be written: the disk is full.")
        return run(self, sql, values)

    monkeypatch.setattr(_Sqlite, "run", failing)
    with Callers(ledger) as callers:
        for n in range(2):
            callers.publish(n, entry(ledger, source, f"number > {12 * n}"))
    monkeypatch.undo()
    assert all(isinstance(outcome, LedgerError) for outcome in callers.outcomes.values())
    assert len(callers.outcomes) == 2
    assert names(path) == []
    assert not ledger.check([entry(ledger, source, "number > 1")])


def test_a_program_that_is_interrupted_answers_none_of_those_who_wait(
    ledger, path, source, monkeypatch
):
    monkeypatch.setattr(_Sqlite, "insert", _interrupted)
    with Callers(ledger) as callers:
        for n in range(3):
            callers.publish(n, entry(ledger, source, f"number > {12 * n}"))
    monkeypatch.undo()
    kinds = sorted(type(outcome).__name__ for outcome in callers.outcomes.values())
    assert kinds == ["KeyboardInterrupt", "LedgerError", "LedgerError"]
    assert names(path) == []
    ledger.publish([entry(ledger, source, "number > 0")])
    assert names(path) == ["number > 0"]


def _interrupted(*_):
    raise KeyboardInterrupt


def test_what_another_program_writes_just_before_is_checked_too(
    ledger, path, source, monkeypatch
):
    """It comes between the look at the ledger and the lock on it."""
    begin = _Sqlite._begin
    with Ledger.open(path, secret=SECRET) as other:

        def late(store):
            if store is ledger._store:
                monkeypatch.setattr(_Sqlite, "_begin", begin)
                other.publish([entry(other, source, "number > 100")])
            begin(store)

        monkeypatch.setattr(_Sqlite, "_begin", late)
        with Callers(ledger) as callers:
            callers.publish("thin", entry(ledger, source, "number > 101"))
            callers.publish("far", entry(ledger, source, "number > 200"))
    assert isinstance(callers.outcomes["thin"], ThinDifferenceError)
    assert callers.outcomes["far"] == ()
    assert names(path) == ["number > 100", "number > 200"]


def test_a_refusal_and_a_repetition_need_no_lock_on_the_file(ledger, path, source, monkeypatch):
    known = entry(ledger, source, "number > 100")
    ledger.publish([known])
    begun = transactions(monkeypatch)
    assert ledger.publish([known]) == ()
    with pytest.raises(ThinDifferenceError):
        ledger.publish([entry(ledger, source, "number > 101")])
    assert not begun
    assert names(path) == ["number > 100"]


def test_a_table_of_known_sets_is_recorded_by_its_definition_alone(ledger, path, source):
    first = entry(ledger, source, "number > 100")
    ledger.publish([first])
    again = entry(ledger, source, "number >= 101")
    assert len(again) == len(first) > 4
    ledger.publish([again])
    assert names(path) == ["number > 100", "number >= 101"]
    with Ledger.open(path, secret=SECRET) as opened:
        opened._writer.refresh()
        sizes = [len(opened._histories.record(number)) for number in (1, 2)]
        assert sizes == [len(first), 0]
        (pair, *_) = opened.check([entry(opened, source, "number > 101")])
        assert pair.published.table == "number > 100"
        assert not list(opened.audit())


def test_what_a_table_shows_by_itself_stays_out_of_an_audit(ledger, path):
    """All but one person are a new set; all of them are not, but shown beside it."""
    people = register()
    people = people.append_column("alone", [[n == 0 for n in range(people.num_rows)]])
    with open_source(people) as source:
        for dimensions in ([], ["alone"]):
            request = Request(dimensions=dimensions)
            (cells,) = cube(source, StoredKeys(column="key"), [request], sketch=ledger.width)
            table = ledger.entry(cells, Definition.of(request, name="t"))
            assert not ledger.publish([table])
    assert len(ledger._histories.record(2).others) == 1
    with Ledger.open(path, secret=SECRET) as opened:
        assert not list(opened.audit())
