"""Thousands of good, bad and hostile requests to a real service with two workers."""

from __future__ import annotations

import gc
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.hostile import Judge, attack
from bench.hostile_requests import Shot, Words
from bench.hostile_wire import Answer
from bench.hostile_world import Service, World, plant
from ckm.service.access.tokens import TokenFile
from tables import Secret
from tests.strategies import worked_ptable
from tests.unit.ckm.service.conftest import Served

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


RECORDS, AREAS, PERMITTED, CACHE_BYTES = 400_000, 35_000, 400, 16_000_000
ACCEPTED = "whoever may filter can reconstruct every true count"
# What is under way beside caches: one request at a time here, and what allocators keep.
UNDER_WAY = 200_000_000


def many_areas(folder):
    """Write a service over many records and areas that permits whatever its rules can."""
    rng = np.random.Generator(np.random.PCG64(1))
    names = np.array([f"{n:05}" for n in range(AREAS)])
    columns = {
        "person_id": np.arange(RECORDS),
        # All have about as many persons, so that all are listed.
        "commune": names[rng.permutation(RECORDS) % AREAS],
        "sex": rng.choice(["F", "M"], RECORDS),
        "age": rng.choice([f"{n:02}" for n in range(12)], RECORDS),
    }
    pq.write_table(pa.table(columns), folder / "people.parquet")
    Secret(bytes(range(32))).write(folder / "secret.key")
    worked_ptable().write(folder / "pt.parquet")
    TokenFile(folder / "tokens.json").add(role="public", label="A")
    (folder / "service.toml").write_text(
        f"""
        schema = 1
        service = {{ title = "People" }}
        data = {{ path = "people.parquet", id = "person_id" }}
        keys = {{ secret = "secret.key" }}
        ptable = {{ path = "pt.parquet" }}
        access.filters = "public"
        access.accepts_reconstruction = "{ACCEPTED}"
        access.tokens = "tokens.json"
        access.audit = "audit.log"
        limits = {{ seconds = 6000, requests_per_hour = 1000000, cache_bytes = {CACHE_BYTES} }}
        rules = {{ judge_filters = false, sparsity_a = false, sparsity_b = false,
                  mean_cell_size = false, minimum_population = false }}
        [[variable]]
        name = "commune"
        [[variable]]
        name = "sex"
        [[variable]]
        name = "age"
        """.replace("\n                  ", " ")
    )
    return folder / "service.toml", names


def hostile(rng, names):
    """Return requests that are permitted and leave behind as much as they can."""

    def some(number):
        return [str(name) for name in rng.choice(names, number, replace=False)]

    def table(**more):
        return "POST", "/requests", {"json": {"dimensions": ["sex"], "margins": "none", **more}}

    def page(within):
        return "GET", "/", {"params": {"codelist[sex]": "sex", "valuecodes[commune]": within}}

    pairs = " or ".join(f"(commune <> '{a}' and sex = 'F')" for a in some(15))
    deep = " or ".join(
        f"not (commune = '{a}' or age < '{i % 12:02}')" for i, a in enumerate(some(15))
    )
    listed = ", ".join(f"'{a}'" for a in some(2000))
    token = {"headers": {"Authorization": f"Bearer ckm_{'0' * 12}_{'x' * 43}"}}
    return [
        table(where=" or ".join(f"commune <> '{a}'" for a in some(30))),
        table(where=pairs),
        table(where=deep),
        table(where=f"commune in ({listed})", dimensions=["age", "sex"]),
        table(dimensions=["commune"], select={"commune": some(4000)}),
        table(where=" and ".join(f"commune <> '{a}'" for a in some(12)), wait=False),
        table(dimensions=["age", "sex"], margins=[["age"]], where=f"commune > '{some(1)[0]}'"),
        page(",".join(f"*{a[3:]}" for a in some(5))),
        page(",".join(some(1000))),
        table(where="(" * 40 + f"commune = '{some(1)[0]}" + "x" * 15_000),
        ("GET", "/tables/data/data", {"params": {"valuecodes[sex]": "*"}, **token}),
    ]


def resident():
    gc.collect()
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1])


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="looks into /proc")
def test_hundreds_of_permitted_requests_leave_no_more_memory_than_is_documented(tmp_path):
    path, names = many_areas(tmp_path)
    served = Served(path, tmp_path / "jobs")
    rng = np.random.Generator(np.random.PCG64(SEED))
    sent, statuses = [], {}
    for request in hostile(rng, names):  # what is imported and compiled once
        served.web.ask(request[0], request[1], **request[2])
    before = resident()
    while len(sent) < PERMITTED:
        sent += hostile(rng, names)
        for place, (method, url, options) in enumerate(sent[-11:]):
            answer = served.web.ask(method, url, **options)
            statuses.setdefault(place, set()).add(answer.status_code)
            if answer.status_code == 202 and rng.random() < 0.9:
                served.web.ask("DELETE", answer.headers["location"])
            held = served.answerer.cubes.cache.used + served.table_service.rendered.used
            assert held <= CACHE_BYTES
    grown = resident() - before
    assert statuses[5] <= {202, 503}
    assert statuses[9] == {400}
    assert statuses[10] == {401, 429}  # of one token 20 in an hour
    assert all(statuses[place] == {200} for place in (0, 1, 2, 3, 4, 6, 7, 8)), statuses
    assert served.answerer.cubes.cache.used > CACHE_BYTES / 20
    assert grown < CACHE_BYTES + 32_000_000 + UNDER_WAY, grown
    served.close()
    files = [f for f in (tmp_path / "jobs").rglob("*") if f.is_file()]
    assert sum(f.stat().st_size for f in files) < 50_000_000
