"""Routes for those who run the service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response

from ckm.service.answering.messages import ClientError
from ckm.service.http.request_parsing import is_local

if TYPE_CHECKING:
    from ckm.service.http.request_context import Call


async def get_health(_: Call) -> Response:
    """Tell that the service is up."""
    return JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})


async def get_metrics(call: Call) -> Response:
    """Figures about the service, for Prometheus."""
    if not is_local(call.request):
        caller, _ = await call.context.enter(call.request, cost=0)
        if caller.role != "officer":
            raise ClientError("not_allowed")
    return Response(call.table_service.figures(), media_type="text/plain; version=0.0.4")
