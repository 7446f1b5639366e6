"""What the API says about itself: routes, parameters, answers, examples (OpenAPI 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckm.formats import FORMATS
from ckm.service.answering.words.messages import notice_of
from ckm.service.http.request_bodies import RequestBody, SelectionBody
from ckm.service.http.response_schemas import ANSWERS, PROBLEM, SECURITY
from ckm.service.http.routes.pxweb_metadata import CONTENTS

if TYPE_CHECKING:
    from ckm.config.service.build import Service

__all__ = ["ROUTES", "SUMMARY", "Route", "details", "finished", "responses"]

SUMMARY = "Protected tables of counts, in the shape of PxWebApi 2."


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A route of the API."""

    method: str
    path: str
    handler: str
    summary: str
    status: int = 200
    is_table: bool = False
    is_cached: bool = True
    parameters: tuple[str, ...] = ("lang",)
    body: type[SelectionBody | RequestBody] | None = None


ROUTES = (
    Route(
        method="GET",
        path="/tables",
        handler="list_tables",
        summary="List the tables.",
        parameters=("lang", "query", "pageNumber", "pageSize"),
    ),
    Route(
        method="GET",
        path="/tables/{table_id}",
        handler="get_table",
        summary="Describe a table.",
    ),
    Route(
        method="GET",
        path="/tables/{table_id}/metadata",
        handler="get_metadata",
        summary="Describe the variables of a table, as JSON-stat without values.",
        parameters=("lang", "outputFormat"),
    ),
    Route(
        method="GET",
        path="/codelists/{codelist_id:path}",
        handler="get_codelist",
        summary="List the categories of a variable, or of one of its levels.",
    ),
    Route(
        method="GET",
        path="/tables/{table_id}/data",
        handler="get_data",
        summary="Select from a table, by address.",
        is_table=True,
        parameters=(
            "lang",
            "outputFormat",
            "filter",
            "heading",
            "stub",
            "valuecodes",
            "codelist",
            "outputvalues",
        ),
    ),
    Route(
        method="POST",
        path="/tables/{table_id}/data",
        handler="post_data",
        is_cached=False,
        summary="Select from a table, by body.",
        is_table=True,
        parameters=("lang", "outputFormat", "filter"),
        body=SelectionBody,
    ),
    Route(method="GET", path="/config", handler="get_config", summary="Limits and abilities."),
    Route(
        method="POST",
        path="/requests",
        handler="post_request",
        is_cached=False,
        summary="Ask for a table in the words of a job file; a large one becomes a job.",
        is_table=True,
        body=RequestBody,
    ),
    Route(
        method="GET",
        path="/requests/{request_id}",
        handler="get_request",
        is_cached=False,
        summary="Tell how far a job is.",
    ),
    Route(
        method="GET",
        path="/requests/{request_id}/result",
        handler="get_result",
        summary="Fetch the table of a job.",
        is_table=True,
    ),
    Route(
        method="DELETE",
        path="/requests/{request_id}",
        handler="delete_request",
        is_cached=False,
        summary="Give a job up.",
        status=204,
    ),
    Route(
        method="GET",
        path="/health",
        handler="get_health",
        is_cached=False,
        summary="Tell that the service is up.",
        parameters=(),
    ),
    Route(
        method="GET",
        path="/metrics",
        handler="get_metrics",
        is_cached=False,
        summary="Figures about the service, for Prometheus.",
        parameters=(),
    ),
)

