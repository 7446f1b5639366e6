"""Routes about zones that callers draw: which areas a polygon holds."""

from typing import Any

from starlette.responses import JSONResponse, Response

from ckm.service.answering.messages import bad_request
from ckm.service.http.request_context import Call
from tables.deadline import Deadline


async def post_zone(call: Call) -> Response:
    """Tell which areas have their centre in a polygon."""
    content = await call.context.work(call.request, lambda _: _areas_of(call, _))
    return JSONResponse(content, headers=call.context.budget_headers(call.request))


def _areas_of(call: Call, _: Deadline) -> dict[str, Any]:
    centres = call.table_service.answerer.centres
    if centres is None:
        raise bad_request("no_centres")
    variable = centres.variable
    level, ranks = centres.inside(call.body.polygon, call.body.level)
    return {
        "variable": variable.name,
        "level": level,
        "areas": [
            {"code": variable.codes[rank], "label": variable.label(rank, call.language)}
            for rank in ranks
        ],
        "n": len(ranks),
    }
