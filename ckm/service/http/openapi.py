"""What the API says about itself: addresses, parameters, answers, examples (OpenAPI 3.1)."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from ckm import __version__
from ckm.formats import FORMATS
from ckm.service.answering.pxweb_selection import CONTENTS
from ckm.service.answering.words.messages import notice_of
from ckm.service.http.request_bodies import RequestBody, SelectionBody, body_schemas
from ckm.service.http.request_parsing import DEEP
from ckm.service.http.response_schemas import ANSWERS, PROBLEM, SECURITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckm.config.service.service import Service
    from ckm.service.http.endpoints import Endpoint

_SCHEMA = "#/components/schemas/"
_TEXT = {"type": "string"}
_WHOLE = {"type": "integer"}
_PROBLEMS = {
    400: "The request is wrong.",
    401: "A valid token is needed.",
    403: "The table is not published, by a rule; or the role does not allow it.",
    404: "There is no such thing.",
    408: "The request took too long to arrive.",
    413: "The request is too large.",
    422: "The body cannot be read.",
    429: "Too many requests in an hour, or in a day.",
    500: "The service made a mistake.",
    503: "The service is busy, or the table took too long.",
}
_ALWAYS = {400, 413, 500, 503}
_RATE: dict[str, Any] = {
    "RateLimit-Policy": {"schema": _TEXT},
    "RateLimit": {"schema": _TEXT},
    "RateLimit-Limit": {"schema": _WHOLE},
    "RateLimit-Remaining": {"schema": _WHOLE},
    "RateLimit-Reset": {"schema": _WHOLE},
}
_LANGUAGE = {
    "Content-Language": {"schema": {"type": "string", "enum": ["en", "fr"]}, "required": True}
}
_ETAG = {"ETag": {"schema": _TEXT, "required": True}}
_OF_STATUS: dict[int, dict[str, Any]] = {
    401: {"WWW-Authenticate": {"schema": _TEXT, "required": True}},
    429: {"Retry-After": {"schema": _WHOLE, "required": True}},
}
_PARAMETERS: dict[str, dict[str, Any]] = {
    "lang": {"schema": _TEXT, "description": "Language."},
    "query": {"schema": {"type": "string", "maxLength": 1000}},
    "pageNumber": {"schema": {"type": "integer", "minimum": 1, "maximum": 1_000_000}},
    "pageSize": {"schema": {"type": "integer", "minimum": 1, "maximum": 1000}},
    "outputFormat": {
        "schema": {"type": "string", "enum": list(FORMATS)},
        "description": "Format of the answer.",
    },
    "filter": {
        "schema": {"type": "string", "maxLength": 20_000},
        "description": "Which persons count, for example: sex = 'F' and age >= 15",
    },
    "heading": {"schema": _TEXT, "description": "Variables that come last, with commas."},
    "stub": {"schema": _TEXT, "description": "Variables that come first, with commas."},
    "valuecodes": {
        "schema": _TEXT,
        "description": "Codes and expressions by variable: valuecodes[sex]=F,M",
    },
    "codelist": {
        "schema": _TEXT,
        "description": "Code list by variable: codelist[geo]=geo.region",
    },
    "outputvalues": {
        "schema": {"type": "string", "enum": ["aggregated", "single"]},
        "description": "single gives the finest categories within those selected.",
    },
}
_BODIES: dict[type, dict[str, Any]] = {
    SelectionBody: {
        "selection": [{"variableCode": "sex", "valueCodes": ["*"]}],
        "placement": {"heading": ["sex"], "stub": []},
    },
    RequestBody: {"dimensions": ["sex"], "margins": "all", "measures": ["count"]},
}


def openapi(endpoints: Sequence[Endpoint], service: Service) -> dict[str, Any]:
    """Return the description of the API."""
    info = {
        "title": service.about.title[service.about.languages[0]],
        "summary": "Protected tables of counts, in the shape of PxWebApi 2.",
        "version": __version__,
    }
    if notice := notice_of(service, service.about.languages[0]):
        info["description"] = notice
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        operations = paths.setdefault(endpoint.path.replace(":path", ""), {})
        operations[endpoint.method.lower()] = _operation(endpoint, service)
    schemas = {"Problem": PROBLEM, "Table": ANSWERS["table"], **body_schemas(_SCHEMA)}
    return {
        "openapi": "3.1.0",
        "info": info,
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": SECURITY},
    }


def _operation(endpoint: Endpoint, service: Service) -> dict[str, Any]:
    summary = inspect.getdoc(endpoint.answer) or ""
    operation: dict[str, Any] = {
        "summary": summary.partition("\n")[0],
        "operationId": endpoint.answer.__name__,
        "parameters": [
            *(_place(name, service) for name in re.findall(r"{(\w+)", endpoint.path)),
            *(_parameter(name, endpoint, service) for name in endpoint.parameters),
        ],
        "responses": _responses(endpoint),
    }
    if endpoint.path != "/health":
        is_open = service.access.mode == "open"
        operation["security"] = [*([{}] if is_open else []), {name: [] for name in SECURITY}]
    if endpoint.body is not None:
        content = {
            "schema": {"$ref": _SCHEMA + endpoint.body.__name__},
            "example": _BODIES[endpoint.body],
        }
        operation["requestBody"] = {"required": True, "content": {"application/json": content}}
    return operation


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    """Return what an address may answer."""
    schema = ANSWERS.get(endpoint.answer.__name__, {})
    content: dict[str, Any] = {"application/json": {"schema": schema}}
    if endpoint.is_table:
        content = {kind.media_type.split(";")[0]: {} for kind in FORMATS.values()}
        content[FORMATS["json-stat2"].media_type] = {"schema": {"$ref": _SCHEMA + "Table"}}
    if endpoint.path == "/metrics":
        content = {"text/plain": {}}
    problem = {"application/problem+json": {"schema": {"$ref": _SCHEMA + "Problem"}}}
    budget = _RATE if endpoint.is_table else {}
    found: dict[str, Any] = {
        str(status): {
            "description": words,
            "content": problem,
            "headers": {**_LANGUAGE, **_OF_STATUS.get(status, {}), **budget},
        }
        for status, words in _PROBLEMS.items()
        if status in _problems_of(endpoint)
    }
    if endpoint.status == 204:
        return {"204": {"description": "Given up."}, **found}
    found["200"] = {"description": "The answer.", "content": content}
    if endpoint.is_cached or endpoint.is_table:
        found["200"]["headers"] = _ETAG | _LANGUAGE
    if endpoint.is_cached:
        found["304"] = {"description": "You have it already.", "headers": _ETAG}
    if endpoint.body is RequestBody:
        found["202"] = {
            "description": "A job; ask at its Location.",
            "content": {"application/json": {"schema": ANSWERS["get_request"]}},
            "headers": {"Location": {"schema": _TEXT, "required": True}},
        }
    return dict(sorted(found.items()))


def _problems_of(endpoint: Endpoint) -> set[int]:
    may = set(_ALWAYS)
    if endpoint.path != "/health":
        may |= {401, 429}
    if endpoint.is_table or endpoint.path == "/metrics":
        may.add(403)
    if "{" in endpoint.path:
        may.add(404)
    if endpoint.body is not None:
        may |= {408, 422}
    return may


def _place(name: str, service: Service) -> dict[str, Any]:
    """Describe a parameter of a path."""
    schema = {"type": "string", "enum": [service.about.id]} if name == "table_id" else _TEXT
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _parameter(name: str, endpoint: Endpoint, service: Service) -> dict[str, Any]:
    """Describe a parameter of a query."""
    schema = _PARAMETERS[name]["schema"]
    if name == "lang":
        schema = {"type": "string", "enum": list(service.about.languages)}
    if name == "outputFormat" and not endpoint.is_table:
        schema = {"type": "string", "enum": ["json-stat2"]}
    if name in DEEP:
        names = [*service.variables, *([CONTENTS] if name == "valuecodes" else [])]
        schema = {
            "type": "object",
            "properties": dict.fromkeys(names, schema),
            "additionalProperties": False,
        }
    style = {"style": "deepObject", "explode": True} if name in DEEP else {}
    of_query = {"name": name, "in": "query", "required": False}
    return of_query | _PARAMETERS[name] | style | {"schema": schema}
