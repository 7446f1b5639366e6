"""The ledger in PostgreSQL: lost connections, waiting writers, few privileges."""

from __future__ import annotations

import contextlib
import threading
import time

import pytest

from ckm.ledger import Ledger, LedgerError, ThinDifferenceError, list_published
from ckm.ledger.storage.store import has_ledger
from tables import open_source
from tests.unit.ckm.ledger.process import SECRET, entry, register

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")


@pytest.fixture(scope="module")
def source():
    with open_source(register(), threads=1) as opened:
        yield opened


@pytest.fixture
def admin(postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


def opened(url, **options):
    return contextlib.closing(Ledger.open(url, secret=SECRET, **options))


def end_others(admin):
    """End every other session of the database."""
    admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )


def names(url):
    return [one.definition.name for one in list_published(url)]


def test_a_connection_that_is_lost_is_opened_again(postgres_url, admin, source):
    with opened(postgres_url) as ledger:
        ledger.publish([entry(ledger, source, "number > 0")])
        end_others(admin)
        assert ledger.is_known(entry(ledger, source, "number > 0").definition)
        end_others(admin)
        with pytest.raises(ThinDifferenceError):
            ledger.publish([entry(ledger, source, "number > 1")])
        end_others(admin)
        ledger.publish([entry(ledger, source, "number > 100")])
    assert names(postgres_url) == ["number > 0", "number > 100"]


def test_a_connection_that_is_lost_while_it_writes_records_nothing(
    postgres_url, admin, source, monkeypatch
):
    with opened(postgres_url) as ledger:
        insert = ledger._store.insert

        def lose(row):
            number = insert(row)
            end_others(admin)
            return number

        monkeypatch.setattr(ledger._store, "insert", lose)
        with pytest.raises(LedgerError, match="cannot be used"):
            ledger.publish([entry(ledger, source, "number > 0")])
        assert names(postgres_url) == []
        monkeypatch.undo()
        ledger.publish([entry(ledger, source, "number > 1")])
    assert names(postgres_url) == ["number > 1"]


@pytest.mark.parametrize("level", ["read committed", "repeatable read", "serializable"])
def test_who_waited_for_another_writer_sees_what_that_one_wrote(
    postgres_url, admin, source, level
):
    """Whatever the isolation that the database has by default."""
    name = admin.execute("SELECT current_database()").fetchone()[0]
    admin.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'")
    outcome = []
    with opened(postgres_url) as first, opened(postgres_url) as second:
        mine, theirs = (
            entry(first, source, "number > 0"),
            entry(second, source, "number > 1"),
        )

        def publish():
            try:
                outcome.append(second.publish([theirs]))
            except ThinDifferenceError as refusal:
                outcome.append(refusal)

        waiting = threading.Thread(target=publish)
        with first._store.writing():
            waiting.start()
            while not admin.execute(
                "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            ).fetchall():
                assert waiting.is_alive()
                time.sleep(0.01)
            rows = first._histories.chained(first._submission([mine], "public", ()).rows)
            first._store.insert(rows[0])
            first._histories.write_head(rows, {})
        waiting.join()
    assert isinstance(outcome[0], ThinDifferenceError)
    assert names(postgres_url) == ["number > 0"]


def test_who_waits_too_long_for_another_writer_is_told_so(postgres_url, source):
    with opened(postgres_url) as first, opened(postgres_url, timeout_s=0.1) as second:
        with first._store.writing(), pytest.raises(LedgerError, match="busy"):
            second.publish([entry(second, source, "number > 0")])
        second.publish([entry(second, source, "number > 0")])


@pytest.mark.slow
def test_a_server_needs_no_more_than_to_read_to_add_and_to_move_the_head(
    postgres_url, admin, source
):
    with opened(postgres_url):
        pass
    role = f"server_{admin.info.dbname}"
    admin.execute(f"CREATE ROLE {role} LOGIN")
    admin.execute(f"GRANT SELECT, INSERT ON ckm_ledger, ckm_ledger_entry TO {role}")
    admin.execute(f"GRANT UPDATE ON ckm_ledger TO {role}")
    url = postgres_url.replace("ckm@", f"{role}@")
    with opened(url) as ledger:
        ledger.publish([entry(ledger, source, "number > 0")])
    assert names(url) == ["number > 0"]
    with (
        psycopg.connect(url, autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("DELETE FROM ckm_ledger_entry")


def test_an_entry_that_was_deleted_in_the_database_is_missed(postgres_url, admin, source):
    with opened(postgres_url) as ledger:
        for where in ("number > 0", "number > 100", "number > 200"):
            ledger.publish([entry(ledger, source, where)], policy="flag")
    admin.execute("DELETE FROM ckm_ledger_entry WHERE number = 2")
    with opened(postgres_url) as ledger, pytest.raises(LedgerError, match="entry 2 is missing"):
        ledger.publish([entry(ledger, source, "number > 300")], policy="flag")


def test_looking_for_a_ledger_makes_none(postgres_url, admin):
    assert not has_ledger(postgres_url)
    for look in (
        lambda: list(list_published(postgres_url)),
        lambda: Ledger.open(postgres_url, secret=SECRET, create=False),
    ):
        with pytest.raises(LedgerError, match="There is no ledger"):
            look()
    assert admin.execute("SELECT to_regclass('ckm_ledger')").fetchone() == (None,)
    with opened(postgres_url):
        assert has_ledger(postgres_url)


def test_a_database_that_is_not_there_is_told_without_its_address(tmp_path):
    with pytest.raises(LedgerError) as caught:
        Ledger.open(f"postgresql://someone@/none?host={tmp_path}", secret=SECRET)
    told = str(caught.value) + repr(caught.value) + repr(caught.value.__cause__)
    assert "cannot be used" in told
    assert str(tmp_path) not in told
    assert "someone" not in told
