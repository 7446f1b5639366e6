"""What the API says about itself: addresses, parameters, answers, examples (OpenAPI 3.1)."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from ckm.formats import FORMATS
from ckm.service.answering.catalogue import MEDIA_TYPE
from ckm.service.answering.messages import notice_of
from ckm.service.answering.pxweb_selection import CONTENTS
from ckm.service.http.request_bodies import RequestBody, body_schemas
from ckm.service.http.request_parsing import DEEP
from footing.data_files import read_data
from footing.version import engine_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckm.config.service.service import Service
    from ckm.service.http.app import Endpoint
    from ckm.service.http.openapi_examples import Examples

_SCHEMA = "#/components/schemas/"
_SAID = read_data("ckm.service.http", "openapi.toml")
_PARAMETERS: dict[str, dict[str, Any]] = _SAID["parameters"]
_HEADERS, _ANSWERS = _SAID["headers"], _SAID["answers"]
_ANSWERS["get_table"] = _ANSWERS["list_tables"]["properties"]["tables"]["items"]
_ALWAYS = {400, 413, 500, 503}


def openapi(
    endpoints: Sequence[Endpoint], service: Service, examples: Examples
) -> dict[str, Any]:
    """Return the description of the API."""
    info = {
        "title": service.about.title[service.about.languages[0]],
        "summary": "Protected tables of counts, in the shape of PxWebApi 2.",
        "version": engine_version(),
    }
    if notice := notice_of(service, service.about.languages[0]):
        info["description"] = notice
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        operations = paths.setdefault(endpoint.path.replace(":path", ""), {})
        operations[endpoint.method.lower()] = _operation(endpoint, service, examples)
    schemas = {**_SAID["schemas"], **body_schemas(_SCHEMA)}
    return {
        "openapi": "3.1.0",
        "info": info,
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": _SAID["security"]},
    }


def _operation(endpoint: Endpoint, service: Service, examples: Examples) -> dict[str, Any]:
    summary = inspect.getdoc(endpoint.answer) or ""
    operation: dict[str, Any] = {
        "summary": summary.partition("\n")[0],
        "operationId": endpoint.answer.__name__,
        "parameters": [
            *(
                _place(name, service) | _example(name, examples)
                for name in re.findall(r"{(\w+)", endpoint.path)
            ),
            *(
                _parameter(name, endpoint, service) | _example(name, examples)
                for name in endpoint.parameters
            ),
        ],
        "responses": _responses(endpoint),
    }
    if endpoint.path != "/health":
        is_open = service.access.mode == "open"
        operation["security"] = [
            *([{}] if is_open else []),
            {name: [] for name in _SAID["security"]},
        ]
    if endpoint.body is not None:
        content: dict[str, Any] = {"schema": {"$ref": _SCHEMA + endpoint.body.__name__}}
        if bodies := examples.bodies[endpoint.body.__name__]:
            content["examples"] = {name: {"value": body} for name, body in bodies.items()}
        operation["requestBody"] = {"required": True, "content": {"application/json": content}}
    return operation


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    """Return what an address may answer."""
    schema = _ANSWERS.get(endpoint.answer.__name__, {})
    content: dict[str, Any] = {"application/json": {"schema": schema}}
    if endpoint.is_table:
        content = {kind.media_type.split(";")[0]: {} for kind in FORMATS.values()}
        content[FORMATS["json-stat2"].media_type] = {"schema": {"$ref": _SCHEMA + "Table"}}
    if endpoint.path == "/metrics":
        content = {"text/plain": {}}
    if endpoint.path == "/catalogue":
        content = {MEDIA_TYPE: {"schema": schema}}
    problem = {"application/problem+json": {"schema": {"$ref": _SCHEMA + "Problem"}}}
    budget = _HEADERS["budget"] if endpoint.is_table else {}
    responses: dict[str, Any] = {
        status: {
            "description": words,
            "content": problem,
            "headers": {**_HEADERS["language"], **_HEADERS.get(status, {}), **budget},
        }
        for status, words in _SAID["problems"].items()
        if int(status) in _problems_of(endpoint)
    }
    if endpoint.status == 204:
        return {"204": {"description": "Given up."}, **responses}
    responses["200"] = {"description": "The answer.", "content": content}
    if endpoint.is_cached or endpoint.is_table:
        responses["200"]["headers"] = _HEADERS["etag"] | _HEADERS["language"]
    if endpoint.is_cached:
        responses["304"] = {"description": "You have it already.", "headers": _HEADERS["etag"]}
    if endpoint.body is RequestBody:
        responses["202"] = {
            "description": "A job; ask at its Location.",
            "content": {"application/json": {"schema": _ANSWERS["get_request"]}},
            "headers": _HEADERS["202"],
        }
    return dict(sorted(responses.items()))


def _problems_of(endpoint: Endpoint) -> set[int]:
    may = set(_ALWAYS)
    if endpoint.path != "/health":
        may |= {401, 429}
    if endpoint.is_table or endpoint.path == "/metrics":
        may.add(403)
    if endpoint.is_table and endpoint.path != "/requests/{request_id}/result":
        may.add(406)
    if "{" in endpoint.path:
        may.add(404)
    if endpoint.body is not None:
        may |= {408, 422}
    return may


def _example(name: str, examples: Examples) -> dict[str, Any]:
    """Return the example of a parameter, where it has one."""
    values = examples.parameters
    return {"example": values[name]} if name in values else {}


def _place(name: str, service: Service) -> dict[str, Any]:
    """Describe a parameter of a path."""
    schema: dict[str, Any] = {"type": "string"}
    if name == "table_id":
        schema["enum"] = [service.about.id]
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _parameter(name: str, endpoint: Endpoint, service: Service) -> dict[str, Any]:
    """Describe a parameter of a query."""
    schema = _PARAMETERS[name]["schema"]
    if name == "lang":
        schema = {**schema, "enum": list(service.about.languages)}
    if name == "population" and service.populations:
        schema = {**schema, "enum": list(service.populations)}
    if name == "outputFormat":
        schema = {**schema, "enum": list(FORMATS) if endpoint.is_table else ["json-stat2"]}
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
