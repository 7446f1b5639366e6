"""A receiver over HTTP: what is taken, what is refused, and that nothing is lost between."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import shutil
import socket
import threading
from pathlib import Path

import httpx
import pytest
import uvicorn

from ckm.service.collection import make_receiver_app
from ckm.service.http.connection_limits import limited
from rappor.client.client import encode
from rappor.parameters import Parameters
from rappor.receiver.sending import pack_sending, tokens_of
from rappor.receiver.store import Receiver, period_counts
from tables.secret import Secret

SECRET = Secret(b"a secret for the tests of receivers")
COIN = Parameters(n_bits=12, n_hashes=2, n_cohorts=4, f=0.5, p=0.25, q=0.75)
CLIENTS = Path(__file__).parents[4] / "clients" / "js"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def body(names, period, parameters=COIN, metric="page"):
    reports = encode(
        ["a"] * len(names), names, parameters=parameters, secret=SECRET, metric=metric
    )
    tokens = tokens_of(
        names, secret=SECRET, parameters=parameters, metric=metric, period=period
    )
    return pack_sending(reports, tokens, metric=metric, period=period)


@pytest.fixture
def receiver(tmp_path):
    with Receiver(
        tmp_path / "r", parameters=COIN, metric="page", period="year", most=1000
    ) as takes:
        yield takes


@contextlib.contextmanager
def serving(receiver, **settings):
    app, _ = make_receiver_app(receiver, **settings)
    sock = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(**limited(app), log_config=None, lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        sock.close()


@pytest.fixture
def client(receiver):
    settings = {"origins": ["https://survey.example"], "max_bytes": 100_000}
    with (
        serving(receiver, **settings) as address,
        httpx.Client(base_url=address, timeout=60) as web,
    ):
        yield web


def total(receiver):
    return sum(
        one.total for one in period_counts(receiver._folder, is_unfinished_too=True).values()
    )


def test_reports_are_taken_once_and_a_repeat_is_told(client, receiver):
    told = client.get("/collection").json()
    assert Parameters.from_dict(told["parameters"]) == COIN
    sent = body(["a", "b"], told["period"])
    answer = client.post("/reports", content=sent)
    assert (answer.status_code, answer.json()) == (200, {"accepted": 2, "repeated": 0})
    again = client.post("/reports", content=sent)
    assert (again.status_code, again.json()["type"]) == (
        409,
        "urn:ckm:problem:sending_repeated",
    )
    some = client.post("/reports", content=body(["b", "c"], told["period"]))
    assert some.json() == {"accepted": 1, "repeated": 1}
    assert total(receiver) == 3


def test_bad_sendings_are_refused_counted_and_change_nothing(client, receiver):
    period = receiver.period
    good = body(["a"], period)
    other = Parameters(n_bits=12, n_hashes=2, n_cohorts=4, f=0.25, p=0.25, q=0.75)
    cases = {
        "format": (400, b"junk"),
        "truncated": (400, good[:-1]),
        "parameters": (409, body(["a"], period, parameters=other)),
        "metric": (409, body(["a"], period, metric="site")),
        "period": (409, body(["a"], "1999")),
    }
    for reason, (status, content) in cases.items():
        answer = client.post("/reports", content=content)
        assert answer.status_code == status, reason
        assert answer.json()["type"] == f"urn:ckm:problem:sending_{reason}"
    french = client.post("/reports", content=b"", headers={"Accept-Language": "fr"})
    assert "envoi" in french.json()["detail"]
    assert client.post("/reports", content=bytes(100_001)).status_code == 413
    assert client.get("/reports").status_code == 405
    assert client.get("/other").status_code == 404
    many = client.post("/reports", content=body([f"c{i}" for i in range(1001)], period))
    assert many.json() == {"accepted": 1000, "repeated": 0}
    full = client.post("/reports", content=good)
    assert (full.status_code, full.json()["type"]) == (429, "urn:ckm:problem:sending_full")
    assert total(receiver) == 1000
    figures = client.get("/metrics").text
    for reason in cases:
        assert f'ckm_sendings_refused_total{{reason="{reason}"}}' in figures
    assert 'ckm_reports_total{outcome="accepted"} 1000.0' in figures
    assert 'ckm_reports_total{outcome="beyond"} 2.0' in figures
    assert "cohort" not in figures


def test_pages_of_named_origins_alone_may_send(client, receiver):
    for origin, allowed in (("https://survey.example", True), ("https://other.example", False)):
        answer = client.get("/collection", headers={"Origin": origin})
        assert (answer.headers.get("access-control-allow-origin") == origin) == allowed


def test_logs_name_no_client_and_no_address(client, receiver, caplog):
    with caplog.at_level("INFO"):
        client.post("/reports", content=body(["MARKER"], receiver.period))
        client.post("/reports", content=b"MARKER")
    records = [vars(record) for record in caplog.records if record.name == "ckm.service"]
    assert [record["route"] for record in records] == ["/reports"] * 2
    assert "MARKER" not in str(records)
    assert "127.0.0.1" not in str(records)


def test_a_disk_that_fails_answers_busy_and_what_is_sent_again_counts(client, receiver):
    sent = body(["a"], receiver.period)
    take = receiver.take
    receiver.take = lambda _: (_ for _ in ()).throw(failure())
    assert client.post("/reports", content=sent).status_code == 503
    receiver.take = take
    assert client.post("/reports", content=sent).json()["accepted"] == 1


def failure():
    from rappor.errors import ReportFileError

    return ReportFileError("no disk")


@pytest.mark.slow
def test_a_flood_of_requests_loses_nothing_that_was_acknowledged(receiver):
    with serving(receiver) as address, httpx.Client(base_url=address) as web:
        bodies = [body([f"c{i}"], receiver.period) for i in range(150)]

        def send(content):
            return web.post("/reports", content=content, timeout=60).status_code

        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            statuses = list(pool.map(send, [one for one in bodies for _ in range(2)]))
    assert set(statuses) <= {200, 409, 503}
    assert total(receiver) == statuses.count(200)
    assert statuses.count(200) == 150 or 503 in statuses


@pytest.mark.slow
def test_writing_waits_for_nobody_and_answers_everybody(receiver):
    """Many at once in one loop: all are answered, in few transactions."""
    app, start = make_receiver_app(receiver)
    turns = []
    take = receiver.take
    receiver.take = lambda bodies: turns.append(len(bodies)) or take(bodies)

    async def run():
        start()
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://it") as web:
            sent = [
                web.post("/reports", content=body([f"c{i}"], receiver.period))
                for i in range(200)
            ]
            return await asyncio.gather(*sent)

    answers = asyncio.run(run())
    assert [answer.status_code for answer in answers] == [200] * 200
    assert sum(turns) == 200
    assert len(turns) < 50
    assert total(receiver) == 200


PAGE = """<!doctype html><title>survey</title><script type="module">
import {{ Client, newSecret, sending }} from "/rappor.js";
const {{ parameters, metric, period }} = await (await fetch("{address}/collection")).json();
const told = [];
for (const value of {values}) {{
  const device = new Client(parameters, {{ secret: newSecret(), metric }});
  const bytes = sending(device, device.encode(value), period);
  const post = () => fetch("{address}/reports", {{ method: "POST", body: bytes }});
  told.push((await post()).status);
  if (told.length === 1) told.push((await post()).status);
}}
document.title = told.join(" ");
</script>"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
def test_a_browser_reports_and_the_decoded_page_names_what_it_sent(tmp_path):
    """From clients/js in a real browser over HTTP to a page of `ckm rappor report`."""
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    from click.testing import CliRunner

    from ckm.cli import app

    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

    design = Parameters(n_bits=16, n_hashes=1, n_cohorts=2, f=0.05, p=0.02, q=0.98)
    folder = tmp_path / "r"
    values = ["apple"] * 24 + ["pear"] * 12
    with Receiver(folder, parameters=design, metric="fruit", period="year") as receiver:
        site = tmp_path / "site"
        site.mkdir()
        shutil.copy(CLIENTS / "rappor.js", site)

        class Quiet(SimpleHTTPRequestHandler):
            def __init__(self, *args):
                super().__init__(*args, directory=str(site))

            def log_message(self, *_):
                pass

        pages = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{pages.server_port}"
        with serving(receiver, origins=[origin]) as address, api.sync_playwright() as play:
            (site / "index.html").write_text(PAGE.format(address=address, values=values))
            browser = play.chromium.launch(executable_path=CHROMIUM)
            page = browser.new_page()
            page.goto(origin)
            page.wait_for_function("document.title !== 'survey'", timeout=120_000)
            statuses = page.title().split()
            browser.close()
        pages.shutdown()
        pages.server_close()
    assert statuses == ["200", "409", *["200"] * 35]
    (tmp_path / "fruit.txt").write_text("apple\npear\nplum\n")
    run = CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke
    counts = str(tmp_path / "counts.json")
    early = run(app, ["rappor", "sum", str(folder), "-o", counts])
    assert early.exit_code == 2
    done = run(app, ["rappor", "sum", str(folder), "--unfinished", "-o", counts])
    assert done.exit_code == 0, done.output
    html = str(tmp_path / "fruit.html")
    candidates = str(tmp_path / "fruit.txt")
    done = run(app, ["rappor", "report", counts, "--candidates", candidates, "-o", html])
    assert done.exit_code == 0, done.output
    text = Path(html).read_text()
    for fruit in ("apple", "pear"):
        assert fruit in text
    assert "36" in text  # reports
