"""The HTTP API: the shape of PxWebApi 2, and requests in the words of a job file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from ckm import __version__
from ckm.config.service.service import RECONSTRUCTION
from ckm.service.answering.client_error import ClientError
from ckm.service.http import openapi
from ckm.service.http.middleware import RequestLimits
from ckm.service.http.request_context import RequestContext
from ckm.service.http.request_parsing import is_local, parameters_of
from ckm.service.http.routes.data import Selections
from ckm.service.http.routes.jobs import Requests
from ckm.service.http.routes.metadata import Descriptions
from ckm.service.page import Page

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from ckm.service.table_service import TableService

__all__ = ["make_app"]

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
    """Make the application of a service.

    Parameters
    ----------
    table_service
        Where requests are answered.
    """
    service = table_service.service
    app = FastAPI(
        title=service.title[service.languages[0]],
        version=__version__,
        summary=openapi.SUMMARY,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    context = RequestContext(table_service)
    groups = (
        Descriptions(context),
        Selections(context),
        Requests(context),
        _Operation(context),
    )
    for route in openapi.ROUTES:
        app.add_api_route(
            route.path,
            next(getattr(g, route.handler) for g in groups if hasattr(g, route.handler)),
            methods=[route.method],
            summary=route.summary,
            responses=openapi.responses(route),
            openapi_extra=openapi.details(route, service),
            operation_id=route.handler,
            response_class=Response,
            status_code=route.status,
        )
    Page(context).add_to(app)
    response = openapi.finished(app.openapi(), service)
    app.openapi = lambda: response  # type: ignore[method-assign]
    app.add_exception_handler(ClientError, context.mistaken)
    app.add_exception_handler(HTTPException, context.not_served)
    app.add_exception_handler(RequestValidationError, context.not_valid)
    app.add_exception_handler(ClientDisconnect, context.not_whole)
    app.add_exception_handler(Exception, context.mistaken)
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
        languages=service.languages,
        max_bytes=service.limits.request_bytes,
        seconds=service.limits.seconds,
        metrics=table_service.metrics,
        notice=RECONSTRUCTION if service.access.accepts_reconstruction else "",
    )


class _Operation:
    """Routes for those who run the service."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._table_service = context.table_service

    async def get_health(self, request: Request) -> Response:
        parameters_of(request, known=())
        return Response(
            '{"status":"ok"}',
            headers={"Cache-Control": "no-store"},
            media_type="application/json",
        )

    async def get_metrics(self, request: Request) -> Response:
        parameters_of(request, known=())
        if not is_local(request):
            caller, _ = await self._context.enter(request, cost=0)
            if caller.role != "officer":
                raise ClientError("not_allowed")
        return Response(self._table_service.figures(), media_type="text/plain; version=0.0.4")
