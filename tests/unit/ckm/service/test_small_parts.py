"""Tokens, budgets, memory, jobs, figures, the audit log, selections."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import os
import re
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckm.errors import ConfigError
from ckm.service.access.audit_log import AuditLog
from ckm.service.access.rate_limits import Rates
from ckm.service.access.tokens import TokenFile, Tokens
from ckm.service.answering.cells.lru_cache import Cache
from ckm.service.answering.messages import ClientError
from ckm.service.answering.pxweb_selection import (
    codelists_of,
    max_patterns,
    ranks_of,
    split_codes,
)
from ckm.service.answering.query import Query, Selection
from ckm.service.answering.render import Rendered, etag_of
from ckm.service.http.request_bodies import RequestBody, SelectionBody, parse_body
from ckm.service.jobs import Jobs
from ckm.service.metrics import Metrics
from ckm.service.page.form import in_filter
from ckm.service.page.page_state import PageState, Wanted
from tables import Secret
from tables.filtering.filters import parse_filter
from tests.strategies import worked_ptable
from tests.unit.ckm.service.conftest import Served, write_service

# --- tokens -------------------------------------------------------------------------------


def test_a_token_is_kept_as_a_hash_in_a_file_for_its_owner(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    token = file.add(role="researcher", label="A", requests_per_hour=7)
    text = file.path.read_text()
    assert token not in text
    assert token.split("_", 2)[2] not in text
    assert "argon2id" in text
    assert file.path.stat().st_mode & 0o777 == 0o600
    caller = Tokens(file).caller(token)
    assert (caller.role, caller.requests_per_hour) == ("researcher", 7)


def test_wrong_and_revoked_tokens_belong_to_nobody(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    tokens = Tokens(file)
    token = file.add(role="officer", label="A")
    assert tokens.caller(token) is not None  # the file is looked at again
    other = token[:-1] + ("A" if token[-1] != "A" else "B")
    for wrong in ("", "x", other, token + "x", token.upper(), "ckm_" + "0" * 12 + token[16:]):
        assert tokens.caller(wrong) is None
    assert file.revoke(tokens.caller(token).id)
    assert tokens.caller(token) is None
    assert not file.revoke("0" * 12)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_file_of_tokens_that_others_can_read_is_refused(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    file.add(role="public", label="A")
    file.path.chmod(0o640)
    with pytest.raises(ConfigError, match="can be read by others"):
        file.read()
    file.path.chmod(0o600)
    file.path.write_text("{")
    with pytest.raises(ConfigError, match="cannot be read"):
        Tokens(file)


def test_a_file_of_tokens_with_a_bit_flipped_gives_nobody_a_role_that_there_is_not(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    file.add(role="public", label="A")
    whole = file.path.read_bytes()
    at = whole.index(b"public")
    for place in range(at, at + 6):
        for bit in range(8):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            file.path.write_bytes(changed)
            with pytest.raises(ConfigError, match="cannot be read"):
                file.read()


@pytest.mark.slow
def test_tokens_that_are_made_at_once_are_all_kept(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: file.add(role="public", label=str(n)), range(16)))
    assert {token.split("_")[1] for token in made} == {entry.id for entry in file.read()}
    assert {entry.label for entry in file.read()} == {str(n) for n in range(16)}


#: Commands one after the other, in a process that waits until all others are ready too.
COMMANDS = """
import json, sys, time
from pathlib import Path
from ckm.cli import app
Path(sys.argv[1]).touch()
while not Path("go").exists():
    time.sleep(0.001)
for words in json.loads(sys.argv[2]):
    try:
        app(words)
    except SystemExit as end:
        assert not end.code, words
