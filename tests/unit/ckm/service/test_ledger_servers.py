"""Real servers over one ledger: at once, killed in the middle, and beside batch jobs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from ckm.ledger import Ledger, list_published
from tables import Secret
from tests.unit.ckm.service.conftest import SECRET, write_service
from tests.unit.ckm.service.test_processes import Process
from tests.unit.ckm.service.test_recorder import JOB, LEDGER, alone

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals of POSIX"),
    pytest.mark.slow,
]

ADDRESS = "/tables/jobseekers/data"


@pytest.fixture
def folder(tmp_path):
    write_service(tmp_path, more=LEDGER, persons=3000)
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
    """Return the status of a table of the sexes, or None where nobody answered."""
    options = {"valuecodes[sex]": "*"} | ({} if where is None else {"filter": where})
    try:
        return server.get(ADDRESS, params=options).status_code
    except httpx.HTTPError:
        return None


def recorded(folder):
    return [entry.definition.where for entry in list_published(folder / "ledger.db")]


def batch(folder, where, out):
    (folder / "job.toml").write_text(f'{JOB}where = "{where}"\n')
    command = [sys.executable, "-m", "ckm", "release", str(folder / "job.toml")]
    return subprocess.run(
        [*command, "-o", str(folder / out)], capture_output=True, text=True, check=False
    )


def test_of_tables_that_do_not_go_together_two_servers_at_once_answer_one(folder, start):
    servers = [start(), start()]
    filters = [alone(folder, number) for number in range(8)]
    gate = threading.Barrier(len(filters))

    def work(number):
        gate.wait()
        return ask(servers[number % 2], filters[number])

    with ThreadPoolExecutor(len(filters)) as pool:
        statuses = list(pool.map(work, range(len(filters))))
    assert sorted(statuses) == [200] + [403] * 7
    assert recorded(folder) == [filters[statuses.index(200)]]
    assert [ask(server, filters[statuses.index(200)]) for server in servers] == [200, 200]
    assert len(recorded(folder)) == 1


def test_a_server_notices_at_once_what_a_batch_job_published_beside_it(folder, start):
    server = start()
    assert batch(folder, alone(folder), "out").returncode == 0
    assert ask(server) == 403
    assert ask(server, alone(folder)) == 200  # the very sets that the batch job published
    refused = batch(folder, alone(folder, 1), "second")
    assert refused.returncode == 1, refused.stderr
    assert not (folder / "second").exists()


def test_a_server_that_is_killed_has_recorded_whatever_it_answered(folder, start):
    path = folder / "service.toml"
    path.write_text(path.read_text() + 'policy = "flag"\n')
    server = start()
    filters = [f"zone_2024 <> '{n}' and category <> '{c}'" for n in range(40) for c in "ABCDE"]
    answered, enough = [], threading.Event()

    def work(number):
        for where in filters[number::4]:
            if ask(server, where) == 200:
                answered.append(where)
            if len(answered) >= 20:
                enough.set()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    assert enough.wait(60)
    server.process.send_signal(signal.SIGKILL)
    server.stop()
    for thread in threads:
        thread.join()
    assert 20 <= len(answered) < len(filters)
    assert set(answered) <= set(recorded(folder))
    assert len(recorded(folder)) - len(answered) <= 4  # under way when it died
    with Ledger.open(folder / "ledger.db", secret=Secret(SECRET), create=False) as ledger:
        list(ledger.audit())
    assert ask(start(), answered[-1]) == 200
