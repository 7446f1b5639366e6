"""Routes that select from a table, by address or by body, as PxWebApi 2 has them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from starlette.requests import Request  # noqa: TC002  (FastAPI looks at it)
from starlette.responses import Response  # noqa: TC002

from ckm.service.http.request_bodies import SelectionBody, parse_body
from ckm.service.http.request_parsing import (
    format_of,
    parameters_of,
    query_of_wishes,
    criteria_of_body,
    criteria_of_parameters,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ckm.service.access.tokens import Caller
    from ckm.service.answering.query import Query
    from ckm.service.answering.refusal import Refusal
    from ckm.service.answering.render import Rendered
    from ckm.service.http.request_context import RequestContext
    from tables import Deadline

__all__ = ["Selections"]

_DATA = ("lang", "outputformat", "filter", "heading", "stub")


class Selections:
    """Selections are answered while the caller waits.

    Parameters
    ----------
    context
        Who lets callers in.
    """

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._table_service = context.table_service

    async def get_data(self, request: Request, table_id: str) -> Response:
        """Answer a selection in the address."""
        parameters = parameters_of(request, known=_DATA, is_deep=True)
        caller, language = await self._context.enter(request)
        self._context.require_table(table_id)
        criteria = criteria_of_parameters(parameters)
        plain = parameters.plain
        order = [
            name.strip()
            for word in ("stub", "heading")
            for name in plain.get(word, "").split(",")
            if name.strip()
        ]
        ask = partial(
            query_of_wishes,
            self._table_service,
            criteria,
            where=plain.get("filter"),
            order=order,
        )
        return await self._answer(request, ask, plain, (caller, language))

    async def post_data(self, request: Request, table_id: str) -> Response:
        """Answer a selection in the body."""
        known = ("lang", "outputformat", "filter")
        parameters = parameters_of(request, known=known, is_deep=True)
        plain = parameters.plain
        caller, language = await self._context.enter(request)
        self._context.require_table(table_id)
        body = parse_body(await request.body(), SelectionBody)
        placed = body.placement
        ask = partial(
            query_of_wishes,
            self._table_service,
            criteria_of_body(body, parameters),
            where=plain.get("filter"),
            order=[] if placed is None else [*placed.stub, *placed.heading],
        )
        return await self._answer(request, ask, plain, (caller, language))

    async def _answer(
        self,
        request: Request,
        ask: Callable[[], Query],
        plain: Mapping[str, str],
        who: tuple[Caller, str],
    ) -> Response:
        form = format_of(plain.get("outputformat"))
        caller, language = who

        def serve(deadline: Deadline) -> Rendered | Refusal:
            return self._table_service.serve(
                ask(), format=form, language=language, caller=caller, deadline=deadline
            )

        made = await self._context.work(request, serve)
        return self._context.response(request, made, language)
