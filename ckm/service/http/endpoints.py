"""The addresses of the API: what each takes, what it costs, what it may answer, who answers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from starlette.routing import Route

from ckm.service.access.tokens import Caller
from ckm.service.http.request_bodies import RequestBody, SelectionBody, parse_body
from ckm.service.http.request_context import Call
from ckm.service.http.request_parsing import DEEP, parameters_of
from ckm.service.http.routes import data, jobs, metadata, operation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from ckm.service.http.request_context import RequestContext


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
    body: type[SelectionBody | RequestBody] | None = None

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

        route = Route(self.path, serve)
        route.methods = {self.method}  # no HEAD, which the framework adds
        return route


_SELECTION = ("lang", "outputFormat", "filter")

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
        data.get_data,
        cost=1,
        is_table=True,
        parameters=(*_SELECTION, "heading", "stub", *DEEP),
    ),
    Endpoint(
        "POST /tables/{table_id}/data",
        data.post_data,
        cost=1,
        is_table=True,
        is_cached=False,
        parameters=(*_SELECTION, "codelist", "outputvalues"),
        body=SelectionBody,
    ),
    Endpoint("GET /config", metadata.get_config),
    Endpoint(
        "POST /requests",
        jobs.post_request,
        cost=1,
        is_table=True,
        is_cached=False,
        body=RequestBody,
    ),
    Endpoint("GET /requests/{request_id}", jobs.get_request, is_cached=False),
    Endpoint("GET /requests/{request_id}/result", jobs.get_result, is_table=True),
    Endpoint("DELETE /requests/{request_id}", jobs.delete_request, is_cached=False, status=204),
    Endpoint("GET /health", operation.get_health, parameters=(), cost=None, is_cached=False),
    Endpoint("GET /metrics", operation.get_metrics, parameters=(), cost=None, is_cached=False),
)
