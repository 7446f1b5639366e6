"""Work that nobody waits for ends, and gives its place to others."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pyarrow as pa
import pytest
import uvicorn

from ckm.config.service.service import read_service
from ckm.service.answering.cells.cell_cache import Cubes
from ckm.service.answering.messages import ClientError
from ckm.service.answering.render import Rendered, etag_of
from ckm.service.http.request_context import RequestContext
from ckm.service.jobs import Jobs
from ckm.service.process.server import _config, serve_tables
from tables import open_source
from tables.deadline import Deadline
from tables.errors import StoppedError
from tests.unit.ckm.service.conftest import write_service
from tests.unit.ckm.service.process.test_processes import Process

ENDLESS = "SELECT sum(a.range) FROM range(10000000) a, range(10000000) b"
MADE = Rendered(body=b"table", media_type="text/csv", etag=etag_of(b"table"), headers={})


@pytest.fixture
def source():
    with open_source(pa.table({"x": [1]}), threads=1) as opened:
        yield opened


class Scan:
    """A scan without end; it notes when it began and that it was stopped."""

    def __init__(self, source):
        self.source = source
        self.begun, self.stopped = threading.Event(), threading.Event()

    def __call__(self, deadline):
        self.begun.set()
        try:
            self.source.aside(ENDLESS, deadline=deadline)
        except StoppedError:
            self.stopped.set()
            raise


def until(holds, within=20.0):
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


# --- deadlines ----------------------------------------------------------------------------


def test_a_scan_ends_when_it_is_called_off(source):
    deadline = Deadline()
    threading.Timer(0.2, deadline.call_off).start()
    with pytest.raises(StoppedError):
        source.aside(ENDLESS, deadline=deadline)
    assert source.fetch("SELECT 1") == [(1,)]


def test_a_scan_does_not_begin_when_its_time_is_over(source):
    with pytest.raises(StoppedError):
        source.aside("SELECT 1", deadline=Deadline(0.0))


def test_an_interruption_is_repeated_until_it_is_heard():
    deadline = Deadline(0.0)
    heard = []
    with deadline.interrupting(lambda: heard.append(1)):
        until(lambda: len(heard) > 2)
    many = len(heard)
    time.sleep(0.2)
    assert len(heard) == many  # and not once more afterwards


# --- callers ------------------------------------------------------------------------------


def front_of(seconds=30.0, concurrent=1):
    limits = SimpleNamespace(concurrent_requests=concurrent, seconds=seconds)
    return RequestContext(SimpleNamespace(service=SimpleNamespace(limits=limits)))


class Caller:
    """A request whose caller goes after a while, or never."""

    def __init__(self, seconds):
        self.seconds = seconds

    async def receive(self):
        await asyncio.sleep(self.seconds)
        return {"type": "http.disconnect"}


def worked(context, caller, task):
    async def run():
        try:
            return await context.work(caller, task)
        except ClientError as client_error:
            told = client_error.key
        with_time = asyncio.get_running_loop().time() + 20
        while context._workers.borrowed_tokens:  # a place is free when its work has ended
            assert asyncio.get_running_loop().time() < with_time
            await asyncio.sleep(0.02)
        return told

    return asyncio.run(run())


def test_the_scan_of_a_caller_who_has_gone_is_stopped_and_its_place_is_free(source):
    scan = Scan(source)
    assert worked(front_of(), Caller(0.3), scan) == "gone"
    assert scan.stopped.is_set()


@pytest.mark.slow
def test_the_time_of_a_request_stops_its_scan(source):
    scan = Scan(source)
    assert worked(front_of(seconds=0.5), Caller(60), scan) == "too_slow"
    assert scan.stopped.is_set()


def test_a_request_that_never_had_its_turn_is_told_that_the_service_is_busy(source):
    context = front_of(seconds=1.0)
    scan, keys = Scan(source), []

    async def run():
        async def ask(task):
            try:
                keys.append(await context.work(Caller(60), task))
            except ClientError as client_error:
                keys.append(client_error.key)

        first = asyncio.ensure_future(ask(lambda _: time.sleep(1.5)))
        await asyncio.sleep(0.2)
        await asyncio.gather(first, ask(scan))

    asyncio.run(run())
    assert sorted(keys) == ["busy", "too_slow"]
    assert not scan.begun.is_set()


def test_work_in_time_is_answered_and_its_mistakes_are_told():
    def wrong(_):
        raise ClientError("no_weight")

    assert worked(front_of(), Caller(60), lambda _: 17) == 17
    assert worked(front_of(), Caller(60), wrong) == "no_weight"


@pytest.mark.slow
def test_a_request_over_http_that_takes_too_long_is_503(served, monkeypatch):

    from ckm.service.http.app import make_app
    from ckm.service.table_service import TableService
    from tests.unit.ckm.service.conftest import Web

    limits = served.service.limits.changed(seconds=0.3)
    folder = served.table_service.jobs._folder._folder.parent / "slow"
    table_service = TableService(
        served.service.changed(limits=limits), served.answerer, folder=folder
    )
    scan = Scan(served.engine._source)
    monkeypatch.setattr(table_service, "serve", lambda _query, *, deadline, **_: scan(deadline))
    web = Web(make_app(table_service))
    answer = web.get("/tables/jobseekers/data?valuecodes[sex]=*")
    assert answer.status_code == 503
    assert answer.json()["type"] == "urn:ckm:problem:too_slow"
    assert scan.stopped.wait(20)
    monkeypatch.undo()
    assert web.get("/tables/jobseekers/data?valuecodes[sex]=*").status_code == 200
    table_service.close()


def test_who_waits_for_the_cells_of_one_who_has_gone_looks_for_them_alone():
    looked, going = [], threading.Event()

    class Prepared:
        def scan(self, _levels, *, deadline, **_):
            looked.append(deadline)
            if len(looked) == 1:
                going.set()
                until(lambda: deadline.is_over)
                deadline.require()
            return SimpleNamespace(nbytes=1, covers=lambda *_: False)

    cubes = Cubes(Prepared(), max_bytes=0, scans=2, timeout_s=30.0)
    first, told = Deadline(), []
    ask = {"where": frozenset()}

    def one():
        with pytest.raises(StoppedError):
            cubes.find({"sex": 0}, deadline=first, **ask)

    def other():
        told.append(cubes.find({"sex": 0}, **ask))

    threads = [threading.Thread(target=one)]
    threads[0].start()
    assert going.wait(10)
    threads.append(threading.Thread(target=other))
    threads[1].start()
    time.sleep(0.3)
    assert len(looked) == 1
    first.call_off()
    for thread in threads:
        thread.join(20)
    assert len(told) == 1
    assert len(looked) == 2


# --- jobs ---------------------------------------------------------------------------------


@pytest.fixture
def jobs(tmp_path):
    made = Jobs(tmp_path, most=8)
    yield made
    made.close(seconds=0)


def test_a_job_that_is_given_up_in_another_process_stops_its_scan(source, jobs, tmp_path):
    scan = Scan(source)
    job = jobs.submit(scan, owner="me")
    assert scan.begun.wait(10)
    elsewhere = Jobs(tmp_path, most=8)
    elsewhere.cancel(elsewhere.find(job.id, owner="me"))
    assert scan.stopped.wait(10)
    after = jobs.submit(lambda _: MADE, owner="me")
    until(lambda: jobs.find(after.id, owner="me").status == "done")
    assert jobs.find(job.id, owner="me").status == "cancelled"
    elsewhere.close()


def test_a_job_has_its_time(source, tmp_path):
    jobs = Jobs(tmp_path, most=8, seconds=0.3)
    job = jobs.submit(Scan(source), owner="me")
    jobs.close()
    told = jobs.find(job.id, owner="me")
    assert (told.status, told.error) == ("failed", "too_slow")


def test_jobs_are_told_when_the_service_stops(source, tmp_path):
    jobs = Jobs(tmp_path, most=8)
    scan = Scan(source)
    running = jobs.submit(scan, owner="me")
    waiting = jobs.submit(lambda _: MADE, owner="me")
    assert scan.begun.wait(10)
    jobs.close(seconds=0)
    for job in (running, waiting):
        told = jobs.find(job.id, owner="me")
        assert (told.status, told.error) == ("failed", "stopping")


def sized(number):
    body = b"x" * number
    return Rendered(body=body, media_type="text/csv", etag=etag_of(body), headers={})


def test_results_are_bounded_in_bytes_and_the_oldest_go_first(tmp_path):
    jobs = Jobs(tmp_path, most=8, max_bytes=1000)
    made = []
    for size in (400, 400, 400, 1001):
        made.append(jobs.submit(lambda _, size=size: sized(size), owner="me").id)
        until(lambda: jobs.find(made[-1], owner="me").is_final)
    until(lambda: sum(f.stat().st_size for f in tmp_path.glob("*.body")) <= 1000)
    with pytest.raises(ClientError):
        jobs.find(made[0], owner="me")
    kept = [jobs.find(name, owner="me") for name in made[1:]]
    assert [job.status for job in kept] == ["done", "done", "failed"]
    assert kept[-1].error == "too_many_bytes"
    jobs.close()


def test_results_are_kept_for_their_time(tmp_path):
    jobs = Jobs(tmp_path, most=8, max_s=0.5)
    job = jobs.submit(lambda _: MADE, owner="me")
    jobs.close()
    time.sleep(0.6)
    with pytest.raises(ClientError):
        jobs.find(job.id, owner="me")
    assert not list(tmp_path.iterdir())


def test_one_owner_does_not_fill_the_queue(source, tmp_path):
    jobs = Jobs(tmp_path, most=12)
    for _ in range(3):
        jobs.submit(Scan(source), owner="me")
    with pytest.raises(ClientError) as caught:
        jobs.submit(lambda _: MADE, owner="me")
    assert caught.value.key == "busy"
    assert jobs.submit(lambda _: MADE, owner="you").status == "queued"
    jobs.close(seconds=0)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="processes of POSIX")
def test_jobs_of_a_process_that_died_have_failed_and_take_no_room(tmp_path):
    code = (
        "import os, sys; from pathlib import Path\n"
        "from ckm.service.jobs import Job, JobFolder\n"
        "folder = JobFolder(Path(sys.argv[1]), most=2, max_bytes=9, max_s=9)\n"
        "job = Job.new('me'); folder.save(job); print(job.id)"
    )
    run = [sys.executable, "-c", code, str(tmp_path)]
    names = [
        subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    ]
    jobs = Jobs(tmp_path, most=2)
    assert [jobs.find(name, owner="me").status for name in names] == ["failed"] * 2
    assert jobs.submit(lambda _: MADE, owner="me").status == "queued"
    jobs.close()


# --- the end ------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("moment", ["before it listens", "when it is ready"])
def test_a_service_that_is_asked_to_stop_as_it_starts_hears_it(tmp_path, monkeypatch, moment):
    def ask():
        os.kill(os.getpid(), signal.SIGTERM)

    run = uvicorn.Server.run
    if moment == "before it listens":
        monkeypatch.setattr(uvicorn.Server, "run", lambda *a, **k: (ask(), run(*a, **k)))
    again = threading.Timer(20, ask)  # so that one that does not hear it ends as well
    again.start()
    service = read_service(write_service(tmp_path, persons=500))
    told = []
    with socket.create_server(("127.0.0.1", 0)) as sock:
        serve_tables(
            service,
            sock,
            folder=tmp_path,
            ready=lambda: (told.append(1), moment == "when it is ready" and ask()),
        )
    assert again.is_alive()
    again.cancel()
    assert told == [1]


def test_a_rendered_table_is_not_shown_by_its_repr():
    assert "table" not in repr(MADE)


@pytest.mark.parametrize("proxies", [(), ("192.0.2.1",)])
def test_a_forwarded_address_is_believed_of_the_named_proxies_alone(tmp_path, proxies):
    service = read_service(write_service(tmp_path, persons=500))
    service = service.changed(access=service.access.changed(trusted_proxies=proxies))
    config = _config(service, lambda *_: None)
    assert config.proxy_headers == bool(proxies)
    assert not proxies or config.forwarded_allow_ips == [*proxies]


def held(server):
    """Open a connection whose request is never whole."""
    host, port = server.address.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)))
    connection.sendall(
        b"POST /tables/jobseekers/data HTTP/1.1\r\nhost: it\r\ncontent-length: 99\r\n\r\n{"
    )
    return connection


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_request_to_stop_is_heard_at_once(tmp_path, workers, number):
    write_service(tmp_path, persons=1500)
    path = tmp_path / "service.toml"
    text = path.read_text().replace("[service]", f"[service]\nworkers = {workers}")
    path.write_text(text + "[limits]\nseconds = 600.0\n")
    server = Process(path)
    with held(server):
        time.sleep(0.5)
        server.process.send_signal(number)
        time.sleep(1)
        assert server.process.poll() is None  # the request may still come
        server.process.send_signal(number)
        server.process.wait(60)
    server.reader.join(20)
    assert not server.reader.is_alive()  # and no worker is left behind to write to the log
    server.process.stdout.close()
    server.process.stderr.close()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_request_that_never_comes_does_not_hold_the_end_up_for_ever(tmp_path):
    write_service(tmp_path, persons=1500)
    path = tmp_path / "service.toml"
    path.write_text(path.read_text() + "[limits]\nseconds = 1.0\n")
    server = Process(path)
    with held(server) as connection:
        time.sleep(0.2)
        assert server.stop() == 0
        connection.settimeout(5)
        assert connection.recv(100).startswith(b"HTTP/1.1 408")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_workers_that_are_asked_to_stop_by_several_answer_first(tmp_path):
    write_service(tmp_path, persons=1500)
    path = tmp_path / "service.toml"
    path.write_text(path.read_text().replace("[service]", "[service]\nworkers = 2"))
    server = Process(path)
    parent = server.process.pid
    told = subprocess.run(
        ["pgrep", "-P", str(parent)], capture_output=True, text=True, check=True
    )
    workers = [int(line) for line in told.stdout.split()]
    assert len(workers) == 2
    with held(server) as connection:
        time.sleep(0.5)
        for process in (*workers, parent, *workers):  # as systemd does with a whole group
            os.kill(process, signal.SIGTERM)
        time.sleep(1)
        connection.sendall(b" " * 97 + b"}")
        connection.settimeout(20)
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
    assert server.process.wait(60) == 0
    server.reader.join(10)
    server.process.stdout.close()
    server.process.stderr.close()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("workers", [1, 2])
def test_requests_on_their_way_are_answered_before_a_service_ends(tmp_path, workers):
    write_service(tmp_path, persons=500)
    path = tmp_path / "service.toml"
    path.write_text(path.read_text().replace("[service]", f"[service]\nworkers = {workers}"))
    server = Process(path)
    host, port = server.address.removeprefix("http://").split(":")
    outcomes = []

    def ask_until_refused():
        for _ in range(100_000):
            try:
                connection = socket.create_connection((host, int(port)), timeout=20)
            except ConnectionRefusedError:
                return
            with connection:
                try:
                    connection.sendall(b"GET /tables HTTP/1.1\r\nhost: it\r\n\r\n")
                    outcomes.append(connection.recv(12))
                except OSError as error:
                    outcomes.append(error)

    callers = [threading.Thread(target=ask_until_refused) for _ in range(8)]
    for caller in callers:
        caller.start()
    until(lambda: len(outcomes) > 100)
    assert server.stop() == 0
    for caller in callers:
        caller.join(20)
    assert not any(caller.is_alive() for caller in callers)
    # A connection may come in the instant between the last look at the queue and its end.
    lost = [outcome for outcome in outcomes if outcome != b"HTTP/1.1 200"]
    assert len(lost) <= 1, lost
