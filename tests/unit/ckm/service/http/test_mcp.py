"""Language models are told what the API tells, in its words, within its budgets."""

from __future__ import annotations

import json
import logging

import pytest

from ckm.config.service.service import read_service
from ckm.service.access.tokens import TokenFile
from ckm.service.http.app import make_app
from ckm.service.table_service import TableService
from tests.unit.ckm.service.answering.test_documentation import RATE
from tests.unit.ckm.service.conftest import Served, Web, write_service

MCP = "/mcp"
VERSION = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": VERSION}
DATA = "/tables/jobseekers/data"
QUESTIONS = [
    {"dimensions": ["sex"]},
    {"dimensions": ["geo", "sex"], "select": {"geo": ["11"]}},
    {"dimensions": ["geo", "category", "age_tree"]},  # areas are withheld
    {"dimensions": ["sex", "category"], "figure": "share", "of": ["sex"]},
    {"dimensions": ["sex"], "figure": "first"},
    {"dimensions": ["geo"], "select": {"geo": ["Total"]}, "zones": {"Here": ["11", "24"]}},
    {"dimensions": ["sex"], "measures": ["count", "weighted"]},
    # Refused by a rule, for their shape, or for who asks.
    {"dimensions": ["zone_2024", "age_tree", "category"]},
    {"dimensions": ["sex"], "where": "sex = 'F' and category = 'A' and zone_2024 = 'x'"},
    {"dimensions": ["sex"], "where": "age_group = 'nobody'"},
    # Wrong.
    {"dimensions": ["sx"]},
    {"dimensions": ["sex"], "select": {"sex": ["X"]}},
    {"dimensions": ["sex"], "where": "sex == ="},
    {"dimensions": ["sex"], "population": "nobody"},
    {"dimensions": ["sex", "sex"]},
    {"dimensions": "sex"},
    {"dimensions": ["sex"], "colour": "red"},
    {"dimensions": ["sex"], "figure": "mean"},
    {"dimensions": ["geo"], "zones": {"=1+1": ["11"]}},
]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    path = write_service(tmp_path_factory.mktemp("mcp"), more=RATE)
    served = read_service(path)
    yield (
        own := Served(
            path,
            tmp_path_factory.mktemp("jobs"),
            limits=served.limits.changed(requests_per_hour=10**9),
            access=served.access.changed(mcp=True),
            about=served.about.changed(figure_margins=95),
        )
    )
    own.close()


@pytest.fixture
def special(opened, tmp_path):
    """Make a client of the same answers with other settings."""
    services = []

    def make(**changes):
        service = opened.service.changed(**changes)
        folder = tmp_path / str(len(services))
        table_service = TableService(service, opened.answerer, folder=folder)
        services.append(table_service)
        return Web(make_app(table_service))

    yield make
    for table_service in services:
        table_service.close()


def send(web, method, params=None, *, headers=None, path=MCP, **more):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}} | more
    return web.post(path, json=message, headers=headers)


def use(web, tool, *, headers=None, path=MCP, **arguments):
    """Call a tool and return its result."""
    params = {"name": tool, "arguments": arguments}
    answer = send(web, "tools/call", params, headers=headers, path=path)
    assert answer.status_code == 200, answer.text
    assert answer.json()["id"] == 1
    result = answer.json()["result"]
    if "structuredContent" in result:
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result


def test_there_is_nothing_at_its_address_unless_the_service_file_says_so(special, opened):
    access = opened.service.access.changed(mcp=False)
    web = special(access=access)
    assert send(web, "tools/list").status_code == 404
    assert read_service(opened.service.path).access.mcp is False
    assert opened.web.get(MCP).status_code == 405
    assert "/mcp" not in opened.web.get("/openapi.json").json()["paths"]


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("question", QUESTIONS, ids=json.dumps)
def test_a_table_a_refusal_and_a_mistake_are_those_of_the_api_word_for_word(
    opened, question, language
):
    web = opened.web
    api = web.post(f"/requests?lang={language}", json=question)
    result = use(web, "ask_table", **question, lang=language)
    assert result["structuredContent"] == api.json()
    assert result["isError"] == (api.status_code != 200)
    again = use(web, "ask_table", path=f"{MCP}?lang={language}", **question)
    assert again["structuredContent"] == api.json()


