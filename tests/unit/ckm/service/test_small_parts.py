"""Tokens, budgets, memory, jobs, figures, the audit log, selections."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckm.errors import ConfigError
from ckm.service.access import TokenFile, Tokens
from ckm.service.audit import Audit
from ckm.service.bodies import RequestBody, SelectionBody, parse_body
from ckm.service.cache import Cache
from ckm.service.jobs import Jobs
from ckm.service.metrics import Metrics
from ckm.service.mistake import Mistake
from ckm.service.rates import Rates
from ckm.service.render import Rendered, etag_of
from ckm.service.selection import codelists_of, most_patterns, ranks_of, split_codes

# --- tokens -------------------------------------------------------------------------------


def test_a_token_is_kept_as_a_hash_in_a_file_for_its_owner(tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    token = file.add(role="researcher", label="A", requests_per_hour=7)
    text = file.path.read_text()
    assert token not in text
    assert token.rpartition("_")[2] not in text
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
    cache = Cache(160, size=len)
    for key, size in puts:
        cache.put(key, b"x" * size)
        assert cache.used <= 160
        assert (cache.get(key) is not None and len(cache.get(key)) == size) or size > 20
    assert cache.used == sum(len(cache.get(key) or b"") for key in range(10))


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
        with pytest.raises(Mistake):
            jobs.find(name, owner=owner)
    assert (tmp_path / "jobs").stat().st_mode & 0o777 == 0o700


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


def test_jobs_are_bounded(tmp_path):
    jobs = Jobs(tmp_path, most=2)
    go = threading.Event()
    for _ in range(2):
        jobs.submit(lambda _: go.wait(10) and MADE, owner="me")
    with pytest.raises(Mistake) as caught:
        jobs.submit(lambda _: MADE, owner="me")
    assert caught.value.key == "busy"
    go.set()
    jobs.close()


# --- figures and the audit log ------------------------------------------------------------


def test_figures_are_in_the_format_of_prometheus():
    metrics = Metrics()
    metrics.count("ckm_requests_total", route='a"\n\\b', status="200")
    metrics.took("/x", 0.02)
    text = metrics.text({"ckm_cache_bytes": 5.0})
    assert 'route="a\\"\\n\\\\b"' in text
    assert 'ckm_request_seconds_bucket{route="/x",le="0.025"} 1' in text
    assert 'ckm_request_seconds_bucket{route="/x",le="+Inf"} 1' in text
    assert all(
        line.startswith("#") or len(line.rsplit(" ", 1)) == 2 for line in text.splitlines()
    )


def test_the_audit_log_is_one_line_per_event_for_its_owner(tmp_path):
    audit = Audit(tmp_path / "audit.log")
    audit.note(who="me", outcome="published")
    audit.note(who="a\nb", outcome="x")
    audit.close()
    lines = (tmp_path / "audit.log").read_text().splitlines()
    assert [json.loads(line)["who"] for line in lines] == ["me", "a\nb"]
    assert (tmp_path / "audit.log").stat().st_mode & 0o777 == 0o600
    Audit(None).note(who="me")


# --- selections ---------------------------------------------------------------------------


def codes(served, name, given, **options):
    variable = served.desk.variables[name]
    return [variable.codes[r] for r in ranks_of(variable, codes=given, **options)]


def test_selections_are_read_as_pxwebapi_writes_them(served):
    five = ["A", "B", "C", "D", "E"]
    options = {"codelist": "category.categories"}
    for wish, wanted in {
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
        assert codes(served, "category", [wish], **options) == wanted, wish
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
    with pytest.raises(Mistake):
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
        rank={text: place for place, text in enumerate(texts)}.get,
        ranks=lambda _: np.arange(len(texts)),
    )
    wanted = tuple(n for n, text in enumerate(texts) if reference(pattern, text))
    if pattern in texts:
        wanted = (texts.index(pattern),)
    try:
        assert ranks_of(listed, codes=[pattern]) == wanted
    except Mistake as mistake:
        assert mistake.key == "bad_expression" or not wanted  # noqa: PT017


def test_patterns_are_counted_and_codes_are_not(served):
    assert len(codes(served, "category", ["A", "B"] * 500)) == 2
    assert len(codes(served, "category", ["*"] * 50)) == 6
    with pytest.raises(Mistake) as caught:
        codes(served, "category", ["?"] * 51)
    assert caught.value.key == "too_many_patterns"
    many = SimpleNamespace(codes=range(50_000))
    assert most_patterns(many) == 20
    assert most_patterns(SimpleNamespace(codes=range(10))) == 50


@given(st.text(max_size=60))
def test_any_text_is_a_selection_or_a_mistake(served, text):
    for wish in (split_codes(text), [text]):
        try:
            found = codes(served, "category", wish)
        except Mistake as mistake:
            told = mistake.words("fr")
        else:
            told = found
        assert told


def test_code_lists_have_names(served):
    assert list(codelists_of(served.desk.variables["geo"])) == [
        "geo",
        "geo.region",
        "geo.department",
        "geo.commune",
    ]
    with pytest.raises(Mistake):
        codes(served, "geo", None, codelist="sex")


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_body_is_read_or_is_a_mistake(raw):
    for model in (RequestBody, SelectionBody):
        try:
            parse_body(raw, model)
        except Mistake as mistake:
            status = mistake.status
        else:
            status = 422
        assert status == 422


def test_a_wrong_token_costs_like_a_request(served, tmp_path):
    from ckm.service.access import Caller
    from ckm.service.desk import Desk

    file = TokenFile(tmp_path / "tokens.json")
    file.add(role="public", label="A")
    access = replace(served.service.access, mode="tokens", tokens=file.path)
    limits = replace(served.service.limits, requests_per_hour=2)
    desk = Desk(
        replace(served.service, access=access, limits=limits), served.answerer, folder=tmp_path
    )
    keys = []
    for _ in range(3):
        with pytest.raises(Mistake) as caught:
            desk.identify(token="ckm_wrong", address="192.0.2.1")  # noqa: S106
        keys.append(caught.value.key)
    assert keys == ["no_token", "no_token", "too_many_requests"]
    assert desk.budget(Caller(id="x", role="officer")).limit > 2
    desk.close()
