"""The Model Context Protocol: what the API answers, as three tools for language models.

Every answer is one that the API gives to the same caller, from the same table service: the
same bytes of tables, the same words of refusals, the same budget, the same line in the audit
log. Nothing is told here that is not told there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from pydantic import Field
from starlette.responses import JSONResponse, Response

from ckm.service.answering.messages import ClientError, Refusal, say
from ckm.service.answering.render import Rendered
from ckm.service.http.json_rpc import (
    INVALID_PARAMS,
    LEGACY,
    METHOD_NOT_FOUND,
    MODERN,
    RpcError,
    RpcRequest,
    read_request,
)
from ckm.service.http.request_bodies import TableBody, TextBody, validated
from ckm.service.http.request_context import Call
from ckm.service.http.responses import mistake_content, refusal_content
from ckm.service.http.routes.metadata import metadata_content, part_of_codelist
from ckm.service.http.routes.tables import asked_of
from footing.version import engine_version
from tables.deadline import Deadline

_LIMIT = 50  # categories that are listed at once
_CACHED_MS = 60_000

Content = dict[str, Any]


class VariablesCall(TextBody):
    """What is asked of the variables."""

    variable: str | None = Field(
        default=None, max_length=2000, description="A variable, or the id of a code list."
    )
    find: str | None = Field(
        default=None, max_length=100, description="A text in the names or codes wanted."
    )


class TableCall(TextBody, TableBody):
    """A table in the words of a job file."""

    format: Literal["json-stat2", "csv", "csv-labels"] = Field(
        default="json-stat2", description="Format of the answer."
    )


class RefusalCall(TextBody, TableBody):
    """A table that was refused."""


async def post_mcp(call: Call) -> Response:
    """Answer a message of the Model Context Protocol."""
    _require_origin(call)
    raw = await call.request.body()
    status, content = 200, None
    try:
        request = read_request(raw, call.request.headers, call.language)
        if request.id is None:  # a notification: nothing is kept, so there is nothing to note
            return Response(status_code=202)
        content = request.result(await _answer(call, request))
    except RpcError as error:
        status, content = error.status, error.to_json()
    headers = {
        "Cache-Control": "no-store",
        "Content-Language": call.language,
        **call.context.budget_headers(call.request),
    }
    return JSONResponse(content, status, headers)


def _require_origin(call: Call) -> None:
    """Refuse scripts of other web sites, whose readers might not know that they ask."""
    origin = call.request.headers.get("origin")
    origins = call.table_service.service.access.origins
    if origin is not None and origin not in origins and "*" not in origins:
        raise ClientError("no_origin")


async def _answer(call: Call, request: RpcRequest) -> Content:
    """Return the result of a request."""
    if request.method == "tools/list":
        cached = {"ttlMs": _CACHED_MS, "cacheScope": "private"} if request.is_modern else {}
        return {"tools": _tools(call), **cached}
    if request.method == "tools/call":
        return await _call_tool(call, request)
    if request.method == "server/discover" and request.is_modern:
        cached = {"ttlMs": _CACHED_MS, "cacheScope": "private"}
        return {"supportedVersions": [*MODERN, *LEGACY], **_server(call), **cached}
    if request.method == "initialize" and not request.is_modern:
        version = request.params.get("protocolVersion")
        own = version if version in LEGACY else LEGACY[0]
        return {"protocolVersion": own, **_server(call)}
    if request.method == "ping" and not request.is_modern:
        return {}
    raise request.error(METHOD_NOT_FOUND)


def _server(call: Call) -> Content:
    about = call.table_service.service.about
    title = about.title[call.language]
    return {
        "capabilities": {"tools": {}},
        "serverInfo": {"name": about.id, "title": title, "version": engine_version()},
        "instructions": " ".join(
            (
                say("mcp_service", call.language, title=title),
                say(call.table_service.service.method, call.language),
            )
        ),
    }


def _tools(call: Call) -> list[Content]:
    models: dict[str, type[TextBody]] = {
        "list_variables": VariablesCall,
        "ask_table": TableCall,
        "explain_refusal": RefusalCall,
    }
    return [
        {
            "name": name,
            "description": say(f"mcp_{name}", call.language, limit=_LIMIT),
            "inputSchema": model.model_json_schema(),
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }
        for name, model in models.items()
    ]


async def _call_tool(call: Call, request: RpcRequest) -> Content:
    """Return what a tool answers; what is wrong or refused is told as the API does."""
    name, arguments = request.params.get("name"), request.params.get("arguments", {})
    tools: Mapping[Any, Callable[[Call, Any], Any]] = {
        "list_variables": _list_variables,
        "ask_table": _ask_table,
        "explain_refusal": _explain_refusal,
    }
    tool = tools.get(name) if isinstance(name, str) else None
    if tool is None or not isinstance(arguments, dict):
        raise request.error(INVALID_PARAMS, {"tools": list(tools)})
    language = arguments.get("lang")
    if language in call.table_service.service.about.languages:
        call = replace(call, language=language)
    try:
        content: Content = await tool(call, arguments)
    except ClientError as client_error:
        call.context.note_mistake(call.request, client_error)
        return _said(mistake_content(client_error, call.language), is_error=True)
    return content


async def _list_variables(call: Call, arguments: Content) -> Content:
    body = validated(arguments, VariablesCall)
    _require_language(call, body)
    describe = partial(_variables, call, body)
    return _said(await call.context.work(call.request, lambda _: describe()))


def _variables(call: Call, body: VariablesCall) -> Content:
    """Return the metadata, or a code list, with some categories of each variable."""
    if body.variable is not None:
        return part_of_codelist(call, body.variable, find=body.find or "", limit=_LIMIT)
    key = "mcp variables", call.language
    result = call.table_service.rendered.get(key)
    if result is None:
        document = metadata_content(call)
        for dimension in document["dimension"].values():
            category = dimension["category"]
            for part in ("index", "label"):
                category[part] = dict(list(category[part].items())[:_LIMIT])
        result = Rendered.of(json.dumps(document).encode(), "application/json", {})
        call.table_service.rendered.put(key, result)
    document = json.loads(result.body)
    return dict(document)


async def _ask_table(call: Call, arguments: Content) -> Content:
    await call.context.charge(call.request, call.caller, cost=1)
    body = validated(arguments, TableCall)
    result = await _result(call, body, body.format)
    if isinstance(result, Refusal):
        return _said(refusal_content(result, call.language), is_error=True)
    text = result.body.decode()
    if body.format != "json-stat2":
        return {"content": [{"type": "text", "text": text}], "isError": False}
    return _said(json.loads(text))


async def _explain_refusal(call: Call, arguments: Content) -> Content:
    await call.context.charge(call.request, call.caller, cost=1)
    body = validated(arguments, RefusalCall)
    result = await _result(call, body, "json-stat2")
    if isinstance(result, Rendered):
        return _said({"status": 200})
    rules = {k: v for k, v in call.table_service.service.rules if k == result.reason}
    content = refusal_content(result, call.language)
    return _said(content | ({"rules": rules} if rules else {}))


async def _result(call: Call, body: TableBody, form: str) -> Rendered | Refusal:
    _require_language(call, body)

    def serve(deadline: Deadline) -> Rendered | Refusal:
        return call.serve(asked_of(call.table_service, body), form, deadline)

    return await call.context.work(call.request, serve)


def _require_language(call: Call, body: Any) -> None:
    languages = call.table_service.service.about.languages
    if body.lang is not None and body.lang not in languages:
        raise ClientError("bad_parameter", name="lang", choices=languages)


def _said(content: Content, *, is_error: bool = False) -> Content:
    """Return a result of a tool: the content for programs, and as a text."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": content,
        "isError": is_error,
    }
