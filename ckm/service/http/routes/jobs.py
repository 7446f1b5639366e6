"""Routes of requests in the words of a job file; large ones become jobs of their owner."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request  # noqa: TC002  (FastAPI looks at it)
from starlette.responses import Response

from ckm.service.answering.client_error import ClientError
from ckm.service.answering.query import query_of_request
from ckm.service.answering.words.messages import say
from ckm.service.http.request_bodies import RequestBody, parse_body
from ckm.service.http.request_parsing import format_of, parameters_of
from ckm.service.http.responses import answered
from ckm.service.jobs.jobs import Job

if TYPE_CHECKING:
    from ckm.service.access.tokens import Caller
    from ckm.service.answering.refusal import Refusal
    from ckm.service.answering.render import Rendered
    from ckm.service.http.request_context import RequestContext
    from tables import Deadline

__all__ = ["Requests"]

_PLAIN = ("too_slow", "internal", "busy", "no_weight", "stopping", "ledger_full")


class Requests:
    """Requests are answered at once, or worked on one after another.

    Parameters
    ----------
    context
        Who lets callers in.
    """

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._table_service = context.table_service

    async def post_request(self, request: Request) -> Response:
        """Answer a request, or make it a job."""
        parameters_of(request, known=("lang",))
        caller, language = await self._context.enter(request)
        body = parse_body(await request.body(), RequestBody)
        ask = partial(self._ask, body, language, caller)
        made = await self._context.work(request, ask)
        if not isinstance(made, Job):
            return self._context.response(request, made, language)
        response = json.dumps(_job_json(made, language), ensure_ascii=False)
        headers = {"Location": f"/requests/{made.id}", **self._context.budget_headers(request)}
        return Response(response, 202, headers, media_type="application/json")

    def _ask(
        self, body: RequestBody, language: str, caller: Caller, deadline: Deadline
    ) -> Rendered | Refusal | Job:
        form = format_of(body.format)
        table_service = self._table_service
        query = query_of_request(
            table_service.variables,
            dimensions=body.dimensions,
            margins=body.margins,
            where=body.where,
            measures=body.measures,
            select=body.select,
        )
        table_service.require_filters(query, caller)
        most = table_service.rules(caller).maximum_cells
        is_large = most is not None and query.cells * len(query.measures) > most
        if body.wait and not is_large:
            return table_service.serve(
                query, format=form, language=language, caller=caller, deadline=deadline
            )
        table_service.answerer.planner.filter_variables(
            query.where
        )  # a wrong filter is told at once
        return table_service.submit(query, format=form, language=language, caller=caller)

    async def get_request(self, request: Request, request_id: str) -> Response:
        """Tell how far a job of the caller is."""
        parameters_of(request, known=("lang",))
        caller, language = await self._context.enter(request, cost=0)
        job = self._table_service.jobs.find(request_id, owner=caller.id)
        headers = {"Cache-Control": "no-store"}
        response = json.dumps(_job_json(job, language), ensure_ascii=False)
        return Response(response, 200, headers, media_type="application/json")

    async def get_result(self, request: Request, request_id: str) -> Response:
        """Send the table of a job of the caller."""
        parameters_of(request, known=("lang",))
        caller, _ = await self._context.enter(request, cost=0)
        job = self._table_service.jobs.find(request_id, owner=caller.id)
        if job.status != "done":
            raise ClientError("no_job")
        return answered(request, self._table_service.jobs.result(job))

    async def delete_request(self, request: Request, request_id: str) -> Response:
        """Give a job of the caller up; its scan is stopped."""
        parameters_of(request, known=("lang",))
        caller, _ = await self._context.enter(request, cost=0)
        self._table_service.jobs.cancel(
            self._table_service.jobs.find(request_id, owner=caller.id)
        )
        return Response(status_code=204)


def _job_json(job: Job, language: str) -> dict[str, Any]:
    response: dict[str, Any] = {"id": job.id, "status": job.status}
    if job.refusal is not None:
        response["refusal"] = job.refusal[language]
    if job.error is not None:
        plain = job.error in _PLAIN
        response["error"] = say(job.error, language) if plain else job.error
    path = f"/requests/{job.id}"
    response["links"] = [{"rel": "self", "href": path}]
    if job.status == "done":
        response["links"].append({"rel": "result", "href": f"{path}/result"})
    return response
