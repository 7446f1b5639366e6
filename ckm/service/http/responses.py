"""Send what was made, or what went wrong as RFC 9457 has it, in the caller's language."""

import http
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ckm.service.answering.messages import ClientError, Refusal
from ckm.service.answering.render import Rendered


def answered(
    request: Request, result: Rendered, *, more: dict[str, str] | None = None
) -> Response:
    """Send an answer, or only say that the caller has it already."""
    headers = {
        "ETag": result.etag,
        "Cache-Control": "no-cache",
        "Vary": "Accept-Language, Authorization",
        **result.headers,
        **(more or {}),
    }
    is_read = request.method in {"GET", "HEAD"}
    if is_read and _has_already(request.headers.getlist("if-none-match"), result.etag):
        return Response(status_code=304, headers=headers)
    return Response(result.body, headers=headers, media_type=result.media_type)


def _has_already(header_lines: Sequence[str], etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/") for line in header_lines for tag in line.split(",")]
    return "*" in tags or etag in tags


class ProblemResponse(JSONResponse):
    """A problem."""

    media_type = "application/problem+json"


def _problem(
    status: int, key: str, detail: str, *, headers: Mapping[str, str] | None, **more: Any
) -> ProblemResponse:
    return ProblemResponse(
        {
            "type": f"urn:ckm:problem:{key}",
            "title": http.HTTPStatus(status).phrase,
            "status": status,
            "detail": detail,
            **more,
        },
        status_code=status,
        headers=dict(headers or {}),
    )


def problem_of_mistake(
    client_error: ClientError, language: str, *, headers: Mapping[str, str] | None = None
) -> ProblemResponse:
    """Tell what a caller got wrong."""
    response = {"Content-Language": language, **(headers or {})}
    if client_error.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="ckm"'
    more = {} if client_error.suggestion is None else {"suggestion": client_error.suggestion}
    return _problem(
        client_error.status,
        client_error.key,
        client_error.words(language),
        headers=response,
        **more,
    )


def problem_of_refusal(
    refusal: Refusal, language: str, *, headers: Mapping[str, str] | None = None
) -> ProblemResponse:
    """Tell why a table is not published, and what to try instead."""
    response = refusal.to_json(language)
    return _problem(
        403,
        refusal.reason,
        response["detail"],
        headers={"Content-Language": language, **(headers or {})},
        reason=refusal.reason,
        dimension=refusal.dimension,
        **{"try": response["try"]},
    )
