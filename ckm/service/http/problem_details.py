"""Errors over HTTP: problem details as RFC 9457 has them, in the caller's language."""

from __future__ import annotations

import http
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckm.service.answering.client_error import Mistake
    from ckm.service.answering.refusal import Refusal

__all__ = ["ProblemResponse", "problem_of_mistake", "problem_of_refusal"]


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
    mistake: Mistake, language: str, *, headers: Mapping[str, str] | None = None
) -> ProblemResponse:
    """Tell what a caller got wrong.

    Parameters
    ----------
    mistake, language
        The mistake, and the language of its words.
    headers
        More headers.
    """
    told = {"Content-Language": language, **(headers or {})}
    if mistake.status == 401:
        told["WWW-Authenticate"] = 'Bearer realm="ckm"'
    more = {} if mistake.suggestion is None else {"suggestion": mistake.suggestion}
    return _problem(mistake.status, mistake.key, mistake.words(language), headers=told, **more)


def problem_of_refusal(
    refusal: Refusal, language: str, *, headers: Mapping[str, str] | None = None
) -> ProblemResponse:
    """Tell why a table is not published, and what to try instead.

    Parameters
    ----------
    refusal, language
        The refusal, and the language of its words.
    headers
        More headers.
    """
    told = refusal.to_json(language)
    return _problem(
        403,
        refusal.reason,
        told["detail"],
        headers={"Content-Language": language, **(headers or {})},
        reason=refusal.reason,
        dimension=refusal.dimension,
        **{"try": told["try"]},
    )