"""


@pytest.mark.slow
def test_nothing_is_lost_of_twenty_commands_that_add_and_revoke_at_once(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    old = [file.add(role="public", label="old").split("_")[1] for _ in range(4)]
    (tmp_path / "service.toml").write_text(WITH_FILE)
    (tmp_path / "people.csv").write_text("rkey,sex\n17,F\n")

    def commands(number, lines):
        words = [["token", line[0], "service.toml", *line[1:]] for line in lines]
        options = [sys.executable, "-c", COMMANDS, f"ready{number}", json.dumps(words)]
        return subprocess.Popen(options, cwd=tmp_path, stdout=subprocess.PIPE, text=True)

    new = [("add", "--label", f"n{n}", "--role", "public") for n in range(20)]
    started = [commands(n, new[n::4]) for n in range(4)]
    started.append(commands(4, [("revoke", name) for name in old]))
    while len(list(tmp_path.glob("ready*"))) < 5:
        assert not any(process.poll() for process in started)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    printed = "".join(process.communicate(timeout=600)[0] for process in started)
    assert [process.returncode for process in started] == [0] * 5
    entries = {entry.id: entry for entry in file.read()}
    assert len(entries) == 24
    added = set(re.findall(r"ckm_([0-9a-f]{12})_", printed))
    assert len(added) == 20
    assert not any(entries[name].is_revoked for name in added)
    assert all(entries[name].is_revoked for name in old)


WITH_FILE = """
schema = 1
service = { title = "People" }
data = { path = "people.csv", record_key = "rkey", key_range = 256 }
keys = { mix = false }
ptable = { max_noise = 2, variance = 1.0 }
access = { tokens = "tokens.json" }
[[variable]]
name = "sex"
labels = { en = "Sex", fr = "Sexe" }
"""


@pytest.fixture
def guarded(served, tmp_path, monkeypatch):
    """Open a table service with tokens; give it, a token, and a list of what was verified."""
    from ckm.service.access import tokens as access
    from ckm.service.table_service import TableService

    file = TokenFile(tmp_path / "tokens.json")
    token = file.add(role="researcher", label="A")
    limits = served.service.limits.changed(requests_per_hour=30)
    settings = served.service.access.changed(tokens=file.path)
    service = served.service.changed(access=settings, limits=limits)
    table_service = TableService(service, served.answerer, folder=tmp_path / "service")
    verified, is_right = [], access._is_right

    def counted(hashed, secret):
        verified.append(secret)
        return is_right(hashed, secret)

    monkeypatch.setattr(access, "_is_right", counted)
    yield table_service, token, verified
    table_service.close()


def test_an_id_that_nobody_has_is_refused_by_the_same_work_and_as_often(guarded):
    table_service, token, verified = guarded
    tried = {}
    for wrong in (token[:-43] + "x" * 43, "ckm_" + "0" * len(token[4:-44]) + "_" + "x" * 43):
        keys = []
        for _ in range(22):
            with pytest.raises(ClientError) as caught:
                table_service.verify(wrong, address=f"192.0.2.{len(tried)}")
            keys.append(caught.value.key)
        tried[wrong] = keys
        assert len(verified) == 20 * len(tried)
    assert [*tried.values()] == [["no_token"] * 20 + ["too_many_requests"] * 2] * 2


@pytest.mark.slow
def test_wrong_secrets_beyond_the_budget_of_an_address_are_not_verified(guarded):
    table_service, token, verified = guarded
    wrong = token[:-43] + "x" * 43
    told = []
    for _ in range(40):
        with pytest.raises(ClientError) as caught:
            table_service.verify(wrong, address="192.0.2.1")
        told.append(caught.value.key)
    # Of one token 20 in an hour, fewer than the 30 of a stranger.
    assert told == ["no_token"] * 20 + ["too_many_requests"] * 20
    assert len(verified) == 20
    # Who was never wrong is verified, once, and known from then on.
    for _ in range(3):
        assert table_service.verify(token, address="192.0.2.2").role == "researcher"
    assert len(verified) == 21
    assert table_service.recognise(token=token, address="192.0.2.1") is not None
    # From another address a wrong secret of this token is tried once.
    for _ in range(3):
        with pytest.raises(ClientError):
            table_service.verify(wrong, address="192.0.2.3")
    assert len(verified) == 22


@pytest.mark.slow
def test_a_caller_who_is_known_does_not_wait_for_wrong_secrets(guarded, monkeypatch):
    from ckm.service.access import tokens as access
    from ckm.service.http.app import make_app
    from tests.unit.ckm.service.conftest import Web

    table_service, token, _ = guarded
    web = Web(make_app(table_service))
    mine = {"Authorization": f"Bearer {token}"}
    assert web.get("/tables", headers=mine).status_code == 200
    go, begun = threading.Event(), threading.Semaphore(0)

    def slow(_hashed, _secret):
        begun.release()
        return go.wait(300) and False

    monkeypatch.setattr(access, "_is_right", slow)
    wrong = {"Authorization": f"Bearer {token[:-43]}{'x' * 43}"}

    async def ask(_):
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(web.app, client=("203.0.113.5", 1)),
            base_url="http://it",
        ) as client:
            waiting = [
                asyncio.ensure_future(client.get("/tables", headers=wrong)) for _ in range(60)
            ]
            await asyncio.to_thread(begun.acquire)
            good = await client.get("/tables", headers=mine)
            is_first = not any(
                future.done() and future.result().status_code == 401 for future in waiting
            )
            for _ in range(30_000):  # others are refused before any of the few is answered
                if sum(future.done() for future in waiting) >= len(waiting) - 8:
                    break
                await asyncio.sleep(0.01)
            go.set()
            return (
                good,
                is_first,
                [answer.status_code for answer in await asyncio.gather(*waiting)],
            )

    good, is_first, others = asyncio.run(ask(web))
    assert good.status_code == 200
    assert is_first
    assert set(others) == {401, 503}  # few of one address wait
    assert others.count(401) <= 8


# --- budgets and memory -------------------------------------------------------------------


def test_a_budget_is_used_up_and_comes_back_after_an_hour():
    now = [0.0]
    rates = Rates(clock=lambda: now[0])
    assert [rates.take("a", limit=2).remaining for _ in range(2)] == [1, 0]
    refused = rates.take("a", limit=2)
    assert not refused.is_allowed
    assert refused.headers()["Retry-After"] == "3600"
    assert rates.take("b", limit=2).is_allowed
    assert rates.take("a", limit=2, cost=0).is_allowed
    now[0] = 3600.0
    assert rates.take("a", limit=2).remaining == 1


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40)), max_size=60))
def test_memory_is_bounded_and_what_was_used_last_stays(puts):
    cache = Cache(8 * 520, size=len)
    for key, size in puts:
        cache.put(key, b"x" * size)
        assert cache.used <= 8 * 520
        assert (cache.get(key) is not None and len(cache.get(key)) == size) or size > 20
    kept = [found for key in range(10) if (found := cache.get(key)) is not None]
    assert cache.used == sum(500 + len(found) for found in kept)


def test_keys_are_short_whatever_was_asked_for_and_tell_requests_apart():
    def asked(ranks, **more):
        return Query(selections=(Selection(variable="geo", ranks=tuple(ranks)),), **more)

    queries = [
        asked(range(35_000)),
        asked(range(34_999)),
        asked([], where="x" * 20_000),
        asked([], within=(Selection(variable="sex", ranks=(1,)),)),
        asked([1], margins=frozenset({(0,), (1,)})),
        asked([1], margins=frozenset({(0,)})),
        asked([1], measures=("count", "weighted")),
    ]
    digests = {query.digest for query in queries}
    assert len(digests) == len(queries)
    assert {len(digest) for digest in digests} == {32}
    same = frozenset(reversed([(0,), (1,)]))
    assert asked([1], margins=same).digest in digests


# --- jobs ---------------------------------------------------------------------------------

MADE = Rendered(body=b"table", media_type="text/csv", etag=etag_of(b"table"), headers={})


def finished(jobs, job):
    jobs.close()
    return jobs.find(job.id, owner=job.owner)


def test_a_job_is_its_owners_alone_and_ends_with_its_table(tmp_path):
    jobs = Jobs(tmp_path / "jobs", most=3)
    job = jobs.submit(lambda _: MADE, owner="me")
    done = finished(jobs, job)
    assert done.status == "done"
    assert jobs.result(done) == MADE
    for name, owner in ((job.id, "you"), ("../" + job.id, "me"), ("x" * 22, "me"), ("", "me")):
        with pytest.raises(ClientError):
            jobs.find(name, owner=owner)
    assert (tmp_path / "jobs").stat().st_mode & 0o777 == 0o700


def test_a_result_that_is_not_what_was_written_is_not_sent(tmp_path):
    jobs = Jobs(tmp_path, most=3)
    done = finished(jobs, jobs.submit(lambda _: MADE, owner="me"))
    (tmp_path / f"{done.id}.body").write_bytes(b"tablf")
    with pytest.raises(ClientError) as told:
        jobs.result(done)
    assert told.value.key == "no_job"


def test_a_job_that_fails_says_so_and_nothing_of_the_error(tmp_path, caplog):
    jobs = Jobs(tmp_path, most=3)

    def work(_):
        raise ValueError("record 17 of J00000017")

    done = finished(jobs, jobs.submit(work, owner="me"))
    assert (done.status, done.error) == ("failed", "internal")
    assert "J00000017" not in caplog.text + (tmp_path / f"{done.id}.json").read_text()


def test_a_job_that_was_given_up_leaves_nothing(tmp_path):
    jobs = Jobs(tmp_path, most=3)
    start, go = threading.Event(), threading.Event()

    def work(_):
        start.set()
        go.wait(10)
        return MADE

    job, waiting = jobs.submit(work, owner="me"), jobs.submit(lambda _: MADE, owner="me")
    start.wait(10)
    jobs.cancel(job)
    jobs.cancel(waiting)
    go.set()
    assert finished(jobs, job).status == "cancelled"
    assert jobs.find(waiting.id, owner="me").status == "cancelled"
    assert not list(tmp_path.glob("*.body"))


@pytest.mark.slow
def test_a_job_that_was_given_up_lets_go_of_what_was_asked_for(tmp_path):
    jobs = Jobs(tmp_path, most=8)
    go = threading.Event()
    jobs.submit(lambda _: go.wait(60) and MADE, owner="me")

    class PageState:
        def __call__(self, _):
            return MADE

    gone = []
    for _ in range(20):
        asked = PageState()
        gone.append(weakref.ref(asked))
        jobs.cancel(jobs.submit(asked, owner="you"))
        del asked
    gc.collect()
    assert not any(reference() for reference in gone)
    last = jobs.submit(lambda _: MADE, owner="you")
    go.set()
    while not jobs.find(last.id, owner="you").is_final:
        time.sleep(0.01)
    assert finished(jobs, last).status == "done"


def test_jobs_are_bounded(tmp_path):
    jobs = Jobs(tmp_path, most=2)
    go = threading.Event()
    for _ in range(2):
        jobs.submit(lambda _: go.wait(10) and MADE, owner="me")
    with pytest.raises(ClientError) as caught:
        jobs.submit(lambda _: MADE, owner="me")
    assert caught.value.key == "busy"
    go.set()
    jobs.close()


# --- figures and the audit log ------------------------------------------------------------


def test_figures_are_in_the_format_of_prometheus():
    metrics = Metrics()
    metrics.count("ckm_requests_total", route='a"\n\\b', method="GET", status="200")
    metrics.took("/x", 0.02)
    metrics.watch("ckm_cache_bytes", "Memory.", lambda: 5.0)
    text = metrics.text()
    assert 'route="a\\"\\n\\\\b"' in text
    assert 'ckm_request_seconds_bucket{le="0.025",route="/x"} 1.0' in text
    assert 'ckm_request_seconds_bucket{le="+Inf",route="/x"} 1.0' in text
    assert "\nckm_cache_bytes 5.0\n" in text
    assert all(
        line.startswith("#") or len(line.rsplit(" ", 1)) == 2 for line in text.splitlines()
    )


def test_the_audit_log_is_one_line_per_event_for_its_owner(tmp_path):
    audit = AuditLog(tmp_path / "audit.log")
    audit.note(who="me", outcome="published")
    audit.note(who="a\nb", outcome="x")
    audit.close()
    lines = (tmp_path / "audit.log").read_text().splitlines()
    assert [json.loads(line)["who"] for line in lines] == ["me", "a\nb"]
    assert (tmp_path / "audit.log").stat().st_mode & 0o777 == 0o600
    AuditLog(None).note(who="me")


def test_a_full_disk_leaves_no_torn_line_in_the_audit_log(tmp_path, monkeypatch):
    audit = AuditLog(tmp_path / "audit.log")
    audit.note(who="first")
    write = os.write

    def full(handle, line):
        write(handle, line[:9])
        return 9

    def none_left(_handle, _line):
        raise OSError(errno.ENOSPC, "No space left on device")

    for failing in (full, none_left):
        monkeypatch.setattr("ckm.service.access.audit_log.os.write", failing)
        with pytest.raises(ClientError) as caught:
            audit.note(who="lost")
        assert caught.value.status == 503
    monkeypatch.undo()
    audit.note(who="second")
    lines = (tmp_path / "audit.log").read_text().splitlines()
    assert [json.loads(line)["who"] for line in lines] == ["first", "second"]


def test_a_line_after_a_torn_one_stands_alone_and_a_log_that_was_moved_begins_anew(tmp_path):
    path = tmp_path / "audit.log"
    path.write_text('{"who": "killed whi')
    audit = AuditLog(path)
    audit.note(who="next")
    torn, whole = path.read_text().splitlines()
    assert torn.startswith('{"who": "killed')
    assert json.loads(whole)["who"] == "next"
    path.rename(tmp_path / "audit.log.1")
    audit.note(who="after")
    (only,) = path.read_text().splitlines()
    assert json.loads(only)["who"] == "after"
    assert path.stat().st_mode & 0o777 == 0o600
    audit.close()


# --- selections ---------------------------------------------------------------------------


def codes(served, name, given, **options):
    variable = served.table_service.variables[name]
    return [variable.codes[r] for r in ranks_of(variable, codes=given, **options)]


def test_a_category_named_like_a_wildcard_does_not_stand_for_it(tmp_path):
    folder = tmp_path / "stars"
    folder.mkdir()
    names = ["*", "?", "A*", "AB"] * 100
    pq.write_table(pa.table({"id": range(400), "x": names}), folder / "people.parquet")
    Secret(bytes(range(32))).write(folder / "secret.key")
    worked_ptable().write(folder / "pt.parquet")
    (folder / "service.toml").write_text(
        """
        schema = 1
        service = { title = "Stars" }
        data = { path = "people.parquet", id = "id" }
        keys = { secret = "secret.key" }
        ptable = { path = "pt.parquet" }
        [[variable]]
        name = "x"
        """
    )
    opened = Served(folder / "service.toml", folder / "jobs")
    variable = opened.table_service.variables["x"]

    def named(*given):
        ranks = ranks_of(variable, codes=given, codelist="x.categories")
        return [variable.codes[r] for r in ranks]

    assert named("*") == ["*", "?", "A*", "AB"]
    assert named("?") == ["*", "?"]
    assert named("A*") == ["A*"]  # other codes are themselves
    assert named("A?") == ["A*", "AB"]
    assert named("range(*,*)") == ["*"]
    assert [named(variable.word(r)) for r in range(1, 5)] == [["*"], ["?"], ["A*"], ["AB"]]
    for address in ("/tables/data/data?valuecodes[x]=*", "/?valuecodes[x]=*&outputFormat=csv"):
        answer = opened.web.get(address)
        assert answer.status_code == 200
        assert all(f'"{name}"' in answer.text for name in ("*", "?", "A*", "AB"))
    one = opened.web.get("/?valuecodes[x]=range(*,*)&codelist[x]=x&outputFormat=csv")
    assert '"AB"' not in one.text
    page = opened.web.get("/?valuecodes[x]=range(*,*)&codelist[x]=x").text
    assert re.search(r'value="range\(\*,\*\)"[^>]*checked', page)
    opened.close()


def test_an_empty_code_has_words_and_can_be_chosen_and_an_empty_field_says_nothing(tmp_path):
    file = write_service(tmp_path, persons=1000)
    people = pq.read_table(tmp_path / "people.parquet")
    names = ["" if name == "E" else name for name in people["category"].to_pylist()]
    place = people.column_names.index("category")
    people = people.set_column(place, "category", [names])
    pq.write_table(people, tmp_path / "people.parquet")
    file.write_text(file.read_text().replace('category = ["A", "B", "C", "D", "E"]\n', ""))
    opened = Served(file, tmp_path / "jobs")
    variable = opened.answerer.variables["category"]
    rank = variable.rank("")
    assert [variable.label(rank, one) for one in ("en", "fr")] == ["(empty)", "(vide)"]
    asked = f"/?codelist[category]=category&valuecodes[category]={variable.word(rank)}"
    for url in (asked, f"{asked}&valuecodes[category]="):
        text = opened.web.get(url).text
        assert re.findall('<th scope="row">(.*?)</th>', text) == ["(empty)"]
        assert "valuecodes%5Bcategory%5D=%5B%5D" in text
    both = opened.web.get("/?codelist[category]=category&valuecodes[category]=").text
    assert len(re.findall('<th scope="row">', both)) == 6
    opened.close()
    pair = PageState(wanted={"geo": Wanted(codes=("", "01"), codelist="geo")}, compare="geo")
    assert pair.href() == "./?compare=%5B%5D&compare=01"


def test_selections_are_read_as_pxwebapi_writes_them(served):
    five = ["A", "B", "C", "D", "E"]
    options = {"codelist": "category.categories"}
    for criterion, wanted in {
        "*": five,
        "?": five,
        "top(2)": five[:2],
        "TOP(2,1)": five[1:3],
        "bottom(2)": five[3:],
        "bottom(2,1)": five[2:4],
        "range(B,D)": five[1:4],
        "from(D)": five[3:],
        "to(B)": five[:2],
        "C": ["C"],
    }.items():
        assert codes(served, "category", [criterion], **options) == wanted, criterion
    assert codes(served, "category", None) == ["Total", *five]
    assert codes(served, "category", ["B", "A", "B"]) == ["B", "A"]
    assert codes(served, "geo", ["01*"], codelist="geo.region") == ["01"]
    young = codes(served, "age_tree", ["young"], is_single=True)
    assert young == ["15-24", "25-34"]
    assert codes(served, "age_tree", None, codelist="age_tree.1") == ["young", "35-44", "old"]


@pytest.mark.parametrize(
    "given",
    [
        "top()",
        "top(x)",
        "top(1,2,3)",
        "range(A)",
        "range(A,Z)",
        "from()",
        "Z",
        "",
        "Total",
        "**?*a*b*c*d*",
        "top(-1)",
        "range(E,A)",
        "top(99999999999)",
    ],
)
def test_selections_that_cannot_be_read_are_told(served, given):
    with pytest.raises(ClientError):
        codes(served, "category", [given], codelist="category.categories")


def reference(pattern, text):
    """Whether a pattern matches, sign by sign."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return reference(pattern[1:], text) or (bool(text) and reference(pattern, text[1:]))
    return bool(text) and pattern[0] in ("?", text[0]) and reference(pattern[1:], text[1:])


