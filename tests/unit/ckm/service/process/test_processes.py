"""Real processes: the batch job and two servers, before and after a restart, and their end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pyarrow.parquet as pq
import pytest
from lxml import html

from ckm.service.process.workers import _SOON_S
from tests.unit.ckm.service.answering.test_ledger_recorder import ACCEPTED
from tests.unit.ckm.service.conftest import RULES, cells_of, write_service

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

DATA = "/tables/jobseekers/data"
QUERY = (
    "codelist[geo]=geo.department&valuecodes[geo]=*&valuecodes[sex]=*&valuecodes[category]=*"
)

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[hierarchies]
territory = ["region", "department"]
[categories]
sex = ["F", "M"]
category = ["A", "B", "C", "D", "E"]
[[table]]
name = "everything"
dimensions = ["territory", "sex", "category"]
"""


class Process:
    """A server process; its log is kept."""

    def __init__(self, path, *options):
        command = [sys.executable, "-m", "ckm", "serve", str(path), "--port", "0", *options]
        command += ["--log-format", "json"]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.log = []
        self.address = None
        for line in self.process.stderr:
            self.log.append(line)
            event = json.loads(line)
            if event["event"] == "serving":
                self.address = event["message"].rpartition(" ")[2]
                break
        assert self.address, "".join(self.log)
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
        self.reader.start()

    def get(self, path, **options):
        return httpx.get(self.address + path, timeout=60, **options)

    def post(self, path, **options):
        return httpx.post(self.address + path, timeout=60, **options)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.reader.join(10)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


@pytest.fixture
def folder(tmp_path):
    write_service(tmp_path, more=RULES + ACCEPTED, persons=4000)
    return tmp_path


@pytest.fixture
def start(folder):
    started = []

    def make(*options, path=None):
        started.append(Process(path or folder / "service.toml", *options))
        return started[-1]

    yield make
    for process in started:
        if process.process.poll() is None:
            process.stop()