@pytest.mark.parametrize("form", ["csv", "csv-labels"])
def test_a_table_in_csv_is_the_file_of_the_api(opened, form):
    question = {"dimensions": ["sex", "category"], "format": form}
    result = use(opened.web, "ask_table", **question)
    assert result["content"][0]["text"] == opened.web.post("/requests", json=question).text


def test_a_table_that_is_too_large_is_refused_as_at_its_address(opened):
    names = ["geo", "sex", "category", "age_tree", "zone_2024"]
    query = "&".join(f"valuecodes[{name}]=*" for name in names)
    api = opened.web.get(f"{DATA}?{query}")
    assert api.json()["reason"] == "maximum_cells"
    result = use(opened.web, "ask_table", dimensions=names)
    assert result["structuredContent"] == api.json()
    explained = use(opened.web, "explain_refusal", dimensions=names)["structuredContent"]
    assert explained == {**api.json(), "rules": {"maximum_cells": 100_000}}


def test_the_questions_of_these_tests_have_answers_of_every_kind(opened):
    statuses = [opened.web.post("/requests", json=one).status_code for one in QUESTIONS]
    assert {200, 400, 403, 422} == set(statuses)


def is_part(part, whole):
    """Tell whether a document has nothing that another lacks."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and is_part(value, whole[name]) for name, value in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and all(
            any(is_part(one, other) for other in whole) for one in part
        )
    return part == whole


@pytest.mark.parametrize("language", ["en", "fr"])
def test_variables_are_part_of_the_metadata_of_the_api(opened, language):
    web = opened.web
    metadata = web.get(f"/tables/jobseekers/metadata?lang={language}").json()
    content = use(web, "list_variables", lang=language)["structuredContent"]
    assert is_part(content, metadata)
    assert content["id"] == metadata["id"]
    assert content["size"] == metadata["size"]
    sizes = [len(one["category"]["index"]) for one in content["dimension"].values()]
    assert max(sizes) == 50
    for name, find in (("geo", ""), ("geo.region", ""), ("geo", "1"), ("sex", "F")):
        codelist = web.get(f"/codelists/{name}?lang={language}").json()
        content = use(web, "list_variables", lang=language, variable=name, find=find)
        values = content["structuredContent"]["values"]
        assert is_part(content["structuredContent"], codelist)
        assert 0 < len(values) <= 50
        if find:
            assert len(values) < len(codelist["values"])
    unknown = use(web, "list_variables", lang=language, variable="nobody")
    api = web.get(f"/codelists/nobody?lang={language}")
    assert unknown["structuredContent"] == api.json()


@pytest.mark.parametrize("question", QUESTIONS, ids=json.dumps)
def test_an_explained_refusal_is_that_of_the_api_with_the_limit_that_is_public(
    opened, question
):
    web = opened.web
    api = web.post("/requests", json=question)
    content = use(web, "explain_refusal", **question)["structuredContent"]
    if api.status_code == 200:
        assert content == {"status": 200}
        return
    rules = content.pop("rules", {})
    assert content == api.json()
    assert rules.items() <= web.get("/config").json()["rules"].items()
    assert set(rules) <= {api.json().get("reason")}


def test_both_ways_of_asking_share_one_budget(special, opened):
    limits = opened.service.limits.changed(requests_per_hour=4)
    web = special(limits=limits)
    for _ in range(9):  # free, as at the API
        assert send(web, "tools/list").status_code == 200
        assert not use(web, "list_variables")["isError"]
    question = {"dimensions": ["sex"]}
    assert web.post("/requests", json=question).headers["ratelimit-remaining"] == "3"
    assert not use(web, "ask_table", **question)["isError"]
    use(web, "explain_refusal", **question)
    use(web, "ask_table", dimensions=["nobody"])  # a mistake counts, as at the API
    refused, api = use(web, "ask_table", **question), web.post("/requests", json=question)
    assert api.status_code == 429
    assert refused["isError"]
    told = refused["structuredContent"]
    assert told["type"] == api.json()["type"]
    assert told["detail"].split(";")[0] == api.json()["detail"].split(";")[0]
    assert use(web, "explain_refusal", **question)["structuredContent"]["status"] == 429
    other = Web(web.app, address="203.0.113.77")
    assert not use(other, "ask_table", **question)["isError"]


def test_a_token_is_needed_and_its_role_decides_as_at_the_api(special, opened, tmp_path):
    file = TokenFile(tmp_path / "tokens.json")
    tokens = {role: file.add(role=role, label="it") for role in ("public", "officer")}
    access = opened.service.access.changed(
        mode="tokens", tokens=file.path, filters="officer", mcp=True
    )
    web = special(access=access)
    answer = send(web, "initialize")
    assert answer.status_code == 401
    assert "Bearer" in answer.headers["www-authenticate"]
    question = {"dimensions": ["sex"], "where": "category = 'A'"}
    for role, is_error in (("public", True), ("officer", False)):
        headers = {"Authorization": f"Bearer {tokens[role]}"}
        api = web.post("/requests", json=question, headers=headers)
        result = use(web, "ask_table", headers=headers, **question)
        assert result["isError"] is is_error
        assert result["structuredContent"] == api.json()


def test_the_audit_log_has_the_same_line_for_both(special, opened, tmp_path):
    path = tmp_path / "audit.log"
    web = special(access=opened.service.access.changed(audit=path))
    question = {"dimensions": ["sex", "category"]}
    web.post("/requests", json=question)
    use(web, "ask_table", **question)
    use(web, "explain_refusal", **question)
    use(web, "ask_table", dimensions=["nobody"])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line.pop("time", None)
    assert lines[0] | {"outcome": "repeated"} == lines[1] == lines[2]
    assert lines[3]["outcome"] == "mistake: no_variable"
    assert lines[3]["route"] == MCP


def test_a_client_with_a_handshake_is_served(opened):
    web = opened.web
    for version, told in (("2025-06-18", "2025-06-18"), ("2024-11-05", "2025-11-25")):
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "it"}}
        result = send(web, "initialize", params).json()["result"]
        assert result["protocolVersion"] == told
        assert result["capabilities"] == {"tools": {}}
        assert result["serverInfo"]["name"] == "jobseekers"
        assert "Small noise protects these counts" in result["instructions"]
    notice = web.post(MCP, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (notice.status_code, notice.content) == (202, b"")
    assert send(web, "ping").json()["result"] == {}
    headers = {"MCP-Protocol-Version": "2025-11-25"}
    tools = send(web, "tools/list", headers=headers).json()["result"]
    assert set(tools) == {"tools"}
    assert [tool["name"] for tool in tools["tools"]] == [
        *("list_variables", "ask_table", "explain_refusal"),
    ]
    for tool in tools["tools"]:
        assert tool["inputSchema"]["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool["description"]
        assert "where" in tool["inputSchema"]["properties"] or tool["name"] == "list_variables"
    assert "wait" not in tools["tools"][1]["inputSchema"]["properties"]


def modern(web, method, params=None, **headers):
    names = {"MCP-Protocol-Version": VERSION, "Mcp-Method": method}
    if params and "name" in params:
        names["Mcp-Name"] = params["name"]
    given = {name: text for name, text in (names | headers).items() if text is not None}
    return send(web, method, {"_meta": META, **(params or {})}, headers=given)


def test_a_client_without_a_handshake_is_served(opened):
    web = opened.web
    found = modern(web, "server/discover").json()["result"]
    assert found["resultType"] == "complete"
    assert found["supportedVersions"] == [VERSION, "2025-11-25", "2025-06-18"]
    tools = modern(web, "tools/list").json()["result"]
    assert tools["ttlMs"] > 0
    assert tools["cacheScope"] == "private"
    params = {"name": "ask_table", "arguments": {"dimensions": ["sex"]}}
    result = modern(web, "tools/call", params).json()["result"]
    assert result["resultType"] == "complete"
    api = web.post("/requests", json={"dimensions": ["sex"]})
    assert result["structuredContent"] == api.json()
    gone = modern(web, "ping")
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, -32601)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Mcp-Method": "tools/list"}, -32020),
        ({"Mcp-Method": None}, -32020),
        ({"Mcp-Name": "list_variables"}, -32020),
        ({"MCP-Protocol-Version": None}, -32020),
        ({"MCP-Protocol-Version": "2025-11-25"}, -32020),
    ],
)
def test_headers_that_say_something_else_than_the_body_are_refused(opened, headers, code):
    params = {"name": "ask_table", "arguments": {"dimensions": ["sex"]}}
    answer = modern(opened.web, "tools/call", params, **headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


@pytest.mark.parametrize("is_in_body", [True, False])
def test_a_revision_that_is_not_served_is_answered_with_those_that_are(opened, is_in_body):
    headers = {"MCP-Protocol-Version": "1999-01-01"}
    meta = {"_meta": {next(iter(META)): "1999-01-01"}} if is_in_body else {}
    answer = send(opened.web, "tools/list", meta, headers=headers)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, -32022)
    assert error["data"]["requested"] == "1999-01-01"
    assert VERSION in error["data"]["supported"]


MALFORMED = {
    b"": (-32700, None),
    b"{": (-32700, None),
    b"\xff\xfe": (-32700, None),
    b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}': (-32700, None),
    b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}': (-32700, None),
    b"[" * 5000: (-32700, None),
    b"[]": (-32600, None),
    b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]': (-32600, None),
    b"3": (-32600, None),
    b"null": (-32600, None),
    b"{}": (-32600, None),
    b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}': (-32600, 7),
    b'{"jsonrpc": "2.0", "id": 7}': (-32600, 7),
    b'{"jsonrpc": "2.0", "id": 7, "result": {}}': (-32600, 7),
    b'{"jsonrpc": "2.0", "id": null, "method": "ping"}': (-32600, None),
    b'{"jsonrpc": "2.0", "id": true, "method": "ping"}': (-32600, None),
    b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}': (-32600, None),
    b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}': (-32600, None),
    b'{"jsonrpc": "2.0", "id": "x", "method": 3}': (-32600, "x"),
    b'{"jsonrpc": "2.0", "id": "x", "method": "ping", "params": [1]}': (-32602, "x"),
    b'{"jsonrpc": "2.0", "id": "x", "method": "ping", "params": null}': (-32602, "x"),
    b'{"jsonrpc": "2.0", "id": "x", "method": "resources/list"}': (-32601, "x"),
    b'{"jsonrpc": "2.0", "id": "x", "method": "server/discover"}': (-32601, "x"),
    b'{"jsonrpc": "2.0", "id": "x", "method": "__class__"}': (-32601, "x"),
    b'{"jsonrpc": "2.0", "id": "x", "method": "tools/call"}': (-32602, "x"),
    b'{"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "rm"}}': (
        *(-32602, "x"),
    ),
    b'{"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": []}}': (
        *(-32602, "x"),
    ),
    b'{"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": '
    b'{"name": "ask_table", "arguments": [1]}}': (-32602, "x"),
}


@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: repr(body[:60]))
def test_a_malformed_message_gets_an_error_of_json_rpc(opened, body, caplog):
    code, own_id = MALFORMED[body]
    with caplog.at_level(logging.ERROR):
        answer = opened.web.post(MCP, content=body)
    assert not caplog.records
    assert answer.status_code in {200, 400}
    assert answer.headers["content-type"].startswith("application/json")
    message = answer.json()
    assert message["jsonrpc"] == "2.0"
    assert message["id"] == own_id
    assert message["error"]["code"] == code
    assert "result" not in message
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "arguments", [{"dimensions": 3}, {"lang": "xx"}, {"lang": 7}, {"x": 1}]
)
@pytest.mark.parametrize("tool", ["list_variables", "ask_table", "explain_refusal"])
def test_wrong_arguments_are_told_as_the_api_tells_a_wrong_body(opened, tool, arguments):
    result = use(opened.web, tool, **arguments)
    assert result["isError"]
    assert result["structuredContent"]["status"] in {400, 422}
    assert result["structuredContent"]["type"].startswith("urn:ckm:problem:bad_")


def test_scripts_of_other_sites_may_not_ask(special, opened):
    assert (
        send(opened.web, "ping", headers={"Origin": "https://evil.example"}).status_code == 403
    )
    access = opened.service.access.changed(origins=("https://ours.example",))
    web = special(access=access)
    ours = send(web, "ping", headers={"Origin": "https://ours.example"})
    assert ours.status_code == 200
    other = send(web, "ping", headers={"Origin": "https://evil.example"})
    assert other.status_code == 403
    preflight = web.ask(
        *("OPTIONS", MCP),
        headers={
            "Origin": "https://ours.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "mcp-method, mcp-name, mcp-protocol-version",
        },
    )
    assert preflight.status_code == 200


def test_a_message_larger_than_a_request_may_be_is_refused(opened):
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * 70_000 + b'"}'
    assert opened.web.post(MCP, content=body).status_code == 413