@given(
    st.lists(st.text("ab*.\n", max_size=8), min_size=1, max_size=8, unique=True),
    st.text("ab*?.\n", min_size=1, max_size=8).filter(lambda text: set(text) & {"*", "?"}),
)
def test_a_pattern_selects_what_it_matches_sign_by_sign(texts, pattern):
    listed = SimpleNamespace(
        name="v",
        codes=texts,
        level_names=("v",),
        chosen={text: place for place, text in enumerate(texts) if set(text) - {*"*?"}}.get,
        ranks=lambda _: np.arange(len(texts)),
    )
    wanted = tuple(n for n, text in enumerate(texts) if reference(pattern, text))
    if pattern in texts and set(pattern) - {*"*?"}:
        wanted = (texts.index(pattern),)
    try:
        assert ranks_of(listed, codes=[pattern]) == wanted
    except ClientError as client_error:
        assert client_error.key == "bad_expression" or not wanted  # noqa: PT017


def test_patterns_are_counted_and_codes_are_not(served):
    assert len(codes(served, "category", ["A", "B"] * 500)) == 2
    assert len(codes(served, "category", ["*"] * 50)) == 6
    with pytest.raises(ClientError) as caught:
        codes(served, "category", ["?"] * 51)
    assert caught.value.key == "too_many_patterns"
    many = SimpleNamespace(codes=range(50_000))
    assert max_patterns(many) == 20
    assert max_patterns(SimpleNamespace(codes=range(10))) == 50


