"""Requests of every kind, good, bad and hostile: documented answers, no leak, no fault."""

from __future__ import annotations

from collections import Counter
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckm.formats import FORMATS
from ckm.service.access.tokens import TokenFile
from ckm.service.http.app import make_app
from ckm.service.table_service import TableService
from tests.strategies import examples
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


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(url=addresses(), method=st.sampled_from(["GET"] * 8 + ["DELETE", "PUT", "HEAD"]))
def test_any_address_gets_a_documented_answer(served, url, method):
    answer = served.web.ask(method, url)
    if method != "HEAD":
        check(answer, "")


@pytest.mark.slow
@settings(max_examples=examples(100))
@given(body=bodies(), path=st.sampled_from([DATA, "/requests"]))
def test_any_body_gets_a_documented_answer(served, body, path):
    check(served.web.post(path, json=body), "")


CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_headers_conformance", "response_schema_conformance", "negative_data_rejection",
    "positive_data_acceptance", "unsupported_method",
    "allow_header_conformance", "use_after_free", "ensure_resource_availability",
)  # fmt: skip
EXAMINED = {
    "seed": 20_270_301,
    "generation": {"max-examples": 10, "deterministic": True, "database": "none"},
    "checks": {
        # What the words of a selection or a filter mean, no schema says: 400, never 422.
        "positive_data_acceptance": {
            "expected-statuses": ["2xx", "3xx", "400", "401", "403", "404", "413"]
        },
        "negative_data_rejection": {
            "expected-statuses": ["400", "401", "403", "404", "405", "413", "422"]
        },
    },
}


def found_by_schemathesis(app, headers):
    """Return the checks that passed, the statuses, and what is wrong."""
    schemathesis = pytest.importorskip("schemathesis")
    from schemathesis.config import SchemathesisConfig
    from schemathesis.engine import events, from_schema

    config = SchemathesisConfig.from_dict({**EXAMINED, "headers": headers})
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, config=config)
    passed, statuses, wrong = Counter(), Counter(), []
    for event in from_schema(schema).execute():
        if isinstance(event, (events.FatalError, events.NonFatalError)):
            wrong.append(repr(event))
        if not isinstance(event, events.ScenarioFinished):
            continue
        for done in event.recorder.interactions.values():
            statuses[done.response.status_code] += 1
        for checks in event.recorder.checks.values():
            for check in checks:
                passed[check.name] += check.failure_info is None
                if check.failure_info is not None:
                    wrong.append(f"{event.label}: {check.failure_info.failure}")
    return passed, statuses, wrong


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["open", "tokens"])
def test_the_api_does_what_its_own_description_says(served, tmp_path, mode):
    """Good and bad data made from the description, every method, jobs from start to end."""
    file = TokenFile(tmp_path / "tokens.json")
    token = file.add(role="officer", label="it", requests_per_hour=10**9)
    access = served.service.access.changed(mode=mode, tokens=file.path)
    table_service = TableService(
        served.service.changed(access=access), served.answerer, folder=tmp_path / "jobs"
    )
    headers = {"Authorization": f"Bearer {token}"} if mode == "tokens" else {}
    passed, statuses, wrong = found_by_schemathesis(make_app(table_service), headers)
    table_service.close()
    assert not wrong, "\n".join(sorted(set(wrong)))[:4000]
    assert min(passed[check] for check in CHECKS) > 100, passed
    assert mode == "open" or passed["ignored_auth"] > 100, passed
    assert statuses[200] > 100
    # Where a token is needed, it was tried without one and with a wrong one.
    assert ('status="401"' in table_service.metrics.text()) == (mode == "tokens")
