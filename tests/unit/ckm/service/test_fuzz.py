"""Requests of every kind, good, bad and hostile: documented answers, no leak, no fault."""

from __future__ import annotations

import logging
from collections import Counter
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckm.formats import FORMATS
from tests.unit.ckm.service.conftest import SECRET

DATA = "/tables/jobseekers/data"
DOCUMENTED = {200, 202, 204, 304, 400, 401, 403, 404, 405, 413, 422, 429, 503}
HOSTILE = (
    "'; DROP TABLE ckm_prepared_0; --",
    '" OR ""="',
    "1) UNION SELECT person_id FROM ckm_records --",
    "../../../../etc/passwd",
    "%2e%2e%2f",
    "{{7*7}}",
    "${jndi:ldap://x}",
    "<script>alert(1)</script>",
    "\x00",
    "\u202e",
    "NaN",
    "Infinity",
    "-0",
    "null",
    "a" * 3000,
    "sex = 'F' and (" * 40,
    "top(999999999999999999999)",
    "[[[[",
    "*" * 300,
    "?" * 300,
    "é\u0301",
    "person_id = 'J00000001'",
    "read_csv('/etc/passwd')",
)
NAMES = ("geo", "sex", "category", "age_tree", "zone_2024", "ContentsCode", "person_id", "")
CODES = ("*", "F", "Total", "top(2)", "01", "01/01", "young", "range(A,C)", "count", "X")

texts = st.sampled_from(HOSTILE) | st.text(max_size=40) | st.sampled_from(CODES)
names = st.sampled_from(NAMES) | texts
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def addresses(draw):
    """Draw an address: mostly of data, with parameters of every kind."""
    path = draw(
        st.sampled_from([DATA] * 6 + ["/tables", "/config", "/requests", "/openapi.json"])
        | texts.map(lambda text: "/tables/" + quote(text))
        | texts.map(lambda text: "/codelists/" + quote(text))
        | texts.map(lambda text: "/requests/" + quote(text))
    )
    parts = []
    for _ in range(draw(st.integers(0, 4))):
        word = draw(st.sampled_from(["valuecodes", "codelist", "outputvalues", "x"]))
        parts.append(f"{word}[{quote(draw(names))}]={quote(draw(texts))}")
    for word in ("filter", "lang", "outputformat", "heading"):
        if draw(st.integers(0, 4)) == 0:
            wished = texts | st.sampled_from(
                ["fr", "csv", "xlsx", "sex = 'F'", "region = '01'"]
            )
            parts.append(f"{word}={quote(draw(wished))}")
    return path + ("?" + "&".join(parts) if parts else "")


@st.composite
def bodies(draw):
    """Draw a body that is nearly a selection, nearly a request, or anything."""
    if draw(st.booleans()):
        return draw(
            st.dictionaries(st.sampled_from(["selection", "placement"]) | names, values)
        )
    good = {
        "dimensions": draw(st.lists(st.sampled_from(NAMES[:5]), max_size=3)),
        "margins": draw(st.sampled_from(["all", "none", [["sex"]], [[]]])),
        "select": draw(
            st.dictionaries(st.sampled_from(NAMES), st.lists(texts, max_size=2), max_size=1)
        ),
        "format": draw(st.sampled_from(list(FORMATS))),
    }
    if draw(st.booleans()):
        good["where"] = draw(texts)
    if draw(st.booleans()):
        good[draw(names)] = draw(values)
    return good


def check(answer, log):
    assert answer.status_code in DOCUMENTED, (answer.status_code, answer.text[:500])
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code
    said = answer.content.decode("latin-1") + str(answer.headers) + log
    for planted in (SECRET.hex(), "Traceback", "root:x", "duckdb", "ckm_prepared_0_a"):
        assert planted not in said.replace(quote(HOSTILE[0]), "").replace(HOSTILE[0], "")
    for error in ("SourceError", "RuntimeError", "KeyError", "TypeError", "IndexError"):
        assert error not in log


@settings(max_examples=400)
@given(url=addresses(), method=st.sampled_from(["GET"] * 8 + ["DELETE", "PUT", "HEAD"]))
def test_any_address_gets_a_documented_answer(served, url, method):
    answer = served.web.ask(method, url)
    if method != "HEAD":
        check(answer, "")


@settings(max_examples=250)
@given(body=bodies(), path=st.sampled_from([DATA, "/requests"]))
def test_any_body_gets_a_documented_answer(served, body, path):
    check(served.web.post(path, json=body), "")


@pytest.mark.slow
def test_thousands_of_mixed_requests_find_no_fault(served, caplog):
    caplog.set_level(logging.INFO)
    statuses = Counter()
    for turn in range(1500):
        hostile = HOSTILE[turn % len(HOSTILE)]
        name, code = NAMES[turn % 7], CODES[turn % 9]
        url = [
            f"{DATA}?valuecodes[{name}]={quote(code)}",
            f"{DATA}?valuecodes[{name}]={quote(hostile)}",
            f"{DATA}?filter={quote(hostile)}",
            f"{DATA}?valuecodes[sex]=*&filter=category%20in%20('A','{code}')",
            f"/codelists/{quote(hostile)}",
        ][turn % 5]
        answer = served.web.get(url)
        statuses[answer.status_code] += 1
        check(answer, "")
    assert statuses[500] == 0
    assert statuses[200] > 200
    assert statuses[400] > 500
    check(answer, caplog.text.replace(HOSTILE[0], ""))


@pytest.mark.slow
def test_the_api_does_what_its_own_description_says(served):
    schemathesis = pytest.importorskip("schemathesis")
    from schemathesis.checks import not_a_server_error, status_code_conformance

    schema = schemathesis.openapi.from_asgi("/openapi.json", served.web.app)
    tried = Counter()

    for operation in schema.get_all_operations():

        @settings(max_examples=25, deadline=None)
        @given(case=operation.ok().as_strategy())
        def conforms(case):
            answer = case.call()
            tried[answer.status_code] += 1
            case.validate_response(answer, checks=[not_a_server_error, status_code_conformance])

        conforms()
    assert tried[200] > 20