_TEXT = {"type": "string"}
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
_RATE = {
    **{name: {"schema": _TEXT} for name in ("RateLimit-Policy", "RateLimit")},
    **{
        name: {"schema": {"type": "integer"}}
        for name in ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
    },
}
_LANGUAGE = {
    "Content-Language": {"schema": {"type": "string", "enum": ["en", "fr"]}, "required": True}
}
_ETAG = {"ETag": {"schema": _TEXT, "required": True}}
_OF_STATUS: dict[int, dict[str, Any]] = {
    401: {"WWW-Authenticate": {"schema": _TEXT, "required": True}},
    429: {"Retry-After": {"schema": {"type": "integer"}, "required": True}},
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
        "style": "deepObject",
        "explode": True,
        "description": "Codes and expressions by variable: valuecodes[sex]=F,M",
    },
    "codelist": {
        "schema": _TEXT,
        "style": "deepObject",
        "explode": True,
        "description": "Code list by variable: codelist[geo]=geo.region",
    },
    "outputvalues": {
        "schema": {"type": "string", "enum": ["aggregated", "single"]},
        "style": "deepObject",
        "explode": True,
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


def responses(route: Route) -> dict[int | str, dict[str, Any]]:
    """Return what a route may answer.

    Parameters
    ----------
    route
        The route.
    """
    content: dict[str, Any] = {"application/json": {"schema": ANSWERS.get(route.handler, {})}}
    if route.is_table:
        content = {kind.media_type.split(";")[0]: {} for kind in FORMATS.values()}
        content[FORMATS["json-stat2"].media_type] = {"schema": ANSWERS["table"]}
    if route.path == "/metrics":
        content = {"text/plain": {}}
    response: dict[int | str, dict[str, Any]] = {
        status: {
            "description": words,
            "content": {"application/problem+json": {"schema": PROBLEM}},
            "headers": {
                **_LANGUAGE,
                **_OF_STATUS.get(status, {}),
                **(_RATE if route.is_table else {}),
            },
        }
        for status, words in _PROBLEMS.items()
        if status in _problems_of(route)
    }
    if route.status == 204:
        return {204: {"description": "Given up."}, **response}
    response[200] = {"description": "The answer.", "content": content}
    if route.is_cached or route.is_table:
        response[200]["headers"] = _ETAG | _LANGUAGE
    if route.is_cached:
        response[304] = {"description": "You have it already.", "headers": _ETAG}
    if route.handler == "post_request":
        response[202] = {
            "description": "A job; ask at its Location.",
            "content": {"application/json": {"schema": ANSWERS["get_request"]}},
            "headers": {"Location": {"schema": _TEXT, "required": True}},
        }
    return response


def _problems_of(route: Route) -> set[int]:
    may = set(_ALWAYS)
    if route.path != "/health":
        may |= {401, 429}
    if route.is_table or route.path == "/metrics":
        may.add(403)
    if "{" in route.path:
        may.add(404)
    if route.body is not None:
        may |= {408, 422}
    return may


def details(route: Route, service: Service) -> dict[str, Any]:
    """Return the parameters and the body of a route.

    Parameters
    ----------
    route
        The route.
    service
        The service, whose variables and languages are named.
    """
    more: dict[str, Any] = {
        "parameters": [_parameter(name, route, service) for name in route.parameters]
    }
    if route.path != "/health":
        is_open = service.access.mode == "open"
        more["security"] = [*([{}] if is_open else []), {name: [] for name in SECURITY}]
    if route.body is not None:
        schema = route.body.model_json_schema(ref_template="#/components/schemas/{model}")
        schema = _inlined(schema, schema.pop("$defs", {}))
        more["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema, "example": _BODIES[route.body]}},
        }
    return more


def finished(document: dict[str, Any], service: Service) -> dict[str, Any]:
    """Return a description without what the framework adds of itself.

    Parameters
    ----------
    document
        The description, as the framework makes it of the routes.
    service
        The service, whose table is named.
    """
    paths = {
        path: {method: _ours(operation, service) for method, operation in operations.items()}
        for path, operations in document["paths"].items()
    }
    info = dict(document["info"])
    if notice := notice_of(service, service.languages[0]):
        info["description"] = notice
    made = {"info": info, "paths": paths, "components": {"securitySchemes": SECURITY}}
    return {**document, **made}


def _ours(operation: dict[str, Any], service: Service) -> dict[str, Any]:
    """Drop the answer 422 of the framework, where the route has none of its own."""
    answers = {
        status: answer
        for status, answer in operation["responses"].items()
        if status != "422" or "application/problem+json" in answer["content"]
    }
    parameters = [
        {**p, "schema": {"type": "string", "enum": [service.id]}}
        if p["name"] == "table_id"
        else p
        for p in operation.get("parameters", ())
    ]
    return {**operation, "parameters": parameters, "responses": answers}


def _parameter(name: str, route: Route, service: Service) -> dict[str, Any]:
    response = {"name": name, "in": "query", "required": False, **_PARAMETERS[name]}
    if name == "lang":
        response["schema"] = {"type": "string", "enum": list(service.languages)}
    if name == "outputFormat" and not route.is_table:
        response["schema"] = {"type": "string", "enum": ["json-stat2"]}
    if response.get("style") == "deepObject":
        names = list(service.variables)
        if name == "valuecodes":
            names.append(CONTENTS)
        response["schema"] = {
            "type": "object",
            "properties": dict.fromkeys(names, response["schema"]),
            "additionalProperties": False,
        }
    return response


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """Put definitions where they are referred to."""
    if isinstance(schema, dict):
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        if name in definitions:
            return _inlined(definitions[name], definitions)
        return {key: _inlined(value, definitions) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_inlined(value, definitions) for value in schema]
    return schema
