"""Connections: heads, bodies and readers that are too slow, and too many at once."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time

import pytest
import uvicorn

from ckm.service.http.app import make_app
from ckm.service.http.connection_limits import limited
from ckm.service.http.middleware import RequestLimits
from ckm.service.metrics import Metrics

BIG = b"x" * 30_000_000


async def app(scope, receive, send):
    """Answer before the body is read; a large body at one address."""
    body = BIG if scope["path"] == "/big" else b"fine"
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def serve():
    """Start servers with bounds; return their address."""
    running = []

    def start(app=app, **bounds):
        sock = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(
            **limited(app, **bounds), log_config=None, lifespan="off", ws="none"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        running.append((server, thread))
        return server, sock.getsockname()

    yield start
    for server, thread in running:
        server.should_exit = server.force_exit = True
        thread.join(20)
        assert not thread.is_alive()


def ended(connection, *, send=b"", every=0.1, within=10.0):
    """Send bytes again and again until the server ends the connection; return what it said."""
    told = b""
    connection.settimeout(every)
    end = time.monotonic() + within
    while time.monotonic() < end:
        with contextlib.suppress(TimeoutError):
            try:
                if send:
                    connection.sendall(send)
                got = connection.recv(65_536)
            except OSError as error:
                if isinstance(error, TimeoutError):
                    raise
                return told
            if not got:
                return told
            told += got
    pytest.fail("the connection is still open")


def answered(connection):
    """Read one small answer; return its first line."""
    told = b""
    while not told.endswith(b"fine"):
        part = connection.recv(1000)
        assert part, "the connection was ended"
        told += part
    return told.partition(b"\r\n")[0]


def test_a_connection_that_says_nothing_is_ended(serve):
    _, address = serve(head_s=0.5)
    with socket.create_connection(address) as connection:
        assert ended(connection).startswith(b"HTTP/1.1 408")


def test_a_head_that_comes_byte_by_byte_is_ended(serve):
    _, address = serve(head_s=0.5)
    with socket.create_connection(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: it\r\nx: ")
        assert ended(connection, send=b"a").startswith(b"HTTP/1.1 408")


def test_a_second_head_has_no_longer_than_the_first(serve):
    _, address = serve(head_s=0.5)
    with socket.create_connection(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: it\r\n\r\nGET / HT")
        told = ended(connection, send=b"T")
    assert told.startswith(b"HTTP/1.1 200")
    assert b"408" in told


def test_a_head_that_begins_while_the_request_before_ends_has_no_longer(serve):
    async def lingering(scope, receive, send):
        await app(scope, receive, send)
        await asyncio.sleep(0.5)

    _, address = serve(lingering, head_s=0.5)
    with socket.create_connection(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: it\r\n\r\n")
        assert answered(connection) == b"HTTP/1.1 200 OK"
        connection.sendall(b"GET / HT")
        assert ended(connection).startswith(b"HTTP/1.1 408")


def test_bytes_that_are_no_http_end_a_connection_whatever_it_answers(serve):
    waiting = threading.Event()

    async def reading(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        waiting.set()
        while (await receive())["type"] != "http.disconnect":
            pass

    server, address = serve(reading)
    chunked = b"POST / HTTP/1.1\r\nhost: it\r\ntransfer-encoding: chunked\r\n\r\n"
    with socket.create_connection(address) as connection:
        connection.sendall(chunked)
        assert waiting.wait(60)
        connection.sendall(b"no chunk\r\n")
        ended(connection)
    end = time.monotonic() + 60
    while server.server_state.tasks and time.monotonic() < end:
        time.sleep(0.01)
    assert not server.server_state.tasks


def test_bytes_that_are_no_http_are_no_fault_of_the_service(serve, caplog):
    guarded = RequestLimits(
        app, languages=("en", "fr"), max_bytes=1000, seconds=60, metrics=Metrics()
    )
    server, address = serve(guarded)
    with caplog.at_level("INFO", logger="ckm.service"):
        with socket.create_connection(address) as connection:
            head = b"GET / HTTP/1.1\r\nhost: it\r\ntransfer-encoding: chunked\r\n\r\n"
            connection.sendall(head + b"no chunk\r\n")
            assert ended(connection).startswith(b"HTTP/1.1 400")
        end = time.monotonic() + 60
        while server.server_state.tasks and time.monotonic() < end:
            time.sleep(0.01)
    said = [record.message for record in caplog.records if record.name == "ckm.service"]
    assert said == ["request"]


def test_a_body_that_nobody_reads_does_not_hold_a_connection_by_trickling(serve):
    _, address = serve(head_s=0.5)
    with socket.create_connection(address) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nhost: it\r\ncontent-length: 60000\r\n\r\n")
        assert ended(connection, send=b"a").startswith(b"HTTP/1.1 200")


def test_a_caller_who_takes_no_answer_is_let_go(serve):
    server, address = serve(sending_s=0.3)
    with socket.create_connection(address) as connection:
        connection.sendall(b"GET /big HTTP/1.1\r\nhost: it\r\nconnection: close\r\n\r\n")
        end = time.monotonic() + 10
        while not server.server_state.connections and time.monotonic() < end:
            time.sleep(0.01)
        while server.server_state.connections and time.monotonic() < end:
            time.sleep(0.05)
        assert not server.server_state.connections
        assert len(ended(connection)) < len(BIG)


@pytest.mark.slow
def test_a_caller_who_takes_an_answer_slowly_gets_all_of_it(serve):
    _, address = serve(sending_s=1.5)
    got = 0
    with socket.create_connection(address) as connection:
        connection.sendall(b"GET /big HTTP/1.1\r\nhost: it\r\nconnection: close\r\n\r\n")
        for _ in range(40):  # 4 seconds: longer than it may take nothing
            got += len(connection.recv(400_000))
            time.sleep(0.1)
        while part := connection.recv(1_000_000):
            got += len(part)
    assert got > len(BIG)


def test_more_connections_than_there_may_be_are_turned_away(serve):
    _, address = serve(connections=3)
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            held = stack.enter_context(socket.create_connection(address))
            held.sendall(b"GET / HTTP/1.1\r\nhost: it\r\n\r\n")
            assert answered(held) == b"HTTP/1.1 200 OK"
        with socket.create_connection(address) as one_more:
            told = ended(one_more)
        assert told.startswith(b"HTTP/1.1 503")
        assert b"retry-after" in told
        held.sendall(b"GET / HTTP/1.1\r\nhost: it\r\n\r\n")
        assert answered(held) == b"HTTP/1.1 200 OK"


@pytest.mark.slow
def test_connections_that_behave_are_kept(serve):
    _, address = serve(head_s=0.4)
    with socket.create_connection(address) as connection:
        for _ in range(4):
            connection.sendall(b"POST / HTTP/1.1\r\nhost: it\r\ncontent-length: 2\r\n\r\nab")
            assert answered(connection) == b"HTTP/1.1 200 OK"
            time.sleep(0.5)


BODY = b"5\r\nhello\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("version", "headers", "is_sound"),
    [
        (b"1.1", b"transfer-encoding: chunked\r\n", True),
        (b"1.1", b"content-length: 5\r\ntransfer-encoding: chunked\r\n", False),
        (b"1.1", b"transfer-encoding: chunked\r\ncontent-length: 5\r\n", False),
        (b"1.0", b"transfer-encoding: chunked\r\nconnection: keep-alive\r\n", False),
    ],
)
def test_a_body_of_two_lengths_is_refused_and_its_connection_closed(
    serve, version, headers, is_sound
):
    guarded = RequestLimits(
        app, languages=("en", "fr"), max_bytes=1000, seconds=60, metrics=Metrics()
    )
    _, address = serve(guarded)
    with socket.create_connection(address) as connection:
        request = b"POST / HTTP/" + version + b"\r\nhost: it\r\n" + headers + b"\r\n" + BODY
        after = b"GET / HTTP/1.1\r\nhost: it\r\nconnection: close\r\n\r\n"
        connection.sendall(request + after)
        connection.settimeout(60)
        told = b""
        with contextlib.suppress(ConnectionResetError):
            while got := connection.recv(65_536):
                told += got
    answers = told.split(b"HTTP/1.1 ")[1:]
    if is_sound:
        assert [answer[:3] for answer in answers] == [b"200", b"200"]
    else:
        assert [answer[:3] for answer in answers] == [b"400"]
        assert b"connection: close" in answers[0].lower()
        assert b"urn:ckm:problem:bad_request" in answers[0]


@pytest.mark.slow
def test_the_client_pxwebpy_works_unmodified(serve, served):
    pxweb = pytest.importorskip("pxweb", reason="pxwebpy is not installed")
    _, (host, port) = serve(make_app(served.table_service))
    api = pxweb.PxApi(f"http://{host}:{port}", language="en")
    assert [table["id"] for table in api.all_tables()] == ["jobseekers"]
    assert set(api.get_table_variables("jobseekers")) == {
        *served.service.variables,
        "ContentsCode",
    }
    first = api.get_table_data("jobseekers")
    assert first
    assert all(type(row["value"]) is int for row in first)

    codes = {"sex": ["*"], "category": ["A", "B"]}
    rows = api.get_table_data("jobseekers", value_codes=codes)
    assert [row["Sex"] for row in rows] == [s for s in ("Total", "Women", "Men") for _ in "AB"]
    url = "/tables/jobseekers/data?valuecodes[sex]=*&valuecodes[category]=A,B"
    assert [row["value"] for row in rows] == served.web.get(url).json()["value"]
    coded = api.get_table_data("jobseekers", value_codes=codes, show="code")
    assert [(row["Sex"], row["category"]) for row in coded[:3]] == [
        ("Total", "A"),
        ("Total", "B"),
        ("F", "A"),
    ]
    assert api.get_code_list("geo.region")["values"]
    regions = api.get_table_data(
        "jobseekers", value_codes={"geo": ["*"]}, code_list={"geo": "geo.region"}
    )
    assert len(regions) > 1
    split = pxweb.PxApi(f"http://{host}:{port}", language="fr")
    split._client.configuration["maxDataCells"] = 2  # it asks in parts then
    assert [r["value"] for r in split.get_table_data("jobseekers", codes)] == [
        row["value"] for row in rows
    ]
