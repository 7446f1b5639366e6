"""Thousands of good, bad and hostile requests to a real service with two workers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.hostile import Judge, attack
from bench.hostile_requests import Shot, Words
from bench.hostile_wire import Answer
from bench.hostile_world import Service, World, plant

# `python -m bench.hostile` sends ten thousand. A fault that one request in a thousand meets is
# missed by this many once in fifty.
SEED, REQUESTS = 20_270_301, 4000


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks at processes in /proc")
def test_thousands_of_mixed_requests_find_no_fault_and_no_secret(tmp_path):
    folder = tmp_path / "zqxfolder"
    folder.mkdir()
    world = plant(folder, seed=SEED)
    service = Service(folder)
    try:
        report = attack(world, service, seed=SEED, number=REQUESTS)
    finally:
        code = service.stop()
    assert not report.wrong, "\n".join(sorted(set(report.wrong))[:20])
    assert code == 0
    # The attack was one: nearly all requests were answered, in every way that there is.
    assert sum(report.statuses.values()) + sum(report.cut.values()) == REQUESTS
    assert sum(report.cut.values()) < REQUESTS / 50
    for status, least in {
        200: 800, 202: 2, 304: 2, 400: 800, 401: 80, 403: 20, 404: 200, 405: 80, 413: 20,
        422: 200, 429: 2,
    }.items():  # fmt: skip
        assert report.statuses[status] >= least, (status, report.statuses)
    assert not set(report.statuses) & {500, 503}
    assert len(report.good) == 22


def answer(status, body=b"", **headers):
    told = {"x-content-type-options": "nosniff", **headers}
    head = "".join(f"{name}: {text}\r\n" for name, text in told.items()).encode()
    return Answer(status=status, headers=told, body=body, head=head)


def problem(status, **more):
    told = {"type": "urn:ckm:problem:x", "title": "t", "status": status, "detail": "d", **more}
    return json.dumps(told).encode()


PROBLEM = {"content-type": "application/problem+json", "content-language": "en"}


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (answer(200, b"{}"), None),
        (answer(400, problem(400), **PROBLEM), None),
        (answer(418, problem(418), **PROBLEM), "undocumented status"),
        (answer(500, problem(500), **PROBLEM), "undocumented status"),
        (answer(400, problem(404), **PROBLEM), "wrong problem details"),
        (answer(400, problem(400, detail=""), **PROBLEM), "empty problem details"),
        (answer(400, b"oh", **{"content-type": "text/plain"}), "no problem details"),
        (answer(401, problem(401), **PROBLEM), "no header www-authenticate"),
        (answer(400, b"Invalid HTTP request received."), "the parser refused a sound request"),
        (answer(400, problem(400, detail="zqxperson000007"), **PROBLEM), "a record"),
        (answer(200, b"{}", etag="zqxperson000007"), "a record"),
        (answer(400, problem(400, detail="a 60007 b"), **PROBLEM), "a count without noise"),
        (answer(400, problem(400, detail="/tmp/zqxfolder"), **PROBLEM), "a secret"),
    ],
)
def test_the_judge_of_answers_finds_what_is_wrong(given, wrong):
    words = Words(tokens=(), wrong=(), poor="", records=())
    world = World(folder=Path(), words=words, needles=[b"zqxfolder"], originals={b"60007"})
    described = {
        "paths": {"/config": {"get": {"responses": {"200": {}, "400": {}, "401": {}}}}}
    }
    judge = Judge(world, described)
    found = list(judge.wrong(Shot(kind="path", target="/config"), given))
    assert [text[: len(wrong or "")] for text in found] == ([wrong] if wrong else [])
    echo = Shot(kind="path", target="/config?zqxperson000007")
    assert not any("record" in text for text in judge.wrong(echo, given))
