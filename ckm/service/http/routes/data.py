"""Routes that select from a table, by address or by body, as PxWebApi 2 has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.service.http.request_parsing import (
    criteria_of_body,
    criteria_of_parameters,
    format_of,
    query_of_wishes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from ckm.service.answering.messages import Refusal
    from ckm.service.answering.render import Rendered
    from ckm.service.http.request_context import Call
    from ckm.service.http.request_parsing import Criterion
    from tables import Deadline


async def get_data(call: Call) -> Response:
    """Select from a table, by address."""
    plain = call.parameters.plain
    order = [
        name.strip()
        for word in ("stub", "heading")
        for name in plain.get(word, "").split(",")
        if name.strip()
    ]
    return await _answer(call, criteria_of_parameters(call.parameters), order)


async def post_data(call: Call) -> Response:
    """Select from a table, by body."""
    placed = call.body.placement
    order = [] if placed is None else [*placed.stub, *placed.heading]
    return await _answer(call, criteria_of_body(call.body, call.parameters), order)


async def _answer(call: Call, criteria: dict[str, Criterion], order: Sequence[str]) -> Response:
    plain = call.parameters.plain
    form = format_of(plain.get("outputformat"))

    def serve(deadline: Deadline) -> Rendered | Refusal:
        query = query_of_wishes(
            call.table_service, criteria, where=plain.get("filter"), order=order
        )
        return call.serve(query, form, deadline)

    return call.response(await call.context.work(call.request, serve))