def released(folder):
    """Release the table in a process of its own; return codes → number."""
    (folder / "job.toml").write_text(JOB)
    command = [sys.executable, "-m", "ckm", "release", "job.toml", "-o", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(folder / "out" / "public" / "everything.parquet").to_pylist()
    return {
        (row["region"], row["sex"], row["category"]): row["count"]
        for row in rows
        if row["department"] == "Total"
    }


SELECTED = {"sex": ["F", "M"], "category": list("ABCDE")}


def by_address(server):
    chosen = "".join(f"&valuecodes[{name}]={','.join(c)}" for name, c in SELECTED.items())
    return cells_of(server.get(f"{DATA}?codelist[geo]=geo.region&valuecodes[geo]=*{chosen}"))


def by_body(server):
    criteria = [{"variableCode": name, "valueCodes": codes} for name, codes in SELECTED.items()]
    area = {"variableCode": "geo", "valueCodes": ["*"], "codelist": "geo.region"}
    body = {"selection": [*criteria, area], "placement": {"stub": ["geo", "sex"]}}
    return cells_of(server.post(DATA, json=body))


def by_request(server):
    listed = server.get("/codelists/geo.region").json()["values"]
    select = {"geo": [value["code"] for value in listed], **SELECTED}
    body = {"dimensions": ["geo", "sex", "category"], "select": select}
    return cells_of(server.post("/requests", json=body))


def by_job(server):
    body = {"dimensions": ["geo", "sex", "category"], "wait": False}
    place = server.post("/requests", json=body).headers["location"]
    while server.get(place).json()["status"] in {"queued", "running"}:
        time.sleep(0.02)
    found = cells_of(server.get(f"{place}/result"))
    return {
        (area, sex, category, measure): number
        for (area, sex, category, measure), number in found.items()
        if "/" not in area and "Total" not in {area, sex, category}
    }


def by_page(server):
    chosen = "&codelist[sex]=sex.categories&codelist[category]=category.categories"
    tree = html.document_fromstring(
        server.get(f"/?codelist[geo]=geo.region{chosen}&heading=category").text
    )
    codes = {"Women": "F", "Men": "M"}
    heads = [head.text_content() for head in tree.xpath("//table/thead//th")]
    found = {}
    for row in tree.xpath("//table/tbody/tr"):
        area, sex = (head.text_content() for head in row.xpath("./th"))
        for category, number in zip(heads[2:], row.xpath("./td/@data-n"), strict=True):
            found[area, codes[sex], category, "count"] = int(number)
    return found


ROUTES = (by_address, by_body, by_request, by_job, by_page)


@pytest.mark.slow
def test_a_cell_is_the_same_number_by_every_route_before_and_after_a_restart(folder, start):
    """The batch job, and two servers at once that come upon their cells in opposite orders."""
    wanted = released(folder)

    def ask(server, routes):
        return [route(server) for route in routes]

    def ask_both(servers):
        with ThreadPoolExecutor(2) as pool:
            asked = pool.map(ask, servers, (ROUTES, ROUTES[::-1]))
            return [found for answers in asked for found in answers]

    one, two = start(), start()
    answers = ask_both((one, two))
    assert one.stop() == 0
    again = start()
    again.get(f"{DATA}?filter=sex = 'F'&valuecodes[geo]=*")
    answers += ask_both((two, again))
    assert len(answers) == 4 * len(ROUTES)
    for found in answers:
        assert found == answers[0]
    assert len(answers[0]) > 80
    for (area, sex, category, _), number in answers[0].items():
        assert wanted.get((area, sex, category), 0) == number
    assert sum(answers[0].values()) > 1000


@pytest.mark.slow
def test_a_server_that_is_asked_to_stop_answers_what_it_was_asked(start):
    server = start()
    host, port = server.address.removeprefix("http://").split(":")
    url = "/tables/jobseekers/data?valuecodes[geo]=*&valuecodes[sex]=*&outputformat=xlsx"
    connections = [socket.create_connection((host, int(port))) for _ in range(4)]
    for connection in connections:
        connection.sendall(f"GET {url} HTTP/1.1\r\nhost: it\r\n\r\n".encode())
    time.sleep(0.3)
    assert server.stop() == 0
    for connection in connections:
        with connection:
            assert connection.recv(100).startswith(b"HTTP/1.1 200 OK")
    assert json.loads(server.log[-1])["event"] == "stopped"


@pytest.mark.slow
def test_several_workers_give_one_service(folder, start):
    text = (folder / "service.toml").read_text()
    (folder / "many.toml").write_text(text.replace("[service]", "[service]\nworkers = 2"))
    server = start(path=folder / "many.toml")
    answers = {server.get(f"/tables/jobseekers/data?{QUERY}").text for _ in range(8)}
    assert len(answers) == 1
    asked = httpx.post(
        server.address + "/requests", json={"dimensions": ["sex"], "wait": False}, timeout=60
    )
    for _ in range(200):
        told = server.get(asked.headers["location"])
        if told.json()["status"] == "done":
            break
        time.sleep(0.05)
    assert told.json()["status"] == "done"
    assert server.stop() == 0


@pytest.mark.slow
def test_the_figures_of_several_workers_are_one_total_and_nothing_of_them_stays(
    folder, start, monkeypatch
):
    temporary = folder / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    text = (folder / "service.toml").read_text()
    (folder / "many.toml").write_text(text.replace("[service]", "[service]\nworkers = 3"))
    server = start(path=folder / "many.toml")
    with ThreadPoolExecutor(6) as pool:  # of several connections, so that all are asked
        list(pool.map(lambda _: server.get(f"{DATA}?{QUERY}"), range(24)))

    def figures():
        found = re.findall(
            r"^(ckm_\w+(?:\{.*\})?) ([0-9.e+]+)$", server.get("/metrics").text, re.MULTILINE
        )
        return {name: float(number) for name, number in found}

    def tables(told):
        return sum(n for name, n in told.items() if name.startswith("ckm_tables_total"))

    looks = [figures() for _ in range(9)]
    assert [tables(told) for told in looks] == [24] * 9
    asked = [
        sum(n for name, n in told.items() if name.startswith("ckm_requests_total"))
        for told in looks
    ]
    assert asked == list(range(24, 33))
    assert len({told["ckm_start_time_seconds"] for told in looks}) == 1
    shared = next(temporary.glob("ckm-service-*/figures"))
    assert shared.stat().st_mode & 0o777 == 0o700
    names = b"".join(path.read_bytes() for path in shared.iterdir())
    assert b"ckm_tables_total" in names
    people = pq.read_table(folder / "people.parquet")
    for name in ("commune", "person_id"):
        assert not any(str(t).encode() in names for t in set(people[name].to_pylist()))
    # A worker that ends keeps its counts, and leaves no memory in the sums of this moment.
    (victim,) = {int(p.stem.rpartition("_")[2]) for p in shared.glob("gauge_livesum_*")} - {
        int(p.stem.rpartition("_")[2]) for p in list(shared.glob("gauge_livesum_*"))[1:]
    }
    time.sleep(_SOON_S)  # one that dies sooner counts as one that does not start
    os.kill(victim, signal.SIGKILL)
    while list(shared.glob(f"gauge_live*_{victim}.db")):
        time.sleep(0.05)
    assert tables(figures()) == 24
    assert server.stop() == 0
    assert not list(temporary.glob("ckm-service-*"))


@pytest.mark.slow
def test_a_service_with_a_secret_that_others_can_read_does_not_start(folder):
    (folder / "secret.key").chmod(0o644)
    done = subprocess.run(
        [sys.executable, "-m", "ckm", "serve", str(folder / "service.toml"), "--port", "0"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "chmod 600" in done.stderr
