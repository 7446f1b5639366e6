"""Servers over one database: sessions, budgets and accounts of projects are theirs together."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ckm.config.service.sections import ServiceLedger
from ckm.config.service.service import read_service
from ckm.ledger import Ledger, LedgerError
from ckm.ledger.storage.store import open_store
from ckm.service.access import rate_limits, sessions
from ckm.service.access.projects import Projects
from ckm.service.access.rate_limits import Rates
from ckm.service.access.sessions import LASTS_S, Sessions
from ckm.service.access.tokens import TokenFile
from ckm.service.answering.messages import ClientError
from ckm.service.http.app import make_app
from ckm.service.table_service import TableService
from tables import Secret
from tests.unit.ckm.service.access.test_projects import a_set, most
from tests.unit.ckm.service.conftest import RULES, SECRET, write_service
from tests.unit.ckm.service.page.test_sign_in import TABLE, Browser, said

DATA = "/tables/jobseekers/data?valuecodes[sex]=*"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def target(request, tmp_path):
    """Make a ledger, and return where it is kept."""
    if request.param == "sqlite":
        place = str(tmp_path / "ledger.db")
    else:
        pytest.importorskip("psycopg", reason="psycopg is not installed")
        place = request.getfixturevalue("postgres_url")
    Ledger.open(place, secret=Secret(SECRET)).close()
    return place


@pytest.fixture
def shared(target):
    """Connect as a server does, as often as is wanted."""
    with contextlib.ExitStack() as stack:

        def make():
            store = open_store(target, create=False, timeout_s=30, is_quick=True)
            return stack.enter_context(contextlib.closing(store))

        yield make


@pytest.fixture
def server(served, target, tmp_path):
    """Start servers of one service, each with a folder of its own."""
    file = TokenFile(tmp_path / "tokens.json")
    token = file.add(role="researcher", label="A. Lovelace", requests_per_hour=7)
    place = {"url": target} if "://" in target else {"path": target}
    service = served.service.changed(
        access=served.service.access.changed(tokens=file.path),
        ledger=ServiceLedger.model_construct(**place),
    )
    started = []

    def make():
        folder = tmp_path / f"server {len(started)}"
        started.append(TableService(service, served.answerer, folder=folder))
        return make_app(started[-1])

    make.token, make.started, make.file = token, started, file
    yield make
    for one in started:
        one.close()


def test_who_signed_in_on_one_server_is_signed_in_on_the_other_and_signs_out_of_both(server):
    here, there = Browser(server()), Browser(server())
    here.sign_in(server.token)
    there.cookies = dict(here.cookies)
    assert "Signed in as researcher. 6 of 7 requests are left" in said(there.get(TABLE))
    assert "5 of 7 requests are left" in said(here.get(TABLE))
    started = server.started[:]
    for one in started:  # a restart of both ends no session and gives no request back
        one.close()
    server.started.clear()
    here.web.app, there.web.app = server(), server()
    assert "4 of 7 requests are left" in said(there.get(TABLE))
    form = there.form(TABLE)
    assert there.send("/sign-out", {"proof": form["proof"]}).status_code == 303
    assert "Signed in" not in said(here.get(TABLE))


def test_a_revoked_token_has_no_session_anywhere(server):
    here, there = Browser(server()), Browser(server())
    here.sign_in(server.token)
    there.cookies = dict(here.cookies)
    assert server.file.revoke(server.token.split("_")[1])
    assert "Signed in" not in said(there.get(TABLE))


def test_a_budget_is_spent_on_all_servers_at_once(server):
    browsers = [Browser(server()), Browser(server())]
    caller = server.started[0].verify(server.token, address="203.0.113.9")
    with ThreadPoolExecutor(8) as pool:
        asked = pool.map(lambda n: server.started[n % 2].budget(caller).is_allowed, range(20))
    assert sum(asked) == 7
    headers = {"Authorization": f"Bearer {server.token}"}
    assert [one.get(DATA, headers=headers).status_code for one in browsers] == [429, 429]


def test_connections_that_count_at_once_allow_what_there_is_and_no_more(shared):
    counts = [Rates(shared()) for _ in range(4)]
    gate = threading.Barrier(4)

    def take(rates):
        gate.wait()
        return sum(rates.take("a", limit=50).is_allowed for _ in range(25))

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(take, counts)) == 50
    assert counts[0].take("a", limit=50, cost=0).remaining == 0


def test_what_a_project_got_of_one_server_no_other_gives_beside_more(shared):
    one, two = Projects(shared(), service="s"), Projects(shared(), service="s")
    gate = threading.Barrier(2)

    def take(projects, first):
        gate.wait()
        wanted = [[a_set(first + n)] for n in range(10)]
        return sum(projects.take("a", asked, judge=most(6)) for asked in wanted)

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(take, (one, two), (0, 100))) == 6
    assert not Projects(shared(), service="s").take("a", [a_set(999)], judge=most(6))
    assert Projects(shared(), service="other").take("a", [a_set(999)], judge=most(6))


def test_clocks_of_servers_that_differ_a_little_give_no_request_twice(shared):
    early, late = (
        Rates(shared(), clock=lambda: 1e9),
        Rates(shared(), clock=lambda: 1e9 + rate_limits._SKEW_S - 1),
    )
    assert late.take("a", limit=2).remaining == 1
    assert early.take("a", limit=2).remaining == 0
    assert not late.take("a", limit=2).is_allowed


def test_a_server_whose_clock_is_hours_ahead_ends_no_session_of_the_others(shared):
    there = Sessions(shared(), clock=lambda: 1e9)
    ahead = Sessions(shared(), clock=lambda: 1e9 + LASTS_S + 3600)
    name, later = there.open("a"), ahead.open("b")
    assert (ahead.token_id(name), there.token_id(name)) == (None, "a")
    assert there.token_id(later) == "b"


def columns(store, table, wanted):
    return store.fetch(f"SELECT {wanted} FROM {table}")


def test_who_writes_into_the_database_makes_no_session_and_prolongs_none(shared):
    """Without the secret: rows made up, copied, prolonged or given to another token."""
    now, store = [1e9], shared()
    kept = Sessions(store, key=b"k" * 32, clock=lambda: now[0])
    other = Sessions(shared(), key=b"j" * 32, clock=lambda: now[0])
    name = kept.open("low")
    assert other.token_id(name) is None  # another service, or a server with another secret
    other.close(name)
    assert kept.token_id(name) == "low"
    ((digest, seal),) = columns(store, "ckm_session", "name, seal")
    forged = sessions.new_name()
    for made in (Sessions(shared(), clock=lambda: now[0]).open("high"), forged, digest, ""):
        assert kept.token_id(made) is None
    store.run(
        "INSERT INTO ckm_session (name, token, until, seal) VALUES (?, ?, ?, ?)",
        (kept._digest("name", forged), "low", int(1e9) + LASTS_S, seal),
    )
    assert kept.token_id(forged) is None
    for change in ("token = 'high'", f"until = until + {LASTS_S}", "seal = 'é'", "seal = ''"):
        rows = columns(store, "ckm_session", "token, until, seal")
        store.run(f"UPDATE ckm_session SET {change} WHERE name = ?", (digest,))
        assert kept.token_id(name) is None
        token, until, seal = next(row for row in rows if row[0] == "low")
        store.run(
            "UPDATE ckm_session SET token = ?, until = ?, seal = ? WHERE name = ?",
            (token, until, seal, digest),
        )
        assert kept.token_id(name) == "low"
    now[0] += LASTS_S
    assert kept.token_id(name) is None


def test_the_database_tells_neither_names_of_sessions_nor_addresses(shared):
    store = shared()
    name = Sessions(store, key=b"k" * 32).open("low")
    Rates(store, key=b"k" * 32).take("address 203.0.113.9", limit=5)
    kept = columns(store, "ckm_session", "*") + columns(store, "ckm_used", "*")
    assert len(kept) == 2
    assert name not in repr(kept)
    assert "203.0.113.9" not in repr(kept)


def test_of_a_session_that_is_closed_and_used_at_once_nothing_is_left(shared):
    one, two = Sessions(shared()), Sessions(shared())
    names = [one.open("a") for _ in range(20)]
    with ThreadPoolExecutor(2) as pool:
        seen = pool.map(two.token_id, names)
        list(pool.map(one.close, names))
    assert set(seen) <= {"a", None}
    assert {two.token_id(name) for name in names} == {None}


def test_while_the_ledger_is_written_for_long_nobody_is_answered_and_nothing_is_lost(
    tmp_path, monkeypatch
):
    path = tmp_path / "ledger.db"
    Ledger.open(path, secret=Secret(SECRET)).close()
    store = open_store(path, create=False, timeout_s=0.05, is_quick=True)
    rates, kept = Rates(store), Sessions(store)
    name = kept.open("a")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        for task in (lambda: rates.take("a", limit=5), lambda: kept.open("b")):
            with pytest.raises(ClientError) as caught:
                task()
            assert caught.value.status == 503
        assert kept.token_id(name) == "a"  # reading waits for nobody
    assert rates.take("a", limit=5).remaining == 4
    store.close()
    with pytest.raises(ClientError):
        kept.token_id(name)


def test_a_ledger_that_is_replaced_under_its_users_is_written_no_more(tmp_path):
    path = tmp_path / "ledger.db"
    with Ledger.open(path, secret=Secret(SECRET)) as ledger:
        path.rename(tmp_path / "old.db")
        Ledger.open(path, secret=Secret(SECRET)).close()
        with pytest.raises(LedgerError, match="replaced"), ledger._store.writing():
            pass


def test_a_second_connection_leaves_the_first_its_locks(tmp_path):
    """Else another process takes itself for the last and deletes what was written last."""
    path = tmp_path / "ledger.db"
    with Ledger.open(path, secret=Secret(SECRET)):
        store = open_store(path, create=False, is_quick=True)
        code = (
            "import sqlite3, sys; other = sqlite3.connect(sys.argv[1])\n"
            "other.execute('SELECT * FROM ckm_ledger').fetchall(); other.close()"
        )
        subprocess.run([sys.executable, "-c", code, path], check=True)
        assert path.with_name("ledger.db-wal").exists()
        store.close()


def test_a_ledger_keeps_account_of_projects_and_a_file_of_old_is_read(tmp_path):
    access = '[access]\nfilters = "researcher"\ntokens = "t"\n'
    ledger = '[ledger]\npath = "ledger.db"\nofficial = ["job.toml"]\n'
    (tmp_path / "job.toml").write_text("schema = 2")
    file = write_service(tmp_path, more=RULES + access + ledger, persons=50)
    with pytest.raises(ValueError, match="job") as caught:
        read_service(file)
    assert "no account is kept" not in str(caught.value)
    old = tmp_path / "projects.sqlite"
    with contextlib.closing(sqlite3.connect(old)) as made:
        made.executescript(
            "PRAGMA application_id = 1129008464;"
            "CREATE TABLE asked (project TEXT NOT NULL, number INTEGER PRIMARY KEY, told TEXT);"
        )
        made.execute("INSERT INTO asked VALUES ('a', 7, ?)", (a_set(1).to_text(),))
        made.commit()
    for _ in range(2):  # as often as it is opened
        kept = Projects(old)
        assert kept.take("a", [a_set(1)], judge=most(0))
        assert not kept.take("a", [a_set(2)], judge=most(1))
        kept.close()