@given(st.text(max_size=60))
def test_any_text_is_a_selection_or_a_mistake(served, text):
    for criterion in (split_codes(text), [text]):
        try:
            found = codes(served, "category", criterion)
        except ClientError as client_error:
            told = client_error.words("fr")
        else:
            told = found
        assert told


def test_code_lists_have_names(served):
    assert list(codelists_of(served.table_service.variables["geo"])) == [
        "geo",
        "geo.region",
        "geo.department",
        "geo.commune",
    ]
    with pytest.raises(ClientError):
        codes(served, "geo", None, codelist="sex")


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_body_is_read_or_is_a_mistake(raw):
    for model in (RequestBody, SelectionBody):
        try:
            parse_body(raw, model)
        except ClientError as client_error:
            status = client_error.status
        else:
            status = 422
        assert status == 422


def test_a_wrong_token_costs_like_a_request(served, tmp_path):
    from ckm.service.access.tokens import Caller
    from ckm.service.table_service import TableService

    file = TokenFile(tmp_path / "tokens.json")
    file.add(role="public", label="A")
    access = served.service.access.changed(mode="tokens", tokens=file.path)
    limits = served.service.limits.changed(requests_per_hour=2)
    table_service = TableService(
        served.service.changed(access=access, limits=limits), served.answerer, folder=tmp_path
    )
    keys = []
    for _ in range(3):
        with pytest.raises(ClientError) as caught:
            table_service.verify("ckm_wrong", address="192.0.2.1")
        keys.append(caught.value.key)
    assert keys == ["no_token", "no_token", "too_many_requests"]
    assert table_service.budget(Caller(id="x", role="officer")).limit > 2
    table_service.close()


def test_names_that_a_filter_would_not_take_are_quoted():
    assert in_filter("sex") == "sex"
    for name in ("marital status", "and", "a`b", "1"):
        written = in_filter(name)
        assert written.startswith("`")
        assert parse_filter(f"{written} is missing").columns == {name}
