"""The HTTP API: the shape of PxWebApi 2, and requests in the words of a job file."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from starlette.exceptions import HTTPException

from ckm.manifest import engine_version
from ckm.service import openapi, pxweb
from ckm.service.asking import (
    address_of,
    format_of,
    language_wanted,
    parameters_of,
    query_of_wishes,
    token_of,
    wishes_of_body,
    wishes_of_parameters,
)
from ckm.service.bodies import RequestBody, SelectionBody, parse_body
from ckm.service.edge import Edge, language_of
from ckm.service.mistake import Mistake
from ckm.service.page import Page
from ckm.service.problem import problem_of_mistake, problem_of_refusal
from ckm.service.query import query_of_request
from ckm.service.refusal import Refusal
from ckm.service.render import Rendered, etag_of
from ckm.service.selection import codelists_of
from ckm.service.sending import answered

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from ckm.service.access import Caller
    from ckm.service.desk import Desk
    from ckm.service.jobs import Job
    from ckm.service.query import Query

__all__ = ["make_app"]

Made = TypeVar("Made")

_QUEUE = 16  # requests that may wait for each one that is worked on
_DATA = ("lang", "outputformat", "filter", "heading", "stub")


def make_app(desk: Desk) -> ASGIApp:
    """Make the application of a service.

    Parameters
    ----------
    desk
        Where requests are answered.
    """
    service = desk.service
    app = FastAPI(
        title=service.title[service.languages[0]],
        version=engine_version(),
        summary=openapi.SUMMARY,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    api = _Api(desk)
    for route in openapi.ROUTES:
        app.add_api_route(
            route.path,
            getattr(api, route.handler),
            methods=[route.method],
            summary=route.summary,
            responses=openapi.responses(route),
            openapi_extra=openapi.details(route, service.id),
            operation_id=route.handler,
            response_class=Response,
            status_code=route.status,
        )
    Page(api).add_to(app)
    app.add_exception_handler(Mistake, api.mistaken)
    app.add_exception_handler(HTTPException, api.not_served)
    app.add_exception_handler(RequestValidationError, api.not_valid)
    app.add_exception_handler(Exception, api.mistaken)
    made: ASGIApp = app
    if service.access.origins:
        made = CORSMiddleware(
            made,
            allow_origins=list(service.access.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "If-None-Match"],
            expose_headers=["ETag", "RateLimit-Limit", "RateLimit-Remaining", "CKM-Withheld"],
        )
    return Edge(
        made,
        languages=service.languages,
        most_bytes=service.limits.request_bytes,
        seconds=service.limits.seconds,
        metrics=desk.metrics,
    )


class _Api:
    """The routes. Each one asks the desk and puts the answer into HTTP."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        limit = desk.service.limits.concurrent_requests
        self._workers = anyio.CapacityLimiter(limit)
        self._most_waiting = limit * _QUEUE
        self._described: dict[tuple[str, ...], Rendered] = {}

    # --- descriptions ---

    async def list_tables(self, request: Request) -> Response:
        known = ("lang", "query", "pagenumber", "pagesize")
        plain = parameters_of(request, known=known).plain
        language = await self._open(request)
        page = _whole(plain, "pagenumber", default=1, most=10**6)
        size = _whole(plain, "pagesize", default=20, most=1000)
        listed = pxweb.table_list(
            self.desk.service,
            self.desk.variables,
            language=language,
            query=plain.get("query", "")[:1000],
            page=page,
            size=size,
        )
        return answered(request, _json(listed, language))

    async def get_table(self, request: Request, table_id: str) -> Response:
        parameters_of(request, known=("lang",))
        language = await self._open(request)
        self._require_table(table_id)
        desk = self.desk
        return self._told(
            request,
            ("table", language),
            lambda: pxweb.table(desk.service, desk.variables, language=language),
        )

    async def get_metadata(self, request: Request, table_id: str) -> Response:
        parameters_of(request, known=("lang", "outputformat"))
        language = await self._open(request)
        self._require_table(table_id)
        desk = self.desk
        return self._told(
            request,
            ("metadata", language),
            lambda: pxweb.metadata(
                desk.service, desk.variables, language=language, measures=desk.measures
            ),
        )

    async def get_codelist(self, request: Request, codelist_id: str) -> Response:
        parameters_of(request, known=("lang",))
        language = await self._open(request)
        desk = self.desk
        for variable in desk.variables.values():
            if codelist_id in codelists_of(variable):
                return self._told(
                    request,
                    ("codelist", codelist_id, language),
                    partial(
                        pxweb.codelist,
                        desk.service,
                        variable,
                        name=codelist_id,
                        language=language,
                    ),
                )
        known = [name for v in desk.variables.values() for name in codelists_of(v)]
        raise Mistake("no_codelist", name=codelist_id, known=known)

    async def get_config(self, request: Request) -> Response:
        parameters_of(request, known=("lang",))
        language = await self._open(request)
        desk = self.desk
        return self._told(
            request,
            ("config", language),
            lambda: pxweb.config(
                desk.service,
                version=engine_version(),
                most_cells=desk.answerer.settings.maximum_cells,
            ),
        )

    # --- tables ---

    async def get_data(self, request: Request, table_id: str) -> Response:
        parameters = parameters_of(request, known=_DATA, is_deep=True)
        caller, language = await self.enter(request)
        self._require_table(table_id)
        wishes = wishes_of_parameters(parameters)
        plain = parameters.plain
        order = [
            name.strip()
            for word in ("stub", "heading")
            for name in plain.get(word, "").split(",")
            if name.strip()
        ]
        query = partial(
            query_of_wishes, self.desk, wishes, where=plain.get("filter"), order=order
        )
        return await self._table(
            request, query, (format_of(plain.get("outputformat")), language, caller)
        )

    async def post_data(self, request: Request, table_id: str) -> Response:
        plain = parameters_of(request, known=("lang", "outputformat", "filter")).plain
        caller, language = await self.enter(request)
        self._require_table(table_id)
        body = parse_body(await request.body(), SelectionBody)
        placed = body.placement
        query = partial(
            query_of_wishes,
            self.desk,
            wishes_of_body(body),
            where=plain.get("filter"),
            order=[] if placed is None else [*placed.stub, *placed.heading],
        )
        return await self._table(
            request, query, (format_of(plain.get("outputformat")), language, caller)
        )

    async def post_request(self, request: Request) -> Response:
        parameters_of(request, known=("lang",))
        caller, language = await self.enter(request)
        body = parse_body(await request.body(), RequestBody)
        form = format_of(body.format)
        query = query_of_request(
            self.desk.variables,
            dimensions=body.dimensions,
            margins=body.margins,
            where=body.where,
            measures=body.measures,
            select=body.select,
        )
        most = self.desk.rules(caller).maximum_cells
        is_large = most is not None and query.cells * len(query.measures) > most
        if body.wait and not is_large:
            return await self._table(request, lambda: query, (form, language, caller))
        self.desk.answerer.filter_variables(query.where)  # a wrong filter is told at once
        job = self.desk.submit(query, format=form, language=language, caller=caller)
        told = _job_json(job, language)
        headers = {"Location": f"/requests/{job.id}", **self.budget_headers(request)}
        return Response(json.dumps(told), 202, headers, media_type="application/json")

    async def get_request(self, request: Request, request_id: str) -> Response:
        parameters_of(request, known=("lang",))
        caller, language = await self.enter(request, cost=0)
        job = self.desk.jobs.find(request_id, owner=caller.id)
        headers = {"Cache-Control": "no-store"}
        told = json.dumps(_job_json(job, language), ensure_ascii=False)
        return Response(told, 200, headers, media_type="application/json")

    async def get_result(self, request: Request, request_id: str) -> Response:
        parameters_of(request, known=("lang",))
        caller, _ = await self.enter(request, cost=0)
        job = self.desk.jobs.find(request_id, owner=caller.id)
        if job.status != "done":
            raise Mistake("no_job")
        return answered(request, self.desk.jobs.result(job))

    async def delete_request(self, request: Request, request_id: str) -> Response:
        parameters_of(request, known=("lang",))
        caller, _ = await self.enter(request, cost=0)
        self.desk.jobs.cancel(self.desk.jobs.find(request_id, owner=caller.id))
        return Response(status_code=204)

    # --- operation ---

    async def get_health(self, request: Request) -> Response:
        parameters_of(request, known=())
        return Response(
            '{"status":"ok"}',
            headers={"Cache-Control": "no-store"},
            media_type="application/json",
        )

    async def get_metrics(self, request: Request) -> Response:
        parameters_of(request, known=())
        if address_of(request) not in {"127.0.0.1", "::/64"}:
            caller, _ = await self.enter(request, cost=0)
            if caller.role != "officer":
                raise Mistake("not_allowed")
        return Response(self.desk.figures(), media_type="text/plain; version=0.0.4")

    # --- what goes wrong ---

    async def mistaken(self, request: Request, error: Exception) -> Response:
        mistake = error if isinstance(error, Mistake) else Mistake("internal")
        language = language_of(request.scope, self.desk.service.languages)
        caller = getattr(request.state, "caller", None)
        route = getattr(request.scope.get("route"), "path", "other")
        self.desk.note_mistake(caller, route=route, key=mistake.key)
        headers = self.budget_headers(request)
        return problem_of_mistake(mistake, language, headers=headers)

    async def not_served(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        key = {404: "not_found", 405: "method_not_allowed"}.get(status, "bad_request")
        filled = {"detail": ""} if key == "bad_request" else {}
        language = language_of(request.scope, self.desk.service.languages)
        headers = getattr(error, "headers", None)
        return problem_of_mistake(Mistake(key, **filled), language, headers=headers)

    async def not_valid(self, request: Request, error: Exception) -> Response:
        del error  # its text repeats what was sent
        return await self.mistaken(request, Mistake("bad_body", detail=""))

    # --- steps ---

    async def _open(self, request: Request) -> str:
        """Let a caller read descriptions, which cost nothing; return the language."""
        _, language = await self.enter(request, cost=0)
        return language

    async def enter(
        self, request: Request, *, cost: int = 1, session: str | None = None
    ) -> tuple[Caller, str]:
        """Return who asks and in which language, within the budget."""
        desk = self.desk
        language = language_wanted(request, desk.service.languages)
        token, address = token_of(request), address_of(request)
        if token is None and session is None:
            caller = desk.identify(token=None, address=address)
        else:
            identify = partial(desk.identify, token=token, address=address, session=session)
            caller = await anyio.to_thread.run_sync(identify)
        request.state.caller = caller
        request.state.budget = budget = desk.budget(caller, cost=cost)
        if not budget.is_allowed:
            raise Mistake("too_many_requests", limit=budget.limit, wait=budget.reset_s)
        return caller, language

    def budget_headers(self, request: Request) -> dict[str, str]:
        budget = getattr(request.state, "budget", None)
        return {} if budget is None else budget.headers()

    def _require_table(self, name: str) -> None:
        if name != self.desk.service.id:
            raise Mistake("no_table", name=name, known=[self.desk.service.id])

    async def work(self, task: Callable[[], Made]) -> Made:
        """Do what takes time beside the others, within the time there is."""
        if self._workers.statistics().tasks_waiting > self._most_waiting:
            raise Mistake("busy")
        try:
            with anyio.fail_after(2 * self.desk.service.limits.seconds):
                return await anyio.to_thread.run_sync(
                    task, limiter=self._workers, abandon_on_cancel=True
                )
        except TimeoutError:
            raise Mistake("too_slow") from None

    async def _table(
        self,
        request: Request,
        query: Callable[[], Query],
        wanted: tuple[str, str, Caller],
    ) -> Response:
        form, language, caller = wanted

        def work() -> Rendered | Refusal:
            return self.desk.serve(query(), format=form, language=language, caller=caller)

        made = await self.work(work)
        headers = self.budget_headers(request)
        if isinstance(made, Refusal):
            return problem_of_refusal(made, language, headers=headers)
        return answered(request, made, more=headers)

    def _told(
        self, request: Request, key: tuple[str, ...], describe: Callable[[], Any]
    ) -> Response:
        """Answer with a description, which is written once."""
        made = self._described.get(key)
        if made is None:
            made = self._described[key] = _json(describe(), key[-1])
        return answered(request, made)


def _json(document: Any, language: str) -> Rendered:
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return Rendered(
        body=body,
        media_type="application/json",
        etag=etag_of(body),
        headers={"Content-Language": language},
    )


def _whole(plain: Any, name: str, *, default: int, most: int) -> int:
    text = plain.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise Mistake("bad_parameter", name=name)
    return int(text)


def _job_json(job: Job, language: str) -> dict[str, Any]:
    told: dict[str, Any] = {"id": job.id, "status": job.status}
    if job.refusal is not None:
        told["refusal"] = job.refusal[language]
    if job.error is not None:
        from ckm.service.words import say

        told["error"] = say(job.error, language) if job.error in _PLAIN else job.error
    path = f"/requests/{job.id}"
    told["links"] = [{"rel": "self", "href": path}]
    if job.status == "done":
        told["links"].append({"rel": "result", "href": f"{path}/result"})
    return told


_PLAIN = ("too_slow", "internal", "busy", "no_weight")
