"""Send what was made, or only say that the caller has it already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from ckm.service.answering.render import Rendered


def answered(
    request: Request, made: Rendered, *, more: dict[str, str] | None = None
) -> Response:
    """Send an answer, or only say that the caller has it already."""
    headers = {
        "ETag": made.etag,
        "Cache-Control": "no-cache",
        "Vary": "Accept-Language, Authorization",
        **made.headers,
        **(more or {}),
    }
    is_read = request.method in {"GET", "HEAD"}
    if is_read and _has_already(request.headers.getlist("if-none-match"), made.etag):
        return Response(status_code=304, headers=headers)
    return Response(made.body, headers=headers, media_type=made.media_type)


def _has_already(given: Sequence[str], etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/") for line in given for tag in line.split(",")]
    return "*" in tags or etag in tags
