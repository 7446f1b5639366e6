"""Send what was made, or what went wrong as RFC 9457 has it, in the caller's language."""

import http
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ckm.service.answering.messages import ClientError, Refusal
from ckm.service.answering.render import Rendered

_REFUSED = 403


def answered(
    request: Request, result: Rendered, *, more: dict[str, str] | None = None
) -> Response:
    """Send an answer, or only say that the caller has it already."""
    headers = {
        "ETag": result.etag,
        "Cache-Control": "no-cache",
        "Vary": "Accept, Accept-Language, Authorization",
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


def mistake_content(client_error: ClientError, language: str) -> dict[str, Any]:
    """Return what a caller got wrong, as RFC 9457 has it."""
    more = {} if client_error.suggestion is None else {"suggestion": client_error.suggestion}
    return {
        "type": f"urn:ckm:problem:{client_error.key}",
        "title": http.HTTPStatus(client_error.status).phrase,
        "status": client_error.status,
        "detail": client_error.words(language),
        **more,
    }


def refusal_content(refusal: Refusal, language: str) -> dict[str, Any]:
    """Return why a table is not published, and what to try instead, as RFC 9457 has it."""
    response = refusal.to_json(language)
    return {
        "type": f"urn:ckm:problem:{refusal.reason}",
        "title": http.HTTPStatus(_REFUSED).phrase,
        "status": _REFUSED,
        "detail": response["detail"],
        "reason": refusal.reason,
        "dimension": refusal.dimension,
        "try": response["try"],
    }


def problem_of_mistake(
    client_error: ClientError, language: str, *, headers: Mapping[str, str] | None = None
) -> ProblemResponse:
    """Tell what a caller got wrong."""
    response = {"Content-Language": language, **(headers or {})}
    if client_error.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="ckm"'
    content = mistake_content(client_error, language)
    return ProblemResponse(content, status_code=client_error.status, headers=response)


def problem_of_refusal(
    refusal: Refusal, language: str, *, headers: Mapping[str, str] | None = None
) -> ProblemResponse:
    """Tell why a table is not published, and what to try instead."""
    return ProblemResponse(
        refusal_content(refusal, language),
        status_code=_REFUSED,
        headers={"Content-Language": language, **(headers or {})},
    )
