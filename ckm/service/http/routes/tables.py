"""Routes that answer tables, as PxWebApi 2 has them or a job file; and how the service is."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from starlette.responses import JSONResponse, Response

from ckm.service.answering.figures import Derivation
from ckm.service.answering.messages import ClientError, Refusal, say
from ckm.service.answering.query import Query, query_of_request
from ckm.service.answering.render import Rendered
from ckm.service.http.request_bodies import TableBody
from ckm.service.http.request_context import Call
from ckm.service.http.request_parsing import (
    Criterion,
    criteria_of_body,
    criteria_of_parameters,
    format_of,
    is_local,
    query_of_wishes,
)
from ckm.service.http.responses import answered
from ckm.service.jobs import Job
from ckm.service.table_service import TableService
from tables.deadline import Deadline

_DERIVED = ("figure", "of", "base", "zones", "margin", "level")
_PLAIN = ("too_slow", "internal", "busy", "no_weight", "stopping", "ledger_full")


async def get_data(call: Call) -> Response:
    """Select from a table, by address."""
    plain = call.parameters.plain
    order = [
        name.strip()
        for word in ("stub", "heading")
        for name in plain.get(word, "").split(",")
        if name.strip()
    ]
    criteria = criteria_of_parameters(call.parameters, call.table_service.variables)
    return await _answer(call, criteria, order)


async def post_data(call: Call) -> Response:
    """Select from a table, by body."""
    placement = call.body.placement
    order = [] if placement is None else [*placement.stub, *placement.heading]
    return await _answer(call, criteria_of_body(call.body, call.parameters), order)


async def _answer(call: Call, criteria: dict[str, Criterion], order: Sequence[str]) -> Response:
    plain = call.parameters.plain
    form = format_of(plain.get("outputformat"), call.request)

    def serve(deadline: Deadline) -> Rendered | Refusal:
        query = query_of_wishes(
            call.table_service,
            criteria,
            where=plain.get("filter"),
            population=plain.get("population"),
            order=order,
        )
        asked = call.table_service.answerer.deriver.derivation(
            query,
            figure=plain.get("figure"),
            of=[name.strip() for name in plain.get("of", "").split(",") if name.strip()],
            base=plain.get("base"),
            zone=plain.get("zone"),
            margin=plain.get("margin"),
            level=plain.get("level"),
        )
        return call.serve(asked, form, deadline)

    return call.response(await call.context.work(call.request, serve))


async def post_request(call: Call) -> Response:
    """Ask for a table in the words of a job file; a large one becomes a job."""
    result = await call.context.work(call.request, partial(_ask, call))
    if not isinstance(result, Job):
        return call.response(result)
    budget = call.context.budget_headers(call.request)
    headers = {"Location": f"/requests/{result.id}", **budget}
    return JSONResponse(_job_json(result, call.language), 202, headers)


def asked_of(table_service: TableService, body: TableBody) -> Query | Derivation:
    """Return what a body asks for."""
    fields = body.model_dump(include=set(TableBody.model_fields))
    derived = {name: fields.pop(name) for name in _DERIVED}
    query = query_of_request(table_service.variables, **fields)
    return table_service.answerer.deriver.derivation(query, **derived)


def _ask(call: Call, deadline: Deadline) -> Rendered | Refusal | Job:
    table_service, body = call.table_service, call.body
    named = body.format if "format" in body.model_fields_set else None
    form = format_of(named, call.request)
    asked = asked_of(table_service, body)
    deriver = table_service.answerer.deriver
    table_service.require_margin(asked, call.caller)
    query = deriver.widened(asked) if isinstance(asked, Derivation) else asked
    table_service.require_filters(query, call.caller)
    most = table_service.rules(call.caller).maximum_cells
    is_large = most is not None and query.cells * len(query.measures) > most
    if body.wait and not is_large:
        return call.serve(asked, form, deadline)
    table_service.answerer.planner.plan(query)  # a wrong filter is told at once
    return table_service.submit(asked, format=form, language=call.language, caller=call.caller)


async def get_request(call: Call) -> Response:
    """Tell how far a job is."""
    job = _job_of(call)
    return JSONResponse(_job_json(job, call.language), headers={"Cache-Control": "no-store"})


async def get_result(call: Call) -> Response:
    """Fetch the table of a job."""
    job = _job_of(call)
    if job.status != "done":
        raise ClientError("no_job")
    return answered(call.request, call.table_service.jobs.result(job))


async def delete_request(call: Call) -> Response:
    """Give a job up."""
    call.table_service.jobs.cancel(_job_of(call))
    return Response(status_code=204)


def _job_of(call: Call) -> Job:
    return call.table_service.jobs.find(
        call.request.path_params["request_id"], owner=call.caller.id
    )


def _job_json(job: Job, language: str) -> dict[str, Any]:
    path = f"/requests/{job.id}"
    links = [{"rel": "self", "href": path}]
    if job.status == "done":
        links.append({"rel": "result", "href": f"{path}/result"})
    content: dict[str, Any] = {"id": job.id, "status": job.status}
    if job.refusal is not None:
        content["refusal"] = job.refusal[language]
    if job.error is not None:
        content["error"] = say(job.error, language) if job.error in _PLAIN else job.error
    return content | {"links": links}


async def get_health(_: Call) -> Response:
    """Tell that the service is up."""
    return JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})


async def get_metrics(call: Call) -> Response:
    """Figures about the service, for Prometheus."""
    if not is_local(call.request):
        caller, _ = await call.context.enter(call.request, cost=0)
        if caller.role != "officer":
            raise ClientError("not_allowed")
    return Response(call.table_service.metrics.text(), media_type="text/plain; version=0.0.4")
