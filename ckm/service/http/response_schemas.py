"""The shapes of answers, as JSON Schema has them: what the description of the API promises."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_WHOLE = {"type": "integer", "minimum": 0}
_LIST = {"type": "array"}
_TEXTS = {"type": "array", "items": _TEXT}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


_TABLE = _object(
    id=_TEXT, label=_TEXT, description=_TEXT, source=_TEXT, variableNames=_TEXTS, links=_LIST
)
_SIZES = {"version": {"const": "2.0"}, "class": {"const": "dataset"}}
_JOB = _object(
    id=_TEXT,
    status={"enum": ["queued", "running", "done", "blocked", "failed", "cancelled"]},
    links=_LIST,
)
_DATASET = _object(
    **_SIZES, id=_TEXTS, size={"type": "array", "items": _WHOLE}, dimension={"type": "object"}
)

#: Handler → the shape of its JSON.
ANSWERS: dict[str, dict[str, Any]] = {
    "list_tables": _object(
        language=_TEXT,
        tables={"type": "array", "items": _TABLE},
        page=_object(pageNumber=_WHOLE, pageSize=_WHOLE, totalElements=_WHOLE),
        links=_LIST,
    ),
    "get_table": _TABLE,
    "get_metadata": _DATASET,
    "get_codelist": _object(
        id=_TEXT,
        label=_TEXT,
        language=_TEXT,
        values={"type": "array", "items": _object(code=_TEXT, label=_TEXT)},
    ),
    "get_config": _object(
        apiVersion=_TEXT,
        languages=_LIST,
        defaultLanguage=_TEXT,
        maxDataCells=_WHOLE,
        maxCallsPerTimeWindow=_WHOLE,
        dataFormats=_TEXTS,
    ),
    "get_request": _JOB,
    "get_health": _object(status={"const": "ok"}),
    "table": {
        **_DATASET,
        "required": [*_DATASET["required"], "value"],
        "properties": {
            **_DATASET["properties"],
            "value": {"type": "array", "items": {"type": ["number", "null"]}},
        },
    },
}

PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "examples": ["urn:ckm:problem:no_category"]},
        "title": _TEXT,
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": _TEXT,
        "suggestion": _TEXT,
        "reason": _TEXT,
        "dimension": {"type": ["string", "null"]},
        "try": _TEXTS,
    },
}

#: How a caller says who it is.
SECURITY = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token from the office that runs the service.",
    }
}
