"""The HTTP API and its addresses: PxWebApi 2, and requests in the words of a job file."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.routing import Route

from ckm.config.service.sections import RECONSTRUCTION
from ckm.service.access.tokens import Caller
from ckm.service.answering.messages import ClientError
from ckm.service.http.middleware import RequestLimits
from ckm.service.http.openapi import openapi
from ckm.service.http.openapi_examples import examples_of
from ckm.service.http.request_bodies import RequestBody, SelectionBody, ZoneBody, parse_body
from ckm.service.http.request_context import Call, RequestContext
from ckm.service.http.request_parsing import DEEP, parameters_of
from ckm.service.http.routes import catalogue, mcp, metadata, tables, zones
from ckm.service.page import Page

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response
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


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address of the API; the description of the API is made from the same words.

    Parameters
    ----------
    address
        Method and path.
    answer
        Answers a request that was let in; its docstring is the summary.
    parameters
        Names of parameters of the query; others are refused.
    cost
        How many requests of a budget it counts for; None where anybody may ask.
    status
        Of what is answered when all is well.
    is_table
        Whether a table is answered.
    is_cached
        Whether a caller is told that it has the answer already.
    body
        What the body must be.
    """

    address: str
    answer: Callable[[Call], Awaitable[Response]]
    _: KW_ONLY
    parameters: tuple[str, ...] = ("lang",)
    cost: int | None = 0
    status: int = 200
    is_table: bool = False
    is_cached: bool = True
    body: type[SelectionBody | RequestBody | ZoneBody] | None = None

    @property
    def method(self) -> str:
        """The method of HTTP."""
        return self.address.partition(" ")[0]

    @property
    def path(self) -> str:
        """The path, with names in braces for its parameters."""
        return self.address.partition(" ")[2]

    def route(self, context: RequestContext) -> Route:
        """Return the route of an application."""

        async def serve(request: Request) -> Response:
            request.scope["route"] = route  # named in figures and logs
            parameters = parameters_of(request, self.parameters)
            caller, language = Caller(id=""), ""
            if self.cost is not None:
                caller, language = await context.enter(request, cost=self.cost)
            if "table_id" in request.path_params:
                context.require_table(request.path_params["table_id"])
            body = None if self.body is None else parse_body(await request.body(), self.body)
            call = Call(request, context, caller, language, parameters, body)
            return await self.answer(call)

        # HEAD beside GET: the same status and headers, at the same cost; no body is sent.
        route = Route(self.path, serve, methods=[self.method])
        return route


_SELECTION = (
    *("lang", "outputFormat", "population", "filter"),
    *("figure", "of", "base", "zone", "margin", "level"),
)

ENDPOINTS = (
    Endpoint(
        "GET /tables",
        metadata.list_tables,
        parameters=("lang", "query", "pageNumber", "pageSize"),
    ),
    Endpoint("GET /tables/{table_id}", metadata.get_table),
    Endpoint(
        "GET /tables/{table_id}/metadata",
        metadata.get_metadata,
        parameters=("lang", "outputFormat"),
    ),
    Endpoint("GET /codelists/{codelist_id:path}", metadata.get_codelist),
    Endpoint(
        "GET /tables/{table_id}/data",
        tables.get_data,
        cost=1,
        is_table=True,
        parameters=(*_SELECTION, "heading", "stub", *DEEP),
    ),
    Endpoint(
        "POST /tables/{table_id}/data",
        tables.post_data,
        cost=1,
        is_table=True,
        is_cached=False,
        parameters=(*_SELECTION, "codelist", "outputvalues"),
        body=SelectionBody,
    ),
    Endpoint("GET /config", metadata.get_config),
    Endpoint("GET /catalogue", catalogue.get_catalogue),
    Endpoint(
        "POST /requests",
        tables.post_request,
        cost=1,
        is_table=True,
        is_cached=False,
        body=RequestBody,
    ),
    Endpoint("GET /requests/{request_id}", tables.get_request, is_cached=False),
    Endpoint("GET /requests/{request_id}/result", tables.get_result, is_table=True),
    Endpoint(
        "DELETE /requests/{request_id}", tables.delete_request, is_cached=False, status=204
    ),
    Endpoint("POST /zones", zones.post_zone, cost=1, is_cached=False, body=ZoneBody),
    Endpoint("GET /health", tables.get_health, parameters=(), cost=None, is_cached=False),
    Endpoint("GET /metrics", tables.get_metrics, parameters=(), cost=None, is_cached=False),
)

# It describes itself to its clients: OpenAPI has it not.
_MCP = Endpoint("POST /mcp", mcp.post_mcp, is_cached=False)
_MCP_HEADERS = ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"]


def make_app(table_service: TableService) -> ASGIApp:
    """Make the application of a service."""
    service = table_service.service
    context = RequestContext(table_service)
    description = openapi(ENDPOINTS, service, examples_of(table_service))

    async def describe(_: Request) -> JSONResponse:
        return JSONResponse(description)

    app = Starlette(
        routes=[
            Route("/openapi.json", describe),
            *(endpoint.route(context) for endpoint in ENDPOINTS),
            *([_MCP.route(context)] if service.access.mcp else []),
            *Page(context).routes(),
        ],
        exception_handlers={
            HTTPException: context.not_served,
            **dict.fromkeys((ClientError, ClientDisconnect, Exception), context.mistaken),
        },
    )
    app.router.redirect_slashes = False
    application: ASGIApp = app
    if service.access.origins:
        application = CORSMiddleware(
            application,
            allow_origins=list(service.access.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=[
                *("Authorization", "Content-Type", "If-None-Match"),
                *(_MCP_HEADERS if service.access.mcp else ()),
            ],
            expose_headers=_EXPOSED,
        )
    return RequestLimits(
        application,
        languages=service.about.languages,
        max_bytes=service.limits.request_bytes,
        seconds=service.limits.seconds,
        metrics=table_service.metrics,
        notice=RECONSTRUCTION if service.access.accepts_reconstruction else "",
    )
