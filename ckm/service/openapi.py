"""What the API says about itself: routes, parameters, answers, examples (OpenAPI 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ckm.formats import FORMATS
from ckm.service.bodies import RequestBody, SelectionBody

__all__ = ["ROUTES", "SUMMARY", "Route", "details", "responses"]

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
        summary="Ask for a table in the words of a job file; a large one becomes a job.",
        is_table=True,
        body=RequestBody,
    ),
    Route(
        method="GET",
        path="/requests/{request_id}",
        handler="get_request",
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
        summary="Give a job up.",
        status=204,
    ),
    Route(
        method="GET",
        path="/health",
        handler="get_health",
        summary="Tell that the service is up.",
        parameters=(),
    ),
    Route(
        method="GET",
        path="/metrics",
        handler="get_metrics",
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
    405: "The method is not allowed.",
    408: "The request took too long to arrive.",
    413: "The request is too large.",
    422: "The body cannot be read.",
    429: "Too many requests in an hour, or in a day.",
    500: "The service made a mistake.",
    503: "The service is busy, or the table took too long.",
}
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "examples": ["urn:ckm:problem:no_category"]},
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "suggestion": _TEXT,
        "reason": _TEXT,
        "dimension": {"type": ["string", "null"]},
        "try": {"type": "array", "items": _TEXT},
    },
}
_RATE = {
    **{name: {"schema": _TEXT} for name in ("RateLimit-Policy", "RateLimit")},
    **{
        name: {"schema": {"type": "integer"}}
        for name in ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
    },
}
_DEEP = {"type": "object", "additionalProperties": _TEXT}
_PARAMETERS: dict[str, dict[str, Any]] = {
    "lang": {"schema": {"type": "string", "enum": ["en", "fr"]}, "description": "Language."},
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
        "schema": _DEEP,
        "style": "deepObject",
        "explode": True,
        "description": "Codes and expressions by variable: valuecodes[sex]=F,M",
    },
    "codelist": {
        "schema": _DEEP,
        "style": "deepObject",
        "explode": True,
        "description": "Code list by variable: codelist[geo]=geo.region",
    },
    "outputvalues": {
        "schema": {
            "type": "object",
            "additionalProperties": {"type": "string", "enum": ["aggregated", "single"]},
        },
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
    content: dict[str, Any] = {"application/json": {}}
    if route.is_table:
        content = {kind.media_type.split(";")[0]: {} for kind in FORMATS.values()}
    if route.path == "/metrics":
        content = {"text/plain": {}}
    told: dict[int | str, dict[str, Any]] = {
        status: {
            "description": words,
            "content": {"application/problem+json": {"schema": _PROBLEM}},
            **({"headers": _RATE} if route.is_table else {}),
        }
        for status, words in _PROBLEMS.items()
    }
    if route.status == 204:
        return {204: {"description": "Given up."}, **told}
    told[200] = {"description": "The answer.", "content": content}
    told[304] = {"description": "You have it already."}
    if route.handler == "post_request":
        told[202] = {
            "description": "A job; ask at its Location.",
            "content": {"application/json": {}},
            "headers": {"Location": {"schema": _TEXT}},
        }
    return told


def details(route: Route, table_id: str) -> dict[str, Any]:
    """Return the parameters and the body of a route.

    Parameters
    ----------
    route
        The route.
    table_id
        The table, for examples.
    """
    more: dict[str, Any] = {
        "parameters": [
            {"name": name, "in": "query", "required": False, **_PARAMETERS[name]}
            for name in route.parameters
        ]
    }
    if "{table_id}" in route.path:
        more["description"] = f"For example with table_id = {table_id}."
    if route.body is not None:
        schema = route.body.model_json_schema(ref_template="#/components/schemas/{model}")
        schema = _inlined(schema, schema.pop("$defs", {}))
        more["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema, "example": _BODIES[route.body]}},
        }
    return more


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
