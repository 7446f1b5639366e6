"""Routes about zones that callers draw: which areas a polygon holds."""

from typing import Any

import numpy as np
from starlette.responses import JSONResponse, Response

from ckm.service.answering.messages import bad_request
from ckm.service.answering.polygons import are_inside, sides_of
from ckm.service.http.request_context import Call
from tables.deadline import Deadline


async def post_zone(call: Call) -> Response:
    """Tell which areas have their centre in a polygon."""
    content = await call.context.work(call.request, lambda _: _areas_of(call, _))
    return JSONResponse(content, headers=call.context.budget_headers(call.request))


def _areas_of(call: Call, _: Deadline) -> dict[str, Any]:
    service = call.table_service.service
    variable = call.table_service.variables.get(service.area or "")
    levels = [] if variable is None else list(variable.level_names)
    if variable is None or not variable.offer.centres:
        raise bad_request("no_centres")
    name = call.body.level or levels[0]
    if name not in levels:
        raise bad_request("zone_level", name=name, listed=", ".join(levels))
    centres, codes = variable.offer.centres, variable.codes
    ranks = [
        (rank, centre)
        for rank in variable.ranks(levels.index(name)).tolist()
        if (centre := centres.get(codes[rank]) or centres.get(variable.own(rank))) is not None
    ]
    sides = sides_of(call.body.polygon)
    points = np.array([centre for _, centre in ranks], np.float64).reshape(-1, 2)
    inside = np.flatnonzero(are_inside(sides, points)).tolist()
    if not inside:
        raise bad_request("polygon_nobody")
    own = [ranks[at][0] for at in inside]
    return {
        "variable": variable.name,
        "level": name,
        "areas": [
            {"code": codes[rank], "label": variable.label(rank, call.language)} for rank in own
        ],
        "n": len(own),
    }
