"""Real servers over one ledger: at once, killed in the middle, and beside batch jobs."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.ledger import Ledger, list_published
from tables import Secret
from tests.unit.ckm.service.answering.test_ledger_recorder import ACCEPTED, JOB, LEDGER, alone
from tests.unit.ckm.service.conftest import SECRET, write_service
from tests.unit.ckm.service.process.test_processes import Process

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals of POSIX"),
    pytest.mark.slow,
]

#: A table of the office that no filter of these tests comes near.
PLANNED = JOB.replace('"batch"', '"planned"').replace(
    '["sex", "category"]', '["zone_2024"]\nmargins = "none"'
)
ADDRESS = "/tables/jobseekers/data"
CLIENTS = 6


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request, tmp_path):
    """Return where the ledger is kept."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    return request.getfixturevalue("postgres_url")


def kept_at(target, text):
    """Return the text of a job or a service with its ledger somewhere else."""
    word = "url" if "://" in target else "path"
    assert text.count('path = "ledger.db"') == 1
    return text.replace('path = "ledger.db"', f'{word} = "{target}"')


@pytest.fixture
def folder(tmp_path, target):
    declared = LEDGER.replace("official = []", 'official = ["planned.toml"]')
    more = ACCEPTED + kept_at(target, declared)
    (tmp_path / "planned.toml").write_text(kept_at(target, PLANNED))
    write_service(tmp_path, more=more, persons=3000)
    return tmp_path


@pytest.fixture
def start(folder):
    started = []

    def make(*options):
        started.append(Process(folder / "service.toml", *options))
        return started[-1]

    yield make
    for process in started:
        if process.process.poll() is None:
            process.stop()


def ask(server, where=None):
    """Return the status of a table of the sexes."""
    options = {"valuecodes[sex]": "*"} | ({} if where is None else {"filter": where})
    return server.get(ADDRESS, params=options).status_code


def recorded(target):
    entries = [entry.definition for entry in list_published(target)]
    return [definition.where for definition in entries if definition.name != "planned"]


def batch(folder, target, where, out):
    (folder / "job.toml").write_text(f'{kept_at(target, JOB)}where = "{where}"\n')
    words = ["release", str(folder / "job.toml"), "-o", str(folder / out)]
    return CliRunner().invoke(app, words)


def test_of_tables_that_do_not_go_together_two_servers_at_once_answer_one(
    folder, target, start
):
    servers = [start(), start()]
    filters = [alone(folder, number) for number in range(8)]
    gate = threading.Barrier(len(filters))

    def work(number):
        gate.wait()
        return ask(servers[number % 2], filters[number])

    with ThreadPoolExecutor(len(filters)) as pool:
        statuses = list(pool.map(work, range(len(filters))))
    assert sorted(statuses) == [200] + [403] * 7
    assert recorded(target) == [filters[statuses.index(200)]]
    assert [ask(server, filters[statuses.index(200)]) for server in servers] == [200, 200]
    assert len(recorded(target)) == 1


def test_a_server_notices_at_once_what_a_batch_job_published_beside_it(folder, target, start):
    server = start()
    assert batch(folder, target, alone(folder), "out").exit_code == 0
    assert ask(server) == 403
    assert ask(server, alone(folder)) == 200  # the very sets that the batch job published
    refused = batch(folder, target, alone(folder, 1), "second")
    assert refused.exit_code == 1, refused.stderr
    assert not (folder / "second").exists()


FILTERS = [f"zone_2024 <> '{n}' and category <> '{c}'" for n in range(60) for c in "ABCDE"]


class Load:
    """Clients that ask for one new table after the other until they get no answer."""

    def __init__(self, server, filters):
        self.answered, self.lost, self.statuses = {}, [], Counter()
        self._enough = threading.Event()
        self._most = 0
        self._threads = [
            threading.Thread(target=self._ask, args=(server.address, filters[n::CLIENTS]))
            for n in range(CLIENTS)
        ]
        for thread in self._threads:
            thread.start()

    def _ask(self, address, filters):
        with httpx.Client(base_url=address, timeout=60) as web:
            for where in filters:
                try:
                    answer = web.get(ADDRESS, params={"valuecodes[sex]": "*", "filter": where})
                except httpx.HTTPError:
                    self.lost.append(where)
                    return
                self.statuses[answer.status_code] += 1
                if answer.status_code == 200:
                    self.answered[where] = answer.json()["value"]
                if len(self.answered) >= self._most > 0:
                    self._enough.set()

    def wait_for(self, number):
        self._most = number
        assert self._enough.wait(60)

    def join(self):
        for thread in self._threads:
            thread.join()


def values(server, where):
    answer = server.get(ADDRESS, params={"valuecodes[sex]": "*", "filter": where})
    return answer.json()["value"]


def test_a_server_that_is_killed_has_recorded_whatever_it_answered(folder, target, start):
    """Under load, and more than once: each server goes on where the last one was killed."""
    path = folder / "service.toml"
    path.write_text(path.read_text() + 'policy = "flag"\n')
    left, answered, lost = FILTERS, {}, []
    for number in (4, 25):
        server = start()
        load = Load(server, left)
        load.wait_for(number)
        server.process.send_signal(signal.SIGKILL)
        server.stop()
        load.join()
        assert set(load.statuses) == {200}
        assert len(load.lost) == CLIENTS  # all of them were being answered
        answered |= load.answered
        lost += load.lost
        assert set(answered) <= set(recorded(target)) <= {*answered, *lost}
        left = [where for where in left if where not in answered and where not in lost]
    assert len(answered) >= 29
    assert len(recorded(target)) == len(set(recorded(target)))
    with Ledger.open(target, secret=Secret(SECRET), create=False) as ledger:
        list(ledger.audit())  # every entry can be read
    before, server = recorded(target), start()
    for where in list(answered)[::5]:
        assert values(server, where) == answered[where]
    assert recorded(target) == before


def children(process):
    pid = process.process.pid
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    if not listed.exists():
        pytest.skip("the system does not list the children of a process")
    return [int(number) for number in listed.read_text().split()]


@pytest.mark.parametrize("target", ["sqlite"], indirect=True)
def test_workers_that_are_killed_are_replaced_and_end_with_a_service_that_is_killed(
    folder, target, start
):
    path = folder / "service.toml"
    text = path.read_text().replace("[service]", "[service]\nworkers = 2")
    path.write_text(text + 'policy = "flag"\n')
    server, began = start(), time.monotonic()
    workers = children(server)
    assert len(workers) == 2
    time.sleep(max(0.0, began + 5.5 - time.monotonic()))  # one that never lived is not replaced
    load = Load(server, FILTERS)
    load.wait_for(10)
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    load.join()
    assert 0 < len(load.lost) <= CLIENTS  # who was idle comes again on a new connection
    assert set(load.statuses) == {200}
    assert set(load.answered) <= set(recorded(target)) <= {*load.answered, *load.lost}
    assert ask(server) == 200
    assert len(set(children(server)) - set(workers)) == 2
    server.process.send_signal(signal.SIGKILL)
    server.stop()  # waits until nobody holds the log any more: the workers have ended
    port = server.address.rpartition(":")[2]
    again = start("--port", port)
    assert again.address == server.address
    for where in list(load.answered)[:5]:
        assert values(again, where) == load.answered[where]
