"""Routes that describe what there is: tables, variables, code lists, limits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ckm.service.answering.client_error import ClientError
from ckm.service.answering.pxweb_selection import codelists_of
from ckm.service.answering.render import Rendered, etag_of
from ckm.service.http.request_parsing import format_of
from ckm.service.http.responses import answered
from ckm.service.http.routes import pxweb_metadata as pxweb

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.responses import Response

    from ckm.service.http.request_context import Call

__all__ = ["get_codelist", "get_config", "get_metadata", "get_table", "list_tables"]


async def list_tables(call: Call) -> Response:
    """List the tables."""
    plain = call.parameters.plain
    page = _whole(plain, "pagenumber", default=1, most=10**6)
    size = _whole(plain, "pagesize", default=20, most=1000)
    query = plain.get("query", "")
    if len(query) > 1000:
        raise ClientError("bad_parameter", name="query")
    listed = pxweb.table_list(
        call.table_service, language=call.language, query=query, page=page, size=size
    )
    return answered(call.request, _json(listed, call.language))


async def get_table(call: Call) -> Response:
    """Describe a table."""
    described = pxweb.table(call.table_service, language=call.language)
    return answered(call.request, _json(described, call.language))


async def get_metadata(call: Call) -> Response:
    """Describe the variables of a table, as JSON-stat without values."""
    if format_of(call.parameters.plain.get("outputformat")) != "json-stat2":
        raise ClientError("bad_parameter", name="outputFormat", known=["json-stat2"])
    return _once(
        call, "metadata", lambda: pxweb.metadata(call.table_service, language=call.language)
    )


async def get_codelist(call: Call) -> Response:
    """List the categories of a variable, or of one of its levels."""
    name = call.request.path_params["codelist_id"]
    variables = call.table_service.variables.values()
    variable = next((v for v in variables if name in codelists_of(v)), None)
    if variable is None:
        known = [listed for v in variables for listed in codelists_of(v)]
        raise ClientError("no_codelist", name=name, known=known)
    return _once(
        call,
        f"codelist {name}",
        lambda: pxweb.codelist(call.table_service, variable, name=name, language=call.language),
    )


async def get_config(call: Call) -> Response:
    """Limits and abilities."""
    return answered(call.request, _json(pxweb.config(call.table_service), call.language))


def _once(call: Call, name: str, describe: Callable[[], Any]) -> Response:
    """Answer with a description that takes time, which is written once."""
    key = name, call.language
    made = call.table_service.rendered.get(key)
    if made is None:
        made = _json(describe(), call.language)
        call.table_service.rendered.put(key, made)
    return answered(call.request, made)


def _json(document: Any, language: str) -> Rendered:
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return Rendered(
        body=body,
        media_type="application/json",
        etag=etag_of(body),
        headers={"Content-Language": language},
    )


def _whole(plain: Mapping[str, str], name: str, *, default: int, most: int) -> int:
    text = plain.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise ClientError("bad_parameter", name=name)
    return int(text)
