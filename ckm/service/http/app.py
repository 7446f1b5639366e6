"""The HTTP API: the shape of PxWebApi 2, and requests in the words of a job file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.routing import Route

from ckm.config.service.sections import RECONSTRUCTION
from ckm.service.answering.messages import ClientError
from ckm.service.http.endpoints import ENDPOINTS
from ckm.service.http.middleware import RequestLimits
from ckm.service.http.openapi import openapi
from ckm.service.http.request_context import RequestContext
from ckm.service.page import Page

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from ckm.service.table_service import TableService

_EXPOSED = [
    "ETag",
    "RateLimit",
    "RateLimit-Policy",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "Retry-After",
    "CKM-Withheld",
    "CKM-Notice",
]


def make_app(table_service: TableService) -> ASGIApp:
    """Make the application of a service."""
    service = table_service.service
    context = RequestContext(table_service)
    description = openapi(ENDPOINTS, service)

    async def describe(_: Request) -> JSONResponse:
        return JSONResponse(description)

    app = Starlette(
        routes=[
            Route("/openapi.json", describe),
            *(endpoint.route(context) for endpoint in ENDPOINTS),
            *Page(context).routes(),
        ],
        exception_handlers={
            HTTPException: context.not_served,
            **dict.fromkeys((ClientError, ClientDisconnect, Exception), context.mistaken),
        },
    )
    app.router.redirect_slashes = False
    made: ASGIApp = app
    if service.access.origins:
        made = CORSMiddleware(
            made,
            allow_origins=list(service.access.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "If-None-Match"],
            expose_headers=_EXPOSED,
        )
    return RequestLimits(
        made,
        languages=service.about.languages,
        max_bytes=service.limits.request_bytes,
        seconds=service.limits.seconds,
        metrics=table_service.metrics,
        notice=RECONSTRUCTION if service.access.accepts_reconstruction else "",
    )
